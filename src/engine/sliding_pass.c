/*
 * The sliding window where there is room: judged and charged in one go, as nearly every request is, and given back.
 *
 * It comes to the same, word for word, as sliding_judge and sliding_charge (tested against them on random states), in a third
 * of their instructions: no verdict is spoken before the charge, and nothing is looked at twice.  Of a limit that keeps a count with each
 * stamp only a key without closed ones is passed here.
 */
#include "engine/algorithm.h"
#include "engine/stamps.h"

static inline uint64_t closed_expiry(const struct engine_state *state, const struct engine_limit *limit, unsigned place,
                                     uint64_t newest)
{
    return expiry_of(limit, place_on_grid(limit, code_at(state, limit, place), newest));
}

/* Not inlined: of a limit of 50 each fourth charge needs it, of a limit of thousands hardly any. */
static __attribute__((noinline)) void close_open(struct engine_state *state, const struct engine_limit *limit,
                                                 uint64_t open)
{
    push(state, limit, grid_of(limit, state->time_ns), open);
}

/* Closes the open stamp if it is full, drops what has left the window, and charges. */
static inline void charge(struct engine_state *state, const struct engine_limit *limit, unsigned closed, uint64_t open,
                          uint64_t cost)
{
    if (state->log[3] >> LIVE_SHIFT != closed)
        closed_count_set(state, closed);
    if (open >= limit->chunk) {
        close_open(state, limit, open);
        open = 0;
    }
    state->tally = (uint32_t)(open + cost);
}

/* Of a charge at now_ns; the quota's times are points. */
static inline struct engine_verdict passed(const struct engine_limit *limit, uint64_t used, uint64_t reset_ns,
                                           uint64_t more_ns, uint64_t now_ns)
{
    return (struct engine_verdict){ .allowed = true,
                                    .remaining = limit->capacity - used,
                                    .used = used,
                                    .reset_ns = reset_ns - now_ns,
                                    .more_ns = more_ns - now_ns,
                                    .mark = now_ns };
}

/* Without closed stamps nothing lies on the grid: so of a key that is new or was given all back, and mostly of one of a large N.  In 64 bits: the
 * tally has 24, and a cost that is beyond the chunk, or 0, is seen to be so. */
inline uint64_t sliding_pass_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost,
                                   uint64_t now_ns)
{
    if (unlikely(cost - 1 >= limit->chunk || tally.tally + cost > limit->chunk))
        return 0;
    return cost + (engine_add(tally.time_ns, limit->period_ns) > now_ns ? tally.tally : 0);
}

static inline bool pass_open(struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                             uint64_t now_ns, struct engine_verdict *verdict)
{
    struct engine_tally tally = { 0, state->time_ns, state->tally };
    uint64_t used = sliding_pass_tally(tally, limit, cost, now_ns), end_ns = engine_add(now_ns, limit->period_ns);
    if (used == 0)
        return false;
    state->tally = (uint32_t)used;
    state->time_ns = now_ns;
    *verdict = passed(limit, used, end_ns, end_ns, now_ns);
    return true;
}

inline bool sliding_pass(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                         struct engine_verdict *verdict)
{
    unsigned closed = closed_count(state, limit);
    if (closed == 0 && pass_open(state, limit, cost, now_ns, verdict))
        return true;
    if (unlikely(limit->count_bits > 0))
        return false;
    uint64_t newest = grid_of(limit, state->time_ns), first_expiry_ns = 0;
    uint64_t open_expiry_ns = engine_add(state->time_ns, limit->period_ns);
    bool shares = closed > 0 && code_at(state, limit, 0) == (newest & limit->age_mask);
    if (shares)
        open_expiry_ns = expiry_of(limit, newest);
    while (closed > 0 && (first_expiry_ns = closed_expiry(state, limit, closed - 1, newest)) <= now_ns)
        closed--;
    uint64_t open = open_expiry_ns > now_ns ? state->tally : 0;
    bool closes = open >= limit->chunk;
    uint64_t used = open + (uint64_t)closed * limit->chunk + cost;
    if (unlikely(used > limit->capacity || used < cost || (closes ? 0 : open) + cost > limit->chunk))
        return false;
    uint64_t reset_ns = engine_add(now_ns, limit->period_ns);
    if ((closes || (closed > 0 && shares)) && grid_of(limit, now_ns) == newest)
        reset_ns = expiry_of(limit, newest); /* the new charge lies on a closed stamp's place */
    uint64_t more_ns = reset_ns;
    if (closed > 0)
        more_ns = first_expiry_ns;
    else if (closes)
        more_ns = expiry_of(limit, newest);
    charge(state, limit, closed, open, cost);
    state->time_ns = now_ns;
    *verdict = passed(limit, used, reset_ns, more_ns, now_ns);
    return true;
}

/* The open stamp is no older than the charge, so that all of it is in the window. */
inline uint64_t sliding_refund_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost,
                                     uint64_t mark, uint64_t now_ns)
{
    if (unlikely(engine_add(mark, limit->period_ns) <= now_ns || mark > tally.time_ns))
        return 0;
    return engine_min(cost, tally.tally);
}
