/* Fixed windows, aligned and from the first request, against a plain counter; and queues of every algorithm. */
#include "trial.h"

static void fixed_windows_agree_with_a_plain_counter(void **unused)
{
    (void)unused;
    static const uint64_t periods[] = { MS, SECOND, 10 * SECOND, 60 * SECOND, 900 * SECOND, DAY, 1000003 };
    uint64_t seed = 21;
    for (unsigned round = 0; round < 1000; round++) {
        uint64_t n = 1 + random_below(&seed, round % 10 ? 40 : 10000000), period_ns = periods[random_below(&seed, 7)];
        bool first = round % 2 != 0;
        struct engine_limit limit = limit_of((struct engine_spec){
            .count = n, .period_ns = period_ns, .flags = first ? ENGINE_FROM_FIRST : 0, .algorithm = ENGINE_FIXED });
        struct engine_state state = { 0 };
        uint64_t now_ns = START + random_below(&seed, DAY), begin_ns = 0, hits = 0;
        for (unsigned i = 0; i < 1000; i++) {
            now_ns += random_below(&seed, 3) ? random_below(&seed, 3 * period_ns / (n < 40 ? n : 40)) : 0;
            uint64_t cost = random_below(&seed, 3) ? 1 : random_below(&seed, n + 2);
            if (now_ns >= begin_ns + period_ns) {
                begin_ns = first ? now_ns : now_ns / period_ns * period_ns;
                hits = 0;
            }
            struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
            bool fits = hits + cost <= n;
            assert_int_equal(verdict.allowed, fits || cost == 0);
            hits += verdict.allowed ? cost : 0;
            if (hits == 0 && first)
                begin_ns = 0; /* it has not begun */
            if (!verdict.allowed)
                assert_int_equal(verdict.wait_ns, cost > n ? ENGINE_NEVER : begin_ns + period_ns - now_ns);
            assert_int_equal(verdict.remaining, n - hits);
            assert_int_equal(verdict.reset_ns, hits > 0 ? begin_ns + period_ns - now_ns : 0);
            assert_honest(&state, &limit, cost, now_ns, &verdict);
        }
    }
}

static void refusals_that_count_begin_a_window_from_the_first_request_anew(void **unused)
{
    (void)unused;
    struct engine_limit limit = limit_of((struct engine_spec){ .count = 2,
                                                               .period_ns = 10 * SECOND,
                                                               .flags = ENGINE_FROM_FIRST | ENGINE_COUNT_REFUSED,
                                                               .algorithm = ENGINE_FIXED });
    struct engine_state state = { 0 };
    assert_true(request(&state, &limit, 2, START).allowed);
    for (unsigned i = 1; i < 30; i++)
        assert_int_equal(request(&state, &limit, 1, START + i * SECOND).wait_ns, 10 * SECOND);
    assert_true(request(&state, &limit, 1, START + 39 * SECOND).allowed);
}

static void a_refusal_that_counts_fills_an_aligned_window(void **unused)
{
    (void)unused;
    struct engine_limit limit = limit_of((struct engine_spec){
        .count = 10, .period_ns = 10 * SECOND, .flags = ENGINE_COUNT_REFUSED, .algorithm = ENGINE_FIXED });
    struct engine_state state = { 0 };
    assert_true(request(&state, &limit, 5, START).allowed);
    assert_false(request(&state, &limit, 6, START).allowed);
    assert_int_equal(request(&state, &limit, 1, START).wait_ns, 10 * SECOND);
}

static struct history releases;

/* What is queued is released no sooner than the limit admits, at most a window ahead, and in order. */
static void queue_trial(struct engine_spec spec, uint64_t *seed)
{
    struct engine_limit limit = limit_of(spec);
    struct engine_state state = { 0 };
    uint64_t now_ns = START + random_below(seed, SECOND), latest_ns = 0;
    releases.first = releases.last = 0;
    for (unsigned i = 0; i < 400; i++) {
        now_ns += random_below(seed, 4) ? random_below(seed, 2 * spec.period_ns / spec.count + 2) : 0;
        now_ns += random_below(seed, 60) ? 0 : 2 * spec.period_ns;
        uint64_t cost = random_below(seed, 4) ? 1 : random_below(seed, spec.count + 1);
        struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
        assert_honest(&state, &limit, cost, now_ns, &verdict);
        if (cost == 0) {
            assert_true(verdict.allowed);
            assert_int_equal(verdict.delay_ns, 0);
        }
        assert_true(verdict.delay_ns <= spec.period_ns);
        if (verdict.remaining > 0) {
            struct engine_verdict next = ask(&state, &limit, verdict.remaining, now_ns);
            assert_true(next.allowed && next.delay_ns == 0);
        }
        struct engine_verdict next = ask(&state, &limit, verdict.remaining + 1, now_ns);
        assert_true(!next.allowed || next.delay_ns > 0);
        if (!verdict.allowed || cost == 0)
            continue;
        uint64_t at_ns = now_ns + verdict.delay_ns;
        assert_true(at_ns >= latest_ns);
        latest_ns = at_ns;
        history_add(&releases, cost, at_ns);
        if (spec.algorithm == ENGINE_SLIDING)
            assert_true(history_sum(&releases, spec.period_ns, at_ns) <= spec.count);
        if (spec.algorithm == ENGINE_FIXED && (spec.flags & ENGINE_FROM_FIRST) == 0)
            assert_true(history_sum(&releases, at_ns % spec.period_ns + 1, at_ns) <= spec.count);
        history_forget(&releases, spec.period_ns, at_ns);
    }
}

static void a_queue_releases_what_the_limit_admits(void **unused)
{
    (void)unused;
    uint64_t seed = 22;
    for (unsigned round = 0; round < 600; round++) {
        struct engine_spec spec = { .count = 1 + random_below(&seed, round % 4 ? 60 : 3),
                                    .period_ns = round % 2 ? 10 * SECOND : 1 * SECOND + 7,
                                    .flags = ENGINE_QUEUE };
        spec.burst = spec.count;
        spec.algorithm = (uint8_t)(round % 3);
        if (spec.algorithm == ENGINE_FIXED && round % 2)
            spec.flags |= ENGINE_FROM_FIRST;
        if (round % 5 == 0)
            spec.flags |= ENGINE_REFUNDABLE;
        queue_trial(spec, &seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_windows_agree_with_a_plain_counter),
        cmocka_unit_test(refusals_that_count_begin_a_window_from_the_first_request_anew),
        cmocka_unit_test(a_refusal_that_counts_fills_an_aligned_window),
        cmocka_unit_test(a_queue_releases_what_the_limit_admits),
    };
    return cmocka_run_group_tests_name("fixed", tests, NULL, NULL);
}
