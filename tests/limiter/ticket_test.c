/* Tickets: who lists them, and what settling them does to the table. */
#include "limiter_test_support.h"

static struct drossel_decision log_in(const struct inner *inner, double t)
{
    struct drossel_request request = request_of("192.0.2.1", "/login", t);
    struct drossel_decision decision;
    request.account = text_of("a@b.example");
    assert_int_equal(limiter_check(inner->limiter, &request, &decision), DROSSEL_OK);
    return decision;
}

static uint64_t inserted(const struct inner *inner)
{
    struct table_counts counts;
    table_counts(inner->table, &counts);
    return counts.inserted;
}

static void each_ticket_of_a_batch_is_settled_once(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  login: { by: address, allow: 5 failures per 20s }\n");
    struct drossel_request requests[2] = { request_of("192.0.2.1", "/", 0), request_of("192.0.2.1", "/", 0) };
    struct drossel_decision decisions[2];
    assert_int_equal(drossel_check_batch(limiter, requests, 2, decisions), DROSSEL_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(drossel_settle(limiter, &decisions[0].ticket, DROSSEL_SUCCESS, NOW + 1), DROSSEL_OK);
    assert_int_equal(get(limiter, 1).remaining, 3); /* the other one of the batch, and this one */
    drossel_close(limiter);
}

static void a_ticket_takes_a_slot_only_where_it_is_listed(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  login: { by: account, allow: 5 failures per 20s }\n");
    struct drossel_decision decision = log_in(&inner, 0);
    assert_int_equal(decision.ticket.count, 1);
    assert_false(decision.ticket.is_listed);
    assert_int_equal(inserted(&inner), 2); /* the key, and the count of its open outcomes */
    limiter_list_ticket(inner.table, &decision.ticket, NOW);
    assert_true(decision.ticket.is_listed);
    assert_int_equal(inserted(&inner), 3);
    limiter_settle(inner.table, &decision.ticket, DROSSEL_SUCCESS, NOW + 1);
    limiter_settle(inner.table, &decision.ticket, DROSSEL_SUCCESS, NOW + 2);
    assert_int_equal(log_in(&inner, 1).remaining, 4);
    struct drossel_ticket none = { .count = 0 };
    limiter_list_ticket(inner.table, &none, NOW);
    assert_false(none.is_listed);
    close_inner(&inner);
}

/* Two logins at the same time: the first one's success clears the key, and what the second one gives back is gone already. */
static void a_cleared_key_keeps_its_slot_and_nothing_else(void **state)
{
    (void)state;
    static const char *const algorithms[] = { "sliding", "fixed, from: first", "fixed", "bucket" };
    static const enum drossel_outcome late[] = { DROSSEL_OTHER, DROSSEL_SUCCESS, DROSSEL_FAILURE };
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
        for (size_t j = 0; j < sizeof late / sizeof late[0]; j++) {
            char policy[200];
            snprintf(policy, sizeof policy,
                     "limits:\n  login: { by: account, allow: 5 failures per 20s, reset_on: success, algorithm: %s }\n",
                     algorithms[i]);
            struct inner inner = open_inner(policy);
            struct drossel_decision failed = log_in(&inner, 0);
            limiter_settle(inner.table, &failed.ticket, DROSSEL_FAILURE, NOW);
            struct drossel_decision first = log_in(&inner, 0.1), second = log_in(&inner, 0.2);
            assert_int_equal(second.remaining, 2);
            limiter_settle(inner.table, &first.ticket, DROSSEL_SUCCESS, NOW + SECOND / 2);
            limiter_settle(inner.table, &second.ticket, late[j], NOW + SECOND);
            struct drossel_decision fresh = log_in(&inner, 1);
            if (fresh.verdict != DROSSEL_ALLOW || fresh.remaining != 4)
                fail_msg("%s, outcome %d: %d left", algorithms[i], late[j], (int)fresh.remaining);
            assert_int_equal(inserted(&inner), 2);
            close_inner(&inner);
        }
}

static void a_success_lifts_the_block_of_its_key(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  login: { by: account, allow: 2 failures per 20s, block: 60s, hold: 0s, "
                                    "reset_on: success }\n");
    struct drossel_decision open = log_in(&inner, 0), failed = log_in(&inner, 0);
    limiter_settle(inner.table, &failed.ticket, DROSSEL_FAILURE, NOW);
    assert_int_equal(log_in(&inner, 1).verdict, DROSSEL_REFUSE);
    limiter_settle(inner.table, &open.ticket, DROSSEL_SUCCESS, NOW + 2 * SECOND);
    struct drossel_decision fresh = log_in(&inner, 3);
    assert_int_equal(fresh.verdict, DROSSEL_ALLOW);
    assert_int_equal(fresh.remaining, 1);
    close_inner(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_ticket_of_a_batch_is_settled_once),
        cmocka_unit_test(a_ticket_takes_a_slot_only_where_it_is_listed),
        cmocka_unit_test(a_cleared_key_keeps_its_slot_and_nothing_else),
        cmocka_unit_test(a_success_lifts_the_block_of_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
