/* Charging several keys: all or nothing (P3). */
#include "../table/table_test_support.h"

static struct store_charge charge_for(struct table *table, uint64_t key, uint16_t limit, bool advisory)
{
    struct store_charge charge = {
        .key = key_of(key), .limit = table_engine_at(table, limit), .cost = 1, .limit_id = limit, .advisory = advisory
    };
    return charge;
}

static bool charge_all(struct table *table, struct store_charge *charges, uint32_t count, uint64_t now_ns)
{
    struct table_hold hold[8];
    struct store_batch batch = { .charge = charges, .hold = hold, .count = count, .now_ns = now_ns };
    return store_table_charge(table, &batch);
}

static uint64_t used(struct table *table, uint64_t key, uint16_t limit)
{
    struct engine_verdict verdict;
    struct store_charge ask = charge_for(table, key, limit, false);
    ask.cost = 0;
    (void)charge_all(table, &ask, 1, NOW);
    verdict = ask.verdict;
    return verdict.used;
}

static struct engine_spec per_minute(uint64_t count)
{
    return (struct engine_spec){ .count = count, .period_ns = 60 * SECOND };
}

/* P3 */
static void a_request_refused_by_one_limit_spends_nothing_from_the_others(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    uint16_t wide = register_limit(table, "wide", per_minute(60)),
             narrow = register_limit(table, "narrow", per_minute(10));
    for (int i = 0; i < 30; i++) {
        struct store_charge charges[2] = { charge_for(table, 1, wide, false), charge_for(table, 2, narrow, false) };
        assert_int_equal(charge_all(table, charges, 2, NOW), i < 10);
        assert_int_equal(charges[0].verdict.allowed, true);
        assert_int_equal(charges[1].verdict.allowed, i < 10);
    }
    assert_int_equal(used(table, 1, wide), 10);
    assert_int_equal(used(table, 2, narrow), 10);
    table_close(table);
}

static void an_advisory_refusal_stops_nobody_and_is_not_charged(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    uint16_t wide = register_limit(table, "wide", per_minute(60)),
             trial = register_limit(table, "trial", per_minute(10));
    for (int i = 0; i < 30; i++) {
        struct store_charge charges[2] = { charge_for(table, 1, wide, false), charge_for(table, 2, trial, true) };
        assert_true(charge_all(table, charges, 2, NOW));
        assert_int_equal(charges[1].verdict.allowed, i < 10);
    }
    assert_int_equal(used(table, 1, wide), 30);
    assert_int_equal(used(table, 2, trial), 10);
    table_close(table);
}

/* P3 */
static void a_refused_request_writes_nothing_but_its_own_block(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    struct engine_spec blocking = per_minute(2);
    blocking.block_ns = 600 * SECOND;
    uint16_t wide = register_limit(table, "wide", per_minute(60)), login = register_limit(table, "login", blocking);
    for (int i = 0; i < 5; i++) {
        struct store_charge charges[3] = { charge_for(table, 1, wide, false), charge_for(table, 2, login, false),
                                           charge_for(table, (uint64_t)i + 10, wide, false) };
        assert_int_equal(charge_all(table, charges, 3, NOW), i < 2);
        if (i == 2)
            assert_true(charges[1].verdict.started_block);
        if (i > 2)
            assert_true(charges[1].verdict.blocked && charges[0].verdict.allowed && charges[0].verdict.used == 2);
    }
    assert_int_equal(used(table, 1, wide), 2);
    assert_int_equal(table_find(table, key_of(12)), TABLE_NO_SLOT);
    table_close(table);
}

/* P2: who waits for the block alone would be refused again. */
static void beside_a_running_block_the_longer_wait_of_another_limit_is_told(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    struct engine_spec blocking = per_minute(2);
    blocking.block_ns = 5 * SECOND;
    uint16_t hourly = register_limit(table, "hourly", (struct engine_spec){ .count = 2, .period_ns = 3600 * SECOND });
    uint16_t login = register_limit(table, "login", blocking);
    for (int i = 0; i < 4; i++) {
        struct store_charge charges[2] = { charge_for(table, 1, hourly, false), charge_for(table, 2, login, false) };
        assert_int_equal(charge_all(table, charges, 2, NOW), i < 2);
        if (i == 3) {
            assert_true(charges[1].verdict.blocked && charges[0].judged && !charges[0].verdict.allowed);
            assert_int_equal(charges[0].verdict.wait_ns, 3600 * SECOND);
        }
    }
    assert_int_equal(used(table, 1, hourly), 2);
    table_close(table);
}

static void a_refusal_tells_what_is_left_of_limits_that_had_room_uncharged(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    uint16_t wide = register_limit(table, "wide", per_minute(60)),
             narrow = register_limit(table, "narrow", per_minute(3));
    for (unsigned i = 0; i < 5; i++) {
        struct store_charge charges[2] = { charge_for(table, 1, wide, false), charge_for(table, 2, narrow, false) };
        assert_int_equal(charge_all(table, charges, 2, NOW), i < 3);
        assert_int_equal(charges[0].verdict.used, i < 3 ? i + 1 : 3);
        assert_int_equal(charges[0].verdict.remaining, i < 3 ? 59 - i : 57);
    }
    table_close(table);
}

/* A block that the policy began is cut to the policy's longest one when the clock steps back; one by hand is not. */
static void a_block_after_a_step_of_the_clock_is_as_long_as_its_strikes_allow(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    struct engine_spec blocking = per_minute(1);
    blocking.block_ns = blocking.block_max_ns = 100 * SECOND;
    uint16_t login = register_limit(table, "login", blocking);
    struct engine_verdict verdict;
    charge_one(table, key_of(1), login, NOW, NULL);
    charge_one(table, key_of(1), login, NOW, &verdict);
    assert_true(verdict.started_block);
    assert_false(charge_one(table, key_of(1), login, NOW - 5000 * SECOND, &verdict));
    assert_int_equal(verdict.wait_ns, 100 * SECOND);
    struct table_hold hold;
    assert_int_equal(table_take(table, key_of(1), login, NOW, table_ticket(table), &hold), TABLE_TAKEN);
    engine_block(&hold.state, 9000 * SECOND, NOW);
    assert_true(table_put(table, &hold, key_of(1), login));
    assert_false(charge_one(table, key_of(1), login, NOW, &verdict));
    assert_int_equal(verdict.wait_ns, 9000 * SECOND);
    table_close(table);
}

static void extend_starts_a_running_block_anew(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    struct engine_spec blocking = per_minute(1);
    blocking.block_ns = 100 * SECOND;
    blocking.flags = ENGINE_EXTEND;
    uint16_t login = register_limit(table, "login", blocking);
    charge_one(table, key_of(1), login, NOW, NULL);
    struct engine_verdict verdict;
    for (uint64_t t = 0; t < 5; t++) {
        assert_false(charge_one(table, key_of(1), login, NOW + t * 99 * SECOND, &verdict));
        assert_int_equal(verdict.wait_ns, 100 * SECOND);
    }
    assert_true(charge_one(table, key_of(1), login, NOW + 4 * 99 * SECOND + 100 * SECOND, NULL));
    table_close(table);
}

static void a_cost_of_zero_asks_and_leaves_no_slot(void **state)
{
    (void)state;
    struct table *table = open_private_table(1024);
    uint16_t page = register_limit(table, "page", per_minute(2));
    struct store_charge ask = charge_for(table, 1, page, false);
    ask.cost = 0;
    assert_true(charge_all(table, &ask, 1, NOW));
    assert_int_equal(ask.verdict.remaining, 2);
    assert_int_equal(table_find(table, key_of(1)), TABLE_NO_SLOT);
    table_close(table);
}

static void keys_that_are_neighbours_are_charged_together(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t page = register_limit(table, "page", per_minute(3));
    for (int round = 0; round < 4; round++) {
        struct store_charge charges[6];
        for (uint64_t i = 0; i < 6; i++) {
            charges[i] = charge_for(table, i, page, false);
            charges[i].key.home = 20 + i % 2;
        }
        assert_int_equal(charge_all(table, charges, 6, NOW), round < 3);
        for (uint64_t i = 0; i < 6; i++)
            assert_int_equal(charges[i].verdict.used, round < 3 ? round + 1 : 3);
    }
    assert_null(table_validate(table, NOW));
    table_close(table);
}

static void a_refund_goes_back_to_its_window_and_never_twice_too_much(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    struct engine_spec spec = per_minute(5);
    spec.flags = ENGINE_REFUNDABLE;
    uint16_t login = register_limit(table, "login", spec);
    struct store_charge charge = charge_for(table, 1, login, false);
    assert_true(charge_all(table, &charge, 1, NOW));
    struct store_settlement of = { .key = charge.key, .limit_id = login, .cost = 1, .mark = charge.verdict.mark };
    assert_int_equal(store_table_settle(table, &of, NOW + SECOND), 1);
    assert_int_equal(used(table, 1, login), 0);
    assert_int_equal(store_table_settle(table, &of, NOW + SECOND), 0);
    of.key = key_of(99);
    assert_int_equal(store_table_settle(table, &of, NOW + SECOND), 0);
    table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_refused_by_one_limit_spends_nothing_from_the_others),
        cmocka_unit_test(an_advisory_refusal_stops_nobody_and_is_not_charged),
        cmocka_unit_test(a_refused_request_writes_nothing_but_its_own_block),
        cmocka_unit_test(beside_a_running_block_the_longer_wait_of_another_limit_is_told),
        cmocka_unit_test(a_refusal_tells_what_is_left_of_limits_that_had_room_uncharged),
        cmocka_unit_test(a_block_after_a_step_of_the_clock_is_as_long_as_its_strikes_allow),
        cmocka_unit_test(extend_starts_a_running_block_anew),
        cmocka_unit_test(a_cost_of_zero_asks_and_leaves_no_slot),
        cmocka_unit_test(keys_that_are_neighbours_are_charged_together),
        cmocka_unit_test(a_refund_goes_back_to_its_window_and_never_twice_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
