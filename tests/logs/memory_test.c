/* Whatever allocation fails: a message or the records, never a crash, and nothing is left behind. */
#include "files.h"

#include <zlib.h>

#include "logs/logs.h"

#define LINE(second) "192.0.2.1 - - [10/Oct/2000:13:55:" second " +0000] \"GET /\\x22 HTTP/1.1\" 200 1 \"-\" \"UA\"\n"

static long left = -1; /* allocations until one fails; -1: none does */
static unsigned failed;

static bool fails(void)
{
    if (left < 0 || left-- > 0)
        return false;
    failed++;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* Returns how many records there were; -1: it was not opened. */
static long read_all(const char *const *path, size_t count, const struct logs_options *options)
{
    char error[2000] = "";
    struct logs *logs = logs_open(path, count, options, error, sizeof error);
    struct log_record record;
    long records = 0;
    if (logs == NULL) {
        assert_true(error[0] != '\0');
        return -1;
    }
    while (logs_next(logs, &record))
        records++;
    const struct logs_facts *facts = logs_facts(logs);
    assert_true(logs_error(logs) != NULL || facts->lines == facts->records + facts->unparsed + facts->empty);
    logs_close(logs);
    return records;
}

/* Fails the first allocation, then the second, and so on, until there is none left to fail. */
static void assert_survived(const char *const *path, size_t count, const struct logs_options *options)
{
    long all = read_all(path, count, options);
    assert_true(all > 0);
    for (long n = 0;; n++) {
        left = n;
        failed = 0;
        long records = read_all(path, count, options);
        left = -1;
        assert_true(records <= all);
        if (failed == 0) {
            assert_true(n > 5);
            assert_int_equal(records, all);
            break;
        }
    }
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    const struct logs_options recognised = { .memory = 1 },
                              string = { .format = "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\"" },
                              filed = { .order = LOGS_AS_FILED };
    char many[64 * sizeof LINE("00")] = "";
    for (int i = 0; i < 60; i++) {
        char line[sizeof LINE("00") + 10];
        snprintf(line, sizeof line,
                 "192.0.2.1 - - [10/Oct/2000:13:55:%02d +0000] \"GET /\\x22 HTTP/1.1\" 200 1 \"-\" \"UA\"\n", 59 - i);
        strcat(many, line);
    }
    gzFile packed = gzopen(file_path("b.log.gz"), "w");
    assert_int_equal(gzputs(packed, LINE("07") LINE("03")), 2 * (sizeof LINE("07") - 1));
    assert_int_equal(gzclose(packed), Z_OK);
    const char *const path[] = { file_of_text("a.log", many), file_path("b.log.gz") };
    assert_survived(path, 2, &recognised);
    assert_survived(path, 2, &string);
    assert_survived(path, 2, &filed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_allocation_may_fail) };
    return cmocka_run_group_tests(tests, files_make, files_remove);
}
