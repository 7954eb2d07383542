/* What a state goes through besides requests: steps of the clock, damage, and another policy. */
#include "trial.h"

static struct engine_spec random_spec(uint64_t *seed)
{
    static const uint64_t periods[] = { MS, SECOND, 10 * SECOND, 3600 * SECOND, DAY, 365 * DAY, 1000003 };
    struct engine_spec spec = { .count = random_below(seed, random_below(seed, 3) ? 60 : 10000000),
                                .factor_milli = 2000,
                                .period_ns = periods[random_below(seed, 7)],
                                .undelayed = random_below(seed, 4),
                                .algorithm = (uint8_t)random_below(seed, 4),
                                .flags = (uint16_t)random_below(seed, 32) };
    spec.burst = 1 + random_below(seed, spec.count < 100 ? spec.count + 1 : 100);
    spec.block_ns = random_below(seed, 3) ? 0 : random_below(seed, DAY);
    spec.block_max_ns = 2 * spec.block_ns;
    spec.forgive_ns = random_below(seed, DAY);
    return spec;
}

static void damage(uint64_t *seed, struct engine_state *state, uint64_t now_ns)
{
    state->block_end_ns = random_below(seed, 2) ? random_next(seed) : now_ns + random_below(seed, DAY);
    state->time_ns = random_below(seed, 2) ? random_next(seed) : now_ns - random_below(seed, SECOND);
    for (unsigned i = 0; i < 4; i++)
        state->log[i] = random_below(seed, 8) ? random_next(seed) : 0;
    state->tally = (uint32_t)random_next(seed);
    state->strikes = (uint8_t)random_next(seed);
}

static uint64_t drain_ns(const struct engine_limit *limit)
{
    uint64_t period_ns = limit->spec.period_ns + limit->quantum_ns;
    return limit->depth_ns > period_ns ? limit->depth_ns + 1 : period_ns;
}

/* Nothing crashes on damage, a repaired key is within its limit, and fresh after a window and the longest block. */
static void damage_costs_at_most_a_window_and_a_block(void **unused)
{
    (void)unused;
    uint64_t seed = 41;
    for (unsigned i = 0; i < 100000; i++) {
        struct engine_limit limit = limit_of(random_spec(&seed));
        struct engine_state state = { 0 };
        uint64_t now_ns = random_below(&seed, 20) ? START : random_below(&seed, 4) * (UINT64_MAX / 6);
        damage(&seed, &state, now_ns);
        bool by_hand = (state.strikes & 128) != 0;
        engine_repair(&state, &limit, now_ns);
        struct engine_verdict verdict = ask(&state, &limit, 0, now_ns);
        assert_true(verdict.used <= limit.capacity && verdict.remaining <= limit.capacity);
        struct engine_state trial = state;
        for (unsigned j = 0; j < 10; j++) {
            uint64_t cost = random_below(&seed, limit.capacity + 2);
            verdict = request(&trial, &limit, cost, now_ns + j * (limit.spec.period_ns / 7));
            assert_true(verdict.used <= limit.capacity || (limit.spec.flags & ENGINE_QUEUE) != 0);
            engine_refund(&trial, &limit, random_below(&seed, cost + 1), random_next(&seed), now_ns);
            (void)engine_worth(&trial, &limit, now_ns);
        }
        uint64_t block_ns = by_hand ? ENGINE_PERIOD_MAX_NS : limit.spec.block_max_ns;
        uint64_t queue_ns = (limit.spec.flags & ENGINE_QUEUE) != 0 ? limit.spec.period_ns : 0;
        uint64_t later_ns = now_ns + drain_ns(&limit) + queue_ns + block_ns;
        engine_settle_clock(&state, &limit, later_ns);
        if (limit.spec.count > 0)
            assert_int_equal(ask(&state, &limit, 0, later_ns).remaining, limit.capacity);
    }
}

/* Who looks at a slot without its guard may meet words of another limit.  Bounds are the sanitizers' to prove. */
static void bytes_that_nobody_repaired_are_judged_within_bounds(void **unused)
{
    (void)unused;
    uint64_t seed = 43;
    for (unsigned i = 0; i < 200000; i++) {
        struct engine_limit limit = limit_of(random_spec(&seed));
        struct engine_state state = { 0 };
        damage(&seed, &state, START);
        engine_settle_clock(&state, &limit, START);
        uint32_t worth = engine_worth(&state, &limit, START);
        struct engine_verdict verdict = ask(&state, &limit, 1, START);
        assert_true(!verdict.blocked || worth >= ENGINE_WORTH_BLOCKED);
    }
}

/* A step back grants nothing: never more than N in any window of the time that went by in truth. */
static void a_clock_that_steps_back_grants_nothing_and_costs_a_window(void **unused)
{
    (void)unused;
    uint64_t seed = 42;
    for (unsigned i = 0; i < 20000; i++) {
        struct engine_spec spec = random_spec(&seed);
        spec.count += spec.count == 0;
        spec.block_ns = spec.block_max_ns = 0;
        spec.flags &= ENGINE_FROM_FIRST | ENGINE_REFUNDABLE;
        spec.undelayed = UINT64_MAX;
        struct engine_limit limit = limit_of(spec);
        struct engine_state state = { 0 };
        uint64_t now_ns = START + random_below(&seed, DAY), admitted = 0;
        uint64_t step_ns = random_below(&seed, random_below(&seed, 2) ? spec.period_ns : 400 * DAY);
        request(&state, &limit, 1 + random_below(&seed, limit.capacity), now_ns);
        uint64_t left = ask(&state, &limit, 0, now_ns).remaining;
        now_ns -= step_ns;
        engine_settle_clock(&state, &limit, now_ns);
        struct engine_verdict verdict = ask(&state, &limit, 0, now_ns);
        assert_true(verdict.remaining <= left);
        for (unsigned j = 0; j < 5; j++) {
            uint64_t cost = 1 + random_below(&seed, left + 1);
            admitted += request(&state, &limit, cost, now_ns).allowed ? cost : 0;
        }
        assert_true(admitted <= left);
        uint64_t wait_ns = drain_ns(&limit) + spec.period_ns;
        engine_settle_clock(&state, &limit, now_ns + wait_ns);
        assert_int_equal(ask(&state, &limit, 0, now_ns + wait_ns).remaining, limit.capacity);
    }
}

static void repair_leaves_a_valid_state_as_it_is(void **unused)
{
    (void)unused;
    uint64_t seed = 46;
    for (unsigned i = 0; i < 5000; i++) {
        struct engine_limit limit = limit_of(random_spec(&seed));
        struct engine_state state = { 0 };
        uint64_t now_ns = START, cost, mark = 0;
        for (unsigned j = 0; j < 30; j++) {
            now_ns += random_below(&seed, 2) ? random_below(&seed, limit.spec.period_ns / 8) : 0;
            struct engine_verdict verdict =
                request(&state, &limit, cost = random_below(&seed, limit.capacity / 3 + 2), now_ns);
            mark = verdict.allowed && random_below(&seed, 2) ? verdict.mark : mark;
            if (random_below(&seed, 3) == 0)
                engine_refund(&state, &limit, cost, mark, now_ns);
            struct engine_state repaired = state;
            engine_repair(&repaired, &limit, now_ns);
            for (uint64_t ask_cost = 0; ask_cost < 3; ask_cost++) {
                struct engine_verdict before = ask(&state, &limit, ask_cost, now_ns);
                struct engine_verdict after = ask(&repaired, &limit, ask_cost, now_ns);
                assert_memory_equal(&before, &after, sizeof before);
            }
            assert_int_equal(state.time_ns, repaired.time_ns);
            assert_int_equal(state.tally, repaired.tally);
        }
    }
}

static void times_at_both_ends_of_the_clock_saturate(void **unused)
{
    (void)unused;
    uint64_t seed = 43;
    for (unsigned i = 0; i < 20000; i++) {
        struct engine_spec spec = random_spec(&seed);
        spec.flags &= (uint16_t)~ENGINE_QUEUE;
        struct engine_limit limit = limit_of(spec);
        struct engine_state state = { 0 };
        bool bucket = spec.algorithm == ENGINE_BUCKET || spec.algorithm == ENGINE_LEAKY;
        uint64_t now_ns = i % 3 == 0 ? random_below(&seed, 2) : UINT64_MAX / 2 + random_below(&seed, 2), admitted = 0;
        if (i % 3 == 2 && !bucket)
            now_ns = UINT64_MAX - 1 - random_below(&seed, DAY);
        for (unsigned j = 0; j < 20; j++) {
            uint64_t cost = 1 + random_below(&seed, limit.capacity);
            struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
            admitted += verdict.allowed ? cost : 0;
            if (now_ns < UINT64_MAX - DAY - 1 && !verdict.allowed && spec.count > 0)
                assert_honest(&state, &limit, cost, now_ns, &verdict);
        }
        assert_true(admitted <= limit.capacity);
    }
}

static struct history history;

static void a_new_number_counts_what_the_old_one_admitted(void **unused)
{
    (void)unused;
    uint64_t seed = 44;
    for (unsigned round = 0; round < 3000; round++) {
        uint64_t count = 1 + random_below(&seed, 200), period_ns = (1 + random_below(&seed, 20)) * SECOND,
                 now_ns = START;
        struct engine_limit from = sliding_limit(count, period_ns, random_below(&seed, 2) ? ENGINE_REFUNDABLE : 0);
        struct engine_state state = { 0 };
        history.first = history.last = 0;
        for (unsigned change = 0; change < 4; change++) {
            for (unsigned i = 0; i < 60; i++) {
                now_ns += random_below(&seed, 3) ? random_below(&seed, 2 * period_ns / count) : 0;
                uint64_t cost = random_below(&seed, 3) ? 1 : 1 + random_below(&seed, count);
                if (request(&state, &from, cost, now_ns).allowed)
                    history_add(&history, cost, now_ns);
                assert_true(history_sum(&history, period_ns, now_ns) <= count);
            }
            count += random_below(&seed, 100);
            period_ns -= random_below(&seed, 2) ? random_below(&seed, period_ns / 2) : 0;
            struct engine_limit to = sliding_limit(count, period_ns, random_below(&seed, 2) ? ENGINE_REFUNDABLE : 0);
            engine_convert(&state, &from, &to, now_ns);
            assert_true(engine_used(&state, &to, now_ns) >= history_sum(&history, period_ns, now_ns));
            from = to;
        }
    }
}

static void a_smaller_number_is_full_until_enough_has_left(void **unused)
{
    (void)unused;
    struct engine_limit from = sliding_limit(12, 10 * SECOND, 0), to = sliding_limit(4, 10 * SECOND, 0);
    struct engine_state state = { 0 };
    for (unsigned i = 0; i < 10; i++)
        request(&state, &from, 1, START + i * 100 * MS);
    engine_convert(&state, &from, &to, START + SECOND);
    struct engine_verdict verdict = ask(&state, &to, 1, START + SECOND);
    assert_false(verdict.allowed);
    assert_int_equal(START + SECOND + verdict.wait_ns, START + 600 * MS + 10 * SECOND); /* the seventh of ten leaves */
}

static void a_fixed_window_keeps_its_start_when_only_its_number_changes(void **unused)
{
    (void)unused;
    struct engine_spec spec = {
        .count = 5, .period_ns = 900 * SECOND, .flags = ENGINE_FROM_FIRST, .algorithm = ENGINE_FIXED
    };
    struct engine_limit from = limit_of(spec);
    spec.count = 4;
    struct engine_limit to = limit_of(spec);
    struct engine_state state = { 0 };
    request(&state, &from, 4, START);
    engine_convert(&state, &from, &to, START + 600 * SECOND);
    assert_int_equal(request(&state, &to, 1, START + 600 * SECOND).wait_ns, 300 * SECOND);
}

static void any_pair_of_limits_converts_and_keeps_used_and_blocks(void **unused)
{
    (void)unused;
    uint64_t seed = 45;
    for (unsigned i = 0; i < 60000; i++) {
        struct engine_limit from = limit_of(random_spec(&seed)), to = limit_of(random_spec(&seed));
        struct engine_state state = { 0 };
        if (i % 3 == 0) {
            damage(&seed, &state, START);
            engine_convert(&state, &from, &to, START);
            assert_true(ask(&state, &to, 0, START).used <= to.capacity);
            continue;
        }
        if (from.spec.count == 0 || to.spec.count == 0)
            continue;
        request(&state, &from, 1 + random_below(&seed, from.capacity), START);
        if (random_below(&seed, 5) == 0)
            request(&state, &from, from.capacity, START);
        bool plain = ((from.spec.flags | to.spec.flags) & ENGINE_QUEUE) == 0;
        struct engine_verdict before = ask(&state, &from, 0, START);
        engine_convert(&state, &from, &to, START);
        engine_settle_clock(&state, &to, START);
        struct engine_verdict after = ask(&state, &to, 0, START);
        assert_int_equal(before.blocked, after.blocked);
        if (before.blocked)
            assert_int_equal(before.wait_ns, after.wait_ns);
        else if (plain)
            assert_true(after.used >= (before.used < to.capacity ? before.used : to.capacity));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_costs_at_most_a_window_and_a_block),
        cmocka_unit_test(bytes_that_nobody_repaired_are_judged_within_bounds),
        cmocka_unit_test(a_clock_that_steps_back_grants_nothing_and_costs_a_window),
        cmocka_unit_test(repair_leaves_a_valid_state_as_it_is),
        cmocka_unit_test(times_at_both_ends_of_the_clock_saturate),
        cmocka_unit_test(a_new_number_counts_what_the_old_one_admitted),
        cmocka_unit_test(a_smaller_number_is_full_until_enough_has_left),
        cmocka_unit_test(a_fixed_window_keeps_its_start_when_only_its_number_changes),
        cmocka_unit_test(any_pair_of_limits_converts_and_keeps_used_and_blocks),
    };
    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
