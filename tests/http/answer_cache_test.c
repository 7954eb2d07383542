/* Kept answers are the answers that would have been made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/answer_cache.h"

#define SECOND UINT64_C(1000000000)
#define NOW UINT64_C(1796040000)

static bool is_same_text(struct drossel_text a, struct drossel_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool is_same(const struct http_answer *a, const struct http_answer *b)
{
    bool same = a->status == b->status && a->retry_after_s == b->retry_after_s && is_same_text(a->body, b->body) &&
                a->field_count == b->field_count && a->content_type == b->content_type;
    for (size_t i = 0; same && i < a->field_count; i++)
        same = is_same_text(a->field[i].name, b->field[i].name) && is_same_text(a->field[i].value, b->field[i].value);
    return same;
}

static void a_hundred_thousand_answers_are_as_if_made_anew(void **state)
{
    (void)state;
    static struct http_answer_cache cache;
    static struct http_answer made, scratch;
    static char long_accept[400];
    memset(long_accept, 'x', sizeof long_accept);
    const struct drossel_text accepts[] = { { NULL, 0 },
                                            DROSSEL_TEXT("*/*"),
                                            DROSSEL_TEXT("text/html"),
                                            DROSSEL_TEXT("text/xxxx"),
                                            DROSSEL_TEXT("text/plain"),
                                            { long_accept, sizeof long_accept } };
    const struct http_answer_rules rules[] = {
        { .status = 429, .headers = HTTP_RETRY_AFTER | HTTP_DRAFT_11, .jitter_ppm = 100000 },
        { .status = 503, .headers = HTTP_RETRY_AFTER | HTTP_X_RATELIMIT, .reveal = HTTP_REVEAL_EVERYONE },
        { .status = 429,
          .headers = HTTP_RETRY_AFTER,
          .body = HTTP_BODY_JSON,
          .reveal = HTTP_REVEAL_NOBODY,
          .json = DROSSEL_TEXT("{\"wait\":${retry_after},\"limit\":\"${limit}\"}") },
        { .status = 429, .headers = HTTP_RETRY_AFTER, .date = true, .body = HTTP_BODY_TEXT },
    };
    unsigned kept = 0;
    srand(5);
    for (int i = 0; i < 100000; i++) {
        struct drossel_decision decision = { .verdict = DROSSEL_REFUSE,
                                             .status = 429,
                                             .limit_name = i % 2 ? "a" : "b",
                                             .signed_in = rand() % 2,
                                             .untrusted = rand() % 50 == 0,
                                             .blocked = rand() % 3 == 0,
                                             .wait_ns = (uint64_t)(rand() % 40) * SECOND / 2,
                                             .subject_hash = (uint64_t)(rand() % 8),
                                             .quota_count = 1 };
        decision.quota[0] =
            (struct drossel_quota){ decision.limit_name, 5, 60 * SECOND, 0, decision.wait_ns, true, false };
        if (rand() % 20 == 0)
            decision.wait_ns = DROSSEL_NEVER;
        struct http_answer_request request = { .accept = accepts[rand() % 6],
                                               .head = rand() % 9 == 0,
                                               .unix_now_s = NOW + (uint64_t)(i / 1000) };
        const struct http_answer_rules *chosen = &rules[rand() % 4];
        http_answer_format(chosen, &decision, &request, &made);
        const struct http_answer *got = http_answer_cached(&cache, chosen, &decision, &request, &scratch);
        kept += got != &scratch;
        assert_true(is_same(got, &made));
    }
    assert_in_range(kept, 10000, 90000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_hundred_thousand_answers_are_as_if_made_anew) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
