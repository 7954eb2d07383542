/*
 * The short way of a request: every limit that matches it counts one key, for good, and there is room in all of them.
 *
 * Nearly every request is one.  It comes to the same as the general way, without a list of charges, a batch, and a merge of verdicts: less
 * than half of the instructions.  Whatever is not as expected is left to the general way, with nothing changed.
 */
#include "limiter_private.h"

/* Of a thousand limits hardly any is in the nearest cache: its three lines come side by side, while the key is hashed. */
static inline void fetch_rate(const struct rate_plan *rate)
{
    __builtin_prefetch(rate);
    __builtin_prefetch(&rate->engine);
    __builtin_prefetch(&rate->engine.quantum_ns);
}

/* The charges of one limit.  False if they have to go the general way. */
static inline bool add_limit(const struct limiter *limiter, struct subject_finder *finder,
                             const struct matched *matched, uint32_t index, struct short_way *way)
{
    const struct limit_plan *plan = &limiter->limits[index];
    uint64_t hash;
    uint32_t first = plan->first_rate, count = plan->rate_count;
    if (!plan->is_short)
        return false;
    fetch_rate(&limiter->rates[first]);
    if ((finder->parts_hashed >> plan->part & 1) != 0)
        hash = finder->part[plan->part];
    else if (!subject_hash(finder, plan->subject, &hash))
        return true;
    uint64_t cost = limiter->rates[first].cost;
    if (plan->varies) {
        const struct policy_limit *limit = &limiter->policy->limits[index];
        cost = policy_cost_of(limit, &matched->classes);
        if (!limiter_rates_of(finder, limit, &first, &count))
            return true;
    }
    if (count > SHORT_RATES - way->count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct rate_plan *rate = &limiter->rates[first + i];
        if (!rate->engine.is_plain)
            return false;
        struct store_pass *pass = &way->pass[way->count];
        way->rate[way->count++] = rate;
        pass->key = table_key_mix(hash, rate->seed);
        pass->limit = &rate->engine;
        pass->cost = cost;
        pass->limit_id = rate->limit_id;
    }
    return true;
}

bool limiter_short_begin(const struct limiter *limiter, struct subject_finder *finder, const struct matched *matched,
                         struct short_way *way)
{
    way->count = 0;
    if (matched->count > SHORT_RATES || finder->request->extra_cost != 0)
        return false;
    for (uint32_t i = 0; i < matched->count; i++)
        if (!add_limit(limiter, finder, matched, matched->limit[i], way))
            return false;
    return way->count > 0;
}

/* What there was room in is told as the general way would: the quotas in the policy's order, and of the limits that are no dry run the one
 * with the fewest left. */
static inline void tell_room(const struct short_way *way, struct drossel_decision *decision)
{
    const struct store_pass *fewest = NULL;
    for (uint32_t i = 0; i < way->count; i++) {
        const struct rate_plan *rate = way->rate[i];
        const struct store_pass *pass = &way->pass[i];
        if (rate->dry_run)
            continue;
        decision->quota[decision->quota_count++] =
            (struct drossel_quota){ rate->name,      rate->engine.spec.count, rate->engine.spec.period_ns,
                                    pass->remaining, pass->more_ns,           false };
        if (fewest != NULL && pass->remaining >= fewest->remaining)
            continue;
        fewest = pass;
        decision->limit = rate->limit;
        decision->limit_name = rate->limit_name;
    }
    if (fewest == NULL)
        return;
    decision->remaining = fewest->remaining;
    decision->used = fewest->used;
    decision->subject_hash = fewest->key.home;
}

bool limiter_short_end(const struct limiter *limiter, struct short_way *way, uint64_t now_ns,
                       struct drossel_decision *decision)
{
    if (!store_table_pass(limiter->table, way->pass, way->count, now_ns))
        return false;
    tell_room(way, decision);
    for (uint32_t i = 0; i < way->count; i++)
        table_stats_count(limiter->table, way->pass[i].limit_id, TABLE_PASSED, way->rate[i]->dry_run);
    return true;
}
