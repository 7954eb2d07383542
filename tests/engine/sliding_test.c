/* The sliding window against a list of all charges: exact for small N, strict for every N. */
#include "trial.h"

static struct history history;

/* From when on `cost` fits, by the list alone. */
static uint64_t model_wait(uint64_t count, uint64_t period_ns, uint64_t cost, uint64_t now_ns)
{
    uint64_t sum = history_sum(&history, period_ns, now_ns);
    for (size_t i = history.first; sum + cost > count; i++) {
        sum -= history.cost[i];
        if (sum + cost <= count)
            return history.at_ns[i] + period_ns - now_ns;
    }
    return 0;
}

static void assert_same_as_list(const struct engine_limit *limit, struct engine_verdict verdict, uint64_t cost,
                                uint64_t now_ns)
{
    uint64_t count = limit->spec.count, period_ns = limit->spec.period_ns;
    history_forget(&history, period_ns, now_ns);
    uint64_t wait_ns = cost > count ? ENGINE_NEVER : model_wait(count, period_ns, cost, now_ns);
    assert_int_equal(verdict.allowed, wait_ns == 0);
    assert_int_equal(verdict.wait_ns, wait_ns);
    if (verdict.allowed && cost > 0)
        history_add(&history, cost, now_ns);
    uint64_t used = history_sum(&history, period_ns, now_ns);
    assert_int_equal(verdict.used, used);
    assert_int_equal(verdict.remaining, count - used);
    bool any = history.last > history.first;
    assert_int_equal(verdict.reset_ns, any ? history.at_ns[history.last - 1] + period_ns - now_ns : 0);
    assert_int_equal(verdict.more_ns, any ? history.at_ns[history.first] + period_ns - now_ns : 0);
}

static const uint64_t periods[] = { MS,           10 * MS,       SECOND, 10 * SECOND, 60 * SECOND,
                                    600 * SECOND, 3600 * SECOND, DAY,    365 * DAY };

static void small_limits_count_exactly_as_a_list_does(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 1100; round++) {
        uint64_t count = 1 + random_below(&seed, 16), period_ns = periods[random_below(&seed, 9)];
        struct engine_limit limit = sliding_limit(count, period_ns, round % 2 ? ENGINE_REFUNDABLE : 0);
        struct engine_state state = { 0 };
        uint64_t grid = limit.quantum_ns, now_ns = START / grid * grid;
        history.first = history.last = 0;
        for (unsigned i = 0; i < 1000 && now_ns < 5 * START; i++) {
            uint64_t gap = random_below(&seed, 3) ? random_below(&seed, 3 * period_ns / count)
                                                  : random_below(&seed, 3 * period_ns);
            now_ns += random_below(&seed, 3) ? gap / grid * grid : 0;
            uint64_t cost = random_below(&seed, 4) ? 1 : random_below(&seed, count + 2);
            struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
            assert_same_as_list(&limit, verdict, cost, now_ns);
            assert_honest(&state, &limit, cost, now_ns, &verdict);
        }
    }
}

/* One key under a random pattern: bursts, pauses to just before, at and just after an expiry, even sending. */
static uint64_t adversary_gap(uint64_t *seed, const struct engine_limit *limit, const struct engine_verdict *verdict)
{
    uint64_t period_ns = limit->spec.period_ns;
    switch (random_below(seed, 8)) {
    case 0:
        return verdict->more_ns + random_below(seed, 3) - (verdict->more_ns > 0);
    case 1:
        return verdict->reset_ns + random_below(seed, 2);
    case 2:
        return verdict->wait_ns == ENGINE_NEVER ? 1 : verdict->wait_ns;
    case 3:
        return random_below(seed, period_ns / limit->spec.count + 2);
    case 4:
        return random_below(seed, period_ns / 8);
    case 5:
        return random_below(seed, 2 * limit->quantum_ns + 1);
    default:
        return 0;
    }
}

static uint64_t adversary_cost(uint64_t *seed, uint64_t count)
{
    if (count > 1000 && random_below(seed, 2))
        return 1 + random_below(seed, count / 40);
    return random_below(seed, 5) ? 1 : random_below(seed, count + 1);
}

static void attack(uint64_t count, uint64_t period_ns, unsigned flags, unsigned events)
{
    struct engine_limit limit = sliding_limit(count, period_ns, flags);
    struct engine_state state = { 0 };
    struct engine_verdict verdict = { 0 };
    uint64_t seed = count * 31 + period_ns + flags, now_ns = START + random_below(&seed, SECOND);
    history.first = history.last = 0;
    for (unsigned i = 0; i < events; i++) {
        now_ns += adversary_gap(&seed, &limit, &verdict);
        uint64_t cost = adversary_cost(&seed, count);
        uint64_t before = history_sum(&history, period_ns + limit.quantum_ns, now_ns);
        verdict = request(&state, &limit, cost, now_ns);
        if (verdict.allowed && cost > 0)
            history_add(&history, cost, now_ns);
        else if (!verdict.allowed && flags == 0 && cost <= count && before + cost <= count * 15 / 16)
            fail_msg("N %lu: %lu + %lu refused", (unsigned long)count, (unsigned long)before, (unsigned long)cost);
        if (i % 4 == 0)
            assert_honest(&state, &limit, cost, now_ns, &verdict);
        if (history_sum(&history, period_ns, now_ns) > count)
            fail_msg("N %lu: more than N admitted within one window", (unsigned long)count);
        assert_true(verdict.used <= count);
        history_forget(&history, period_ns + limit.quantum_ns, now_ns);
    }
}

static void no_window_ever_holds_more_than_the_limit(void **unused)
{
    (void)unused;
    for (uint64_t count = 1; count <= 300; count++)
        for (unsigned i = 0; i < 9; i++) {
            attack(count, periods[i], 0, 150);
            attack(count, periods[i] + 1234567, count % 3 == i % 3 ? ENGINE_REFUNDABLE : 0, 150);
        }
}

static void no_window_of_a_large_limit_holds_more_than_it(void **unused)
{
    (void)unused;
    static const uint64_t counts[] = { 1000, 4096, 65537, 10000000, 100000000 };
    for (unsigned i = 0; i < 5; i++)
        for (unsigned j = 0; j < 9; j++) {
            attack(counts[i], periods[j], 0, 2000);
            attack(counts[i], periods[j] + 7, ENGINE_REFUNDABLE, 1000);
        }
}

static void a_burst_at_each_edge_is_admitted_once(void **unused)
{
    (void)unused;
    struct engine_limit limit = sliding_limit(100, 10 * SECOND, 0);
    struct engine_state state = { 0 };
    unsigned admitted = 0;
    for (unsigned i = 0; i < 200; i++)
        admitted += request(&state, &limit, 1, START + 10 * SECOND - 1).allowed;
    for (unsigned i = 0; i < 200; i++)
        admitted += request(&state, &limit, 1, START + 10 * SECOND + i).allowed;
    assert_int_equal(admitted, 100);
    for (unsigned i = 0; i < 200; i++)
        admitted += request(&state, &limit, 1, START + 20 * SECOND + limit.quantum_ns).allowed;
    assert_int_equal(admitted, 200);
}

static void a_cost_of_zero_asks_and_one_above_the_limit_never_fits(void **unused)
{
    (void)unused;
    struct engine_limit limit = sliding_limit(20, SECOND, 0), none = sliding_limit(0, SECOND, 0);
    struct engine_state state = { 0 }, before;
    assert_true(request(&state, &limit, 20, START).allowed);
    before = state;
    struct engine_verdict verdict = request(&state, &limit, 0, START);
    assert_true(verdict.allowed);
    assert_int_equal(verdict.remaining, 0);
    verdict = request(&state, &limit, 21, START);
    assert_false(verdict.allowed);
    assert_int_equal(verdict.wait_ns, ENGINE_NEVER);
    assert_memory_equal(&state, &before, sizeof state);
    for (uint64_t cost = 0; cost < 2; cost++) {
        verdict = request(&state, &none, cost, START + DAY);
        assert_false(verdict.allowed);
        assert_int_equal(verdict.wait_ns, ENGINE_NEVER);
    }
}

/* Refused requests that count keep out who never pauses, and never make room for more than the limit. */
static void refusals_that_count_never_admit_more(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    for (uint64_t count = 1; count <= 120; count++) {
        struct engine_limit limit =
            sliding_limit(count, 10 * SECOND, ENGINE_COUNT_REFUSED | (count % 2 ? ENGINE_REFUNDABLE : 0));
        struct engine_state state = { 0 };
        uint64_t now_ns = START;
        history.first = history.last = 0;
        for (unsigned i = 0; i < 1500; i++) {
            now_ns += random_below(&seed, random_below(&seed, 3) ? 30 * SECOND / count : 12 * SECOND);
            uint64_t cost = random_below(&seed, 3) ? 1 : 1 + random_below(&seed, count);
            struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
            if (verdict.allowed)
                history_add(&history, cost, now_ns);
            else
                assert_int_equal(verdict.used, count);
            assert_true(history_sum(&history, 10 * SECOND, now_ns) <= count);
            history_forget(&history, 10 * SECOND, now_ns);
            assert_honest(&state, &limit, cost, now_ns, &verdict);
        }
    }
    struct engine_limit limit = sliding_limit(50, SECOND, ENGINE_COUNT_REFUSED);
    struct engine_state state = { 0 };
    unsigned admitted = 0;
    for (unsigned i = 0; i < 1000; i++)
        admitted += request(&state, &limit, 1, START + i * 10 * MS).allowed;
    assert_int_equal(admitted, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_limits_count_exactly_as_a_list_does),
        cmocka_unit_test(no_window_ever_holds_more_than_the_limit),
        cmocka_unit_test(no_window_of_a_large_limit_holds_more_than_it),
        cmocka_unit_test(a_burst_at_each_edge_is_admitted_once),
        cmocka_unit_test(a_cost_of_zero_asks_and_one_above_the_limit_never_fits),
        cmocka_unit_test(refusals_that_count_never_admit_more),
    };
    return cmocka_run_group_tests_name("sliding", tests, NULL, NULL);
}
