/*
 * What a refused client is told: status, header fields, body.  Pure formatting into the caller's memory.
 *
 * Sources: RFC 6585 section 4 (429), RFC 9110 section 10.2.3 (Retry-After), RFC 9457 (problem details),
 * draft-ietf-httpapi-ratelimit-headers-11 (RateLimit fields).  No allocation, no clock, no global state.
 */
#ifndef DROSSEL_HTTP_ANSWER_H
#define DROSSEL_HTTP_ANSWER_H

#include "drossel.h"
#include "http/fields.h"

enum http_body {
    HTTP_BODY_AUTO = 0,
    HTTP_BODY_PROBLEM,
    HTTP_BODY_JSON,
    HTTP_BODY_HTML,
    HTTP_BODY_TEXT,
    HTTP_BODY_NONE
};
enum http_reveal { HTTP_REVEAL_SIGNED_IN = 0, HTTP_REVEAL_EVERYONE, HTTP_REVEAL_NOBODY };

enum http_header_choice { /* bits of http_answer_rules.headers */
                          HTTP_RETRY_AFTER = 1,
                          HTTP_DRAFT_11 = 2,
                          HTTP_DRAFT_12 = 4,
                          HTTP_DRAFT_7 = 8,
                          HTTP_DRAFT_6 = 16,
                          HTTP_X_RATELIMIT = 32
};

/* The policy's `answer:`, of the file merged with that of the limit. */
struct http_answer_rules {
    uint16_t status;          /* 400 to 599; 429 unless the policy says otherwise */
    uint8_t body;             /* enum http_body */
    uint8_t reveal;           /* enum http_reveal */
    uint8_t headers;          /* http_header_choice bits */
    bool date;                /* Retry-After as an HTTP-date */
    uint32_t jitter_ppm;      /* spread of Retry-After, millionths; 100000 is 10 % */
    struct drossel_text json; /* body for HTTP_BODY_JSON with ${retry_after} and ${limit} in it; the policy's memory */
};

struct http_answer_request {    /* what of the request shapes the answer */
    struct drossel_text accept; /* the Accept field's value; size 0: none */
    bool head;                  /* HEAD: a body is measured but not to be sent */
    uint64_t unix_now_s;        /* wall clock, for an HTTP-date and for jitter */
    uint32_t unix_now_ns;       /* what it shows beyond the second, so that no date comes early */
};

#define HTTP_ANSWER_FIELDS 12
#define HTTP_ANSWER_BYTES 8192

/* Texts point into `buffer` or to static memory; valid as long as the answer is. */
struct http_answer {
    uint16_t status;
    uint32_t retry_after_s;   /* told, with jitter, rounded up; 0: waiting does not help, none is sent */
    const char *content_type; /* NULL without body */
    struct drossel_text body; /* empty for HEAD and HTTP_BODY_NONE */
    size_t field_count;
    struct http_field field[HTTP_ANSWER_FIELDS]; /* Retry-After, Cache-Control, RateLimit fields */
    size_t used;                                 /* bytes of buffer */
    char buffer[HTTP_ANSWER_BYTES];
};

/* Makes the answer to a decision of DROSSEL_REFUSE.  Never fails: what does not fit is left out, RateLimit fields before
 * the body, the body before Retry-After. */
void http_answer_format(const struct http_answer_rules *rules, const struct drossel_decision *decision,
                        const struct http_answer_request *request, struct http_answer *answer);

/* Retry-After in whole seconds: wait, plus up to jitter_ppm of it (5 minutes at most) chosen by (hash, unix_now_s), rounded
 * up, at least 1.  The same hash and second give the same number.  Never earlier than wait_ns.  DROSSEL_NEVER: 0, which
 * means that none is sent. */
uint32_t http_retry_after(uint64_t wait_ns, uint32_t jitter_ppm, uint64_t hash, uint64_t unix_now_s);

/* Which of our media types an Accept field (size 0: none) asks for most, by RFC 9110 section 12.5.1.  Of types with the same weight
 * the one that is named most precisely wins, of equal ones the first.  0, the first, too when none is acceptable, as serving
 * something helps more than 406. */
struct http_type {
    const char *type, *subtype;
};
#define HTTP_TYPES_MAX 8
size_t http_accept_best(struct drossel_text accept, const struct http_type *types, size_t count);

/* The body that an Accept field asks for (RFC 9110 section 12.5.1): HTTP_BODY_PROBLEM for JSON and when anything will do,
 * HTTP_BODY_HTML, HTTP_BODY_TEXT.  Problem details too when nothing of ours is acceptable.  Of types with the same weight
 * the one that is named most precisely wins. */
enum http_body http_accept_choose(struct drossel_text accept);

/* The HTML page and the text of a refusal.  `retry_after_s` 0: waiting does not help. */
void http_page_format(const struct drossel_decision *decision, uint16_t status, uint32_t retry_after_s,
                      struct http_writer *writer);
void http_text_format(const struct drossel_decision *decision, uint32_t retry_after_s, struct http_writer *writer);

/* `45 seconds`, `about 5 minutes`, `about 3 hours`, `about 2 days`: never less than it is. */
void http_duration_format(uint32_t seconds, struct http_writer *writer);

#endif
