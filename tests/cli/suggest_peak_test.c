/* The busiest windows of a client, against a model that counts each window anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/suggest_peak.h"

#define TIMES 2500

static uint32_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 8) % sides;
}

/* All that share the time of the end count, wherever they stand. */
static uint64_t slow_most(const uint64_t *time, size_t count, uint64_t window_ns)
{
    uint64_t most = 0;
    for (size_t end = 0; end < count; end++) {
        uint64_t within = 0;
        for (size_t i = 0; i < count && time[i] <= time[end]; i++)
            within += time[end] - time[i] < window_ns;
        most = within > most ? within : most;
    }
    return most;
}

static void the_busiest_windows_are_those_of_a_model(void **state)
{
    static uint64_t time[TIMES];
    static const uint64_t step_ns[] = { 1000000000, 1000000, 3 };
    (void)state;
    for (uint32_t seed = 1; seed <= 9; seed++) {
        struct peak peak = { 0 };
        uint64_t now = 1700000000000000000, step = step_ns[seed % 3];
        dice_state = seed;
        for (size_t i = 0; i < TIMES; i++) {
            now += dice(50) == 0 ? (uint64_t)dice(900) * 1000000000 : (uint64_t)dice(3) * step * dice(2 * seed);
            time[i] = now;
            assert_true(peak_arrive(&peak, now));
        }
        for (int i = 0; i < PEAK_WINDOWS; i++)
            assert_int_equal(peak.most[i], slow_most(time, TIMES, peak_window_ns[i]));
        assert_int_equal(peak.total, TIMES);
        peak_release(&peak);
    }
}

static void a_window_is_open_at_its_beginning_and_closed_at_its_end(void **state)
{
    static const struct {
        uint64_t second[4];
        uint64_t most;
    } row[] = { { { 0, 9, 9, 9 }, 4 }, { { 0, 10, 10, 10 }, 3 }, { { 0, 0, 9, 10 }, 3 }, { { 0, 10, 20, 30 }, 1 } };
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct peak peak = { 0 };
        for (size_t i = 0; i < 4; i++)
            assert_true(peak_arrive(&peak, row[r].second[i] * 1000000000));
        assert_int_equal(peak.most[PEAK_10S], row[r].most);
        peak_release(&peak);
    }
}

static void memory_grows_with_the_stamps_of_ten_minutes_and_not_with_requests(void **state)
{
    struct peak peak = { 0 };
    (void)state;
    for (uint64_t second = 0; second < 20000; second++)
        for (int i = 0; i < 5; i++)
            assert_true(peak_arrive(&peak, second * 1000000000));
    assert_int_equal(peak.cap, 1024);
    assert_int_equal(peak.most[PEAK_10MIN], 3000);
    peak_release(&peak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_busiest_windows_are_those_of_a_model),
        cmocka_unit_test(a_window_is_open_at_its_beginning_and_closed_at_its_end),
        cmocka_unit_test(memory_grows_with_the_stamps_of_ten_minutes_and_not_with_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
