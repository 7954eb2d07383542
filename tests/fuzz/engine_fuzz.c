/*
 * The engine, on any sequence of requests, refunds, steps of the clock, damage and new policies.
 *
 *     clang -g -O1 -D_GNU_SOURCE -std=c11 -fsanitize=fuzzer,address,undefined -Isrc \
 *         tests/fuzz/engine_fuzz.c src/engine/{engine,sliding,sliding_layout,bucket,fixed}.c -o engine_fuzz
 *
 * Beyond surviving: a sliding window never holds more than N charges that are kept, a wait is exact, a verdict stays within
 * the limit, and a refund gives no more than was asked for.
 */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#define CHARGES_MAX 1024

struct input {
    const uint8_t *data;
    size_t size;
};

struct charge {
    uint64_t at_ns, mark, cost;
};

struct trial {
    struct engine_limit limit;
    struct engine_state state;
    uint64_t now_ns;
    struct charge charges[CHARGES_MAX];
    unsigned count;
    bool strict; /* nothing happened after which P1 is not promised */
};

static void check(bool right)
{
    if (!right)
        abort();
}

static uint64_t take(struct input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (; bytes > 0 && input->size > 0; bytes--, input->size--)
        value = value << 8 | *input->data++;
    return value;
}

static bool take_limit(struct input *input, struct engine_limit *limit)
{
    static const uint64_t periods[] = { 1000000, 1000000000, 10000000000, 86400000000000, 31536000000000000, 1000003 };
    struct engine_spec spec = { .factor_milli = 2000 };
    spec.count = take(input, take(input, 1) % 4);
    spec.period_ns = periods[take(input, 1) % 6];
    spec.flags = (uint16_t)(take(input, 1) % 64);
    spec.algorithm = (uint8_t)(take(input, 1) % 4);
    spec.burst = take(input, 1);
    spec.undelayed = take(input, 1);
    spec.block_ns = take(input, 1) % 4 == 0 ? take(input, 5) : 0;
    spec.block_max_ns = 4 * spec.block_ns;
    spec.forgive_ns = 8 * spec.block_ns;
    return engine_compile(&spec, limit) == NULL;
}

static uint64_t kept_in_window(const struct trial *trial, uint64_t at_ns)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < trial->count; i++)
        if (trial->charges[i].at_ns + trial->limit.spec.period_ns > at_ns)
            sum += trial->charges[i].cost;
    return sum;
}

static void try_request(struct trial *trial, uint64_t cost)
{
    struct engine_verdict verdict, again;
    const struct engine_limit *limit = &trial->limit;
    engine_judge(&trial->state, limit, cost, trial->now_ns, &verdict);
    if (!verdict.allowed && verdict.wait_ns != ENGINE_NEVER) {
        engine_judge(&trial->state, limit, cost, trial->now_ns + verdict.wait_ns, &again);
        check(again.allowed);
        engine_judge(&trial->state, limit, cost, trial->now_ns + verdict.wait_ns - 1, &again);
        check(!again.allowed);
    }
    check(verdict.remaining <= limit->capacity);
    if (!verdict.allowed) {
        engine_exceed(&trial->state, limit, cost, trial->now_ns, &verdict);
        trial->strict = trial->strict && !verdict.started_block;
        return;
    }
    engine_charge(&trial->state, limit, cost, trial->now_ns, &verdict);
    if (cost == 0)
        return;
    if (trial->count == CHARGES_MAX)
        trial->strict = false;
    else
        trial->charges[trial->count++] = (struct charge){ trial->now_ns + verdict.delay_ns, verdict.mark, cost };
    if (trial->strict && limit->spec.algorithm == ENGINE_SLIDING)
        check(kept_in_window(trial, trial->now_ns + verdict.delay_ns) <= limit->spec.count);
}

static void try_refund(struct trial *trial, unsigned which, uint64_t cost)
{
    if (trial->count == 0)
        return;
    struct charge *charge = &trial->charges[trial->count - 1 - which % trial->count];
    cost %= charge->cost + 1;
    check(engine_refund(&trial->state, &trial->limit, cost, charge->mark, trial->now_ns) <= cost);
    charge->cost -= cost;
}

static void try_damage(struct trial *trial, struct input *input)
{
    trial->state.block_end_ns = take(input, 8);
    trial->state.time_ns = take(input, 8);
    for (unsigned i = 0; i < 4; i++)
        trial->state.log[i] = take(input, 8);
    trial->state.tally = (uint32_t)take(input, 4);
    trial->state.strikes = (uint8_t)take(input, 1);
    engine_repair(&trial->state, &trial->limit, trial->now_ns);
    trial->strict = false;
}

static void try_policy(struct trial *trial, struct input *input)
{
    struct engine_limit to;
    if (!take_limit(input, &to))
        return;
    const struct engine_spec *old = &trial->limit.spec, *new = &to.spec;
    bool sliding = old->algorithm == ENGINE_SLIDING && new->algorithm == ENGINE_SLIDING;
    bool queue = ((old->flags | new->flags) & ENGINE_QUEUE) != 0; /* a shorter window cannot hold what is queued */
    trial->strict = trial->strict && sliding && old->count > 0 &&
                    new->count >= old->count &&new->period_ns <= old->period_ns && !queue;
    engine_convert(&trial->state, &trial->limit, &to, trial->now_ns);
    trial->limit = to;
}

static void try_one(struct trial *trial, struct input *input)
{
    uint64_t kind = take(input, 1);
    switch (kind % 8) {
    case 0:
        trial->now_ns += take(input, 1 + kind / 8 % 7);
        break;
    case 1:
        trial->now_ns += trial->limit.spec.period_ns / (1 + take(input, 1));
        break;
    case 2:
        try_refund(trial, (unsigned)take(input, 1), take(input, 2));
        break;
    case 3:
        if (kind / 8 % 8 == 0)
            try_damage(trial, input);
        else if (kind / 8 % 8 == 1)
            try_policy(trial, input);
        else if (kind / 8 % 8 == 2) {
            trial->now_ns -= take(input, 6);
            trial->strict = false;
        }
        break;
    case 4:
        try_request(trial, take(input, 3));
        break;
    default:
        for (uint64_t i = 0; i <= kind / 8; i++)
            try_request(trial, 1);
    }
    engine_settle_clock(&trial->state, &trial->limit, trial->now_ns);
    (void)engine_worth(&trial->state, &trial->limit, trial->now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct trial trial;
    struct input input = { data, size };
    memset(&trial, 0, sizeof trial);
    trial.now_ns = UINT64_C(1790000000000000000);
    trial.strict = true;
    if (!take_limit(&input, &trial.limit))
        return 0;
    while (input.size > 0 && trial.now_ns < UINT64_MAX / 2)
        try_one(&trial, &input);
    return 0;
}
