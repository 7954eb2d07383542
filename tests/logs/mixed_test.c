/* Files that hold lines of more than one format, and lines inside of others. */
#include "told.h"

#include <unistd.h>

#include "logs/logs.h"

#define COUNT(table) (sizeof table / sizeof *table)
#define COMBINED "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /one HTTP/1.1\" 200 12 \"-\" \"UA\"\n"
#define JSON "{\"ts\":1700000001,\"client_ip\":\"192.0.2.2\",\"method\":\"GET\",\"uri\":\"/two\",\"status\":200}\n"
#define ERROR "2023/11/14 22:13:22 [error] 1#1: *1 open() failed, client: 192.0.2.3, request: \"GET /three HTTP/1.1\"\n"
#define PLAIN "192.0.2.4 - - [14/Nov/2023:22:13:19 +0000] \"GET /four HTTP/1.1\" 200 12\n"

struct result {
    uint64_t records, unparsed;
    char targets[200]; /* joined by blanks */
};

static struct result read_text(const char *text, const char *format, enum logs_order order)
{
    char path[] = "/tmp/drossel_mixed_XXXXXX", error[1000];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    const char *name = path;
    struct logs *logs =
        logs_open(&name, 1, &(struct logs_options){ .order = order, .format = format }, error, sizeof error);
    unlink(path);
    if (logs == NULL)
        fail_msg("%s", error);
    struct result result = { 0 };
    struct log_record record;
    while (logs_next(logs, &record)) {
        size_t used = strlen(result.targets);
        snprintf(result.targets + used, sizeof result.targets - used, "%.*s ", (int)record.target.size,
                 record.target.data);
    }
    result.records = logs_facts(logs)->records;
    result.unparsed = logs_facts(logs)->unparsed;
    logs_close(logs);
    return result;
}

static void a_format_that_changes_inside_a_file_loses_no_line(void **state)
{
    (void)state;
    struct result filed = read_text(COMBINED COMBINED JSON ERROR PLAIN, NULL, LOGS_AS_FILED);
    assert_string_equal(filed.targets, "/one /one /two /four ");
    assert_int_equal(filed.unparsed, 1);
    struct result timed = read_text(COMBINED COMBINED JSON ERROR PLAIN, NULL, LOGS_BY_TIME);
    assert_string_equal(timed.targets, "/four /one /one /two ");
    assert_int_equal(timed.unparsed, 1);
}

static void a_format_that_the_user_named_is_the_only_one(void **state)
{
    (void)state;
    struct result result = read_text(COMBINED JSON JSON ERROR, "json", LOGS_BY_TIME);
    assert_string_equal(result.targets, "/two /two ");
    assert_int_equal(result.unparsed, 2);
}

static void lines_wrapped_in_json_are_read_as_what_they_are(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"log\":\"192.0.2.1 - bob [14/Nov/2023:22:13:20 +0000] \\\"GET /\\u00e9 HTTP/1.1\\\" 200 12 \\\"-\\\" "
          "\\\"a\\\\\\\"b\\\"\\n\","
          "\"stream\":\"stdout\",\"time\":\"2030-01-01T00:00:00Z\"}",
          "t=1700000000.000000000; client=192.0.2.1; user=bob; method=GET; target=/\xc3\xa9; protocol=HTTP/1.1; "
          "status=200; bytes=12; "
          "agent=a\"b" },
        { "{\"@timestamp\":\"2030-01-01T00:00:00Z\",\"host\":{\"name\":\"x\"},\"message\":\"{\\\"ts\\\":1700000001,"
          "\\\"client_ip\\\":\\\"192.0.2.2\\\","
          "\\\"uri\\\":\\\"/two\\\"}\"}",
          "t=1700000001.000000000; client=192.0.2.2; target=/two" },
        { "{\"level\":\"INFO\",\"message\":\"Nov 14 22:13:20 web nginx: 192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "
          "\\\"GET / HTTP/1.1\\\" 502 15\"}",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/; protocol=HTTP/1.1; status=502; bytes=15" },
        { "{\"log\":\"starting\\n\",\"stream\":\"stderr\",\"time\":\"2030-01-01T00:00:00Z\"}", NULL },
        { "{\"log\":\"\",\"stream\":\"stderr\"}", NULL },
        /* in one another without end */
        { "{\"log\":\"{\\\"log\\\":\\\"192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] GET\\\"}\"}", NULL },
        { "{\"log\":\"192.0.2.1", NULL },
    };
    assert_all_told("docker", NULL, cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_format_that_changes_inside_a_file_loses_no_line),
        cmocka_unit_test(a_format_that_the_user_named_is_the_only_one),
        cmocka_unit_test(lines_wrapped_in_json_are_read_as_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
