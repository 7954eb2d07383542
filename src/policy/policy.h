/*
 * The policy: what the operator wrote, checked, compiled, immutable.
 *
 * policy_open reads a file and all its lists into one arena, policy_close frees it whole.  A policy may be read by any
 * number of threads.  Nothing in it changes after policy_open, so that a reload is: open the new one, swap, close the old.
 *
 * Every mistake is a line `FILE:LINE:COLUMN: what was found; what would be right` (columns and lines from 1); all of a
 * file's mistakes are found in one run, and a policy with a mistake is not loaded.
 */
#ifndef DROSSEL_POLICY_POLICY_H
#define DROSSEL_POLICY_POLICY_H

#include <stdio.h>

#include "drossel.h"
#include "engine/engine.h"
#include "http/answer.h"
#include "request/client.h"
#include "request/netset.h"

#define POLICY_LIMITS_MAX 4096       /* places in the table's registry ... */
#define POLICY_RATES_MAX (POLICY_LIMITS_MAX - 3)     /* ... of which it keeps three for itself */
#define POLICY_PARTS_MAX 8           /* parts of a `by` list */
#define POLICY_NAME_MAX 64           /* bytes of a limit's or class's name: [A-Za-z0-9._-] */

enum policy_part_kind {
    POLICY_BY_ADDRESS, POLICY_BY_ACCOUNT, POLICY_BY_TOKEN, POLICY_BY_SITE, POLICY_BY_PATH, POLICY_BY_HEADER
};

struct policy_part {
    enum policy_part_kind kind;
    struct drossel_text header;      /* lower case, for POLICY_BY_HEADER */
};

/* What a key is made of.  Equal ones are kept once, so that a request's subject is hashed once for all its limits. */
struct policy_subject {
    struct policy_part part[POLICY_PARTS_MAX];
    uint8_t part_count;
    struct drossel_text text;        /* canonical: `address`, `token+address`, `header.x-api-key`; NUL-terminated */
};

enum policy_action { POLICY_REFUSE = 0, POLICY_DROP, POLICY_DELAY, POLICY_CHALLENGE, POLICY_MARK };
enum policy_outage { POLICY_LOCAL = 0, POLICY_OPEN, POLICY_CLOSED };

/* One `N per T` of a limit. */
struct policy_rate {
    struct engine_limit engine;
    const char *name;                /* the limit's name, or `NAME-10s` style (unique) where the limit has several rates */
    uint64_t seed;                   /* of the key: from the limit's name and the rate's place in the list, never from
                                        its numbers, so that a changed number keeps the counters */
    uint32_t limit;                  /* index into limits */
};

/* Another rate for one named key of a limit. */
struct policy_override {
    bool unlimited;
    uint32_t first_rate, rate_count; /* into policy->rates; these have the seeds of the limit's own rates by place */
};
struct policy_overrides;             /* opaque: looked up by text or by address */

struct policy_cost { uint32_t class_index; uint64_t cost; };

struct policy_limit {
    const char *name;                /* NUL-terminated */
    unsigned line, column;           /* of its name in the file */
    uint32_t subject;                /* index into subjects */
    uint32_t first_rate, rate_count;
    enum policy_action action;
    const char *challenge_to;        /* with POLICY_CHALLENGE: where the client is redirected; NULL: it goes through */
    bool dry_run;
    uint32_t doors;                  /* bit 1 << enum drossel_door; all ones without `only` */
    uint64_t cost;                   /* what a request spends, if no class says otherwise */
    const struct policy_cost *class_cost;    /* first class that the request is in wins */
    uint32_t class_cost_count;
    const struct policy_overrides *overrides;    /* NULL: none */
    const struct http_answer_rules *answer;      /* never NULL */
    enum policy_outage on_outage;
    uint64_t deadline_ns;
    bool failures;                   /* `N failures per T`: charged on arrival, given back if the outcome is no failure */
    enum policy_distinct { POLICY_NOT_DISTINCT = 0, POLICY_DISTINCT_ACCOUNTS, POLICY_DISTINCT_ADDRESSES } distinct;
    bool reset_on_success;           /* a success clears this key */
    bool needs_body;                 /* its key has an account that may stand in the body of the request */
    uint64_t hold_ns;                /* with failures: how long a request waits for charges with an open outcome; 0: not */
    const uint32_t *positive, *negative;         /* classes that must hold, and must not */
    uint32_t positive_count, negative_count;
};

/* Where account or token come from in a request; first that is there wins. */
enum policy_source_kind { POLICY_FROM_HEADER, POLICY_FROM_COOKIE, POLICY_FROM_BASIC, POLICY_FROM_FORM, POLICY_FROM_JSON,
                          POLICY_FROM_BEARER /* Authorization: Bearer, without that word */ };
struct policy_source {
    enum policy_source_kind kind;
    struct drossel_text name;        /* header in lower case, cookie name, form field, dotted JSON path */
};

/* What counts as a failure, or as a success: a status, or a response header of the application (then statuses count for
 * nothing).  Failure is looked at first. */
struct policy_outcome {
    struct drossel_text header;      /* lower case; size 0: by status */
    uint64_t status[16];             /* a bit for each status below 1024 */
    struct drossel_text value;       /* compared without case */
};

#define POLICY_OUTCOME_BY_HEADER 3

struct policy {
    const char *path;                /* as opened */
    /* table: */
    const char *table_path;          /* NULL: the default of this user */
    uint64_t table_keys;             /* power of two, at least 64 */
    bool table_names;
    bool table_reveal;               /* accounts are named in the clear, in the table and in logs */
    /* client: */
    struct client_rules client;      /* trusted may be NULL */
    bool require_trusted;
    uint8_t ipv6_prefix;             /* 1..128, 64 by default */
    const struct policy_source *token_from, *account_from;
    uint32_t token_from_count, account_from_count;
    uint64_t body_cap;               /* client.body_cap: bytes of a body that are looked at; 65536 by default */
    /* outcomes: */
    bool has_failures;               /* some limit counts failures */
    bool needs_body;                 /* some limit does */
    struct policy_outcome failure, success;
    /* What that comes to: two bits for each status below 600, of enum drossel_outcome, or POLICY_OUTCOME_BY_HEADER if it is not all that counts. */
    uint8_t outcome_of_status[150];
    /* secret_file: */
    struct drossel_text secret;      /* its bytes, at least 16; size 0: none */
    /* exempt: (looked up by policy_exempt) and classes: */
    uint32_t class_count;
    const char *const *class_names;
    /* answer: */
    struct http_answer_rules answer; /* the file's */
    /* limits: in the file's order */
    uint32_t limit_count, rate_count, subject_count;
    const struct policy_limit *limits;
    const struct policy_rate *rates; /* all, overrides' included */
    const struct policy_subject *subjects;
    bool has_ban;
    struct policy_index *index;      /* opaque: classes and limits, compiled for lookup */
    struct policy_arena *arena;      /* opaque: owns all of the above */
};

/* Reads and checks `path`.  Returns the policy, the caller's to policy_close, or NULL with every mistake in
 * `mistakes` (one a line).  Warnings are appended to `warnings` if it is not NULL.  Both strings are malloc'ed and the
 * caller's to free; NULL when there are none. */
struct policy *policy_open(const char *path, char **mistakes, char **warnings);
void policy_close(struct policy *policy);

/* The policy in plain sentences for `drossel check`. */
void policy_describe(const struct policy *policy, FILE *out);

/* Facts of a request that matching looks at. */
struct policy_facts {
    struct drossel_text method, host, path;      /* path normalised; host in any case */
    const struct drossel_request *request;       /* for header conditions */
    enum drossel_door door;
};

/* Exempt by address, path or method? */
enum policy_exemption { POLICY_NOT_EXEMPT = 0, POLICY_EXEMPT_ADDRESS, POLICY_EXEMPT_PATH, POLICY_EXEMPT_METHOD };
enum policy_exemption policy_exempt(const struct policy *policy, const struct drossel_address *client,
                                    const struct policy_facts *facts);

/* Can policy_exempt say anything but POLICY_NOT_EXEMPT? */
bool policy_has_exemptions(const struct policy *policy);

#define POLICY_CLASSES_MAX 1024
/* The classes of one request, one bit each; lives on the caller's stack. */
struct policy_class_set { uint64_t bits[POLICY_CLASSES_MAX / 64]; };

/* Finds the classes the facts are in (sets `classes`, only as many words as the policy has classes) and the limits that
 * match, in the file's order.  Writes up to `cap` indices to `limits` and returns how many match in all
 * (never more than policy->limit_count).  No allocation. */
uint32_t policy_match(const struct policy *policy, const struct policy_facts *facts, struct policy_class_set *classes,
                      uint32_t *limits, uint32_t cap);
/* Do all classes of the limit hold, and none that it excludes? */
bool policy_limit_is_for(const struct policy_limit *limit, const struct policy_class_set *classes);
static inline bool policy_in_class(const struct policy_class_set *classes, uint32_t index)
{
    return (classes->bits[index / 64] >> (index % 64) & 1) != 0;
}

/* The override for a key's part (its text as it is in the request, or its address), or NULL. */
const struct policy_override *policy_override_find(const struct policy_overrides *overrides, struct drossel_text text,
                                                   const struct drossel_address *address);
/* The same for an account, however it is spelled: all spellings are one key, and have one limit. */
const struct policy_override *policy_override_of_account(const struct policy_overrides *overrides,
                                                         struct drossel_text account);

/* Cost of a request for a limit. */
uint64_t policy_cost_of(const struct policy_limit *limit, const struct policy_class_set *classes);

/* Formats ns as `10s`, `15m`, `2h`, `7d`, `150ms`: the largest unit that divides it.  Returns the length. */
size_t policy_duration_format(uint64_t ns, char *out, size_t cap);

/* Parses `10s`, `15m`, `500ms`.  NULL on success, else what is wrong and what would be right (static). */
const char *policy_duration_parse(struct drossel_text text, uint64_t *ns);

#endif
