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
        main->may_hold = held_ns < limit->hold_ns;
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

/* What a limit that counts different ones counts of this request; 0 if it is not there. */
static uint64_t thing_of(const struct limiter *limiter, struct subject_finder *finder, const struct policy_limit *limit)
{
    if (limit->distinct == POLICY_DISTINCT_ACCOUNTS)
        return subject_accounts_thing(finder);
    return key_address_hash(table_secret(limiter->table), POLICY_BY_ADDRESS, &finder->client_key).half[1] | 1;
}

/* Adds the charges of one limit for one key.  Those beyond `cap` are only counted. */
static void add_key(const struct limiter *limiter, struct subject_finder *finder, const struct policy_limit *limit,
                    uint64_t cost, struct charges *charges)
{
    const struct policy *policy = limiter->policy;
    struct key_hash hash;
    if (!subject_hash(finder, limit->subject, &hash))
        return;
    uint32_t first = limit->first_rate, count = limit->rate_count;
    const struct policy_override *override = subject_override(finder, limit);
    if (override != NULL) {
        if (override->unlimited)
            return;
        first = override->first_rate;
        count = override->rate_count;
    }
    for (uint32_t rate = first; rate < first + count; rate++, charges->count++) {
        if (charges->count >= charges->cap)
            continue;
        struct store_charge *charge = &charges->charge[charges->count];
        charge->key = table_key_mix(hash.half, policy->rates[rate].seed);
        charge->limit = &policy->rates[rate].engine;
        charge->cost = cost;
        charge->limit_id = limiter->limit_id[rate];
        charge->advisory = is_advisory(limit);
        charge->subject = finder->account_at;
        charge->open_counter = charge->counts_open_of = 0;
        charge->held = false;
        charges->rate[charges->count] = rate;
    }
    if (limit->failures && cost > 0)
        add_open_counters(limiter, limit, finder->request, charges, count);
}

void limiter_plan(const struct limiter *limiter, uint32_t index, struct plain_limit *plain)
{
    const struct policy *policy = limiter->policy;
    const struct policy_limit *limit = &policy->limits[index];
    plain->doors = limit->doors;
    bool has_accounts = policy->needs_body && subject_has_account(policy, limit->subject);
    if (limit->rate_count != 1 || limit->overrides != NULL || limit->class_cost_count > 0 || limit->failures ||
        has_accounts || limit->distinct != POLICY_NOT_DISTINCT)
        return;
    const struct policy_rate *rate = &policy->rates[limit->first_rate];
    *plain = (struct plain_limit){
        .engine = &rate->engine,
        .of = rate,
        .name = limit->name,
        .seed = rate->seed,
        .cost = limit->cost,
        .rate = limit->first_rate,
        .doors = limit->doors,
        .limit_id = limiter->limit_id[limit->first_rate],
        .advisory = is_advisory(limit),
        .by_address = subject_is_address(policy, limit->subject),
    };
}

static inline void add_plain(const struct subject_finder *finder, const struct plain_limit *plain,
                             const uint64_t subject_hash[2], struct charges *charges)
{
    uint32_t at = charges->count++;
    if (at >= charges->cap)
        return;
    struct store_charge *charge = &charges->charge[at];
    charge->key = table_key_mix(subject_hash, plain->seed);
    charge->limit = plain->engine;
    charge->cost = limiter_times(plain->cost, finder->request->extra_cost);
    charge->limit_id = plain->limit_id;
    charge->advisory = plain->advisory;
    charge->subject = 0;
    charge->open_counter = charge->counts_open_of = 0;
    charge->held = false;
    charges->rate[at] = plain->rate;
}

/* A limit that is not plain, or not by address alone: for each account, where its key has one and the request names several. */
static __attribute__((noinline)) void add_any(const struct limiter *limiter, struct subject_finder *finder,
                                              uint32_t index, const struct policy_class_set *classes,
                                              struct charges *charges)
{
    const struct policy_limit *limit = &limiter->policy->limits[index];
    struct key_hash hash;
    if (limiter->plain[index].engine != NULL) {
        if (subject_hash(finder, limit->subject, &hash))
            add_plain(finder, &limiter->plain[index], hash.half, charges);
        return;
    }
    uint64_t cost = limiter_times(policy_cost_of(limit, classes), finder->request->extra_cost);
    if (limit->distinct != POLICY_NOT_DISTINCT) {
        uint64_t thing = thing_of(limiter, finder, limit);
        if (thing == 0)
            return;
        cost = finder->request->extra_cost == DROSSEL_ASK ? 0 : thing;
    }
    unsigned accounts = 1;
    if (limiter->policy->needs_body && subject_has_account(limiter->policy, limit->subject))
        accounts = subject_account_count(finder);
    if (accounts <= 1) {
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

inline void limiter_add_limit(const struct limiter *limiter, struct subject_finder *finder, uint32_t index,
                              const struct policy_class_set *classes, struct charges *charges)
{
    const struct plain_limit *plain = &limiter->plain[index];
    if (plain->by_address)
        add_plain(finder, plain, subject_address_hash(finder)->half, charges);
    else
        add_any(limiter, finder, index, classes, charges);
}
