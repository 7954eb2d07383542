/* What a refused client is told in the fields, and what not. */
#include "answer_test_support.h"

#include "http/date.h"

static const char *field(const struct http_answer *answer, const char *name)
{
    static char value[2048];
    for (size_t i = 0; i < answer->field_count; i++) {
        const struct http_field *found = &answer->field[i];
        if (found->name.size != strlen(name) || memcmp(found->name.data, name, found->name.size) != 0)
            continue;
        assert_true(found->value.size < sizeof value);
        memcpy(value, found->value.data, found->value.size);
        value[found->value.size] = '\0';
        return value;
    }
    return "";
}

static void a_refusal_carries_the_contract(void **state)
{
    (void)state;
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    const struct http_answer *answer = answer_to(&rules, &decision, "*/*");
    assert_int_equal(answer->status, 429);
    assert_int_equal(answer->retry_after_s, 13);
    assert_string_equal(field(answer, "Retry-After"), "13");
    assert_string_equal(field(answer, "Cache-Control"), "no-store");
    assert_string_equal(field(answer, "RateLimit-Policy"), "\"login\";q=5;w=60, \"day\";q=1000;w=86400");
    assert_string_equal(field(answer, "RateLimit"), "\"login\";r=0;t=13, \"day\";r=900;t=80");
    assert_string_equal(answer->content_type, "application/problem+json");
    static const char body[] = "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\","
                               "\"title\":\"Quota Exceeded\",\"status\":429,\"detail\":\"Try again in 13 seconds.\","
                               "\"violated-policies\":[\"login\"]}";
    assert_int_equal(answer->body.size, sizeof body - 1);
    assert_memory_equal(answer->body.data, body, sizeof body - 1);
    assert_int_equal(answer->field_count, 4);
}

static void numbers_and_names_are_told_as_the_policy_reveals_them(void **state)
{
    (void)state;
    static const struct {
        enum http_reveal reveal;
        bool signed_in, told;
    } table[] = {
        { HTTP_REVEAL_SIGNED_IN, true, true },
        { HTTP_REVEAL_SIGNED_IN, false, false },
        { HTTP_REVEAL_EVERYONE, false, true },
        { HTTP_REVEAL_NOBODY, true, false },
    };
    static const char *const accepts[] = { "*/*", "text/html", "text/plain" };
    for (size_t i = 0; i < 4; i++) {
        struct http_answer_rules rules = plain_rules();
        struct drossel_decision decision = refusal();
        rules.reveal = (uint8_t)table[i].reveal;
        rules.headers |= HTTP_DRAFT_6 | HTTP_X_RATELIMIT;
        decision.signed_in = table[i].signed_in;
        const struct http_answer *answer = answer_to(&rules, &decision, "*/*");
        assert_int_equal(answer->field_count, table[i].told ? 10 : 2);
        assert_int_equal(says(answer, "login"), table[i].told);
        assert_string_equal(field(answer, "Retry-After"), "13");
        for (size_t j = 0; j < 3 && !table[i].told; j++)
            assert_false(says(answer_to(&rules, &decision, accepts[j]), "login"));
        rules.body = HTTP_BODY_JSON;
        rules.json = text_of("{\"limit\":\"${limit}\"}");
        assert_int_equal(says(answer_to(&rules, &decision, ""), "login"), table[i].told);
    }
}

static void what_is_left_of_failures_is_told_to_everyone_or_to_nobody(void **state)
{
    (void)state;
    static const struct {
        enum http_reveal reveal;
        bool violated;
        const char *fields;
    } table[] = {
        { HTTP_REVEAL_SIGNED_IN, false, "\"login\";r=0;t=13" },
        { HTTP_REVEAL_SIGNED_IN, true, "\"login\";r=0;t=13, \"day\";r=900;t=13" },
        { HTTP_REVEAL_EVERYONE, false, "\"login\";r=0;t=13, \"day\";r=900;t=80" },
        { HTTP_REVEAL_NOBODY, true, "" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct http_answer_rules rules = plain_rules();
        struct drossel_decision decision = refusal();
        rules.reveal = (uint8_t)table[i].reveal;
        decision.signed_in = true;
        decision.quota[1].counts_failures = true;
        decision.quota[1].violated = table[i].violated;
        assert_string_equal(field(answer_to(&rules, &decision, "*/*"), "RateLimit"), table[i].fields);
    }
}

static void every_profile_is_written_and_no_name_twice(void **state)
{
    (void)state;
    struct drossel_decision decision = refusal();
    struct http_answer_rules rules = plain_rules();
    rules.headers = HTTP_DRAFT_12;
    assert_string_equal(field(answer_to(&rules, &decision, ""), "RateLimit"), "\"login\";a=0;w=13, \"day\";a=900;w=80");
    assert_string_equal(field(answer_to(&rules, &decision, ""), "Retry-After"), "");
    rules.headers = HTTP_DRAFT_7;
    assert_string_equal(field(answer_to(&rules, &decision, ""), "RateLimit"), "limit=5, remaining=0, reset=13");
    assert_string_equal(field(answer_to(&rules, &decision, ""), "RateLimit-Policy"), "5;w=60, 1000;w=86400");
    rules.headers = HTTP_DRAFT_6;
    assert_string_equal(field(answer_to(&rules, &decision, ""), "RateLimit-Limit"), "5");
    assert_string_equal(field(answer_to(&rules, &decision, ""), "RateLimit-Remaining"), "0");
    assert_string_equal(field(answer_to(&rules, &decision, ""), "RateLimit-Reset"), "13");
    rules.headers = HTTP_X_RATELIMIT;
    assert_string_equal(field(answer_to(&rules, &decision, ""), "X-RateLimit-Reset"), "1796040013");
    rules.headers = HTTP_DRAFT_11 | HTTP_DRAFT_12 | HTTP_DRAFT_7;
    const struct http_answer *answer = answer_to(&rules, &decision, "");
    assert_int_equal(answer->field_count, 3);
    assert_string_equal(field(answer, "RateLimit"), "\"login\";r=0;t=13, \"day\";r=900;t=80");
}

static void retry_after_is_never_early_and_spreads_within_the_jitter(void **state)
{
    (void)state;
    static const uint64_t waits[] = { 0,
                                      1,
                                      SECOND - 1,
                                      SECOND,
                                      SECOND + 1,
                                      12300 * SECOND / 1000,
                                      100 * SECOND,
                                      3600 * SECOND,
                                      86400 * SECOND * 366,
                                      UINT64_MAX - 1 };
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        uint64_t least = UINT64_MAX, most = 0, exact = http_retry_after(waits[i], 0, 7, NOW);
        for (uint64_t j = 0; j < 2000; j++) {
            uint64_t seconds = http_retry_after(waits[i], 100000, j * 977, NOW + j % 5);
            least = seconds < least ? seconds : least;
            most = seconds > most ? seconds : most;
        }
        uint64_t whole = waits[i] / SECOND + (waits[i] % SECOND != 0), spread = whole / 10 > 300 ? 300 : whole / 10;
        whole = whole == 0 ? 1 : whole > 2147483000 ? 2147483000 : whole;
        assert_int_equal(exact, whole);
        assert_true(least >= whole && most <= whole + spread + 1);
        if (whole >= 100)
            assert_true(most - least >= spread * 9 / 10);
    }
    assert_int_equal(http_retry_after(100 * SECOND, 100000, 5, NOW), http_retry_after(100 * SECOND, 100000, 5, NOW));
    assert_int_equal(http_retry_after(DROSSEL_NEVER, 100000, 5, NOW), 0);
}

static void the_window_ends_no_later_than_retry_after(void **state)
{
    (void)state;
    struct http_answer_rules rules = plain_rules();
    rules.jitter_ppm = 500000;
    for (uint64_t hash = 0; hash < 200; hash++) {
        struct drossel_decision decision = refusal();
        char expected[32];
        decision.subject_hash = hash;
        decision.quota[0].more_ns = decision.wait_ns = 100 * SECOND + hash;
        const struct http_answer *answer = answer_to(&rules, &decision, "");
        snprintf(expected, sizeof expected, "\"login\";r=0;t=%u,", answer->retry_after_s);
        assert_true(answer->retry_after_s >= 101 - (hash == 0) && answer->retry_after_s <= 151);
        assert_memory_equal(field(answer, "RateLimit"), expected, strlen(expected));
    }
}

static void a_date_is_never_before_the_wait_is_over_and_less_than_a_second_after(void **state)
{
    (void)state;
    static const uint64_t waits_ns[] = {
        1, 999999999, SECOND, SECOND + 1, 12 * SECOND, 12 * SECOND + 500000000, 3600 * SECOND - 1
    };
    static const uint32_t beyond_ns[] = { 0, 1, 499999999, 500000000, 500000001, 999999999 };
    for (size_t i = 0; i < sizeof waits_ns / sizeof *waits_ns; i++) {
        for (size_t j = 0; j < sizeof beyond_ns / sizeof *beyond_ns; j++) {
            static struct http_answer answer;
            struct http_answer_rules rules = plain_rules();
            struct drossel_decision decision = refusal();
            struct http_answer_request request = { .unix_now_s = NOW, .unix_now_ns = beyond_ns[j] };
            rules.date = true;
            decision.wait_ns = waits_ns[i];
            http_answer_format(&rules, &decision, &request, &answer);
            int64_t date_s;
            assert_true(http_date_parse(text_of(field(&answer, "Retry-After")), NOW, &date_s));
            uint64_t over_ns = beyond_ns[j] + waits_ns[i], told_ns = ((uint64_t)date_s - NOW) * SECOND;
            assert_true(told_ns >= over_ns && told_ns - over_ns < SECOND);
        }
    }
}

static void a_date_is_written_where_the_policy_wants_one(void **state)
{
    (void)state;
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    rules.date = true;
    assert_string_equal(field(answer_to(&rules, &decision, ""), "Retry-After"), "Mon, 30 Nov 2026 12:00:13 GMT");
}

static void waiting_that_does_not_help_is_not_announced(void **state)
{
    (void)state;
    static const char *const accepts[] = { "*/*", "text/html", "text/plain" };
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    decision.wait_ns = decision.quota[0].more_ns = DROSSEL_NEVER;
    for (size_t i = 0; i < 3; i++) {
        const struct http_answer *answer = answer_to(&rules, &decision, accepts[i]);
        assert_int_equal(answer->retry_after_s, 0);
        assert_string_equal(field(answer, "Retry-After"), "");
        assert_string_equal(field(answer, "RateLimit"), "\"login\";r=0, \"day\";r=900;t=80");
        assert_true(says(answer, "aiting does not"));
        assert_false(says(answer, "try again"));
    }
    rules.body = HTTP_BODY_JSON;
    rules.json = text_of("{\"wait\":${retry_after}}");
    assert_true(says(answer_to(&rules, &decision, ""), "{\"wait\":null}"));
}

static void who_came_past_the_proxy_gets_other_words(void **state)
{
    (void)state;
    static const char *const accepts[] = { "*/*", "text/html", "text/plain" };
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    rules.reveal = HTTP_REVEAL_EVERYONE;
    decision.untrusted = true;
    decision.wait_ns = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct http_answer *answer = answer_to(&rules, &decision, accepts[i]);
        assert_int_equal(answer->status, 403);
        assert_int_equal(answer->field_count, 1);
        assert_string_equal(field(answer, "Cache-Control"), "no-store");
        assert_true(says(answer, "public address"));
        assert_false(says(answer, "login") || says(answer, "uota") || says(answer, "try again"));
    }
    rules.body = HTTP_BODY_JSON;
    rules.json = text_of("{\"error\":\"rate_limit_exceeded\"}");
    assert_true(says(answer_to(&rules, &decision, ""), "about:blank"));
}

static void head_has_the_fields_and_no_body(void **state)
{
    (void)state;
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    struct http_answer head;
    struct http_answer_request request = { .accept = text_of("text/html"), .head = true, .unix_now_s = NOW };
    const struct http_answer *full = answer_to(&rules, &decision, "text/html");
    http_answer_format(&rules, &decision, &request, &head);
    assert_int_equal(head.body.size, 0);
    assert_true(full->body.size > 0);
    assert_string_equal(head.content_type, full->content_type);
    assert_int_equal(head.field_count, full->field_count);
    for (size_t i = 0; i < head.field_count; i++) {
        assert_int_equal(head.field[i].value.size, full->field[i].value.size);
        assert_memory_equal(head.field[i].value.data, full->field[i].value.data, head.field[i].value.size);
    }
}

static void what_does_not_fit_is_left_out_whole(void **state)
{
    (void)state;
    static char large[HTTP_ANSWER_BYTES + 1];
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    memset(large, 'x', sizeof large - 1);
    rules.body = HTTP_BODY_JSON;
    rules.json = text_of(large);
    const struct http_answer *answer = answer_to(&rules, &decision, "");
    assert_int_equal(answer->body.size, 0);
    assert_null(answer->content_type);
    assert_int_equal(answer->field_count, 4);
    rules.json.size = HTTP_ANSWER_BYTES - 40;
    answer = answer_to(&rules, &decision, "");
    assert_int_equal(answer->body.size, HTTP_ANSWER_BYTES - 40);
    assert_int_equal(answer->field_count, 2);
}

static void a_name_that_no_field_can_hold_costs_only_itself(void **state)
{
    (void)state;
    struct http_answer_rules rules = plain_rules();
    struct drossel_decision decision = refusal();
    decision.quota[1].name = "caf\xc3\xa9";
    assert_string_equal(field(answer_to(&rules, &decision, ""), "RateLimit"), "\"login\";r=0;t=13");
    decision.quota_count = 1000;
    for (size_t i = 1; i < DROSSEL_QUOTAS; i++)
        decision.quota[i] = (struct drossel_quota){ "short", 3, SECOND / 2, UINT64_MAX, 0, false, false };
    assert_memory_equal(field(answer_to(&rules, &decision, ""), "RateLimit-Policy"),
                        "\"login\";q=5;w=60, \"short\";q=3,", 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_carries_the_contract),
        cmocka_unit_test(numbers_and_names_are_told_as_the_policy_reveals_them),
        cmocka_unit_test(what_is_left_of_failures_is_told_to_everyone_or_to_nobody),
        cmocka_unit_test(every_profile_is_written_and_no_name_twice),
        cmocka_unit_test(retry_after_is_never_early_and_spreads_within_the_jitter),
        cmocka_unit_test(the_window_ends_no_later_than_retry_after),
        cmocka_unit_test(a_date_is_never_before_the_wait_is_over_and_less_than_a_second_after),
        cmocka_unit_test(a_date_is_written_where_the_policy_wants_one),
        cmocka_unit_test(waiting_that_does_not_help_is_not_announced),
        cmocka_unit_test(who_came_past_the_proxy_gets_other_words),
        cmocka_unit_test(head_has_the_fields_and_no_body),
        cmocka_unit_test(what_does_not_fit_is_left_out_whole),
        cmocka_unit_test(a_name_that_no_field_can_hold_costs_only_itself),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
