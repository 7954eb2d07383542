/*
 * Token bucket and leaky bucket: the generic cell rate algorithm (ITU-T I.371), exact for any rate.
 *
 * The state is one time: when the bucket will have drained (the theoretical arrival time), in whole nanoseconds and a rest
 * in 1/N ns, so that T/N need not be whole and nothing is lost by rounding over millions of requests.
 *
 * A second one, in log[1] and log[2], sums up what was ever given back.  A mark names the time when its charge will have
 * drained plus that sum: so the mark of a charge whose predecessors were given back is known to drain so much earlier, and
 * cannot be used to take out what others put in since.  What was given back of its successors does not make it drain earlier:
 * log[3] has a bit for each of the newest 64 units, set where one was given back, the newest lowest.  What is not known of it
 * counts as a predecessor's, which gives back less.
 *
 * `bucket` holds `burst` units.  `leaky` is nginx's limit_req: one unit is always taken in, `burst` more may queue up;
 * its excess is the level without the newest unit, so its capacity is burst + 1, and who finds more than `undelayed`
 * units before him is held back until they have drained.
 */
#include "engine/algorithm.h"

#define UNITS_KNOWN 64   /* bits of log[3] */
#define UNIT_LEAST_NS 16 /* units shorter than that are not told apart by marks, which are whole nanoseconds */

/* A time or span in nanoseconds and 1/N ns; rest < N. */
struct fine {
    uint64_t ns;
    uint64_t rest;
};

__extension__ typedef unsigned __int128 wide;

static struct fine plus(struct fine a, struct fine b, uint64_t n)
{
    struct fine sum = { engine_add(a.ns, b.ns), a.rest + b.rest };
    if (sum.rest >= n) {
        sum.rest -= n;
        sum.ns = engine_add(sum.ns, 1);
    }
    return sum;
}

static bool is_less(struct fine a, struct fine b)
{
    return a.ns != b.ns ? a.ns < b.ns : a.rest < b.rest;
}

/* a - b, zero if negative */
static struct fine minus(struct fine a, struct fine b, uint64_t n)
{
    if (is_less(a, b))
        return (struct fine){ 0, 0 };
    if (a.rest >= b.rest)
        return (struct fine){ a.ns - b.ns, a.rest - b.rest };
    return (struct fine){ a.ns - b.ns - 1, a.rest + n - b.rest };
}

static uint64_t rounded_up(struct fine a)
{
    return engine_add(a.ns, a.rest > 0);
}

/* What `cost` units take to drain. */
static struct fine span_of(const struct engine_limit *limit, uint64_t cost)
{
    if (cost == 1)
        return (struct fine){ limit->unit_ns, limit->unit_rest };
    wide parts = (wide)cost * limit->spec.period_ns;
    wide ns = parts / limit->spec.count;
    if (ns > UINT64_MAX)
        return (struct fine){ UINT64_MAX, 0 };
    return (struct fine){ (uint64_t)ns, (uint64_t)(parts % limit->spec.count) };
}

const char *bucket_compile(struct engine_limit *limit)
{
    const struct engine_spec *spec = &limit->spec;
    bool leaky = spec->algorithm == ENGINE_LEAKY;
    if (!leaky && spec->burst == 0 && spec->count > 0)
        return "burst 0 admits nothing; write 1 or more, or leave burst out to have that of `allow`";
    limit->capacity = leaky ? spec->burst + 1 : spec->burst;
    if (spec->count == 0)
        return NULL;
    limit->unit_ns = spec->period_ns / spec->count;
    limit->unit_rest = spec->period_ns % spec->count;
    struct fine depth = span_of(limit, limit->capacity);
    if (depth.ns > 10 * ENGINE_PERIOD_MAX_NS)
        return "a bucket so deep takes more than ten years to drain at this rate; lower the burst or raise the rate";
    limit->depth_ns = depth.ns;
    limit->depth_rest = depth.rest;
    return NULL;
}

static struct fine depth_of(const struct engine_limit *limit)
{
    return (struct fine){ limit->depth_ns, limit->depth_rest };
}

static struct fine given_back(const struct engine_state *state)
{
    return (struct fine){ state->log[1], state->log[2] };
}

static void add_given_back(struct engine_state *state, struct fine back, uint64_t n)
{
    struct fine sum = given_back(state);
    bool carries = sum.rest + back.rest >= n;
    state->log[1] = sum.ns + back.ns + carries; /* modulo 2^64, as marks are */
    state->log[2] = sum.rest + back.rest - (carries ? n : 0);
}

static struct fine empty_at(const struct engine_state *state)
{
    return (struct fine){ state->time_ns, state->log[0] };
}

static void empty_at_set(struct engine_state *state, struct fine at)
{
    state->time_ns = at.ns;
    state->log[0] = at.rest;
}

void bucket_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    struct fine full = plus((struct fine){ now_ns, 0 }, depth_of(limit), limit->spec.count);
    if (is_less(full, empty_at(state)))
        empty_at_set(state, full);
}

/* When the bucket would be empty after this cost. */
static struct fine empty_after(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                               uint64_t now_ns)
{
    struct fine base = empty_at(state);
    if (base.ns < now_ns)
        base = (struct fine){ now_ns, 0 };
    return cost == 0 ? base : plus(base, span_of(limit, cost), limit->spec.count);
}

/* Fills remaining, used and the two times for a bucket that will be empty at `empty`. */
static void tell_level(const struct engine_limit *limit, struct fine empty, uint64_t now_ns,
                       struct engine_verdict *verdict)
{
    uint64_t n = limit->spec.count;
    uint64_t period_ns = limit->spec.period_ns;
    struct fine now = { now_ns, 0 };
    struct fine full = plus(now, depth_of(limit), n);
    struct fine room = minus(full, empty, n);
    wide parts = (wide)room.ns * n + room.rest; /* in 1/N ns: one unit is T of them */
    uint64_t units, over;
    if (parts <= UINT64_MAX) { /* a division of 128 bits costs several times more */
        units = (uint64_t)parts / period_ns;
        over = (uint64_t)parts % period_ns;
    } else {
        units = (uint64_t)(parts / period_ns);
        over = (uint64_t)(parts % period_ns);
    }
    verdict->remaining = engine_min(units, limit->capacity);
    verdict->used = limit->capacity - verdict->remaining;
    verdict->reset_ns = rounded_up(minus(empty, now, n));
    if (verdict->used == 0)
        return;
    struct fine beyond = minus(empty, full, n);
    wide missing = (wide)beyond.ns * n + beyond.rest + (period_ns - over);
    verdict->more_ns = missing <= UINT64_MAX - n ? ((uint64_t)missing + n - 1) / n : (uint64_t)((missing + n - 1) / n);
}

static uint64_t delay_of(const struct engine_limit *limit, struct fine empty, uint64_t now_ns)
{
    uint64_t n = limit->spec.count;
    struct fine level = minus(empty, (struct fine){ now_ns, 0 }, n);
    uint64_t delay_ns = 0;
    if (limit->spec.algorithm == ENGINE_LEAKY && limit->spec.undelayed < limit->spec.burst)
        delay_ns = rounded_up(minus(level, span_of(limit, limit->spec.undelayed + 1), n));
    if ((limit->spec.flags & ENGINE_QUEUE) != 0)
        delay_ns = engine_max(delay_ns, rounded_up(minus(level, depth_of(limit), n)));
    return delay_ns;
}

void bucket_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                  struct engine_verdict *verdict)
{
    uint64_t n = limit->spec.count;
    bool queued = (limit->spec.flags & ENGINE_QUEUE) != 0;
    struct fine empty = empty_after(state, limit, cost, now_ns);
    struct fine highest = plus((struct fine){ now_ns, 0 }, depth_of(limit), n);
    if (queued)
        highest.ns = engine_add(highest.ns, limit->spec.period_ns);

    verdict->allowed = cost == 0 || !is_less(highest, empty);
    if (verdict->allowed) {
        verdict->delay_ns = cost == 0 ? 0 : delay_of(limit, empty, now_ns);
        tell_level(limit, empty, now_ns, verdict);
        return;
    }
    verdict->wait_ns = rounded_up(minus(empty, highest, n));
    tell_level(limit, empty_after(state, limit, 0, now_ns), now_ns, verdict);
}

/* The end of the newest charge as marks tell it, modulo 2^64. */
static uint64_t newest_mark(const struct engine_state *state, const struct engine_limit *limit)
{
    uint64_t n = limit->spec.count, rest = state->log[0] + state->log[2]; /* below 2 N */
    return state->time_ns + state->log[1] + (rest > 0) + (rest > n);
}

void bucket_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                   struct engine_verdict *verdict)
{
    bool goes_on = state->time_ns >= now_ns && cost < UNITS_KNOWN;
    state->log[3] = goes_on ? state->log[3] << cost : 0;
    empty_at_set(state, empty_after(state, limit, cost, now_ns));
    verdict->mark = newest_mark(state, limit);
}

void bucket_charge_now(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns)
{
    empty_at_set(state, empty_after(state, limit, engine_min(cost, limit->capacity), now_ns));
}

void bucket_count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    struct fine full = plus((struct fine){ now_ns, 0 }, depth_of(limit), limit->spec.count);
    if (is_less(empty_at(state), full))
        empty_at_set(state, full);
}

/* How many units were charged after the charge of `mark`; UNITS_KNOWN if that many or more, or not known. */
static unsigned units_after(const struct engine_state *state, const struct engine_limit *limit, uint64_t mark)
{
    uint64_t after_ns = newest_mark(state, limit) - mark;
    if (limit->unit_ns < UNIT_LEAST_NS || after_ns >= limit->unit_ns * UNITS_KNOWN)
        return UNITS_KNOWN;
    return (unsigned)(((wide)after_ns * limit->spec.count + limit->spec.period_ns / 2) / limit->spec.period_ns);
}

static uint64_t newest_bits(uint64_t count)
{
    return count < UNITS_KNOWN ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

/* What was given back of charges that were made before the one of `mark`, or may have been. */
static struct fine given_back_before(const struct engine_state *state, const struct engine_limit *limit, unsigned after)
{
    uint64_t units = 0; /* of its successors; counted by hand, as __builtin_popcount calls a library */
    for (uint64_t bits = state->log[3] & newest_bits(after); bits != 0; bits &= bits - 1)
        units++;
    return minus(given_back(state), span_of(limit, units), limit->spec.count);
}

/* A bucket drains what came first, first: of a charge that ends at `mark`, what lies behind now is still in it. */
uint64_t bucket_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                       uint64_t now_ns)
{
    uint64_t n = limit->spec.count;
    struct fine level = minus(empty_at(state), (struct fine){ now_ns, 0 }, n);
    unsigned after = units_after(state, limit, mark);
    struct fine sum = given_back_before(state, limit, after), whole = span_of(limit, cost);
    struct fine left = { mark - sum.ns - now_ns - (sum.rest > 0), sum.rest > 0 ? n - sum.rest : 0 }; /* modulo 2^64 */
    if (cost == 0 || left.ns > INT64_MAX) /* it has drained */
        return 0;
    bool all = !is_less(left, whole) && !is_less(level, whole);
    struct fine back = all ? whole : is_less(left, level) ? left : level;
    if (is_less(whole, back))
        back = whole;
    empty_at_set(state, minus(empty_at(state), back, n));
    add_given_back(state, back, n);
    if (all && after < UNITS_KNOWN)
        state->log[3] |= newest_bits(cost) << after;
    return all ? cost : (uint64_t)(((wide)back.ns * n + back.rest) / limit->spec.period_ns);
}

/* All that is in it counts as given back: no mark from before can take out what is put in afterwards. */
void bucket_clear(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    uint64_t n = limit->spec.count;
    add_given_back(state, minus(empty_at(state), (struct fine){ now_ns, 0 }, n), n);
    empty_at_set(state, (struct fine){ 0, 0 });
    state->log[3] = 0;
    state->tally = 0;
}

void bucket_repair(struct engine_state *state, const struct engine_limit *limit)
{
    if (state->log[0] >= limit->spec.count)
        state->log[0] = 0;
    if (state->log[2] >= limit->spec.count)
        state->log[2] = 0;
    state->tally = 0;
}
