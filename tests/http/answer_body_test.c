/* What a refused client reads: which kind of body it gets, and what stands in it. */
#include "answer_test_support.h"

#include <jansson.h>

#define BROWSER "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

static void the_policys_json_is_filled_in(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "{\"error\":\"rate_limit_exceeded\"}", "{\"error\":\"rate_limit_exceeded\"}" },
        { "{\"retry\":${retry_after},\"limit\":\"${limit}\"}", "{\"retry\":13,\"limit\":\"a\\\"b\\\\c\\n\\u00c3\"}" },
        { "${retry_after}${retry_after}", "1313" },
        { "$", "$" },
        { "${", "${" },
        { "${retry_after", "${retry_after" },
        { "$${limit}", "$a\\\"b\\\\c\\n\\u00c3" },
        { "${other}", "${other}" },
    };
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    rules.body = HTTP_BODY_JSON;
    decision.limit_name = "a\"b\\c\n\xc3";
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rules.json = text_of(table[i][0]);
        const struct http_answer *answer = answer_to(&rules, &decision, "text/html");
        assert_string_equal(answer->content_type, "application/json");
        assert_int_equal(answer->body.size, strlen(table[i][1]));
        assert_memory_equal(answer->body.data, table[i][1], answer->body.size);
    }
}

static void the_body_is_what_accept_prefers(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        enum http_body body;
    } table[] = {
        { "", HTTP_BODY_PROBLEM },
        { "*/*", HTTP_BODY_PROBLEM },
        { "application/json", HTTP_BODY_PROBLEM },
        { "application/problem+json", HTTP_BODY_PROBLEM },
        { "application/*", HTTP_BODY_PROBLEM },
        { "APPLICATION/JSON", HTTP_BODY_PROBLEM },
        { "text/html", HTTP_BODY_HTML },
        { "text/plain", HTTP_BODY_TEXT },
        { "text/*", HTTP_BODY_HTML },
        { BROWSER, HTTP_BODY_HTML },
        { "text/html, */*", HTTP_BODY_HTML },
        { "text/html,application/json", HTTP_BODY_PROBLEM },
        { "text/html;q=0.5,application/json", HTTP_BODY_PROBLEM },
        { "application/json;q=0.5,text/html", HTTP_BODY_HTML },
        { "application/json, text/plain, */*", HTTP_BODY_PROBLEM },
        { "text/plain, */*;q=0.1", HTTP_BODY_TEXT },
        { "text/plain;q=0.9,text/html;q=0.8", HTTP_BODY_TEXT },
        { "*/*;q=0.1,text/html;q=0", HTTP_BODY_PROBLEM },
        { "text/*;q=1,text/html;q=0", HTTP_BODY_TEXT },
        { "image/png", HTTP_BODY_PROBLEM },
        { "*/*;q=0", HTTP_BODY_PROBLEM },
        { "text/html;q=0", HTTP_BODY_PROBLEM },
        { "text/html;q=2", HTTP_BODY_PROBLEM },
        { "text/html;q=1.000", HTTP_BODY_HTML },
        { "text/html;q=1.001", HTTP_BODY_PROBLEM },
        { "text/html;q=0.0001", HTTP_BODY_PROBLEM },
        { "text/html;q=", HTTP_BODY_PROBLEM },
        { "text/html ; Q=0.7 , text/plain;q=0.8", HTTP_BODY_TEXT },
        { "text/html;level=\"a,b;q=0\";q=0.9,application/json;q=0.8", HTTP_BODY_HTML },
        { "text", HTTP_BODY_PROBLEM },
        { ",,;;,", HTTP_BODY_PROBLEM },
        { "*/html", HTTP_BODY_PROBLEM },
        { "text/html\"", HTTP_BODY_PROBLEM },
        { "image/avif,image/webp,*/*;q=0.8", HTTP_BODY_PROBLEM },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (http_accept_choose(text_of(table[i].accept)) != table[i].body)
            fail_msg("%s -> %d", table[i].accept, http_accept_choose(text_of(table[i].accept)));
    }
}

static void the_policy_can_fix_the_body(void **state)
{
    (void)state;
    static const struct {
        enum http_body body;
        const char *type;
    } table[] = {
        { HTTP_BODY_AUTO, "text/html; charset=utf-8" }, { HTTP_BODY_PROBLEM, "application/problem+json" },
        { HTTP_BODY_HTML, "text/html; charset=utf-8" }, { HTTP_BODY_TEXT, "text/plain; charset=utf-8" },
        { HTTP_BODY_JSON, "application/problem+json" },
    };
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rules.body = (uint8_t)table[i].body;
        assert_string_equal(answer_to(&rules, &decision, BROWSER)->content_type, table[i].type);
    }
    rules.body = HTTP_BODY_NONE;
    assert_null(answer_to(&rules, &decision, BROWSER)->content_type);
    assert_int_equal(answer_to(&rules, &decision, BROWSER)->body.size, 0);
}

static void the_page_loads_nothing_and_says_when(void **state)
{
    (void)state;
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    rules.status = 503;
    decision.wait_ns = 900 * SECOND;
    const struct http_answer *answer = answer_to(&rules, &decision, BROWSER);
    static const char *const wanted[] = { "<!doctype html>",    "noindex",          "prefers-color-scheme:dark",
                                          "width=device-width", "about 15 minutes", "900 seconds",
                                          "Status 503",         "</html>" };
    static const char *const unwanted[] = { "http:", "https:", "src=", "url(", "<script", "<link", "login" };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_true(says(answer, wanted[i]));
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        assert_false(says(answer, unwanted[i]));
}

static void problem_details_are_json_whatever_the_names(void **state)
{
    (void)state;
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    char name[2] = "x";
    for (int c = 1; c < 256; c++) {
        name[0] = (char)c;
        decision.quota[0].name = name;
        const struct http_answer *answer = answer_to(&rules, &decision, "");
        json_t *body = json_loadb(answer->body.data, answer->body.size, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(body);
        assert_int_equal(json_integer_value(json_object_get(body, "status")), 429);
        json_decref(body);
    }
}

static void durations_read_as_a_person_says_them(void **state)
{
    (void)state;
    static const struct {
        uint32_t seconds;
        const char *words;
    } table[] = {
        { 1, "1 second" },
        { 2, "2 seconds" },
        { 119, "119 seconds" },
        { 120, "about 2 minutes" },
        { 121, "about 3 minutes" },
        { 3600, "about 60 minutes" },
        { 7140, "about 119 minutes" },
        { 7141, "about 2 hours" },
        { 86400, "about 24 hours" },
        { 169200, "about 47 hours" },
        { 169201, "about 2 days" },
        { 31536000, "about 365 days" },
        { UINT32_MAX, "about 49711 days" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char out[64] = "";
        struct http_writer writer = { .data = out, .cap = sizeof out - 1 };
        http_duration_format(table[i].seconds, &writer);
        assert_string_equal(out, table[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policys_json_is_filled_in),
        cmocka_unit_test(the_body_is_what_accept_prefers),
        cmocka_unit_test(the_policy_can_fix_the_body),
        cmocka_unit_test(the_page_loads_nothing_and_says_when),
        cmocka_unit_test(problem_details_are_json_whatever_the_names),
        cmocka_unit_test(durations_read_as_a_person_says_them),
    };
    return cmocka_run_group_tests_name("answer body", tests, NULL, NULL);
}
