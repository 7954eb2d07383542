/* What a policy says arrives in the compiled form, with the defaults for what it leaves out. */
#include "opened.h"

#define S UINT64_C(1000000000)
#define HOUR (3600 * S)
#define ONE(keys) "version: 1\nlimits: { a: { by: address, " keys " } }\n"

static void what_is_left_out_has_its_default(void **state)
{
    (void)state;
    struct policy *policy = open_good(ONE("allow: 50 per 10s"));
    assert_string_equal(policy->path, "p.yaml");
    assert_null(policy->table_path);
    assert_int_equal(policy->table_keys, 1 << 20);
    assert_true(policy->table_names);
    assert_null(policy->client.trusted);
    assert_int_equal(policy->client.source, CLIENT_PEER);
    assert_true(policy->client.recursive);
    assert_int_equal(policy->ipv6_prefix, 64);
    assert_int_equal(policy->answer.status, 429);
    assert_int_equal(policy->answer.headers, HTTP_RETRY_AFTER | HTTP_DRAFT_11);
    assert_int_equal(policy->answer.jitter_ppm, 100000);
    assert_int_equal(policy->class_count, 0);
    assert_int_equal(policy->limit_count, 1);
    const struct policy_limit *limit = &policy->limits[0];
    assert_string_equal(limit->name, "a");
    assert_int_equal(limit->line, 2);
    assert_int_equal(limit->column, 11);
    assert_int_equal(limit->doors, UINT32_MAX);
    assert_int_equal(limit->cost, 1);
    assert_int_equal(limit->on_outage, POLICY_LOCAL);
    assert_int_equal(limit->deadline_ns, S / 50);
    assert_ptr_equal(limit->answer, &policy->answer);
    assert_false(policy->has_ban);
    const struct engine_spec *spec = &policy->rates[0].engine.spec;
    assert_int_equal(spec->count, 50);
    assert_int_equal(spec->period_ns, 10 * S);
    assert_int_equal(spec->algorithm, ENGINE_SLIDING);
    assert_int_equal(spec->factor_milli, 1000);
    assert_int_equal(spec->forgive_ns, 24 * HOUR);
    assert_int_equal(spec->flags, 0);
    policy_close(policy);
}

static void sections_say_what_they_say(void **state)
{
    (void)state;
    struct policy *policy = open_good(
        "version: 1\ntable: { path: /dev/shm/x, keys: 100k, names: false, reveal: true }\n"
        "client: { trusted: [127.0.0.1, unix], address_from: CF-Connecting-IP, require_trusted: true, ipv6_prefix: "
        "56,\n"
        "  account_from: [basic, cookie.User], token_from: [header.X-Api-Key, bearer] }\n"
        "on_outage: open\ndeadline: 5ms\n"
        "answer: { status: 503, body: none, headers: x-ratelimit, reveal: everyone, jitter: 0.5%, date: true, json: "
        "'{}' }\n"
        "limits: { a: { by: address, allow: 1 per 1s, on_outage: closed, answer: { status: 418, headers: [] } },\n"
        "  b: { by: address, allow: 2 per 1s, deadline: 7ms } }\n");
    assert_string_equal(policy->table_path, "/dev/shm/x");
    assert_int_equal(policy->table_keys, 131072);
    assert_false(policy->table_names);
    assert_true(policy->table_reveal);
    struct drossel_address unix_peer = { DROSSEL_UNIX, { 0 } };
    assert_true(netset_has(policy->client.trusted, &unix_peer));
    assert_int_equal(netset_size(policy->client.trusted), 2);
    assert_int_equal(policy->client.source, CLIENT_HEADER);
    assert_string_equal(policy->client.header.data, "cf-connecting-ip");
    assert_true(policy->require_trusted);
    assert_int_equal(policy->ipv6_prefix, 56);
    assert_int_equal(policy->account_from_count, 2);
    assert_int_equal(policy->account_from[0].kind, POLICY_FROM_BASIC);
    assert_int_equal(policy->account_from[1].kind, POLICY_FROM_COOKIE);
    assert_string_equal(policy->account_from[1].name.data, "User");
    assert_string_equal(policy->token_from[0].name.data, "x-api-key");
    assert_int_equal(policy->token_from[1].kind, POLICY_FROM_BEARER);
    assert_int_equal(policy->answer.status, 503);
    assert_int_equal(policy->answer.body, HTTP_BODY_NONE);
    assert_int_equal(policy->answer.headers, HTTP_X_RATELIMIT);
    assert_int_equal(policy->answer.reveal, HTTP_REVEAL_EVERYONE);
    assert_int_equal(policy->answer.jitter_ppm, 5000);
    assert_true(policy->answer.date);
    assert_int_equal(policy->limits[0].on_outage, POLICY_CLOSED);
    assert_int_equal(policy->limits[0].answer->status, 418);
    assert_int_equal(policy->limits[0].answer->headers, 0);
    assert_int_equal(policy->limits[0].answer->jitter_ppm, 5000);
    assert_int_equal(policy->limits[1].on_outage, POLICY_OPEN);
    assert_int_equal(policy->limits[1].deadline_ns, 7 * S / 1000);
    assert_int_equal(policy->limits[1].answer->status, 503);
    policy_close(policy);
}

static void forwarding_headers_have_their_own_walks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum client_source source;
    } cases[] = { { "x-forwarded-for", CLIENT_X_FORWARDED_FOR },
                  { "Forwarded", CLIENT_FORWARDED },
                  { "proxy_protocol", CLIENT_PROXY_PROTOCOL },
                  { "X-Real-IP", CLIENT_HEADER } };
    for (size_t i = 0; i < 4; i++) {
        char text[200];
        snprintf(text, sizeof(text), "version: 1\nclient: { trusted: unix, address_from: %s }\n", cases[i].name);
        struct policy *policy = open_good(text);
        assert_int_equal(policy->client.source, cases[i].source);
        policy_close(policy);
    }
}

struct spec_case {
    const char *yaml;
    struct engine_spec spec;
};

#define DAY (24 * HOUR)
static const struct spec_case spec_cases[] = {
    { ONE("allow: 0 per 1s"), { .count = 0, .period_ns = S } },
    { ONE("allow: 100 cost per 1m"), { .count = 100, .period_ns = 60 * S } },
    { ONE("allow: 7 per 1s, algorithm: bucket"),
      { .count = 7, .period_ns = S, .burst = 7, .algorithm = ENGINE_BUCKET } },
    { ONE("allow: 7 per 1s, algorithm: bucket, burst: 20"),
      { .count = 7, .period_ns = S, .burst = 20, .algorithm = ENGINE_BUCKET } },
    { ONE("allow: 7 per 1s, algorithm: leaky"),
      { .count = 7, .period_ns = S, .undelayed = UINT64_MAX, .algorithm = ENGINE_LEAKY } },
    { ONE("allow: 7 per 1s, algorithm: leaky, burst: 9, delay: 3"),
      { .count = 7, .period_ns = S, .burst = 9, .undelayed = 3, .algorithm = ENGINE_LEAKY } },
    { ONE("allow: 7 per 1s, algorithm: leaky, burst: 9, delay: all, action: delay"),
      { .count = 7, .period_ns = S, .burst = 9, .undelayed = UINT64_MAX, .algorithm = ENGINE_LEAKY } },
    { ONE("allow: 7 per 1s, algorithm: leaky, burst: 9, action: delay"),
      { .count = 7, .period_ns = S, .burst = 9, .undelayed = 0, .algorithm = ENGINE_LEAKY } },
    { ONE("allow: 7 per 1s, action: delay"), { .count = 7, .period_ns = S, .flags = ENGINE_QUEUE } },
    { ONE("allow: 7 per 1s, algorithm: fixed"), { .count = 7, .period_ns = S, .algorithm = ENGINE_FIXED } },
    { ONE("allow: 7 per 1s, algorithm: fixed, from: first, count_refused: true"),
      { .count = 7, .period_ns = S, .algorithm = ENGINE_FIXED, .flags = ENGINE_FROM_FIRST | ENGINE_COUNT_REFUSED } },
    { ONE("allow: 7 per 1s, block: 15m"),
      { .count = 7, .period_ns = S, .block_ns = HOUR / 4, .block_max_ns = HOUR / 4 } },
    { ONE("allow: 7 per 1s, ban: 10m, extend: true"),
      { .count = 7,
        .period_ns = S,
        .block_ns = HOUR / 6,
        .block_max_ns = HOUR / 6,
        .flags = ENGINE_BAN | ENGINE_EXTEND } },
    { ONE("allow: 7 per 1s, ban: { for: 10m, factor: 1.5 }"),
      { .count = 7,
        .period_ns = S,
        .block_ns = HOUR / 6,
        .block_max_ns = DAY,
        .forgive_ns = DAY,
        .factor_milli = 1500,
        .flags = ENGINE_BAN } },
    { ONE("allow: 7 per 1s, block: { for: 2d, factor: 2 }"),
      { .count = 7,
        .period_ns = S,
        .block_ns = 2 * DAY,
        .block_max_ns = 2 * DAY,
        .forgive_ns = 2 * DAY,
        .factor_milli = 2000 } },
    { ONE("allow: 7 per 1s, block: { for: 15m, factor: 2, max: 1h, forgive: 7d }"),
      { .count = 7,
        .period_ns = S,
        .block_ns = HOUR / 4,
        .block_max_ns = HOUR,
        .forgive_ns = 7 * DAY,
        .factor_milli = 2000 } },
    { ONE("allow: 7 per 1s, block: 10m, ban: { for: 10m }"),
      { .count = 7, .period_ns = S, .block_ns = HOUR / 6, .block_max_ns = HOUR / 6, .flags = ENGINE_BAN } },
};

static void keys_of_a_limit_become_the_engine_s_spec(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(spec_cases) / sizeof(spec_cases[0]); i++) {
        struct policy *policy = open_good(spec_cases[i].yaml);
        struct engine_spec expected = spec_cases[i].spec;
        if (expected.factor_milli == 0)
            expected.factor_milli = 1000;
        if (expected.forgive_ns == 0)
            expected.forgive_ns = DAY;
        assert_memory_equal(&policy->rates[0].engine.spec, &expected, sizeof(expected));
        assert_int_equal(policy->has_ban, (expected.flags & ENGINE_BAN) != 0);
        policy_close(policy);
    }
}

static void several_rates_have_names_and_seeds_of_their_own(void **state)
{
    (void)state;
    struct policy *policy = open_good("version: 1\nlimits:\n  one: { by: address, allow: 1 per 1s }\n"
                                      "  two: { by: address, allow: [10 per 10s, 120 per 10m] }\n"
                                      "  same: { by: address, allow: [10 per 60s, 9 per 1m, 99 per 1d] }\n");
    static const char *const names[] = { "one", "two-10s", "two-10m", "same-1m-10", "same-1m-9", "same-1d" };
    static const uint32_t limits[] = { 0, 1, 1, 2, 2, 2 };
    assert_int_equal(policy->rate_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_string_equal(policy->rates[i].name, names[i]);
        assert_int_equal(policy->rates[i].limit, limits[i]);
        for (uint32_t k = 0; k < i; k++)
            assert_true(policy->rates[i].seed != policy->rates[k].seed);
    }
    assert_int_equal(policy->limits[2].first_rate, 3);
    assert_int_equal(policy->limits[2].rate_count, 3);
    struct policy *changed = open_good("version: 1\nlimits:\n  two: { by: site, allow: [11 per 20s, 120 per 1h] }\n");
    assert_true(changed->rates[0].seed == policy->rates[1].seed);
    assert_true(changed->rates[1].seed == policy->rates[2].seed);
    policy_close(changed);
    policy_close(policy);
}

static void equal_keys_are_kept_once_in_whatever_order(void **state)
{
    (void)state;
    struct policy *policy = open_good(
        "version: 1\nclient: { token_from: bearer, account_from: basic }\nlimits:\n"
        "  a: { by: [address, token], allow: 1 per 1s }\n  b: { by: [token, address], allow: 1 per 1s }\n"
        "  c: { by: address, allow: 1 per 1s }\n  d: { by: [header.X-B, path, account, header.X-A], allow: 1 per 1s }\n"
        "  e: { by: site, allow: 1 per 1s }\n  f: { by: [address], allow: 1 per 1s }\n");
    static const char *const texts[] = { "token+address", "address", "account+header.x-a+header.x-b+path", "site" };
    static const uint32_t subjects[] = { 0, 0, 1, 2, 3, 1 };
    assert_int_equal(policy->subject_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(policy->subjects[i].text.data, texts[i]);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(policy->limits[i].subject, subjects[i]);
    policy_close(policy);
}

static void doors_are_bits(void **state)
{
    (void)state;
    struct policy *policy = open_good(ONE("allow: 1 per 1s, only: [nginx, forward-auth]"));
    assert_int_equal(policy->limits[0].doors, 1U << DROSSEL_DOOR_NGINX | 1U << DROSSEL_DOOR_FORWARD_AUTH);
    policy_close(policy);
}

static void a_rate_is_a_number_or_a_thousand_of_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t count;
    } cases[] = { { "0 per 1s", 0 },
                  { "007 per 1s", 7 },
                  { "0k per 1s", 0 },
                  { "1k per 1s", 1000 },
                  { "10M per 1s", 10000000 },
                  { "100M per 1s", 100000000 },
                  { "60k requests per 1h", 60000 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[100];
        snprintf(text, sizeof(text), ONE("allow: %s"), cases[i].text);
        struct policy *policy = open_good(text);
        assert_true(policy->rates[0].engine.spec.count == cases[i].count);
        policy_close(policy);
    }
}

static void sizes_are_rounded_up_to_a_power_of_two(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t keys;
    } cases[] = { { "1", 64 },
                  { "64", 64 },
                  { "65", 128 },
                  { "1k", 1024 },
                  { "1M", 1048576 },
                  { "1G", UINT64_C(1) << 30 },
                  { "4G", UINT64_C(1) << 32 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[100];
        snprintf(text, sizeof(text), "version: 1\ntable: { keys: %s }\n", cases[i].text);
        struct policy *policy = open_good(text);
        assert_true(policy->table_keys == cases[i].keys);
        policy_close(policy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(sections_say_what_they_say),
        cmocka_unit_test(forwarding_headers_have_their_own_walks),
        cmocka_unit_test(keys_of_a_limit_become_the_engine_s_spec),
        cmocka_unit_test(several_rates_have_names_and_seeds_of_their_own),
        cmocka_unit_test(equal_keys_are_kept_once_in_whatever_order),
        cmocka_unit_test(doors_are_bits),
        cmocka_unit_test(a_rate_is_a_number_or_a_thousand_of_them),
        cmocka_unit_test(sizes_are_rounded_up_to_a_power_of_two),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
