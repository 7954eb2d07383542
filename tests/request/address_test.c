/* Addresses as text: strict forms in, canonical text out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "drossel.h"

static void valid_forms_come_out_canonical(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "203.0.113.7", "203.0.113.7" },
        { "0.0.0.0", "0.0.0.0" },
        { "255.255.255.255", "255.255.255.255" },
        { "::", "::" },
        { "::1", "::1" },
        { "1::", "1::" },
        { "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
        { "2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1" },
        { "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
        { "2001:db8::7:443", "2001:db8::7:443" },
        { "0:0:1:0:0:0:1:0", "0:0:1::1:0" },
        { "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
        { "::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8" },
        { "::ffff:192.0.2.1", "192.0.2.1" },
        { "::FFFF:c000:0201", "192.0.2.1" },
        { "0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1" },
        { "64:ff9b::192.0.2.1", "64:ff9b::c000:201" },
        { "::192.0.2.1", "::c000:201" },
        { "unix", "unix" },
        { "unix:", "unix" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel_address address;
        char text[DROSSEL_ADDRESS_TEXT];
        assert_int_equal(drossel_address_parse(table[i][0], strlen(table[i][0]), &address), DROSSEL_OK);
        assert_int_equal(drossel_address_format(&address, text), strlen(table[i][1]));
        assert_string_equal(text, table[i][1]);
    }
}

static void malformed_text_is_refused_and_leaves_the_output(void **state)
{
    (void)state;
    static const char *const table[] = {
        "",
        " ",
        "1.2.3",
        "1.2.3.4.5",
        "1..2.3",
        ".1.2.3",
        "1.2.3.",
        "192.0.2.01",
        "192.0.2.256",
        "192.0.2.1 ",
        " 192.0.2.1",
        "192.0.2.0/24",
        "192.0.2.1:80",
        "0x7f.0.0.1",
        "127.1",
        "2130706433",
        "1.2.3.-4",
        "0001.2.3.4",
        ":",
        ":::",
        "1",
        "1:2",
        ":1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "::1::",
        "1::2::3",
        "12345::",
        "g::",
        "[::1]",
        "fe80::1%eth0",
        "::1.2.3",
        "::1.2.3.4:5",
        "1:2:3:4:5:6:7:1.2.3.4",
        "::01.2.3.4",
        "unix:/run/a.sock",
        "unix::",
        "uni",
        "Unix",
        "localhost",
        "::ffff:192.0.2.256",
        "1:2:3:4:5:6:7",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
        "\"192.0.2.1\"",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel_address address = { .family = 99 };
        if (drossel_address_parse(table[i], strlen(table[i]), &address) != DROSSEL_INVALID)
            fail_msg("accepted: %s", table[i]);
        assert_int_equal(address.family, 99);
    }
    struct drossel_address address;
    assert_int_equal(drossel_address_parse("1.2.3.4\0", 8, &address), DROSSEL_INVALID);
    assert_int_equal(drossel_address_parse(NULL, 3, &address), DROSSEL_INVALID);
}

static void what_is_formatted_parses_to_the_same_address(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        struct drossel_address address = { .family = DROSSEL_IPV6 }, again;
        for (int j = 0; j < 16; j++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            address.bytes[j] = (seed >> 60) < 9 ? 0 : (uint8_t)(seed >> 40);
        }
        char text[DROSSEL_ADDRESS_TEXT];
        size_t size = drossel_address_format(&address, text);
        assert_int_equal(drossel_address_parse(text, size, &again), DROSSEL_OK);
        if (again.family == DROSSEL_IPV6)
            assert_memory_equal(address.bytes, again.bytes, 16);
        else
            assert_memory_equal(address.bytes + 12, again.bytes, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_forms_come_out_canonical),
        cmocka_unit_test(malformed_text_is_refused_and_leaves_the_output),
        cmocka_unit_test(what_is_formatted_parses_to_the_same_address),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
