/* Blocks: their length and growth, what forgives them, and what happens to the counter. */
#include "trial.h"

static struct engine_limit blocking(uint8_t algorithm, uint64_t block_ns, uint32_t factor_milli, unsigned flags)
{
    return limit_of((struct engine_spec){ .count = 3,
                                          .period_ns = 10 * SECOND,
                                          .burst = 3,
                                          .undelayed = UINT64_MAX,
                                          .block_ns = block_ns,
                                          .block_max_ns = 24 * 3600 * SECOND,
                                          .forgive_ns = 7 * DAY,
                                          .factor_milli = factor_milli,
                                          .flags = (uint16_t)flags,
                                          .algorithm = algorithm });
}

/* Spends the quota and exceeds it; returns the wait announced then. */
static uint64_t exceed(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    assert_true(request(state, limit, limit->capacity, now_ns).allowed);
    struct engine_verdict verdict = request(state, limit, 1, now_ns);
    assert_false(verdict.allowed);
    assert_true(verdict.started_block && verdict.blocked);
    assert_int_equal(verdict.remaining, 0);
    assert_honest(state, limit, 1, now_ns, &verdict);
    return verdict.wait_ns;
}

static void a_block_lasts_as_told_and_the_counter_starts_afresh(void **unused)
{
    (void)unused;
    for (uint8_t algorithm = 0; algorithm < 4; algorithm++)
        for (unsigned i = 0; i < 3; i++) {
            uint64_t block_ns = (uint64_t[]){ SECOND, 900 * SECOND, 30 * DAY }[i];
            struct engine_limit limit = blocking(algorithm, block_ns, 1000, 0);
            struct engine_state state = { 0 }, before;
            assert_int_equal(exceed(&state, &limit, START), block_ns);
            before = state;
            struct engine_verdict verdict = request(&state, &limit, 1, START + block_ns - 1);
            assert_false(verdict.allowed || verdict.started_block);
            assert_true(verdict.blocked);
            assert_int_equal(verdict.wait_ns, 1);
            assert_memory_equal(&state, &before, sizeof state); /* one read, no write */
            assert_int_equal(ask(&state, &limit, limit.capacity + 1, START + 1).wait_ns, ENGINE_NEVER);
            assert_int_equal(exceed(&state, &limit, START + block_ns), block_ns);
        }
}

static void blocks_grow_by_the_factor_up_to_the_longest(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t factor_milli;
        uint64_t minutes[10];
    } cases[] = {
        { 1000, { 15, 15, 15, 15, 15, 15, 15, 15, 15, 15 } },
        { 2000, { 15, 30, 60, 120, 240, 480, 960, 1440, 1440, 1440 } },
        { 3000, { 15, 45, 135, 405, 1215, 1440, 1440, 1440, 1440, 1440 } },
        { 4000000000, { 15, 1440, 1440, 1440, 1440, 1440, 1440, 1440, 1440, 1440 } },
    };
    for (unsigned i = 0; i < 4; i++) {
        struct engine_limit limit = blocking(ENGINE_SLIDING, 900 * SECOND, cases[i].factor_milli, 0);
        struct engine_state state = { 0 };
        uint64_t now_ns = START;
        for (unsigned j = 0; j < 10; j++) {
            uint64_t wait_ns = exceed(&state, &limit, now_ns);
            assert_int_equal(wait_ns, cases[i].minutes[j] * 60 * SECOND);
            now_ns += wait_ns + (j % 2 ? 7 * DAY - 1 : 0);
        }
        for (unsigned j = 0; j < 300; j++)
            now_ns += exceed(&state, &limit, now_ns);
        assert_int_equal(exceed(&state, &limit, now_ns + 7 * DAY), 900 * SECOND);
    }
    struct engine_limit half = blocking(ENGINE_FIXED, SECOND, 1500, 0);
    struct engine_state state = { 0 };
    assert_int_equal(exceed(&state, &half, START), SECOND);
    assert_int_equal(exceed(&state, &half, START + SECOND), 1500 * MS);
    assert_int_equal(exceed(&state, &half, START + 3 * SECOND), 2250 * MS);
}

static void an_extended_block_starts_anew_with_each_refused_request(void **unused)
{
    (void)unused;
    struct engine_limit limit = blocking(ENGINE_SLIDING, 900 * SECOND, 2000, ENGINE_EXTEND);
    struct engine_state state = { 0 };
    exceed(&state, &limit, START);
    for (unsigned i = 1; i < 100; i++) {
        struct engine_verdict verdict = request(&state, &limit, 1, START + i * 800 * SECOND);
        assert_true(verdict.blocked && !verdict.started_block);
        assert_int_equal(verdict.wait_ns, 900 * SECOND); /* the same length: no new strike */
    }
    assert_true(request(&state, &limit, 1, START + 99 * 800 * SECOND + 900 * SECOND).allowed);
}

static void a_refusal_for_ever_starts_no_block(void **unused)
{
    (void)unused;
    struct engine_limit limit = blocking(ENGINE_SLIDING, 900 * SECOND, 1000, ENGINE_EXTEND | ENGINE_COUNT_REFUSED);
    struct engine_state state = { 0 };
    assert_int_equal(request(&state, &limit, 4, START).wait_ns, ENGINE_NEVER);
    assert_true(request(&state, &limit, 3, START).allowed);
    struct engine_limit none =
        limit_of((struct engine_spec){ .count = 0, .period_ns = SECOND, .block_ns = SECOND, .factor_milli = 1000 });
    struct engine_verdict verdict = request(&state, &none, 1, START);
    assert_false(engine_exceed_writes(&none, &verdict));
}

static void a_block_by_hand_gives_no_strike_and_survives_any_policy(void **unused)
{
    (void)unused;
    struct engine_limit limit = blocking(ENGINE_SLIDING, 900 * SECOND, 2000, 0),
                        plain = sliding_limit(3, 10 * SECOND, 0);
    struct engine_state state = { 0 };
    engine_block(&state, 40 * DAY, START);
    assert_int_equal(request(&state, &limit, 1, START + DAY).wait_ns, 39 * DAY);
    assert_int_equal(request(&state, &plain, 1, START + 2 * DAY).wait_ns, 38 * DAY);
    assert_int_equal(exceed(&state, &limit, START + 40 * DAY), 900 * SECOND);
    engine_block(&state, UINT64_MAX, START);
    assert_int_equal(request(&state, &limit, 1, START).wait_ns, ENGINE_PERIOD_MAX_NS);
}

static void a_clock_that_steps_back_into_a_block_tells_the_whole_wait(void **unused)
{
    (void)unused;
    for (uint8_t algorithm = 0; algorithm < 4; algorithm++) {
        struct engine_limit limit = blocking(algorithm, 5 * SECOND, 1000, 0);
        struct engine_state state = { 0 };
        exceed(&state, &limit, START);
        assert_true(request(&state, &limit, limit.capacity, START + 6 * SECOND).allowed);
        struct engine_verdict verdict = request(&state, &limit, 1, START + 4 * SECOND);
        assert_true(verdict.blocked && verdict.wait_ns > SECOND);
        assert_honest(&state, &limit, 1, START + 4 * SECOND, &verdict);
    }
}

static void worth_orders_keys_by_what_would_be_lost(void **unused)
{
    (void)unused;
    for (uint8_t algorithm = 0; algorithm < 4; algorithm++) {
        struct engine_limit limit = limit_of((struct engine_spec){ .count = 40,
                                                                   .period_ns = 10 * SECOND,
                                                                   .burst = 40,
                                                                   .undelayed = UINT64_MAX,
                                                                   .block_ns = 60 * SECOND,
                                                                   .factor_milli = 1000,
                                                                   .flags = ENGINE_FROM_FIRST,
                                                                   .algorithm = algorithm });
        struct engine_state state = { 0 };
        uint32_t last = engine_worth(&state, &limit, START);
        assert_int_equal(last, 0);
        for (unsigned i = 0; i + 1 < limit.capacity; i++) {
            request(&state, &limit, 1, START);
            assert_true(engine_worth(&state, &limit, START) > last);
            last = engine_worth(&state, &limit, START);
            assert_true(last < ENGINE_WORTH_FULL);
        }
        request(&state, &limit, 1, START);
        uint32_t full = engine_worth(&state, &limit, START);
        assert_true(full >= ENGINE_WORTH_FULL && full < ENGINE_WORTH_BLOCKED);
        assert_int_equal(engine_worth(&state, &limit, START + 20 * SECOND), 0);
        request(&state, &limit, 1, START);
        uint32_t blocked = engine_worth(&state, &limit, START);
        assert_true(blocked >= ENGINE_WORTH_BLOCKED);
        assert_true(engine_worth(&state, &limit, START + SECOND) < blocked);
        for (uint64_t days = 1; days < 366; days *= 2) {
            engine_block(&state, days * DAY, START);
            assert_true(engine_worth(&state, &limit, START) > blocked);
            blocked = engine_worth(&state, &limit, START);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_lasts_as_told_and_the_counter_starts_afresh),
        cmocka_unit_test(blocks_grow_by_the_factor_up_to_the_longest),
        cmocka_unit_test(an_extended_block_starts_anew_with_each_refused_request),
        cmocka_unit_test(a_refusal_for_ever_starts_no_block),
        cmocka_unit_test(a_block_by_hand_gives_no_strike_and_survives_any_policy),
        cmocka_unit_test(a_clock_that_steps_back_into_a_block_tells_the_whole_wait),
        cmocka_unit_test(worth_orders_keys_by_what_would_be_lost),
    };
    return cmocka_run_group_tests_name("block", tests, NULL, NULL);
}
