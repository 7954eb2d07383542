/* Accounts in bodies: several types and sources, and bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "body_found.h"

#define FORM "application/x-www-form-urlencoded"

static const struct drossel_text form_type = DROSSEL_TEXT(FORM);
static const struct body_wanted both[] = { { BODY_FORM, DROSSEL_TEXT("email") }, { BODY_JSON, DROSSEL_TEXT("email") } };

static void both_kinds_of_sources_are_looked_for(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { FORM, DROSSEL_TEXT("email=bob"), "bob" },
        { "application/json", DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob" },
        { FORM, DROSSEL_TEXT("{\"x\":1}&email=bob"), "bob!" },
        { "application/xml", DROSSEL_TEXT("<email>bob</email>"), "" },
    };
    BODY_ASSERT_ALL(table, both);
}

static void a_value_tells_its_source(void **state)
{
    (void)state;
    char buffer[64];
    struct body_found found;
    struct body body = { .content_types = &form_type,
                         .content_type_count = 1,
                         .bytes = DROSSEL_TEXT("login=eve&email=bob&login=bob") };
    struct body_wanted sources[] = { { BODY_FORM, DROSSEL_TEXT("email") }, { BODY_FORM, DROSSEL_TEXT("login") } };
    body_found_init(&found, buffer, sizeof buffer);
    assert_int_equal(body_find(&body, sources, 2, &found), 3);
    assert_int_equal(found.value[0].source, 1);
    assert_int_equal(found.value[1].source, 0);
    assert_int_equal(found.value[2].source, 1);
    assert_memory_equal(found.value[2].text.data, "bob", 3);
}

static void what_cannot_be_read_is_malformed(void **state)
{
    (void)state;
    static const struct drossel_text types[] = { DROSSEL_TEXT("application/json"),
                                                 DROSSEL_TEXT("application/x-www-form-urlencoded") };
    const struct drossel_text form = DROSSEL_TEXT("email=bob");
    struct {
        struct body body;
        bool malformed;
    } table[] = {
        { { .content_types = &form_type, .content_type_count = 1, .bytes = form }, false },
        { { .content_types = &form_type, .content_type_count = 1, .bytes = form, .truncated = true }, true },
        { { .content_types = types, .content_type_count = 2, .bytes = form }, true },
        { { .content_types = &form_type,
            .content_type_count = 1,
            .bytes = form,
            .content_encoding = DROSSEL_TEXT("gzip") },
          true },
        { { .content_types = &form_type,
            .content_type_count = 1,
            .bytes = form,
            .content_encoding = DROSSEL_TEXT(" Identity ") },
          false },
        { { .content_types = NULL, .content_type_count = 0, .bytes = form }, false },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char buffer[64];
        struct body_found found;
        body_found_init(&found, buffer, sizeof buffer);
        assert_int_equal(body_find(&table[i].body, body_form_email, 1, &found), 1);
        assert_int_equal(found.malformed, table[i].malformed);
        assert_false(found.too_many);
    }
}

static void more_values_than_are_kept_are_told(void **state)
{
    (void)state;
    char bytes[1000], buffer[1000];
    size_t size = 0;
    for (size_t i = 1; i <= BODY_VALUES_MAX + 1; i++) {
        struct body_found found;
        size += (size_t)sprintf(bytes + size, "email=bob%zu&email=bob%zu&email=bob1&", i, i);
        struct body body = { .content_types = &form_type, .content_type_count = 1, .bytes = { bytes, size } };
        body_found_init(&found, buffer, sizeof buffer);
        assert_int_equal(body_find(&body, body_form_email, 1, &found), i < BODY_VALUES_MAX ? i : BODY_VALUES_MAX);
        assert_int_equal(found.too_many, i > BODY_VALUES_MAX);
        assert_false(found.malformed);
    }
}

static void a_value_that_does_not_fit_is_told_and_hides_none(void **state)
{
    (void)state;
    static const struct drossel_text bodies[] = {
        DROSSEL_TEXT("email=ninebytes&email=bob"),
        DROSSEL_TEXT("{\"email\":\"ninebytes\",\"email\":\"bob\"}"),
        DROSSEL_TEXT("{\"email\":\"nineb\\u0079tes\",\"email\":\"bob\"}"),
        DROSSEL_TEXT("{\"email\":123456789,\"email\":\"bob\"}"),
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char buffer[16] = "!!!!!!!!!!!!!!!";
        struct body_found found;
        struct body body = { .bytes = bodies[i] };
        body_found_init(&found, buffer, 8);
        assert_int_equal(body_find(&body, both, 2, &found), 1);
        assert_memory_equal(found.value[0].text.data, "bob", 3);
        assert_true(found.too_many);
        assert_memory_equal(buffer + 8, "!!!!!!!", 8);
    }
}

static void without_sources_nothing_is_found(void **state)
{
    (void)state;
    char buffer[16];
    struct body_found found;
    struct body body = { .content_types = &form_type, .content_type_count = 1, .bytes = DROSSEL_TEXT("email=%") };
    body_found_init(&found, buffer, sizeof buffer);
    assert_int_equal(body_find(&body, NULL, 0, &found), 0);
    assert_false(found.malformed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_of_sources_are_looked_for),
        cmocka_unit_test(a_value_tells_its_source),
        cmocka_unit_test(what_cannot_be_read_is_malformed),
        cmocka_unit_test(more_values_than_are_kept_are_told),
        cmocka_unit_test(a_value_that_does_not_fit_is_told_and_hides_none),
        cmocka_unit_test(without_sources_nothing_is_found),
    };
    return cmocka_run_group_tests_name("body", tests, NULL, NULL);
}
