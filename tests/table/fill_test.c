/* How full a table is said to be. */
#include "table_test_support.h"

#include "table/fill.h"

static void all_of_a_small_table_is_looked_at(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    struct engine_spec spec = { .count = 3, .period_ns = 10 * SECOND };
    struct engine_spec blocking = { .count = 1, .period_ns = 10 * SECOND, .block_ns = 60 * SECOND };
    uint16_t limit = register_limit(table, "plain", spec), block = register_limit(table, "block", blocking);
    for (uint64_t i = 0; i < 5; i++)
        assert_true(charge_one(table, key_of(i), limit, NOW, NULL));
    for (unsigned i = 0; i < 3; i++)
        (void)charge_one(table, key_of(100), limit, NOW, NULL);
    for (unsigned i = 0; i < 2; i++)
        (void)charge_one(table, key_of(200), block, NOW, NULL);
    static const struct {
        uint64_t after_ns, used, live, full, blocked;
    } cases[] = { { 1, 7, 7, 2, 1 }, { 20 * SECOND, 7, 1, 1, 1 }, { 3600 * SECOND, 7, 0, 0, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table_fill fill;
        table_fill(table, NOW + cases[i].after_ns, 4096, &fill);
        assert_int_equal(fill.slots, 1024 + TABLE_NEIGHBOURS - 1);
        assert_int_equal(fill.looked_at, fill.slots);
        assert_int_equal(fill.used, cases[i].used);
        assert_int_equal(fill.live, cases[i].live);
        assert_int_equal(fill.full, cases[i].full);
        assert_int_equal(fill.blocked, cases[i].blocked);
        assert_int_equal(table_fill_scale(&fill, fill.used), cases[i].used);
    }
    table_close(table);
}

/* 20,000 of 65,543 places are taken; of 4,096 that are looked at the share is known to within some 3 times 0.7 %. */
static void a_part_stands_for_the_whole_of_a_large_one(void **state)
{
    (void)state;
    struct table *table = open_private_table(65536);
    uint16_t limit = register_limit(table, "plain", (struct engine_spec){ .count = 3, .period_ns = 10 * SECOND });
    for (uint64_t i = 0; i < 20000; i++)
        assert_true(charge_one(table, key_of(i), limit, NOW, NULL));
    struct table_fill whole, part;
    table_fill(table, NOW, UINT64_MAX, &whole);
    table_fill(table, NOW, 4096, &part);
    assert_int_equal(whole.looked_at, 65543);
    assert_int_equal(part.looked_at, 4096);
    assert_int_equal(part.slots, 65543);
    assert_in_range(table_fill_scale(&part, part.used), whole.used - 1600, whole.used + 1600);
    table_close(table);
}

static void never_more_is_looked_at_than_was_said(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    static const struct {
        uint64_t most, looked_at;
    } cases[] = { { 0, 16 }, { 1, 16 }, { 16, 16 }, { 31, 16 }, { 70, 64 }, { 71, 71 }, { 1000, 71 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table_fill fill;
        table_fill(table, NOW, cases[i].most, &fill);
        assert_int_equal(fill.looked_at, cases[i].looked_at);
        assert_int_equal(fill.used, 0);
    }
    table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_a_small_table_is_looked_at),
        cmocka_unit_test(a_part_stands_for_the_whole_of_a_large_one),
        cmocka_unit_test(never_more_is_looked_at_than_was_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
