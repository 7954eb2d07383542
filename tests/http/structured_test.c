/* Structured fields: what parses, what does not, and what a value comes out as. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "parsed.h"

/* Does the text parse as a List, as far as its members go? */
static bool parses(const char *text)
{
    static struct parsed parsed;
    return parsed_read((struct drossel_text){ text, strlen(text) }, false, HTTP_PROFILE_DRAFT_11, &parsed);
}

static void every_type_is_read(void **state)
{
    (void)state;
    static const char *const table[] = {
        "0",
        "-0",
        "-1",
        "999999999999999",
        "-999999999999999",
        "1.5",
        "-0.123",
        "999999999999.999",
        "\"\"",
        "\"a\\\"b\\\\\"",
        "a",
        "*",
        "a:b/c*%&",
        "::",
        ":YQ==:",
        ":YQ:",
        ":YQ=:",
        ":YR==:",
        ":YWI=:",
        ":YWJj:",
        "?0",
        "?1",
        "@0",
        "@-1",
        "@1659578233",
        "%\"\"",
        "%\"f%c3%bc\"",
        "%\"%e2%82%ac%f0%9f%98%80\"",
        "()",
        "( )",
        "(1)",
        "(1 2)",
        "( 1  2 )",
        "(a;x \"b\";y=1);z",
        "a;b",
        "a;b;c=1",
        "a; b;  c",
        "a;*=1",
        "a;b-c_d.e*=1",
        "a,b",
        "a ,\tb",
        "a\t,b",
        "a ",
        "a;b=?0",
        "a;b=%\"x\"",
        "a;b=@1",
        "  a",
        "",
        "   ",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!parses(table[i]))
            fail_msg("refused: %s", table[i]);
    }
}

static void what_is_malformed_spoils_the_field(void **state)
{
    (void)state;
    static const char *const table[] = {
        "-",
        "--1",
        "1000000000000000",
        "1.",
        ".5",
        "1.1234",
        "1234567890123.1",
        "1e5",
        "+1",
        "\"",
        "\"a",
        "\"\\a\"",
        "\"\\",
        "\"\x7f\"",
        "\"\t\"",
        "\"\xc3\xbc\"",
        ":",
        ":Y",
        ":Y:",
        ":YWJjZ:",
        ":YQ===:",
        ":=YQ:",
        ":Y=Q:",
        ":YQ==",
        ":Y Q=:",
        ":YQ_-:",
        "?",
        "?2",
        "?true",
        "@",
        "@1.5",
        "@a",
        "%",
        "%a",
        "%\"",
        "%\"a",
        "%\"%C3%BC\"",
        "%\"%c3\"",
        "%\"%c3%28\"",
        "%\"%ff\"",
        "%\"%c0%80\"",
        "%\"%e0%80%80\"",
        "%\"%ed%a0%80\"",
        "%\"%f4%90%80%80\"",
        "%\"%f5%80%80%80\"",
        "%\"%f0%8f%bf%bf\"",
        "%\"%c\"",
        "%\"%zz\"",
        "%\"\xc3\xbc\"",
        "(",
        "(1",
        "(1 2",
        "(1,2)",
        "(1\t2)",
        "(1\"a\")",
        ")",
        "(1));",
        "((1))",
        "(1;)",
        "a;",
        "a; ",
        "a;B",
        "a;1",
        "a;b=",
        "a;b= 1",
        "a;b =1",
        "a ;b",
        "a,",
        "a, ",
        ",a",
        "a,,b",
        "a b",
        "a;b,",
        "a;\tb",
        "\ta",
        "=",
        "a=1",
        "\x80",
        "\xc3\xbc",
        "{}",
        "#",
        "a\n",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (parses(table[i]))
            fail_msg("accepted: %s", table[i]);
    }
    static struct parsed parsed;
    assert_false(parsed_read((struct drossel_text){ "a\0", 2 }, false, HTTP_PROFILE_DRAFT_11, &parsed));
}

static void values_come_out(void **state)
{
    (void)state;
    struct sf_cursor cursor;
    struct sf_value value;
    static const char text[] = "-00012";
    cursor = (struct sf_cursor){ text, text + 6 };
    assert_true(sf_member(&cursor, &value));
    assert_int_equal(value.kind, SF_INTEGER);
    assert_int_equal(value.integer, -12);
    char plain[16];
    assert_int_equal(sf_unescape((struct drossel_text)DROSSEL_TEXT("a\\\"b\\\\"), plain), 4);
    assert_memory_equal(plain, "a\"b\\", 4);
    uint8_t bytes[16];
    size_t size;
    assert_true(sf_decode((struct drossel_text)DROSSEL_TEXT("AP/+EA=="), bytes, &size));
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "\x00\xff\xfe\x10", 4);
    assert_false(sf_decode((struct drossel_text)DROSSEL_TEXT("AP/+E"), bytes, &size));
}

static void draft_12_has_other_names(void **state)
{
    (void)state;
    static struct parsed parsed;
    static const char text[] = "\"a\";a=3;w=20;c=2, \"b\";r=1;t=5, \"c\";a=1;c=x";
    assert_true(parsed_read((struct drossel_text)DROSSEL_TEXT(text), false, HTTP_PROFILE_DRAFT_12, &parsed));
    assert_int_equal(parsed.count, 2);
    assert_int_equal(parsed.ignored, 1);
    assert_int_equal(parsed.item[0].amount, 3);
    assert_int_equal(parsed.item[0].window_s, 20);
    assert_int_equal(parsed.item[0].cost, 2);
    assert_int_equal(parsed.item[1].cost, 0);
    assert_false(parsed.item[1].has_window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(what_is_malformed_spoils_the_field),
        cmocka_unit_test(values_come_out),
        cmocka_unit_test(draft_12_has_other_names),
    };
    return cmocka_run_group_tests_name("structured", tests, NULL, NULL);
}
