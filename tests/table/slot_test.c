/* Slots: insertion, the choice of a victim, names, forgetting, the dead holder. */
#include "table_test_support.h"

#include <sys/wait.h>

/* Keys whose home is one given slot of a table of 64. */
static struct table_key neighbour(uint64_t home, uint64_t n)
{
    struct table_key key = key_of(n + 1000);
    key.home = home;
    return key;
}

static uint16_t page_limit(struct table *table)
{
    struct engine_spec spec = { .count = 10, .period_ns = 10 * SECOND, .block_ns = 600 * SECOND };
    return register_limit(table, "page", spec);
}

static void use(struct table *table, struct table_key key, uint16_t limit, unsigned times, uint64_t now_ns)
{
    for (unsigned i = 0; i < times; i++)
        charge_one(table, key, limit, now_ns, NULL);
}

static uint64_t used(struct table *table, struct table_key key, uint64_t now_ns)
{
    uint64_t slot = table_find(table, key);
    if (slot == TABLE_NO_SLOT)
        return 0;
    struct table_entry entry;
    assert_true(table_next(table, &slot, &entry));
    return engine_used(&entry.state, table_engine_at(table, entry.limit), now_ns);
}

static void a_key_is_found_again_and_counted(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    use(table, key_of(1), limit, 3, NOW);
    use(table, key_of(2), limit, 4, NOW);
    assert_int_equal(used(table, key_of(1), NOW), 3);
    assert_int_equal(used(table, key_of(2), NOW), 4);
    assert_null(table_validate(table, NOW));
    table_close(table);
}

static void the_last_home_has_eight_places_too(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    for (uint64_t n = 0; n < 8; n++)
        use(table, neighbour(63, n), limit, 2, NOW);
    for (uint64_t n = 0; n < 8; n++)
        assert_int_equal(used(table, neighbour(63, n), NOW), 2);
    assert_null(table_validate(table, NOW));
    table_close(table);
}

/* P5 */
static void of_eight_neighbours_the_one_whose_loss_changes_least_goes(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    use(table, neighbour(5, 0), limit, 11, NOW);              /* blocked for 600 s */
    use(table, neighbour(5, 1), limit, 10, NOW);              /* at its limit */
    use(table, neighbour(5, 2), limit, 3, NOW - 20 * SECOND); /* expired */
    for (uint64_t n = 3; n < 8; n++)
        use(table, neighbour(5, n), limit, (unsigned)n, NOW);
    use(table, neighbour(5, 8), limit, 9, NOW); /* the expired one goes */
    assert_int_equal(used(table, neighbour(5, 2), NOW), 0);
    assert_int_equal(used(table, neighbour(5, 3), NOW), 3);
    use(table, neighbour(5, 9), limit, 9, NOW); /* then the one closest to a full quota */
    assert_int_equal(used(table, neighbour(5, 3), NOW), 0);
    assert_int_equal(used(table, neighbour(5, 4), NOW), 4);
    struct table_counts counts;
    table_counts(table, &counts);
    assert_int_equal(counts.evicted_expired, 1);
    assert_int_equal(counts.evicted_live, 1);
    assert_int_equal(counts.evicted_full, 0);
    assert_int_equal(counts.evicted_blocked, 0);
    assert_false(charge_one(table, neighbour(5, 0), limit, NOW, NULL));
    assert_null(table_validate(table, NOW));
    table_close(table);
}

/* P5 */
static void a_blocked_key_goes_only_when_all_eight_are_and_then_the_first_to_end(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    for (uint64_t n = 0; n < 8; n++)
        use(table, neighbour(9, n), limit, 11, NOW + (n == 4 ? 0 : SECOND) + n * 1000000);
    struct engine_verdict verdict;
    assert_true(charge_one(table, neighbour(9, 8), limit, NOW + 2 * SECOND, &verdict));
    struct table_counts counts;
    table_counts(table, &counts);
    assert_int_equal(counts.evicted_blocked, 1);
    assert_int_equal(table_find(table, neighbour(9, 4)), TABLE_NO_SLOT);
    table_close(table);
}

static void a_refused_request_displaces_nobody(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    for (uint64_t n = 0; n < 8; n++)
        use(table, neighbour(9, n), limit, 5, NOW);
    use(table, key_of(1), limit, 11, NOW);
    struct store_charge charge[2] = {
        { .key = neighbour(9, 20), .limit = table_engine_at(table, limit), .cost = 1, .limit_id = limit },
        { .key = key_of(1), .limit = table_engine_at(table, limit), .cost = 1, .limit_id = limit },
    };
    struct table_hold hold[2];
    struct store_batch batch = { .charge = charge, .hold = hold, .count = 2, .now_ns = NOW };
    assert_false(store_table_charge(table, &batch));
    for (uint64_t n = 0; n < 8; n++)
        assert_int_equal(used(table, neighbour(9, n), NOW), 5);
    table_close(table);
}

static void a_name_belongs_to_its_key_only(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    struct table_hold hold;
    assert_int_equal(table_insert(table, key_of(1), limit, NOW, table_ticket(table), &hold), TABLE_TAKEN);
    table_name_set(table, &hold, key_of(1), "203.0.113.7", 11);
    assert_true(table_put(table, &hold, key_of(1), limit));
    uint64_t slot = 0;
    struct table_entry entry;
    assert_true(table_next(table, &slot, &entry));
    assert_string_equal(entry.name, "203.0.113.7");
    assert_true(table_forget(table, &entry, NOW));
    assert_false(table_forget(table, &entry, NOW));
    slot = 0;
    assert_false(table_next(table, &slot, &entry));
    table_close(table);
}

static void a_key_that_comes_back_has_its_name_still_by_the_same_rules_only(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    struct table_hold hold;
    struct table_key named = key_of(1), otherwise = key_of(1), other = key_of(2);
    named.tag |= 7;
    otherwise.tag |= 8;
    assert_int_equal(table_insert(table, key_of(1), limit, NOW, table_ticket(table), &hold), TABLE_TAKEN);
    assert_false(table_name_is_set(table, &hold, named));
    table_name_set(table, &hold, named, "#0123abcd", 9);
    assert_true(table_put(table, &hold, key_of(1), limit));
    uint64_t slot = 0;
    struct table_entry entry;
    assert_true(table_next(table, &slot, &entry));
    assert_string_equal(entry.name, "#0123abcd"); /* the rules are no part of the key */
    assert_true(table_forget(table, &entry, NOW));
    assert_int_equal(table_insert(table, key_of(1), limit, NOW, table_ticket(table), &hold), TABLE_TAKEN);
    assert_true(hold.fresh);
    assert_true(table_name_is_set(table, &hold, named));
    assert_false(table_name_is_set(table, &hold, otherwise));
    assert_false(table_name_is_set(table, &hold, other));
    table_drop(table, &hold);
    table_close(table);
}

/* P6 */
static void a_guard_left_by_the_dead_is_taken_over(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    use(table, key_of(1), limit, 4, NOW);
    pid_t child = fork();
    if (child == 0) {
        struct table_hold hold;
        _exit(table_take(table, key_of(1), limit, NOW, table_ticket(table), &hold) == TABLE_TAKEN ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct engine_verdict verdict;
    assert_true(charge_one(table, key_of(1), limit, NOW, &verdict));
    assert_int_equal(verdict.used, 5);
    struct table_counts counts;
    table_counts(table, &counts);
    assert_int_equal(counts.taken_over, 1);
    table_close(table);
}

/* P6 */
static void who_lost_his_guard_writes_nothing(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    uint16_t limit = page_limit(table);
    use(table, key_of(1), limit, 4, NOW);
    struct table_hold slow, busy;
    assert_int_equal(table_take(table, key_of(1), limit, NOW, table_ticket(table), &slow), TABLE_TAKEN);
    assert_int_equal(table_take(table, key_of(1), limit, NOW, table_ticket(table), &busy), TABLE_BUSY);
    table_wait(table, &busy, NOW);
    assert_false(table_holds(table, &slow));
    use(table, key_of(1), limit, 2, NOW);
    slow.state.tally = 0;
    slow.state.log[3] = 0;
    assert_false(table_put(table, &slow, key_of(1), limit));
    assert_int_equal(used(table, key_of(1), NOW), 6);
    table_close(table);
}

static void tickets_of_parent_and_child_differ(void **state)
{
    (void)state;
    int pipes[2];
    struct table *table = open_private_table(64);
    (void)table_ticket(table);
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        uint32_t ticket = table_ticket(table);
        _exit(write(pipes[1], &ticket, sizeof ticket) != sizeof ticket);
    }
    uint32_t theirs = 0, ours = table_ticket(table);
    assert_int_equal(read(pipes[0], &theirs, sizeof theirs), sizeof theirs);
    waitpid(child, NULL, 0);
    assert_int_not_equal(theirs, ours);
    assert_int_not_equal(theirs, 0);
    close(pipes[0]);
    close(pipes[1]);
    table_close(table);
}

static void a_changed_number_keeps_what_was_counted(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    struct engine_spec ten = { .count = 10, .period_ns = 10 * SECOND },
                       twelve = { .count = 12, .period_ns = 10 * SECOND };
    uint16_t before = register_limit(table, "page", ten), after = register_limit(table, "page", twelve);
    assert_int_not_equal(before, after);
    use(table, key_of(1), before, 10, NOW);
    struct engine_verdict verdict;
    assert_true(charge_one(table, key_of(1), after, NOW + 1, &verdict));
    assert_int_equal(verdict.remaining, 1);
    assert_null(table_validate(table, NOW + 1));
    table_close(table);
}

static void a_full_registry_is_told_by_minus_one(void **state)
{
    (void)state;
    struct table *table = open_private_table(64);
    struct table_limit limit = { .name = "x", .spec = { .count = 1, .period_ns = SECOND, .factor_milli = 1000 } };
    int index = 0;
    for (uint64_t n = 1; index >= 0 && n < 2 * TABLE_LIMITS_MAX; n++) {
        limit.seed = n;
        index = table_limit_register(table, &limit);
    }
    assert_int_equal(index, -1);
    assert_int_equal(table_limit_count(table), TABLE_LIMITS_MAX);
    limit.seed = 1;
    assert_true(table_limit_register(table, &limit) > 0); /* a known one is still found */
    table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_found_again_and_counted),
        cmocka_unit_test(the_last_home_has_eight_places_too),
        cmocka_unit_test(of_eight_neighbours_the_one_whose_loss_changes_least_goes),
        cmocka_unit_test(a_blocked_key_goes_only_when_all_eight_are_and_then_the_first_to_end),
        cmocka_unit_test(a_refused_request_displaces_nobody),
        cmocka_unit_test(a_name_belongs_to_its_key_only),
        cmocka_unit_test(a_key_that_comes_back_has_its_name_still_by_the_same_rules_only),
        cmocka_unit_test(a_guard_left_by_the_dead_is_taken_over),
        cmocka_unit_test(who_lost_his_guard_writes_nothing),
        cmocka_unit_test(tickets_of_parent_and_child_differ),
        cmocka_unit_test(a_changed_number_keeps_what_was_counted),
        cmocka_unit_test(a_full_registry_is_told_by_minus_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
