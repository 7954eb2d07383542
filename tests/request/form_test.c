/* Accounts in urlencoded forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "body_found.h"
#include "request/form.h"

#define FORM "application/x-www-form-urlencoded"

static void every_value_of_a_field_is_found(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { FORM, DROSSEL_TEXT("email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("email=bob&password=x"), "bob" },
        { FORM, DROSSEL_TEXT("a=1&email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("email=bob&email=eve"), "bob|eve" },
        { FORM, DROSSEL_TEXT("email=bob&email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("&&email=bob&&"), "bob" },
        { FORM, DROSSEL_TEXT("email=a=b"), "a=b" },
        { FORM, DROSSEL_TEXT("email=bob%40x.example+y%2B1"), "bob@x.example y+1" },
        { FORM, DROSSEL_TEXT("email=%c3%A9"), "\xc3\xa9" },
        { FORM, DROSSEL_TEXT("email=bob%00x"), "bob\\0x" },
        { FORM, DROSSEL_TEXT("email=bob\0x"), "bob\\0x" },
        { FORM, DROSSEL_TEXT("email="), "" },
        { FORM, DROSSEL_TEXT("email"), "" },
        { FORM, DROSSEL_TEXT("xemail=bob&emailx=bob&e=email"), "" },
        { FORM, DROSSEL_TEXT("="), "" },
        { FORM, DROSSEL_TEXT("=bob"), "" },
        { FORM, DROSSEL_TEXT(""), "" },
        { FORM, DROSSEL_TEXT("\0"), "" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void no_spelling_of_the_name_hides_a_field(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { FORM, DROSSEL_TEXT("%65mail=bob"), "bob" },
        { FORM, DROSSEL_TEXT("%65%6D%61%69%6C=bob"), "bob" },
        { FORM, DROSSEL_TEXT("Email=bob&EMAIL=eve"), "bob|eve" },
        { FORM, DROSSEL_TEXT("+email=bob&%20%20email=eve& email=joe"), "bob|eve|joe" },
        { FORM, DROSSEL_TEXT("email%00x=bob"), "bob" },
        { FORM, DROSSEL_TEXT("x=1;email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("email=bob;x"), "bob;x|bob" },
        { FORM, DROSSEL_TEXT("email+=bob"), "" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
    static const struct body_source user_email[] = { { BODY_FORM, DROSSEL_TEXT("user_email") } };
    static const struct body_case php[] = {
        { FORM, DROSSEL_TEXT("user_email=a&user.email=b&user+email=c&user%5Bemail=d&user-email=e"), "a|b|c|d" },
    };
    BODY_ASSERT_ALL(php, user_email);
}

static void what_is_read_in_different_ways_is_malformed(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { FORM, DROSSEL_TEXT("email[]=bob"), "!" },
        { FORM, DROSSEL_TEXT("email%5B%24gt%5D="), "!" },
        { FORM, DROSSEL_TEXT("email=bob%"), "bob%!" },
        { FORM, DROSSEL_TEXT("email=bob%4"), "bob%4!" },
        { FORM, DROSSEL_TEXT("email=%zzbob"), "%zzbob!" },
        { FORM, DROSSEL_TEXT("%u0065mail=bob"), "!" },
        { FORM, DROSSEL_TEXT("email=bob&password=100%"), "bob" },
        { FORM "; charset=utf-16", DROSSEL_TEXT("email=bob"), "bob!" },
        { FORM "; charset=IBM037", DROSSEL_TEXT("email=bob"), "bob!" },
        { FORM "; charset=\"utf-7", DROSSEL_TEXT("email=bob"), "bob!" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void the_type_is_found_in_any_spelling(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { "APPLICATION/X-WWW-FORM-URLENCODED", DROSSEL_TEXT("email=bob"), "bob" },
        { FORM ";charset=UTF-8", DROSSEL_TEXT("email=bob"), "bob" },
        { FORM " ; charset=\"iso-8859-1\"", DROSSEL_TEXT("email=bob"), "bob" },
        { "  " FORM "  ", DROSSEL_TEXT("email=bob"), "bob" },
        { FORM " x", DROSSEL_TEXT("email=bob"), "bob" },
        { NULL, DROSSEL_TEXT("email=bob"), "bob" },
        { "", DROSSEL_TEXT("email=bob"), "bob" },
        { "text/plain", DROSSEL_TEXT("email=bob"), "bob" },
        { "text/plain", DROSSEL_TEXT("100%&email=bob"), "bob" },
        { "application/json", DROSSEL_TEXT("email=bob"), "" },
        { FORM ", application/json", DROSSEL_TEXT("email=bob"), "bob!" },
        { "application/json, " FORM, DROSSEL_TEXT("email=bob"), "bob!" },
        { ",", DROSSEL_TEXT("email=bob"), "bob" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void the_last_of_many_fields_is_found(void **state)
{
    (void)state;
    static char body[200000];
    size_t size = 0;
    for (int i = 0; i < 10000; i++)
        size += (size_t)snprintf(body + size, sizeof body - size, "f%d=%d;&", i, i);
    size += (size_t)snprintf(body + size, sizeof body - size, "email=bob");
    struct body_case test = { FORM, { body, size }, "bob" };
    body_assert(&test, body_form_email, 1);

    memset(body, ';', sizeof body);
    memcpy(body + sizeof body - 9, "email=eve", 9);
    test = (struct body_case){ FORM, { body, sizeof body }, "eve" };
    body_assert(&test, body_form_email, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_a_field_is_found),
        cmocka_unit_test(no_spelling_of_the_name_hides_a_field),
        cmocka_unit_test(what_is_read_in_different_ways_is_malformed),
        cmocka_unit_test(the_type_is_found_in_any_spelling),
        cmocka_unit_test(the_last_of_many_fields_is_found),
    };
    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
