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
 * Not 16 time slices of T/16: they need as much slack, misjudge a burst at every N > 1, and small N would not be exact.
 *
 * Limits whose charges may be given back (ENGINE_REFUNDABLE) and with chunk > 1 keep a count in each stamp, 0 to 2 chunk;
 * where refunds have thinned the stamps out, two neighbours with at most 2 chunk between them are merged.
 */
#include "engine/algorithm.h"
#include "engine/stamps.h"

#define KEPT_CLOSED 31 /* in a verdict's `kept`: closed stamps in the window ... */
#define KEPT_OPEN 128  /* ... and whether the open one is */

/* ---- stamps unpacked, for what happens seldom ---- */

struct stamps {
    unsigned count;
    uint64_t place[STAMPS_MAX + 2]; /* newest first */
    uint64_t charges[STAMPS_MAX + 2];
};

static void unpack(const struct engine_state *state, const struct engine_limit *limit, struct stamps *stamps)
{
    uint64_t newest = grid_of(limit, state->time_ns);
    stamps->count = closed_count(state, limit);
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

/* Closes the open stamp where all places are taken, because refunds have thinned the stamps out: the neighbours with the
 * least between them, the open one included, become one with the time of the later.  While fewer than N charges are
 * there, some pair has less than 2 chunk: of an even number of stamps pair them all off, of an odd one those closed. */
SELDOM static void close_merging(struct engine_state *state, const struct engine_limit *limit)
{
    struct stamps closed, all;
    unpack(state, limit, &closed);
    all.count = closed.count + 1;
    all.place[0] = grid_of(limit, state->time_ns);
    all.charges[0] = state->tally;
    for (unsigned i = 0; i < closed.count; i++) {
        all.place[i + 1] = closed.place[i];
        all.charges[i + 1] = closed.charges[i];
    }
    unsigned best = 0;
    for (unsigned i = 0; i + 1 < all.count; i++)
        if (all.charges[i] + all.charges[i + 1] < all.charges[best] + all.charges[best + 1])
            best = i;
    all.charges[best] += all.charges[best + 1];
    for (unsigned i = best + 1; i + 1 < all.count; i++) {
        all.place[i] = all.place[i + 1];
        all.charges[i] = all.charges[i + 1];
    }
    all.count--;
    pack(state, limit, &all);
}

/* ---- what is in the window ---- */

struct charge {
    uint64_t units;
    uint64_t at_ns;
};

struct window {
    unsigned closed;          /* closed stamps still in it: the newest so many */
    uint64_t open;            /* charges of the open stamp in it */
    uint64_t charges;         /* in all */
    uint64_t newest;          /* grid place of time_ns; 0 without closed stamps */
    bool shares;              /* the newest closed stamp has that place, too */
    uint64_t first_expiry_ns; /* when the oldest stamp in it leaves it; 0 if there is none */
    uint64_t open_expiry_ns;  /* when the open one does */
};

/* When the closed stamp at `place` leaves the window. */
static inline uint64_t closed_expiry(const struct engine_state *state, const struct engine_limit *limit, unsigned place,
                                     uint64_t newest)
{
    return expiry_of(limit, place_on_grid(limit, code_at(state, limit, place), newest));
}

/* How many of `closed` stamps are in the window, where the oldest one is not. */
static __attribute__((noinline)) unsigned closed_in_window(const struct engine_state *state,
                                                           const struct engine_limit *limit, unsigned closed,
                                                           uint64_t newest, uint64_t now_ns)
{
    do
        closed--;
    while (closed > 0 && closed_expiry(state, limit, closed - 1, newest) <= now_ns);
    return closed;
}

static __attribute__((noinline)) uint64_t counted_charges(const struct engine_state *state,
                                                          const struct engine_limit *limit, unsigned closed)
{
    uint64_t charges = 0;
    for (unsigned i = 0; i < closed; i++)
        charges += count_of(limit, code_at(state, limit, i));
    return charges;
}

/* For the judgement of each decision; window_at is the same, called. */
static inline __attribute__((always_inline)) struct window
window_seen(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    struct window window = { .closed = closed_count(state, limit) };
    window.open_expiry_ns = engine_add(state->time_ns, limit->spec.period_ns);
    if (window.closed > 0) {
        window.newest = grid_of(limit, state->time_ns);
        window.shares = code_at(state, limit, 0) >> count_bits(limit) == (window.newest & limit->age_mask);
    }
    /* The open stamp is exact, unless a closed one shares its place on the grid: then it goes with that one, so that what
     * came first also leaves first. */
    if (window.shares)
        window.open_expiry_ns = expiry_of(limit, window.newest);
    window.open = window.open_expiry_ns > now_ns ? state->tally : 0;
    if (window.closed > 0)
        window.first_expiry_ns = closed_expiry(state, limit, window.closed - 1, window.newest);
    if (window.closed > 0 && window.first_expiry_ns <= now_ns) {
        window.closed = closed_in_window(state, limit, window.closed, window.newest, now_ns);
        if (window.closed > 0)
            window.first_expiry_ns = closed_expiry(state, limit, window.closed - 1, window.newest);
    }
    window.charges = window.open + (count_bits(limit) == 0 ? (uint64_t)window.closed * limit->chunk
                                                           : counted_charges(state, limit, window.closed));
    if (window.closed == 0)
        window.first_expiry_ns = window.open > 0 ? window.open_expiry_ns : 0;
    return window;
}

static __attribute__((noinline)) struct window window_at(const struct engine_state *state,
                                                         const struct engine_limit *limit, uint64_t now_ns)
{
    return window_seen(state, limit, now_ns);
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
    return window->open_expiry_ns;
}

/* When everything will have left it. */
static uint64_t time_empty(const struct engine_state *state, const struct engine_limit *limit,
                           const struct window *window)
{
    if (window->open > 0)
        return window->open_expiry_ns;
    if (window->closed == 0)
        return 0;
    return expiry_of(limit, place_on_grid(limit, code_at(state, limit, 0), window->newest));
}

/* The time at which a charge counts: never before the newest one, so that a small step back of the clock grants nothing, nor
 * a charge given back that was queued: what came before it was judged behind its window. */
static uint64_t effective_time(const struct engine_state *state, uint64_t now_ns)
{
    return engine_max(now_ns, state->time_ns);
}

/* ---- the algorithm's functions ---- */

/* All charges, not only those ahead: the order of the stamps must stay. */
void sliding_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    struct stamps stamps;
    unpack(state, limit, &stamps);
    for (unsigned i = 0; i < stamps.count; i++)
        stamps.place[i] = grid_of(limit, now_ns);
    pack(state, limit, &stamps);
    state->time_ns = now_ns;
}

/* With a queue: from when on the cost fits, not before `at_ns`; else at_ns itself. */
static uint64_t turn_of(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                        uint64_t at_ns)
{
    if ((limit->spec.flags & ENGINE_QUEUE) == 0 || cost == 0 || cost > limit->spec.count)
        return at_ns;
    struct window window = window_at(state, limit, at_ns);
    if (window.charges + cost <= limit->spec.count)
        return at_ns;
    return time_without(state, limit, &window, window.charges + cost - limit->spec.count);
}

/* Drops what has left the window. */
static void keep(struct engine_state *state, unsigned closed, uint64_t open)
{
    if (state->log[3] >> LIVE_SHIFT != closed)
        closed_count_set(state, closed);
    state->tally = (uint32_t)open;
}

/* Charges to a state that holds nothing but what is in the window. */
static __attribute__((noinline)) void charge_kept(struct engine_state *state, const struct engine_limit *limit,
                                                  uint64_t cost, uint64_t at_ns)
{
    while (cost > 0) {
        if (state->tally >= limit->chunk) {
            if (count_bits(limit) > 0 && closed_count(state, limit) == limit->stamps)
                close_merging(state, limit);
            else
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
    keep(state, window.closed, window.open);
    charge_kept(state, limit, cost, at_ns);
}

static uint8_t kept_of(const struct window *window)
{
    return (uint8_t)(window->closed | (window->open > 0 ? KEPT_OPEN : 0));
}

static bool is_queued(const struct engine_limit *limit)
{
    return (limit->spec.flags & ENGINE_QUEUE) != 0;
}

/* The verdict's numbers for a window at `at_ns` to which nothing is charged. */
static void tell_window(const struct engine_state *state, const struct engine_limit *limit, const struct window *window,
                        struct engine_verdict *verdict)
{
    verdict->used = window->charges;
    verdict->remaining = engine_minus(limit->spec.count, window->charges);
    verdict->reset_ns = time_empty(state, limit, window);
    verdict->more_ns = window->charges > 0 ? window->first_expiry_ns : 0;
}

/* The same, after `cost` was charged to it, where that may merge stamps: sees what comes of it. */
SELDOM static void tell_merged(const struct engine_state *state, const struct engine_limit *limit, struct charge cost,
                               struct engine_verdict *verdict)
{
    struct engine_state after = *state;
    sliding_charge_at(&after, limit, cost.units, cost.at_ns);
    struct window then = window_at(&after, limit, cost.at_ns);
    tell_window(&after, limit, &then, verdict);
}

/* The same, after `cost` was charged to it. */
static void tell_charged(const struct engine_state *state, const struct engine_limit *limit,
                         const struct window *window, struct charge cost, struct engine_verdict *verdict)
{
    bool closes = window->open >= limit->chunk;
    bool spills = (closes ? 0 : window->open) + cost.units > limit->chunk;
    if (count_bits(limit) > 0 && (closes || spills)) {
        tell_merged(state, limit, cost, verdict);
        return;
    }
    uint64_t open_place = closes ? grid_of(limit, state->time_ns) : window->newest;
    verdict->used = window->charges + cost.units;
    verdict->remaining = engine_minus(limit->spec.count, verdict->used);
    verdict->reset_ns = engine_add(cost.at_ns, limit->spec.period_ns);
    if (spills || closes ||
        (window->closed > 0 && window->shares)) { /* perhaps with a closed stamp's place on the grid */
        uint64_t at_place = grid_of(limit, cost.at_ns);
        if (spills || open_place == at_place)
            verdict->reset_ns = expiry_of(limit, at_place);
    }
    verdict->more_ns = verdict->reset_ns;
    if (window->closed > 0)
        verdict->more_ns = window->first_expiry_ns;
    else if (closes)
        verdict->more_ns = expiry_of(limit, open_place);
}

/* So far the times are points; makes them spans from now on, and says what a queue leaves for requests at once. */
static void tell_spans(const struct engine_limit *limit, uint64_t at_ns, uint64_t now_ns,
                       struct engine_verdict *verdict)
{
    if (is_queued(limit) && at_ns > now_ns) {
        if (verdict->used < limit->spec.count)
            verdict->more_ns = at_ns;
        verdict->remaining = 0;
    }
    verdict->reset_ns = engine_minus(verdict->reset_ns, now_ns);
    verdict->more_ns = engine_minus(verdict->more_ns, now_ns);
}

/* Refuses, queues, closes the open stamp, or only asks, at asked.at_ns.  `seen` is the window at the effective time. */
static __attribute__((noinline)) void judge_otherwise(const struct engine_state *state,
                                                      const struct engine_limit *limit, struct charge asked,
                                                      const struct window *seen, struct engine_verdict *verdict)
{
    uint64_t cost = asked.units, now_ns = asked.at_ns;
    uint64_t base_ns = effective_time(state, now_ns), at_ns = base_ns;
    struct window window = *seen;
    if (cost > 0 && window.charges + cost > limit->spec.count)
        at_ns = time_without(state, limit, &window, window.charges + cost - limit->spec.count);
    uint64_t latest_ns = is_queued(limit) ? engine_add(now_ns, limit->spec.period_ns) : base_ns;
    verdict->allowed = cost == 0 || at_ns <= latest_ns;
    if (cost == 0 || !verdict->allowed) {
        if (!verdict->allowed)
            verdict->wait_ns = is_queued(limit) ? at_ns - latest_ns : at_ns - now_ns;
        tell_window(state, limit, &window, verdict);
        tell_spans(limit, base_ns, now_ns, verdict);
        return;
    }
    if (at_ns != base_ns)
        window = window_at(state, limit, at_ns);
    verdict->kept = kept_of(&window);
    if (is_queued(limit))
        verdict->delay_ns = at_ns - now_ns;
    tell_charged(state, limit, &window, (struct charge){ cost, at_ns }, verdict);
    tell_spans(limit, at_ns, now_ns, verdict);
}

/* Here: the open stamp has room for it, as nearly always above N = 16.  All times that are told are ahead of now. */
inline void sliding_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                          uint64_t now_ns, struct engine_verdict *verdict)
{
    uint64_t at_ns = effective_time(state, now_ns);
    struct window window = window_seen(state, limit, at_ns);
    uint64_t used = window.charges + cost, count = limit->spec.count;
    if (cost == 0 && !is_queued(limit)) { /* asked for each key that has room when another one refuses */
        verdict->allowed = true;
        tell_window(state, limit, &window, verdict);
        tell_spans(limit, at_ns, now_ns, verdict);
        return;
    }
    if (cost == 0 || used > count || window.open + cost > limit->chunk || is_queued(limit)) {
        struct window in_memory = window; /* a copy, so that otherwise registers suffice */
        judge_otherwise(state, limit, (struct charge){ cost, now_ns }, &in_memory, verdict);
        return;
    }
    uint64_t reset_ns = engine_add(at_ns, limit->spec.period_ns);
    if (window.closed > 0 && window.shares && grid_of(limit, at_ns) == window.newest)
        reset_ns = expiry_of(limit, window.newest);
    verdict->allowed = true;
    verdict->kept = kept_of(&window);
    verdict->used = used;
    verdict->remaining = count - used;
    verdict->reset_ns = reset_ns - now_ns;
    verdict->more_ns = (window.closed > 0 ? window.first_expiry_ns : reset_ns) - now_ns;
}

inline void sliding_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                           struct engine_verdict *verdict)
{
    uint64_t at_ns = effective_time(state, now_ns);
    if (is_queued(limit)) {
        at_ns = turn_of(state, limit, cost, at_ns);
        sliding_charge_at(state, limit, cost, at_ns);
    } else { /* judged at this very time: the window need not be looked at again */
        keep(state, verdict->kept & KEPT_CLOSED, (verdict->kept & KEPT_OPEN) != 0 ? state->tally : 0);
        if (state->tally + cost <= limit->chunk) { /* as charge_kept: the open stamp has room */
            state->tally += (uint32_t)cost;
            state->time_ns = at_ns;
        } else {
            charge_kept(state, limit, cost, at_ns);
        }
    }
    verdict->mark = at_ns;
}

/* The oldest charges make room: the window stays as full as it can be, and the newest refusal always counts.  What a stamp
 * that makes room held beyond the need counts from now on again, for it may still be in the window. */
void sliding_count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns)
{
    uint64_t at_ns = effective_time(state, now_ns);
    struct window window = window_at(state, limit, at_ns);
    uint64_t kept = engine_minus(limit->spec.count, cost);
    while (window.closed > 0 && window.charges > kept) {
        window.charges -= count_of(limit, code_at(state, limit, window.closed - 1));
        window.closed--;
    }
    closed_count_set(state, window.closed);
    if (window.charges > kept) { /* only the open stamp is left */
        state->tally = (uint32_t)engine_min(state->tally, kept);
        window.charges = state->tally;
    }
    sliding_charge_at(state, limit, limit->spec.count - window.charges, at_ns);
}

/* Takes up to `cost` out of the closed stamps not before `place`, oldest first; `stuck` if a stamp without count would be cut. */
static uint64_t take_from_closed(struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                                 uint64_t place, bool *stuck)
{
    struct stamps stamps, kept = { .count = 0 };
    uint64_t back = 0;
    unpack(state, limit, &stamps);
    for (unsigned i = stamps.count; i-- > 0 && back < cost && !*stuck;) {
        if (stamps.place[i] < place)
            continue;
        uint64_t part = engine_min(cost - back, stamps.charges[i]);
        *stuck = count_bits(limit) == 0 && part < limit->chunk;
        part = *stuck ? 0 : part;
        stamps.charges[i] -= part;
        back += part;
    }
    for (unsigned i = 0; i < stamps.count; i++)
        if (stamps.charges[i] > 0) {
            kept.place[kept.count] = stamps.place[i];
            kept.charges[kept.count++] = stamps.charges[i];
        }
    if (back > 0)
        pack(state, limit, &kept);
    return back;
}

static uint64_t take_from_open(struct engine_state *state, uint64_t cost)
{
    uint64_t part = engine_min(cost, state->tally);
    state->tally -= (uint32_t)part;
    return part;
}

/* What is taken out leaves the window no earlier than the charge would have, and of such the earliest: so what remains
 * still stands for every charge kept, wherever stamps were merged or moved.  A charge that has left gives nothing. */
uint64_t sliding_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                        uint64_t now_ns)
{
    uint64_t at_ns = effective_time(state, now_ns);
    if (engine_add(mark, limit->spec.period_ns) <= at_ns || mark > state->time_ns)
        return 0;
    struct window window = window_at(state, limit, at_ns);
    keep(state, window.closed, window.open);
    uint64_t place = grid_of(limit, mark);
    bool stuck = false, is_open = place == grid_of(limit, state->time_ns); /* with the closed ones of its place */
    uint64_t back = is_open ? take_from_open(state, cost) : 0;
    if (back < cost)
        back += take_from_closed(state, limit, cost - back, place, &stuck);
    return stuck ? back : back + take_from_open(state, cost - back);
}

void sliding_repair(struct engine_state *state, const struct engine_limit *limit)
{
    state->tally = (uint32_t)engine_min(state->tally, limit->chunk);
    closed_count_set(state, closed_count(state, limit));
    struct stamps stamps, kept = { .count = 0 };
    unpack(state, limit, &stamps);
    uint64_t later = grid_of(limit, state->time_ns), room = engine_minus(limit->spec.count, state->tally);
    for (unsigned i = 0; i < stamps.count; i++) {
        later = engine_min(stamps.place[i], later);
        uint64_t charges = engine_min(engine_min(stamps.charges[i], 2 * (uint64_t)limit->chunk), room);
        if (charges == 0 || (count_bits(limit) == 0 && charges < limit->chunk))
            continue;
        room -= charges;
        kept.place[kept.count] = later;
        kept.charges[kept.count++] = charges;
    }
    pack(state, limit, &kept);
}

void sliding_convert(const struct engine_state *state, const struct engine_limit *from, struct engine_state *fresh,
                     const struct engine_limit *to, uint64_t now_ns)
{
    struct window window = window_at(state, from, effective_time(state, now_ns));
    uint64_t beyond = engine_minus(window.charges, to->spec.count); /* the oldest, when N has shrunk */
    struct stamps stamps;
    unpack(state, from, &stamps);
    for (unsigned i = window.closed; i-- > 0;) {
        uint64_t time_ns = engine_min(stamps.place[i] * from->quantum_ns, state->time_ns);
        uint64_t left_out = engine_min(beyond, stamps.charges[i]);
        beyond -= left_out;
        if (engine_add(time_ns, to->spec.period_ns) > now_ns)
            sliding_charge_at(fresh, to, stamps.charges[i] - left_out, time_ns);
    }
    if (window.open > 0 && engine_add(state->time_ns, to->spec.period_ns) > now_ns)
        sliding_charge_at(fresh, to, window.open - beyond, state->time_ns);
}
