/* Logs that are not read to their end: stopped by who asked for progress, cut off meanwhile, damaged. */
#include "opened.h"

struct teller {
    uint64_t calls, last, total, stop_at;
};

static bool tell(void *context, uint64_t done, uint64_t total)
{
    struct teller *teller = context;
    assert_true(done >= teller->last && done <= total);
    teller->last = done;
    teller->total = total;
    teller->calls++;
    return teller->calls != teller->stop_at;
}

/* A log of 12 MB. */
static const char *make_long(void)
{
    static const char line[] = LINE("01", "/a");
    const char *path = file_path("long.log");
    FILE *file = fopen(path, "w");
    for (size_t i = 0; i < (12 << 20) / (sizeof line - 1); i++)
        assert_true(fputs(line, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static uint64_t read_long(struct teller *teller, enum logs_order order, bool *stopped)
{
    const char *path = make_long();
    const struct logs_options options = { .order = order, .progress = tell, .context = teller };
    struct logs *logs = open_logs(&path, 1, &options);
    struct log_record record;
    uint64_t records = 0;
    while (logs_next(logs, &record))
        records++;
    *stopped = logs_stopped(logs);
    assert_null(logs_error(logs));
    logs_close(logs);
    return records;
}

static void progress_is_told_in_both_passes_and_may_stop_them(void **state)
{
    (void)state;
    struct teller all = { 0 }, filed = { 0 }, half = { .stop_at = 1 }, first = { .stop_at = 1 },
                  second = { .stop_at = 5 };
    bool stopped;
    uint64_t records = read_long(&all, LOGS_BY_TIME, &stopped);
    assert_false(stopped);
    assert_true(all.calls >= 5 && all.calls <= 6);
    assert_true(all.total > 23 << 20 && all.last > all.total / 2);
    assert_int_equal(read_long(&first, LOGS_BY_TIME, &stopped), 0);
    assert_true(stopped);
    assert_in_range(read_long(&second, LOGS_BY_TIME, &stopped), 1, records - 1);
    assert_true(stopped);
    assert_int_equal(read_long(&filed, LOGS_AS_FILED, &stopped), records);
    assert_false(stopped);
    assert_true(filed.calls >= 2 && filed.total > 11 << 20 && filed.total < 13 << 20);
    assert_in_range(read_long(&half, LOGS_AS_FILED, &stopped), 1, records - 1);
    assert_true(stopped);
}

/* What main saw: cmocka's own handler of SIGBUS would stand before the guard's. */
static struct {
    uint64_t all, records, lines_counted;
    bool is_told;
} cut;

/* Two blocks' worth of records are taken, then somebody empties the file but for its first megabyte. */
static void cut_off_while_it_is_read(void)
{
    static const struct logs_options options = { 0 };
    char error[2000];
    struct log_record record;
    files_make(NULL);
    const char *path = make_long();
    struct logs *logs = logs_open(&path, 1, &options, error, sizeof error);
    while (logs != NULL && logs_next(logs, &record))
        if (++cut.records == 1000 && truncate(path, 1 << 20) != 0)
            break;
    const struct logs_facts *facts = logs_facts(logs);
    cut.lines_counted = facts->records + facts->unparsed + facts->empty;
    cut.all = facts->lines;
    cut.is_told = logs_error(logs) != NULL && strstr(logs_error(logs), "cut off") != NULL &&
                  strstr(logs_error(logs), path) != NULL;
    logs_close(logs);
    files_remove(NULL);
}

static void a_log_that_is_cut_off_meanwhile_gives_what_is_left_and_says_so(void **state)
{
    (void)state;
    uint64_t whole = (12 << 20) / (sizeof LINE("01", "/a") - 1), left = (1 << 20) / (sizeof LINE("01", "/a") - 1);
    assert_in_range(cut.records, left, whole / 2);
    assert_int_equal(cut.lines_counted, cut.all);
    assert_true(cut.is_told);
}

static void a_damaged_log_gives_what_it_has_and_says_so(void **state)
{
    (void)state;
    static const struct logs_options options = { 0 };
    /* One member of gzip, stored, that says it is longer than it is. */
    char data[] = "\x1f\x8b\x08\0\0\0\0\0\0\3\1\xff\x0f\0\xf0" LINE("02", "/b") LINE("01", "/a");
    const char *path[] = { file_of("bad.log.gz", data, sizeof data - 1), file_of_text("good.log", LINE("03", "/c")) };
    struct logs *logs = open_logs(path, 2, &options);
    assert_targets(logs, "/a /b /c");
    assert_non_null(logs_error(logs));
    assert_non_null(strstr(logs_error(logs), "bad.log.gz"));
    logs_close(logs);
}

int main(void)
{
    cut_off_while_it_is_read();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_told_in_both_passes_and_may_stop_them),
        cmocka_unit_test(a_damaged_log_gives_what_it_has_and_says_so),
        cmocka_unit_test(a_log_that_is_cut_off_meanwhile_gives_what_is_left_and_says_so),
    };
    return cmocka_run_group_tests(tests, files_make, files_remove);
}
