/* What of a text reaches a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/plain.h"

static void nothing_that_a_terminal_obeys_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *text, *one_line, *lines;
    } cases[] = {
        { "plain text, 100%", "plain text, 100%", "plain text, 100%" },
        { "\x1b[31mred\x07\t\x7f", "?[31mred?\t?", "?[31mred?\t?" },
        { "a\nb\r\n", "a?b??", "a\nb?\n" },
        { "Stra\xc3\x9f"
          "e \xe2\x82\xac \xf0\x9f\x98\x80",
          "Stra\xc3\x9f"
          "e \xe2\x82\xac \xf0\x9f\x98\x80",
          "Stra\xc3\x9f"
          "e \xe2\x82\xac \xf0\x9f\x98\x80" },
        /* controls of Latin 1; turned round; another end of a line */
        { "\xc2\x9b"
          "31m \xe2\x80\xae \xe2\x80\xa8",
          "??31m ??? ???", "??31m ??? ???" },
        /* no UTF-8: alone, cut off, too long, half of a pair, too great */
        { "\x9b|\xff|\xe2\x82|\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xf0", "?|?|??|??|???|????|?",
          "?|?|??|??|???|????|?" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_string_equal(plain_text(text, false), cases[i].one_line);
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_string_equal(plain_text(text, true), cases[i].lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_that_a_terminal_obeys_is_left) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
