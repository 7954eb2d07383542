/* The status as JSON. */
#include "status_test_support.h"

#include <jansson.h>

static json_t *read_json(const struct inner *inner, struct told *told)
{
    json_error_t error;
    json_t *root = json_loads(tell(inner, status_json, told), JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        fail_msg("%s at %d in %s", error.text, error.position, told->text);
    return root;
}

/* The number at a path such as `table.evicted.live`, or of the limit of that number `limits.0.count`. */
static double number_at(const json_t *value, const char *path)
{
    char part[64];
    for (const char *at = path; *at != '\0';) {
        size_t size = strcspn(at, ".");
        snprintf(part, sizeof part, "%.*s", (int)size, at);
        value = json_is_array(value) ? json_array_get(value, (size_t)atoi(part)) : json_object_get(value, part);
        if (value == NULL)
            fail_msg("no %s", path);
        at += size + (at[size] == '.');
    }
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void numbers_stand_where_they_belong(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        double number;
    } cases[] = {
        { "time", 1800000000.05 },
        { "policy.loaded", 1799999999 },
        { "policy.warnings", 2 },
        { "store_errors", 3 },
        { "table.slots", 4096 + TABLE_NEIGHBOURS - 1 },
        { "table.looked_at", 4096 + TABLE_NEIGHBOURS - 1 },
        { "table.used", 3 },
        { "table.live", 3 },
        { "table.full", 2 },
        { "table.blocked", 1 },
        { "table.inserted", 3 },
        { "table.evicted.blocked", 0 },
        { "limits.0.count", 4 },
        { "limits.0.window", 0.25 },
        { "limits.0.block", 90 },
        { "limits.0.verdicts.allow", 4 },
        { "limits.0.verdicts.refuse", 3 },
        { "limits.0.verdicts.blocks", 1 },
        { "limits.0.verdicts.by_block", 2 },
        { "limits.0.dry_run_verdicts.refuse", 0 },
        { "limits.1.count", 3 },
        { "limits.2.count", 5 },
        { "limits.2.window", 600 },
        { "limits.1.verdicts.refuse", 0 },
        { "limits.1.dry_run_verdicts.allow", 3 },
        { "limits.1.dry_run_verdicts.refuse", 1 },
        { "limits.2.dry_run_verdicts.refuse", 0 },
        { "decisions.count", 3 },
        { "decisions.seconds", 0.0000031 },
        { "decisions.buckets.0.le", 0.000000002 },
        { "decisions.buckets.0.count", 1 },
        { "decisions.buckets.9.count", 1 },
        { "decisions.buckets.11.le", 0.000004096 },
        { "decisions.buckets.11.count", 1 },
        { "decisions.buckets.10.count", 0 },
        { "requests.refuse", 7 },
        { "dry_run_requests.drop", 1 },
        { "banned", 1 },
    };
    struct told told = { 0 };
    struct inner inner =
        open_inner("classes: { a: { path: /a } }\n"
                   "limits:\n  quick: { for: a, by: address, allow: 4 per 250ms, block: 90s }\n"
                   "  tried: { for: not a, by: address, allow: [3 per 10s, 5 per 10m], dry_run: true }\n");
    ask_times(&inner, "/a", 7);
    ask_times(&inner, "/b", 4);
    table_stats_time(inner.table, 0);
    table_stats_time(inner.table, 1000);
    table_stats_time(inner.table, 2100);
    for (unsigned i = 0; i < 7; i++)
        table_stats_count(inner.table, TABLE_LIMIT_REQUEST, TABLE_REFUSED, false);
    table_stats_count(inner.table, TABLE_LIMIT_REQUEST, TABLE_DROPPED, true);
    table_stats_count(inner.table, TABLE_LIMIT_BAN, TABLE_REFUSED, false);
    json_t *root = read_json(&inner, &told);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double number = number_at(root, cases[i].path);
        if (number != cases[i].number)
            print_error("%s is %.12g, not %.12g\n", cases[i].path, number, cases[i].number);
        assert_true(number == cases[i].number);
    }
    json_decref(root);
    close_inner(&inner);
}

static void a_limit_says_what_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *limit, *by, *counts, *action;
        bool is_dry_run;
    } cases[] = {
        { "{ by: address, allow: 4 per 1s }", "address", "requests", "refuse", false },
        { "{ by: site, allow: 4 failures per 1s, action: challenge }", "site", "failures", "challenge", false },
        { "{ by: address, allow: 4 accounts per 1s, action: mark }", "address", "accounts", "mark", false },
        { "{ by: account, allow: 4 addresses per 1s, action: drop }", "account", "addresses", "drop", false },
        { "{ by: [token, address], allow: 4 per 1s, algorithm: leaky, burst: 3, action: delay, dry_run: true }",
          "token+address", "requests", "delay", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        struct told told = { 0 };
        const char *by, *counts, *action, *name, *of;
        int is_dry_run;
        snprintf(text, sizeof text,
                 "client: { account_from: [header.X-User], token_from: [header.X-Key] }\nlimits: { some.limit: %s }\n",
                 cases[i].limit);
        struct inner inner = open_inner(text);
        json_t *root = read_json(&inner, &told), *limits = json_object_get(root, "limits");
        assert_int_equal(json_array_size(limits), 1);
        assert_int_equal(json_unpack(json_array_get(limits, 0), "{s:s, s:s, s:s, s:s, s:s, s:b}", "name", &name,
                                     "limit", &of, "by", &by, "counts", &counts, "action", &action, "dry_run",
                                     &is_dry_run),
                         0);
        assert_string_equal(name, "some.limit");
        assert_string_equal(of, "some.limit");
        assert_string_equal(by, cases[i].by);
        assert_string_equal(counts, cases[i].counts);
        assert_string_equal(action, cases[i].action);
        assert_int_equal(is_dry_run, cases[i].is_dry_run);
        json_decref(root);
        close_inner(&inner);
    }
}

/* The policy's path is any bytes: `told` is what a reader makes of it. */
static void whatever_the_path_it_is_valid_json(void **state)
{
    (void)state;
    static const struct {
        const char *path, *told;
    } cases[] = {
        { "/etc/a \"quoted\" \\ path", "/etc/a \"quoted\" \\ path" },
        { "/etc/l\xc3\xbc\xe2\x82\xac\xf0\x9f\x90\xa6/p", "/etc/l\xc3\xbc\xe2\x82\xac\xf0\x9f\x90\xa6/p" },
        { "/etc/\x01\x1f\x7f\n\t/p", "/etc/\x01\x1f\x7f\n\t/p" },
        { "/etc/\xff\xc3/p", "/etc/\xc3\xbf\xc3\x83/p" },
        { "</script><b>", "</script><b>" },
    };
    struct told told = { 0 };
    struct inner inner = open_inner("limits: { a: { by: address, allow: 1 per 1s } }\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kept = inner.policy->path;
        inner.policy->path = cases[i].path;
        json_t *root = read_json(&inner, &told);
        assert_string_equal(json_string_value(json_object_get(json_object_get(root, "policy"), "path")), cases[i].told);
        inner.policy->path = kept;
        json_decref(root);
    }
    close_inner(&inner);
}

static void sums_outlive_a_change_of_the_numbers(void **state)
{
    (void)state;
    struct told told = { 0 };
    char error[512];
    struct inner inner = open_inner("limits: { page: { by: address, allow: 3 per 10s } }\n");
    ask_times(&inner, "/", 5);
    struct policy_file file =
        make_policy("limits: { page: { by: address, allow: 30 per 10s, overrides: { 192.0.2.1: 9 per 1m } } }\n");
    struct policy *changed = policy_open(file.path, NULL, NULL), *old = inner.policy;
    unlink(file.path);
    assert_non_null(changed);
    struct limiter *limiter = limiter_open(changed, inner.table, error, sizeof error);
    assert_non_null(limiter);
    limiter_close(inner.limiter);
    inner.limiter = limiter;
    inner.policy = changed;
    ask_times(&inner, "/", 2);
    json_t *root = read_json(&inner, &told);
    assert_true(number_at(root, "limits.0.verdicts.allow") == 5);
    assert_true(number_at(root, "limits.0.verdicts.refuse") == 2);
    assert_true(number_at(root, "limits.0.count") == 30);
    assert_int_equal(json_array_size(json_object_get(root, "limits")), 1);
    json_decref(root);
    close_inner(&inner);
    policy_close(old);
}

static void what_does_not_fit_is_said_at_every_size(void **state)
{
    (void)state;
    static char text[BYTES];
    struct told told = { 0 };
    struct inner inner = open_inner("limits: { a: { by: address, allow: 1 per 1s } }\n");
    size_t size = strlen(tell(&inner, status_json, &told));
    for (size_t cap = 0; cap <= size; cap++) {
        memset(text, '#', sizeof text);
        struct http_writer writer = { .data = text, .cap = cap };
        status_json(&told.status, &writer);
        assert_int_equal(writer.full, cap < size);
        assert_int_equal(text[cap], '#');
    }
    close_inner(&inner);
}

static void without_statistics_all_sums_are_zero(void **state)
{
    (void)state;
    struct told told = { 0 };
    char error[512];
    struct table_options options = {
        .keys = 64, .no_stats = true, .owner = (uid_t)-1, .group = (gid_t)-1, .start_ns = NOW
    };
    struct inner inner = open_inner("limits: { a: { by: address, allow: 1 per 1s } }\n");
    limiter_close(inner.limiter);
    table_close(inner.table);
    inner.table = table_open(&options, error, sizeof error);
    inner.limiter = limiter_open(inner.policy, inner.table, error, sizeof error);
    ask_times(&inner, "/", 3);
    json_t *root = read_json(&inner, &told);
    assert_true(json_is_false(json_object_get(json_object_get(root, "table"), "counted")));
    assert_true(number_at(root, "limits.0.verdicts.refuse") == 0);
    assert_true(number_at(root, "table.used") == 1);
    json_decref(root);
    close_inner(&inner);
}

/* The slots are looked at once a second, whoever asks how often. */
static void a_look_at_the_slots_is_good_for_a_second(void **state)
{
    (void)state;
    struct told told = { 0 };
    struct inner inner = open_inner("limits: { a: { by: address, allow: 9 per 1h } }\n");
    gather(&inner, &told);
    uint64_t taken_ns = told.look.taken_ns;
    assert_true(taken_ns > 0);
    ask_times(&inner, "/", 1);
    told.look.taken_ns = table_now(inner.table);
    gather(&inner, &told);
    assert_int_equal(told.status.fill.used, 0);
    told.look.taken_ns = table_now(inner.table) - STATUS_FILL_AGE_NS;
    gather(&inner, &told);
    assert_int_equal(told.status.fill.used, 1);
    told.look.taken_ns = table_now(inner.table) + 1000 * SECOND; /* the clock stepped back */
    told.look.fill.used = 77;
    gather(&inner, &told);
    assert_int_equal(told.status.fill.used, 1);
    close_inner(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stand_where_they_belong),
        cmocka_unit_test(a_limit_says_what_it_is),
        cmocka_unit_test(whatever_the_path_it_is_valid_json),
        cmocka_unit_test(sums_outlive_a_change_of_the_numbers),
        cmocka_unit_test(what_does_not_fit_is_said_at_every_size),
        cmocka_unit_test(without_statistics_all_sums_are_zero),
        cmocka_unit_test(a_look_at_the_slots_is_good_for_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
