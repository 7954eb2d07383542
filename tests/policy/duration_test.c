/* Times as they are written and as they are shown. */
#include "opened.h"

static void times_are_parsed_or_told_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
        const char *wrong;
    } cases[] = {
        { "10s", UINT64_C(10000000000), NULL },
        { "500ms", UINT64_C(500000000), NULL },
        { "15m", UINT64_C(900000000000), NULL },
        { "2h", UINT64_C(7200000000000), NULL },
        { "366d", ENGINE_PERIOD_MAX_NS, NULL },
        { "0s", 0, NULL },
        { "007s", UINT64_C(7000000000), NULL },
        { "367d", 0, "too long; write at most 366d" },
        { "99999999999999999999s", 0, "too long; write at most 366d" },
        { "18446744073709551615d", 0, "too long; write at most 366d" },
        { "", 0, "no number before the unit; write a number with ms, s, m, h or d, as 10s" },
        { "s", 0, "no number before the unit; write a number with ms, s, m, h or d, as 10s" },
        { "-1s", 0, "no number before the unit; write a number with ms, s, m, h or d, as 10s" },
        { "10", 0, "no unit; write ms, s, m, h or d behind the number, as 10s" },
        { "1.5h", 0, "a fraction; write a whole number of a smaller unit, as 1500ms" },
        { "10hr", 0, "unknown unit; write ms, s, m, h or d, as 10s" },
        { "10 s", 0, "unknown unit; write ms, s, m, h or d, as 10s" },
        { "1h30m", 0, "more than one number; write all of it in the smallest unit, as 90m for 1h30m" },
        { "10S", 0, "unknown unit; write ms, s, m, h or d, as 10s" },
        { "5us", 0, "unknown unit; write ms, s, m, h or d, as 10s" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t ns = 42;
        const char *wrong = policy_duration_parse((struct drossel_text){ cases[i].text, strlen(cases[i].text) }, &ns);
        assert_true((wrong == NULL) == (cases[i].wrong == NULL));
        if (wrong != NULL)
            assert_string_equal(wrong, cases[i].wrong);
        assert_true(ns == (wrong == NULL ? cases[i].ns : 42));
    }
}

static void times_are_shown_in_the_largest_unit_that_divides_them(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = { { 0, "0s" },
                  { UINT64_C(10000000000), "10s" },
                  { UINT64_C(60000000000), "1m" },
                  { UINT64_C(90000000000), "90s" },
                  { UINT64_C(604800000000000), "7d" },
                  { UINT64_C(150000000), "150ms" },
                  { 1500, "1500ns" },
                  { 2000, "2us" },
                  { UINT64_MAX, "18446744073709551615ns" } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[32];
        assert_int_equal(policy_duration_format(cases[i].ns, text, sizeof(text)), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_parsed_or_told_what_would_be_right),
        cmocka_unit_test(times_are_shown_in_the_largest_unit_that_divides_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
