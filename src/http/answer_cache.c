/* The last answers, kept. */
#include "http/answer_cache.h"

#include <string.h>

/* Does the answer depend on more than what a place is found by? */
static bool is_own(const struct http_answer_rules *rules, const struct drossel_decision *decision,
                   const struct http_answer_request *request)
{
    bool revealed =
        rules->reveal == HTTP_REVEAL_EVERYONE || (rules->reveal == HTTP_REVEAL_SIGNED_IN && decision->signed_in);
    return revealed || rules->date || decision->untrusted || request->head ||
           request->accept.size > HTTP_ANSWER_CACHE_ACCEPT;
}

static bool is_kept(const struct http_kept_answer *kept, const struct http_answer_rules *rules, bool is_blocked,
                    uint32_t seconds, struct drossel_text accept)
{
    return kept->rules == rules && kept->is_blocked == is_blocked && kept->answer.retry_after_s == seconds &&
           kept->accept_size == accept.size &&
           (accept.size == 0 || memcmp(kept->accept, accept.data, accept.size) == 0);
}

const struct http_answer *http_answer_cached(struct http_answer_cache *cache, const struct http_answer_rules *rules,
                                             const struct drossel_decision *decision,
                                             const struct http_answer_request *request, struct http_answer *scratch)
{
    if (is_own(rules, decision, request)) {
        http_answer_format(rules, decision, request, scratch);
        return scratch;
    }
    uint32_t seconds =
        http_retry_after(decision->wait_ns, rules->jitter_ppm, decision->subject_hash, request->unix_now_s);
    struct http_kept_answer *kept = &cache->place[seconds % HTTP_ANSWER_CACHE_PLACES];
    bool is_blocked = decision->banned || decision->blocked;
    if (is_kept(kept, rules, is_blocked, seconds, request->accept))
        return &kept->answer;
    http_answer_format(rules, decision, request, &kept->answer);
    kept->rules = rules;
    kept->is_blocked = is_blocked;
    kept->accept_size = request->accept.size;
    if (request->accept.size > 0)
        memcpy(kept->accept, request->accept.data, request->accept.size);
    return &kept->answer;
}
