/* Counts over time, against a plain sum: whatever the log's length, nothing is lost and everything is where it belongs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/replay_timeline.h"

#define SECOND UINT64_C(1000000000)
#define COLUMNS 60

static uint32_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 8) % sides;
}

static void every_count_is_in_the_column_of_its_time(void **state)
{
    static const uint64_t pace[] = { SECOND / 100, SECOND, 37 * SECOND, 5000 * SECOND, UINT64_C(90000000) * SECOND };
    (void)state;
    for (size_t row = 0; row < sizeof pace / sizeof *pace; row++) {
        struct timeline timeline;
        static uint64_t time[4000];
        uint64_t now = 1000 * SECOND, column[COLUMNS], step_ns;
        dice_state = (uint32_t)row + 1;
        assert_true(timeline_init(&timeline, 2));
        for (size_t i = 0; i < 4000; i++) {
            now += pace[row] / 1000 * dice(row == 4 ? 100 : 2000);
            time[i] = now;
            timeline_move(&timeline, now);
            timeline_count(&timeline, i % 2);
        }
        for (size_t which = 0; which < 2; which++) {
            size_t count = timeline_columns(&timeline, which, column, COLUMNS, &step_ns);
            assert_in_range(count, 1, COLUMNS);
            for (size_t i = which; i < 4000; i += 2) {
                size_t at = (size_t)((time[i] - timeline.start_ns) / step_ns);
                assert_true(at < count && column[at] > 0);
                column[at]--;
            }
            for (size_t i = 0; i < count; i++)
                assert_int_equal(column[i], 0);
        }
        timeline_release(&timeline);
    }
}

static void a_long_log_fills_at_least_half_of_the_columns(void **state)
{
    struct timeline timeline;
    uint64_t column[COLUMNS], step_ns;
    (void)state;
    assert_true(timeline_init(&timeline, 1));
    for (uint64_t i = 1; i < 100000; i++) {
        timeline_move(&timeline, i * SECOND);
        timeline_count(&timeline, 0);
        if (i > COLUMNS)
            assert_in_range(timeline_columns(&timeline, 0, column, COLUMNS, &step_ns), COLUMNS / 2, COLUMNS);
        i += i / 7;
    }
    timeline_release(&timeline);
}

static void a_time_before_the_first_counts_as_it_and_nothing_has_no_columns(void **state)
{
    struct timeline timeline;
    uint64_t column[COLUMNS], step_ns;
    (void)state;
    assert_true(timeline_init(&timeline, 1));
    assert_int_equal(timeline_columns(&timeline, 0, column, COLUMNS, &step_ns), 0);
    timeline_move(&timeline, 100 * SECOND);
    timeline_move(&timeline, 3 * SECOND);
    timeline_count(&timeline, 0);
    assert_int_equal(timeline_columns(&timeline, 0, column, COLUMNS, &step_ns), 1);
    assert_int_equal(column[0], 1);
    timeline_release(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_is_in_the_column_of_its_time),
        cmocka_unit_test(a_long_log_fills_at_least_half_of_the_columns),
        cmocka_unit_test(a_time_before_the_first_counts_as_it_and_nothing_has_no_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
