/*
 * Passing: the way of a request of which a door need only know that it may go on.
 *
 * As the short way, but no decision is written, and little of the request is asked for.  Of a policy whose limits all count addresses, paths and the
 * site, for good, with nobody exempt and no classes, nearly every request goes this way.  Between two requests a door's code and data are
 * pushed out of the nearest cache by its server and the kernel: so this touches as few lines of memory as it can, and loops where that
 * is the shorter code.  Whatever is not as expected is left to the other ways, with nothing changed.
 */
#include "limiter_private.h"

#include "request/key.h"

static bool add_recipe(struct pass_plan *plan, uint32_t rate, const struct policy_subject *subject)
{
    struct pass_recipe *recipe = &plan->recipe[rate];
    if (subject->part_count > PASS_PARTS)
        return false;
    for (uint8_t i = 0; i < subject->part_count; i++) {
        enum policy_part_kind kind = subject->part[i].kind;
        if (kind != POLICY_BY_ADDRESS && kind != POLICY_BY_PATH && kind != POLICY_BY_SITE)
            return false;
        plan->has_path = plan->has_path || kind == POLICY_BY_PATH;
        recipe->kind[i] = (uint8_t)kind;
    }
    recipe->parts = subject->part_count;
    return true;
}

void limiter_plan_pass(struct limiter *limiter)
{
    const struct policy *policy = limiter->policy;
    struct pass_plan plan = { .table = limiter->table, .rates = limiter->rates, .ipv6_prefix = policy->ipv6_prefix };
    if (limiter->everything == NULL || limiter->has_exemptions || !limiter->peer_is_client ||
        policy->rate_count > SHORT_RATES)
        return;
    for (uint32_t i = 0; i < policy->rate_count; i++) {
        const struct limit_plan *limit = &limiter->limits[limiter->rates[i].limit];
        if (!limit->is_short || limit->opens || limit->varies || !limiter->rates[i].engine.is_plain ||
            !add_recipe(&plan, i, &policy->subjects[limit->subject]))
            return;
    }
    plan.count = (uint8_t)policy->rate_count;
    plan.is_one = plan.count == 1 && plan.recipe[0].parts == 1 && plan.recipe[0].kind[0] == POLICY_BY_ADDRESS &&
                  !limiter->rates[0].dry_run;
    limiter->pass = plan;
}

bool limiter_passes(const struct limiter *limiter, bool *has_path)
{
    *has_path = limiter->pass.has_path;
    return limiter->pass.count > 0;
}

static inline uint64_t subject_of(const struct pass_recipe *recipe, const uint64_t *part)
{
    uint64_t parts[PASS_PARTS];
    if (recipe->parts == 1)
        return part[recipe->kind[0]];
    for (unsigned i = 0; i < recipe->parts; i++)
        parts[i] = part[recipe->kind[i]];
    return key_join(parts, recipe->kind, recipe->parts);
}

/* The way is compiled twice: for the one limit by address that many policies are, where its loops fall away, and for the others. */
#define INLINED static inline __attribute__((always_inline))

/* Called: the same code for each part. */
static __attribute__((noinline)) uint64_t hash_of(const struct pass_plan *plan, enum policy_part_kind kind,
                                                  const void *data, size_t size)
{
    return key_part_hash(table_secret(plan->table), (uint8_t)kind, data, size);
}

INLINED void prepare(const struct rate_plan *rate, uint64_t subject, struct store_pass *pass)
{
    pass->key = table_key_mix(subject, rate->seed);
    pass->limit = &rate->engine;
    pass->cost = rate->cost;
    pass->limit_id = rate->limit_id;
}

/* The keys, and their lines fetched. */
INLINED void prepare_several(const struct pass_plan *plan, const struct limiter_passing *request,
                             struct store_pass *pass)
{
    uint64_t part[POLICY_BY_HEADER];
    const struct drossel_address *client = request->client;
    if (likely(client->family == DROSSEL_IPV4))
        part[POLICY_BY_ADDRESS] = hash_of(plan, POLICY_BY_ADDRESS, client, 1 + 4);
    else
        part[POLICY_BY_ADDRESS] = limiter_client_hash(plan->table, plan->ipv6_prefix, client);
    part[POLICY_BY_SITE] = POLICY_BY_SITE;
    if (plan->has_path)
        part[POLICY_BY_PATH] = hash_of(plan, POLICY_BY_PATH, request->path.data, request->path.size);
    for (unsigned i = 0; i < plan->count; i++) {
        prepare(&plan->rates[i], subject_of(&plan->recipe[i], part), &pass[i]);
        table_prefetch(plan->table, pass[i].key);
    }
}

/* As the short way tells it: the one with the fewest left, dry runs aside. */
INLINED void count_and_tell(const struct pass_plan *plan, const struct store_pass *pass,
                            struct limiter_passing *request)
{
    request->limit_name = NULL;
    request->remaining = UINT64_MAX;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct rate_plan *rate = &plan->rates[i];
        if (i == 0)
            table_stats_count_passed(plan->table, rate->limit_id, rate->dry_run);
        else
            table_stats_count(plan->table, rate->limit_id, TABLE_PASSED, rate->dry_run);
        if (rate->dry_run || pass[i].remaining >= request->remaining)
            continue;
        request->limit_name = rate->limit_name;
        request->remaining = pass[i].remaining;
    }
}

INLINED bool may_pass(const struct limiter_memory *memory, uint64_t now_ns)
{
    const struct table *table = memory->pass.table;
    return likely(!limiter_memory_is_fresh(memory, now_ns) && table_bans_until(table) <= now_ns &&
                  !table_is_lost(table));
}

static own_way kept_apart bool pass_several(const struct limiter_memory *memory, struct limiter_passing *request)
{
    const struct pass_plan *plan = &memory->pass;
    struct store_pass pass[SHORT_RATES];
    if (!may_pass(memory, request->now_ns) || (plan->has_path && request->path.size == 0))
        return false;
    prepare_several(plan, request, pass);
    if (unlikely(!store_table_pass(plan->table, pass, plan->count, request->now_ns)))
        return false;
    count_and_tell(plan, pass, request);
    return true;
}

/* Most policies have the one; to the others it jumps. */
own_way bool limiter_pass(const struct limiter_memory *memory, struct limiter_passing *request)
{
    const struct pass_plan *plan = &memory->pass;
    const struct rate_plan *rate = plan->rates;
    struct store_pass pass;
    if (unlikely(!plan->is_one))
        return pass_several(memory, request);
    if (!may_pass(memory, request->now_ns))
        return false;
    prepare(rate, limiter_client_hash(plan->table, plan->ipv6_prefix, request->client), &pass);
    if (unlikely(!store_table_pass_one(plan->table, &pass, request->now_ns)))
        return false;
    table_stats_count_passed(plan->table, rate->limit_id, false);
    request->limit_name = rate->limit_name;
    request->remaining = pass.remaining;
    return true;
}
