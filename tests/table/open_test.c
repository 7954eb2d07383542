/* Opening and making tables: what can be wrong with a file, and what is said about it. */
#include "table_test_folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct table_options options_for(const char *path)
{
    struct table_options options = { .path = path, .keys = 1000, .owner = (uid_t)-1, .group = (gid_t)-1 };
    return options;
}

static void expect_error(const struct table_options *options, const char *what)
{
    char error[512] = "";
    struct table *table = table_open(options, error, sizeof error);
    if (table != NULL)
        fail_msg("%s opened, but \"%s\" was expected", options->path, what);
    if (strstr(error, what) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error, what);
    if (strncmp(error, options->path, strlen(options->path)) != 0)
        fail_msg("\"%s\" does not begin with the path", error);
    if (strchr(error, ';') == NULL)
        fail_msg("\"%s\" tells no remedy", error);
}

static struct table *open_or_fail(const struct table_options *options)
{
    char error[512] = "";
    struct table *table = table_open(options, error, sizeof error);
    if (table == NULL)
        fail_msg("%s", error);
    return table;
}

/* Makes a table file, closes it, and writes `size` bytes at `offset` into it. */
static void make_and_damage(const char *path, const void *bytes, size_t size, off_t offset)
{
    struct table_options options = options_for(path);
    table_close(open_or_fail(&options));
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, bytes, size, offset), (ssize_t)size);
    close(fd);
}

static void a_new_table_has_mode_0660_and_the_asked_owner(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("owned"));
    bool root = geteuid() == 0;
    options.owner = root ? 33 : geteuid();
    options.group = root ? 33 : getegid();
    mode_t before = umask(077);
    struct table *table = open_or_fail(&options);
    umask(before);
    struct stat status;
    assert_int_equal(stat(options.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    assert_int_equal(status.st_uid, options.owner);
    assert_int_equal(status.st_gid, options.group);
    assert_int_equal(table_keys(table), 1024);
    table_close(table);
}

static void counters_and_blocks_are_there_when_it_is_opened_again(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("again"));
    struct table *table = open_or_fail(&options);
    struct engine_spec spec = { .count = 3, .period_ns = 60 * SECOND, .block_ns = 600 * SECOND };
    uint16_t limit = register_limit(table, "page", spec);
    uint64_t now_ns = table_now(table);
    for (int i = 0; i < 2; i++)
        assert_true(charge_one(table, key_of(1), limit, now_ns, NULL));
    for (int i = 0; i < 4; i++)
        charge_one(table, key_of(2), limit, now_ns, NULL);
    table_close(table);

    table = open_or_fail(&options);
    assert_int_equal(register_limit(table, "page", spec), limit);
    struct engine_verdict verdict;
    assert_true(charge_one(table, key_of(1), limit, table_now(table), &verdict));
    assert_int_equal(verdict.remaining, 0);
    assert_false(charge_one(table, key_of(2), limit, table_now(table), &verdict));
    assert_true(verdict.blocked);
    table_close(table);
}

static void a_foreign_file_is_told_and_left_alone(void **state)
{
    (void)state;
    const char *path = path_in("foreign");
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 200000; i++)
        fputs("not a table\n", file);
    fclose(file);
    struct table_options options = options_for(path);
    expect_error(&options, "is no drossel table");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 12 * 200000);
}

/* Nobody is told to remove a file of his system that he named by mistake. */
static void a_short_file_is_only_to_be_removed_if_it_is_a_table(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *told;
    } cases[] = {
        { "", "remove it" },
        { "drossel\n", "remove it" },
        { "drossel", "and no drossel table; name another file" },
        { "root:x:0:0:root:/root:/bin/sh\n", "and no drossel table; name another file" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = path_in("short");
        FILE *file = fopen(path, "w");
        fputs(cases[i].bytes, file);
        fclose(file);
        struct table_options options = options_for(path);
        expect_error(&options, cases[i].told);
        expect_error(&options, "short of a table's header");
    }
}

static void another_version_is_told(void **state)
{
    (void)state;
    uint32_t version = 99;
    const char *path = path_in("version");
    make_and_damage(path, &version, sizeof version, 8);
    struct table_options options = options_for(path);
    expect_error(&options, "another version");
}

static void a_path_that_is_empty_or_too_long_is_told(void **state)
{
    (void)state;
    char longest[256 + 1] = "";
    memset(longest, 'a', sizeof longest - 1);
    const struct {
        const char *path, *told;
    } cases[] = { { "", "path is empty; name a file" },
                  { longest, "the path is too long; write one of at most 255 bytes" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct table_options options = options_for(cases[i].path);
        char error[512] = "";
        assert_null(table_open(&options, error, sizeof error));
        assert_non_null(strstr(error, cases[i].told));
    }
}

static void a_damaged_header_is_told(void **state)
{
    (void)state;
    const struct {
        uint64_t keys;
        const char *name;
    } cases[] = {
        { 0, "zero" },     { 63, "few" }, { 1025, "odd" }, { UINT64_MAX, "max" }, { UINT64_C(1) << 33, "many" },
        { 2048, "other" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = path_in(cases[i].name);
        make_and_damage(path, &cases[i].keys, 8, 16);
        struct table_options options = options_for(path);
        expect_error(&options, "damaged header");
    }
}

static void a_truncated_a_grown_and_an_empty_file_are_told(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("cut"));
    table_close(open_or_fail(&options));
    struct stat status;
    assert_int_equal(stat(options.path, &status), 0);
    assert_int_equal(truncate(options.path, status.st_size - 1), 0);
    expect_error(&options, "is truncated");
    assert_int_equal(truncate(options.path, status.st_size + 4096), 0);
    expect_error(&options, "longer than its header says");
    assert_int_equal(truncate(options.path, 100), 0);
    expect_error(&options, "truncated");
    assert_int_equal(truncate(options.path, 0), 0);
    expect_error(&options, "truncated");
}

static void a_directory_a_fifo_and_a_symbolic_link_are_told(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("directory"));
    assert_int_equal(mkdir(options.path, 0700), 0);
    expect_error(&options, "is a directory");
    options = options_for(path_in("fifo"));
    assert_int_equal(mkfifo(options.path, 0600), 0);
    expect_error(&options, "no regular file");
    char target[128];
    snprintf(target, sizeof target, "%s", path_in("target"));
    options = options_for(target);
    table_close(open_or_fail(&options));
    options = options_for(path_in("link"));
    assert_int_equal(symlink(target, options.path), 0);
    expect_error(&options, "symbolic link");
    options.path = path_in("dangling");
    assert_int_equal(symlink("/dev/shm/drossel-nowhere", options.path), 0);
    expect_error(&options, "symbolic link");
}

static void another_size_and_other_names_are_told(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("size"));
    table_close(open_or_fail(&options));
    options.keys = 5000;
    expect_error(&options, "has 1024 keys, but the policy wants 8192");
    options.keys = 1000;
    options.names = true;
    expect_error(&options, "without names");
    options.any_size = true;
    options.keys = 0;
    table_close(open_or_fail(&options));
}

static void a_missing_folder_and_a_missing_table_are_told(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("no/such/table"));
    expect_error(&options, "cannot be made");
    options = options_for(path_in("none"));
    options.existing_only = true;
    expect_error(&options, "there is no table");
    assert_int_equal(access(options.path, F_OK), -1);
}

static void a_full_file_system_is_told_and_leaves_nothing(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("huge"));
    options.keys = TABLE_KEYS_MAX; /* 256 GiB: more than the file system has */
    expect_error(&options, "no room");
    assert_int_equal(access(options.path, F_OK), -1);
}

/* Opens, in a process without standard streams.  True if the numbers of these are still free. */
static bool leaves_streams_alone(const struct table_options *options)
{
    char error[512] = "";
    struct table *table = table_open(options, error, sizeof error);
    bool are_free = table != NULL;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        are_free = are_free && fcntl(fd, F_GETFD) == -1;
    table_close(table);
    return are_free;
}

static void what_a_process_prints_whose_output_is_closed_never_gets_into_a_table(void **state)
{
    (void)state;
    const struct table_options options = options_for(path_in("streams")), of_nobody = options_for(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            close(fd);
        bool made = leaves_streams_alone(&options), opened = leaves_streams_alone(&options);
        _exit(made && opened && leaves_streams_alone(&of_nobody) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Growing a file beyond that limit ends a process that does not ask before. */
static void a_file_that_is_larger_than_this_process_may_write_is_told(void **state)
{
    (void)state;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ .rlim_cur = 4096, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct table_options options = options_for(path_in("limited"));
    char error[512] = "";
    struct table *table = table_open(&options, error, sizeof error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(table);
    assert_non_null(strstr(error, "more than the limit of 4096 (ulimit -f)"));
    assert_int_equal(access(options.path, F_OK), -1);
}

static void no_permission_is_told(void **state)
{
    (void)state;
    struct table_options options = options_for(path_in("secret"));
    table_close(open_or_fail(&options));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(options.path, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        char error[512] = "";
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        if (geteuid() == getuid() && chmod(options.path, 0) == 0)
            (void)0; /* not root: take our own permission away */
        bool told = table_open(&options, error, sizeof error) == NULL && strstr(error, "no permission") != NULL &&
                    strstr(error, "belongs to user") != NULL;
        _exit(told ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void two_who_start_at_once_share_one_table(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        char name[32];
        snprintf(name, sizeof name, "start-%d", round);
        struct table_options options = options_for(path_in(name));
        pid_t child[4];
        for (int i = 0; i < 4; i++) {
            child[i] = fork();
            if (child[i] == 0) {
                char error[512];
                struct table *table = table_open(&options, error, sizeof error);
                if (table == NULL)
                    _exit(1);
                struct engine_spec spec = { .count = 100, .period_ns = 3600 * SECOND, .factor_milli = 1000 };
                uint16_t limit = register_limit(table, "page", spec);
                _exit(charge_one(table, key_of(1), limit, table_now(table), NULL) ? 0 : 2);
            }
        }
        for (int i = 0; i < 4; i++) {
            int status;
            waitpid(child[i], &status, 0);
            assert_int_equal(status, 0);
        }
        struct table *table = open_or_fail(&options);
        uint64_t slot = 0;
        struct table_entry entry;
        assert_true(table_next(table, &slot, &entry));
        assert_int_equal(engine_used(&entry.state, table_engine_at(table, entry.limit), table_now(table)), 4);
        table_close(table);
        unlink(options.path);
    }
}

/* In a program of its own (main): cmocka's own handler of SIGBUS stands before the table's. */
static int count_on_a_shrinking_file(const char *path)
{
    char error[512];
    struct table_options options = options_for(path);
    options.names = true;
    struct table *table = table_open(&options, error, sizeof error);
    if (table == NULL)
        return 2;
    struct engine_spec spec = { .count = 3, .period_ns = 60 * SECOND };
    uint16_t limit = register_limit(table, "page", spec);
    uint64_t now_ns = table_now(table);
    bool fine = charge_one(table, key_of(1), limit, now_ns, NULL) && !table_is_lost(table) && truncate(path, 4096) == 0;
    for (int i = 0; i < 3; i++)
        fine = charge_one(table, key_of(2), limit, now_ns, NULL) && fine;
    fine = !charge_one(table, key_of(2), limit, now_ns, NULL) && fine;
    fine = table_is_lost(table) && table_now(table) >= now_ns && fine;
    table_close(table);
    return fine ? 0 : 3;
}

static void a_file_that_shrinks_under_us_kills_nobody(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s", path_in("shrinks"));
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "open_test", "--shrink", path, (char *)NULL);
        _exit(9);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--shrink") == 0)
        return count_on_a_shrinking_file(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_table_has_mode_0660_and_the_asked_owner),
        cmocka_unit_test(counters_and_blocks_are_there_when_it_is_opened_again),
        cmocka_unit_test(a_foreign_file_is_told_and_left_alone),
        cmocka_unit_test(a_short_file_is_only_to_be_removed_if_it_is_a_table),
        cmocka_unit_test(another_version_is_told),
        cmocka_unit_test(a_path_that_is_empty_or_too_long_is_told),
        cmocka_unit_test(a_damaged_header_is_told),
        cmocka_unit_test(a_truncated_a_grown_and_an_empty_file_are_told),
        cmocka_unit_test(a_directory_a_fifo_and_a_symbolic_link_are_told),
        cmocka_unit_test(another_size_and_other_names_are_told),
        cmocka_unit_test(a_missing_folder_and_a_missing_table_are_told),
        cmocka_unit_test(a_full_file_system_is_told_and_leaves_nothing),
        cmocka_unit_test(what_a_process_prints_whose_output_is_closed_never_gets_into_a_table),
        cmocka_unit_test(a_file_that_is_larger_than_this_process_may_write_is_told),
        cmocka_unit_test(no_permission_is_told),
        cmocka_unit_test(two_who_start_at_once_share_one_table),
        cmocka_unit_test(a_file_that_shrinks_under_us_kills_nobody),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
