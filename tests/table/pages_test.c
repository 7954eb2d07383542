/* Large pages: a table lies in them where the kernel gives them, for all who map it, and is the same table where it does not. */
#include "table_test_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "table/pages.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static struct table *open_table(const char *path, bool existing)
{
    char error[512] = "";
    struct table_options options = {
        .path = path, .keys = 65536, .names = true, .owner = (uid_t)-1, .group = (gid_t)-1, .existing_only = existing
    };
    struct table *table = table_open(&options, error, sizeof error);
    if (table == NULL)
        fail_msg("%s", error);
    return table;
}

static int scratch_file(uint64_t bytes)
{
    int fd = open(folder, O_TMPFILE | O_RDWR, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    return fd;
}

/* kB of this process's shared memory that are mapped by large pages. */
static unsigned long mapped_large_kb(void)
{
    char line[256];
    unsigned long kb = 0;
    bool found = false;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof line, file) != NULL)
        found = sscanf(line, "ShmemPmdMapped: %lu kB", &kb) == 1;
    fclose(file);
    assert_true(found);
    return kb;
}

/* Says why not, and skips: this kernel may be older, or its administrator may have said no. */
static void need_large_pages(void)
{
    int fd = scratch_file(PAGES_LARGE_BYTES);
    char *map = pages_map(fd, PAGES_LARGE_BYTES);
    assert_non_null(map);
    map[0] = 1;
    int failed = madvise(map, PAGES_LARGE_BYTES, MADV_COLLAPSE) == 0 ? 0 : errno;
    munmap(map, PAGES_LARGE_BYTES);
    close(fd);
    if (failed == 0)
        return;
    print_message("# skipped: this kernel gathers no large pages of shared memory (MADV_COLLAPSE: %s)\n",
                  strerror(failed));
    skip();
}

static bool is_mapped(unsigned char *page)
{
    unsigned char in_core;
    return mincore(page, 1, &in_core) == 0 || errno != ENOMEM;
}

static void a_mapping_begins_where_a_large_page_fits_and_ends_where_it_says(void **state)
{
    (void)state;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t sizes[] = { page, 3 * page - 1, PAGES_LARGE_BYTES, 2 * PAGES_LARGE_BYTES + 1 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int fd = scratch_file(sizes[i]);
        unsigned char *map = pages_map(i % 2 == 0 ? fd : -1, sizes[i]);
        assert_non_null(map);
        assert_int_equal((uintptr_t)map % PAGES_LARGE_BYTES, 0);
        map[sizes[i] - 1] = 1;
        uint64_t whole = (sizes[i] + page - 1) / page * page;
        munmap(map, sizes[i]);
        assert_false(is_mapped(map));
        assert_false(is_mapped(map + whole - page)); /* nothing of what it was cut out of is left */
        close(fd);
    }
}

static void what_cannot_be_mapped_is_an_error(void **state)
{
    (void)state;
    int fd = open(folder, O_RDONLY | O_DIRECTORY); /* not for writing */
    assert_null(pages_map(fd, PAGES_LARGE_BYTES));
    assert_int_equal(errno, EACCES);
    close(fd);
    assert_null(pages_map(-1, UINT64_C(1) << 62));
    assert_int_equal(errno, ENOMEM);
}

static void gathered_pages_are_whole_ones_of_the_range_and_full_of_zeros(void **state)
{
    (void)state;
    need_large_pages();
    uint64_t bytes = 4 * PAGES_LARGE_BYTES, small = 4096;
    int fd = scratch_file(bytes);
    unsigned char *map = pages_map(fd, bytes);
    assert_non_null(map);
    pages_gather(map, fd, small, 3 * PAGES_LARGE_BYTES + small); /* of it, pages 1 and 2 are whole */
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal((uint64_t)status.st_blocks * 512, 2 * PAGES_LARGE_BYTES);
    for (uint64_t at = 0; at < bytes; at++)
        if (map[at] != 0)
            fail_msg("byte %llu is not zero", (unsigned long long)at);
    assert_true(mapped_large_kb() >= 2 * PAGES_LARGE_BYTES / 1024);
    munmap(map, bytes);
    close(fd);
}

static void a_new_table_lies_in_large_pages_for_all_who_open_it(void **state)
{
    (void)state;
    need_large_pages();
    char path[128];
    snprintf(path, sizeof path, "%s", path_in("large"));
    unsigned long before = mapped_large_kb();
    struct table *table = open_table(path, false);
    assert_true(mapped_large_kb() - before >=
                2 * PAGES_LARGE_BYTES / 1024); /* 8 MB of slots and names, at the edges small ones */
    uint16_t limit = register_limit(table, "page", (struct engine_spec){ .count = 1, .period_ns = 3600 * SECOND });
    for (uint64_t i = 0; i < 4096; i++)
        assert_true(charge_one(table, key_of(i), limit, table_now(table), NULL));
    pid_t child = fork();
    if (child == 0) {
        table_close(table);
        unsigned long alone = mapped_large_kb();
        table = open_table(path, true);
        bool seen = true;
        for (uint64_t i = 0; i < 4096; i++)
            seen = seen && table_find(table, key_of(i)) != TABLE_NO_SLOT;
        _exit(seen && mapped_large_kb() - alone >= 2 * PAGES_LARGE_BYTES / 1024 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    table_close(table);
}

static void a_table_on_a_disk_works_without_them(void **state)
{
    (void)state;
    char path[] = "/var/tmp/drossel-test-XXXXXX";
    assert_non_null(mkdtemp(path));
    char file[64], command[128];
    snprintf(file, sizeof file, "%s/table", path);
    struct table *table = open_table(file, false);
    uint16_t limit = register_limit(table, "page", (struct engine_spec){ .count = 1, .period_ns = 3600 * SECOND });
    assert_true(charge_one(table, key_of(1), limit, table_now(table), NULL));
    assert_false(charge_one(table, key_of(1), limit, table_now(table), NULL));
    table_close(table);
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_begins_where_a_large_page_fits_and_ends_where_it_says),
        cmocka_unit_test(what_cannot_be_mapped_is_an_error),
        cmocka_unit_test(gathered_pages_are_whole_ones_of_the_range_and_full_of_zeros),
        cmocka_unit_test(a_new_table_lies_in_large_pages_for_all_who_open_it),
        cmocka_unit_test(a_table_on_a_disk_works_without_them),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
