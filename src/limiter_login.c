/*
 * The shortest way of a login: a policy whose only limit counts failures by account, or by account and address, and a key that has room.
 *
 * It comes to the same as the short way (limiter_short.c), without the lists of limits and of a request's parts: the account is folded and
 * hashed where it is needed, once.  Whatever is not as expected is left to the others, with nothing changed.
 */
#include "limiter_private.h"

#include "request/key.h"

static enum login_subject subject_kind(const struct policy_subject *subject)
{
    bool begins = subject->part[0].kind == POLICY_BY_ACCOUNT;
    if (subject->part_count == 1 && begins)
        return LOGIN_ACCOUNT;
    if (subject->part_count != 2)
        return LOGIN_OTHER;
    enum policy_part_kind first = subject->part[0].kind, second = subject->part[1].kind;
    if (first == POLICY_BY_ACCOUNT && second == POLICY_BY_ADDRESS)
        return LOGIN_ACCOUNT_ADDRESS;
    return first == POLICY_BY_ADDRESS && second == POLICY_BY_ACCOUNT ? LOGIN_ADDRESS_ACCOUNT : LOGIN_OTHER;
}

static bool takes_accounts_of_bodies(const struct policy *policy)
{
    return policy->account_from_count > 0 &&
           (policy->account_from[0].kind == POLICY_FROM_FORM || policy->account_from[0].kind == POLICY_FROM_JSON);
}

void limiter_login_plan(struct limiter *limiter)
{
    const struct policy *policy = limiter->policy;
    if (policy->limit_count != 1 || policy->rate_count != 1 || limiter->everything == NULL || limiter->has_exemptions)
        return;
    const struct limit_plan *limit = &limiter->limits[0];
    const struct rate_plan *rate = &limiter->rates[0];
    if (!limit->is_short || !limit->opens || limit->varies || rate->cost == 0 || rate->dry_run ||
        !rate->engine.is_plain)
        return;
    enum login_subject subject = subject_kind(&policy->subjects[limit->subject]);
    if (subject == LOGIN_OTHER || !takes_accounts_of_bodies(policy))
        return;
    limiter->login = (struct login_plan){ limiter->table, rate, limiter->open_engine, subject, policy->ipv6_prefix };
}

/* The one account that the request names; NULL if that has to be looked into. */
static inline const struct drossel_text *account_of(const struct drossel_request *request)
{
    if (request->account.size > 0)
        return &request->account;
    return request->account_count == 1 && !request->is_account_unreadable ? request->accounts : NULL;
}

/* As key_address_hash, by the code that has just hashed the account. */
static inline uint64_t address_hash(const struct login_plan *plan, const struct drossel_address *client)
{
    struct drossel_address counted;
    if (unlikely(client->family == DROSSEL_IPV6)) {
        counted = client_key(client, plan->ipv6_prefix);
        client = &counted;
    }
    size_t size = client->family == DROSSEL_IPV4 ? 4 : sizeof client->bytes;
    return key_part_hash(table_secret(plan->table), POLICY_BY_ADDRESS, &client->family, 1 + size);
}

/* The hash of the limit's subject, as key_join of its parts. */
static inline uint64_t subject_of(const struct login_plan *plan, const struct drossel_address *client, uint64_t account)
{
    if (plan->subject == LOGIN_ACCOUNT)
        return account;
    unsigned first = plan->subject == LOGIN_ADDRESS_ACCOUNT; /* the account's place */
    uint64_t parts[2];
    uint8_t kinds[2];
    parts[first] = account;
    kinds[first] = POLICY_BY_ACCOUNT;
    parts[1 - first] = address_hash(plan, client);
    kinds[1 - first] = POLICY_BY_ADDRESS;
    return key_join(parts, kinds, 2);
}

static inline void begin(const struct rate_plan *rate, const struct drossel_address *client, struct table_key key,
                         struct drossel_decision *decision)
{
    limiter_begin_decision(decision);
    decision->limit = rate->limit;
    decision->limit_name = rate->limit_name;
    decision->client = *client;
    decision->subject_hash = key.home;
    decision->quota[0].name = rate->name;
    decision->quota[0].count = rate->engine.capacity;
    decision->quota[0].window_ns = rate->engine.period_ns;
    decision->quota[0].violated = false;
    decision->quota[0].counts_failures = true;
    decision->quota_count = 1;
}

static inline void finish(const struct rate_plan *rate, const struct store_pass *pass, uint64_t now_ns,
                          struct drossel_decision *decision)
{
    decision->remaining = decision->quota[0].remaining = pass->remaining;
    decision->used = pass->used;
    decision->quota[0].more_ns = pass->more_ns;
    limiter_add_to_ticket(rate, pass, now_ns, &decision->ticket);
}

/* The key, which comes from memory meanwhile.  False: the account has no name that counts. */
static inline bool find_key(const struct login_plan *plan, const struct drossel_address *client,
                            const struct drossel_text *account, struct table_key *key)
{
    uint64_t hash;
    if (unlikely(!subject_account_hash(table_secret(plan->table), *account, &hash)))
        return false;
    *key = table_key_mix(subject_of(plan, client, hash), plan->rate->seed);
    table_prefetch_pair(plan->table, *key); /* and of its open counter */
    return true;
}

/* The charges of the key and of its open counter. */
static inline void prepare(const struct login_plan *plan, struct table_key key, struct store_pass *pass)
{
    const struct rate_plan *rate = plan->rate;
    pass[0].key = key;
    pass[1].key = limiter_open_key(key);
    pass[0].limit = &rate->engine;
    pass[1].limit = plan->open_engine;
    pass[0].cost = pass[1].cost = rate->cost;
    pass[0].limit_id = rate->limit_id;
    pass[1].limit_id = TABLE_LIMIT_OPEN;
}

__attribute__((flatten)) bool limiter_check_login(const struct limiter *limiter, const struct drossel_request *request,
                                                  struct drossel_decision *decision)
{
    const struct rate_plan *rate = limiter->login.rate;
    const struct drossel_address *client = limiter_client_of(limiter, request);
    const struct drossel_text *account = account_of(request);
    struct store_pass pass[2];
    struct table_key key;
    uint64_t now_ns = request->now_ns;
    if (unlikely(client == NULL || account == NULL || request->extra_cost != 0 ||
                 table_bans_until(limiter->table) > now_ns || !find_key(&limiter->login, client, account, &key)))
        return false;
    begin(rate, client, key, decision);
    prepare(&limiter->login, key, pass);
    if (unlikely(!store_table_pass(limiter->table, pass, 2, now_ns)))
        return false;
    finish(rate, &pass[0], now_ns, decision);
    table_stats_count(limiter->table, rate->limit_id, TABLE_PASSED, false);
    return true;
}

bool limiter_passes_logins(const struct limiter *limiter)
{
    return limiter->login.rate != NULL && limiter->peer_is_client;
}

bool limiter_find_login(const struct limiter_memory *memory, const struct drossel_address *client,
                        const struct drossel_text *account, struct table_key *key)
{
    return find_key(&memory->login, client, account, key);
}

own_way bool limiter_pass_login(const struct limiter_memory *memory, struct limiter_passing_login *login)
{
    const struct login_plan *plan = &memory->login;
    struct table *table = plan->table;
    struct store_pass pass[2];
    if (unlikely(table_bans_until(table) > login->now_ns || table_is_lost(table)))
        return false;
    prepare(plan, login->key, pass);
    if (unlikely(!store_table_pass(table, pass, 2, login->now_ns)))
        return false;
    login->limit_name = plan->rate->limit_name;
    login->remaining = pass[0].remaining;
    limiter_add_to_ticket(plan->rate, &pass[0], login->now_ns, login->ticket);
    table_stats_count_passed(table, plan->rate->limit_id, false);
    return true;
}
