/* P5: a flood of fresh keys frees neither a blocked key nor one that is at its limit, and fails no request. */
#include "table_test_support.h"

#define VICTIMS 16

static void ten_million_fresh_keys_free_no_victim(void **state)
{
    (void)state;
    struct table *table = open_private_table(65536);
    struct engine_spec spec = { .count = 50, .period_ns = 3600 * SECOND };
    struct engine_spec blocking = { .count = 5, .period_ns = 60 * SECOND, .block_ns = 7200 * SECOND };
    uint16_t page = register_limit(table, "page", spec), login = register_limit(table, "login", blocking);
    for (uint64_t victim = 0; victim < VICTIMS; victim++) {
        for (int i = 0; i < 50; i++)
            assert_true(charge_one(table, key_of(victim), page, NOW, NULL));
        for (int i = 0; i < 6; i++)
            charge_one(table, key_of(VICTIMS + victim), login, NOW, NULL);
    }
    uint64_t flood = SANITIZED ? 300000 : 10000000, failed = 0;
    for (uint64_t n = 0; n < flood; n++)
        failed += !charge_one(table, key_of(1000 + n), page, NOW + n * 1000, NULL);
    assert_int_equal(failed, 0);
    struct engine_verdict verdict;
    for (uint64_t victim = 0; victim < VICTIMS; victim++) {
        assert_false(charge_one(table, key_of(victim), page, NOW + 60 * SECOND, &verdict));
        assert_false(charge_one(table, key_of(VICTIMS + victim), login, NOW + 60 * SECOND, &verdict));
        assert_true(verdict.blocked);
    }
    struct table_counts counts;
    table_counts(table, &counts);
    assert_int_equal(counts.evicted_blocked, 0);
    assert_int_equal(counts.evicted_full, 0);
    assert_true(counts.evicted_live > flood / 2);
    assert_null(table_validate(table, NOW + 60 * SECOND));
    table_close(table);
}

/* With a limit of one every key is at its limit at once: the flood displaces itself, not the victim. */
static void a_flood_of_keys_that_are_full_at_once_displaces_itself(void **state)
{
    (void)state;
    struct table *table = open_private_table(4096);
    struct engine_spec spec = { .count = 1, .period_ns = 3600 * SECOND };
    uint16_t once = register_limit(table, "once", spec);
    for (uint64_t victim = 0; victim < VICTIMS; victim++)
        assert_true(charge_one(table, key_of(victim), once, NOW, NULL));
    for (uint64_t n = 0; n < 200000; n++)
        assert_true(charge_one(table, key_of(1000 + n), once, NOW + SECOND + n * 1000000, NULL));
    for (uint64_t victim = 0; victim < VICTIMS; victim++)
        assert_false(charge_one(table, key_of(victim), once, NOW + 300 * SECOND, NULL));
    table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_million_fresh_keys_free_no_victim),
        cmocka_unit_test(a_flood_of_keys_that_are_full_at_once_displaces_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
