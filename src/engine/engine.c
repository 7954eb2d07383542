/* The engine's public functions: blocks and their growth, and the choice of the algorithm. */
#include "engine/engine.h"

#include "engine/algorithm.h"

#define STRIKES_MAX 127

static const char *check_spec(const struct engine_spec *spec)
{
    if (spec->algorithm > ENGINE_DISTINCT)
        return "unknown algorithm; write sliding, fixed, bucket or leaky";
    if (spec->count > ENGINE_COUNT_MAX || spec->burst > ENGINE_COUNT_MAX)
        return "a count beyond 100 million is finer than the engine can hold; write a smaller one over a shorter time";
    if (spec->period_ns < 1000000)
        return "a time below 1ms is finer than the engine can hold; write 1ms or more";
    if (spec->period_ns > ENGINE_PERIOD_MAX_NS)
        return "a time beyond 366d is longer than the engine can hold; write 366d or less";
    if (spec->block_ns > ENGINE_PERIOD_MAX_NS || spec->block_max_ns > ENGINE_PERIOD_MAX_NS ||
        spec->forgive_ns > ENGINE_PERIOD_MAX_NS)
        return "a block beyond 366d is longer than the engine can hold; write 366d or less";
    if (spec->block_ns > 0 && spec->factor_milli < 1000)
        return "a factor below 1 would shorten each further block; write 1 or more";
    return NULL;
}

const char *engine_compile(const struct engine_spec *spec, struct engine_limit *limit)
{
    const char *wrong = check_spec(spec);
    if (wrong != NULL)
        return wrong;
    struct engine_limit compiled = { .spec = *spec, .capacity = spec->count, .period_ns = spec->period_ns };
    switch ((enum engine_algorithm)spec->algorithm) {
    case ENGINE_SLIDING:
        wrong = sliding_compile(&compiled);
        break;
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        wrong = bucket_compile(&compiled);
        break;
    case ENGINE_DISTINCT:
        wrong = distinct_compile(&compiled);
        break;
    case ENGINE_FIXED:
        break;
    }
    if (wrong == NULL)
        *limit = compiled;
    return wrong;
}

/* ---- blocks ---- */

static uint64_t block_longest(const struct engine_limit *limit)
{
    return engine_max(limit->spec.block_max_ns, limit->spec.block_ns);
}

static uint64_t block_length(const struct engine_limit *limit, unsigned strikes_before)
{
    uint64_t length_ns = limit->spec.block_ns, longest_ns = block_longest(limit);
    if (limit->spec.factor_milli <= 1000)
        return length_ns;
    for (unsigned i = 0; i < strikes_before && length_ns < longest_ns; i++) {
        uint64_t thousandths = length_ns / 1000;
        if (thousandths >= longest_ns / limit->spec.factor_milli + 1)
            return longest_ns;
        length_ns = thousandths * limit->spec.factor_milli + length_ns % 1000 * limit->spec.factor_milli / 1000;
    }
    return engine_min(length_ns, longest_ns);
}

static bool is_blocked(const struct engine_state *state, uint64_t now_ns)
{
    return state->block_end_ns > now_ns;
}

static void counter_clear(struct engine_state *state)
{
    state->time_ns = 0;
    state->tally = 0;
    for (unsigned i = 0; i < 4; i++)
        state->log[i] = 0;
}

static bool is_bucket(const struct engine_limit *limit)
{
    return limit->spec.algorithm == ENGINE_BUCKET || limit->spec.algorithm == ENGINE_LEAKY;
}

/* The counter starts afresh, and what was charged before can no longer be given back. */
static void start_afresh(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    if (is_bucket(limit) && limit->spec.count > 0)
        bucket_clear(state, limit, now_ns);
    else
        counter_clear(state);
}

/* How far ahead the end of a running block can be. */
static uint64_t block_ahead_max(const struct engine_state *state, const struct engine_limit *limit)
{
    return (state->strikes & ENGINE_BLOCKED_BY_HAND) != 0 ? ENGINE_PERIOD_MAX_NS : block_longest(limit);
}

static bool settle_block(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    uint64_t longest_ns = block_ahead_max(state, limit);
    if (engine_minus(state->block_end_ns, now_ns) <= longest_ns)
        return false;
    state->block_end_ns = engine_add(now_ns, longest_ns);
    return true;
}

/* Brings times that are ahead of now back to it. */
static void counter_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    switch ((enum engine_algorithm)limit->spec.algorithm) {
    case ENGINE_SLIDING:
        sliding_pull(state, limit, now_ns);
        break;
    case ENGINE_FIXED:
        fixed_pull(state, limit, now_ns);
        break;
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        bucket_pull(state, limit, now_ns);
        break;
    case ENGINE_DISTINCT:
        distinct_pull(state, limit, now_ns);
        break;
    }
}

bool engine_settle_clock(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    bool changed = state->block_end_ns > now_ns && settle_block(state, limit, now_ns);
    if (state->time_ns <= now_ns)
        return changed;
    uint64_t ahead_ns = engine_add(limit->depth_ns, engine_ahead_max(limit));
    if (state->time_ns - now_ns <= ahead_ns)
        return changed;
    counter_pull(state, limit, now_ns);
    return true;
}

/* ---- judging and charging ---- */

static inline void judge_by_algorithm(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                                      uint64_t now_ns, struct engine_verdict *verdict)
{
    switch ((enum engine_algorithm)limit->spec.algorithm) {
    case ENGINE_SLIDING:
        sliding_judge(state, limit, cost, now_ns, verdict);
        break;
    case ENGINE_FIXED:
        fixed_judge(state, limit, cost, now_ns, verdict);
        break;
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        bucket_judge(state, limit, cost, now_ns, verdict);
        break;
    case ENGINE_DISTINCT:
        distinct_judge(state, limit, cost, now_ns, verdict);
        break;
    }
}

static bool is_too_much(const struct engine_limit *limit, uint64_t cost)
{
    return cost > limit->capacity && limit->spec.algorithm != ENGINE_DISTINCT;
}

/* The counter of a blocked key is clear, but where the clock stepped back into a block that was over. */
static void add_wait_after_block(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                                 struct engine_verdict *verdict)
{
    struct engine_verdict then = { 0 };
    judge_by_algorithm(state, limit, cost, state->block_end_ns, &then);
    verdict->wait_ns = engine_add(verdict->wait_ns, then.wait_ns);
    verdict->reset_ns = engine_add(verdict->reset_ns, then.reset_ns);
    verdict->more_ns = engine_add(verdict->more_ns, then.remaining > 0 ? 0 : then.more_ns);
}

static __attribute__((noinline)) void judge_blocked(const struct engine_state *state, const struct engine_limit *limit,
                                                    uint64_t cost, uint64_t now_ns, struct engine_verdict *verdict)
{
    verdict->blocked = true;
    verdict->used = limit->capacity;
    verdict->wait_ns = verdict->reset_ns = verdict->more_ns = state->block_end_ns - now_ns;
    if (is_too_much(limit, cost))
        verdict->wait_ns = ENGINE_NEVER;
    else if (state->time_ns > 0)
        add_wait_after_block(state, limit, cost, verdict);
}

inline void engine_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                         uint64_t now_ns, struct engine_verdict *verdict)
{
    *verdict = (struct engine_verdict){ 0 };
    if (limit->spec.count == 0) {
        verdict->wait_ns = ENGINE_NEVER;
        return;
    }
    if (is_blocked(state, now_ns)) {
        judge_blocked(state, limit, cost, now_ns, verdict);
        return;
    }
    bool is_possible = !is_too_much(limit, cost);
    judge_by_algorithm(state, limit, is_possible ? cost : 0, now_ns, verdict);
    if (is_possible)
        return;
    verdict->allowed = false;
    verdict->delay_ns = 0;
    verdict->wait_ns = ENGINE_NEVER;
}

inline void engine_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                          struct engine_verdict *verdict)
{
    if (cost == 0)
        return;
    switch ((enum engine_algorithm)limit->spec.algorithm) {
    case ENGINE_SLIDING:
        sliding_charge(state, limit, cost, now_ns, verdict);
        break;
    case ENGINE_FIXED:
        fixed_charge(state, limit, cost, now_ns, verdict);
        break;
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        bucket_charge(state, limit, cost, now_ns, verdict);
        break;
    case ENGINE_DISTINCT:
        distinct_charge(state, limit, cost, now_ns);
        break;
    }
}

inline bool engine_pass(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                        struct engine_verdict *verdict)
{
    return sliding_pass(state, limit, cost, now_ns, verdict);
}

inline uint64_t engine_pass_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost,
                                  uint64_t now_ns)
{
    return sliding_pass_tally(tally, limit, cost, now_ns);
}

inline bool engine_exceed_writes(const struct engine_limit *limit, const struct engine_verdict *verdict)
{
    if (verdict->allowed || verdict->wait_ns == ENGINE_NEVER)
        return false;
    if (verdict->blocked)
        return (limit->spec.flags & ENGINE_EXTEND) != 0 && limit->spec.block_ns > 0;
    if (limit->spec.block_ns > 0)
        return true;
    /* A queue refuses only when a whole window is queued already: there is nothing that a refusal could add. */
    return (limit->spec.flags & (ENGINE_COUNT_REFUSED | ENGINE_QUEUE)) == ENGINE_COUNT_REFUSED;
}

static void tell_block(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns,
                       struct engine_verdict *verdict)
{
    verdict->blocked = true;
    verdict->remaining = 0;
    verdict->used = limit->capacity;
    verdict->wait_ns = verdict->reset_ns = verdict->more_ns = state->block_end_ns - now_ns;
}

static void start_block(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    unsigned strikes = state->strikes & STRIKES_MAX;
    if (now_ns >= engine_add(state->block_end_ns, limit->spec.forgive_ns))
        strikes = 0;
    state->block_end_ns = engine_add(now_ns, block_length(limit, strikes));
    state->strikes = (uint8_t)engine_min(strikes + 1, STRIKES_MAX);
    start_afresh(state, limit, now_ns);
}

SELDOM static void count_refused(struct engine_state *state, const struct engine_limit *limit, uint64_t cost,
                                 uint64_t now_ns)
{
    switch ((enum engine_algorithm)limit->spec.algorithm) {
    case ENGINE_SLIDING:
        sliding_count_refused(state, limit, cost, now_ns);
        break;
    case ENGINE_FIXED:
        fixed_count_refused(state, limit, cost, now_ns);
        break;
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        bucket_count_refused(state, limit, now_ns);
        break;
    case ENGINE_DISTINCT: /* what is refused is not let in, and nothing is pushed out for it */
        break;
    }
}

void engine_exceed(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                   struct engine_verdict *verdict)
{
    if (!engine_exceed_writes(limit, verdict))
        return;
    if (verdict->blocked) {
        unsigned strikes = state->strikes & STRIKES_MAX;
        uint64_t end_ns = engine_add(now_ns, block_length(limit, strikes > 0 ? strikes - 1 : 0));
        state->block_end_ns = engine_max(state->block_end_ns, end_ns);
        tell_block(state, limit, now_ns, verdict);
        return;
    }
    if (limit->spec.block_ns > 0) {
        start_block(state, limit, now_ns);
        tell_block(state, limit, now_ns, verdict);
        verdict->started_block = true;
        return;
    }
    count_refused(state, limit, cost, now_ns);
    judge_by_algorithm(state, limit, cost, now_ns, verdict);
}

uint64_t engine_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                       uint64_t now_ns)
{
    if (limit->spec.count == 0 || is_blocked(state, now_ns))
        return 0;
    if (!is_bucket(limit) && mark < state->block_end_ns) /* charged before the counter was afresh */
        return 0;
    switch ((enum engine_algorithm)limit->spec.algorithm) {
    case ENGINE_SLIDING:
        return sliding_refund(state, limit, cost, mark, now_ns);
    case ENGINE_FIXED:
        return fixed_refund(state, limit, cost, mark, now_ns);
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        return bucket_refund(state, limit, cost, mark, now_ns);
    case ENGINE_DISTINCT:
        return 0;
    }
    return 0;
}

inline uint64_t engine_refund_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost,
                                    uint64_t mark, uint64_t now_ns)
{
    return mark < tally.block_end_ns ? 0 : sliding_refund_tally(tally, limit, cost, mark, now_ns);
}

void engine_clear(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    start_afresh(state, limit, now_ns);
    state->block_end_ns = now_ns; /* as after a block that ends now: see engine_refund */
    state->strikes = 0;
}

void engine_block(struct engine_state *state, uint64_t for_ns, uint64_t now_ns)
{
    state->block_end_ns = engine_add(now_ns, engine_min(for_ns, ENGINE_PERIOD_MAX_NS));
    state->strikes |= ENGINE_BLOCKED_BY_HAND;
    counter_clear(state);
}

uint64_t engine_used(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    struct engine_verdict verdict;
    engine_judge(state, limit, 0, now_ns, &verdict);
    return verdict.used;
}

/* Among keys at their limit the newest is worth least: a flood of keys that are full at once displaces itself. */
uint32_t engine_worth(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    if (is_blocked(state, now_ns)) {
        uint64_t left = (state->block_end_ns - now_ns) >> 24; /* in 17 ms, so that 366 days fit */
        return ENGINE_WORTH_BLOCKED + (uint32_t)engine_min(left, INT32_MAX);
    }
    if (limit->spec.count == 0)
        return 0;
    struct engine_verdict verdict;
    judge_by_algorithm(state, limit, 0, now_ns, &verdict);
    if (verdict.used == 0) {
        bool forgiven = now_ns >= engine_add(state->block_end_ns, limit->spec.forgive_ns);
        return (state->strikes & STRIKES_MAX) == 0 || forgiven ? 0 : 1;
    }
    if (verdict.remaining == 0) {
        uint64_t age_ns = limit->spec.period_ns - engine_min(verdict.reset_ns, limit->spec.period_ns);
        return ENGINE_WORTH_FULL + (uint32_t)(age_ns / (limit->spec.period_ns / 1000000 + 1));
    }
    return 2 + (uint32_t)(verdict.used * (ENGINE_WORTH_FULL / 2) / limit->capacity);
}

/* ---- repair and conversion ---- */

static void counter_repair(struct engine_state *state, const struct engine_limit *limit)
{
    state->tally &= ENGINE_TALLY_MAX;
    if (limit->spec.count == 0) {
        counter_clear(state);
        return;
    }
    switch ((enum engine_algorithm)limit->spec.algorithm) {
    case ENGINE_SLIDING:
        sliding_repair(state, limit);
        break;
    case ENGINE_FIXED:
        fixed_repair(state, limit);
        break;
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        bucket_repair(state, limit);
        break;
    case ENGINE_DISTINCT: /* any bits are entries */
        break;
    }
}

/* Times further ahead than a charge can be are not trusted here as they are after a step of the clock: that would cost a
 * second window.  A valid state stays as it is. */
void engine_repair(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    uint64_t ahead_ns = (limit->spec.flags & ENGINE_QUEUE) != 0 ? limit->spec.period_ns : 0;
    counter_repair(state, limit);
    if (engine_minus(state->block_end_ns, now_ns) > block_ahead_max(state, limit)) {
        state->block_end_ns = 0;
        state->strikes = 0;
    }
    if (engine_minus(state->time_ns, now_ns) > engine_add(ahead_ns, limit->depth_ns))
        counter_pull(state, limit, now_ns);
}

static bool counts_alike(const struct engine_spec *a, const struct engine_spec *b)
{
    const uint16_t counter_flags = ENGINE_FROM_FIRST | ENGINE_REFUNDABLE;
    return a->algorithm == b->algorithm && a->count == b->count && a->period_ns == b->period_ns &&
           a->burst == b->burst && (a->flags & counter_flags) == (b->flags & counter_flags);
}

SELDOM static void convert_counter(const struct engine_state *state, const struct engine_limit *from,
                                   struct engine_state *fresh, const struct engine_limit *to, uint64_t now_ns)
{
    struct engine_verdict verdict = { 0 };
    judge_by_algorithm(state, from, 0, now_ns, &verdict);
    uint64_t used = engine_min(verdict.used, to->capacity);
    if (used == 0)
        return;
    switch ((enum engine_algorithm)to->spec.algorithm) {
    case ENGINE_SLIDING:
        if (from->spec.algorithm == ENGINE_SLIDING)
            sliding_convert(state, from, fresh, to, now_ns);
        else
            sliding_charge_at(fresh, to, used, now_ns);
        break;
    case ENGINE_FIXED:
        fixed_charge_now(fresh, to, used, now_ns);
        if (from->spec.algorithm == ENGINE_FIXED)
            fixed_keep_start(state, from, fresh, to, now_ns);
        break;
    case ENGINE_BUCKET:
    case ENGINE_LEAKY:
        bucket_charge_now(fresh, to, used, now_ns);
        break;
    case ENGINE_DISTINCT: /* which things they were is not known */
        break;
    }
}

void engine_convert(struct engine_state *state, const struct engine_limit *from, const struct engine_limit *to,
                    uint64_t now_ns)
{
    counter_repair(state, from);
    engine_settle_clock(state, from, now_ns);
    if (engine_minus(state->block_end_ns, now_ns) > block_longest(to))
        state->strikes |= ENGINE_BLOCKED_BY_HAND; /* a block lasts as it was told, whatever the new policy says */
    if (counts_alike(&from->spec, &to->spec))
        return;
    struct engine_state fresh = { .block_end_ns = state->block_end_ns, .strikes = state->strikes };
    if (from->spec.count > 0 && to->spec.count > 0)
        convert_counter(state, from, &fresh, to, now_ns);
    *state = fresh;
    engine_settle_clock(state, to, now_ns);
}
