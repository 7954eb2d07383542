/* The clock between two looks at it, with a made-up counter and a made-up clock. */
#include "table/ticks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define LOOK 60 /* ticks that a look takes */

/* A machine whose counter runs at `hertz`, seen from the clock. */
struct machine {
    double hertz;
    uint64_t counter_at_boot;
};

static uint64_t counter_at(const struct machine *machine, uint64_t now_ns)
{
    return machine->counter_at_boot + (uint64_t)((double)now_ns / 1e9 * machine->hertz);
}

static void look(struct ticks *ticks, const struct machine *machine, uint64_t now_ns)
{
    uint64_t tick = counter_at(machine, now_ns);
    ticks_look(ticks, tick - LOOK, now_ns, tick);
}

static uint64_t difference(uint64_t one, uint64_t other)
{
    return one > other ? one - other : other - one;
}

/* Reads the time as the table does, and says how far it is off. */
static uint64_t read_and_compare(struct ticks *ticks, const struct machine *machine, uint64_t now_ns, unsigned *looks)
{
    uint64_t time_ns = ticks_time(ticks, counter_at(machine, now_ns));
    if (time_ns != 0)
        return difference(time_ns, now_ns);
    ++*looks;
    look(ticks, machine, now_ns);
    return 0;
}

static void nothing_is_told_before_a_rate_is_known(void **state)
{
    (void)state;
    const struct machine machine = { 2.45e9, 1000 };
    struct ticks ticks = { 0 };
    assert_int_equal(ticks_time(&ticks, 0), 0);
    assert_int_equal(ticks_time(&ticks, 12345), 0);
    look(&ticks, &machine, 5 * SECOND);
    assert_int_equal(ticks_time(&ticks, counter_at(&machine, 5 * SECOND + 1000)), 0);
    look(&ticks, &machine, 5 * SECOND + 1000000); /* too soon for a rate */
    assert_int_equal(ticks_time(&ticks, counter_at(&machine, 5 * SECOND + 1001000)), 0);
    look(&ticks, &machine, 5 * SECOND + 8000000);
    assert_true(ticks_time(&ticks, counter_at(&machine, 5 * SECOND + 8001000)) != 0);
}

static void a_busy_thread_looks_seldom_and_is_never_off_by_a_microsecond(void **state)
{
    (void)state;
    const double hertz[] = { 0.8e9, 1e9, 2.45e9, 5.2e9 };
    for (size_t i = 0; i < sizeof hertz / sizeof hertz[0]; i++) {
        const struct machine machine = { hertz[i], 77 };
        struct ticks ticks = { 0 };
        unsigned looks = 0, reads = 0;
        for (uint64_t now_ns = SECOND; now_ns < 6 * SECOND; now_ns += 24703, reads++)
            assert_true(read_and_compare(&ticks, &machine, now_ns, &looks) < 1000);
        assert_true(looks > 5);
        assert_true(looks < reads / 12);
    }
}

static void an_idle_thread_looks_each_time_and_is_right(void **state)
{
    (void)state;
    const struct machine machine = { 3e9, 77 };
    struct ticks ticks = { 0 };
    unsigned looks = 0, reads = 0;
    for (uint64_t now_ns = SECOND; now_ns < 1000 * SECOND; now_ns += 3 * SECOND, reads++)
        assert_int_equal(read_and_compare(&ticks, &machine, now_ns, &looks), 0);
    assert_int_equal(looks, reads);
}

static struct ticks calibrated(const struct machine *machine)
{
    struct ticks ticks = { 0 };
    look(&ticks, machine, SECOND);
    look(&ticks, machine, SECOND + SECOND / 10);
    assert_true(ticks_time(&ticks, counter_at(machine, SECOND + SECOND / 10)) != 0);
    return ticks;
}

static void a_look_that_was_interrupted_is_not_gone_on_from(void **state)
{
    (void)state;
    const struct machine machine = { 2e9, 77 };
    struct ticks ticks = calibrated(&machine);
    uint64_t rate = ticks.rate, now_ns = 2 * SECOND, tick = counter_at(&machine, now_ns);
    ticks_look(&ticks, tick - 5000000, now_ns, tick);
    assert_int_equal(ticks_time(&ticks, tick), 0);
    assert_int_equal(ticks.rate, rate);
    look(&ticks, &machine, now_ns + 50000);
    assert_int_equal(ticks_time(&ticks, counter_at(&machine, now_ns + 50000)), now_ns + 50000);
}

static void a_counter_that_jumps_back_or_far_ahead_makes_us_look(void **state)
{
    (void)state;
    const struct machine machine = { 2e9, 77 };
    struct ticks ticks = calibrated(&machine);
    uint64_t tick = ticks.tick;
    assert_int_equal(ticks_time(&ticks, tick - 1), 0);
    assert_int_equal(ticks_time(&ticks, 3), 0);
    assert_int_equal(ticks_time(&ticks, tick + TICKS_SPAN), 0);
    assert_true(ticks_time(&ticks, tick + TICKS_SPAN - 1) != 0);
}

/* Moved to another machine, or slept: the first looks after that see another counter. */
static void after_a_jump_it_is_right_again_within_a_second(void **state)
{
    (void)state;
    const struct machine before = { 2e9, 77 };
    const struct machine counters[] = { { 2e9, 1 }, { 3.1e9, UINT64_C(1) << 60 }, { 1.2e9, 77 } };
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        struct ticks ticks = calibrated(&before);
        unsigned looks = 0;
        uint64_t now_ns = 50 * SECOND;
        for (; now_ns < 53 * SECOND; now_ns += 25000)
            assert_true(read_and_compare(&ticks, &counters[i], now_ns, &looks) < 2000000);
        for (; now_ns < 54 * SECOND; now_ns += 25000)
            assert_true(read_and_compare(&ticks, &counters[i], now_ns, &looks) < 1000);
    }
}

/* Asleep for some seconds, in which the counter stood still: until the next look nothing tells that time has passed. */
static void a_sleep_in_which_the_counter_stood_still_costs_one_span(void **state)
{
    (void)state;
    const uint64_t slept_ns[] = { SECOND / 10, SECOND, 3 * SECOND, 20 * SECOND, 4000 * SECOND };
    for (size_t i = 0; i < sizeof slept_ns / sizeof slept_ns[0]; i++) {
        struct machine machine = { 2e9, 77 };
        struct ticks ticks = { 0 };
        unsigned looks = 0;
        uint64_t now_ns = SECOND, woken_ns;
        for (; now_ns < 2 * SECOND; now_ns += 25000)
            assert_true(read_and_compare(&ticks, &machine, now_ns, &looks) < 1000);
        now_ns += slept_ns[i];
        machine.counter_at_boot -= slept_ns[i] * 2;
        for (woken_ns = now_ns, looks = 0; looks == 0; now_ns += 25000)
            (void)read_and_compare(&ticks, &machine, now_ns, &looks);
        assert_true(now_ns - woken_ns < 2000000);
        for (; now_ns < woken_ns + 3 * SECOND; now_ns += 25000)
            assert_true(read_and_compare(&ticks, &machine, now_ns, &looks) < 20000);
        assert_true(looks < 3 * SECOND / 25000 / 12);
    }
}

/* As time servers have it: half a thousandth. */
static void a_clock_that_is_slewed_is_followed(void **state)
{
    (void)state;
    struct machine machine = { 2e9, 77 };
    struct ticks ticks = { 0 };
    unsigned looks = 0;
    for (uint64_t now_ns = SECOND; now_ns < 4 * SECOND; now_ns += 25000)
        (void)read_and_compare(&ticks, &machine, now_ns, &looks);
    uint64_t tick = counter_at(&machine, 4 * SECOND);
    machine.hertz *= 1.0005;
    machine.counter_at_boot += tick - counter_at(&machine, 4 * SECOND);
    for (uint64_t now_ns = 4 * SECOND; now_ns < 8 * SECOND; now_ns += 25000)
        assert_true(read_and_compare(&ticks, &machine, now_ns, &looks) < 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_told_before_a_rate_is_known),
        cmocka_unit_test(a_busy_thread_looks_seldom_and_is_never_off_by_a_microsecond),
        cmocka_unit_test(an_idle_thread_looks_each_time_and_is_right),
        cmocka_unit_test(a_look_that_was_interrupted_is_not_gone_on_from),
        cmocka_unit_test(a_counter_that_jumps_back_or_far_ahead_makes_us_look),
        cmocka_unit_test(after_a_jump_it_is_right_again_within_a_second),
        cmocka_unit_test(a_sleep_in_which_the_counter_stood_still_costs_one_span),
        cmocka_unit_test(a_clock_that_is_slewed_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
