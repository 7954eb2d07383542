/* A refusal, and the answer to it: what the tests of an answer's fields and of its body share. */
#ifndef DROSSEL_ANSWER_TEST_SUPPORT_H
#define DROSSEL_ANSWER_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "http/answer.h"

#define SECOND UINT64_C(1000000000)
#define NOW UINT64_C(1796040000) /* Mon, 30 Nov 2026 12:00:00 GMT */

static inline struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, strlen(text) };
}

/* A refusal by `login` (12.3 s to wait); `day` still has some left. */
static inline struct drossel_decision refusal(void)
{
    struct drossel_decision decision = { .verdict = DROSSEL_REFUSE,
                                         .status = 429,
                                         .limit_name = "login",
                                         .signed_in = true,
                                         .wait_ns = 12300 * SECOND / 1000,
                                         .subject_hash = 42,
                                         .quota_count = 2 };
    decision.quota[0] = (struct drossel_quota){ "login", 5, 60 * SECOND, 0, 12300 * SECOND / 1000, true, false };
    decision.quota[1] = (struct drossel_quota){ "day", 1000, 86400 * SECOND, 900, 80 * SECOND, false, false };
    return decision;
}

static inline struct http_answer_rules plain_rules(void)
{
    return (struct http_answer_rules){ .status = 429, .headers = HTTP_RETRY_AFTER | HTTP_DRAFT_11 };
}

static inline struct http_answer *answer_to(const struct http_answer_rules *rules,
                                            const struct drossel_decision *decision,
                                            const char *accept)
{
    static struct http_answer answer;
    struct http_answer_request request = { .accept = text_of(accept), .unix_now_s = NOW };
    memset(&answer, 0xa5, sizeof answer);
    http_answer_format(rules, decision, &request, &answer);
    assert_true(answer.field_count <= HTTP_ANSWER_FIELDS && answer.used <= HTTP_ANSWER_BYTES);
    return &answer;
}

static inline bool says(const struct http_answer *answer, const char *words)
{
    return answer->body.size > 0 && memmem(answer->body.data, answer->body.size, words, strlen(words)) != NULL;
}

#endif
