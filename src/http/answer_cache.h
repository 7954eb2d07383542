/*
 * The last answers, kept: a flood of refusals gets the same few over and over, and formatting one costs as much as deciding.
 *
 * Only answers that tell nothing of the quota are kept: those depend on nothing but the rules, the seconds, Accept,
 * and whether a block runs.  A cache
 * belongs to one thread and to one policy: its rules are told apart by their address.
 */
#ifndef DROSSEL_HTTP_ANSWER_CACHE_H
#define DROSSEL_HTTP_ANSWER_CACHE_H

#include "http/answer.h"

#define HTTP_ANSWER_CACHE_PLACES 16     /* by the seconds told: jitter spreads the clients over about so many */
#define HTTP_ANSWER_CACHE_ACCEPT 192    /* bytes of the longest Accept whose answer is kept */

struct http_kept_answer {
    const struct http_answer_rules *rules;      /* NULL: none kept */
    bool is_blocked;     /* the words differ */
    size_t accept_size;
    char accept[HTTP_ANSWER_CACHE_ACCEPT];
    struct http_answer answer;
};

/* Zeroed: empty.  About 140 kB. */
struct http_answer_cache {
    struct http_kept_answer place[HTTP_ANSWER_CACHE_PLACES];
};

/* The same as http_answer_format makes, in the cache's memory or, if it is not to be kept, in `scratch`.  Valid until the next
 * call with the same cache. */
const struct http_answer *http_answer_cached(struct http_answer_cache *cache, const struct http_answer_rules *rules,
                                             const struct drossel_decision *decision,
                                             const struct http_answer_request *request, struct http_answer *scratch);

#endif
