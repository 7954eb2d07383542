/*
 * What a server tells of its limits: Retry-After, the RateLimit fields of several drafts, the problem body; and how a
 * client reads them.
 *
 * An Internet-Draft is work in progress, and what is deployed follows several: the family of fields is a profile, chosen
 * at run time.  429, Retry-After and the problem body do not depend on it.
 *
 * Sources: draft-ietf-httpapi-ratelimit-headers-06, -07, -11, RFC 9651 (structured fields), RFC 9457 (problem details),
 * RFC 9110 section 10.2.3 (Retry-After).
 */
#ifndef DROSSEL_HTTP_FIELDS_H
#define DROSSEL_HTTP_FIELDS_H

#include "drossel.h"
#include "http/structured.h"
#include "http/writer.h"

enum http_profile {
    HTTP_PROFILE_NONE = 0,
    HTTP_PROFILE_DRAFT_11,    /* RateLimit-Policy: "a";q=100;w=60   RateLimit: "a";r=50;t=30 */
    HTTP_PROFILE_DRAFT_12,    /* the same with a (available), w (window) and c (cost) in RateLimit */
    HTTP_PROFILE_DRAFT_7,     /* RateLimit: limit=100, remaining=50, reset=5 */
    HTTP_PROFILE_DRAFT_6,     /* RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset in seconds from now */
    HTTP_PROFILE_X_RATELIMIT, /* X-RateLimit-Limit, -Remaining, -Reset in Unix seconds */
    HTTP_PROFILE_EXPRESS_8,   /* as draft-11 with a space after `;`, as express-rate-limit writes it */
    HTTP_PROFILE_GITLAB,      /* RateLimit-Name, -Limit, -Observed, -Remaining, -Reset in Unix seconds, -ResetTime */
    HTTP_PROFILE_COUNT
};

/* `draft-11`, `draft-12`, `draft-7`, `draft-6`, `x-ratelimit`, `none`, `draft-8-express`, `gitlab`.  False: unknown. */
bool http_profile_parse(struct drossel_text name, enum http_profile *profile);

/* When the RateLimit fields are sent at all. */
enum http_expose {
    HTTP_EXPOSE_ALL = 0,
    HTTP_EXPOSE_NEAR_EXHAUSTION, /* when a limit has no more than `threshold` of its quota left */
    HTTP_EXPOSE_ON_DENY,
    HTTP_EXPOSE_NONE
};

#define HTTP_INTEGER_MAX 999999999999999.0 /* RFC 9651 section 3.3.1 */
#define HTTP_NAME_MAX 64                   /* bytes of a policy's name */
#define HTTP_PARTITION_KEY_MAX 96          /* bytes of a partition key */
#define HTTP_REPORTED_MAX 8                /* policies and limits reported; further ones are left out */

struct http_bytes {
    const uint8_t *data; /* NULL: absent; size 0 with data: empty */
    size_t size;
};

struct http_extension { /* a parameter of one's own */
    struct drossel_text key;
    struct drossel_text text; /* a String, if its data is not NULL */
    double number;            /* else an Integer */
};

/* A member of RateLimit-Policy.  Numbers are as the operator wrote them; what is no Integer is a mistake. */
struct http_policy_item {
    struct drossel_text name;
    double quota;
    double window_s;
    bool has_window;
    struct drossel_text unit; /* size 0: requests, not written */
    struct http_bytes partition_key;
    const struct http_extension *extensions;
    size_t extension_count;
};

/* A member of RateLimit. */
struct http_limit_item {
    struct drossel_text policy;
    double remaining;   /* any; rounded down, at least 0 */
    uint64_t window_ns; /* until more than `remaining` is available */
    bool has_window;
    double cost; /* of this request; 0: not told */
    struct http_bytes partition_key;
    const struct http_extension *extensions;
    size_t extension_count;
};

struct http_dimension { /* of RateLimit-Partition */
    struct drossel_text key;
    struct drossel_text token; /* a fixed value; size 0: none */
};

struct http_partition {
    struct drossel_text name;
    const struct http_dimension *dimensions;
    size_t dimension_count;
};

struct http_fields_input {
    const struct http_policy_item *policies;
    const struct http_limit_item *limits;
    const struct http_partition *partitions; /* draft-12 */
    size_t policy_count, limit_count, partition_count;
    enum http_profile profile;
    enum http_expose expose;
    double threshold; /* for NEAR_EXHAUSTION: 0 to 1 */
    double max_rate;  /* caps remaining at so many a second of the window; 0: no cap */
    bool closest;     /* RateLimit tells only the limit closest to exhaustion */
    bool on_redirect; /* send RateLimit fields on 3xx too: a client may wait before it follows */
    bool denied;      /* the answer is a refusal */
    bool abnormal;    /* refused as abnormal usage: nothing is told of limits */
    bool has_retry_after, retry_after_date;
    uint16_t status;
    const struct drossel_text *violated; /* names of the policies exceeded */
    size_t violated_count;
    uint64_t retry_after_ns;
    uint64_t jitter_ns; /* denied: added to retry_after_ns and to the windows of violated policies */
    uint64_t now_s;     /* Unix seconds */
};

struct http_field {
    struct drossel_text name; /* static or in the writer's buffer */
    struct drossel_text value;
};

struct http_field_list {
    struct http_field *field; /* the caller's */
    size_t count, cap;
};

/* Appends to `list` the fields of an answer that the server owns: on a denial Cache-Control and Retry-After, and the
 * fields of the profile.  A field whose name is in the list already is left out.  Values go into `writer`; a field that
 * does not fit there is left out whole.  NULL, or what is wrong (static text), with nothing appended: a name that is no
 * String, a number that is no Integer, a window of 0. */
const char *http_fields_format(const struct http_fields_input *input, struct http_field_list *list,
                               struct http_writer *writer);

/* The check of http_fields_format alone: of everything, and of one policy, for the time when a configuration is loaded.
 * NULL, or what is wrong. */
const char *http_fields_check(const struct http_fields_input *input);
const char *http_policy_item_check(const struct http_policy_item *item);

/* The limit closest to exhaustion: the fewest remaining, of equals the longest window.  SIZE_MAX without limits. */
size_t http_fields_closest(const struct http_fields_input *input);

/* ---- problem details ---- */

#define HTTP_PROBLEM_MEDIA_TYPE "application/problem+json"

enum http_problem_kind {
    HTTP_PROBLEM_QUOTA_EXCEEDED = 0,
    HTTP_PROBLEM_REDUCED_CAPACITY,
    HTTP_PROBLEM_ABNORMAL_USAGE,
    HTTP_PROBLEM_BLANK
};

struct http_problem {
    enum http_problem_kind kind;         /* BLANK: `about:blank` */
    uint16_t status;                     /* 0: no member `status` */
    struct drossel_text title;           /* size 0: the registered one */
    struct drossel_text detail;          /* size 0: no member */
    const struct drossel_text *violated; /* NULL: no member */
    size_t violated_count;
};

/* `quota-exceeded`, `temporary-reduced-capacity`, `abnormal-usage-detected`. */
bool http_problem_parse(struct drossel_text name, enum http_problem_kind *kind);
uint16_t http_problem_status(enum http_problem_kind kind); /* the registered one */

/* Compact ASCII JSON. */
void http_problem_format(const struct http_problem *problem, struct http_writer *writer);

/* ---- the client's side ---- */

/* One item of a RateLimit or RateLimit-Policy field; texts point into it. */
struct http_parsed_item {
    struct drossel_text name, unit;     /* with their escapes: see sf_unescape */
    struct drossel_text partition_key;  /* base64: see sf_decode */
    int64_t amount; /* RateLimit: remaining; RateLimit-Policy: quota */
    int64_t window_s;
    int64_t cost; /* draft-12; 0: not told */
    bool has_window, has_unit, has_partition_key;
};

/* Reads a field item by item.  Nothing is copied and nothing bounded, so that whatever RFC 9651 asks a parser to support is (1024 members, 256
 * parameters, keys of 64 and strings of 1024 characters, byte sequences of 16384 octets), in time linear in the field. */
struct http_fields_reader {
    struct sf_cursor cursor;
    bool is_policy, is_draft_12, is_begun;
    size_t ignored; /* items dropped because one of their values is not as it must be */
};

/* Begins a RateLimit field or, with `policy`, a RateLimit-Policy field, its lines already joined with ", ".  The profile is draft-11 or draft-12. */
void http_fields_begin(struct http_fields_reader *reader, struct drossel_text value, bool policy, enum http_profile profile);

/* The next item that is understood: 1; 0 at the end; -1 if the field does not parse as a List, and then it must be ignored whole, with
 * the items read before. */
int http_fields_next(struct http_fields_reader *reader, struct http_parsed_item *item);

/* Joins the lines of a field in a response as one List.  False if there is none or they do not fit. */
bool http_fields_join(const struct drossel_header *headers, size_t count, const char *name, struct http_writer *writer);

#endif
