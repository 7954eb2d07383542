/* Clients by name: each has an address of its own, and true addresses are themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/replay_names.h"

#define MANY 5000

static struct drossel_address address_of(struct names *names, const char *text)
{
    struct drossel_address address;
    assert_true(names_address(names, (struct drossel_text){ text, strlen(text) }, &address));
    return address;
}

static void an_address_is_itself_and_has_no_other_name(void **state)
{
    static const char *const written[] = { "203.0.113.7", "2001:db8::1", "::ffff:192.0.2.1", "unix:", "10.0.0.1" };
    struct names *names = names_open();
    (void)state;
    for (int lap = 0; lap < 2; lap++)
        for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
            struct drossel_address expected, found = address_of(names, written[i]);
            size_t size = strlen(written[i]) - (strcmp(written[i], "unix:") == 0);
            assert_int_equal(drossel_address_parse(written[i], size, &expected), DROSSEL_OK);
            assert_memory_equal(&found, &expected, sizeof found);
            assert_null(names_text(names, &found));
        }
    names_close(names);
}

static void each_name_has_an_address_of_its_own_and_is_shown_by_its_name(void **state)
{
    static struct drossel_address address[MANY];
    char text[32];
    struct names *names = names_open();
    (void)state;
    for (int lap = 0; lap < 2; lap++)
        for (int i = 0; i < MANY; i++) {
            snprintf(text, sizeof text, "host%d.example", i);
            struct drossel_address found = address_of(names, text);
            assert_string_equal(names_text(names, &found), text);
            assert_int_equal(found.family, DROSSEL_IPV4);
            if (lap == 0)
                address[i] = found;
            assert_memory_equal(&found, &address[i], sizeof found);
            assert_true(i == 0 || memcmp(&address[i], &address[i - 1], sizeof found) != 0);
        }
    names_close(names);
}

static void an_address_of_those_that_stand_for_names_is_a_name(void **state)
{
    struct names *names = names_open();
    struct drossel_address other = address_of(names, "a"), found = address_of(names, "240.0.0.0");
    (void)state;
    assert_memory_not_equal(&other, &found, sizeof found);
    assert_string_equal(names_text(names, &found), "240.0.0.0");
    names_close(names);
}

static void what_steers_a_terminal_is_not_shown(void **state)
{
    struct names *names = names_open();
    struct drossel_address found = address_of(names, "a\x1b[2J\xff b");
    struct drossel_address none = address_of(names, "");
    (void)state;
    assert_string_equal(names_text(names, &found), "a?[2J??b");
    assert_string_equal(names_text(names, &none), "-");
    names_close(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_itself_and_has_no_other_name),
        cmocka_unit_test(each_name_has_an_address_of_its_own_and_is_shown_by_its_name),
        cmocka_unit_test(an_address_of_those_that_stand_for_names_is_a_name),
        cmocka_unit_test(what_steers_a_terminal_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
