/*
 * The shortest way of a request: a policy whose only limit counts addresses, and a client that has room.
 *
 * It comes to the same as the general way, without a list of charges, a batch, and a merge of verdicts: half of the
 * instructions of what is asked most often.  Whatever is not as expected is left to the general way, with nothing changed.
 */
#include "limiter_private.h"

#include "request/key.h"

__attribute__((noinline)) uint64_t limiter_ipv6_hash(const uint8_t *secret, unsigned ipv6_prefix,
                                                     const struct drossel_address *client)
{
    struct drossel_address counted = client_key(client, ipv6_prefix);
    return key_address_hash(secret, POLICY_BY_ADDRESS, &counted);
}

const struct rate_plan *limiter_alone_plan(const struct limiter *limiter)
{
    const struct policy *policy = limiter->policy;
    if (policy->limit_count != 1 || policy->rate_count != 1 || limiter->everything == NULL || limiter->has_exemptions)
        return NULL;
    const struct limit_plan *limit = &limiter->limits[0];
    const struct rate_plan *rate = &limiter->rates[0];
    bool is_alone = limit->is_short && !limit->opens && limit->part == POLICY_BY_ADDRESS;
    return is_alone && rate->engine.is_plain && !rate->dry_run ? rate : NULL;
}

/* What does not depend on the key's state. */
static inline void begin(const struct limiter *limiter, const struct drossel_request *request, struct table_key key,
                         struct drossel_decision *decision)
{
    const struct rate_plan *rate = limiter->alone;
    limiter_begin_decision(decision);
    decision->limit = rate->limit;
    decision->limit_name = rate->limit_name;
    decision->client = *limiter_client_of(limiter, request);
    decision->subject_hash = key.home;
    decision->quota[0].name = rate->name;
    decision->quota[0].count = rate->engine.capacity;
    decision->quota[0].window_ns = rate->engine.period_ns;
    decision->quota[0].violated = decision->quota[0].counts_failures = false;
    decision->quota_count = 1;
}

/* The key that the request counts under.  False if it goes the general way. */
static inline bool find_key(const struct limiter *limiter, const struct drossel_request *request, struct table_key *key)
{
    const struct drossel_address *client = limiter_client_of(limiter, request);
    if (client == NULL || request->extra_cost != 0 || table_bans_until(limiter->table) > request->now_ns)
        return false;
    uint64_t hash = limiter_client_hash(limiter->table, limiter->policy->ipv6_prefix, client);
    *key = table_key_mix(hash, limiter->alone->seed);
    return true;
}

/* False, and nothing is changed, if charging the key takes more. */
static inline bool charge(const struct limiter *limiter, struct table_key key, uint64_t now_ns, struct store_pass *pass)
{
    const struct rate_plan *rate = limiter->alone;
    pass->key = key;
    pass->limit = &rate->engine;
    pass->limit_id = rate->limit_id;
    pass->cost = rate->cost;
    return likely(store_table_pass_one(limiter->table, pass, now_ns));
}

/* The decision is begun first, while the key's line is on its way from memory: its guard is a barrier, behind which nothing more
 * could be done meanwhile. */
static inline bool pass(const struct limiter *limiter, const struct drossel_request *request, struct table_key key,
                        struct drossel_decision *decision)
{
    begin(limiter, request, key, decision);
    struct store_pass charged;
    if (unlikely(!charge(limiter, key, request->now_ns, &charged)))
        return false;
    decision->remaining = decision->quota[0].remaining = charged.remaining;
    decision->used = charged.used;
    decision->quota[0].more_ns = charged.more_ns;
    return true;
}

__attribute__((flatten)) bool limiter_check_alone(const struct limiter *limiter, const struct drossel_request *request,
                                                  struct drossel_decision *decision)
{
    struct table_key key;
    if (unlikely(!find_key(limiter, request, &key)))
        return false;
    table_prefetch(limiter->table, key);
    if (unlikely(!pass(limiter, request, key, decision)))
        return false;
    table_stats_add_passed(limiter->table, limiter->alone->limit_id, 1);
    return true;
}

void limiter_alone_fetch(const struct limiter *limiter, const struct drossel_request *requests, size_t count,
                         struct limiter_group *group)
{
    group->count = count < LIMITER_GROUP ? count : LIMITER_GROUP;
    for (size_t i = 0; i < group->count; i++)
        group->found[i] = find_key(limiter, &requests[i], &group->key[i]);
    for (size_t i = 0; i < group->count; i++)
        if (group->found[i])
            table_prefetch(limiter->table, group->key[i]);
}

__attribute__((flatten)) size_t limiter_alone_pass(const struct limiter *limiter,
                                                   const struct drossel_request *requests,
                                                   const struct limiter_group *group, size_t from,
                                                   struct drossel_decision *decisions)
{
    for (size_t i = from; i < group->count; i++)
        if (unlikely(!group->found[i] || !pass(limiter, &requests[i], group->key[i], &decisions[i])))
            return i;
    return group->count;
}
