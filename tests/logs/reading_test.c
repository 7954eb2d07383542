/* Whole logs through the door: order, counts, several files, lines that are hostile. */
#include "opened.h"

static void assert_text_gives(const char *text, const struct logs_options *options, const char *expected)
{
    const char *path = file_of_text("access.log", text);
    struct logs *logs = open_logs(&path, 1, options);
    assert_targets(logs, expected);
    assert_null(logs_error(logs));
    logs_close(logs);
}

static void records_come_by_their_time_and_of_equals_by_their_line(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    assert_text_gives("", &options, "");
    assert_text_gives(LINE("01", "/a") LINE("02", "/b") LINE("03", "/c"), &options, "/a /b /c");
    assert_text_gives(LINE("03", "/a") LINE("02", "/b") LINE("01", "/c"), &options, "/c /b /a");
    assert_text_gives(LINE("02", "/a") LINE("01", "/b") LINE("02", "/c") LINE("01", "/d"), &options, "/b /d /a /c");
}

static void zeros_before_a_line_are_a_hole_in_the_file_and_not_its_client(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    static const char text[] = "\0\0\0" LINE("01", "/a") "\0" LINE("02", "/b") "\0\0\n" LINE("03", "/c");
    const char *path = file_of("access.log", text, sizeof text - 1);
    struct logs *logs = open_logs(&path, 1, &options);
    struct log_record record;
    for (int i = 0; i < 3; i++) {
        assert_true(logs_next(logs, &record));
        assert_int_equal(record.client.size, 9);
        assert_memory_equal(record.client.data, "192.0.2.1", 9);
    }
    assert_false(logs_next(logs, &record));
    assert_int_equal(logs_facts(logs)->unparsed, 1); /* the one that is nothing else */
    logs_close(logs);
}

static void as_filed_the_clock_never_goes_back(void **state)
{
    (void)state;
    static const uint64_t expected[] = { 3, 3, 4, 4 };
    const struct logs_options options = { .order = LOGS_AS_FILED };
    const char *path = file_of_text("access.log", LINE("03", "/a") LINE("02", "/b") LINE("04", "/c") LINE("01", "/d"));
    struct logs *logs = open_logs(&path, 1, &options);
    struct log_record record;
    for (size_t i = 0; i < 4; i++) {
        assert_true(logs_next(logs, &record));
        assert_int_equal(record.line, i + 1);
        assert_int_equal(record.t_ns, (971186100 + expected[i]) * S);
    }
    assert_false(logs_next(logs, &record));
    assert_int_equal(logs_facts(logs)->out_of_order, 2);
    logs_close(logs);
}

static void several_files_come_together_and_of_equals_by_file(void **state)
{
    (void)state;
    const char *path[] = { file_of_text("b.log", LINE("01", "/b1") LINE("03", "/b3") LINE("05", "/b5")),
                           file_of_text("a.log", LINE("01", "/a1") LINE("02", "/a2") LINE("05", "/a5")),
                           file_of_text("a.log.1", LINE("01", "/r1") LINE("00", "/r0")) };
    static const struct logs_options options = { 0 }, as_filed = { .order = LOGS_AS_FILED };
    struct logs *logs = open_logs(path, 3, &options);
    assert_int_equal(logs_file_count(logs), 3);
    assert_string_equal(logs_file_name(logs, 0), path[0]);
    assert_string_equal(logs_file_name(logs, 1), path[2]); /* the older one of the set first */
    assert_string_equal(logs_file_name(logs, 2), path[1]);
    assert_string_equal(logs_file_name(logs, 3), "");
    assert_string_equal(logs_file_format(logs, 0), "combined");
    assert_targets(logs, "/r0 /b1 /r1 /a1 /a2 /b3 /b5 /a5");
    assert_int_equal(logs_facts(logs)->out_of_order, 1);
    logs_close(logs);
    logs = open_logs(path, 3, &as_filed);
    assert_targets(logs, "/b1 /b3 /b5 /r1 /r0 /a1 /a2 /a5");
    logs_close(logs);
}

/* ---- against a sort ---- */

struct expected {
    uint64_t t_s, file, line;
};

static int compare(const void *left, const void *right)
{
    const struct expected *a = left, *b = right;
    if (a->t_s != b->t_s)
        return a->t_s < b->t_s ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

#define BIG_LINES 3000 /* several blocks of text */

/* A file whose times are off their place by up to `disorder` seconds, with a line now and then that is no request. */
static const char *make_big(size_t file, uint64_t disorder, struct expected *expected)
{
    static char text[BIG_LINES * 120];
    char name[20];
    uint64_t seed = 88172645463325252 + file;
    size_t used = 0;
    for (size_t i = 0; i < BIG_LINES; i++) {
        uint64_t t_s = i / 20 + next_random(&seed) % (disorder + 1);
        expected[i] = (struct expected){ 971136000 + t_s, file, i + 1 };
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "192.0.2.%u - - [10/Oct/2000:%02u:%02u:%02u +0000] \"GET /%zu HTTP/1.1\" 200 1 \"-\" \"%.*s\"\n",
            (unsigned)(i % 250), (unsigned)(t_s / 3600 % 24), (unsigned)(t_s / 60 % 60), (unsigned)(t_s % 60), i,
            (int)(next_random(&seed) % 20), "aaaaaaaaaaaaaaaaaaaa");
    }
    snprintf(name, sizeof name, "big-%c.log", (char)('a' + file));
    return file_of(name, text, used);
}

static void assert_sorted(size_t files, uint64_t disorder, uint64_t memory)
{
    struct expected *expected = calloc(files * BIG_LINES, sizeof *expected);
    const char *path[3];
    const struct logs_options options = { .memory = memory };
    for (size_t i = 0; i < files; i++)
        path[i] = make_big(i, disorder, expected + i * BIG_LINES);
    qsort(expected, files * BIG_LINES, sizeof *expected, compare);
    struct logs *logs = open_logs(path, files, &options);
    struct log_record record;
    for (size_t i = 0; i < files * BIG_LINES; i++) {
        if (!logs_next(logs, &record))
            fail_msg("record %zu is missing: %s", i, logs_error(logs) == NULL ? "" : logs_error(logs));
        if (record.t_ns != expected[i].t_s * S || record.file != expected[i].file || record.line != expected[i].line)
            fail_msg("record %zu of %zu files, disorder %llu, is file %u line %llu", i, files,
                     (unsigned long long)disorder, record.file, (unsigned long long)record.line);
    }
    assert_false(logs_next(logs, &record));
    assert_int_equal(logs_facts(logs)->records, files * BIG_LINES);
    assert_int_equal(logs_facts(logs)->unparsed, 0);
    logs_close(logs);
    free(expected);
}

static void any_disorder_is_sorted_within_any_memory(void **state)
{
    (void)state;
    static const uint64_t disorders[] = { 0, 1, 10, 200, 86000 }, memories[] = { 0, 20000 };
    for (size_t files = 1; files <= 3; files++)
        for (size_t d = 0; d < 5; d++)
            for (size_t m = 0; m < 2; m++)
                assert_sorted(files, disorders[d], memories[m]);
    assert_sorted(2, 200, 1);
}

/* ---- lines ---- */

static void lines_end_as_they_like(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    assert_text_gives("192.0.2.1 - - [10/Oct/2000:13:55:01 +0000] \"GET /a HTTP/1.1\" 200 1\r\n"
                      "\r\n\n"
                      "192.0.2.1 - - [10/Oct/2000:13:55:02 +0000] \"GET /b HTTP/1.1\" 200 1",
                      &options, "/a /b");
}

static void a_mark_before_the_text_is_no_part_of_it(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    const char *path = file_of_text("access.log", "\xef\xbb\xbf" LINE("01", "/a"));
    struct log_record record;
    struct logs *logs = open_logs(&path, 1, &options);
    assert_true(logs_next(logs, &record));
    assert_int_equal(record.client.size, 9);
    assert_memory_equal(record.client.data, "192.0.2.1", 9);
    logs_close(logs);
}

static void what_is_no_request_is_counted_and_the_first_three_are_kept(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    const char *path = file_of_text(
        "access.log",
        "\n" LINE("05", "/a") "bad one\n" LINE(
            "01", "/b") "bad\ttwo\xff\n\n"
                        "192.0.2.1 - - [10/Oct/2000:13:55:09 +0000] \"cut off\nbad four\nbad five\n" LINE("03", "/c"));
    struct logs *logs = open_logs(&path, 1, &options);
    assert_targets(logs, "/b /c /a");
    const struct logs_facts *facts = logs_facts(logs);
    assert_int_equal(facts->lines, 10);
    assert_int_equal(facts->records, 3);
    assert_int_equal(facts->empty, 2);
    assert_int_equal(facts->unparsed, 5);
    assert_int_equal(facts->bad_count, 3);
    static const struct {
        uint64_t line;
        const char *text;
    } bad[] = { { 3, "bad one" }, { 5, "bad?two?" }, { 7, "192.0.2.1 - - [10/Oct/2000:13:55:09 +0000] \"cut off" } };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(facts->bad[i].line, bad[i].line);
        assert_string_equal(facts->bad[i].text, bad[i].text);
    }
    assert_int_equal(facts->out_of_order, 1);
    assert_int_equal(facts->first_ns, 971186101 * S);
    assert_int_equal(facts->last_ns, 971186105 * S);
    assert_int_equal(facts->resolution_ns, S);
    assert_true(facts->has_agent && facts->has_status);
    assert_false(facts->has_duration || facts->has_cache || facts->has_forwarded || facts->has_user);
    logs_close(logs);
}

static void a_line_of_a_megabyte_and_bytes_of_zero_hurt_nobody(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    size_t size = 3 << 20, used = 0;
    char *text = malloc(size + 1000);
    static const char first[] = LINE("02", "/a"), last[] = LINE("01", "/c"),
                      long_start[] = "192.0.2.1 - - [10/Oct/2000:13:55:03 +0000] \"GET /";
    memcpy(text, first, sizeof first - 1);
    used += sizeof first - 1;
    memcpy(text + used, long_start, sizeof long_start - 1);
    used += sizeof long_start - 1;
    memset(text + used, '\\', 1 << 20); /* the worst: all of it may be escapes */
    used += 1 << 20;
    memcpy(text + used, "b HTTP/1.1\" 200 1\n", 18);
    used += 18;
    memset(text + used, '\0', 1 << 20);
    used += 1 << 20;
    text[used++] = '\n';
    memset(text + used, '"', 100000);
    used += 100000;
    text[used++] = '\n';
    memcpy(text + used, last, sizeof last - 1);
    used += sizeof last - 1;
    const char *path = file_of("access.log", text, used);
    struct logs *logs = open_logs(&path, 1, &options);
    struct log_record record;
    assert_true(logs_next(logs, &record));
    assert_memory_equal(record.target.data, "/c", 2);
    assert_true(logs_next(logs, &record));
    assert_memory_equal(record.target.data, "/a", 2);
    assert_true(logs_next(logs, &record));
    assert_int_equal(record.target.size, (1 << 19) + 2);
    assert_false(logs_next(logs, &record));
    assert_int_equal(logs_facts(logs)->unparsed, 2);
    assert_int_equal(logs_facts(logs)->bad[0].line, 3);
    assert_int_equal(strlen(logs_facts(logs)->bad[0].text), LOGS_BAD_TEXT - 1);
    logs_close(logs);
    free(text);
}

/* Lines that come later than what they mean: the fields change between them, and all times are the other way round. */
static void the_meaning_of_a_line_is_that_of_its_place(void **state)
{
    (void)state;
    static const struct logs_options options = { .format = "w3c" };
    const char *path =
        file_of_text("u_ex.log", "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status\n"
                                 "2000-10-10 13:55:09 192.0.2.1 GET /last 200\n"
                                 "2000-10-10 13:55:02 192.0.2.1 GET /second 200\n"
                                 "#Software: X\n#Fields: date time cs-uri-stem sc-status c-ip cs-method\n"
                                 "2000-10-10 13:55:07 /third 404 192.0.2.2 POST\n"
                                 "2000-10-10 13:55:01 /first 404 192.0.2.2 POST\n");
    static const struct {
        const char *target;
        uint16_t status;
    } expected[] = { { "/first", 404 }, { "/second", 200 }, { "/third", 404 }, { "/last", 200 } };
    struct logs *logs = open_logs(&path, 1, &options);
    struct log_record record;
    for (size_t i = 0; i < 4; i++) {
        assert_true(logs_next(logs, &record));
        assert_int_equal(record.target.size, strlen(expected[i].target));
        assert_memory_equal(record.target.data, expected[i].target, record.target.size);
        assert_int_equal(record.status, expected[i].status);
    }
    assert_false(logs_next(logs, &record));
    assert_int_equal(logs_facts(logs)->empty, 4);
    assert_int_equal(logs_facts(logs)->unparsed, 0);
    logs_close(logs);
}

/* ---- choices and faults ---- */

static void a_format_may_be_named_or_given_as_its_string(void **state)
{
    (void)state;
    const struct logs_options named = { .format = "combined" },
                              string = { .format = "%h %l %u %t \"%m %U %H\" %>s %b \"%i\" \"%i\"" };
    assert_text_gives(LINE("01", "/a") LINE("02", "/b"), &named, "/a /b");
    assert_text_gives(LINE("01", "/a") LINE("02", "/b"), &string, "/a /b");
}

static void assert_not_opened(const char *path, const struct logs_options *options, const char *message)
{
    char error[2000];
    struct logs *logs = logs_open(&path, 1, options, error, sizeof error);
    if (logs != NULL)
        fail_msg("%s is opened", path);
    if (strstr(error, message) == NULL)
        fail_msg("told: %s", error);
}

static void what_cannot_be_opened_is_told(void **state)
{
    (void)state;
    const struct logs_options none = { 0 }, unknown = { .format = "clf" }, bad = { .format = "$remote_addr" };
    assert_not_opened("/nowhere/at/all.log", &none, "/nowhere/at/all.log: cannot be read");
    assert_not_opened(file_of_text("access.log", LINE("01", "/a")), &unknown, "known are combined, common");
    assert_not_opened(file_of_text("access.log", LINE("01", "/a")), &bad, "$time_local is missing");
}

static void a_log_of_no_known_format_is_all_unparsed(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    const char *path = file_of_text("messages", "kernel: hello\nkernel: there\n");
    struct logs *logs = open_logs(&path, 1, &options);
    assert_string_equal(logs_file_format(logs, 0), "unknown");
    assert_targets(logs, "");
    assert_int_equal(logs_facts(logs)->unparsed, 2);
    assert_int_equal(logs_facts(logs)->first_ns, 0);
    logs_close(logs);
}

static void no_files_give_no_records(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    struct logs *logs = open_logs(NULL, 0, &options);
    assert_targets(logs, "");
    logs_close(logs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_by_their_time_and_of_equals_by_their_line),
        cmocka_unit_test(zeros_before_a_line_are_a_hole_in_the_file_and_not_its_client),
        cmocka_unit_test(as_filed_the_clock_never_goes_back),
        cmocka_unit_test(several_files_come_together_and_of_equals_by_file),
        cmocka_unit_test(any_disorder_is_sorted_within_any_memory),
        cmocka_unit_test(lines_end_as_they_like),
        cmocka_unit_test(a_mark_before_the_text_is_no_part_of_it),
        cmocka_unit_test(what_is_no_request_is_counted_and_the_first_three_are_kept),
        cmocka_unit_test(a_line_of_a_megabyte_and_bytes_of_zero_hurt_nobody),
        cmocka_unit_test(the_meaning_of_a_line_is_that_of_its_place),
        cmocka_unit_test(a_format_may_be_named_or_given_as_its_string),
        cmocka_unit_test(what_cannot_be_opened_is_told),
        cmocka_unit_test(a_log_of_no_known_format_is_all_unparsed),
        cmocka_unit_test(no_files_give_no_records),
    };
    return cmocka_run_group_tests(tests, files_make, files_remove);
}
