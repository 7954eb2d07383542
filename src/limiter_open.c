/* Attaching a policy to a table: its rates are registered, and its limits planned. */
#include "limiter_private.h"

#include "request/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe_rate(const struct policy *policy, const struct policy_rate *rate, struct table_limit *limit)
{
    const struct policy_limit *of = &policy->limits[rate->limit];
    *limit = (struct table_limit){ .seed = rate->seed, .spec = rate->engine.spec, .ipv6_prefix = policy->ipv6_prefix };
    snprintf(limit->name, sizeof limit->name, "%s", rate->name);
    snprintf(limit->subject, sizeof limit->subject, "%s", policy->subjects[of->subject].text.data);
}

/* False, and why in `error`, if the table takes no more. */
static bool plan_rates(struct limiter *limiter, char *error, size_t error_size)
{
    const struct policy *policy = limiter->policy;
    const uint16_t both = ENGINE_BAN | ENGINE_EXTEND;
    for (uint32_t i = 0; i < policy->rate_count; i++) {
        const struct policy_rate *rate = &policy->rates[i];
        const struct policy_limit *of = &policy->limits[rate->limit];
        struct table_limit limit;
        describe_rate(policy, rate, &limit);
        int id = table_limit_register(limiter->table, &limit);
        if (id < 0) {
            snprintf(error, error_size,
                     "%s: the table has seen %d different limits and takes no more; stop all that use "
                     "it, remove it, and start again",
                     table_path(limiter->table)[0] != '\0' ? table_path(limiter->table) : policy->path,
                     TABLE_LIMITS_MAX);
            return false;
        }
        limiter->rates[i] = (struct rate_plan){ .name = rate->name,
                                                .limit_name = of->name,
                                                .seed = rate->seed,
                                                .cost = of->cost,
                                                .limit = rate->limit,
                                                .limit_id = (uint16_t)id,
                                                .dry_run = of->dry_run,
                                                .resets = of->reset_on_success,
                                                .engine = rate->engine };
        limiter->bans_extend |= (limit.spec.flags & both) == both;
    }
    return true;
}

static uint8_t part_of(const struct policy_subject *subject)
{
    bool is_kept = subject->part_count == 1 && subject->part[0].kind != POLICY_BY_HEADER;
    return is_kept ? (uint8_t)subject->part[0].kind : LIMIT_NO_PART;
}

static bool is_repeatable(const struct policy *policy, const struct policy_limit *limit)
{
    const struct policy_subject *subject = &policy->subjects[limit->subject];
    for (unsigned i = 0; i < subject->part_count; i++) {
        enum policy_part_kind kind = subject->part[i].kind;
        if (kind != POLICY_BY_ADDRESS && kind != POLICY_BY_PATH && kind != POLICY_BY_SITE)
            return false;
    }
    return !limit->failures && limit->distinct == POLICY_NOT_DISTINCT && limit->class_cost_count == 0;
}

static struct limit_plan plan_limit(const struct policy *policy, const struct policy_limit *limit)
{
    bool has_accounts = policy->account_from_count > 0 && subject_has_account(policy, limit->subject);
    return (struct limit_plan){ .subject = limit->subject,
                                .first_rate = limit->first_rate,
                                .rate_count = (uint8_t)limit->rate_count,
                                .is_short = limit->distinct == POLICY_NOT_DISTINCT,
                                .has_accounts = has_accounts,
                                .opens = limit->failures,
                                .is_repeatable = is_repeatable(policy, limit),
                                .varies = limit->overrides != NULL || limit->class_cost_count > 0,
                                .part = part_of(&policy->subjects[limit->subject]) };
}

static void plan_limits(struct limiter *limiter)
{
    const struct policy *policy = limiter->policy;
    bool match_all = !limiter->has_classes, needs_body = false;
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        limiter->limits[i] = plan_limit(policy, &policy->limits[i]);
        limiter->everything[i] = i;
        match_all = match_all && policy->limits[i].doors == UINT32_MAX;
        needs_body = needs_body || policy->limits[i].needs_body;
    }
    limiter->always_needs_body = match_all && needs_body;
    if (match_all)
        return;
    free(limiter->everything);
    limiter->everything = NULL;
}

/* NULL without memory. */
static struct limiter *allocate(const struct policy *policy)
{
    struct limiter *limiter = aligned_alloc(_Alignof(struct limiter), sizeof *limiter);
    if (limiter == NULL)
        return NULL;
    memset(limiter, 0, sizeof *limiter);
    limiter->limits = calloc(policy->limit_count + 1, sizeof *limiter->limits);
    limiter->everything = calloc(policy->limit_count + 1, sizeof *limiter->everything);
    limiter->rates = aligned_alloc(_Alignof(struct rate_plan), (policy->rate_count + 1) * sizeof *limiter->rates);
    if (limiter->limits != NULL && limiter->everything != NULL && limiter->rates != NULL)
        return limiter;
    limiter_close(limiter);
    return NULL;
}

struct limiter *limiter_open(const struct policy *policy, struct table *table, char *error, size_t error_size)
{
    struct limiter *limiter = allocate(policy);
    if (limiter == NULL) {
        snprintf(error, error_size, "%s: no memory to attach the policy to its table; free some", policy->path);
        return NULL;
    }
    limiter->policy = policy;
    limiter->table = table;
    limiter->open_engine = table_engine_at(table, TABLE_LIMIT_OPEN);
    if (!plan_rates(limiter, error, error_size)) {
        limiter_close(limiter);
        return NULL;
    }
    limiter->naming = (uint16_t)key_part_hash(table_secret(table), 254, policy->secret.data, policy->secret.size);
    limiter->peer_is_client = policy->client.trusted == NULL && !policy->require_trusted;
    limiter->has_classes = policy->class_count > 0;
    limiter->has_exemptions = policy_has_exemptions(policy);
    plan_limits(limiter);
    limiter->alone = limiter_alone_plan(limiter);
    limiter_login_plan(limiter);
    limiter_plan_pass(limiter);
    return limiter;
}

void limiter_close(struct limiter *limiter)
{
    if (limiter == NULL)
        return;
    free(limiter->limits);
    free(limiter->everything);
    free(limiter->rates);
    free(limiter);
}

const struct policy *limiter_policy(const struct limiter *limiter)
{
    return limiter->policy;
}

struct table *limiter_table(const struct limiter *limiter)
{
    return limiter->table;
}
