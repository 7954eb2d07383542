/* What a request spends: costs by class, multiples, asking, several rates, and more limits than the stack holds. */
#include "limiter_test_support.h"

static void a_request_spends_the_cost_of_the_first_class_it_is_in(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("classes: { api: { path_begins: /api }, export: { path: /api/export } }\n"
                    "limits:\n  a: { by: address, allow: 100 per 60s, cost: { export: 20, api: 3 } }\n"
                    "  b: { by: site, allow: 1000 per 60s, cost: 7 }\n");
    static const struct {
        const char *path;
        unsigned a, b; /* used afterwards */
    } steps[] = { { "/api/x", 3, 7 }, { "/api/export", 23, 14 }, { "/", 24, 21 }, { "/api/export", 44, 28 } };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct drossel_request request = request_of("192.0.2.1", steps[i].path, 0);
        struct drossel_decision decision = decide(limiter, &request);
        assert_int_equal(decision.quota[0].remaining, 100 - steps[i].a);
        assert_int_equal(decision.quota[1].remaining, 1000 - steps[i].b);
    }
    drossel_close(limiter);
}

static void extra_cost_multiplies_and_never_wraps(void **state)
{
    (void)state;
    static const struct {
        uint64_t extra;
        enum drossel_verdict verdict;
        uint64_t used, wait_ns;
    } cases[] = {
        { 0, DROSSEL_ALLOW, 3, 0 },
        { 1, DROSSEL_ALLOW, 3, 0 },
        { 5, DROSSEL_ALLOW, 15, 0 },
        { 33, DROSSEL_ALLOW, 99, 0 },
        { 34, DROSSEL_REFUSE, 0, DROSSEL_NEVER },
        { UINT64_MAX / 3 + 1, DROSSEL_REFUSE, 0, DROSSEL_NEVER }, /* times 3: 2 modulo 2^64 */
        { UINT64_MAX - 1, DROSSEL_REFUSE, 0, DROSSEL_NEVER },
        { DROSSEL_ASK, DROSSEL_ALLOW, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 100 per 60s, cost: 3 }\n");
        struct drossel_request request = request_of("192.0.2.1", "/", 0);
        request.extra_cost = cases[i].extra;
        struct drossel_decision decision = decide(limiter, &request);
        assert_int_equal(decision.verdict, cases[i].verdict);
        assert_int_equal(decision.used, cases[i].used);
        assert_int_equal(decision.wait_ns, cases[i].wait_ns);
        drossel_close(limiter);
    }
}

static void to_ask_charges_nothing_and_starts_no_block(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 2 per 60s, ban: 100s }\n"
                                          "  none: { by: token, allow: 0 per 60s }\n");
    struct drossel_request ask = request_of("192.0.2.1", "/", 0);
    ask.extra_cost = DROSSEL_ASK;
    for (unsigned used = 0; used < 3; used++) {
        for (unsigned i = 0; i < 5; i++) {
            struct drossel_decision decision = decide(limiter, &ask);
            assert_int_equal(decision.verdict, DROSSEL_ALLOW);
            assert_int_equal(decision.used, used);
            assert_int_equal(decision.remaining, 2 - used);
        }
        (void)get(limiter, 0);
    }
    struct drossel_decision banned = decide(limiter, &ask);
    assert_true(banned.banned);
    ask = request_of("192.0.2.2", "/", 0);
    ask.extra_cost = DROSSEL_ASK;
    ask.token = text_of("k");
    assert_int_equal(decide(limiter, &ask).verdict, DROSSEL_REFUSE); /* nobody gets in where N is 0 */
    drossel_close(limiter);
}

static void every_one_of_several_rates_holds(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("limits:\n  a: { by: address, allow: [3 per 10s, 5 per 60s], algorithm: fixed,"
                    " from: first }\n");
    unsigned admitted = 0;
    for (unsigned i = 0; i < 10; i++)
        admitted += get(limiter, 0).verdict == DROSSEL_ALLOW;
    assert_int_equal(admitted, 3);
    struct drossel_decision refused = get(limiter, 1);
    assert_string_equal(refused.limit_name, "a");
    assert_string_equal(refused.quota[0].name, "a-10s");
    assert_string_equal(refused.quota[1].name, "a-1m");
    assert_true(refused.quota[0].violated && !refused.quota[1].violated);
    assert_int_equal(refused.quota[1].remaining, 2);
    assert_int_equal(get(limiter, 10).verdict, DROSSEL_ALLOW);
    assert_int_equal(get(limiter, 10).verdict, DROSSEL_ALLOW);
    refused = get(limiter, 10);
    assert_int_equal(refused.wait_ns, 50 * SECOND);
    assert_true(!refused.quota[0].violated && refused.quota[1].violated);
    drossel_close(limiter);
}

static void a_limit_applies_only_at_its_doors(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { only: [nginx, php], by: address, allow: 1 per 60s }\n");
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    static const bool applies[DROSSEL_DOOR_COUNT] = { [DROSSEL_DOOR_NGINX] = true, [DROSSEL_DOOR_PHP] = true };
    for (unsigned door = 0; door < DROSSEL_DOOR_COUNT; door++) {
        request.door = (enum drossel_door)door;
        request.address.bytes[3] = (uint8_t)door;
        assert_int_equal(admitted_of(limiter, &request, 4), applies[door] ? 1 : 4);
    }
    drossel_close(limiter);
}

/* `count` limits, of which number `tight` allows 3. */
static struct drossel *open_many(unsigned count, unsigned tight, const char *more)
{
    char *policy = malloc(200 * (size_t)count + 100);
    size_t size = (size_t)sprintf(policy, "limits:\n");
    for (unsigned i = 0; i < count; i++)
        size += (size_t)sprintf(policy + size, "  l%u: { by: %s, allow: %u per 60s%s }\n", i,
                                i % 3 == 0 ? "site" : "address", i == tight ? 3 : 1000 + i, i == tight ? more : "");
    struct drossel *limiter = open_policy(policy);
    free(policy);
    return limiter;
}

static void decisions_do_not_depend_on_how_many_limits_match(void **state)
{
    (void)state;
    static const unsigned counts[] = { 2, 8, 9, 63, 64, 65, 66, 200, 1000 };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        unsigned count = counts[c], tight = count - 1;
        struct drossel *limiter = open_many(count, tight, ", block: 100s");
        for (unsigned i = 0; i < 6; i++) {
            struct drossel_decision decision = get(limiter, i);
            assert_int_equal(decision.verdict, i < 3 ? DROSSEL_ALLOW : DROSSEL_REFUSE);
            assert_int_equal(decision.limit, tight);
            assert_int_equal(decision.remaining, i < 3 ? 2 - i : 0);
            assert_int_equal(decision.used, i < 3 ? i + 1 : 3);
            assert_int_equal(decision.wait_ns, i < 3 ? 0 : (100 + 3 - i) * SECOND);
            assert_int_equal(decision.started_block, i == 3);
            assert_int_equal(decision.blocked, i > 3);
            assert_int_equal(decision.quota_count, count < DROSSEL_QUOTAS ? count : DROSSEL_QUOTAS);
            assert_int_equal(decision.quota[0].remaining, 1000 - (i < 3 ? i + 1 : 3)); /* all or nothing (P3) */
        }
        drossel_close(limiter);
    }
}

/* `order` tells how the waits of twelve limits lie in the file. */
static void assert_longest_is_told(const unsigned order[12])
{
    char policy[2000], longest[16];
    size_t size = (size_t)sprintf(policy, "limits:\n  free: { by: address, allow: 9 per 1h }\n");
    for (unsigned i = 0; i < 12; i++)
        size += (size_t)sprintf(policy + size, "  l%u: { by: address, allow: 1 per %um }\n", i, order[i]);
    struct drossel *limiter = open_policy(policy);
    assert_int_equal(get(limiter, 0).verdict, DROSSEL_ALLOW);
    struct drossel_decision decision = get(limiter, 1);
    unsigned told = 0, long_ones = 0;
    assert_int_equal(decision.verdict, DROSSEL_REFUSE);
    assert_int_equal(decision.wait_ns, (12 * 60 - 1) * SECOND);
    assert_int_equal(decision.quota_count, DROSSEL_QUOTAS);
    snprintf(longest, sizeof longest, "%s", decision.limit_name);
    for (unsigned i = 0; i < DROSSEL_QUOTAS; i++) {
        assert_true(decision.quota[i].violated);
        told += strcmp(decision.quota[i].name, longest) == 0 && decision.quota[i].more_ns == decision.wait_ns;
        long_ones += decision.quota[i].window_ns > (12 - DROSSEL_QUOTAS) * 60 * SECOND;
    }
    assert_int_equal(told, 1);
    assert_int_equal(long_ones, DROSSEL_QUOTAS);
    drossel_close(limiter);
}

static void of_many_limits_that_refuse_the_longest_waits_are_told(void **state)
{
    static const unsigned orders[][12] = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 },
                                           { 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 },
                                           { 3, 12, 1, 7, 5, 10, 2, 11, 4, 9, 8, 6 } };
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        assert_longest_is_told(orders[i]);
}

static void a_batch_decides_as_one_by_one_where_many_limits_match(void **state)
{
    (void)state;
    static const unsigned counts[] = { 8, 9, 64, 65 };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct drossel *limiter = open_many(counts[c], 1, "");
        struct drossel_request requests[20];
        struct drossel_decision decisions[20];
        for (unsigned i = 0; i < 20; i++)
            requests[i] = request_of("192.0.2.1", "/", i);
        assert_int_equal(drossel_check_batch(limiter, requests, 20, decisions), DROSSEL_OK);
        for (unsigned i = 0; i < 20; i++) {
            assert_int_equal(decisions[i].verdict, i < 3 ? DROSSEL_ALLOW : DROSSEL_REFUSE);
            assert_int_equal(decisions[i].wait_ns, i < 3 ? 0 : (60 - i) * SECOND);
        }
        drossel_close(limiter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_spends_the_cost_of_the_first_class_it_is_in),
        cmocka_unit_test(extra_cost_multiplies_and_never_wraps),
        cmocka_unit_test(to_ask_charges_nothing_and_starts_no_block),
        cmocka_unit_test(every_one_of_several_rates_holds),
        cmocka_unit_test(a_limit_applies_only_at_its_doors),
        cmocka_unit_test(decisions_do_not_depend_on_how_many_limits_match),
        cmocka_unit_test(of_many_limits_that_refuse_the_longest_waits_are_told),
        cmocka_unit_test(a_batch_decides_as_one_by_one_where_many_limits_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
