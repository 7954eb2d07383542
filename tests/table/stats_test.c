/* The table's statistics: exact sums, offenders that give way, nothing lost to the killed, nothing reserved in vain. */
#include "table_test_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#include "table/layout.h"
#include "table/stats.h"

#define MILLISECOND UINT64_C(1000000)
#define THREADS 8
#define ROUNDS 20000

static char folder[] = "/tmp/drossel-stats-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static struct table *open_table(const char *path, bool names, bool no_stats)
{
    char error[512] = "";
    struct table_options options = {
        .path = path, .keys = 64, .names = names, .no_stats = no_stats, .owner = (uid_t)-1, .group = (gid_t)-1
    };
    if (path == NULL)
        options.start_ns = NOW;
    struct table *table = table_open(&options, error, sizeof error);
    if (table == NULL)
        fail_msg("%s", error);
    return table;
}

static const char *path_in(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static uint16_t limit_in(struct table *table)
{
    return register_limit(table, "page", (struct engine_spec){ .count = 10, .period_ns = SECOND });
}

static size_t put_name(void *context, char *out, size_t cap)
{
    int size = snprintf(out, cap, "192.0.2.%d", *(int *)context);
    return (size_t)size;
}

/* The key `n` was refused by the limit at `now_ns`. */
static void offend(struct table *table, uint16_t limit, int n, uint64_t now_ns)
{
    struct table_offence offence = { .key = key_of((uint64_t)n),
                                     .limit = limit,
                                     .verdict = TABLE_REFUSED,
                                     .now_ns = now_ns,
                                     .name = put_name,
                                     .context = &n };
    table_stats_offend(table, &offence);
}

/* Finds the key `n` among the offenders. */
static bool find(const struct table *table, int n, struct table_offender *offender)
{
    for (uint32_t at = 0; table_stats_next(table, &at, offender);)
        if (offender->tag == (key_of((uint64_t)n).tag & TABLE_TAG_MASK))
            return true;
    return false;
}

static unsigned count_offenders(const struct table *table)
{
    struct table_offender offender;
    unsigned count = 0;
    for (uint32_t at = 0; table_stats_next(table, &at, &offender);)
        count++;
    return count;
}

/* ---- sums ---- */

struct counting {
    struct table *table;
    uint16_t limit;
};

static void *count_all(void *context)
{
    const struct counting *counting = context;
    (void)table_ticket(counting->table); /* from here on the thread has a shard of its own */
    for (unsigned i = 0; i < ROUNDS; i++) {
        table_stats_count(counting->table, counting->limit, i % TABLE_TALLIES, i % 3 == 0);
        table_stats_time(counting->table, UINT64_C(1) << i % 40);
        offend(counting->table, counting->limit, (int)(i % 4), NOW + i);
    }
    return NULL;
}

/* All that `times` runs of count_all count. */
static void expect_sums(const struct counting *counting, uint64_t times)
{
    struct table_limit_stats stats;
    struct table_offender offender;
    uint64_t took[TABLE_TIMES], longest = 0;
    assert_true(table_stats_limit(counting->table, counting->limit, &stats));
    for (unsigned tally = 0; tally < TABLE_TALLIES; tally++) {
        uint64_t dry = 0, all = 0;
        for (unsigned i = 0; i < ROUNDS; i++) {
            all += i % TABLE_TALLIES == tally;
            dry += i % TABLE_TALLIES == tally && i % 3 == 0;
        }
        assert_int_equal(stats.dry_run[tally], dry * times);
        assert_int_equal(stats.count[tally], (all - dry) * times);
    }
    assert_true(table_stats_times(counting->table, took));
    for (unsigned i = 0; i < ROUNDS; i++)
        longest += i % 40 >= TABLE_TIMES - 1;
    assert_int_equal(took[TABLE_TIMES - 1], longest * times);
    assert_int_equal(took[0], (ROUNDS + 39) / 40 * times);
    for (int n = 0; n < 4; n++) {
        assert_true(find(counting->table, n, &offender));
        assert_in_range(offender.count[TABLE_REFUSED], 1, ROUNDS / 4 * times);
    }
}

static void sums_of_many_threads_are_exact(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    struct counting counting = { .table = open_private_table(64) };
    counting.limit = limit_in(counting.table);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count_all, &counting), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    expect_sums(&counting, THREADS);
    assert_int_equal(count_offenders(counting.table), 4); /* and none twice */
    table_close(counting.table);
}

static void sums_of_many_processes_are_exact_and_seen_by_all(void **state)
{
    (void)state;
    const char *path = path_in("shared");
    struct table *first = open_table(path, true, false);
    struct counting counting = { .limit = limit_in(first) };
    for (unsigned i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            counting.table = open_table(path, true, false);
            count_all(&counting);
            _exit(0);
        }
        assert_true(child > 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    counting.table = first;
    expect_sums(&counting, 4);
    table_close(first);
    counting.table = open_table(path, true, false);
    expect_sums(&counting, 4); /* also for who comes later */
    table_close(counting.table);
    unlink(path);
}

static void a_time_is_counted_under_its_power_of_two(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        unsigned power;
    } cases[] = { { 0, 0 },     { 1, 0 },           { 2, 1 },
                  { 3, 1 },     { 1023, 9 },        { 1024, 10 },
                  { 1500, 10 }, { UINT64_MAX, 31 }, { UINT64_C(1) << 31, 31 } };
    uint64_t times[TABLE_TIMES], before[TABLE_TIMES];
    struct table *table = open_private_table(64);
    limit_in(table);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(table_stats_times(table, before));
        table_stats_time(table, cases[i].ns);
        assert_true(table_stats_times(table, times));
        for (unsigned power = 0; power < TABLE_TIMES; power++)
            assert_int_equal(times[power], before[power] + (power == cases[i].power));
    }
    table_close(table);
}

/* ---- offenders ---- */

static void an_offender_has_its_name_its_counts_and_its_times(void **state)
{
    (void)state;
    struct table_offender offender;
    struct table *table = open_private_table(64);
    uint16_t limit = limit_in(table);
    for (unsigned i = 0; i < 5; i++)
        offend(table, limit, 7, NOW + i * SECOND);
    offend(table, limit, 7, NOW + 2 * SECOND); /* told late */
    struct table_offence marked = {
        .key = key_of(7), .limit = limit, .verdict = TABLE_MARKED, .now_ns = NOW + 9 * SECOND
    };
    table_stats_offend(table, &marked);
    assert_true(find(table, 7, &offender));
    assert_string_equal(offender.name, "192.0.2.7");
    assert_int_equal(offender.limit, limit);
    assert_false(offender.is_dry_run);
    assert_int_equal(offender.first_ns, NOW);
    assert_int_equal(offender.last_ns, NOW + 9 * SECOND);
    assert_int_equal(offender.count[TABLE_REFUSED], 6);
    assert_int_equal(offender.count[TABLE_MARKED], 1);
    assert_int_equal(offender.count[TABLE_DROPPED], 0);
    assert_int_equal(count_offenders(table), 1);
    table_close(table);
}

static void a_dry_run_is_noted_apart(void **state)
{
    (void)state;
    struct table_offender offender;
    struct table *table = open_private_table(64);
    uint16_t limit = limit_in(table);
    offend(table, limit, 7, NOW);
    struct table_offence dry = {
        .key = key_of(7), .limit = limit, .verdict = TABLE_DROPPED, .is_dry_run = true, .now_ns = NOW + SECOND
    };
    table_stats_offend(table, &dry);
    unsigned seen = 0;
    for (uint32_t at = 0; table_stats_next(table, &at, &offender); seen++) {
        assert_int_equal(offender.count[TABLE_DROPPED], offender.is_dry_run);
        assert_int_equal(offender.count[TABLE_REFUSED], !offender.is_dry_run);
        assert_int_equal(offender.first_ns, offender.is_dry_run ? NOW + SECOND : NOW);
    }
    assert_int_equal(seen, 2);
    table_close(table);
}

static void a_table_without_names_names_no_offender(void **state)
{
    (void)state;
    struct table_offender offender;
    struct table *table = open_table(NULL, false, false);
    offend(table, limit_in(table), 7, NOW);
    assert_true(find(table, 7, &offender));
    assert_string_equal(offender.name, "");
    table_close(table);
}

/* 3584 entries; of 20,000 keys that come one after the other only the last stay, but the one that goes on stays, too. */
static void who_was_not_seen_for_longest_gives_way(void **state)
{
    (void)state;
    struct table_offender offender;
    struct table *table = open_private_table(64);
    uint16_t limit = limit_in(table);
    uint64_t now_ns = NOW;
    for (int n = 1; n <= 20000; n++) {
        offend(table, limit, n, now_ns);
        offend(table, limit, 0, now_ns);
        now_ns += SECOND;
    }
    assert_true(find(table, 0, &offender));
    assert_int_equal(offender.count[TABLE_REFUSED], 20000);
    assert_int_equal(offender.first_ns, NOW);
    assert_true(find(table, 20000, &offender));
    assert_true(find(table, 19500, &offender));
    assert_false(find(table, 1, &offender));
    assert_false(find(table, 2000, &offender));
    assert_in_range(count_offenders(table), TABLE_OFFENDERS_MAX - 10, TABLE_OFFENDERS_MAX);
    for (uint32_t at = 0; table_stats_next(table, &at, &offender);)
        assert_int_equal(strncmp(offender.name, "192.0.2.", 8), 0);
    table_close(table);
}

static void a_flood_within_milliseconds_does_not_sweep_the_offenders_away(void **state)
{
    (void)state;
    struct table_offender offender;
    struct table *table = open_private_table(64);
    uint16_t limit = limit_in(table);
    unsigned still = 0;
    for (int n = 0; n < 3000; n++)
        offend(table, limit, n, NOW);
    for (int n = 3000; n < 200000; n++)
        offend(table, limit, n, NOW + MILLISECOND);
    for (int n = 0; n < 3000; n++)
        still += find(table, n, &offender);
    assert_in_range(still, 2000, 3000);
    table_close(table);
}

/* ---- the killed, the cut off, the full ---- */

static void a_writer_that_was_killed_in_a_set_is_not_waited_for(void **state)
{
    (void)state;
    struct table_offender offender;
    struct table *table = open_private_table(64);
    uint16_t limit = limit_in(table);
    offend(table, limit, 1, NOW);
    for (unsigned set = 0; set < OFFENDER_SETS; set++) { /* everywhere: with an entry half written */
        struct offender_set *held = &table->stats->offenders[set];
        atomic_store(&held->guard, NOW | 1);
        atomic_store(&held->offender[6].count[0], 99);
        atomic_store(&held->name[6].key, 12345);
    }
    offend(table, limit, 1, NOW + MILLISECOND); /* known: needs no guard */
    offend(table, limit, 2, NOW + MILLISECOND); /* not noted, not waited for */
    assert_true(find(table, 1, &offender));
    assert_int_equal(offender.count[TABLE_REFUSED], 2);
    assert_false(find(table, 2, &offender));
    for (int n = 2; n < 2000; n++)
        offend(table, limit, n, NOW + SECOND + MILLISECOND); /* taken over */
    for (uint32_t at = 0; table_stats_next(table, &at, &offender);) {
        assert_int_equal(offender.count[TABLE_MARKED], 0);
        assert_int_equal(strncmp(offender.name, "192.0.2.", 8), 0);
    }
    assert_true(count_offenders(table) > 1500); /* all but what found its set full */
    table_close(table);
}

static void a_child_that_is_killed_while_it_counts_leaves_valid_statistics(void **state)
{
    (void)state;
    struct table_limit_stats stats;
    struct table_offender offender;
    struct counting counting = { .table = open_private_table(64) };
    counting.limit = limit_in(counting.table);
    for (unsigned i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0)
            for (int n = 0;; n++) {
                table_stats_count(counting.table, counting.limit, TABLE_PASSED, false);
                offend(counting.table, counting.limit, n, NOW + (uint64_t)n * MILLISECOND);
            }
        uint64_t seen = 0;
        struct table_limit_stats before;
        table_stats_limit(counting.table, counting.limit, &before);
        while (seen <= before.count[TABLE_PASSED] + i * 7) {
            table_stats_limit(counting.table, counting.limit, &stats);
            seen = stats.count[TABLE_PASSED];
        }
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    for (uint32_t at = 0; table_stats_next(counting.table, &at, &offender);)
        assert_true(offender.first_ns <= offender.last_ns && offender.count[TABLE_REFUSED] > 0);
    for (int n = 5000; n < 6000; n++)
        offend(counting.table, counting.limit, n, NOW + (uint64_t)n * 1000 * SECOND);
    assert_true(find(counting.table, 5999, &offender));
    assert_string_equal(offender.name, "192.0.2.5999");
    table_close(counting.table);
}

static long long blocks_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (long long)status.st_blocks * 512;
}

static void statistics_take_no_memory_before_there_is_a_limit(void **state)
{
    (void)state;
    const char *path = path_in("small");
    struct table *table = open_table(path, true, false);
    assert_false(table_has_stats(table));
    long long before = blocks_of(path);
    assert_true(before < 1200000); /* header, registry and slots */
    limit_in(table);
    assert_true(table_has_stats(table));
    long long after = blocks_of(path);
    assert_in_range(after - before, 480 * 1024, 600 * 1024);
    for (unsigned i = 0; i < 28; i++) { /* on the pages that are there already */
        char name[16];
        snprintf(name, sizeof name, "limit%u", i);
        register_limit(table, name, (struct engine_spec){ .count = 10, .period_ns = SECOND });
    }
    assert_int_equal(blocks_of(path), after);
    table_close(table);
    unlink(path);
}

static void a_table_made_without_statistics_counts_and_tells_nothing(void **state)
{
    (void)state;
    const char *path = path_in("without");
    struct table_limit_stats stats;
    struct table_offender offender;
    uint64_t times[TABLE_TIMES];
    struct table *with = open_table(NULL, true, false), *table = open_table(path, true, true);
    assert_int_equal(table_bytes(with) - table_bytes(table), sizeof(struct stats));
    uint16_t limit = limit_in(table);
    table_stats_count(table, limit, TABLE_PASSED, false);
    table_stats_time(table, 100);
    offend(table, limit, 1, NOW);
    assert_false(table_has_stats(table));
    assert_false(table_stats_limit(table, limit, &stats));
    assert_false(table_stats_times(table, times));
    assert_false(find(table, 1, &offender));
    assert_int_equal(stats.count[TABLE_PASSED], 0);
    table_close(with);
    table_close(table);
    table = open_table(path, true, false); /* and is opened as what it is */
    assert_false(table_has_stats(table));
    table_close(table);
    unlink(path);
}

/* In a process of its own: cmocka takes SIGBUS for itself. */
static int count_on_a_cut_file(const char *path)
{
    struct table_limit_stats stats;
    struct table_offender offender;
    struct table *table = open_table(path, true, false);
    uint16_t limit = limit_in(table);
    table_stats_count(table, limit, TABLE_PASSED, false);
    offend(table, limit, 1, NOW);
    if (!table_stats_limit(table, limit, &stats) || stats.count[TABLE_PASSED] != 1 || !find(table, 1, &offender))
        return 2;
    if (truncate(path, TABLE_HEADER_BYTES) != 0)
        return 3;
    table_stats_count(table, limit, TABLE_PASSED, false);
    offend(table, limit, 2, NOW);
    table_stats_time(table, 1000);
    table_stats_limit(table, limit, &stats);
    if (!table_is_lost(table) || stats.count[TABLE_PASSED] > 1 || find(table, 1, &offender))
        return 4;
    table_close(table);
    return 0;
}

static void a_file_cut_off_under_the_statistics_kills_nobody(void **state)
{
    (void)state;
    const char *path = path_in("cut");
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "stats_test", "--cut", path, (char *)NULL);
        _exit(9);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    unlink(path);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--cut") == 0)
        return count_on_a_cut_file(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_many_threads_are_exact),
        cmocka_unit_test(sums_of_many_processes_are_exact_and_seen_by_all),
        cmocka_unit_test(a_time_is_counted_under_its_power_of_two),
        cmocka_unit_test(an_offender_has_its_name_its_counts_and_its_times),
        cmocka_unit_test(a_dry_run_is_noted_apart),
        cmocka_unit_test(a_table_without_names_names_no_offender),
        cmocka_unit_test(who_was_not_seen_for_longest_gives_way),
        cmocka_unit_test(a_flood_within_milliseconds_does_not_sweep_the_offenders_away),
        cmocka_unit_test(a_writer_that_was_killed_in_a_set_is_not_waited_for),
        cmocka_unit_test(a_child_that_is_killed_while_it_counts_leaves_valid_statistics),
        cmocka_unit_test(statistics_take_no_memory_before_there_is_a_limit),
        cmocka_unit_test(a_table_made_without_statistics_counts_and_tells_nothing),
        cmocka_unit_test(a_file_cut_off_under_the_statistics_kills_nobody),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
