/*
 * Many verdicts, one decision: the strictest wins (drop > refuse > challenge > delay > mark > allow); among refusals the
 * longest wait is announced; a dry run is told, and changes nothing.
 */
#include "limiter_private.h"

#include <string.h>

enum drossel_verdict limiter_verdict_of(const struct policy_limit *limit, const struct store_charge *charge)
{
    const struct engine_verdict *verdict = &charge->verdict;
    if (charge->held && (charge->may_hold || limit->dry_run || limit->action == POLICY_MARK))
        return DROSSEL_ALLOW; /* nothing is certain yet: others decide */
    if (verdict->allowed)
        return verdict->delay_ns > 0 ? DROSSEL_DELAY : DROSSEL_ALLOW;
    switch (limit->action) {
    case POLICY_DROP:
        return DROSSEL_DROP;
    case POLICY_CHALLENGE:
        return DROSSEL_CHALLENGE;
    case POLICY_MARK:
        return DROSSEL_MARK;
    case POLICY_DELAY: /* its queue is full */
    case POLICY_REFUSE:
        break;
    }
    return DROSSEL_REFUSE;
}

/* How much a verdict weighs against another of the same kind: the longer wait or delay, on `allow` the fewest left. */
static uint64_t weight_of(enum drossel_verdict kind, const struct engine_verdict *verdict)
{
    if (kind == DROSSEL_ALLOW)
        return UINT64_MAX - verdict->remaining;
    return kind == DROSSEL_DELAY ? verdict->delay_ns : verdict->wait_ns;
}

static void add_dry_run(const struct policy *policy, const struct policy_rate *rate, enum drossel_verdict kind,
                        const struct store_charge *charge, uint32_t *told, struct drossel_decision *decision)
{
    const struct engine_verdict *verdict = &charge->verdict;
    uint32_t index = rate->limit;
    const struct policy_limit *limit = &policy->limits[index];
    bool is_stricter = kind > decision->dry_run_verdict;
    if (is_stricter ||
        (kind == decision->dry_run_verdict && kind >= DROSSEL_REFUSE && verdict->wait_ns > decision->dry_run_wait_ns)) {
        decision->dry_run_verdict = kind;
        decision->dry_run_limit = index;
        decision->dry_run_limit_name = limit->name;
        decision->dry_run_used = verdict->used;
        decision->dry_run_capacity = rate->engine.capacity;
        decision->dry_run_delay_ns = verdict->delay_ns;
    }
    if (kind < DROSSEL_REFUSE)
        return;
    if (verdict->wait_ns > decision->dry_run_wait_ns)
        decision->dry_run_wait_ns = verdict->wait_ns;
    if (*told == index) /* a limit of several rates, which come one after the other, is told once */
        return;
    *told = index;
    if (decision->dry_run_count < DROSSEL_DRY_RUNS)
        decision->dry_run[decision->dry_run_count] = limit->name;
    decision->dry_run_count++;
}

/* Which quota is told of least: of those that refused nothing the one furthest from exhaustion, else the shortest wait. */
static uint32_t least_telling(const struct drossel_decision *decision)
{
    uint32_t most = DROSSEL_QUOTAS, shortest = 0;
    for (uint32_t i = 0; i < DROSSEL_QUOTAS; i++) {
        const struct drossel_quota *quota = &decision->quota[i];
        if (quota->more_ns < decision->quota[shortest].more_ns)
            shortest = i;
        if (!quota->violated && (most == DROSSEL_QUOTAS || quota->remaining >= decision->quota[most].remaining))
            most = i;
    }
    return most != DROSSEL_QUOTAS ? most : shortest;
}

/* Makes room for one more quota.  False if there is less to tell of the new one itself. */
static bool make_room(struct drossel_decision *decision, const struct drossel_quota *quota)
{
    uint32_t out = least_telling(decision);
    const struct drossel_quota *least = &decision->quota[out];
    bool is_less = !least->violated ? !quota->violated && quota->remaining >= least->remaining
                                    : !quota->violated || quota->more_ns <= least->more_ns;
    if (is_less)
        return false;
    decision->quota_count--;
    memmove(&decision->quota[out], &decision->quota[out + 1], (DROSSEL_QUOTAS - 1 - out) * sizeof decision->quota[0]);
    return true;
}

/* Keeps the quotas closest to exhaustion, and of those that refuse the longest waits, the one that is announced among them; in
 * the order in which they came. */
static void add_quota(const struct policy_rate *rate, const struct engine_verdict *verdict, bool violated,
                      bool failures, struct drossel_decision *decision)
{
    uint64_t more_ns = violated || verdict->blocked ? verdict->wait_ns : verdict->more_ns;
    struct drossel_quota quota = {
        rate->name, rate->engine.spec.count, rate->engine.spec.period_ns, verdict->remaining, more_ns, violated,
        failures
    };
    if (decision->quota_count < DROSSEL_QUOTAS || make_room(decision, &quota))
        decision->quota[decision->quota_count++] = quota;
}

static void decide_by(const struct limiter *limiter, uint32_t rate, enum drossel_verdict kind,
                      const struct store_charge *charge, struct drossel_decision *decision)
{
    const struct policy *policy = limiter->policy;
    const struct engine_verdict *verdict = &charge->verdict;
    decision->verdict = kind;
    decision->limit = policy->rates[rate].limit;
    decision->limit_name = policy->limits[decision->limit].name;
    decision->remaining = verdict->remaining;
    decision->used = verdict->used;
    decision->capacity = policy->rates[rate].engine.capacity;
    decision->wait_ns = kind >= DROSSEL_REFUSE ? verdict->wait_ns : 0;
    decision->delay_ns = kind == DROSSEL_DELAY ? verdict->delay_ns : 0;
    decision->subject_hash = charge->key.home;
}

void limiter_merge(const struct limiter *limiter, const struct store_charge *charge, const uint32_t *rate,
                   uint32_t count, struct drossel_decision *decision)
{
    const struct policy *policy = limiter->policy;
    uint64_t weight = 0, longest_delay_ns = 0, longest_wait_ns = 0;
    uint32_t told = UINT32_MAX;
    bool decided = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct engine_verdict *verdict = &charge[i].verdict;
        if (!charge[i].judged || charge[i].counts_open_of > 0)
            continue;
        const struct policy_limit *limit = &policy->limits[policy->rates[rate[i]].limit];
        enum drossel_verdict kind = limiter_verdict_of(limit, &charge[i]);
        if (limit->dry_run) {
            add_dry_run(policy, &policy->rates[rate[i]], kind, &charge[i], &told, decision);
            continue;
        }
        decision->started_block |= verdict->started_block;
        decision->blocked |= kind >= DROSSEL_REFUSE && verdict->blocked && !verdict->started_block;
        if (kind == DROSSEL_DELAY && verdict->delay_ns > longest_delay_ns)
            longest_delay_ns = verdict->delay_ns;
        if (kind >= DROSSEL_REFUSE && verdict->wait_ns > longest_wait_ns)
            longest_wait_ns = verdict->wait_ns;
        add_quota(&policy->rates[rate[i]], verdict, kind >= DROSSEL_REFUSE, limit->failures, decision);
        uint64_t new_weight = weight_of(kind, verdict);
        if (decided && (kind < decision->verdict || (kind == decision->verdict && new_weight <= weight)))
            continue;
        decide_by(limiter, rate[i], kind, &charge[i], decision);
        weight = new_weight;
        decided = true;
    }
    if (decision->verdict == DROSSEL_CHALLENGE || decision->verdict == DROSSEL_DELAY)
        decision->delay_ns = longest_delay_ns; /* a challenged request is held back all the same */
    if (decision->verdict == DROSSEL_REFUSE)
        decision->status = policy->limits[decision->limit].answer->status;
    if (decision->verdict == DROSSEL_DROP) {
        decision->status = 0;
        decision->wait_ns = longest_wait_ns; /* of those that refuse beside it, too */
    }
}
