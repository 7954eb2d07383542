/* From the limits that match a request to the charges that it is to make. */
#include "limiter_private.h"

uint64_t limiter_times(uint64_t cost, uint64_t extra)
{
    if (extra == DROSSEL_ASK)
        return 0;
    uint64_t product;
    if (extra == 0 || !__builtin_mul_overflow(cost, extra, &product))
        return extra == 0 ? cost : product;
    return UINT64_MAX;
}

static bool is_advisory(const struct policy_limit *limit)
{
    return limit->dry_run || limit->action == POLICY_CHALLENGE || limit->action == POLICY_MARK;
}

/* For each of the last `count` charges, of a limit that counts failures: one more that counts how many of the key's charges
 * have an open outcome. */
static void add_open_counters(const struct limiter *limiter, const struct policy_limit *limit,
                              const struct drossel_request *request, struct charges *charges, uint32_t count)
{
    uint64_t held_ns = 0;
    if (request->arrived_ns > 0 && request->now_ns > request->arrived_ns)
        held_ns = request->now_ns - request->arrived_ns;
    for (uint32_t of = charges->count - count, end = charges->count; of < end; of++, charges->count++) {
        if (charges->count >= charges->cap)
            continue;
        struct store_charge *main = &charges->charge[of], *counter = &charges->charge[charges->count];
        main->open_counter = charges->count + 1;
        main->may_hold = limiter_may_hold(limit, held_ns);
        *counter = (struct store_charge){ .key = limiter_open_key(main->key),
                                          .limit = table_engine_at(limiter->table, TABLE_LIMIT_OPEN),
                                          .cost = main->cost,
                                          .limit_id = TABLE_LIMIT_OPEN,
                                          .advisory = true,
                                          .counts_open_of = of + 1 };
        charges->rate[charges->count] = charges->rate[of];
        charges->has_open = true;
    }
}

uint64_t limiter_thing_of(struct subject_finder *finder, const struct policy_limit *limit)
{
    if (limit->distinct == POLICY_DISTINCT_ACCOUNTS)
        return subject_accounts_thing(finder);
    return subject_address_hash(finder) | 1;
}

bool limiter_rates_of(struct subject_finder *finder, const struct policy_limit *limit, uint32_t *first, uint32_t *count)
{
    const struct policy_override *override = subject_override(finder, limit);
    *first = override != NULL ? override->first_rate : limit->first_rate;
    *count = override != NULL ? override->rate_count : limit->rate_count;
    return override == NULL || !override->unlimited;
}

/* Adds the charges of one limit for one key.  Those beyond `cap` are only counted. */
static void add_key(const struct limiter *limiter, struct subject_finder *finder, const struct policy_limit *limit,
                    uint64_t cost, struct charges *charges)
{
    const struct policy *policy = limiter->policy;
    uint64_t hash;
    uint32_t first, count;
    if (!subject_hash(finder, limit->subject, &hash) || !limiter_rates_of(finder, limit, &first, &count))
        return;
    for (uint32_t rate = first; rate < first + count; rate++, charges->count++) {
        if (charges->count >= charges->cap)
            continue;
        struct store_charge *charge = &charges->charge[charges->count];
        charge->key = table_key_mix(hash, policy->rates[rate].seed);
        charge->limit = &policy->rates[rate].engine;
        charge->cost = cost;
        charge->limit_id = limiter->rates[rate].limit_id;
        charge->advisory = is_advisory(limit);
        charge->subject = finder->account_at;
        charge->open_counter = charge->counts_open_of = 0;
        charge->held = false;
        charges->rate[charges->count] = rate;
    }
    if (limit->failures && cost > 0)
        add_open_counters(limiter, limit, finder->request, charges, count);
}

void limiter_add_limit(const struct limiter *limiter, struct subject_finder *finder, uint32_t index,
                       const struct policy_class_set *classes, struct charges *charges)
{
    const struct policy_limit *limit = &limiter->policy->limits[index];
    uint64_t cost = limiter_times(policy_cost_of(limit, classes), finder->request->extra_cost);
    if (limit->distinct != POLICY_NOT_DISTINCT) {
        uint64_t thing = limiter_thing_of(finder, limit);
        if (thing == 0)
            return;
        cost = finder->request->extra_cost == DROSSEL_ASK ? 0 : thing;
    }
    unsigned accounts = 1;
    bool doubtful = false;
    if (limiter->policy->account_from_count > 0 && subject_has_account(limiter->policy, limit->subject))
        doubtful = subject_is_account_doubtful(finder, &accounts);
    if (!doubtful) {
        add_key(limiter, finder, limit, cost, charges);
        return;
    }
    uint32_t first = charges->count;
    for (unsigned i = 0; i < accounts; i++) {
        subject_account_select(finder, i);
        add_key(limiter, finder, limit, cost, charges);
    }
    subject_account_select(finder, 0);
    for (uint32_t i = first; i < charges->count && i < charges->cap; i++)
        charges->charge[i].subject |= SUBJECT_SEVERAL;
}
