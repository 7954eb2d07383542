/*
 * Counting what limits said (table/stats.h).  Each limit is counted by its own verdict, also where another one decided; charges
 * of no cost are questions and are not counted.
 *
 * Requests on the short ways are counted there; this is the way of all others.
 */
#include "limiter_private.h"

_Static_assert((int)TABLE_PASSED == (int)DROSSEL_ALLOW && (int)TABLE_MARKED == (int)DROSSEL_MARK &&
                   (int)TABLE_DELAYED == (int)DROSSEL_DELAY && (int)TABLE_CHALLENGED == (int)DROSSEL_CHALLENGE &&
                   (int)TABLE_REFUSED == (int)DROSSEL_REFUSE && (int)TABLE_DROPPED == (int)DROSSEL_DROP,
               "verdicts are counted under their own numbers");

struct named_charge {
    struct naming naming;
    const struct store_charge *charge;
};

static size_t name_of_offender(void *context, char *out, size_t cap)
{
    struct named_charge *named = context;
    return limiter_name_of_charge(&named->naming, named->charge, out, cap);
}

static void count_more(struct table *table, const struct store_charge *charge, bool is_dry_run)
{
    const struct engine_verdict *verdict = &charge->verdict;
    if (verdict->allowed || (!verdict->blocked && !verdict->started_block))
        return;
    table_stats_count(table, charge->limit_id, verdict->started_block ? TABLE_BLOCKS : TABLE_BY_BLOCK, is_dry_run);
}

static void count_charge(const struct limiter *limiter, struct named_charge *named, bool is_dry_run,
                         enum table_verdict verdict)
{
    const struct store_charge *charge = named->charge;
    table_stats_count(limiter->table, charge->limit_id, verdict, is_dry_run);
    if (verdict == TABLE_PASSED)
        return;
    count_more(limiter->table, charge, is_dry_run);
    struct table_offence offence = { .key = charge->key,
                                     .limit = charge->limit_id,
                                     .is_dry_run = is_dry_run,
                                     .verdict = verdict,
                                     .now_ns = named->naming.finder->request->now_ns,
                                     .name = name_of_offender,
                                     .context = named };
    table_stats_offend(limiter->table, &offence);
}

void limiter_count(const struct limiter *limiter, struct subject_finder *finder, const struct charges *charges)
{
    const struct policy *policy = limiter->policy;
    for (uint32_t i = 0; i < charges->count; i++) {
        const struct store_charge *charge = &charges->charge[i];
        if (!charge->judged || charge->counts_open_of > 0 || charge->cost == 0)
            continue;
        const struct policy_limit *limit = &policy->limits[policy->rates[charges->rate[i]].limit];
        struct named_charge named = { { finder, charges->charge, charges->rate }, charge };
        count_charge(limiter, &named, limit->dry_run, (enum table_verdict)limiter_verdict_of(limit, charge));
    }
}

struct named_ban {
    const struct drossel_address *counted;
    unsigned ipv6_prefix;
};

static size_t name_of_ban(void *context, char *out, size_t cap)
{
    const struct named_ban *ban = context;
    return limiter_address_format(ban->counted, ban->ipv6_prefix, out, cap);
}

void limiter_count_banned(const struct limiter *limiter, const struct subject_finder *finder)
{
    struct named_ban ban = { &finder->client_key, limiter->policy->ipv6_prefix };
    struct table_offence offence = { .key = limiter_ban_key(limiter->table, ban.counted),
                                     .limit = TABLE_LIMIT_BAN,
                                     .verdict = TABLE_REFUSED,
                                     .now_ns = finder->request->now_ns,
                                     .name = name_of_ban,
                                     .context = &ban };
    table_stats_count(limiter->table, TABLE_LIMIT_BAN, TABLE_REFUSED, false);
    table_stats_count(limiter->table, TABLE_LIMIT_BAN, TABLE_BY_BLOCK, false);
    table_stats_offend(limiter->table, &offence);
}
