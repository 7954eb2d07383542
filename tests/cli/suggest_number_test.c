/* Ranks, steps and proposed numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/suggest_findings.h"

static void a_rank_is_a_value_that_somebody_has(void **state)
{
    static const struct {
        size_t count;
        uint64_t rank[SPREAD_RANKS]; /* of the values 1 to count */
    } row[] = { { 0, { 0, 0, 0, 0, 0 } },
                { 1, { 1, 1, 1, 1, 1 } },
                { 2, { 1, 2, 2, 2, 2 } },
                { 3, { 2, 3, 3, 3, 3 } },
                { 10, { 5, 9, 10, 10, 10 } },
                { 100, { 50, 90, 99, 100, 100 } },
                { 101, { 51, 91, 100, 101, 101 } },
                { 1000, { 500, 900, 990, 999, 1000 } },
                { 2000, { 1000, 1800, 1980, 1998, 2000 } } };
    uint64_t value[2000];
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct spread spread;
        for (size_t i = 0; i < row[r].count; i++)
            value[i] = row[r].count - i;
        spread_of(value, row[r].count, &spread);
        assert_int_equal(spread.clients, row[r].count);
        for (int i = 0; i < SPREAD_RANKS; i++)
            assert_int_equal(spread.rank[i], row[r].rank[i]);
    }
}

static void every_value_is_in_the_step_that_names_it(void **state)
{
    char text[PROSE_COUNT];
    (void)state;
    for (uint64_t value = 1; value < 40000; value++) {
        size_t step = spread_step_of(value);
        assert_true(value <= spread_step_end(step));
        assert_true(step == 0 || value > spread_step_end(step - 1));
    }
    assert_string_equal(spread_step_format(0, text, sizeof text), "1");
    assert_string_equal(spread_step_format(spread_step_of(4), text, sizeof text), "3-4");
    assert_string_equal(spread_step_format(spread_step_of(UINT64_MAX), text, sizeof text), "30001+");
}

static void round_numbers_are_those_that_a_person_writes(void **state)
{
    static const uint64_t row[][2] = { { 0, 1 },      { 1, 1 },       { 9, 9 },       { 10, 10 },
                                       { 11, 12 },    { 21, 25 },     { 37, 40 },     { 51, 60 },
                                       { 91, 100 },   { 101, 120 },   { 380, 400 },   { 401, 450 },
                                       { 951, 1000 }, { 1001, 1200 }, { 1806, 2000 }, { 123456, 150000 } };
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++)
        assert_int_equal(propose_round_up(row[r][0]), row[r][1]);
    assert_true(propose_round_up(UINT64_MAX) == UINT64_MAX);
}

static void a_number_is_half_above_people_or_lower_where_that_hits_more_machines(void **state)
{
    static const struct {
        uint64_t people, least, machine[4], number;
    } row[] = {
        { 34, 20, { 0 }, 60 },              /* 51, written as a person would */
        { 3, 20, { 0 }, 20 },               /* never below the least */
        { 0, 20, { 500, 500 }, 20 },        /* nobody */
        { 25, 20, { 43, 43, 43, 96 }, 40 }, /* half above hits them anyway */
        { 32, 20, { 43, 43, 43, 43 }, 40 }, /* 50 would hit none */
        { 40, 20, { 43, 43, 43, 43 }, 60 }, /* too close: none can be hit without people */
        { 32, 20, { 45, 900, 900, 900 }, 40 },
        { 100, 20, { 130, 900, 900, 900 }, 120 },
        { 100, 20, { 900, 900, 900, 900 }, 150 },
    };
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++)
        assert_int_equal(propose_number(row[r].people, row[r].least, row[r].machine, 4), row[r].number);
}

static void no_number_is_so_low_that_the_engine_may_refuse_the_busiest_person(void **state)
{
    uint64_t machine[3];
    (void)state;
    for (uint64_t people = 1; people < 3000; people++) {
        for (uint64_t i = 0; i < 3; i++)
            machine[i] = people + 1 + i * people / 7;
        uint64_t number = propose_number(people, 1, machine, 3);
        assert_true(people * 16 <= number * 15); /* up to 15/16 nobody is refused, however he asks */
        assert_true(number < people * 2 + 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_a_value_that_somebody_has),
        cmocka_unit_test(every_value_is_in_the_step_that_names_it),
        cmocka_unit_test(round_numbers_are_those_that_a_person_writes),
        cmocka_unit_test(a_number_is_half_above_people_or_lower_where_that_hits_more_machines),
        cmocka_unit_test(no_number_is_so_low_that_the_engine_may_refuse_the_busiest_person),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
