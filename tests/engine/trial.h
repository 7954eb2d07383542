/*
 * What the engine's tests share: a seeded generator, short limits, and one request from end to end.
 */
#ifndef DROSSEL_TESTS_ENGINE_TRIAL_H
#define DROSSEL_TESTS_ENGINE_TRIAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define DAY (86400 * SECOND)
#define START (UINT64_C(1790000000) * SECOND) /* a whole second in 2026 */

__extension__ typedef unsigned __int128 wide;

static inline uint64_t random_next(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t *seed, uint64_t bound)
{
    return bound == 0 ? 0 : random_next(seed) % bound;
}

static inline struct engine_limit limit_of(struct engine_spec spec)
{
    struct engine_limit limit;
    memset(&limit, 0, sizeof limit);
    const char *wrong = engine_compile(&spec, &limit);
    if (wrong != NULL)
        fail_msg("N %lu per %lu ns: %s", (unsigned long)spec.count, (unsigned long)spec.period_ns, wrong);
    return limit;
}

static inline struct engine_limit sliding_limit(uint64_t count, uint64_t period_ns, unsigned flags)
{
    return limit_of((struct engine_spec){
        .count = count, .period_ns = period_ns, .flags = (uint16_t)flags, .algorithm = ENGINE_SLIDING });
}

/* Judges, and charges what is admitted. */
static inline struct engine_verdict request(struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                                            uint64_t now_ns)
{
    struct engine_verdict verdict;
    engine_settle_clock(state, limit, now_ns);
    engine_judge(state, limit, cost, now_ns, &verdict);
    if (verdict.allowed)
        engine_charge(state, limit, cost, now_ns, &verdict);
    else
        engine_exceed(state, limit, cost, now_ns, &verdict);
    return verdict;
}

static inline struct engine_verdict ask(const struct engine_state *state, const struct engine_limit *limit,
                                        uint64_t cost, uint64_t now_ns)
{
    struct engine_verdict verdict;
    engine_judge(state, limit, cost, now_ns, &verdict);
    return verdict;
}

/* A refusal's wait is exact, and so are remaining, more and reset of any verdict that came of `state` at `now_ns`. */
static inline void assert_honest(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                                 uint64_t now_ns, const struct engine_verdict *verdict)
{
    if (!verdict->allowed && verdict->wait_ns != ENGINE_NEVER) {
        assert_true(verdict->wait_ns > 0);
        assert_true(ask(state, limit, cost, now_ns + verdict->wait_ns).allowed);
        assert_false(ask(state, limit, cost, now_ns + verdict->wait_ns - 1).allowed);
    }
    if (verdict->blocked || (limit->spec.flags & ENGINE_QUEUE) != 0)
        return;
    if (verdict->remaining > 0)
        assert_true(ask(state, limit, verdict->remaining, now_ns).allowed);
    assert_false(ask(state, limit, verdict->remaining + 1, now_ns).allowed);
    assert_int_equal(verdict->remaining + verdict->used, limit->capacity);
    if (verdict->used == 0) {
        assert_int_equal(verdict->more_ns, 0);
        assert_int_equal(verdict->reset_ns, 0);
        return;
    }
    assert_true(ask(state, limit, verdict->remaining + 1, now_ns + verdict->more_ns).allowed);
    assert_false(ask(state, limit, verdict->remaining + 1, now_ns + verdict->more_ns - 1).allowed);
    assert_true(ask(state, limit, limit->capacity, now_ns + verdict->reset_ns).allowed);
    assert_false(ask(state, limit, limit->capacity, now_ns + verdict->reset_ns - 1).allowed);
}

/* The history of a key, kept in full: what each window truly holds. */
struct history {
    size_t first, last; /* charges from first to last - 1 may still matter */
    uint64_t at_ns[1 << 16];
    uint64_t cost[1 << 16];
};

static inline void history_add(struct history *history, uint64_t cost, uint64_t at_ns)
{
    if (history->last == 1 << 16) {
        size_t live = history->last - history->first;
        assert_true(live < 1 << 15);
        memmove(history->at_ns, history->at_ns + history->first, live * sizeof history->at_ns[0]);
        memmove(history->cost, history->cost + history->first, live * sizeof history->cost[0]);
        history->first = 0;
        history->last = live;
    }
    history->at_ns[history->last] = at_ns;
    history->cost[history->last++] = cost;
}

/* Charges in (now - span, now]. */
static inline uint64_t history_sum(const struct history *history, uint64_t span_ns, uint64_t now_ns)
{
    uint64_t sum = 0;
    for (size_t i = history->last; i > history->first && history->at_ns[i - 1] + span_ns > now_ns; i--)
        sum += history->cost[i - 1];
    return sum;
}

static inline void history_forget(struct history *history, uint64_t span_ns, uint64_t now_ns)
{
    while (history->first < history->last && history->at_ns[history->first] + span_ns <= now_ns)
        history->first++;
}

#endif
