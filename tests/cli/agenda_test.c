/*
 * What is due in a replay comes in the order of time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "cli/agenda.h"

#define MANY 5000

static void put(struct agenda *agenda, uint64_t at_ns, enum agenda_kind kind, size_t event)
{
    assert_true(agenda_add(agenda, &(struct agenda_item){ at_ns, kind, DROSSEL_OTHER, event, NULL }));
}

static void an_empty_agenda_has_nothing_due(void **state)
{
    struct agenda agenda = { 0 };
    (void)state;
    assert_null(agenda_first(&agenda));
    put(&agenda, 7, AGENDA_OUTCOME, 1);
    assert_int_equal(agenda_take(&agenda).at_ns, 7);
    assert_null(agenda_first(&agenda));
    agenda_release(&agenda);
}

static void at_one_time_outcomes_come_before_ends_of_holds_and_each_in_the_order_of_events(void **state)
{
    static const struct {
        uint64_t at_ns;
        enum agenda_kind kind;
        size_t event;
    } order[] = { { 5, AGENDA_HOLD_END, 9 }, { 6, AGENDA_OUTCOME, 2 },  { 6, AGENDA_OUTCOME, 8 },
                  { 6, AGENDA_HOLD_END, 1 }, { 6, AGENDA_HOLD_END, 3 }, { 7, AGENDA_OUTCOME, 0 } };
    static const size_t shuffled[] = { 3, 5, 2, 0, 4, 1 };
    struct agenda agenda = { 0 };
    (void)state;
    for (size_t i = 0; i < 6; i++)
        put(&agenda, order[shuffled[i]].at_ns, order[shuffled[i]].kind, order[shuffled[i]].event);
    for (size_t i = 0; i < 6; i++) {
        assert_ptr_equal(agenda_first(&agenda), &agenda.item[0]);
        struct agenda_item item = agenda_take(&agenda);
        assert_int_equal(item.at_ns, order[i].at_ns);
        assert_int_equal(item.kind, order[i].kind);
        assert_int_equal(item.event, order[i].event);
    }
    agenda_release(&agenda);
}

/* Three are added for two that are taken, then all are. */
static void what_is_added_in_any_order_is_taken_in_the_order_of_time(void **state)
{
    struct agenda agenda = { 0 };
    uint64_t seed = 42, last_ns = 0, taken = 0;
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        put(&agenda, last_ns + (seed >> 54), AGENDA_OUTCOME, i);
        if (i % 3 == 0)
            continue;
        struct agenda_item item = agenda_take(&agenda);
        assert_true(item.at_ns >= last_ns);
        last_ns = item.at_ns;
        taken++;
    }
    for (; agenda_first(&agenda) != NULL; taken++) {
        struct agenda_item item = agenda_take(&agenda);
        assert_true(item.at_ns >= last_ns);
        last_ns = item.at_ns;
    }
    assert_int_equal(taken, MANY);
    agenda_release(&agenda);
}

static void tickets_that_are_still_due_are_released_with_the_agenda(void **state)
{
    struct agenda agenda = { 0 };
    (void)state;
    for (size_t i = 0; i < 100; i++) {
        struct agenda_item item = { i, AGENDA_OUTCOME, DROSSEL_OTHER, i, calloc(1, sizeof *item.ticket) };
        assert_non_null(item.ticket);
        assert_true(agenda_add(&agenda, &item));
    }
    agenda_release(&agenda); /* the sanitizer sees what stays */
    assert_int_equal(agenda.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_agenda_has_nothing_due),
        cmocka_unit_test(at_one_time_outcomes_come_before_ends_of_holds_and_each_in_the_order_of_events),
        cmocka_unit_test(what_is_added_in_any_order_is_taken_in_the_order_of_time),
        cmocka_unit_test(tickets_that_are_still_due_are_released_with_the_agenda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
