/*
 * What a request's keys are made of: the parts of each `by`, found in the request, hashed once for all limits that share
 * them, and readable for names and logs.  Between policy and store; private to the limiter.
 */
#ifndef DROSSEL_SUBJECT_H
#define DROSSEL_SUBJECT_H

#include "policy/policy.h"
#include "request/credential.h"
#include "request/key.h"

#define SUBJECTS_KEPT 64         /* subjects whose hash is kept while a request is decided; further ones are hashed anew */

/* One request while it is decided; lives on the stack.  Only the marks of `state` need to be zeroed. */
struct subject_finder {
    const struct policy *policy;
    const uint8_t *secret;
    const struct drossel_request *request;
    struct drossel_address client;       /* as recovered */
    struct drossel_address client_key;   /* as counted */
    struct drossel_text account, token;  /* found so far */
    bool looked_for_account, looked_for_token;
    char account_buffer[CREDENTIAL_BASIC_MAX];/* for an account that had to be decoded */
    uint32_t parts_hashed;               /* bit 1 << enum policy_part_kind, of those that occur once in a request */
    struct key_hash part[POLICY_BY_HEADER];
    uint8_t state[SUBJECTS_KEPT];        /* 0: not looked at, 1: hashed, 2: a part is missing */
    struct key_hash hash[SUBJECTS_KEPT];
};

void subject_begin(struct subject_finder *finder, const struct policy *policy, const uint8_t *secret,
                   const struct drossel_request *request, const struct drossel_address *client);

/* The hash of subject number `index`.  False if the request has not all of its parts. */
bool subject_hash(struct subject_finder *finder, uint32_t index, struct key_hash *hash);

/* The text of a part as it is in the request; false if it is missing or empty. Addresses and `site` have none. */
bool subject_part(struct subject_finder *finder, const struct policy_part *part, struct drossel_text *text);

/* Name of the first part that the request has not ("token"), or NULL. */
const char *subject_missing(struct subject_finder *finder, uint32_t index);

/* The override that applies to a limit's key in this request, or NULL. */
const struct policy_override *subject_override(struct subject_finder *finder, const struct policy_limit *limit);

/* Readable: addresses as they are, paths, `site`; accounts, tokens and headers as `#` and 8 hexadecimal digits of their
 * hash.  Parts are joined with a space.  Returns the length, cut to `cap`. */
size_t subject_format(struct subject_finder *finder, uint32_t index, char *out, size_t cap);

/* Is somebody signed in: was there a token? */
bool subject_signed_in(struct subject_finder *finder);

#endif
