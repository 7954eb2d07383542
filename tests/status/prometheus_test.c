/* The status in the text format of Prometheus.  Its grammar as a whole is read by tests/e2e/test_nginx_status.py. */
#include "status_test_support.h"

static void assert_has_line(const char *text, const char *line)
{
    size_t size = strlen(line);
    for (const char *at = text; (at = strstr(at, line)) != NULL; at += size)
        if ((at == text || at[-1] == '\n') && at[size] == '\n')
            return;
    fail_msg("no line %s in\n%s", line, text);
}

static void each_number_has_its_line(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "drossel_build_info{version=\"" DROSSEL_VERSION "\"} 1",
        "drossel_policy_loaded_timestamp_seconds 1799999999",
        "drossel_policy_warnings 2",
        "drossel_store_errors_total 3",
        "# TYPE drossel_verdicts_total counter",
        "drossel_verdicts_total{limit=\"page\",rate=\"page\",verdict=\"allow\"} 4",
        "drossel_verdicts_total{limit=\"page\",rate=\"page\",verdict=\"refuse\"} 3",
        "drossel_verdicts_total{limit=\"page\",rate=\"page\",verdict=\"drop\"} 0",
        "drossel_verdicts_by_block_total{limit=\"page\",rate=\"page\"} 2",
        "drossel_blocks_total{limit=\"page\",rate=\"page\"} 1",
        "drossel_dry_run_verdicts_total{limit=\"try\",rate=\"try-10s\",verdict=\"refuse\"} 4",
        "drossel_dry_run_verdicts_total{limit=\"try\",rate=\"try-10m\",verdict=\"allow\"} 7",
        "drossel_requests_total{verdict=\"refuse\"} 1",
        "drossel_dry_run_requests_total{verdict=\"refuse\"} 0",
        "drossel_table_slots 4103",
        "drossel_table_keys{state=\"all\"} 3",
        "drossel_table_keys{state=\"blocked\"} 1",
        "drossel_table_evicted_total{state=\"live\"} 0",
        "drossel_table_inserted_total 3",
        "drossel_table_lost 0",
        "# TYPE drossel_decision_seconds histogram",
        "drossel_decision_seconds_bucket{le=\"0.000000128\"} 1",
        "drossel_decision_seconds_bucket{le=\"0.000000256\"} 1",
        "drossel_decision_seconds_bucket{le=\"0.000000512\"} 2",
        "drossel_decision_seconds_bucket{le=\"0.134217728\"} 2",
        "drossel_decision_seconds_bucket{le=\"+Inf\"} 3",
        "drossel_decision_seconds_sum 2.000000400",
        "drossel_decision_seconds_count 3",
    };
    struct told told = { 0 };
    struct inner inner =
        open_inner("classes: { a: { path: /a } }\n"
                   "limits:\n  page: { for: a, by: address, allow: 4 per 10s, block: 1m }\n"
                   "  try: { for: not a, by: address, allow: [3 per 10s, 50 per 10m], dry_run: true }\n");
    ask_times(&inner, "/a", 7);
    ask_times(&inner, "/b", 7);
    table_stats_time(inner.table, 99);
    table_stats_time(inner.table, 301);
    table_stats_time(inner.table, 2 * SECOND);
    table_stats_count(inner.table, TABLE_LIMIT_REQUEST, TABLE_REFUSED, false);
    const char *text = tell(&inner, status_prometheus, &told);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_has_line(text, lines[i]);
    close_inner(&inner);
}

/* A kind that a limit is not of has no lines, unless it counted something while it was. */
static void dry_runs_stand_apart(void **state)
{
    (void)state;
    struct told told = { 0 };
    struct inner inner = open_inner("limits:\n  real: { by: address, allow: 4 per 10s }\n"
                                    "  dry: { by: address, allow: 3 per 10s, dry_run: true }\n");
    const char *text = tell(&inner, status_prometheus, &told);
    assert_non_null(strstr(text, "drossel_verdicts_total{limit=\"real\""));
    assert_null(strstr(text, "drossel_verdicts_total{limit=\"dry\""));
    assert_null(strstr(text, "drossel_dry_run_verdicts_total{limit=\"real\""));
    assert_non_null(strstr(text, "drossel_dry_run_verdicts_total{limit=\"dry\""));
    table_stats_count(inner.table, TABLE_LIMIT_FIRST, TABLE_REFUSED, true);
    text = tell(&inner, status_prometheus, &told);
    assert_non_null(
        strstr(text, "drossel_dry_run_verdicts_total{limit=\"real\",rate=\"real\",verdict=\"refuse\"} 1\n"));
    close_inner(&inner);
}

/* Names of limits cannot hold such bytes today; a label holds any. */
static void labels_are_escaped(void **state)
{
    (void)state;
    struct told told = { 0 };
    struct inner inner = open_inner("limits: { a: { by: address, allow: 4 per 10s } }\n");
    struct policy_limit *limit = (struct policy_limit *)(uintptr_t)&inner.policy->limits[0];
    const char *kept = limit->name;
    limit->name = "a\"b\\c\nd{e}";
    const char *text = tell(&inner, status_prometheus, &told);
    assert_non_null(strstr(text, "drossel_blocks_total{limit=\"a\\\"b\\\\c\\nd{e}\",rate=\"a\"} 0\n"));
    limit->name = kept;
    close_inner(&inner);
}

static void a_policy_without_limits_is_told_as_well(void **state)
{
    (void)state;
    struct told told = { 0 };
    struct inner inner = open_inner("limits: {}\n");
    assert_non_null(strstr(tell(&inner, status_prometheus, &told), "drossel_table_slots"));
    assert_non_null(strstr(tell(&inner, status_json, &told), "\"limits\":[]}"));
    close_inner(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_number_has_its_line),
        cmocka_unit_test(dry_runs_stand_apart),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(a_policy_without_limits_is_told_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
