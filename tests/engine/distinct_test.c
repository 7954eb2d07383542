/* Counting different things: never refused below the limit, and few too many admitted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"

#define SECOND UINT64_C(1000000000)
#define NOW (UINT64_C(1800000000) * SECOND)

static struct engine_limit limit_of(uint64_t count, uint64_t period_ns)
{
    struct engine_limit limit;
    struct engine_spec spec = {
        .count = count, .period_ns = period_ns, .factor_milli = 1000, .algorithm = ENGINE_DISTINCT
    };
    assert_null(engine_compile(&spec, &limit));
    return limit;
}

static bool try_thing(struct engine_state *state, const struct engine_limit *limit, uint64_t thing, uint64_t now_ns,
                      struct engine_verdict *verdict)
{
    engine_settle_clock(state, limit, now_ns);
    engine_judge(state, limit, thing, now_ns, verdict);
    if (verdict->allowed)
        engine_charge(state, limit, thing, now_ns, verdict);
    return verdict->allowed;
}

static uint64_t random_thing(void)
{
    return ((uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^ (uint64_t)rand()) | 1;
}

static void the_same_thing_again_costs_nothing(void **state)
{
    (void)state;
    struct engine_limit limit = limit_of(2, 60 * SECOND);
    struct engine_state key = { 0 };
    struct engine_verdict verdict;
    for (int i = 0; i < 100; i++)
        assert_true(try_thing(&key, &limit, 7777, NOW + (uint64_t)i * SECOND / 10, &verdict));
    assert_int_equal(verdict.remaining, 1);
    assert_true(try_thing(&key, &limit, 8889, NOW + 10 * SECOND, &verdict));
    assert_false(try_thing(&key, &limit, 9991, NOW + 10 * SECOND, &verdict));
    assert_true(try_thing(&key, &limit, 7777, NOW + 10 * SECOND, &verdict));
    assert_true(verdict.remaining == 0 && verdict.used == 2);
}

static void the_wait_is_exact(void **state)
{
    (void)state;
    srand(3);
    for (uint64_t count = 1; count <= 20; count++) {
        struct engine_limit limit = limit_of(count, 3600 * SECOND);
        struct engine_state key = { 0 }, copy;
        struct engine_verdict verdict;
        uint64_t now_ns = NOW;
        while (try_thing(&key, &limit, random_thing(), now_ns, &verdict))
            now_ns += 7 * SECOND;
        assert_true(verdict.wait_ns > 0 && verdict.wait_ns <= 3600 * SECOND);
        copy = key;
        uint64_t free_ns = now_ns + verdict.wait_ns;
        uint64_t thing = random_thing();
        engine_judge(&key, &limit, thing, free_ns - 1, &verdict);
        if (!verdict.allowed) { /* one in some hundred is taken for a known one */
            engine_judge(&copy, &limit, thing, free_ns, &verdict);
            assert_true(verdict.allowed);
        }
    }
}

/* Against a list of what was seen when. */
static void nothing_is_refused_below_the_limit_and_few_too_many_get_in(void **state)
{
    (void)state;
    srand(11);
    for (uint64_t count = 1; count <= 20; count++) {
        uint64_t passed = 0, beyond = 0;
        struct engine_limit limit = limit_of(count, 1000 * SECOND);
        for (int round = 0; round < 300; round++) {
            struct engine_state key = { 0 };
            struct engine_verdict verdict;
            struct {
                uint64_t thing, last_ns;
            } seen[2000];
            size_t size = 0;
            uint64_t now_ns = NOW + (uint64_t)rand() * 1000;
            for (int i = 0; i < 60; i++) {
                now_ns += (uint64_t)(rand() % 1000) * 10000000; /* all within the window */
                uint64_t thing = size > 0 && rand() % 3 == 0 ? seen[(size_t)rand() % size].thing : random_thing();
                uint64_t live = 0;
                size_t at = size;
                for (size_t k = 0; k < size; k++) {
                    if (seen[k].last_ns + 1000 * SECOND > now_ns)
                        live++;
                    if (seen[k].thing == thing)
                        at = k;
                }
                beyond += at == size && live >= count;
                if (!try_thing(&key, &limit, thing, now_ns, &verdict)) {
                    assert_true(live >= count);
                    continue;
                }
                passed += at == size && live >= count;
                if (at == size)
                    seen[size++].thing = thing;
                seen[at].last_ns = now_ns;
            }
        }
        if (beyond <= 1000 || passed * 10 > beyond)
            fail_msg("of %u beyond a limit of %u, %u were admitted", (unsigned)beyond, (unsigned)count,
                     (unsigned)passed); /* of those beyond the limit at most one in ten */
    }
}

static void a_clock_that_steps_back_and_damage_cost_one_window(void **state)
{
    (void)state;
    struct engine_limit limit = limit_of(5, 60 * SECOND);
    struct engine_state key = { 0 };
    struct engine_verdict verdict;
    for (uint64_t thing = 1; thing <= 5; thing++)
        assert_true(try_thing(&key, &limit, thing * 1000003, NOW, &verdict));
    assert_false(try_thing(&key, &limit, 77777777, NOW - 86400 * SECOND, &verdict));
    assert_true(verdict.wait_ns <= 60 * SECOND);
    for (int i = 0; i < 10000; i++) {
        for (size_t k = 0; k < sizeof key; k++)
            ((unsigned char *)&key)[k] = (unsigned char)rand();
        engine_repair(&key, &limit, NOW);
        engine_judge(&key, &limit, 12345, NOW, &verdict);
        assert_true(verdict.used <= 5);
        engine_judge(&key, &limit, 12345, NOW + ENGINE_PERIOD_MAX_NS + 61 * SECOND, &verdict);
        assert_int_equal(verdict.used, 1);
    }
}

static void more_than_twenty_are_refused_at_load(void **state)
{
    (void)state;
    struct engine_limit limit;
    struct engine_spec spec = { .count = 21, .period_ns = SECOND, .factor_milli = 1000, .algorithm = ENGINE_DISTINCT };
    assert_non_null(engine_compile(&spec, &limit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_thing_again_costs_nothing),
        cmocka_unit_test(the_wait_is_exact),
        cmocka_unit_test(nothing_is_refused_below_the_limit_and_few_too_many_get_in),
        cmocka_unit_test(a_clock_that_steps_back_and_damage_cost_one_window),
        cmocka_unit_test(more_than_twenty_are_refused_at_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
