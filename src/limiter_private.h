/* What the limiter's files share. */
#ifndef DROSSEL_LIMITER_PRIVATE_H
#define DROSSEL_LIMITER_PRIVATE_H

#include "hint.h"
#include "limiter.h"
#include "request/key.h"
#include "store/store.h"
#include "subject.h"
#include "table/stats.h"

#define LIMITER_CHARGES 64   /* of one request, for which there is room on the stack */

/* What the short way needs of a limit, and of one rate: in one line of memory, or two where stamps are closed. */
struct limit_plan {
    uint32_t subject, first_rate; /* as in struct policy_limit */
    uint8_t rate_count;     /* at most 8 */
    uint8_t part;           /* enum policy_part_kind, if its key is one part and no header; else LIMIT_NO_PART */
    bool is_short : 1;      /* a request in whose account is no doubt is charged for one key of it */
    bool has_accounts : 1;  /* of a request that names several, or one that cannot be read, more is to be said */
    bool opens : 1;         /* it counts failures: the outcome of a charge is open */
    bool varies : 1;        /* by override, or in its cost */
    bool is_repeatable : 1; /* what it says depends on address, path and classes alone, and no charge is ever given back */
};
_Static_assert(sizeof(struct limit_plan) == 12, "a thousand are 12 kB");
#define LIMIT_NO_PART 31
struct rate_plan {
    _Alignas(64) const char *name;
    const char *limit_name;
    uint64_t seed, cost;
    uint32_t limit;   /* index */
    uint16_t limit_id; /* place in the table's registry */
    bool dry_run, resets;   /* as in struct policy_limit */
    struct engine_limit engine; /* a copy */
};
_Static_assert(offsetof(struct rate_plan, engine) + offsetof(struct engine_limit, quantum_ns) == 64, "a line of memory");

enum login_subject { LOGIN_OTHER = 0, LOGIN_ACCOUNT, LOGIN_ACCOUNT_ADDRESS, LOGIN_ADDRESS_ACCOUNT };

#define SHORT_RATES STORE_PASS_MAX

/* How a rate's subject is made of parts' hashes: of address, path and site there are no longer ones. */
#define PASS_PARTS 2
struct pass_recipe {
    uint8_t parts;
    uint8_t kind[PASS_PARTS];
};
/* What passing needs. */
struct pass_plan {
    struct table *table;
    const struct rate_plan *rates;   /* all */
    uint8_t count;                   /* of them; 0: no request passes */
    uint8_t ipv6_prefix;
    bool is_one;                     /* and that one is by address, and no dry run */
    bool has_path;
    struct pass_recipe recipe[SHORT_RATES];
};
/* The same of logins. */
struct login_plan {
    struct table *table;
    const struct rate_plan *rate;    /* the only one; NULL: no login passes */
    const struct engine_limit *open_engine;  /* the table's, of charges whose outcome is open */
    enum login_subject subject;      /* what it counts by */
    uint8_t ipv6_prefix;
};

/* See limiter_memory.c. */
struct remembered;
struct limiter_memory {
    _Alignas(64) uint64_t newest_ns; /* in one line of memory with what each request of a door needs, too */
    struct remembered *entry;
    struct pass_plan pass;           /* copies */
    _Alignas(64) struct login_plan login;
};
_Static_assert(sizeof(struct limiter_memory) == 128, "two lines of memory");

struct limiter {
    _Alignas(64) const struct policy *policy;
    struct table *table;
    struct limit_plan *limits;       /* of policy->limits, by index */
    struct rate_plan *rates;         /* of policy->rates, by index */
    uint32_t *everything;            /* the index of each limit, if all match every request; else NULL */
    const struct rate_plan *alone;   /* the only rate there is, if it goes the shortest way; else NULL */
    const struct engine_limit *open_engine; /* the table's, of charges whose outcome is open */
    struct pass_plan pass;
    struct login_plan login;
    bool peer_is_client;             /* nobody is trusted to tell another address */
    bool has_classes, has_exemptions; /* of the policy: without them its facts need not be looked at */
    bool always_needs_body;          /* all match every request, and one of them needs its body */
    uint16_t naming;                 /* tells names made with this policy's secret from others */
    bool bans_extend;                /* some limit has `ban` with `extend` */
};

/* For names of fresh keys. */
struct naming {
    struct subject_finder *finder;
    const struct store_charge *charge;
    const uint32_t *rate;
};

/* The charges of one request and what is needed to make them. */
struct charges {
    struct store_charge *charge;
    uint32_t *rate;      /* for each: index into policy->rates */
    uint32_t count, cap; /* those beyond `cap` are only counted */
    bool has_open;       /* some count charges with an open outcome */
};

/* Field by field: compilers clear so much at once with `rep stos`, which takes longer to begin than these to end.  Names and
 * quotas are left as they are: only as many as the counts say are set.  The client is the caller's to set. */
static inline __attribute__((always_inline)) void limiter_begin_decision(struct drossel_decision *decision)
{
    decision->verdict = DROSSEL_ALLOW;
    decision->status = 200;
    decision->signed_in = decision->banned = decision->blocked = decision->started_block = decision->untrusted = false;
    decision->exempt = decision->missing_forward = false;
    decision->limit = UINT32_MAX;
    decision->limit_name = NULL;
    decision->remaining = decision->used = decision->wait_ns = decision->delay_ns = decision->subject_hash = 0;
    decision->dry_run_count = decision->quota_count = 0;
    decision->dry_run_verdict = DROSSEL_ALLOW;
    decision->dry_run_wait_ns = decision->hold_ns = 0;
    decision->ticket.count = 0;
}

/* The short way; see limiter_short.c. */
_Static_assert(SHORT_RATES <= DROSSEL_QUOTAS && SHORT_RATES / 2 <= DROSSEL_TICKET_CHARGES, "each has its quota told, and is settled");
struct short_way {
    uint32_t count;
    const struct rate_plan *rate[SHORT_RATES]; /* NULL: it counts that the outcome of the charge before it is open */
    struct store_pass pass[SHORT_RATES];
};
/* The limits that match a request, of which only LIMITER_CHARGES are listed, and its classes where the policy has any. */
struct matched {
    uint32_t count;
    const uint32_t *limit; /* `room`, or the limiter's `everything` */
    uint32_t room[LIMITER_CHARGES];
    struct policy_class_set classes;
};
/* Finds the keys of a request's limits.  False if they have to go the general way. */
bool limiter_short_begin(const struct limiter *limiter, struct subject_finder *finder, const struct matched *matched,
                         struct short_way *way);
/* Decides it, into a decision just begun.  False, and nothing is changed, if there is not room everywhere. */
bool limiter_short_end(const struct limiter *limiter, struct short_way *way, uint64_t now_ns,
                       struct drossel_decision *decision);

/* The shortest way; see limiter_alone.c.  The plan for it, or NULL, once all limits are planned. */
const struct rate_plan *limiter_alone_plan(const struct limiter *limiter);
/* False: nothing was decided, and the decision is to be begun anew. */
bool limiter_check_alone(const struct limiter *limiter, const struct drossel_request *request,
                         struct drossel_decision *decision);
/* The same for several.  So many requests of a batch are worked out ahead of those that are decided: enough that their lines come from memory
 * meanwhile, side by side, and few enough that all they touch stays in the first cache. */
#define LIMITER_GROUP 8
struct limiter_group {
    size_t count;
    bool found[LIMITER_GROUP];
    struct table_key key[LIMITER_GROUP];
};
/* Finds the keys of the first requests, and fetches their lines. */
void limiter_alone_fetch(const struct limiter *limiter, const struct drossel_request *requests, size_t count,
                         struct limiter_group *group);
/* Decides them one after the other, from that one on.  Returns the place of the first that it cannot decide, or the group's count; the caller has to
 * count those that passed. */
size_t limiter_alone_pass(const struct limiter *limiter, const struct drossel_request *requests, const struct limiter_group *group,
                          size_t from, struct drossel_decision *decisions);

/* Whom a request comes from; NULL where that is a matter of proxies and their fields. */
static inline const struct drossel_address *limiter_client_of(const struct limiter *limiter, const struct drossel_request *request)
{
    const struct drossel_address *client = &request->address;
    if (client->family == DROSSEL_NONE && limiter->peer_is_client)
        client = &request->peer;
    return client->family == DROSSEL_NONE ? NULL : client;
}

/* The hash of a client as limits `by: address` count it; of IPv6 a call, which would save registers for each of the others. */
uint64_t limiter_ipv6_hash(const uint8_t *secret, unsigned ipv6_prefix, const struct drossel_address *client);
static inline __attribute__((always_inline)) uint64_t limiter_client_hash(const struct table *table, unsigned ipv6_prefix,
                                                                          const struct drossel_address *client)
{
    const uint8_t *secret = table_secret(table);
    if (unlikely(client->family == DROSSEL_IPV6))
        return limiter_ipv6_hash(secret, ipv6_prefix, client);
    return key_address_hash(secret, POLICY_BY_ADDRESS, client);
}

/* The shortest way of logins; see limiter_login.c. */
void limiter_login_plan(struct limiter *limiter);
bool limiter_check_login(const struct limiter *limiter, const struct drossel_request *request,
                         struct drossel_decision *decision);

/* Adds a charge that was passed at `now_ns`, and behind it that of its open counter.  Both marks are that time: a window that lies ahead of it is
 * not passed. */
static inline void limiter_add_to_ticket(const struct rate_plan *rate, const struct store_pass *pass, uint64_t now_ns,
                                         struct drossel_ticket *ticket)
{
    uint32_t n = ticket->count++;
    ticket->is_listed = false;
    ticket->home = ticket->tag = 0;
    ticket->charge[n].home = pass->key.home;
    ticket->charge[n].tag = pass->key.tag;
    ticket->charge[n].mark = ticket->charge[n].open_mark = now_ns;
    ticket->charge[n].cost = pass->cost;
    ticket->charge[n].limit = pass->limit_id;
    ticket->charge[n].resets = rate->resets;
}

/* Plans passing, once all limits are planned. */
void limiter_plan_pass(struct limiter *limiter);

/* Which rates of a limit count a request: its own, or those of an override.  False: none, it is unlimited. */
bool limiter_rates_of(struct subject_finder *finder, const struct policy_limit *limit, uint32_t *first, uint32_t *count);

/* The memory of refusals; see limiter_memory.c.  Was anything remembered in the last moments? */
static inline bool limiter_memory_is_fresh(const struct limiter_memory *memory, uint64_t now_ns)
{
    return now_ns - memory->newest_ns < LIMITER_MEMORY_NS;
}
/* Decides a request as the same one was decided.  False, and nothing is changed, if there was none. */
bool limiter_recall(struct limiter_memory *memory, const struct limiter *limiter, struct subject_finder *finder,
                    const struct matched *matched, struct drossel_decision *decision);
/* Remembers a decision, if the next one will be the same.  `forgotten` is table_forgotten as it was before. */
void limiter_remember(struct limiter_memory *memory, uint64_t forgotten, const struct limiter *limiter, const struct subject_finder *finder,
                      const struct matched *matched, const struct charges *charges,
                      const struct drossel_decision *decision);

/* What a limit that counts different ones counts of this request; 0 if it is not there. */
uint64_t limiter_thing_of(struct subject_finder *finder, const struct policy_limit *limit);

/* Adds the charges of limit number `index`: for each account, where its key has one and the request names several. */
void limiter_add_limit(const struct limiter *limiter, struct subject_finder *finder, uint32_t index,
                       const struct policy_class_set *classes, struct charges *charges);

/* Tells what the charges came to that have been made, or would have.  False without memory. */
bool limiter_tell(const struct limiter *limiter, struct subject_finder *finder, const struct charges *charges,
                  struct limiter_told *told);

/* Bans the client of a request; a ban that runs longer stays.  With `extends`, each request that the ban refuses starts it anew. */
bool limiter_ban_client(const struct limiter *limiter, const struct subject_finder *finder, uint64_t for_ns,
                        bool extends);
/* How long from now on the client's ban is to last because of this request; 0: as it was. */
uint64_t limiter_ban_extension(const struct limiter *limiter, const struct subject_finder *finder);

/* What a limit's action makes of what the engine says to one of its charges, as if it were alone. */
enum drossel_verdict limiter_verdict_of(const struct policy_limit *limit, const struct store_charge *charge);

/* May a request that was held so long go on waiting for open outcomes because of this limit?  Before a challenge as before a refusal, or all
 * guesses that come before the first answer would go by it unasked; what a dry run or a mark would say is not worth waiting for. */
static inline bool limiter_may_hold(const struct policy_limit *limit, uint64_t held_ns)
{
    return !limit->dry_run && limit->action != POLICY_MARK && held_ns < limit->hold_ns;
}

/* Merges the verdicts of all charges into one decision. */
void limiter_merge(const struct limiter *limiter, const struct store_charge *charge, const uint32_t *rate, uint32_t count,
                   struct drossel_decision *decision);

/* Counts what each limit said to a decided request, and notes whom it did not just let pass. */
void limiter_count(const struct limiter *limiter, struct subject_finder *finder, const struct charges *charges);
/* The same of a request that a ban refused. */
void limiter_count_banned(const struct limiter *limiter, const struct subject_finder *finder);

/* The readable name of a charge's key; `context` is a struct naming. */
size_t limiter_name_of_charge(void *context, const struct store_charge *charge, char *out, size_t cap);

/* The key of the ban of a counted address. */
struct table_key limiter_ban_key(const struct table *table, const struct drossel_address *counted);

/* The request is not decided: says how long it may take. */
void limiter_hold(const struct limiter *limiter, const struct store_batch *batch, const uint32_t *rate,
                  const struct drossel_request *request, struct drossel_decision *decision);

/* Makes the ticket of what was charged with an open outcome; it is not listed in the table. */
void limiter_ticket(const struct limiter *limiter, const struct store_batch *batch, const uint32_t *rate,
                    struct drossel_ticket *ticket);

/* End of the ban of a counted address, or 0. */
uint64_t limiter_banned_until(const struct limiter *limiter, const struct drossel_address *counted, uint64_t now_ns);

/* What a request spends that costs `cost` and is told to cost `extra` times as much (drossel_request.extra_cost). */
uint64_t limiter_times(uint64_t cost, uint64_t extra);

#endif
