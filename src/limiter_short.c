/*
 * The short way of a request: every limit that matches it counts one key, and there is room in all of them.
 *
 * Nearly every request is one.  It comes to the same as the general way, without a list of charges, a batch, and a merge of verdicts: less
 * than half of the instructions.  Whatever is not as expected is left to the general way, with nothing changed.
 *
 * A limit that counts failures has two charges for each of its rates: the key's own, and behind it the one that counts that its outcome is
 * open.  While there is room nobody asks how many of them are.
 */
#include "limiter_private.h"

/* Which rates of a limit count a request, and at which cost. */
struct counting {
    uint32_t first, count; /* 0: none */
    uint64_t cost;
};

static __attribute__((noinline)) struct counting vary(const struct limiter *limiter, struct subject_finder *finder,
                                                      const struct matched *matched, uint32_t index)
{
    const struct policy_limit *limit = &limiter->policy->limits[index];
    struct counting counting = { .cost = policy_cost_of(limit, &matched->classes) };
    if (!limiter_rates_of(finder, limit, &counting.first, &counting.count))
        counting.count = 0;
    return counting;
}

static inline void set_pass(const struct limiter *limiter, struct short_way *way, uint32_t at,
                            const struct rate_plan *rate, const struct store_pass *pass)
{
    way->rate[at] = rate;
    way->pass[at].key = pass->key;
    way->pass[at].limit = pass->limit;
    way->pass[at].cost = pass->cost;
    way->pass[at].limit_id = pass->limit_id;
    if (rate != NULL)
        table_stats_fetch(limiter->table, pass->limit_id);
}

/* Adds the charges of one limit to the `have` that there are.  Returns how many there are then; UINT32_MAX if they have to go the general
 * way. */
static inline uint32_t add_limit(const struct limiter *limiter, struct subject_finder *finder,
                                 const struct matched *matched, uint32_t index, struct short_way *way, uint32_t have)
{
    const struct limit_plan *plan = &limiter->limits[index];
    const struct rate_plan *rate = &limiter->rates[plan->first_rate];
    uint64_t hash;
    if (unlikely(!plan->is_short))
        return UINT32_MAX;
    __builtin_prefetch(
        rate); /* of a thousand limits hardly any is in the nearest cache: it comes while the key is hashed */
    unsigned accounts;
    if (plan->has_accounts && unlikely(subject_is_account_doubtful(finder, &accounts)))
        return UINT32_MAX;
    if ((finder->parts_hashed >> plan->part & 1) != 0)
        hash = finder->part[plan->part];
    else if (!subject_hash(finder, plan->subject, &hash))
        return have;
    struct counting counting = { plan->first_rate, plan->rate_count, rate->cost };
    if (unlikely(plan->varies))
        counting = vary(limiter, finder, matched, index);
    if (unlikely(counting.count << plan->opens > SHORT_RATES - have))
        return UINT32_MAX;
    rate = &limiter->rates[counting.first];
    for (const struct rate_plan *end = rate + counting.count; rate < end; rate++) {
        struct store_pass pass = { .key = table_key_mix(hash, rate->seed), .limit = &rate->engine };
        pass.cost = counting.cost;
        pass.limit_id = rate->limit_id;
        if (unlikely(!rate->engine.is_plain))
            return UINT32_MAX;
        set_pass(limiter, way, have++, rate, &pass);
        if (!plan->opens)
            continue;
        pass.key = limiter_open_key(pass.key);
        pass.limit = limiter->open_engine;
        pass.limit_id = TABLE_LIMIT_OPEN;
        set_pass(limiter, way, have++, NULL, &pass);
    }
    return have;
}

bool limiter_short_begin(const struct limiter *limiter, struct subject_finder *finder, const struct matched *matched,
                         struct short_way *way)
{
    uint32_t have = 0, limits = matched->count;
    if (unlikely(limits > SHORT_RATES || finder->request->extra_cost != 0))
        return false;
    for (uint32_t i = 0; i < limits; i++) {
        have = add_limit(limiter, finder, matched, matched->limit[i], way, have);
        if (unlikely(have == UINT32_MAX))
            return false;
    }
    way->count = have;
    return have > 0;
}

/* What there was room in is told as the general way would: the quotas in the policy's order, and of the limits that are no dry run the one
 * with the fewest left. */
static inline void tell_room(const struct short_way *way, struct drossel_decision *decision)
{
    uint32_t quotas = 0, fewest = UINT32_MAX;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0, count = way->count; i < count; i++) {
        const struct rate_plan *rate = way->rate[i];
        const struct store_pass *pass = &way->pass[i];
        if (rate == NULL || unlikely(rate->dry_run))
            continue;
        struct drossel_quota *quota = &decision->quota[quotas++];
        quota->name = rate->name;
        quota->count = rate->engine.capacity;
        quota->window_ns = rate->engine.period_ns;
        quota->remaining = pass->remaining;
        quota->more_ns = pass->more_ns;
        quota->violated = false;
        quota->counts_failures = i + 1 < count && way->rate[i + 1] == NULL;
        if (pass->remaining < least) {
            least = pass->remaining;
            fewest = i;
        }
    }
    if (unlikely(fewest == UINT32_MAX))
        return;
    decision->quota_count = quotas;
    decision->limit = way->rate[fewest]->limit;
    decision->limit_name = way->rate[fewest]->limit_name;
    decision->remaining = least;
    decision->used = way->pass[fewest].used;
    decision->subject_hash = way->pass[fewest].key.home;
}

bool limiter_short_end(const struct limiter *limiter, struct short_way *way, uint64_t now_ns,
                       struct drossel_decision *decision)
{
    if (unlikely(!store_table_pass(limiter->table, way->pass, way->count, now_ns)))
        return false;
    tell_room(way, decision);
    for (uint32_t i = 0, count = way->count; i < count; i++)
        if (way->rate[i] == NULL)
            limiter_add_to_ticket(way->rate[i - 1], &way->pass[i - 1], now_ns, &decision->ticket);
        else
            table_stats_count(limiter->table, way->pass[i].limit_id, TABLE_PASSED, way->rate[i]->dry_run);
    return true;
}
