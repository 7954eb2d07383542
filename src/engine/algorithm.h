/*
 * What each algorithm gives to the engine; private to this room.
 *
 * All functions expect a state that engine_settle_clock has seen at the same `now`.  None looks at blocks.
 */
#ifndef DROSSEL_ENGINE_ALGORITHM_H
#define DROSSEL_ENGINE_ALGORITHM_H

#include "engine/engine.h"
#include "hint.h"

#define ENGINE_TALLY_MAX UINT32_C(0xffffff) /* 24 bits of a slot */

/* Out of line, so that what each decision does saves no registers for it and is small enough to be inlined. */
#define SELDOM __attribute__((noinline, cold))

static inline uint64_t engine_add(uint64_t a, uint64_t b) /* saturates */
{
    uint64_t sum = a + b;
    return sum < a ? UINT64_MAX : sum;
}

static inline uint64_t engine_minus(uint64_t a, uint64_t b) /* not below zero */
{
    return a > b ? a - b : 0;
}

static inline uint64_t engine_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t engine_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Charges may lie so far ahead of now: with a queue up to one window, and one more for a clock that stepped back. */
static inline uint64_t engine_ahead_max(const struct engine_limit *limit)
{
    uint64_t period_ns = limit->spec.period_ns;
    return (limit->spec.flags & ENGINE_QUEUE) != 0 ? 2 * period_ns : period_ns;
}

const char *sliding_compile(struct engine_limit *limit);
void sliding_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);
void sliding_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                   struct engine_verdict *verdict);
void sliding_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                    struct engine_verdict *verdict);
/* As engine_pass. */
bool sliding_pass(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                  struct engine_verdict *verdict);
/* As engine_pass_tally. */
uint64_t sliding_pass_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns);
void sliding_count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                           uint64_t now_ns);
uint64_t sliding_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                        uint64_t now_ns);
/* As engine_refund_tally. */
uint64_t sliding_refund_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                              uint64_t now_ns);
void sliding_repair(struct engine_state *state, const struct engine_limit *limit);
/* Moves the charges of `state` (of `from`) over into `fresh` (of `to`, both sliding), oldest first. */
void sliding_convert(const struct engine_state *state, const struct engine_limit *from, struct engine_state *fresh,
                     const struct engine_limit *to, uint64_t now_ns);
/* Charges at a given time, not before the newest charge and without a judgement. */
void sliding_charge_at(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t at_ns);

const char *bucket_compile(struct engine_limit *limit);
void bucket_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);
void bucket_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                  struct engine_verdict *verdict);
void bucket_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                   struct engine_verdict *verdict);
void bucket_count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);
uint64_t bucket_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                       uint64_t now_ns);
void bucket_clear(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);
void bucket_repair(struct engine_state *state, const struct engine_limit *limit);
void bucket_charge_now(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns);

const char *distinct_compile(struct engine_limit *limit);
void distinct_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t thing, uint64_t now_ns,
                    struct engine_verdict *verdict);
void distinct_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t thing, uint64_t now_ns);
void distinct_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);

void fixed_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);
void fixed_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                 struct engine_verdict *verdict);
void fixed_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                  struct engine_verdict *verdict);
void fixed_count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns);
uint64_t fixed_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                      uint64_t now_ns);
void fixed_repair(struct engine_state *state, const struct engine_limit *limit);
void fixed_charge_now(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns);
/* After fixed_charge_now for a converted state: a window that is the same under both limits keeps its start. */
void fixed_keep_start(const struct engine_state *state, const struct engine_limit *from, struct engine_state *fresh,
                      const struct engine_limit *to, uint64_t now_ns);

#endif
