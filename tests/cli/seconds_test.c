/* Times as files write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/seconds.h"

#define NS UINT64_C(1000000000)

static void a_number_is_taken_as_the_decimal_that_was_written(void **state)
{
    static const struct {
        double value;
        uint64_t ns;
    } row[] = {
        { 0, 0 },
        { 12.5, 12500000000 },
        { 0.1, 100000000 },
        { 1e-9, 1 },
        { 4e-10, 0 },
        { 5e-10, 1 },
        { 1.9999999996, 2 * NS },
        { 1700000000.1, 1700000000 * NS + 100000000 },
        { 1700000000.123456, 1700000000 * NS + 123456000 },
        { 59.999999999, 59999999999 },
        { 1e5, 100000 * NS },
        { 9e9, SECONDS_MAX * NS },
        { 1796000000.978 + 7.412, 1796000008390000000 }, /* whose sum is 1796000008.3899999 */
        { 1796000000.370165 + 58.427, 1796000058797165000 },
        { 1796000000.1234565, 1796000000123456500 },
        { 59.9999998, 59999999800 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t ns = UINT64_MAX;
        assert_true(seconds_from_double(row[i].value, &ns));
        assert_int_equal(ns, row[i].ns);
    }
}

static void what_is_no_time_is_refused_and_leaves_the_output(void **state)
{
    static const double bad[] = { -1, -1e-9, 9.1e9, 1e300, __builtin_nan(""), __builtin_inf(), -__builtin_inf() };
    uint64_t ns = 7;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(seconds_from_double(bad[i], &ns));
    assert_false(seconds_from_integer(-1, &ns));
    assert_false(seconds_from_integer((long long)SECONDS_MAX + 1, &ns));
    assert_int_equal(ns, 7);
}

static void rfc_3339_is_read_with_fraction_offset_and_leap_second(void **state)
{
    static const struct {
        const char *text;
        uint64_t s, ns;
    } row[] = {
        { "1970-01-01T00:00:00Z", 0, 0 },
        { "2026-01-31T12:00:00Z", 1769860800, 0 },
        { "2026-01-31t12:00:00.5z", 1769860800, 500000000 },
        { "2026-01-31T12:00:00.1234567899Z", 1769860800, 123456789 },
        { "2026-01-31T13:30:00+01:30", 1769860800, 0 },
        { "2026-01-31 04:00:00-08:00", 1769860800, 0 },
        { "2000-02-29T23:59:59Z", 951868799, 0 },
        { "2016-12-31T23:59:60Z", 1483228800, 0 },
        { "2100-03-01T00:00:00Z", 4107542400, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t ns = UINT64_MAX;
        assert_true(seconds_from_rfc3339(row[i].text, strlen(row[i].text), &ns));
        assert_int_equal(ns, row[i].s * NS + row[i].ns);
    }
}

static void what_is_not_rfc_3339_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "2026",
        "2026-01-31",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00.Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:61Z",
        "2026-01-31T12:00:00+1:00",
        "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00Zx",
        " 2026-01-31T12:00:00Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t ns = 7;
        assert_false(seconds_from_rfc3339(bad[i], strlen(bad[i]), &ns));
        assert_int_equal(ns, 7);
    }
}

static void seconds_are_written_without_a_digit_too_much(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } row[] = {
        { 0, "0" },
        { 47 * NS, "47" },
        { 500000000, "0.5" },
        { 9999999999, "9.999999999" },
        { 1, "0.000000001" },
        { 100 * NS, "100" },
        { UINT64_MAX - 1, "18446744073.709551614" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char out[SECONDS_TEXT];
        assert_int_equal(seconds_format(row[i].ns, out), strlen(row[i].text));
        assert_string_equal(out, row[i].text);
    }
}

static void a_double_is_written_as_it_was_given(void **state)
{
    static const struct {
        double value;
        const char *text;
    } row[] = {
        { 12.5, "12.5" }, { 0.1, "0.1" }, { 1700000000.123456, "1700000000.123456" }, { 100, "100" }, { 0, "0" }
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char out[SECONDS_TEXT];
        assert_int_equal(seconds_format_double(row[i].value, out), strlen(row[i].text));
        assert_string_equal(out, row[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_taken_as_the_decimal_that_was_written),
        cmocka_unit_test(what_is_no_time_is_refused_and_leaves_the_output),
        cmocka_unit_test(rfc_3339_is_read_with_fraction_offset_and_leap_second),
        cmocka_unit_test(what_is_not_rfc_3339_is_refused),
        cmocka_unit_test(seconds_are_written_without_a_digit_too_much),
        cmocka_unit_test(a_double_is_written_as_it_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
