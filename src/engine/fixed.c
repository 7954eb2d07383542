/*
 * Fixed windows: aligned to the clock, or from a key's first request on.
 *
 * time_ns is the start of the window in which the newest charge lies, log[0] its hits.  With a queue (action delay) that
 * window may be the next one, not begun yet.  A fixed window admits up to 2 N around its edge; that is what it is.
 */
#include "engine/algorithm.h"

static uint64_t start_of(const struct engine_limit *limit, uint64_t now_ns)
{
    if ((limit->spec.flags & ENGINE_FROM_FIRST) != 0)
        return now_ns;
    return now_ns - now_ns % limit->spec.period_ns;
}

static bool is_live(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    /* A window ahead of now follows a full one, even if all its own charges were given back. */
    bool begun = state->log[0] > 0 || state->time_ns > now_ns;
    return begun && engine_add(state->time_ns, limit->spec.period_ns) > now_ns;
}

void fixed_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    state->time_ns = start_of(limit, now_ns);
}

/* The window that a request of `cost` would be charged to. */
struct fixed_place {
    uint64_t start_ns;
    uint64_t hits; /* already there */
};

static struct fixed_place place_of(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                                   uint64_t now_ns)
{
    struct fixed_place place = { state->time_ns, state->log[0] };
    if (!is_live(state, limit, now_ns))
        place = (struct fixed_place){ start_of(limit, now_ns), 0 };
    bool queued = (limit->spec.flags & ENGINE_QUEUE) != 0;
    if (queued && cost > 0 && place.hits + cost > limit->spec.count)
        place = (struct fixed_place){ engine_add(place.start_ns, limit->spec.period_ns), 0 };
    return place;
}

void fixed_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                 struct engine_verdict *verdict)
{
    uint64_t period_ns = limit->spec.period_ns;
    struct fixed_place place = place_of(state, limit, cost, now_ns);
    uint64_t end_ns = engine_add(place.start_ns, period_ns);
    bool queued = (limit->spec.flags & ENGINE_QUEUE) != 0;
    uint64_t delay_ns = queued ? engine_minus(place.start_ns, now_ns) : 0;
    bool fits = cost <= limit->spec.count && place.hits + cost <= limit->spec.count;

    verdict->allowed = cost == 0 || (fits && delay_ns <= period_ns);
    verdict->delay_ns = verdict->allowed && cost > 0 ? delay_ns : 0;
    verdict->used = place.hits + (verdict->allowed ? cost : 0);
    verdict->remaining = delay_ns > 0 ? 0 : engine_minus(limit->spec.count, verdict->used);
    verdict->reset_ns = verdict->used > 0 ? end_ns - now_ns : 0;
    verdict->more_ns = verdict->reset_ns;
    if (!verdict->allowed)
        verdict->wait_ns = fits ? delay_ns - period_ns : end_ns - now_ns;
}

void fixed_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                  struct engine_verdict *verdict)
{
    struct fixed_place place = place_of(state, limit, cost, now_ns);
    state->time_ns = place.start_ns;
    state->log[0] = place.hits + cost;
    verdict->mark = engine_max(place.start_ns, now_ns);
}

void fixed_charge_now(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns)
{
    state->time_ns = start_of(limit, now_ns);
    state->log[0] = engine_min(cost, limit->spec.count);
}

void fixed_keep_start(const struct engine_state *state, const struct engine_limit *from, struct engine_state *fresh,
                      const struct engine_limit *to, uint64_t now_ns)
{
    bool from_first = (from->spec.flags & to->spec.flags & ENGINE_FROM_FIRST) != 0;
    bool aligned = ((from->spec.flags | to->spec.flags) & ENGINE_FROM_FIRST) == 0;
    bool same = from_first || (aligned && from->spec.period_ns == to->spec.period_ns);
    if (same && engine_add(state->time_ns, to->spec.period_ns) > now_ns)
        fresh->time_ns = state->time_ns;
    else if (from_first)
        fresh->log[0] = 0;
}

void fixed_count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns)
{
    /* A fixed window ends when it ends; from the first request on, a refused request begins it anew. */
    (void)cost;
    if ((limit->spec.flags & ENGINE_FROM_FIRST) != 0 && is_live(state, limit, now_ns))
        state->time_ns = engine_max(state->time_ns, now_ns);
    state->log[0] = limit->spec.count;
}

uint64_t fixed_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                      uint64_t now_ns)
{
    bool same = mark >= state->time_ns && mark - state->time_ns < limit->spec.period_ns;
    if (!same || !is_live(state, limit, now_ns))
        return 0;
    uint64_t back = engine_min(cost, state->log[0]);
    state->log[0] -= back;
    return back;
}

void fixed_repair(struct engine_state *state, const struct engine_limit *limit)
{
    state->log[0] = engine_min(state->log[0], limit->spec.count);
    state->log[1] = state->log[2] = state->log[3] = 0;
    state->tally = 0;
}
