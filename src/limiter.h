/*
 * One request from end to end: client, exemption, ban, matching limits, keys, charge all or nothing, merged verdict.
 *
 * The doors inside this project use this header; drossel.h is the same for others.  A limiter is a policy attached to a
 * table; several may share a table (a reload makes a second one on the same table, then closes the first).
 */
#ifndef DROSSEL_LIMITER_H
#define DROSSEL_LIMITER_H

#include "drossel.h"
#include "policy/policy.h"
#include "table/table.h"

struct limiter;

/* Attaches a policy to a table: registers its limits.  Owns neither; both must outlive it.  NULL on failure with a message
 * in `error`. */
struct limiter *limiter_open(const struct policy *policy, struct table *table, char *error, size_t error_size);
void limiter_close(struct limiter *limiter);

const struct policy *limiter_policy(const struct limiter *limiter);
struct table *limiter_table(const struct limiter *limiter);

/* As drossel_check. */
enum drossel_result limiter_check(struct limiter *limiter, const struct drossel_request *request,
                                  struct drossel_decision *decision);
enum drossel_result limiter_check_batch(struct limiter *limiter, const struct drossel_request *requests, size_t count,
                                        struct drossel_decision *decisions);

/* The refusals of the last moments, which a door need not have judged anew (see limiter_memory.c).  One for each thread, opened for
 * a limiter, which has to outlive it.  NULL without memory. */
#define LIMITER_MEMORY_NS UINT64_C(10000000)     /* so long at the most */
struct limiter_memory;
struct limiter_memory *limiter_memory_open(const struct limiter *limiter);
void limiter_memory_close(struct limiter_memory *memory);

/* As limiter_check.  `memory` may be NULL. */
enum drossel_result limiter_check_remembering(struct limiter *limiter, struct limiter_memory *memory,
                                              const struct drossel_request *request, struct drossel_decision *decision);

/* Passing (limiter_pass.c): for a door that first asks only whether a request may go on.  May requests pass that way under this policy, and is
 * their path needed? */
bool limiter_passes(const struct limiter *limiter, bool *has_path);
struct limiter_passing {
    const struct drossel_address *client;    /* the peer */
    struct drossel_text path;    /* as in struct drossel_request, where it is needed */
    uint64_t now_ns;
    const char *limit_name;      /* result: the limit with the fewest left, or NULL */
    uint64_t remaining;          /* result: and how many that are; without one not set */
};
/* Charges and counts the request as limiter_check, of the limiter that the memory was opened for, and the door's own counting would.  False, and
 * nothing is done, if they have more to say. */
bool limiter_pass(const struct limiter_memory *memory, struct limiter_passing *request);

/* The same of a login (limiter_login.c), under a policy whose only limit counts failures by account, or account and address.  Is it one? */
bool limiter_passes_logins(const struct limiter *limiter);
/* First its key, which then comes from memory while the door does what else it has to: of this client, the peer, and the one account that the request
 * names.  False: the account has no name that counts. */
bool limiter_find_login(const struct limiter_memory *memory, const struct drossel_address *client, const struct drossel_text *account,
                        struct table_key *key);
struct limiter_passing_login {
    struct table_key key;
    uint64_t now_ns;
    const char *limit_name;      /* result: the limit, */
    uint64_t remaining;          /* result: and how many are left */
    struct drossel_ticket *ticket;       /* the caller's, with room for one charge and count 0; result: not listed */
};
bool limiter_pass_login(const struct limiter_memory *memory, struct limiter_passing_login *login);

/* Must the door read the request's body first, because a matching limit counts an account that may stand there? */
bool limiter_needs_body(const struct limiter *limiter, const struct drossel_request *request);

/* Gives the ticket of a decision a slot in the table, so that it is settled once by however many who have a copy.  Not for doors
 * that keep the ticket to themselves, and settle it once. */
void limiter_list_ticket(struct table *table, struct drossel_ticket *ticket, uint64_t now_ns);

/* Fetches what settling a ticket needs ahead. */
void limiter_fetch_ticket(const struct table *table, const struct drossel_ticket *ticket);

/* As drossel_settle; needs nothing but the table. */
void limiter_settle(struct table *table, const struct drossel_ticket *ticket, enum drossel_outcome outcome, uint64_t now_ns);

/* What an answer means: by its status, or by a header field, which `find_header` looks up (lower case name). */
enum drossel_outcome limiter_outcome(const struct policy *policy, unsigned status,
                                     bool (*find_header)(void *context, struct drossel_text name, struct drossel_text *value),
                                     void *context);

/* The readable, possibly masked key of the limit that decided, as it is logged: `203.0.113.7`, `2001:db8::/64`,
 * accounts and tokens as a short hash.  Returns the length. */
size_t limiter_key_format(const struct limiter *limiter, const struct drossel_request *request,
                          const struct drossel_decision *decision, char *out, size_t cap);

/* An address as it is counted, with its prefix. */
size_t limiter_address_format(const struct drossel_address *counted, unsigned ipv6_prefix, char *out, size_t cap);

/* ---- for `drossel explain`: the same way, told step by step; charges nothing ---- */

enum limiter_why_not { LIMITER_APPLIES = 0, LIMITER_NO_CLASS, LIMITER_OTHER_DOOR, LIMITER_KEY_MISSING, LIMITER_UNLIMITED };

struct limiter_explained {
    enum limiter_why_not why;
    uint32_t limit;              /* index into policy->limits */
    const char *missing;         /* KEY_MISSING: which part: "token" */
    char key[256];               /* readable key */
    uint64_t key_hash;           /* the key itself: equal ones have equal hashes within one table */
    bool overridden;
    uint64_t cost;
    uint64_t thing;              /* of a limit that counts different ones: what it counts of the request; it has no cost then */
    unsigned accounts;           /* so many keys has the limit in this request: mostly 1, more if it names several accounts */
    uint32_t rate_count;         /* verdicts set */
    const struct policy_rate *rate[8];
    struct engine_verdict verdict[8];    /* what this rate would say now */
    struct engine_verdict taken[8];      /* the same, once it takes effect: where it refuses, a block starts or is extended, or the refusal
                                          * counts.  Not where another limit's running block decides, nor where the request is held */
    uint64_t open[8];            /* of a limit that counts failures: charges whose outcome is open */
    bool waits[8];               /* refused by nothing but these, and it may still wait for them: held, not refused */
};

/* Explains limit number `limit` for the request; of several accounts for the first. */
void limiter_explain(struct limiter *limiter, const struct drossel_request *request, uint32_t limit,
                     struct limiter_explained *explained);
/* The same for account number `account`, below `accounts` of what is explained. */
void limiter_explain_account(struct limiter *limiter, const struct drossel_request *request, uint32_t limit,
                             unsigned account, struct limiter_explained *explained);

/* ---- for `drossel replay`: a decision, and what each limit had to say to it ---- */

/* What one rate of a limit said: the first one of a limit comes first, and all of a limit follow each other.  Where a request
 * names several accounts, only those of the first are told.  Of a request that is exempt, untrusted or banned, and would be charged more
 * than 64 times, only the first are. */
struct limiter_charge {
    struct table_key key;        /* of the rate: equal ones are the same key of the same limit and place */
    uint32_t rate;               /* index into policy->rates: perhaps of an override */
    bool waits;                  /* as in limiter_explained */
    struct engine_verdict verdict;
};

/* Zero at first; free `charge` in the end. */
struct limiter_told {
    struct limiter_charge *charge;
    uint32_t count, cap;
    bool is_judged;              /* false: exempt or untrusted; only keys and rates are set */
    bool signed_in;              /* some rate refuses, and there was a token */
};

/* As limiter_check, and sets `told`.  Allocates when there are more charges than ever before. */
enum drossel_result limiter_check_told(struct limiter *limiter, const struct drossel_request *request,
                                       struct drossel_decision *decision, struct limiter_told *told);

/* ---- by hand ---- */

/* The key that counts a key's charges with an open outcome. */
struct table_key limiter_open_key(struct table_key key);

/* Hash of the address as the key of a ban or of limits `by: address`. */
struct table_key limiter_address_key(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix,
                                     uint64_t seed);

/* Bans an address for for_ns, as `drossel block`.  False if the table has no way to hold it. */
bool limiter_ban(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix, uint64_t for_ns,
                 uint64_t now_ns);
/* Lifts a ban.  False if there was none. */
bool limiter_unban(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix, uint64_t now_ns);

/* Forgets what a key has counted, and its block, as `drossel reset`.  Charges that have no outcome yet are not given back any more, so that none
 * that is made from here on goes in the place of one of them.  False if the slot is no longer the key's. */
bool limiter_forget(struct table *table, const struct table_entry *entry, uint64_t now_ns);

#endif
