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

static void a_cookie_is_found_under_every_name_that_an_application_takes_for_it(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "user_id=abc", "abc" },
        { "a=b; user_id=abc; c=d", "abc" },
        { "user_id=\"abc\"", "abc" },
        { "user_id=a=b", "a=b" },
        { "xuser_id=1;user_id=abc", "abc" },
        { "user_id=1; user_id=2", "1" },
        { ";;\tuser_id=abc ;", "abc" },
        { "user_id=\"", "\"" },
        { "user_id=;user_id=abc", "abc" },
        { "user_id = abc", "abc" },
        { "user_id=%41", "%41" },
        { "User_Id=abc", "abc" },
        { "user.id=abc", "abc" },
        { "user id=abc", "abc" },
        { "user[id=abc", "abc" },
        { "user_id[]=abc", "abc" },
        { "us%65r_id=abc", "abc" },
        { "us%zzer_id=abc", NULL },
        { "user-id=abc", NULL },
        { "user_id", NULL },
        { "user_id=", NULL },
        { "user_id=\"\"", NULL },
        { "user_idx=abc", NULL },
        { "", NULL },
        { "=abc", NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel_text value = { "untouched", 0 }, rest = text_of(table[i][0]);
        bool found = credential_cookie_next(&rest, text_of("user_id"), &value);
        assert_found(found, value, table[i][0], table[i][1]);
    }
}

static void a_cookies_value_is_read_as_each_framework_does(void **state)
{
    (void)state;
    static const struct {
        const char *value, *read[COOKIE_READINGS]; /* as escaped, with plus, quoted */
    } table[] = {
        { "a@x", { "a@x", "a@x", "a@x" } },
        { "%61%40%78", { "a@x", "a@x", "a@x" } },
        { "a+b%2Bc", { "a+b+c", "a b+c", "a+b+c" } },
        { "%2561", { "%61", "%61", "%61" } },
        { "100%", { "100%", "100%", "100%" } },
        { "%4", { "%4", "%4", "%4" } },
        { "%zz%4g%41", { "%zz%4gA", "%zz%4gA", "%zz%4gA" } },
        { "\\141\\\\\\\"\\8\\477", { "\\141\\\\\\\"\\8\\477", "\\141\\\\\\\"\\8\\477", "a\\\"8477" } },
        { "\\14", { "\\14", "\\14", "14" } },
        { "a\\", { "a\\", "a\\", "a\\" } },
        { "%20%00%09 +a+", { "+a+", "a ", "+a+" } },
        { "%20", { "", "", "" } },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (int reading = 0; reading < COOKIE_READINGS; reading++) {
            char out[64];
            const char *expected = table[i].read[reading];
            size_t size =
                credential_cookie_decode(text_of(table[i].value), (enum cookie_reading)reading, out, sizeof out);
            if (size != strlen(expected) || memcmp(out, expected, size) != 0)
                fail_msg("%s, reading %d: %.*s", table[i].value, reading, (int)size, out);
        }
    }
}

static void of_a_value_that_is_too_long_the_beginning_is_decoded(void **state)
{
    (void)state;
    char out[4] = "....";
    assert_int_equal(credential_cookie_decode(text_of("%20%61bcdef"), COOKIE_ESCAPED, out, 3), 6);
    assert_memory_equal(out, "abc.", 4);
    assert_false(credential_cookie_reads(text_of("plain"), COOKIE_ESCAPED));
    assert_true(credential_cookie_reads(text_of("a+b"), COOKIE_PLUS));
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
        cmocka_unit_test(a_cookie_is_found_under_every_name_that_an_application_takes_for_it),
        cmocka_unit_test(a_cookies_value_is_read_as_each_framework_does),
        cmocka_unit_test(of_a_value_that_is_too_long_the_beginning_is_decoded),
        cmocka_unit_test(basic_tells_the_user_and_forgets_the_password),
        cmocka_unit_test(basic_of_any_length_stays_in_its_buffer),
        cmocka_unit_test(bearer_tells_the_token),
    };
    return cmocka_run_group_tests_name("credential", tests, NULL, NULL);
}
