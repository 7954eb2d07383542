/*
 * The sliding window: never more than N charges in any (t-T, t], in 48 bytes.
 *
 * A key's charges are kept as stamps, newest first: the open one (time_ns, exact, and tally charges) and closed ones,
 * packed into 251 bits of `log`; their number is in the top 5 bits.  A stamp stands for `chunk` charges and carries the
 * time of the last of them: all count until that last one leaves the window.  So the count is never too low (P1), and too
 * high by at most chunk - 1, those of the oldest stamp: with chunk = N/16, rounded up, evenly sent requests at 15/16
 * of the rate always fit.  Up to N = 16 a stamp is one charge and the count is exact.
 *
 * A closed stamp's time is its place on a grid of quantum_ns, rounded up, modulo 2^age_bits.  The grid is absolute, so
 * that a charge moves no bits of older stamps: closing one shifts the log by stamp_bits.  The code is unambiguous because
 * every charge first drops what has left the window, and 2^age_bits quanta are longer than the window.
 *
 * Why not 16 time slices of T/16, as one would: an evenly sending client needs a whole slice of slack beyond its window,
 * and so 1/16 of N as well, but a burst of N at once, then silence, would be misjudged at every N > 1, and small N could
 * not be exact.  Slices of charges adapt to what came.
 *
 * Limits whose charges may be given back (ENGINE_REFUNDABLE) and with chunk > 1 keep a count in each stamp, 0 to 2 chunk;
 * where refunds have thinned the stamps out, two neighbours with at most 2 chunk between them are merged.
 */
#include "engine/algorithm.h"

#define STAMPS_MAX 30
#define LIVE_SHIFT 59            /* number of closed stamps, in the top 5 bits of log[3] */
#define LIVE_MASK (UINT64_C(31) << LIVE_SHIFT)

static unsigned closed_count(const struct engine_state *state)
{
    return (unsigned)(state->log[3] >> LIVE_SHIFT);
}

static void closed_count_set(struct engine_state *state, unsigned count)
{
    state->log[3] = (state->log[3] & ~LIVE_MASK) | (uint64_t)count << LIVE_SHIFT;
}

static uint64_t low_bits(unsigned bits)
{
    return (UINT64_C(1) << bits) - 1;
}

static unsigned count_bits(const struct engine_limit *limit)
{
    return (unsigned)limit->stamp_bits - limit->age_bits;
}

/* The `place`th closed stamp, 0 the newest, as it is packed. */
static uint64_t code_at(const struct engine_state *state, const struct engine_limit *limit, unsigned place)
{
    unsigned bit = place * limit->stamp_bits;
    unsigned word = bit / 64, shift = bit % 64;
    uint64_t value = state->log[word] >> shift;
    if (shift + limit->stamp_bits > 64)
        value |= state->log[word + 1] << (64 - shift);
    return value & low_bits(limit->stamp_bits);
}

static uint64_t grid_of(const struct engine_limit *limit, uint64_t time_ns)
{
    if (limit->quantum_ns == 1)
        return time_ns;
    return time_ns / limit->quantum_ns + (time_ns % limit->quantum_ns != 0);
}

static uint64_t count_of(const struct engine_limit *limit, uint64_t code)
{
    unsigned bits = count_bits(limit);
    return bits == 0 ? limit->chunk : code & low_bits(bits);
}

/* Grid place of a stamp; `newest` is that of time_ns, to which all codes are relative. */
static uint64_t place_on_grid(const struct engine_limit *limit, uint64_t code, uint64_t newest)
{
    uint64_t behind = (newest - (code >> count_bits(limit))) & low_bits(limit->age_bits);
    return engine_minus(newest, behind);
}

static uint64_t expiry_of(const struct engine_limit *limit, uint64_t place)
{
    return engine_add(place * limit->quantum_ns, limit->spec.period_ns);
}

/* Shifts the log up by one stamp and puts a new one in front. The oldest falls off when all places are taken. */
static void push(struct engine_state *state, const struct engine_limit *limit, uint64_t place, uint64_t count)
{
    unsigned bits = limit->stamp_bits;
    if (limit->stamps == 0)
        return;
    unsigned closed = closed_count(state);
    uint64_t code = place & low_bits(limit->age_bits);
    if (count_bits(limit) > 0)
        code = code << count_bits(limit) | engine_min(count, low_bits(count_bits(limit)));
    uint64_t *log = state->log;
    log[3] = log[3] << bits | log[2] >> (64 - bits);
    log[2] = log[2] << bits | log[1] >> (64 - bits);
    log[1] = log[1] << bits | log[0] >> (64 - bits);
    log[0] = log[0] << bits | code;
    closed_count_set(state, closed < limit->stamps ? closed + 1 : limit->stamps);
}

/* ---- stamps unpacked, for what happens seldom ---- */

struct stamps {
    unsigned count;
    uint64_t place[STAMPS_MAX + 2];      /* newest first */
    uint64_t charges[STAMPS_MAX + 2];
};

static void unpack(const struct engine_state *state, const struct engine_limit *limit, struct stamps *stamps)
{
    uint64_t newest = grid_of(limit, state->time_ns);
    stamps->count = closed_count(state);
    for (unsigned i = 0; i < stamps->count; i++) {
        uint64_t code = code_at(state, limit, i);
        stamps->place[i] = place_on_grid(limit, code, newest);
        stamps->charges[i] = count_of(limit, code);
    }
}

static void pack(struct engine_state *state, const struct engine_limit *limit, const struct stamps *stamps)
{
    for (unsigned i = 0; i < 4; i++)
        state->log[i] = 0;
    for (unsigned i = stamps->count; i-- > 0;)
        push(state, limit, stamps->place[i], stamps->charges[i]);
}

/* Makes room for one more stamp where refunds have thinned them out: the neighbours with the least between them become
 * one, with the time of the later.  While fewer than N charges are there, some pair has at most 2 chunk. */
static void merge_thinnest(struct engine_state *state, const struct engine_limit *limit)
{
    struct stamps stamps;
    unpack(state, limit, &stamps);
    unsigned best = 0;
    for (unsigned i = 0; i + 1 < stamps.count; i++)
        if (stamps.charges[i] + stamps.charges[i + 1] < stamps.charges[best] + stamps.charges[best + 1])
            best = i;
    stamps.charges[best] += stamps.charges[best + 1];
    for (unsigned i = best + 1; i + 1 < stamps.count; i++) {
        stamps.place[i] = stamps.place[i + 1];
        stamps.charges[i] = stamps.charges[i + 1];
    }
    stamps.count--;
    pack(state, limit, &stamps);
}

/* ---- what is in the window ---- */

struct window {
    unsigned closed;         /* closed stamps still in it: the newest so many */
    uint64_t charges;        /* in all */
    uint64_t newest;         /* grid place of time_ns */
    uint64_t first_expiry_ns;    /* when the oldest stamp in it leaves it; 0 if there is none */
};

static bool is_open_live(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    return state->tally > 0 && engine_add(state->time_ns, limit->spec.period_ns) > now_ns;
}

static struct window window_at(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    struct window window = { 0, 0, 0, 0 };
    unsigned closed = closed_count(state);
    if (closed > 0) {
        window.newest = grid_of(limit, state->time_ns);
        while (closed > 0) {         /* oldest first: those behind the window end the search */
            uint64_t place = place_on_grid(limit, code_at(state, limit, closed - 1), window.newest);
            window.first_expiry_ns = expiry_of(limit, place);
            if (window.first_expiry_ns > now_ns)
                break;
            closed--;
        }
    }
    window.closed = closed;
    if (count_bits(limit) == 0)
        window.charges = (uint64_t)closed * limit->chunk;
    else
        for (unsigned i = 0; i < closed; i++)
            window.charges += count_of(limit, code_at(state, limit, i));
    if (closed == 0)
        window.first_expiry_ns = 0;
    if (is_open_live(state, limit, now_ns)) {
        window.charges += state->tally;
        if (closed == 0)
            window.first_expiry_ns = engine_add(state->time_ns, limit->spec.period_ns);
    }
    return window;
}

/* When `excess` charges of the window will have left it.  There are at least so many. */
static uint64_t time_without(const struct engine_state *state, const struct engine_limit *limit,
                             const struct window *window, uint64_t excess)
{
    for (unsigned i = window->closed; i-- > 0;) {
        uint64_t code = code_at(state, limit, i);
        uint64_t charges = count_of(limit, code);
        if (charges >= excess)
            return expiry_of(limit, place_on_grid(limit, code, window->newest));
        excess -= charges;
    }
    return engine_add(state->time_ns, limit->spec.period_ns);
}

/* When everything will have left it. */
static uint64_t time_empty(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns,
                           const struct window *window)
{
    if (is_open_live(state, limit, now_ns))
        return engine_add(state->time_ns, limit->spec.period_ns);
    if (window->closed == 0)
        return 0;
    return expiry_of(limit, place_on_grid(limit, code_at(state, limit, 0), window->newest));
}

static bool is_empty(const struct engine_state *state)
{
    return state->tally == 0 && closed_count(state) == 0;
}

/* The time at which a charge counts: never before the newest one, so that a small step back of the clock grants nothing. */
static uint64_t effective_time(const struct engine_state *state, uint64_t now_ns)
{
    return is_empty(state) ? now_ns : engine_max(now_ns, state->time_ns);
}

/* ---- the algorithm's functions ---- */

bool sliding_settle_clock(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    if (engine_minus(state->time_ns, now_ns) <= engine_ahead_max(limit))
        return false;
    struct stamps stamps;
    unpack(state, limit, &stamps);
    for (unsigned i = 0; i < stamps.count; i++)
        stamps.place[i] = grid_of(limit, now_ns);
    pack(state, limit, &stamps);
    state->time_ns = now_ns;
    return true;
}

/* With a queue: from when on the cost fits, not before `at_ns`; else at_ns itself. */
static uint64_t turn_of(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t at_ns)
{
    if ((limit->spec.flags & ENGINE_QUEUE) == 0 || cost == 0 || cost > limit->spec.count)
        return at_ns;
    struct window window = window_at(state, limit, at_ns);
    if (window.charges + cost <= limit->spec.count)
        return at_ns;
    return time_without(state, limit, &window, window.charges + cost - limit->spec.count);
}

void sliding_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                   struct engine_verdict *verdict)
{
    uint64_t limit_count = limit->spec.count;
    uint64_t at_ns = turn_of(state, limit, cost, effective_time(state, now_ns));
    struct window window = window_at(state, limit, at_ns);
    bool queued = (limit->spec.flags & ENGINE_QUEUE) != 0;
    uint64_t delay_ns = queued ? at_ns - now_ns : 0;
    bool fits = cost == 0 || window.charges + cost <= limit_count;

    verdict->kept = (uint8_t)window.closed;
    verdict->allowed = fits && delay_ns <= limit->spec.period_ns;
    verdict->delay_ns = verdict->allowed ? delay_ns : 0;
    verdict->used = window.charges + (verdict->allowed ? cost : 0);
    verdict->remaining = delay_ns > 0 ? 0 : engine_minus(limit_count, verdict->used);
    if (verdict->allowed && cost > 0) {
        verdict->reset_ns = verdict->more_ns = engine_add(at_ns, limit->spec.period_ns) - now_ns;
        if (window.closed > 0)
            verdict->more_ns = window.first_expiry_ns - now_ns;
        else if (window.charges >= limit->chunk)     /* the open stamp closes, at its place on the grid */
            verdict->more_ns = expiry_of(limit, grid_of(limit, state->time_ns)) - now_ns;
        return;
    }
    verdict->reset_ns = engine_minus(time_empty(state, limit, at_ns, &window), now_ns);
    verdict->more_ns = window.charges > 0 ? window.first_expiry_ns - now_ns : 0;
    if (verdict->allowed)
        return;
    verdict->wait_ns = fits ? delay_ns - limit->spec.period_ns
                            : time_without(state, limit, &window, window.charges + cost - limit_count) - now_ns;
}

/* Charges at `at_ns`, where the newest `kept` closed stamps are in the window. */
static void charge_on(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t at_ns,
                      unsigned kept)
{
    if (closed_count(state) != kept)
        closed_count_set(state, kept);
    if (!is_open_live(state, limit, at_ns))
        state->tally = 0;
    while (cost > 0) {
        if (state->tally >= limit->chunk) {
            if (count_bits(limit) > 0 && closed_count(state) == limit->stamps && limit->stamps > 1)
                merge_thinnest(state, limit);
            push(state, limit, grid_of(limit, state->time_ns), state->tally);
            state->tally = 0;
        }
        uint64_t part = engine_min(cost, limit->chunk - state->tally);
        state->tally += (uint32_t)part;
        state->time_ns = at_ns;
        cost -= part;
    }
}

void sliding_charge_at(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t at_ns)
{
    struct window window = window_at(state, limit, at_ns);
    charge_on(state, limit, cost, at_ns, window.closed);
}

void sliding_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                    struct engine_verdict *verdict)
{
    uint64_t at_ns = turn_of(state, limit, cost, effective_time(state, now_ns));
    charge_on(state, limit, cost, at_ns, (unsigned)engine_min(verdict->kept, closed_count(state)));
    verdict->mark = at_ns;
}

/* The oldest charges make room: the window never holds more than it can, and the newest refusal always counts. */
void sliding_count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns)
{
    uint64_t at_ns = effective_time(state, now_ns);
    struct window window = window_at(state, limit, at_ns);
    while (window.closed > 0 && window.charges + cost > limit->spec.count) {
        window.charges -= count_of(limit, code_at(state, limit, window.closed - 1));
        window.closed--;
    }
    closed_count_set(state, window.closed);
    if (window.charges + cost > limit->spec.count) {     /* only the open stamp is left */
        state->tally = (uint32_t)engine_min(state->tally, engine_minus(limit->spec.count, cost));
    }
    sliding_charge_at(state, limit, cost, at_ns);
}

/* A charge of time `mark` is in the first stamp, oldest first, whose time is not before it; what it spilled over is in the
 * next ones, if that stamp was closed at its very time. */
uint64_t sliding_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                        uint64_t now_ns)
{
    uint64_t at_ns = effective_time(state, now_ns), back = 0;
    struct window window = window_at(state, limit, at_ns);
    closed_count_set(state, window.closed);
    uint64_t place = grid_of(limit, mark);
    bool found = false, spilled = true;
    struct stamps stamps;
    unpack(state, limit, &stamps);
    for (unsigned i = stamps.count; i-- > 0 && back < cost && spilled;) {
        if (stamps.place[i] < place)
            continue;
        uint64_t part = engine_min(cost - back, stamps.charges[i]);
        stamps.charges[i] -= part;
        back += part;
        found = true;
        spilled = stamps.place[i] == place;
    }
    if (found) {
        unsigned kept = 0;
        for (unsigned i = 0; i < stamps.count; i++)
            if (stamps.charges[i] > 0) {
                stamps.place[kept] = stamps.place[i];
                stamps.charges[kept++] = stamps.charges[i];
            }
        stamps.count = kept;
        pack(state, limit, &stamps);
    }
    if (back < cost && spilled && is_open_live(state, limit, at_ns) && state->time_ns >= mark) {
        uint64_t part = engine_min(cost - back, state->tally);
        state->tally -= (uint32_t)part;
        back += part;
    }
    return back;
}

void sliding_repair(struct engine_state *state, const struct engine_limit *limit)
{
    if (state->tally > limit->chunk)
        state->tally = limit->chunk;
    if (closed_count(state) > limit->stamps)
        closed_count_set(state, limit->stamps);
    struct stamps stamps;
    unpack(state, limit, &stamps);
    uint64_t later = grid_of(limit, state->time_ns);
    for (unsigned i = 0; i < stamps.count; i++) {
        later = stamps.place[i] = engine_min(stamps.place[i], later);
        stamps.charges[i] = engine_min(stamps.charges[i], 2 * (uint64_t)limit->chunk);
    }
    pack(state, limit, &stamps);
}

void sliding_convert(const struct engine_state *state, const struct engine_limit *from, struct engine_state *fresh,
                     const struct engine_limit *to, uint64_t now_ns)
{
    struct window window = window_at(state, from, effective_time(state, now_ns));
    struct stamps stamps;
    unpack(state, from, &stamps);
    for (unsigned i = window.closed; i-- > 0;) {
        uint64_t time_ns = engine_min(stamps.place[i] * from->quantum_ns, state->time_ns);
        if (engine_add(time_ns, to->spec.period_ns) > now_ns)
            sliding_charge_at(fresh, to, engine_min(stamps.charges[i], to->spec.count), time_ns);
    }
    if (is_open_live(state, from, now_ns) && engine_add(state->time_ns, to->spec.period_ns) > now_ns)
        sliding_charge_at(fresh, to, engine_min(state->tally, to->spec.count), state->time_ns);
}
