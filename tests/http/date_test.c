/* HTTP-dates to and from Unix seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "http/date.h"

#define NOW INT64_C(1796040000) /* Mon, 30 Nov 2026 12:00:00 GMT */

static bool parse(const char *text, int64_t *unix_s)
{
    return http_date_parse((struct drossel_text){ text, strlen(text) }, NOW, unix_s);
}

static void three_forms_name_one_second(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t unix_s;
    } table[] = {
        { "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
        { "Sunday, 06-Nov-94 08:49:37 GMT", 784111777 },
        { "Sun Nov  6 08:49:37 1994", 784111777 },
        { "Sun Nov 16 08:49:37 1994", 784111777 + 864000 },
        { "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
        { "Thu, 29 Feb 2024 23:59:60 GMT", 1709251200 },
        { "Mon, 30 Nov 2026 12:00:00 GMT", NOW },
        { "Sat, 30 Nov 2026 12:00:00 GMT", NOW },
        { "Monday, 30-Nov-26 12:00:00 GMT", NOW },
        { "Saturday, 30-Nov-75 12:00:00 GMT", NOW + 1546300800 },
        { "Monday, 30-Nov-76 12:00:00 GMT", 3373963200 },
        { "Tuesday, 30-Nov-76 12:00:01 GMT", 218203201 },
        { "Wednesday, 30-Nov-77 12:00:00 GMT", 249739200 },
        { "Fri, 31 Dec 9999 23:59:59 GMT", HTTP_DATE_MAX },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t got = -1;
        if (!parse(table[i].text, &got) || got != table[i].unix_s)
            fail_msg("%s -> %lld, expected %lld", table[i].text, (long long)got, (long long)table[i].unix_s);
    }
}

static void anything_else_is_no_date(void **state)
{
    (void)state;
    static const char *const table[] = {
        "",
        "Mon",
        "Mon, 30 Nov 2026 12:00:30 UTC",
        "mon, 30 Nov 2026 12:00:30 GMT",
        "Mon, 30 nov 2026 12:00:30 GMT",
        "Mon, 30 Nov 2026 12:00:30 gmt",
        "Mon, 31 Nov 2026 12:00:30 GMT",
        "Sun, 29 Feb 2026 12:00:30 GMT",
        "Mon, 29 Feb 2100 12:00:30 GMT",
        "Mon, 00 Nov 2026 12:00:30 GMT",
        "Mon, 30 Nov 2026 24:00:00 GMT",
        "Mon, 30 Nov 2026 12:60:00 GMT",
        "Mon, 30 Nov 2026 12:00:61 GMT",
        "Mon, 30 Nov 2026 12:00 GMT",
        "Mon, 30 Nov 2026 12:00:30 GMT ",
        " Mon, 30 Nov 2026 12:00:30 GMT",
        "Mon,30 Nov 2026 12:00:30 GMT",
        "Mon, 3 Nov 2026 12:00:30 GMT",
        "Mon, 30 Nov 26 12:00:30 GMT",
        "Monday, 30-Nov-2026 12:00:00 GMT",
        "Mon, 30-Nov-26 12:00:00 GMT",
        "Monday, 30 Nov 2026 12:00:00 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "Sun Nov  0 08:49:37 1994",
        "2026-11-30T12:00:30Z",
        "1796040000",
        "Xyz, 30 Nov 2026 12:00:30 GMT",
        "Mon, 30 Nov 2026 12:00:30 GMT, Mon, 30 Nov 2026 12:00:30 GMT",
        "Mon, 30 Nov 2026 -1:00:30 GMT",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t got = 77;
        if (parse(table[i], &got))
            fail_msg("accepted: %s", table[i]);
        assert_int_equal(got, 77);
    }
}

static void what_is_written_is_what_the_c_library_writes(void **state)
{
    (void)state;
    for (int64_t time = 0; time < INT64_C(7000000000); time += 86399 * 17) {
        char own[HTTP_DATE_TEXT], other[64];
        time_t seconds = (time_t)time;
        struct tm broken;
        int64_t again = -1;
        http_date_format(time, own);
        assert_true(strftime(other, sizeof other, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&seconds, &broken)) > 0);
        assert_string_equal(own, other);
        assert_true(parse(own, &again));
        assert_int_equal(again, time);
    }
}

static void times_out_of_range_are_written_as_the_nearest(void **state)
{
    (void)state;
    char text[HTTP_DATE_TEXT];
    http_date_format(INT64_MIN, text);
    assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    http_date_format(INT64_MAX, text);
    assert_string_equal(text, "Fri, 31 Dec 9999 23:59:59 GMT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_forms_name_one_second),
        cmocka_unit_test(anything_else_is_no_date),
        cmocka_unit_test(what_is_written_is_what_the_c_library_writes),
        cmocka_unit_test(times_out_of_range_are_written_as_the_nearest),
    };
    return cmocka_run_group_tests_name("date", tests, NULL, NULL);
}
