/* What is given back was taken, comes from where it was taken, and frees no more than that. */
#include "trial.h"

#define OPEN_MAX 512

struct charge {
    uint64_t at_ns, mark, cost; /* cost: what of it is kept */
};

static struct charge charges[OPEN_MAX];
static size_t charge_count;

static uint64_t kept_within(uint64_t from_ns, uint64_t to_ns) /* (from, to] */
{
    uint64_t sum = 0;
    for (size_t i = 0; i < charge_count; i++)
        if (charges[i].at_ns > from_ns && charges[i].at_ns <= to_ns)
            sum += charges[i].cost;
    return sum;
}

static void remember(uint64_t cost, uint64_t at_ns, uint64_t mark)
{
    if (charge_count == OPEN_MAX)
        memmove(charges, charges + OPEN_MAX / 4, (charge_count = OPEN_MAX - OPEN_MAX / 4) * sizeof charges[0]);
    charges[charge_count++] = (struct charge){ at_ns, mark, cost };
}

static uint64_t next_gap(uint64_t *seed, uint64_t period_ns, uint64_t count)
{
    switch (random_below(seed, 6)) {
    case 0:
        return random_below(seed, 3 * period_ns / count + 2);
    case 1:
        return random_below(seed, 60) ? random_below(seed, period_ns / 10) : 2 * period_ns;
    case 2:
        return random_below(seed, 3);
    default:
        return 0;
    }
}

/* One random refund out of the newest charges; what comes back is checked against the rules of all algorithms. */
static uint64_t refund_one(uint64_t *seed, struct engine_state *state, const struct engine_limit *limit,
                           uint64_t now_ns, struct charge *which)
{
    *which = (struct charge){ 0 };
    if (charge_count == 0)
        return 0;
    size_t newest = charge_count < 40 ? charge_count : 40;
    struct charge *charge = &charges[charge_count - 1 - random_below(seed, newest)];
    *which = *charge;
    which->cost = random_below(seed, 3) ? charge->cost : random_below(seed, charge->cost + 1);
    engine_settle_clock(state, limit, now_ns);
    uint64_t back = engine_refund(state, limit, which->cost, charge->mark, now_ns);
    assert_true(back <= which->cost);
    charge->cost -= which->cost; /* not kept, whether it came back or had left anyway */
    return back;
}

static void sliding_round(uint64_t *seed, uint64_t count, uint64_t period_ns, unsigned flags)
{
    struct engine_limit limit = sliding_limit(count, period_ns, flags);
    struct engine_state state = { 0 };
    uint64_t grid = count <= 16 ? limit.quantum_ns : 1, now_ns = START / grid * grid;
    bool exact = count <= 16, counted = flags != 0 || exact;
    charge_count = 0;
    for (unsigned i = 0; i < 1000; i++) {
        now_ns += next_gap(seed, period_ns, count) / grid * grid;
        if (random_below(seed, 5) < 2) {
            struct charge which;
            uint64_t before = ask(&state, &limit, 0, now_ns).used;
            uint64_t back = refund_one(seed, &state, &limit, now_ns, &which);
            assert_int_equal(ask(&state, &limit, 0, now_ns).used, before - back);
            if (which.at_ns + period_ns <= now_ns)
                assert_int_equal(back, 0);
            else if (counted)
                assert_int_equal(back, which.cost);
        }
        uint64_t cost = random_below(seed, 4) ? 1 : 1 + random_below(seed, count);
        struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
        assert_honest(&state, &limit, cost, now_ns, &verdict);
        if (verdict.allowed)
            remember(cost, now_ns, verdict.mark);
        uint64_t kept = kept_within(now_ns - period_ns, now_ns);
        assert_true(kept <= verdict.used && verdict.used <= count);
        if (exact)
            assert_int_equal(verdict.used, kept);
    }
}

static void a_sliding_window_counts_what_was_not_given_back(void **unused)
{
    (void)unused;
    uint64_t seed = 31;
    for (unsigned round = 0; round < 500; round++) {
        uint64_t count = 1 + random_below(&seed, round % 4 == 0 ? 16 : 400);
        sliding_round(&seed, count, round % 2 ? 10 * SECOND : 3 * SECOND + 11, round % 5 ? ENGINE_REFUNDABLE : 0);
    }
    for (unsigned round = 0; round < 40; round++)
        sliding_round(&seed, 1000 + random_below(&seed, round % 2 ? 10000000 : 3000), 60 * SECOND, ENGINE_REFUNDABLE);
}

/* Thin stamps at an odd number of places: every charge must still stand somewhere. */
static void stamps_that_refunds_thinned_out_lose_no_charge(void **unused)
{
    (void)unused;
    uint64_t seed = 32;
    for (unsigned round = 0; round < 60; round++) {
        uint64_t count = 17 + random_below(&seed, 300), now_ns = START, kept = 0;
        struct engine_limit limit = sliding_limit(count, DAY, ENGINE_REFUNDABLE);
        struct engine_state state = { 0 };
        charge_count = 0;
        for (unsigned i = 0; i < 2000; i++) {
            now_ns += random_below(&seed, SECOND);
            struct engine_verdict verdict = request(&state, &limit, 1, now_ns);
            assert_int_equal(verdict.allowed, kept < count);
            kept += verdict.allowed;
            assert_int_equal(verdict.used, kept);
            if (verdict.allowed)
                remember(1, now_ns, verdict.mark);
            struct charge which;
            if (random_below(&seed, count + 20) < kept)
                kept -= refund_one(&seed, &state, &limit, now_ns, &which);
            assert_int_equal(engine_used(&state, &limit, now_ns), kept);
        }
    }
}

/* The level that the charges kept would leave, by sending them again. */
static wide level_by_replay(const struct engine_limit *limit, uint64_t now_ns)
{
    wide level = 0;
    uint64_t at_ns = 0;
    for (size_t i = 0; i <= charge_count; i++) {
        uint64_t next_ns = i < charge_count ? charges[i].at_ns : now_ns;
        wide drained = (wide)(next_ns - at_ns) * limit->spec.count;
        level = level > drained ? level - drained : 0;
        level += i < charge_count ? (wide)charges[i].cost * limit->spec.period_ns : 0;
        at_ns = next_ns;
    }
    return level;
}

static void a_bucket_holds_at_least_what_was_not_given_back(void **unused)
{
    (void)unused;
    uint64_t seed = 33;
    for (unsigned round = 0; round < 300; round++) {
        uint64_t count = 1 + random_below(&seed, 30), period_ns = round % 2 ? 10 * SECOND : SECOND + 1;
        struct engine_limit limit =
            limit_of((struct engine_spec){ .count = count,
                                           .period_ns = period_ns,
                                           .burst = 1 + random_below(&seed, 30),
                                           .undelayed = UINT64_MAX,
                                           .algorithm = round % 3 ? ENGINE_BUCKET : ENGINE_LEAKY });
        struct engine_state state = { 0 };
        uint64_t now_ns = START;
        charge_count = 0;
        for (unsigned i = 0; i < 300; i++) {
            now_ns += next_gap(&seed, period_ns, count);
            struct charge which;
            if (random_below(&seed, 5) < 2)
                refund_one(&seed, &state, &limit, now_ns, &which);
            wide level = level_by_replay(&limit, now_ns);
            wide held = state.time_ns < now_ns ? 0 : (wide)(state.time_ns - now_ns) * count + state.log[0];
            assert_true(held + 2 * count >= level); /* a mark is rounded to a nanosecond */
            uint64_t cost = random_below(&seed, 4) ? 1 : 1 + random_below(&seed, limit.capacity);
            struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
            if (verdict.allowed)
                remember(cost, now_ns, verdict.mark);
        }
    }
}

static void a_bucket_gives_back_in_order_what_ten_took_at_once(void **unused)
{
    (void)unused;
    struct engine_limit limit = limit_of(
        (struct engine_spec){ .count = 3, .period_ns = 100 * SECOND, .burst = 10, .algorithm = ENGINE_BUCKET });
    struct engine_state state = { 0 };
    uint64_t mark[10];
    for (unsigned i = 0; i < 10; i++)
        mark[i] = request(&state, &limit, 1, START).mark;
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(engine_refund(&state, &limit, 1, mark[i], START), 1);
    assert_int_equal(ask(&state, &limit, 0, START).reset_ns, 0);
    assert_int_equal(engine_refund(&state, &limit, 1, mark[9], START), 0);
}

/* Answers come in any order: of many right passwords at one moment none leaves anything behind. */
static void a_bucket_gives_back_in_any_order_what_many_took_at_once(void **unused)
{
    (void)unused;
    uint64_t seed = 35;
    for (unsigned round = 0; round < 1000; round++) {
        struct engine_limit limit =
            limit_of((struct engine_spec){ .count = 1 + random_below(&seed, 50),
                                           .period_ns = 1000 * SECOND,
                                           .burst = 63,
                                           .undelayed = UINT64_MAX,
                                           .algorithm = round % 2 ? ENGINE_BUCKET : ENGINE_LEAKY });
        struct engine_state state = { 0 };
        uint64_t mark[30], cost[30];
        unsigned count = 1 + (unsigned)random_below(&seed, 30);
        for (unsigned i = 0; i < count; i++) {
            cost[i] = 1 + random_below(&seed, 2);
            mark[i] = request(&state, &limit, cost[i], START).mark;
        }
        for (; count > 0; count--) {
            unsigned which = (unsigned)random_below(&seed, count);
            assert_int_equal(engine_refund(&state, &limit, cost[which], mark[which], START), cost[which]);
            mark[which] = mark[count - 1];
            cost[which] = cost[count - 1];
        }
        assert_int_equal(ask(&state, &limit, 0, START).reset_ns, 0);
    }
}

/* A success whose answer is late cannot take a failure with it that came when its own charge had drained. */
static void a_late_success_erases_no_failure(void **unused)
{
    (void)unused;
    struct engine_limit limit =
        limit_of((struct engine_spec){ .count = 1, .period_ns = SECOND, .burst = 3, .algorithm = ENGINE_BUCKET });
    struct engine_state state = { 0 };
    uint64_t quick = request(&state, &limit, 1, START).mark, slow = request(&state, &limit, 1, START).mark;
    assert_int_equal(engine_refund(&state, &limit, 1, quick, START), 1);
    assert_true(request(&state, &limit, 3, START + SECOND).allowed);
    assert_int_equal(engine_refund(&state, &limit, 1, slow, START + SECOND + 1), 0);
    assert_false(request(&state, &limit, 1, START + SECOND + 1).allowed);
}

static void a_fixed_window_gives_back_only_its_own(void **unused)
{
    (void)unused;
    uint64_t seed = 34;
    for (unsigned round = 0; round < 300; round++) {
        uint64_t count = 1 + random_below(&seed, 30), period_ns = 10 * SECOND;
        bool first = round % 2 != 0;
        struct engine_limit limit = limit_of((struct engine_spec){ .count = count,
                                                                   .period_ns = period_ns,
                                                                   .flags = first ? ENGINE_FROM_FIRST : 0,
                                                                   .algorithm = ENGINE_FIXED });
        struct engine_state state = { 0 };
        uint64_t now_ns = START, begin_ns = 0;
        charge_count = 0;
        for (unsigned i = 0; i < 500; i++) {
            now_ns += next_gap(&seed, period_ns, count);
            if (now_ns >= begin_ns + period_ns)
                begin_ns = first ? now_ns : now_ns / period_ns * period_ns;
            struct charge which;
            if (random_below(&seed, 5) < 2) {
                uint64_t back = refund_one(&seed, &state, &limit, now_ns, &which);
                assert_int_equal(back, which.at_ns >= begin_ns ? which.cost : 0);
            }
            if (kept_within(begin_ns - 1, now_ns) == 0 && first)
                begin_ns = now_ns;
            struct engine_verdict verdict = request(&state, &limit, 1, now_ns);
            if (verdict.allowed)
                remember(1, now_ns, verdict.mark);
            assert_int_equal(verdict.used, kept_within(begin_ns - 1, now_ns));
        }
    }
}

/* The window of the request before the queued one has been left behind in the state, but not in truth. */
static void a_queued_charge_given_back_admits_nobody_at_once(void **unused)
{
    (void)unused;
    for (uint8_t algorithm = ENGINE_SLIDING; algorithm <= ENGINE_BUCKET; algorithm++) {
        struct engine_limit limit = limit_of((struct engine_spec){ .count = 1,
                                                                   .period_ns = SECOND,
                                                                   .burst = 1,
                                                                   .flags = ENGINE_QUEUE | ENGINE_REFUNDABLE,
                                                                   .algorithm = algorithm });
        struct engine_state state = { 0 };
        assert_int_equal(request(&state, &limit, 1, START).delay_ns, 0);
        struct engine_verdict queued = request(&state, &limit, 1, START);
        assert_int_equal(queued.delay_ns, SECOND);
        assert_int_equal(engine_refund(&state, &limit, 1, queued.mark, START), 1);
        assert_int_equal(request(&state, &limit, 1, START).delay_ns, SECOND);
    }
}

static struct engine_limit of_algorithm(uint8_t algorithm)
{
    return limit_of((struct engine_spec){ .count = 2,
                                          .period_ns = 60 * SECOND,
                                          .burst = algorithm == ENGINE_LEAKY ? 1 : 2,
                                          .undelayed = UINT64_MAX,
                                          .block_ns = SECOND,
                                          .factor_milli = 1000,
                                          .flags = ENGINE_REFUNDABLE,
                                          .algorithm = algorithm });
}

static void a_charge_from_before_a_block_gives_nothing_back_after_it(void **unused)
{
    (void)unused;
    for (uint8_t algorithm = ENGINE_SLIDING; algorithm <= ENGINE_LEAKY; algorithm++) {
        struct engine_limit limit = of_algorithm(algorithm);
        struct engine_state state = { 0 };
        uint64_t mark = request(&state, &limit, 2, START).mark;
        assert_true(request(&state, &limit, 1, START).started_block);
        assert_int_equal(engine_refund(&state, &limit, 1, mark, START), 0);
        assert_true(request(&state, &limit, 2, START + SECOND).allowed);
        assert_int_equal(engine_refund(&state, &limit, 1, mark, START + SECOND), 0);
        assert_int_equal(ask(&state, &limit, 0, START + SECOND).remaining, 0);
    }
}

/* A right password clears the key.  What was in doubt before, and turns out to be no failure later, must not take a failure with it
 * that came since. */
static void a_charge_from_before_a_success_gives_nothing_back_after_it(void **unused)
{
    (void)unused;
    for (uint8_t algorithm = ENGINE_SLIDING; algorithm <= ENGINE_LEAKY; algorithm++) {
        struct engine_limit limit = of_algorithm(algorithm);
        struct engine_state state = { 0 };
        uint64_t before = request(&state, &limit, 1, START).mark;
        engine_clear(&state, &limit, START + 1);
        assert_int_equal(ask(&state, &limit, 0, START + 1).remaining, 2);
        uint64_t first = request(&state, &limit, 1, START + 2).mark,
                 second = request(&state, &limit, 1, START + 3).mark;
        assert_int_equal(engine_refund(&state, &limit, 1, before, START + 4), 0);
        assert_int_equal(ask(&state, &limit, 0, START + 4).remaining, 0);
        engine_refund(&state, &limit, 1, second, START + 4);
        engine_refund(&state, &limit, 1, first, START + 4);
        assert_int_equal(ask(&state, &limit, 0, START + 4).used, 0);
    }
}

static void a_success_lifts_a_block_and_forgets_the_blocks_before_it(void **unused)
{
    (void)unused;
    struct engine_limit limit = of_algorithm(ENGINE_SLIDING);
    struct engine_state state = { 0 };
    request(&state, &limit, 2, START);
    assert_true(request(&state, &limit, 1, START).started_block);
    engine_clear(&state, &limit, START + 1);
    assert_true(request(&state, &limit, 2, START + 1).allowed);
    assert_int_equal(state.strikes, 0);
    assert_int_equal(engine_worth(&(struct engine_state){ .block_end_ns = START + 1 }, &limit, START + 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sliding_window_counts_what_was_not_given_back),
        cmocka_unit_test(stamps_that_refunds_thinned_out_lose_no_charge),
        cmocka_unit_test(a_bucket_holds_at_least_what_was_not_given_back),
        cmocka_unit_test(a_bucket_gives_back_in_order_what_ten_took_at_once),
        cmocka_unit_test(a_bucket_gives_back_in_any_order_what_many_took_at_once),
        cmocka_unit_test(a_late_success_erases_no_failure),
        cmocka_unit_test(a_fixed_window_gives_back_only_its_own),
        cmocka_unit_test(a_queued_charge_given_back_admits_nobody_at_once),
        cmocka_unit_test(a_charge_from_before_a_block_gives_nothing_back_after_it),
        cmocka_unit_test(a_charge_from_before_a_success_gives_nothing_back_after_it),
        cmocka_unit_test(a_success_lifts_a_block_and_forgets_the_blocks_before_it),
    };
    return cmocka_run_group_tests_name("refund", tests, NULL, NULL);
}
