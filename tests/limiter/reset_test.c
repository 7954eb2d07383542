/* What `drossel reset` leaves behind: nothing that is counted, and nothing for charges from before to be given back to. */
#include "limiter_test_support.h"

#define ADDRESS "192.0.2.1"

static struct drossel_decision ask(struct inner *inner, double t)
{
    struct drossel_request request = request_of(ADDRESS, "/login", t);
    struct drossel_decision decision;
    assert_int_equal(limiter_check(inner->limiter, &request, &decision), DROSSEL_OK);
    return decision;
}

static void settle(struct inner *inner, const struct drossel_decision *decision, enum drossel_outcome outcome, double t)
{
    limiter_settle(inner->table, &decision->ticket, outcome, NOW + (uint64_t)(t * 1e9));
}

/* Every key of the table but the tickets, which no reset finds. */
static unsigned reset(struct inner *inner, double t)
{
    struct table_entry entry;
    unsigned count = 0;
    for (uint64_t slot = 0; table_next(inner->table, &slot, &entry);)
        if (entry.limit != TABLE_LIMIT_TICKET)
            count += limiter_forget(inner->table, &entry, NOW + (uint64_t)(t * 1e9));
    return count;
}

/* Is there a key left whose loss would change anything? */
static bool is_anything_counted(struct inner *inner, double t)
{
    struct table_entry entry;
    for (uint64_t slot = 0; table_next(inner->table, &slot, &entry);)
        if (entry.limit != TABLE_LIMIT_TICKET &&
            engine_worth(&entry.state, table_engine_at(inner->table, entry.limit), NOW + (uint64_t)(t * 1e9)) > 0)
            return true;
    return false;
}

static const char *const limits[] = {
    "3 failures per 1h",
    "40 failures per 1h",
    "3 failures per 1h, algorithm: fixed, from: first",
    "3 failures per 1h, algorithm: fixed",
    "3 failures per 1h, algorithm: bucket",
    "3 failures per 1h, algorithm: leaky, burst: 2",
    "3 failures per 1h, block: 1h",
};

static struct inner open_limit(const char *allow)
{
    char policy[200];
    snprintf(policy, sizeof policy, "limits:\n  login: { by: address, allow: %s }\n", allow);
    return open_inner(policy);
}

/* An attacker would leave an answer open, wait for the administrator's reset, fail, and have that failure taken back by the old answer. */
static void a_charge_from_before_takes_no_newer_one_with_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct inner inner = open_limit(limits[i]);
        struct drossel_decision before[2] = { ask(&inner, 1), ask(&inner, 1) };
        assert_int_equal(reset(&inner, 2), 2); /* the limit's and that of open outcomes */
        assert_false(is_anything_counted(&inner, 2));
        struct drossel_decision failed = ask(&inner, 3);
        uint64_t left = failed.remaining;
        assert_int_equal(failed.verdict, DROSSEL_ALLOW);
        settle(&inner, &failed, DROSSEL_FAILURE, 3.5);
        settle(&inner, &before[0], DROSSEL_OTHER, 4);
        settle(&inner, &before[1], DROSSEL_SUCCESS, 4);
        struct drossel_decision after = ask(&inner, 4);
        if (after.remaining != left - 1)
            fail_msg("%s: %llu are left, and not %llu", limits[i], (unsigned long long)after.remaining,
                     (unsigned long long)left - 1);
        close_inner(&inner);
    }
}

static void one_that_is_made_since_is_given_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct inner inner = open_limit(limits[i]);
        (void)ask(&inner, 1);
        reset(&inner, 2);
        struct drossel_decision first = ask(&inner, 3);
        settle(&inner, &first, DROSSEL_OTHER, 4);
        assert_int_equal(ask(&inner, 4).remaining, first.remaining);
        close_inner(&inner);
    }
}

static void a_block_is_lifted_and_its_growth_forgotten(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  login: { by: address, allow: 1 failures per 1m, hold: 0, "
                                    "block: { for: 10m, factor: 3 } }\n");
    for (int round = 0; round < 2; round++) {
        struct drossel_decision failed = ask(&inner, round * 3600 + 1);
        settle(&inner, &failed, DROSSEL_FAILURE, round * 3600 + 1);
        struct drossel_decision refused = ask(&inner, round * 3600 + 2);
        assert_true(refused.verdict == DROSSEL_REFUSE && refused.started_block);
        assert_int_equal(refused.wait_ns, 600 * SECOND); /* the first of its kind, both times */
        assert_true(reset(&inner, round * 3600 + 3) > 0);
        struct drossel_decision again = ask(&inner, round * 3600 + 3);
        assert_int_equal(again.verdict, DROSSEL_ALLOW);
        settle(&inner, &again, DROSSEL_OTHER, round * 3600 + 3);
    }
    close_inner(&inner);
}

/* Where charges are not given back there is nothing to remember: the slot is free. */
static void an_ordinary_key_leaves_its_slot(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  page: { by: address, allow: 2 per 1h }\n");
    struct table_entry entry;
    uint64_t slot = 0;
    (void)ask(&inner, 1);
    uint64_t forgotten = table_forgotten(inner.table);
    assert_int_equal(reset(&inner, 2), 1);
    assert_int_equal(table_forgotten(inner.table), forgotten + 1);
    assert_false(table_next(inner.table, &slot, &entry));
    assert_int_equal(ask(&inner, 3).remaining, 1);
    close_inner(&inner);
}

static void a_slot_that_is_another_keys_by_now_is_left_alone(void **state)
{
    (void)state;
    struct inner inner = open_limit("3 failures per 1h");
    struct table_entry entry;
    uint64_t slot = 0;
    (void)ask(&inner, 1);
    assert_true(table_next(inner.table, &slot, &entry));
    entry.tag ^= UINT64_C(1) << 40;
    assert_false(limiter_forget(inner.table, &entry, NOW + 2 * SECOND));
    assert_true(is_anything_counted(&inner, 2));
    close_inner(&inner);
}

static void the_slots_behind_the_last_home_are_reset_too(void **state)
{
    (void)state;
    struct inner inner = open_limit("3 failures per 1h");
    struct table_entry entry = { .slot = 0 };
    uint64_t slot = 0;
    for (unsigned i = 0; i < 60000 && entry.slot < table_keys(inner.table); i++) {
        char address[32];
        struct drossel_decision decision;
        snprintf(address, sizeof address, "198.51.%u.%u", i / 256, i % 256);
        struct drossel_request request = request_of(address, "/login", 1);
        assert_int_equal(limiter_check(inner.limiter, &request, &decision), DROSSEL_OK);
        slot = table_keys(inner.table);
        if (!table_next(inner.table, &slot, &entry))
            entry.slot = 0;
    }
    assert_true(entry.slot >= table_keys(inner.table));
    (void)reset(&inner, 2);
    assert_false(is_anything_counted(&inner, 2));
    close_inner(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_charge_from_before_takes_no_newer_one_with_it),
        cmocka_unit_test(one_that_is_made_since_is_given_back),
        cmocka_unit_test(a_block_is_lifted_and_its_growth_forgotten),
        cmocka_unit_test(an_ordinary_key_leaves_its_slot),
        cmocka_unit_test(a_slot_that_is_another_keys_by_now_is_left_alone),
        cmocka_unit_test(the_slots_behind_the_last_home_are_reset_too),
    };
    return cmocka_run_group_tests_name("reset", tests, NULL, NULL);
}
