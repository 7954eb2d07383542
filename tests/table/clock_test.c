/* The table's clock: through steps of the wall clock, restarts and reboots.  All clocks are made up. */
#include "table_test_support.h"

static int64_t boot_ns, wall_ns;

static int64_t made_up_boot(void)
{
    return boot_ns;
}

static int64_t made_up_wall(void)
{
    return wall_ns;
}

static char path[64];

static struct table *open_table(const char *boot_id)
{
    char error[512] = "";
    struct table_options options = { .path = path,
                                     .keys = 64,
                                     .owner = (uid_t)-1,
                                     .group = (gid_t)-1,
                                     .boot_id = boot_id,
                                     .boot_clock = made_up_boot,
                                     .wall_clock = made_up_wall };
    struct table *table = table_open(&options, error, sizeof error);
    if (table == NULL)
        fail_msg("%s", error);
    return table;
}

static int set_clocks(void **state)
{
    (void)state;
    boot_ns = 5000 * (int64_t)SECOND;
    wall_ns = (int64_t)NOW;
    snprintf(path, sizeof path, "/dev/shm/drossel-clock-%ld", (long)getpid());
    unlink(path);
    return 0;
}

static int remove_table(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void pass(int64_t seconds)
{
    boot_ns += seconds * (int64_t)SECOND;
    wall_ns += seconds * (int64_t)SECOND;
}

static void it_starts_at_the_wall_clock_and_ignores_its_steps(void **state)
{
    (void)state;
    struct table *table = open_table("boot-a");
    assert_int_equal(table_now(table), NOW);
    pass(10);
    assert_int_equal(table_now(table), NOW + 10 * SECOND);
    wall_ns -= 2 * 86400 * (int64_t)SECOND;
    assert_int_equal(table_now(table), NOW + 10 * SECOND);
    wall_ns += 9 * 86400 * (int64_t)SECOND;
    pass(1);
    assert_int_equal(table_now(table), NOW + 11 * SECOND);
    table_close(table);
}

static void it_goes_on_when_it_is_opened_again(void **state)
{
    (void)state;
    struct table *table = open_table("boot-a");
    pass(3);
    (void)table_now(table);
    table_close(table);
    pass(100);
    wall_ns -= 50 * (int64_t)SECOND; /* somebody set the clock meanwhile */
    table = open_table("boot-a");
    assert_int_equal(table_now(table), NOW + 103 * SECOND);
    table_close(table);
}

static void a_reboot_keeps_counters_and_blocks_and_counts_the_time_away(void **state)
{
    (void)state;
    struct table *table = open_table("boot-a");
    struct engine_spec spec = { .count = 2, .period_ns = 60 * SECOND, .block_ns = 600 * SECOND };
    uint16_t limit = register_limit(table, "login", spec);
    pass(2);
    for (int i = 0; i < 3; i++)
        charge_one(table, key_of(1), limit, table_now(table), NULL);
    charge_one(table, key_of(2), limit, table_now(table), NULL);
    table_close(table);

    boot_ns = 20 * (int64_t)SECOND; /* another boot; the wall clock says 30 s have passed */
    wall_ns += 30 * (int64_t)SECOND;
    table = open_table("boot-b");
    assert_int_equal(table_now(table), NOW + 32 * SECOND);
    struct engine_verdict verdict;
    assert_false(charge_one(table, key_of(1), limit, table_now(table), &verdict));
    assert_true(verdict.blocked);
    assert_int_equal(verdict.wait_ns, 570 * SECOND);
    assert_true(charge_one(table, key_of(2), limit, table_now(table), &verdict));
    assert_int_equal(verdict.remaining, 0);
    table_close(table);
}

static void a_reboot_with_a_wall_clock_in_the_past_does_not_go_back(void **state)
{
    (void)state;
    struct table *table = open_table("boot-a");
    pass(500);
    uint64_t before_ns = table_now(table);
    table_close(table);
    boot_ns = 0;
    wall_ns = 0; /* no battery */
    table = open_table("boot-b");
    assert_int_equal(table_now(table), before_ns);
    pass(5);
    assert_int_equal(table_now(table), before_ns + 5 * SECOND);
    table_close(table);
    table = open_table("boot-b"); /* the second one to open it finds the offset set */
    assert_int_equal(table_now(table), before_ns + 5 * SECOND);
    table_close(table);
}

/* Overflow is the sanitizers' to report. */
static void a_wall_clock_of_any_value_breaks_nothing(void **state)
{
    (void)state;
    static const int64_t walls[] = { 0, INT64_MAX, INT64_MIN, -5, INT64_MAX, INT64_MIN };
    char boot_id[] = "boot-0";
    uint64_t last_ns = 0;
    for (unsigned i = 0; i < sizeof walls / sizeof walls[0]; i++) {
        wall_ns = walls[i];
        boot_id[5] = (char)('0' + i);
        struct table *table = open_table(boot_id);
        assert_true(table_now(table) >= last_ns);
        boot_ns += 2 * (int64_t)SECOND;
        last_ns = table_now(table);
        assert_true(last_ns >= 2 * SECOND);
        table_close(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_starts_at_the_wall_clock_and_ignores_its_steps, set_clocks, remove_table),
        cmocka_unit_test_setup_teardown(it_goes_on_when_it_is_opened_again, set_clocks, remove_table),
        cmocka_unit_test_setup_teardown(a_reboot_keeps_counters_and_blocks_and_counts_the_time_away, set_clocks,
                                        remove_table),
        cmocka_unit_test_setup_teardown(a_reboot_with_a_wall_clock_in_the_past_does_not_go_back, set_clocks,
                                        remove_table),
        cmocka_unit_test_setup_teardown(a_wall_clock_of_any_value_breaks_nothing, set_clocks, remove_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
