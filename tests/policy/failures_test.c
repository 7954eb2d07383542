/* Limits that count failures, the answers that are such, the bodies that name accounts, and the secret of the hashes. */
#include "opened.h"

#include <sys/stat.h>

#define S UINT64_C(1000000000)
#define HEAD "version: 1\n"
#define ONE(keys) HEAD "limits: { a: { by: address, " keys " } }\n"

static void a_limit_of_failures_is_held_for_two_seconds_unless_it_says_otherwise(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        bool failures, reset;
        uint64_t hold_ns;
    } cases[] = {
        { ONE("allow: 5 failures per 15m"), true, false, 2 * S },
        { ONE("allow: [5 failures per 15m, 20 failures per 1d]"), true, false, 2 * S },
        { ONE("allow: 5 failures per 15m, hold: 0"), true, false, 0 },
        { ONE("allow: 5 failures per 15m, hold: 0s"), true, false, 0 },
        { ONE("allow: 5 failures per 15m, hold: 1500ms"), true, false, S * 3 / 2 },
        { ONE("allow: 5 failures per 15m, reset_on: success"), true, true, 2 * S },
        { ONE("allow: 5 failures per 15m, cost: 2"), true, false, 2 * S },
        { ONE("allow: 5 per 15m"), false, false, 0 },
        { ONE("allow: 5 requests per 15m"), false, false, 0 },
        { ONE("allow: 5 cost per 15m"), false, false, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy *policy = open_good(cases[i].yaml);
        const struct policy_limit *limit = &policy->limits[0];
        assert_int_equal(limit->failures, cases[i].failures);
        assert_int_equal(limit->reset_on_success, cases[i].reset);
        assert_int_equal(limit->hold_ns, cases[i].hold_ns);
        assert_int_equal(policy->has_failures, cases[i].failures);
        for (uint32_t k = 0; k < policy->rate_count; k++)
            assert_int_equal(policy->rates[k].engine.spec.flags, cases[i].failures ? ENGINE_REFUNDABLE : 0);
        policy_close(policy);
    }
}

static void failures_are_counted_by_every_algorithm_and_in_overrides(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint16_t flags;
    } cases[] = {
        { "", ENGINE_REFUNDABLE },
        { ", algorithm: fixed, from: first", ENGINE_REFUNDABLE | ENGINE_FROM_FIRST },
        { ", algorithm: bucket, burst: 9", ENGINE_REFUNDABLE },
        { ", algorithm: leaky, burst: 9", ENGINE_REFUNDABLE },
        { ", ban: 1h, extend: true, count_refused: true",
          ENGINE_REFUNDABLE | ENGINE_BAN | ENGINE_EXTEND | ENGINE_COUNT_REFUSED },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[300];
        snprintf(yaml, sizeof(yaml),
                 ONE("allow: 5 failures per 15m, overrides: { 10.0.0.1: [50 failures per 15m, 90 failures per 1d], "
                     "10.0.0.2: unlimited }%s"),
                 cases[i].keys);
        struct policy *policy = open_good(yaml);
        assert_int_equal(policy->rate_count, 3);
        for (uint32_t k = 0; k < policy->rate_count; k++)
            assert_int_equal(policy->rates[k].engine.spec.flags, cases[i].flags);
        policy_close(policy);
    }
}

static void a_body_is_needed_where_the_key_has_an_account_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *from, *by;
        bool needs_body;
    } cases[] = {
        { "form.email", "account", true },
        { "json.user.email", "[account, address]", true },
        { "[basic, form.email]", "[address, account]", true },
        { "[form.email, basic]", "address", false },
        { "[basic, header.X-User, cookie.user]", "account", false },
        { "json.email", "[token, path]", false },
        { "json.email", "site", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[300];
        snprintf(yaml, sizeof(yaml), HEAD "client: { account_from: %s }\nlimits: { a: { by: %s, allow: 1 per 1s } }\n",
                 cases[i].from, cases[i].by);
        struct policy *policy = open_good(yaml);
        assert_int_equal(policy->limits[0].needs_body, cases[i].needs_body);
        policy_close(policy);
    }
}

static void sources_in_bodies_keep_their_names(void **state)
{
    (void)state;
    struct policy *policy = open_good(HEAD "client: { account_from: [\"form.User[mail]\", json.user.Mail] }\n");
    assert_int_equal(policy->account_from_count, 2);
    assert_int_equal(policy->account_from[0].kind, POLICY_FROM_FORM);
    assert_string_equal(policy->account_from[0].name.data, "User[mail]");
    assert_int_equal(policy->account_from[1].kind, POLICY_FROM_JSON);
    assert_string_equal(policy->account_from[1].name.data, "user.Mail");
    policy_close(policy);
}

static void the_cap_of_a_body_is_taken_as_it_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint64_t bytes;
    } cases[] = { { "", 65536 },
                  { ", body_cap: 1", 1 },
                  { ", body_cap: 5000", 5000 },
                  { ", body_cap: 64k", 64000 },
                  { ", body_cap: 16M", 16000000 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[200];
        snprintf(yaml, sizeof(yaml), HEAD "client: { account_from: form.email%s }\n", cases[i].keys);
        struct policy *policy = open_good(yaml);
        assert_int_equal(policy->body_cap, cases[i].bytes);
        policy_close(policy);
    }
}

static void a_challenged_client_is_sent_where_the_policy_says(void **state)
{
    (void)state;
    static const char *const places[] = { "/verify", "/verify?from=login#x", "https://id.example/", "http://a" };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char yaml[200];
        snprintf(yaml, sizeof(yaml), ONE("allow: 5 per 15m, action: challenge, challenge_to: \"%s\""), places[i]);
        struct policy *policy = open_good(yaml);
        assert_string_equal(policy->limits[0].challenge_to, places[i]);
        policy_close(policy);
    }
    struct policy *policy = open_good(ONE("allow: 5 per 15m, action: challenge"));
    assert_null(policy->limits[0].challenge_to);
    policy_close(policy);
}

/* ---- outcomes ---- */

/* The statuses of an outcome as `400 401`. */
static const char *statuses_of(const struct policy_outcome *outcome)
{
    static char text[5000];
    size_t size = 0;
    text[0] = '\0';
    for (unsigned status = 0; status < 1024; status++)
        if (outcome->status[status / 64] >> (status % 64) & 1)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%u", size > 0 ? " " : "", status);
    return text;
}

static void outcomes_are_told_by_statuses(void **state)
{
    (void)state;
    static const struct {
        const char *outcomes, *failure, *success;
    } cases[] = {
        { "{}", "400 401 403 422", "200 201 204 302 303" },
        { "", "400 401 403 422", "200 201 204 302 303" },
        { "{ failure: { status: 401 } }", "401", "200 201 204 302 303" },
        { "{ failure: { status: [599, 100] } }", "100 599", "200 201 204 302 303" },
        { "{ failure: { status: [200, 401] } }", "200 401", "201 204 302 303" },
        { "{ success: { status: [200, 403] } }", "400 401 422", "200 403" },
        { "{ failure: { status: 401 }, success: { status: 400 } }", "401", "400" },
        { "{ failure: { header.X-Outcome: failure } }", "", "200 201 204 302 303" },
        { "{ success: { header.X-Outcome: success } }", "400 401 403 422", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[300];
        snprintf(yaml, sizeof(yaml), ONE("allow: 5 failures per 15m") "outcomes: %s\n", cases[i].outcomes);
        struct policy *policy = open_good(yaml);
        assert_string_equal(statuses_of(&policy->failure), cases[i].failure);
        assert_string_equal(statuses_of(&policy->success), cases[i].success);
        policy_close(policy);
    }
}

static void outcomes_are_told_by_a_header(void **state)
{
    (void)state;
    struct policy *policy =
        open_good(ONE("allow: 5 failures per 15m") "outcomes: { failure: { header.X-Drossel-Outcome: Failure } }\n");
    assert_string_equal(policy->failure.header.data, "x-drossel-outcome");
    assert_int_equal(policy->failure.header.size, strlen("x-drossel-outcome"));
    assert_string_equal(policy->failure.value.data, "Failure");
    assert_int_equal(policy->failure.value.size, strlen("Failure"));
    assert_int_equal(policy->success.header.size, 0);
    policy_close(policy);
    policy =
        open_good(ONE("allow: 5 failures per 15m") "outcomes: { failure: { header.X-O: bad }, success: { header.X-O: "
                                                   "good } }\n");
    assert_string_equal(policy->failure.value.data, "bad");
    assert_string_equal(policy->success.value.data, "good");
    policy_close(policy);
}

/* ---- the secret ---- */

static void the_secret_is_what_the_file_holds_but_for_one_line_end(void **state)
{
    (void)state;
    static const struct {
        size_t size; /* of the file, all of them `x` but the last */
        const char *end;
        size_t secret; /* 0: refused */
    } cases[] = { { 16, "", 16 },     { 16, "\n", 16 },    { 15, "\n", 0 },    { 0, "", 0 },         { 0, "\n", 0 },
                  { 16, "\n\n", 17 }, { 16, "\r\n", 17 },  { 4096, "", 4096 }, { 4096, "\n", 4096 }, { 4097, "", 0 },
                  { 4097, "\n", 0 },  { 4096, "\n\n", 0 }, { 5000, "", 0 } };
    char bytes[5002];
    memset(bytes, 'x', sizeof(bytes));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size = cases[i].size + strlen(cases[i].end);
        memcpy(bytes + cases[i].size, cases[i].end, strlen(cases[i].end));
        write_bytes("secret", bytes, size);
        assert_int_equal(chmod("secret", 0640), 0);
        struct opened opened = open_text(HEAD "secret_file: secret\nlimits: { a: { by: site, allow: 1 per 1s } }\n");
        assert_true((opened.policy != NULL) == (cases[i].secret > 0));
        assert_null(opened.warnings);
        if (opened.policy != NULL) {
            assert_int_equal(opened.policy->secret.size, cases[i].secret);
            assert_memory_equal(opened.policy->secret.data, bytes, cases[i].secret);
        }
        memset(bytes, 'x', sizeof(bytes));
        close_opened(&opened);
    }
}

static void a_secret_may_have_any_bytes(void **state)
{
    (void)state;
    static const char bytes[20] = "\xEF\xBB\xBF\0\n\r \xFF";
    write_bytes("secret", bytes, sizeof(bytes));
    struct policy *policy = open_good(HEAD "secret_file: secret\n");
    assert_int_equal(policy->secret.size, sizeof(bytes));
    assert_memory_equal(policy->secret.data, bytes, sizeof(bytes));
    policy_close(policy);
    policy = open_good(HEAD);
    assert_int_equal(policy->secret.size, 0);
    policy_close(policy);
}

static void a_secret_is_found_beside_its_policy(void **state)
{
    char path[100];
    write_text("secret", "0123456789abcdef");
    write_text("p.yaml", HEAD "secret_file: ./secret\n");
    snprintf(path, sizeof(path), "%s/p.yaml", (const char *)*state);
    assert_int_equal(chdir("/"), 0);
    struct opened opened = open_file(path);
    assert_int_equal(chdir(*state), 0);
    assert_null(opened.mistakes);
    assert_int_equal(opened.policy->secret.size, 16);
    close_opened(&opened);
}

static void a_secret_that_everybody_can_read_is_warned_about(void **state)
{
    (void)state;
    write_text("secret", "0123456789abcdef");
    assert_int_equal(chmod("secret", 0644), 0);
    struct opened opened = open_text(HEAD "secret_file: secret\nlimits: { a: { by: site, allow: 1 per 1s } }\n");
    assert_string_equal(opened.warnings,
                        "p.yaml:2:14: warning: secret file \"secret\" can be read by everybody on this "
                        "machine; chmod o-r it\n");
    close_opened(&opened);
}

static void a_secret_of_too_few_bytes_is_named_and_not_shown(void **state)
{
    (void)state;
    write_text("secret", "hunter2\n");
    struct opened opened = open_text(HEAD "secret_file: secret\n");
    assert_string_equal(opened.mistakes,
                        "p.yaml:2:14: secret file \"secret\" has too few bytes; write 16 to 4096 bytes, "
                        "as `head -c 32 /dev/urandom` does\n");
    close_opened(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_failures_is_held_for_two_seconds_unless_it_says_otherwise),
        cmocka_unit_test(failures_are_counted_by_every_algorithm_and_in_overrides),
        cmocka_unit_test(a_body_is_needed_where_the_key_has_an_account_of_it),
        cmocka_unit_test(sources_in_bodies_keep_their_names),
        cmocka_unit_test(the_cap_of_a_body_is_taken_as_it_is_written),
        cmocka_unit_test(a_challenged_client_is_sent_where_the_policy_says),
        cmocka_unit_test(outcomes_are_told_by_statuses),
        cmocka_unit_test(outcomes_are_told_by_a_header),
        cmocka_unit_test(the_secret_is_what_the_file_holds_but_for_one_line_end),
        cmocka_unit_test(a_secret_may_have_any_bytes),
        cmocka_unit_test(a_secret_is_found_beside_its_policy),
        cmocka_unit_test(a_secret_that_everybody_can_read_is_warned_about),
        cmocka_unit_test(a_secret_of_too_few_bytes_is_named_and_not_shown),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
