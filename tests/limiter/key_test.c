/* Whom a limit counts: keys from addresses, tokens, accounts and headers; overrides of some; and how keys are written. */
#include "limiter_test_support.h"

/* Two requests that differ in what a case says: does the second one meet the first one's count? */
struct facts {
    const char *address, *account, *token, *header, *value;
};

static struct drossel_decision ask(struct drossel *limiter, const struct facts *facts)
{
    struct drossel_request request = request_of(facts->address != NULL ? facts->address : "192.0.2.1", "/", 0);
    struct drossel_header header = { text_of(facts->header), text_of(facts->value) };
    request.account = text_of(facts->account);
    request.token = text_of(facts->token);
    request.headers = &header;
    request.header_count = facts->header != NULL;
    return decide(limiter, &request);
}

static void keys_are_one_exactly_where_all_their_parts_are(void **state)
{
    (void)state;
    static const struct {
        const char *by;
        struct facts one, other;
        bool same;
    } cases[] = {
        { "address", { .address = "192.0.2.1" }, { .address = "192.0.2.1" }, true },
        { "address", { .address = "192.0.2.1" }, { .address = "192.0.2.2" }, false },
        { "address", { .address = "192.0.2.1" }, { .address = "::ffff:192.0.2.1" }, true },
        { "address", { .address = "2001:db8::1" }, { .address = "2001:db8::ffff:0:0:2" }, true },
        { "address", { .address = "2001:db8::1" }, { .address = "2001:db8:0:1::1" }, false },
        { "token", { .token = "k1" }, { .address = "192.0.2.9", .token = "k1" }, true },
        { "token", { .token = "k1" }, { .token = "K1" }, false },
        { "token", { .token = "k1" }, { .token = "k1 " }, false },
        { "account", { .account = "a@b.example" }, { .account = "a@b.example" }, true },
        { "[account, token]", { .account = "ab", .token = "c" }, { .account = "a", .token = "bc" }, false },
        { "[account, token]", { .account = "a", .token = "b" }, { .account = "b", .token = "a" }, false },
        { "[account, token]", { .account = "a", .token = "b" }, { .account = "a", .token = "b" }, true },
        { "[token, address]",
          { .address = "192.0.2.1", .token = "a" },
          { .address = "192.0.2.2", .token = "a" },
          false },
        { "site", { .address = "192.0.2.1" }, { .address = "2001:db8::1", .token = "x" }, true },
        { "header.X-Key", { .header = "X-Key", .value = "v" }, { .header = "x-KEY", .value = "v" }, true },
        { "header.X-Key", { .header = "X-Key", .value = "v" }, { .header = "X-Key", .value = "w" }, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char policy[200];
        snprintf(policy, sizeof policy, "limits:\n  one: { by: %s, allow: 1 per 60s }\n", cases[i].by);
        struct drossel *limiter = open_policy(policy);
        assert_int_equal(ask(limiter, &cases[i].one).verdict, DROSSEL_ALLOW);
        enum drossel_verdict second = ask(limiter, &cases[i].other).verdict;
        if (second != (cases[i].same ? DROSSEL_REFUSE : DROSSEL_ALLOW))
            fail_msg("case %zu, by %s", i, cases[i].by);
        assert_int_equal(ask(limiter, &cases[i].one).verdict, DROSSEL_REFUSE);
        drossel_close(limiter);
    }
}

static void one_text_as_token_account_and_header_is_three_keys(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("limits:\n  t: { by: token, allow: 1 per 60s }\n  u: { by: account, allow: 1 per 60s }\n"
                    "  x: { by: header.X-A, allow: 1 per 60s }\n  y: { by: header.X-B, allow: 1 per 60s }\n");
    struct facts facts[] = { { .token = "same" },
                             { .account = "same" },
                             { .header = "X-A", .value = "same" },
                             { .header = "X-B", .value = "same" } };
    static const char *const names[] = { "t", "u", "x", "y" };
    uint64_t hash[4];
    for (unsigned i = 0; i < 4; i++) {
        struct drossel_decision decision = ask(limiter, &facts[i]);
        assert_int_equal(decision.verdict, DROSSEL_ALLOW);
        assert_string_equal(decision.limit_name, names[i]);
        hash[i] = decision.subject_hash;
        for (unsigned other = 0; other < i; other++)
            assert_true(hash[i] != hash[other]);
    }
    drossel_close(limiter);
}

static void two_headers_with_one_value_are_two_keys(void **state)
{
    (void)state;
    struct inner inner =
        open_inner("limits:\n  x: { by: header.X-A, allow: 1 per 60s }\n"
                   "  y: { by: header.X-B, allow: 1 per 60s }\n  z: { by: [header.X-A], allow: 1 per 60s }\n");
    struct drossel_header headers[2] = { { DROSSEL_TEXT("X-A"), DROSSEL_TEXT("v") },
                                         { DROSSEL_TEXT("X-B"), DROSSEL_TEXT("v") } };
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    request.headers = headers;
    request.header_count = 2;
    struct limiter_explained x, y, z;
    limiter_explain(inner.limiter, &request, 0, &x);
    limiter_explain(inner.limiter, &request, 1, &y);
    limiter_explain(inner.limiter, &request, 2, &z);
    assert_true(x.key_hash != y.key_hash);
    assert_true(x.key_hash == z.key_hash);
    close_inner(&inner);
}

static void a_limit_does_not_apply_where_a_part_of_its_key_is_missing_or_empty(void **state)
{
    (void)state;
    static const struct {
        const char *by;
        struct facts facts;
        bool applies;
    } cases[] = {
        { "token", { .address = NULL }, false },
        { "token", { .token = "" }, false },
        { "account", { .token = "k" }, false },
        { "[token, address]", { .address = NULL }, false },
        { "[token, account]", { .token = "k" }, false },
        { "[token, account]", { .token = "k", .account = "a" }, true },
        { "header.X-Key", { .address = NULL }, false },
        { "header.X-Key", { .header = "X-Key", .value = "" }, false },
        { "header.X-Key", { .header = "X-Keys", .value = "v" }, false },
        { "header.X-Key", { .header = "X-Key", .value = "v" }, true },
        { "path", { .address = NULL }, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char policy[200];
        snprintf(policy, sizeof policy, "limits:\n  one: { by: %s, allow: 1 per 60s }\n", cases[i].by);
        struct drossel *limiter = open_policy(policy);
        (void)ask(limiter, &cases[i].facts);
        if ((ask(limiter, &cases[i].facts).verdict == DROSSEL_REFUSE) != cases[i].applies)
            fail_msg("case %zu, by %s", i, cases[i].by);
        drossel_close(limiter);
    }
}

static void an_empty_line_hides_no_header_behind_it(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("client: { token_from: [header.X-Token] }\n"
                                          "limits:\n  k: { by: header.X-Key, allow: 1 per 60s }\n"
                                          "  t: { by: token, allow: 1 per 60s }\n");
    for (unsigned which = 0; which < 2; which++) {
        struct drossel_text name = text_of(which == 0 ? "X-Key" : "X-Token");
        struct drossel_header headers[2] = { { name, { "", 0 } }, { name, DROSSEL_TEXT("v") } };
        struct drossel_request request = request_of("192.0.2.1", "/", 0);
        request.headers = headers;
        request.header_count = 2;
        assert_int_equal(admitted_of(limiter, &request, 5), 1);
    }
    drossel_close(limiter);
}

static void a_header_of_70000_bytes_is_a_key_to_its_last_byte(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  k: { by: header.X-Key, allow: 1 per 60s }\n");
    char *value = malloc(70001);
    memset(value, 'a', 70000);
    value[70000] = '\0';
    struct facts facts = { .header = "X-Key", .value = value };
    assert_int_equal(ask(limiter, &facts).verdict, DROSSEL_ALLOW);
    assert_int_equal(ask(limiter, &facts).verdict, DROSSEL_REFUSE);
    value[69999] = 'b';
    assert_int_equal(ask(limiter, &facts).verdict, DROSSEL_ALLOW);
    free(value);
    drossel_close(limiter);
}

static void the_client_is_recovered_into_the_key(void **state)
{
    (void)state;
    static const char policy[] = "client: { trusted: [10.0.0.0/8], address_from: X-Forwarded-For }\n"
                                 "limits:\n  a: { by: address, allow: 1 per 60s }\n";
    static const struct {
        const char *peer, *forwarded, *client;
        bool missing;
    } cases[] = {
        { "10.0.0.1", "192.0.2.1", "192.0.2.1", false },
        { "10.0.0.1", "6.6.6.6, 192.0.2.1", "192.0.2.1", false },
        { "10.0.0.1", "192.0.2.1, 10.1.1.1", "192.0.2.1", false },
        { "203.0.113.9", "192.0.2.1", "203.0.113.9", false },
        { "10.0.0.1", NULL, "10.0.0.1", true },
        { "10.0.0.1", "unknown", "10.0.0.1", true },
        { "10.0.0.1", "nonsense, 192.0.2.1", "192.0.2.1", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct drossel *limiter = open_policy(policy);
        struct drossel_header header = { DROSSEL_TEXT("X-Forwarded-For"), text_of(cases[i].forwarded) };
        struct drossel_request request = request_of(cases[i].client, "/", 0);
        struct drossel_address client = request.address;
        assert_int_equal(decide(limiter, &request).verdict, DROSSEL_ALLOW);
        request.address = (struct drossel_address){ .family = DROSSEL_NONE };
        request.peer = address_of(cases[i].peer);
        request.headers = &header;
        request.header_count = cases[i].forwarded != NULL;
        struct drossel_decision decision = decide(limiter, &request);
        if (memcmp(&decision.client, &client, sizeof client) != 0)
            fail_msg("case %zu", i);
        assert_int_equal(decision.verdict, DROSSEL_REFUSE);
        assert_int_equal(decision.missing_forward, cases[i].missing);
        drossel_close(limiter);
    }
}

static bool find_in_context(const struct drossel_request *request, struct drossel_text name, unsigned nth,
                            struct drossel_text *value)
{
    if (nth > 0 || name.size != 5 || memcmp(name.data, "x-key", 5) != 0)
        return false;
    *value = text_of(request->context);
    return true;
}

static void headers_may_come_through_a_callback(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  k: { by: header.X-Key, allow: 1 per 60s }\n");
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    char one[] = "one", two[] = "two";
    request.find_header = find_in_context;
    request.context = one;
    assert_int_equal(admitted_of(limiter, &request, 4), 1);
    request.context = two;
    assert_int_equal(admitted_of(limiter, &request, 4), 1);
    drossel_close(limiter);
}

static void overrides_give_named_keys_rates_of_their_own(void **state)
{
    (void)state;
    static const struct {
        const char *by, *overrides;
        struct facts facts;
        unsigned admitted;
    } cases[] = {
        { "address", "192.0.2.1: 5 per 60s", { .address = "192.0.2.1" }, 5 },
        { "address", "192.0.2.1: 5 per 60s", { .address = "192.0.2.2" }, 2 },
        { "address", "192.0.2.0/24: 5 per 60s, 192.0.2.7: 1 per 60s", { .address = "192.0.2.8" }, 5 },
        { "address", "192.0.2.0/24: 5 per 60s, 192.0.2.7: 1 per 60s", { .address = "192.0.2.7" }, 1 },
        { "address", "\"2001:db8::/32\": 5 per 60s", { .address = "2001:db8:9::1" }, 5 },
        { "address", "192.0.2.1: unlimited", { .address = "192.0.2.1" }, 20 },
        { "address", "192.0.2.1: [9 per 60s, 3 per 10s]", { .address = "192.0.2.1" }, 3 },
        { "token", "partner: 5 per 60s", { .token = "partner" }, 5 },
        { "token", "partner: 5 per 60s", { .token = "Partner" }, 2 },
        { "header.X-Key", "gold: unlimited", { .header = "X-Key", .value = "gold" }, 20 },
        { "header.X-Key", "gold: unlimited", { .header = "X-Key", .value = "tin" }, 2 },
        { "[token, address]", "partner: 5 per 60s", { .token = "partner" }, 5 },
        { "[token, address]", "192.0.2.9: 5 per 60s", { .address = "192.0.2.9", .token = "x" }, 5 },
        /* a token that reads like an address is no address */
        { "[token, address]", "192.0.2.9: unlimited", { .address = "192.0.2.1", .token = "192.0.2.9" }, 2 },
        { "[address, account]",
          "192.0.2.0/24: unlimited",
          { .address = "198.51.100.1", .account = "192.0.2.0/24" },
          2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char policy[300];
        snprintf(policy, sizeof policy, "limits:\n  one: { by: %s, allow: 2 per 60s, overrides: { %s } }\n",
                 cases[i].by, cases[i].overrides);
        struct drossel *limiter = open_policy(policy);
        unsigned admitted = 0;
        for (unsigned n = 0; n < 20; n++)
            admitted += ask(limiter, &cases[i].facts).verdict == DROSSEL_ALLOW;
        if (admitted != cases[i].admitted)
            fail_msg("case %zu: %u admitted, not %u", i, admitted, cases[i].admitted);
        drossel_close(limiter);
    }
}

/* ---- written ---- */

static size_t format(struct inner *inner, const struct drossel_request *request, char *out, size_t cap)
{
    struct drossel_decision decision;
    assert_int_equal(limiter_check(inner->limiter, request, &decision), DROSSEL_OK);
    return limiter_key_format(inner->limiter, request, &decision, out, cap);
}

static void secrets_are_masked_where_keys_are_written(void **state)
{
    (void)state;
    static const struct {
        const char *by, *address, *begin;
        size_t size;
    } cases[] = {
        { "address", "192.0.2.1", "192.0.2.1", 9 }, { "address", "2001:db8::1:2:3:4", "2001:db8::/64", 13 },
        { "token", "192.0.2.1", "#", 9 },           { "account", "192.0.2.1", "#", 9 },
        { "header.X-Key", "192.0.2.1", "#", 9 },    { "site", "192.0.2.1", "site", 4 },
        { "path", "192.0.2.1", "/a", 2 },           { "[token, address]", "192.0.2.1", "#", 19 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char policy[200], key[100];
        snprintf(policy, sizeof policy, "limits:\n  one: { by: %s, allow: 1 per 60s }\n", cases[i].by);
        struct inner inner = open_inner(policy);
        struct drossel_header header = { DROSSEL_TEXT("X-Key"), DROSSEL_TEXT("secret-of-header") };
        struct drossel_request request = request_of(cases[i].address, "/a", 0);
        request.token = text_of("secret-token");
        request.account = text_of("secret@account.example");
        request.headers = &header;
        request.header_count = 1;
        size_t size = format(&inner, &request, key, sizeof key);
        assert_int_equal(size, cases[i].size);
        assert_int_equal(size, strlen(key));
        assert_memory_equal(key, cases[i].begin, strlen(cases[i].begin));
        assert_null(strstr(key, "secret"));
        struct table_entry entry;
        uint64_t slot = 0;
        assert_true(table_next(inner.table, &slot, &entry));
        assert_string_equal(entry.name, key); /* the live view tells no more than the log */
        close_inner(&inner);
    }
}

static void no_key_can_forge_a_line_of_a_log(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  one: { by: [path, address], allow: 1 per 60s }\n");
    static const char path[] = "/a b\r\n2026/01/01 [error] \x1b[31m\x7f\x80\xff\"";
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    request.path = (struct drossel_text){ path, sizeof path }; /* with its NUL */
    char key[200];
    size_t size = format(&inner, &request, key, sizeof key);
    assert_int_equal(size, strlen(key));
    for (size_t i = 0; i < size; i++)
        assert_true(key[i] >= ' ' && key[i] < 127);
    assert_ptr_equal(strchr(key, ' '), strrchr(key, ' ')); /* only between the parts */
    close_inner(&inner);
}

static void a_key_is_cut_to_the_callers_buffer(void **state)
{
    (void)state;
    struct inner inner =
        open_inner("client: { ipv6_prefix: 128 }\nlimits:\n"
                   "  one: { by: [path, address], allow: 1 per 60s }\n  two: { by: address, allow: 1 per 99s }\n");
    struct drossel_request request = request_of("2001:db8:1111:2222:3333:4444:5555:6666", "/long/path", 0);
    struct drossel_decision decision;
    assert_int_equal(limiter_check(inner.limiter, &request, &decision), DROSSEL_OK);
    for (unsigned limit = 0; limit < 3; limit++) {
        decision.limit = limit < 2 ? limit : UINT32_MAX; /* the last as after a ban */
        char whole[128];
        size_t whole_size = limiter_key_format(inner.limiter, &request, &decision, whole, sizeof whole);
        for (size_t cap = 0; cap < 60; cap++) {
            char key[64];
            memset(key, 'x', sizeof key);
            size_t size = limiter_key_format(inner.limiter, &request, &decision, key, cap);
            assert_true(cap == 0 ? size == 0 : size < cap);
            assert_true(cap == 0 || key[size] == '\0');
            assert_int_equal(key[cap], 'x');
            assert_memory_equal(key, whole, size);
            assert_true(size == whole_size || size + 2 >= cap); /* no more is lost than there is no room for */
        }
    }
    close_inner(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_one_exactly_where_all_their_parts_are),
        cmocka_unit_test(one_text_as_token_account_and_header_is_three_keys),
        cmocka_unit_test(two_headers_with_one_value_are_two_keys),
        cmocka_unit_test(a_limit_does_not_apply_where_a_part_of_its_key_is_missing_or_empty),
        cmocka_unit_test(an_empty_line_hides_no_header_behind_it),
        cmocka_unit_test(a_header_of_70000_bytes_is_a_key_to_its_last_byte),
        cmocka_unit_test(the_client_is_recovered_into_the_key),
        cmocka_unit_test(headers_may_come_through_a_callback),
        cmocka_unit_test(overrides_give_named_keys_rates_of_their_own),
        cmocka_unit_test(secrets_are_masked_where_keys_are_written),
        cmocka_unit_test(no_key_can_forge_a_line_of_a_log),
        cmocka_unit_test(a_key_is_cut_to_the_callers_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
