/*
 * What a request's keys are made of: the parts of each `by`, found in the request, hashed once for all limits that share
 * them, and readable for names and logs.  Between policy and store; private to the limiter.
 */
#ifndef DROSSEL_SUBJECT_H
#define DROSSEL_SUBJECT_H

#include "policy/policy.h"
#include "request/credential.h"
#include "request/key.h"

#define SUBJECT_ACCOUNTS_MAX 17  /* accounts of one request, and the one for bodies that cannot be read */
#define SUBJECT_SEVERAL 128      /* in store_charge.subject: the request names several accounts */
#define SUBJECT_TOKEN_MAX 256    /* bytes of a decoded token that are kept; of a longer one its hash is */

/* One request while it is decided; lives on the stack.  Hashes and accounts are set only where the marks say so.  What each request
 * needs comes first, so that it touches few lines of memory. */
struct subject_finder {
    const struct policy *policy;
    const uint8_t *secret;
    const struct drossel_request *request;
    struct drossel_address client;       /* as recovered */
    struct drossel_address client_key;   /* as counted */
    uint32_t parts_hashed;               /* bit 1 << enum policy_part_kind, of those that occur once in a request */
    bool looked_for_account, looked_for_token;
    /* The accounts that the request names, different ones only, and the one that is being counted. */
    uint8_t account_count, account_at;
    uint64_t part[POLICY_BY_HEADER];
    struct drossel_text token;           /* found so far */
    struct drossel_text account[SUBJECT_ACCOUNTS_MAX];   /* raw; size 0: that of an unreadable body */
    uint64_t account_hash[SUBJECT_ACCOUNTS_MAX];  /* folded, hashed */
    uint16_t account_buffered;           /* bytes of account_buffer that are taken, if accounts were looked for */
    char account_buffer[CREDENTIAL_BASIC_MAX];/* for accounts that had to be decoded */
    char token_buffer[SUBJECT_TOKEN_MAX];/* for a token that had to be decoded */
};

/* Begins with a request; `client` may be finder->client itself. */
void subject_begin(struct subject_finder *finder, const struct policy *policy, const uint8_t *secret,
                   const struct drossel_request *request, const struct drossel_address *client);

/* The hash of subject number `index`.  False if the request has not all of its parts. */
bool subject_hash(struct subject_finder *finder, uint32_t index, uint64_t *hash);

/* The hash of the client's address: that of every subject that is nothing else. */
static inline uint64_t subject_address_hash(struct subject_finder *finder)
{
    const uint32_t bit = UINT32_C(1) << POLICY_BY_ADDRESS;
    if ((finder->parts_hashed & bit) == 0)
        finder->part[POLICY_BY_ADDRESS] = key_address_hash(finder->secret, POLICY_BY_ADDRESS, &finder->client_key);
    finder->parts_hashed |= bit;
    return finder->part[POLICY_BY_ADDRESS];
}
bool subject_is_address(const struct policy *policy, uint32_t index);

/* How many accounts the request names: 0, mostly 1, more if a field is there more than once. */
unsigned subject_account_count(struct subject_finder *finder);

/* The hash of an account as it is counted.  False if nothing is left of its name. */
bool subject_account_hash(const uint8_t *secret, struct drossel_text raw, uint64_t *hash);

/* Is it uncertain which account the request is about: does it name several, or one that cannot be read?  Then a success clears none. */
bool subject_is_account_doubtful(struct subject_finder *finder, unsigned *count);

/* A hash of all accounts that the request names, for limits that count different ones; 0 if it names none. */
uint64_t subject_accounts_thing(struct subject_finder *finder);

/* From now on the account number `at` is the one that subjects are made of; 0 at first. */
void subject_account_select(struct subject_finder *finder, unsigned at);

/* Has subject number `index` an account among its parts? */
bool subject_has_account(const struct policy *policy, uint32_t index);

/* Where account and token come from, for subject_account.c: the first of `sources` that is there. */
bool subject_find_first(struct subject_finder *finder, const struct policy_source *sources, uint32_t count,
                        struct drossel_text *value);

/* The text of a part as it is in the request; false if it is missing or empty. Addresses and `site` have none. */
bool subject_part(struct subject_finder *finder, const struct policy_part *part, struct drossel_text *text);

/* Name of the first part that the request has not ("token"), or NULL. */
const char *subject_missing(struct subject_finder *finder, uint32_t index);

/* The override that applies to a limit's key in this request, or NULL. */
const struct policy_override *subject_override(struct subject_finder *finder, const struct policy_limit *limit);

/* Readable: addresses as they are, paths, `site`; accounts, tokens and headers as `#` and 8 hexadecimal digits of their
 * hash.  Parts are joined with a space.  Returns the length, cut to `cap`. */
size_t subject_format(struct subject_finder *finder, uint32_t index, char *out, size_t cap);

/* The selected account as `#` and 8 hexadecimal digits of its digest, which is HMAC-SHA-256 where the policy has a secret, else
 * SHA-256: the same in all tables and logs.  With `table: { reveal: true }` the name itself, as it is counted. */
size_t subject_account_format(struct subject_finder *finder, char *out, size_t cap);

/* A text of a client, cut to `cap`: what is no plain ASCII is shown as `?`.  Returns the length. */
size_t subject_plain_format(struct drossel_text text, char *out, size_t cap);

/* An address as it is counted, with its prefix, cut to `cap`.  Returns the length. */
size_t subject_address_format(const struct drossel_address *counted, unsigned ipv6_prefix, char *out, size_t cap);

/* The head of a digest as `#` and 8 hexadecimal digits, cut to `cap`.  Returns the length. */
size_t subject_digest_format(uint32_t head, char *out, size_t cap);

/* Is somebody signed in: was there a token? */
bool subject_signed_in(struct subject_finder *finder);

#endif
