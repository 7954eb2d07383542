/* The way of a request through one limit, told step by step; charges nothing. */
#include "limiter_private.h"

#include <string.h>

static bool has_class(const struct policy_limit *limit, const struct policy_class_set *classes)
{
    for (uint32_t i = 0; i < limit->positive_count; i++)
        if (!policy_in_class(classes, limit->positive[i]))
            return false;
    for (uint32_t i = 0; i < limit->negative_count; i++)
        if (policy_in_class(classes, limit->negative[i]))
            return false;
    return true;
}

/* What a rate would say now, from its slot as it stands. */
static void judge_now(struct limiter *limiter, const struct key_hash *hash, uint32_t rate, uint64_t cost,
                      uint64_t now_ns, struct engine_verdict *verdict)
{
    const struct policy_rate *of = &limiter->policy->rates[rate];
    struct table_key key = table_key_mix(hash->half, of->seed);
    struct engine_state state;
    (void)table_look(limiter->table, key, limiter->limit_id[rate], now_ns, &state);
    engine_judge(&state, &of->engine, cost, now_ns, verdict);
}

void limiter_explain(struct limiter *limiter, const struct drossel_request *request, uint32_t index,
                     struct limiter_explained *explained)
{
    const struct policy *policy = limiter->policy;
    const struct policy_limit *limit = &policy->limits[index];
    struct policy_facts facts = { request->method, request->host, request->path, request, request->door };
    struct policy_class_set classes;
    memset(explained, 0, sizeof *explained);
    explained->limit = index;
    (void)policy_match(policy, &facts, &classes, NULL, 0);
    if (!has_class(limit, &classes)) {
        explained->why = LIMITER_NO_CLASS;
        return;
    }
    if ((limit->doors >> request->door & 1) == 0) {
        explained->why = LIMITER_OTHER_DOOR;
        return;
    }
    struct drossel_address client = request->address;
    if (client.family == DROSSEL_NONE)
        client = client_recover(&policy->client, request).address;
    struct subject_finder finder;
    subject_begin(&finder, policy, table_secret(limiter->table), request, &client);
    struct key_hash hash;
    if (!subject_hash(&finder, limit->subject, &hash)) {
        explained->why = LIMITER_KEY_MISSING;
        explained->missing = subject_missing(&finder, limit->subject);
        return;
    }
    memcpy(explained->key_hash, hash.half, sizeof explained->key_hash);
    subject_format(&finder, limit->subject, explained->key, sizeof explained->key);
    const struct policy_override *override = subject_override(&finder, limit);
    explained->overridden = override != NULL;
    if (override != NULL && override->unlimited) {
        explained->why = LIMITER_UNLIMITED;
        return;
    }
    uint32_t first = override != NULL ? override->first_rate : limit->first_rate;
    uint32_t count = override != NULL ? override->rate_count : limit->rate_count;
    explained->cost = limiter_times(policy_cost_of(limit, &classes), request->extra_cost);
    for (uint32_t i = 0; i < count && i < 8; i++, explained->rate_count++) {
        explained->rate[i] = &policy->rates[first + i];
        judge_now(limiter, &hash, first + i, explained->cost, request->now_ns, &explained->verdict[i]);
    }
}
