/* Who is kept out, and who is let through, before any limit is asked: blocks, bans, exemptions, untrusted peers. */
#include "limiter_test_support.h"

static struct drossel_decision from(struct drossel *limiter, const char *address, const char *path, double t)
{
    struct drossel_request request = request_of(address, path, t);
    return decide(limiter, &request);
}

static void a_block_refuses_its_own_limit_only_and_starts_the_counter_afresh(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("classes: { login: { path: /login } }\nlimits:\n"
                                          "  login: { for: login, by: address, allow: 2 per 60s, block: 100s }\n");
    (void)from(limiter, "192.0.2.1", "/login", 0);
    (void)from(limiter, "192.0.2.1", "/login", 0);
    struct drossel_decision third = from(limiter, "192.0.2.1", "/login", 1),
                            fourth = from(limiter, "192.0.2.1", "/login", 50);
    assert_true(third.started_block && !third.blocked && !third.banned);
    assert_int_equal(third.wait_ns, 100 * SECOND);
    assert_true(fourth.blocked && !fourth.started_block);
    assert_int_equal(fourth.wait_ns, 51 * SECOND);
    assert_int_equal(fourth.remaining, 0);
    assert_int_equal(from(limiter, "192.0.2.1", "/", 50).verdict, DROSSEL_ALLOW);
    assert_int_equal(from(limiter, "192.0.2.2", "/login", 50).verdict, DROSSEL_ALLOW);
    assert_int_equal(from(limiter, "192.0.2.1", "/login", 101).verdict, DROSSEL_ALLOW);
    assert_int_equal(from(limiter, "192.0.2.1", "/login", 101).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

/* P2 */
static void who_waits_as_a_block_said_is_admitted_by_all_limits(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  short: { by: address, allow: 3 per 10s, block: 5s }\n"
                                          "  long: { by: address, allow: 3 per 60s }\n");
    for (unsigned i = 0; i < 3; i++)
        (void)get(limiter, 0);
    struct drossel_decision starting = get(limiter, 1), during = get(limiter, 2);
    assert_int_equal(starting.wait_ns, 59 * SECOND);
    assert_int_equal(during.wait_ns, 58 * SECOND);
    assert_string_equal(during.limit_name, "long");
    assert_true(during.blocked && !starting.blocked && starting.started_block);
    assert_int_equal(get(limiter, 60).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void a_ban_refuses_its_address_by_all_limits(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("classes: { login: { path: /login } }\nlimits:\n"
                                          "  login: { for: login, by: address, allow: 1 per 60s, ban: 100s }\n");
    (void)from(limiter, "192.0.2.1", "/login", 0);
    struct drossel_decision starting = from(limiter, "192.0.2.1", "/login", 0),
                            other = from(limiter, "192.0.2.1", "/", 40);
    assert_true(starting.started_block && !starting.banned);
    assert_string_equal(starting.limit_name, "login");
    assert_int_equal(other.verdict, DROSSEL_REFUSE);
    assert_int_equal(other.status, 429);
    assert_true(other.banned && other.blocked);
    assert_string_equal(other.limit_name, "ban");
    assert_int_equal(other.limit, UINT32_MAX);
    assert_int_equal(other.wait_ns, 60 * SECOND);
    assert_int_equal(other.quota_count, 0);
    assert_int_equal(from(limiter, "192.0.2.2", "/", 40).verdict, DROSSEL_ALLOW);
    assert_int_equal(from(limiter, "192.0.2.1", "/", 99.999).verdict, DROSSEL_REFUSE);
    assert_int_equal(from(limiter, "192.0.2.1", "/login", 100).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void whatever_a_limit_counts_by_its_ban_is_of_the_address(void **state)
{
    (void)state;
    static const char *const by[] = { "site", "token", "[token, address]", "path", "header.X-Key" };
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++) {
        char policy[200];
        snprintf(policy, sizeof policy,
                 "classes: { login: { path: /login } }\nlimits:\n"
                 "  login: { for: login, by: %s, allow: 1 per 60s, ban: 100s }\n",
                 by[i]);
        struct drossel *limiter = open_policy(policy);
        struct drossel_header header = { DROSSEL_TEXT("X-Key"), DROSSEL_TEXT("v") };
        struct drossel_request request = request_of("192.0.2.1", "/login", 0);
        request.token = text_of("k");
        request.headers = &header;
        request.header_count = 1;
        (void)decide(limiter, &request);
        assert_true(decide(limiter, &request).started_block);
        assert_true(from(limiter, "192.0.2.1", "/", 50).banned);
        assert_int_equal(from(limiter, "192.0.2.2", "/", 50).verdict, DROSSEL_ALLOW);
        drossel_close(limiter);
    }
}

static void a_ban_of_an_ipv6_client_is_of_its_64(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 1 per 60s, ban: 100s }\n");
    (void)from(limiter, "2001:db8::1", "/", 0);
    assert_true(from(limiter, "2001:db8::2", "/", 0).started_block);
    assert_true(from(limiter, "2001:db8::ffff:1:2:3", "/", 1).banned);
    assert_int_equal(from(limiter, "2001:db8:0:1::1", "/", 1).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void bans_grow_with_each_strike_and_are_forgiven(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 1 per 1s, algorithm: fixed, from: first,"
                                          " ban: { for: 10s, factor: 2, max: 30s, forgive: 100s } }\n");
    static const struct {
        double at, ban;
    } strikes[] = { { 0, 10 }, { 50, 20 }, { 100, 30 }, { 150, 30 }, { 400, 10 } };
    for (size_t i = 0; i < sizeof strikes / sizeof strikes[0]; i++) {
        assert_int_equal(get(limiter, strikes[i].at).verdict, DROSSEL_ALLOW);
        struct drossel_decision struck = get(limiter, strikes[i].at);
        assert_true(struck.started_block);
        assert_int_equal(struck.wait_ns, (uint64_t)strikes[i].ban * SECOND);
        assert_true(get(limiter, strikes[i].at + strikes[i].ban - 0.001).banned);
        assert_false(get(limiter, strikes[i].at + strikes[i].ban + 0.001).banned);
    }
    drossel_close(limiter);
}

static void extend_starts_a_ban_anew_with_each_refusal_but_not_when_asked(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 1 per 1s, ban: 10s, extend: true }\n");
    (void)get(limiter, 0);
    assert_true(get(limiter, 0).started_block);
    for (unsigned t = 5; t < 30; t += 5)
        assert_int_equal(get(limiter, t).wait_ns, 10 * SECOND);
    struct drossel_request ask = request_of("192.0.2.1", "/", 34);
    ask.extra_cost = DROSSEL_ASK;
    assert_int_equal(decide(limiter, &ask).wait_ns, 1 * SECOND);
    assert_int_equal(decide(limiter, &ask).wait_ns, 1 * SECOND);
    assert_int_equal(get(limiter, 35.001).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void extend_is_of_the_ban_that_its_limit_started_and_of_no_other(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("classes: { login: { path: /login } }\nlimits:\n"
                    "  a: { by: address, allow: 1 per 1s, ban: 2s }\n"
                    "  b: { for: login, by: address, allow: 5 per 1m, ban: 20s, extend: true }\n");
    (void)get(limiter, 0);
    assert_true(get(limiter, 0).started_block);
    assert_int_equal(get(limiter, 1).wait_ns, 1 * SECOND);
    assert_int_equal(get(limiter, 2).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

/* The second time it is longer, and so is what a refused request makes of it. */
static void a_ban_that_grew_is_started_anew_as_long_as_it_was(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 1 per 1s, extend: true,\n"
                                          "       ban: { for: 10s, factor: 3, max: 1h, forgive: 1h } }\n");
    (void)get(limiter, 0);
    assert_int_equal(get(limiter, 0).wait_ns, 10 * SECOND);
    assert_int_equal(get(limiter, 5).wait_ns, 10 * SECOND);
    assert_int_equal(get(limiter, 15).verdict, DROSSEL_ALLOW);
    assert_int_equal(get(limiter, 15).wait_ns, 30 * SECOND);
    assert_int_equal(get(limiter, 20).wait_ns, 30 * SECOND);
    assert_int_equal(get(limiter, 49).wait_ns, 30 * SECOND);
    assert_int_equal(get(limiter, 79).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void of_two_bans_at_once_the_longer_one_stands(void **state)
{
    (void)state;
    static const char *const policies[] = {
        "limits:\n  a: { by: address, allow: 1 per 1s, ban: 10s }\n  b: { by: address, allow: 1 per 1s, ban: 1000s }\n",
        "limits:\n  b: { by: address, allow: 1 per 1s, ban: 1000s }\n  a: { by: address, allow: 1 per 1s, ban: 10s }\n",
    };
    for (unsigned i = 0; i < 2; i++) {
        struct drossel *limiter = open_policy(policies[i]);
        (void)get(limiter, 0);
        assert_int_equal(get(limiter, 0).wait_ns, 1000 * SECOND);
        assert_int_equal(get(limiter, 1).wait_ns, 999 * SECOND);
        assert_int_equal(get(limiter, 999).wait_ns, 1 * SECOND);
        drossel_close(limiter);
    }
}

/* P2 */
static void who_waits_as_a_ban_said_is_admitted_by_all_limits(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 2 per 10s, ban: 20s }\n"
                                          "  b: { by: address, allow: 2 per 60s }\n");
    (void)get(limiter, 0);
    (void)get(limiter, 0);
    assert_int_equal(get(limiter, 0).wait_ns, 60 * SECOND);
    struct drossel_decision banned = get(limiter, 5);
    assert_true(banned.banned);
    assert_int_equal(banned.wait_ns, 55 * SECOND);
    assert_int_equal(get(limiter, 60).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

static void a_dry_run_bans_nobody(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("limits:\n  a: { by: address, allow: 1 per 60s, ban: 100s, dry_run: true }\n");
    for (unsigned t = 0; t < 5; t++) {
        struct drossel_decision decision = get(limiter, t);
        assert_int_equal(decision.verdict, DROSSEL_ALLOW);
        assert_false(decision.banned || decision.started_block);
        assert_int_equal(decision.dry_run_count, t > 0);
    }
    drossel_close(limiter);
}

static void a_ban_by_hand_lasts_exactly_and_is_lifted(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  a: { by: address, allow: 100 per 60s }\n");
    struct drossel_address one = address_of("2001:db8::1"), other = address_of("2001:db8:0:1::1");
    struct drossel_request request = request_of("2001:db8::77", "/", 0);
    struct drossel_decision decision;
    assert_false(limiter_unban(inner.table, &one, 64, NOW));
    assert_true(limiter_ban(inner.table, &one, 64, 1000 * SECOND, NOW));
    assert_true(limiter_ban(inner.table, &one, 64, 100 * SECOND, NOW)); /* the last word of a person counts */
    assert_int_equal(limiter_check(inner.limiter, &request, &decision), DROSSEL_OK);
    assert_true(decision.banned);
    assert_int_equal(decision.wait_ns, 100 * SECOND);
    char key[64];
    (void)limiter_key_format(inner.limiter, &request, &decision, key, sizeof key);
    assert_string_equal(key, "2001:db8::/64");
    assert_false(limiter_unban(inner.table, &other, 64, NOW));
    assert_true(limiter_unban(inner.table, &one, 64, NOW));
    assert_false(limiter_unban(inner.table, &one, 64, NOW));
    assert_int_equal(limiter_check(inner.limiter, &request, &decision), DROSSEL_OK);
    assert_int_equal(decision.verdict, DROSSEL_ALLOW);
    assert_true(limiter_ban(inner.table, &one, 64, 100 * SECOND, NOW));
    assert_false(limiter_unban(inner.table, &one, 64, NOW + 100 * SECOND));
    close_inner(&inner);
}

static void the_key_of_an_address_is_that_of_limits_by_address(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  a: { by: address, allow: 1 per 60s }\n");
    struct drossel_request request = request_of("2001:db8::77", "/", 0);
    struct drossel_address address = address_of("2001:db8::1");
    struct drossel_decision decision;
    struct table_key key = limiter_address_key(inner.table, &address, 64, inner.policy->rates[0].seed);
    assert_true(table_find(inner.table, key) == TABLE_NO_SLOT);
    assert_int_equal(limiter_check(inner.limiter, &request, &decision), DROSSEL_OK);
    assert_true(table_find(inner.table, key) != TABLE_NO_SLOT);
    assert_true(key.home == decision.subject_hash);
    close_inner(&inner);
}

static void the_exempt_are_neither_counted_nor_refused(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("exempt: { addresses: [192.0.2.0/25], paths: [/hooks/], methods: [OPTIONS] }\n"
                    "limits:\n  a: { by: site, allow: 1 per 60s, ban: 100s }\n");
    static const struct {
        const char *address, *path, *method;
        bool exempt;
    } cases[] = {
        { "192.0.2.1", "/", "GET", true },         { "198.51.100.1", "/hooks/a", "GET", true },
        { "198.51.100.1", "/", "OPTIONS", true },  { "192.0.2.200", "/", "GET", false },
        { "192.0.2.1", "/", "GET", true },         { "192.0.2.200", "/", "GET", false },
        { "192.0.2.200", "/hooks/", "GET", true }, { "192.0.2.200", "/", "OPTIONS", true },
    };
    unsigned counted = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct drossel_request request = request_of(cases[i].address, cases[i].path, 0);
        request.method = text_of(cases[i].method);
        struct drossel_decision decision = decide(limiter, &request);
        assert_int_equal(decision.exempt, cases[i].exempt);
        assert_int_equal(decision.verdict, cases[i].exempt || counted++ == 0 ? DROSSEL_ALLOW : DROSSEL_REFUSE);
        assert_int_equal(decision.status, decision.verdict == DROSSEL_ALLOW ? 200 : 429);
    }
    drossel_close(limiter);
}

static void who_did_not_come_through_a_trusted_proxy_gets_403(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("client: { trusted: [10.0.0.0/8], address_from: X-Real-Ip, require_trusted: true }\n"
                    "exempt: { paths: [/health], methods: [OPTIONS] }\n"
                    "limits:\n  a: { by: address, allow: 1 per 60s }\n");
    struct drossel_header header = { DROSSEL_TEXT("X-Real-IP"), DROSSEL_TEXT("192.0.2.1") };
    struct drossel_request request = { .now_ns = NOW, .headers = &header, .header_count = 1 };
    request.peer = address_of("203.0.113.5");
    request.path = text_of("/health"); /* exempt, for those who come through the proxy */
    request.method = text_of("OPTIONS");
    struct drossel_decision decision = decide(limiter, &request);
    assert_int_equal(decision.verdict, DROSSEL_REFUSE);
    assert_int_equal(decision.status, 403);
    assert_true(decision.untrusted && !decision.exempt);
    assert_int_equal(decision.wait_ns, DROSSEL_NEVER);
    assert_int_equal(decision.limit, UINT32_MAX);
    assert_null(decision.limit_name);
    assert_int_equal(decision.quota_count, 0);
    request.peer = address_of("10.0.0.1");
    decision = decide(limiter, &request);
    assert_int_equal(decision.verdict, DROSSEL_ALLOW);
    assert_true(decision.exempt && !decision.untrusted);
    drossel_close(limiter);
}

/* A monitor's, say.  It is the connection's own: what the header says counts for nothing. */
static void an_exempt_address_need_not_come_through_the_proxy(void **state)
{
    (void)state;
    static const struct {
        const char *peer, *header;
        bool exempt, untrusted;
    } cases[] = {
        { "203.0.113.5", "192.0.2.1", true, false }, { "203.0.113.5", NULL, true, false },
        { "192.0.2.1", "203.0.113.5", false, true }, { "10.0.0.1", "203.0.113.5", true, false },
        { "10.0.0.1", "192.0.2.1", false, false },
    };
    struct drossel *limiter =
        open_policy("client: { trusted: [10.0.0.0/8], address_from: X-Real-Ip, require_trusted: true }\n"
                    "exempt: { addresses: [203.0.113.0/24] }\n"
                    "limits:\n  a: { by: address, allow: 1 per 60s }\n");
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct drossel_header header = { DROSSEL_TEXT("X-Real-IP"), text_of(cases[i].header) };
            struct drossel_request request = { .now_ns = NOW, .peer = address_of(cases[i].peer), .headers = &header };
            request.header_count = cases[i].header != NULL;
            struct drossel_decision decision = decide(limiter, &request);
            assert_int_equal(decision.exempt, cases[i].exempt);
            assert_int_equal(decision.untrusted, cases[i].untrusted);
            bool passes = cases[i].exempt || (!cases[i].untrusted && round == 0);
            assert_int_equal(decision.verdict, passes ? DROSSEL_ALLOW : DROSSEL_REFUSE);
            assert_int_equal(decision.status, passes ? 200 : cases[i].untrusted ? 403 : 429);
        }
    }
    drossel_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_refuses_its_own_limit_only_and_starts_the_counter_afresh),
        cmocka_unit_test(who_waits_as_a_block_said_is_admitted_by_all_limits),
        cmocka_unit_test(a_ban_refuses_its_address_by_all_limits),
        cmocka_unit_test(whatever_a_limit_counts_by_its_ban_is_of_the_address),
        cmocka_unit_test(a_ban_of_an_ipv6_client_is_of_its_64),
        cmocka_unit_test(bans_grow_with_each_strike_and_are_forgiven),
        cmocka_unit_test(extend_starts_a_ban_anew_with_each_refusal_but_not_when_asked),
        cmocka_unit_test(extend_is_of_the_ban_that_its_limit_started_and_of_no_other),
        cmocka_unit_test(a_ban_that_grew_is_started_anew_as_long_as_it_was),
        cmocka_unit_test(of_two_bans_at_once_the_longer_one_stands),
        cmocka_unit_test(who_waits_as_a_ban_said_is_admitted_by_all_limits),
        cmocka_unit_test(a_dry_run_bans_nobody),
        cmocka_unit_test(a_ban_by_hand_lasts_exactly_and_is_lifted),
        cmocka_unit_test(the_key_of_an_address_is_that_of_limits_by_address),
        cmocka_unit_test(the_exempt_are_neither_counted_nor_refused),
        cmocka_unit_test(who_did_not_come_through_a_trusted_proxy_gets_403),
        cmocka_unit_test(an_exempt_address_need_not_come_through_the_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
