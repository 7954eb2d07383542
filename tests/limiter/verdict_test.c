/* Many verdicts, one decision: which wins, what is told of the others, and what is spent (P2, P3). */
#include "limiter_test_support.h"

#define LIMIT(name, allow, more)                                                                                       \
    "  " name ": { by: address, allow: " allow ", algorithm: fixed, from: first" more " }\n"

static void the_strictest_verdict_wins_whatever_the_order(void **state)
{
    (void)state;
    static const struct {
        const char *limits;
        enum drossel_verdict verdict;
        const char *limit;
        unsigned status;
    } cases[] = {
        { LIMIT("a", "1 per 60s", "") LIMIT("b", "1 per 10s", ", action: drop"), DROSSEL_DROP, "b", 0 },
        { LIMIT("b", "1 per 10s", ", action: drop") LIMIT("a", "1 per 60s", ""), DROSSEL_DROP, "b", 0 },
        { LIMIT("a", "1 per 60s", ", action: challenge") LIMIT("b", "1 per 10s", ""), DROSSEL_REFUSE, "b", 429 },
        { LIMIT("b", "1 per 10s", "") LIMIT("a", "1 per 60s", ", action: challenge"), DROSSEL_REFUSE, "b", 429 },
        { LIMIT("a", "1 per 60s", ", action: mark") LIMIT("b", "1 per 10s", ", action: challenge"), DROSSEL_CHALLENGE,
          "b", 200 },
        { LIMIT("a", "1 per 60s", ", action: mark") LIMIT("b", "9 per 10s", ""), DROSSEL_MARK, "a", 200 },
        { LIMIT("a", "1 per 60s", ", action: mark") "  d: { by: address, allow: 1 per 10s, action: delay }\n",
          DROSSEL_DELAY, "d", 200 },
        { LIMIT("a", "1 per 60s", ", action: challenge") "  d: { by: address, allow: 1 per 10s, action: delay }\n",
          DROSSEL_CHALLENGE, "a", 200 },
        { LIMIT("a", "5 per 60s", "") LIMIT("b", "9 per 10s", ""), DROSSEL_ALLOW, "a", 200 },
        { LIMIT("a", "1 per 60s", ", answer: { status: 503 }") LIMIT("b", "1 per 10s", ""), DROSSEL_REFUSE, "a", 503 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char policy[2000];
        snprintf(policy, sizeof policy, "limits:\n%s", cases[i].limits);
        struct drossel *limiter = open_policy(policy);
        assert_int_equal(get(limiter, 0).verdict, DROSSEL_ALLOW);
        struct drossel_decision second = get(limiter, 1);
        assert_int_equal(second.verdict, cases[i].verdict);
        assert_string_equal(second.limit_name, cases[i].limit);
        assert_int_equal(second.status, cases[i].status);
        drossel_close(limiter);
    }
}

static void a_challenged_request_is_held_back_for_the_longest_delay(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n" LIMIT(
        "c", "1 per 60s", ", action: challenge") "  d: { by: address, allow: 1 per 10s, action: delay }\n"
                                                 "  e: { by: address, allow: 1 per 20s, action: delay }\n");
    assert_int_equal(get(limiter, 0).delay_ns, 0);
    struct drossel_decision second = get(limiter, 1);
    assert_int_equal(second.verdict, DROSSEL_CHALLENGE);
    assert_int_equal(second.delay_ns, 19 * SECOND);
    assert_int_equal(second.wait_ns, 0);
    drossel_close(limiter);
}

/* Whoever is dropped, waits what the decision says, and comes again, must not be refused by another limit then (P2). */
static void a_dropped_request_waits_for_those_that_refuse_it_too(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("limits:\n" LIMIT("drop", "1 per 10s", ", action: drop") LIMIT("long", "1 per 60s", ""));
    assert_int_equal(get(limiter, 0).verdict, DROSSEL_ALLOW);
    struct drossel_decision second = get(limiter, 1);
    assert_int_equal(second.verdict, DROSSEL_DROP);
    assert_string_equal(second.limit_name, "drop");
    assert_int_equal(second.wait_ns, 59 * SECOND);
    assert_int_equal(get(limiter, 59).verdict, DROSSEL_REFUSE);
    assert_int_equal(get(limiter, 60).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void among_refusals_the_longest_wait_is_told_and_of_equals_the_first(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n" LIMIT("short", "1 per 10s", "") LIMIT("long", "1 per 60s", "")
                                              LIMIT("same", "1 per 60s", ""));
    struct drossel_decision first = get(limiter, 0), second = get(limiter, 4);
    assert_string_equal(first.limit_name, "short");
    assert_int_equal(first.wait_ns, 0);
    assert_string_equal(second.limit_name, "long");
    assert_int_equal(second.limit, 1);
    assert_int_equal(second.wait_ns, 56 * SECOND);
    assert_int_equal(second.used, 1);
    assert_int_equal(second.remaining, 0);
    assert_int_equal(get(limiter, 59.9).verdict, DROSSEL_REFUSE);
    assert_int_equal(get(limiter, 60).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void on_allow_the_limit_with_the_fewest_left_is_told(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n" LIMIT("wide", "9 per 60s", "") LIMIT("narrow", "3 per 10s", "")
                                              LIMIT("also", "3 per 10s", ""));
    struct drossel_decision decision = get(limiter, 0);
    assert_string_equal(decision.limit_name, "narrow");
    assert_int_equal(decision.remaining, 2);
    assert_int_equal(decision.used, 1);
    drossel_close(limiter);
}

/* P3 */
static void one_refusal_of_many_limits_spends_nothing_from_the_others(void **state)
{
    (void)state;
    char policy[4000] = "limits:\n  narrow: { by: address, allow: 3 per 60s }\n";
    for (unsigned i = 0; i < 20; i++)
        snprintf(policy + strlen(policy), sizeof policy - strlen(policy), "  wide%u: { by: site, allow: %u per 60s }\n",
                 i, 10 + i);
    struct drossel *limiter = open_policy(policy);
    struct drossel_request request = request_of("192.0.2.1", "/", 0), other = request_of("192.0.2.2", "/", 0);
    assert_int_equal(admitted_of(limiter, &request, 100), 3);
    assert_int_equal(admitted_of(limiter, &other, 3), 3);
    struct drossel_request third = request_of("192.0.2.3", "/", 0), fourth = request_of("192.0.2.4", "/", 0);
    assert_int_equal(admitted_of(limiter, &third, 100), 3);
    assert_int_equal(admitted_of(limiter, &fourth, 100), 1);
    drossel_close(limiter);
}

static void a_dry_run_refuses_nobody_and_is_told(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n" LIMIT("real", "9 per 60s", "") LIMIT(
        "trial", "1 per 60s", ", dry_run: true") LIMIT("harsh", "2 per 10s", ", dry_run: true, action: drop"));
    struct drossel_decision first = get(limiter, 0), second = get(limiter, 1), third = get(limiter, 2);
    assert_int_equal(first.dry_run_count, 0);
    assert_int_equal(first.dry_run_verdict, DROSSEL_ALLOW);
    assert_int_equal(second.verdict, DROSSEL_ALLOW);
    assert_string_equal(second.limit_name, "real");
    assert_int_equal(second.remaining, 7);
    assert_int_equal(second.dry_run_count, 1);
    assert_string_equal(second.dry_run[0], "trial");
    assert_int_equal(second.dry_run_verdict, DROSSEL_REFUSE);
    assert_int_equal(second.dry_run_wait_ns, 59 * SECOND);
    assert_int_equal(third.dry_run_count, 2);
    assert_string_equal(third.dry_run[1], "harsh");
    assert_int_equal(third.dry_run_verdict, DROSSEL_DROP);
    assert_string_equal(third.dry_run_limit_name, "harsh");
    assert_int_equal(third.dry_run_limit, 2);
    assert_int_equal(third.dry_run_wait_ns, 58 * SECOND);
    assert_int_equal(third.quota_count, 1);
    drossel_close(limiter);
}

static void of_equal_dry_runs_the_one_with_the_longest_wait_is_told(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n" LIMIT("short", "1 per 10s", ", dry_run: true")
                                              LIMIT("long", "1 per 60s", ", dry_run: true"));
    (void)get(limiter, 0);
    struct drossel_decision second = get(limiter, 1);
    assert_string_equal(second.dry_run_limit_name, "long");
    assert_int_equal(second.dry_run_wait_ns, 59 * SECOND);
    assert_int_equal(second.verdict, DROSSEL_ALLOW);
    assert_null(second.limit_name);
    drossel_close(limiter);
}

static void a_dry_run_of_several_rates_is_named_once_even_beyond_the_last_place(void **state)
{
    (void)state;
    char policy[4000] = "limits:\n";
    for (unsigned i = 0; i < DROSSEL_DRY_RUNS + 3; i++)
        snprintf(policy + strlen(policy), sizeof policy - strlen(policy),
                 "  trial%u: { by: address, allow: [1 per 10s, 1 per 60s], dry_run: true }\n", i);
    struct drossel *limiter = open_policy(policy);
    (void)get(limiter, 0);
    struct drossel_decision second = get(limiter, 1);
    assert_int_equal(second.dry_run_count, DROSSEL_DRY_RUNS + 3);
    assert_string_equal(second.dry_run[0], "trial0");
    assert_string_equal(second.dry_run[1], "trial1");
    assert_string_equal(second.dry_run[DROSSEL_DRY_RUNS - 1], "trial15");
    drossel_close(limiter);
}

static void quotas_tell_what_is_left_and_when_there_is_more(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n" LIMIT("a", "3 per 60s", "") LIMIT("b", "2 per 10s", ""));
    struct drossel_decision first = get(limiter, 0);
    assert_int_equal(first.quota_count, 2);
    assert_string_equal(first.quota[0].name, "a");
    assert_int_equal(first.quota[0].count, 3);
    assert_int_equal(first.quota[0].window_ns, 60 * SECOND);
    assert_int_equal(first.quota[0].remaining, 2);
    assert_int_equal(first.quota[0].more_ns, 60 * SECOND);
    assert_false(first.quota[0].violated);
    (void)get(limiter, 1);
    struct drossel_decision third = get(limiter, 2);
    assert_int_equal(third.verdict, DROSSEL_REFUSE);
    assert_int_equal(third.quota[0].remaining, 1); /* this request was not charged */
    assert_false(third.quota[0].violated);
    assert_true(third.quota[1].violated);
    assert_int_equal(third.quota[1].remaining, 0);
    assert_int_equal(third.quota[1].more_ns, third.wait_ns);
    assert_int_equal(third.wait_ns, 8 * SECOND);
    drossel_close(limiter);
}

static void a_violated_or_blocked_quota_has_more_when_its_wait_is_over(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  never: { by: address, allow: 0 per 10s }\n");
    struct drossel_decision never = get(limiter, 0);
    assert_int_equal(never.wait_ns, DROSSEL_NEVER);
    assert_int_equal(never.quota[0].more_ns, DROSSEL_NEVER);
    drossel_close(limiter);
    limiter = open_policy("limits:\n  c: { by: address, allow: 1 per 10s, action: challenge, block: 100s }\n");
    (void)get(limiter, 0);
    (void)get(limiter, 1);
    struct drossel_decision blocked = get(limiter, 2);
    assert_int_equal(blocked.verdict, DROSSEL_CHALLENGE);
    assert_int_equal(blocked.quota[0].more_ns, 99 * SECOND);
    assert_false(blocked.quota[0].violated);
    drossel_close(limiter);
}

static void at_most_eight_quotas_are_told_the_closest_to_exhaustion_in_order(void **state)
{
    (void)state;
    char policy[4000] = "limits:\n";
    static const unsigned counts[12] = { 90, 2, 80, 70, 3, 60, 50, 4, 40, 30, 20, 5 };
    for (unsigned i = 0; i < 12; i++)
        snprintf(policy + strlen(policy), sizeof policy - strlen(policy), "  l%u: { by: address, allow: %u per 60s }\n",
                 i, counts[i]);
    struct drossel *limiter = open_policy(policy);
    (void)get(limiter, 0);
    (void)get(limiter, 0);
    struct drossel_decision third = get(limiter, 0);
    assert_int_equal(third.verdict, DROSSEL_REFUSE);
    assert_int_equal(third.quota_count, DROSSEL_QUOTAS);
    static const char *const expected[] = { "l1", "l4", "l6", "l7", "l8", "l9", "l10", "l11" };
    for (unsigned i = 0; i < DROSSEL_QUOTAS; i++) {
        assert_string_equal(third.quota[i].name, expected[i]);
        assert_int_equal(third.quota[i].violated, i == 0);
    }
    drossel_close(limiter);
}

static void a_violated_quota_is_never_displaced_by_one_that_is_not(void **state)
{
    (void)state;
    char policy[4000] = "limits:\n  big: { by: address, allow: 4 per 60s, cost: 3 }\n";
    for (unsigned i = 0; i < 12; i++)
        snprintf(policy + strlen(policy), sizeof policy - strlen(policy), "  l%u: { by: address, allow: 2 per 60s }\n",
                 i);
    struct drossel *limiter = open_policy(policy);
    (void)get(limiter, 0);
    struct drossel_decision second = get(limiter, 0);
    assert_string_equal(second.limit_name, "big");
    assert_true(second.quota[0].violated);
    assert_string_equal(second.quota[0].name, "big");
    assert_int_equal(second.quota_count, DROSSEL_QUOTAS);
    drossel_close(limiter);
}

static void the_subject_hash_is_one_for_a_key_and_another_for_another(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n" LIMIT("a", "1 per 60s", ""));
    struct drossel_request one = request_of("192.0.2.1", "/", 0), two = request_of("192.0.2.2", "/", 0);
    uint64_t hash = decide(limiter, &one).subject_hash;
    assert_true(hash != 0);
    assert_true(decide(limiter, &one).subject_hash == hash);
    one.now_ns += 7 * SECOND;
    assert_true(decide(limiter, &one).subject_hash == hash);
    assert_true(decide(limiter, &two).subject_hash != hash);
    drossel_close(limiter);
}

static void without_a_matching_limit_a_request_goes_through_undecided(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("classes: { api: { path_begins: /api/ } }\n"
                                          "limits:\n  api: { for: api, by: address, allow: 1 per 60s }\n");
    struct drossel_decision decision = get(limiter, 0);
    assert_int_equal(decision.verdict, DROSSEL_ALLOW);
    assert_int_equal(decision.status, 200);
    assert_int_equal(decision.limit, UINT32_MAX);
    assert_null(decision.limit_name);
    assert_int_equal(decision.quota_count, 0);
    assert_int_equal(decision.dry_run_count, 0);
    assert_false(decision.exempt || decision.banned || decision.blocked || decision.untrusted || decision.signed_in);
    drossel_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strictest_verdict_wins_whatever_the_order),
        cmocka_unit_test(a_challenged_request_is_held_back_for_the_longest_delay),
        cmocka_unit_test(a_dropped_request_waits_for_those_that_refuse_it_too),
        cmocka_unit_test(among_refusals_the_longest_wait_is_told_and_of_equals_the_first),
        cmocka_unit_test(on_allow_the_limit_with_the_fewest_left_is_told),
        cmocka_unit_test(one_refusal_of_many_limits_spends_nothing_from_the_others),
        cmocka_unit_test(a_dry_run_refuses_nobody_and_is_told),
        cmocka_unit_test(of_equal_dry_runs_the_one_with_the_longest_wait_is_told),
        cmocka_unit_test(a_dry_run_of_several_rates_is_named_once_even_beyond_the_last_place),
        cmocka_unit_test(quotas_tell_what_is_left_and_when_there_is_more),
        cmocka_unit_test(a_violated_or_blocked_quota_has_more_when_its_wait_is_over),
        cmocka_unit_test(at_most_eight_quotas_are_told_the_closest_to_exhaustion_in_order),
        cmocka_unit_test(a_violated_quota_is_never_displaced_by_one_that_is_not),
        cmocka_unit_test(the_subject_hash_is_one_for_a_key_and_another_for_another),
        cmocka_unit_test(without_a_matching_limit_a_request_goes_through_undecided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
