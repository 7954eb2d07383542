/* Cookies, Basic and Bearer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "request/credential.h"

static struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, strlen(text) };
}

/* A NULL for `expected`: absent. */
static void assert_found(bool found, struct drossel_text value, const char *line, const char *expected)
{
    if (found != (expected != NULL))
        fail_msg("%s: %s", line, found ? "found" : "not found");
    if (!found)
        return assert_ptr_equal(value.data, "untouched");
    if (value.size != strlen(expected) || memcmp(value.data, expected, value.size) != 0)
        fail_msg("%s: %.*s, expected %s", line, (int)value.size, value.data, expected);
}

static void a_cookie_is_found_by_its_exact_name(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "session=abc", "abc" },
        { "a=b; session=abc; c=d", "abc" },
        { "session=\"abc\"", "abc" },
        { "session=a=b", "a=b" },
        { "xsession=1;session=abc", "abc" },
        { "session=1; session=2", "1" },
        { ";;\tsession=abc ;", "abc" },
        { "session=\"", "\"" },
        { "Session=abc", NULL },
        { "session", NULL },
        { "session=", NULL },
        { "session=\"\"", NULL },
        { "sessionx=abc", NULL },
        { "", NULL },
        { "session = abc", NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel_text value = { "untouched", 0 };
        bool found = credential_cookie(text_of(table[i][0]), text_of("session"), &value);
        assert_found(found, value, table[i][0], table[i][1]);
    }
}

static void a_cookie_is_found_by_each_name_that_applications_take_for_it(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "user_id=bob", "bob" },
        { "a=b; user_id=\"bob\"; c", "bob" },
        { "User_ID=bob", "bob" },
        { "user.id=bob", "bob" },
        { "user id=bob", "bob" },
        { "user_id =bob", "bob" },
        { "user_id= \"bob\" ;x", "bob" },
        { "xuser_id=bob", NULL },
        { "user_idx=bob", NULL },
        { "user_id", NULL },
        { "user_id=", NULL },
        { "=bob", NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel_text rest = text_of(table[i][0]), value = { "untouched", 0 };
        bool found = credential_cookie_next(&rest, text_of("user_id"), &value);
        assert_found(found, value, table[i][0], table[i][1]);
    }
}

static void a_cookie_in_any_spelling_is_one_value(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "bob", "bob" },     { "%62%6fb", "bob" },  { "b%", "b%" },   { "b%4", "b%4" },     { "a%40b+c", "a@b+c" },
        { "\\142ob", "bob" }, { "b\\o\\b", "bob" },  { "b\\", "b\\" }, { "b\\\\b", "b\\b" }, { "\\400", "400" },
        { "\\14", "14" },     { "%5c142ob", "bob" }, { "", "" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char out[16];
        size_t size = credential_cookie_decode(text_of(table[i][0]), out, sizeof out);
        assert_found(true, (struct drossel_text){ out, size }, table[i][0], table[i][1]);
    }
    char out[4] = "xyz";
    assert_int_equal(credential_cookie_decode(text_of("%62obby"), out, 2), 5);
    assert_string_equal(out, "boz");
}

static void basic_tells_the_user_and_forgets_the_password(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin" },
        { "basic QWxhZGRpbjpvcGVuIHNlc2FtZQ", "Aladdin" },
        { "BASIC   YTpiOmM=", "a" },
        { "Basic YTo=", "a" },
        { "Basic YQ==", NULL },
        { "Basic OmI=", NULL },
        { "Basic", NULL },
        { "Basic ", NULL },
        { "Basic %%%%", NULL },
        { "Basic YTpi YTpi", NULL },
        { "Bearer YTpi", NULL },
        { "BasicYTpi", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char buffer[CREDENTIAL_BASIC_MAX] = "";
        struct drossel_text user = { "untouched", 0 };
        bool found = credential_basic(text_of(table[i][0]), buffer, &user);
        assert_found(found, user, table[i][0], table[i][1]);
        assert_null(memmem(buffer, sizeof buffer, "sesame", 6));
    }
}

static void basic_of_any_length_stays_in_its_buffer(void **state)
{
    (void)state;
    static char line[8000] = "Basic YTpi";
    char buffer[CREDENTIAL_BASIC_MAX];
    struct drossel_text user = { "untouched", 0 };
    memset(line + 10, 'Q', sizeof line - 10);
    assert_false(credential_basic((struct drossel_text){ line, sizeof line }, buffer, &user));
    assert_true(credential_basic((struct drossel_text){ line, 10 + 1024 }, buffer, &user));
    assert_int_equal(user.size, 1);
}

static void bearer_tells_the_token(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "Bearer abc.def-1", "abc.def-1" },
        { "bearer  x ", "x" },
        { "Bearer", NULL },
        { "Bearer ", NULL },
        { "Bearer a b", NULL },
        { "Token x", NULL },
        { "Bearerx", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel_text token = { "untouched", 0 };
        bool found = credential_bearer(text_of(table[i][0]), &token);
        assert_found(found, token, table[i][0], table[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cookie_is_found_by_its_exact_name),
        cmocka_unit_test(a_cookie_is_found_by_each_name_that_applications_take_for_it),
        cmocka_unit_test(a_cookie_in_any_spelling_is_one_value),
        cmocka_unit_test(basic_tells_the_user_and_forgets_the_password),
        cmocka_unit_test(basic_of_any_length_stays_in_its_buffer),
        cmocka_unit_test(bearer_tells_the_token),
    };
    return cmocka_run_group_tests_name("credential", tests, NULL, NULL);
}
