/* When RateLimit fields are sent, what bounds and options do to them, and the text of a problem body. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "http/fields.h"

#define SECOND UINT64_C(1000000000)

static struct http_field field[16];
static char buffer[4096];

/* One policy of 100 a minute with so much left. */
static struct http_fields_input input_of(double remaining)
{
    static struct http_policy_item policy = {
        .name = DROSSEL_TEXT("a"), .quota = 100, .window_s = 60, .has_window = true
    };
    static struct http_limit_item limit;
    limit = (struct http_limit_item){
        .policy = DROSSEL_TEXT("a"), .remaining = remaining, .window_ns = 30 * SECOND, .has_window = true
    };
    return (struct http_fields_input){ .policies = &policy,
                                       .limits = &limit,
                                       .policy_count = 1,
                                       .limit_count = 1,
                                       .profile = HTTP_PROFILE_DRAFT_11,
                                       .status = 200,
                                       .threshold = 0.05 };
}

static size_t written(const struct http_fields_input *input)
{
    struct http_field_list list = { .field = field, .cap = 16 };
    struct http_writer writer = { .data = buffer, .cap = sizeof buffer };
    assert_null(http_fields_format(input, &list, &writer));
    return list.count;
}

static void assert_value(size_t index, const char *expected)
{
    assert_int_equal(field[index].value.size, strlen(expected));
    assert_memory_equal(field[index].value.data, expected, strlen(expected));
}

static void fields_are_exposed_as_the_operator_wants(void **state)
{
    (void)state;
    static const struct {
        enum http_expose expose;
        double remaining;
        bool denied;
        uint16_t status;
        size_t count;
    } table[] = {
        { HTTP_EXPOSE_ALL, 99, false, 200, 2 },
        { HTTP_EXPOSE_ALL, 0, true, 429, 3 },
        { HTTP_EXPOSE_NONE, 99, false, 200, 0 },
        { HTTP_EXPOSE_NONE, 0, true, 429, 1 },
        { HTTP_EXPOSE_ON_DENY, 0, false, 200, 0 },
        { HTTP_EXPOSE_ON_DENY, 0, true, 429, 3 },
        { HTTP_EXPOSE_NEAR_EXHAUSTION, 6, false, 200, 0 },
        { HTTP_EXPOSE_NEAR_EXHAUSTION, 5, false, 200, 2 },
        { HTTP_EXPOSE_NEAR_EXHAUSTION, 50, true, 429, 3 },
        { HTTP_EXPOSE_ALL, 99, false, 302, 0 },
        { HTTP_EXPOSE_ALL, 99, false, 404, 2 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct http_fields_input input = input_of(table[i].remaining);
        input.expose = table[i].expose;
        input.denied = table[i].denied;
        input.status = table[i].status;
        assert_int_equal(written(&input), table[i].count);
    }
    struct http_fields_input redirect = input_of(1), abnormal = input_of(0);
    redirect.status = 302;
    redirect.on_redirect = true;
    assert_int_equal(written(&redirect), 2);
    abnormal.denied = abnormal.abnormal = true;
    assert_int_equal(written(&abnormal), 1);
}

static void the_jitter_reaches_the_violated_alone(void **state)
{
    (void)state;
    struct drossel_text violated = DROSSEL_TEXT("a"), other = DROSSEL_TEXT("b");
    struct http_fields_input input = input_of(0);
    input.denied = input.has_retry_after = true;
    input.retry_after_ns = 30 * SECOND;
    input.jitter_ns = 1500 * SECOND / 1000;
    input.violated = &violated;
    input.violated_count = 1;
    assert_int_equal(written(&input), 4);
    assert_value(1, "32");
    assert_value(3, "\"a\";r=0;t=32");
    input.violated = &other;
    written(&input);
    assert_value(3, "\"a\";r=0;t=30");
    input.violated = &violated;
    input.retry_after_ns = 10 * SECOND;
    written(&input);
    assert_value(1, "12");
    assert_value(3, "\"a\";r=0;t=12");
}

static void a_rate_caps_what_is_told_as_left(void **state)
{
    (void)state;
    struct http_fields_input input = input_of(90);
    input.max_rate = 1.5;
    written(&input);
    assert_value(1, "\"a\";r=45;t=30");
    input.max_rate = 100;
    written(&input);
    assert_value(1, "\"a\";r=90;t=30");
}

static void at_most_eight_are_reported(void **state)
{
    (void)state;
    static struct http_limit_item limits[20];
    struct http_fields_input input = input_of(1);
    for (size_t i = 0; i < 20; i++)
        limits[i] = (struct http_limit_item){ .policy = DROSSEL_TEXT("a"), .remaining = (double)(20 - i) };
    input.limits = limits;
    input.limit_count = 20;
    written(&input);
    assert_value(1, "\"a\";r=20, \"a\";r=19, \"a\";r=18, \"a\";r=17, \"a\";r=16, \"a\";r=15, \"a\";r=14, \"a\";r=13");
    input.closest = true;
    written(&input);
    assert_value(1, "\"a\";r=1");
}

static void what_no_field_can_hold_is_refused(void **state)
{
    (void)state;
    static const double quotas[] = { -1, 1.5, 1e15, 1e300, -1e300, 0.5 };
    char longest[66];
    memset(longest, 'x', sizeof longest);
    for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
        struct http_policy_item item = { .name = DROSSEL_TEXT("a"), .quota = quotas[i] };
        assert_non_null(http_policy_item_check(&item));
        item.quota = 1;
        item.has_window = true;
        item.window_s = quotas[i];
        assert_non_null(http_policy_item_check(&item));
    }
    struct http_policy_item item = { .name = { longest, 64 }, .quota = 1 };
    assert_null(http_policy_item_check(&item));
    item.name.size = 65;
    assert_non_null(http_policy_item_check(&item));
    item.name.size = 0;
    assert_non_null(http_policy_item_check(&item));
    struct http_fields_input input = input_of(1e16);
    assert_non_null(http_fields_check(&input));
    input = input_of(-1e300);
    assert_null(http_fields_check(&input));
}

static void parameters_of_ones_own_come_last(void **state)
{
    (void)state;
    const struct http_extension own[] = { { .key = DROSSEL_TEXT("acme-burst"), .number = -5 },
                                          { .key = DROSSEL_TEXT("acme"), .text = DROSSEL_TEXT("a\"b") } };
    struct http_policy_item item = {
        .name = DROSSEL_TEXT("a"), .quota = 1, .unit = DROSSEL_TEXT("requests"), .extensions = own, .extension_count = 2
    };
    struct http_fields_input input = {
        .policies = &item, .policy_count = 1, .profile = HTTP_PROFILE_DRAFT_11, .status = 200
    };
    assert_int_equal(written(&input), 1);
    assert_value(0, "\"a\";q=1;acme-burst=-5;acme=\"a\\\"b\"");
    const struct http_extension upper = { .key = DROSSEL_TEXT("Acme"), .number = 1 };
    item.extensions = &upper;
    item.extension_count = 1;
    assert_non_null(http_policy_item_check(&item));
}

static void a_threshold_is_reached_where_its_decimal_says(void **state)
{
    (void)state;
    static const struct {
        double quota, remaining, threshold;
        size_t count;
    } table[] = {
        { 100, 29, 0.29, 2 }, { 100, 30, 0.29, 0 }, { 100, 57, 0.57, 2 }, { 50, 29, 0.58, 2 }, { 1000, 15, 0.015, 2 },
        { 10, 0, 0, 2 },      { 10, 1, 0, 0 },      { 10, 10, 1, 2 },     { 0, 0, 0.05, 2 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct http_fields_input input = input_of(table[i].remaining);
        struct http_policy_item policy = input.policies[0];
        policy.quota = table[i].quota;
        input.policies = &policy;
        input.expose = HTTP_EXPOSE_NEAR_EXHAUSTION;
        input.threshold = table[i].threshold;
        if (written(&input) != table[i].count)
            fail_msg("%g of %g at %g", table[i].remaining, table[i].quota, table[i].threshold);
    }
}

/* As other writers of compact ASCII JSON have it: short escapes, UTF-16 for the rest. */
static void the_problem_body_is_ascii_whatever_its_detail(void **state)
{
    (void)state;
    static const struct {
        const char *text, *escaped;
    } table[] = {
        { "a/b <c> & 'd'", "a/b <c> & 'd'" },
        { "\"\\", "\\\"\\\\" },
        { "\b\t\n\f\r\v\x1f\x7f", "\\b\\t\\n\\f\\r\\u000b\\u001f\\u007f" },
        { "caf\xc3\xa9 \xe6\x97\xa5", "caf\\u00e9 \\u65e5" },
        { "\xef\xbf\xbf\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf",
          "\\uffff\\ud800\\udc00\\ud83d\\ude00\\udbff\\udfff" },
        { "\xc3(\xed\xa0\x80\xff\xe6\x97", "\\u00c3(\\u00ed\\u00a0\\u0080\\u00ff\\u00e6\\u0097" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct http_problem problem = { .kind = HTTP_PROBLEM_BLANK,
                                        .detail = { table[i].text, strlen(table[i].text) } };
        struct http_writer writer = { .data = buffer, .cap = sizeof buffer };
        char expected[256];
        int size = snprintf(expected, sizeof expected,
                            "{\"type\":\"about:blank\",\"title\":\"Forbidden\",\"detail\":\"%s\"}", table[i].escaped);
        http_problem_format(&problem, &writer);
        assert_int_equal(writer.size, size);
        assert_memory_equal(buffer, expected, (size_t)size);
    }
}

static void a_field_that_does_not_fit_is_left_out_whole(void **state)
{
    (void)state;
    struct http_fields_input input = input_of(1);
    for (size_t cap = 0; cap < 64; cap++) {
        struct http_field_list list = { .field = field, .cap = 16 };
        struct http_writer writer = { .data = buffer, .cap = cap };
        assert_null(http_fields_format(&input, &list, &writer));
        assert_true(writer.size <= cap && !writer.full);
        for (size_t i = 0; i < list.count; i++)
            assert_true(field[i].value.data[field[i].value.size - 1] == '0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_exposed_as_the_operator_wants),
        cmocka_unit_test(the_jitter_reaches_the_violated_alone),
        cmocka_unit_test(a_rate_caps_what_is_told_as_left),
        cmocka_unit_test(at_most_eight_are_reported),
        cmocka_unit_test(what_no_field_can_hold_is_refused),
        cmocka_unit_test(parameters_of_ones_own_come_last),
        cmocka_unit_test(a_threshold_is_reached_where_its_decimal_says),
        cmocka_unit_test(the_problem_body_is_ascii_whatever_its_detail),
        cmocka_unit_test(a_field_that_does_not_fit_is_left_out_whole),
    };
    return cmocka_run_group_tests_name("exposure", tests, NULL, NULL);
}
