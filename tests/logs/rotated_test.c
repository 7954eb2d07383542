/* Rotated logs come oldest first, however they are named and given. */
#include "told.h"

#include "logs/rotated.h"

#define MOST 12

static void rotated_sets_come_oldest_first(void **state)
{
    (void)state;
    static const char *const cases[][2][MOST] = {
        /* as a shell sorts them, and as they are to be read */
        { { "access.log", "access.log.1", "access.log.10.gz", "access.log.2.gz" },
          { "access.log.10.gz", "access.log.2.gz", "access.log.1", "access.log" } },
        { { "access.log", "access.log-20240101.gz", "access.log-20231231.gz", "access.log-20240102" },
          { "access.log-20231231.gz", "access.log-20240101.gz", "access.log-20240102", "access.log" } },
        { { "access.log", "access.log.2024-01-02", "access.log.2023-12-31.xz" },
          { "access.log.2023-12-31.xz", "access.log.2024-01-02", "access.log" } },
        { { "access.log-2024010112.gz", "access.log-2024010103.gz", "access.log-20240101-235959" },
          { "access.log-2024010103.gz", "access.log-2024010112.gz", "access.log-20240101-235959" } },
        { { "access.log", "access.log.old" }, { "access.log.old", "access.log" } },
        { { "access.log.0", "access.log.1", "access.log" }, { "access.log.1", "access.log.0", "access.log" } },
        /* dates of the same day with a number, the greater is older */
        { { "a.log-20240101.1", "a.log-20240101.2", "a.log-20231231.1" },
          { "a.log-20231231.1", "a.log-20240101.2", "a.log-20240101.1" } },
        /* seconds since 1970 as logrotate's dateformat -%s */
        { { "a.log-1700000100", "a.log-1700000000", "a.log" }, { "a.log-1700000000", "a.log-1700000100", "a.log" } },
        /* sets stay together, where the first of each stood */
        { { "/b/x.log", "/a/y.log", "/b/x.log.1", "/a/y.log.1" },
          { "/b/x.log.1", "/b/x.log", "/a/y.log.1", "/a/y.log" } },
        { { "/a/x.log", "/b/x.log.1" }, { "/a/x.log", "/b/x.log.1" } },
        /* what is no rotation stays as given */
        { { "b.log", "a.log" }, { "b.log", "a.log" } },
        { { "u_ex240102.log", "u_ex240101.log" }, { "u_ex240102.log", "u_ex240101.log" } },
        { { "10.0.0.2", "10.0.0.1" }, { "10.0.0.2", "10.0.0.1" } },
        { { "-", "access.log" }, { "-", "access.log" } },
        { { "a.log", "a.log" }, { "a.log", "a.log" } },
        { { ".1", "1", "/x/.2", "/x/2" }, { ".1", "1", "/x/.2", "/x/2" } },
        { { "a.log.99999999999999999999", "a.log.1" }, { "a.log.99999999999999999999", "a.log.1" } },
        { { "" }, { "" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path[MOST];
        size_t count = 0;
        for (; count < MOST && cases[i][0][count] != NULL; count++)
            path[count] = cases[i][0][count];
        assert_true(rotated_sort(path, count));
        for (size_t j = 0; j < count; j++)
            if (strcmp(path[j], cases[i][1][j]) != 0)
                fail_msg("%s...: place %zu is %s, not %s", cases[i][0][0], j, path[j], cases[i][1][j]);
    }
}

static void no_files_are_no_trouble(void **state)
{
    (void)state;
    assert_true(rotated_sort(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotated_sets_come_oldest_first),
        cmocka_unit_test(no_files_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
