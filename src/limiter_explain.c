/* The way of a request through one limit, told step by step; charges nothing. */
#include "limiter_private.h"

#include <stdlib.h>
#include <string.h>

/* May the request still wait for outcomes in this limit?  Where a refusal stops nobody, doubt is never more than that. */
static bool may_wait(const struct policy_limit *limit, const struct drossel_request *request)
{
    uint64_t arrived_ns = request->arrived_ns;
    uint64_t held_ns = arrived_ns > 0 && request->now_ns > arrived_ns ? request->now_ns - arrived_ns : 0;
    return limit->dry_run || limit->action == POLICY_MARK || limiter_may_hold(limit, held_ns);
}

/* What a refusal comes to when it is carried out, on a copy of the key's state. */
static struct engine_verdict taken(const struct limiter *limiter, const struct store_charge *charge, uint64_t now_ns)
{
    struct engine_verdict verdict = charge->verdict;
    struct engine_state state;
    if (charge->cost == 0 || !engine_exceed_writes(charge->limit, &verdict))
        return verdict;
    (void)table_look(limiter->table, charge->key, charge->limit_id, now_ns, &state);
    engine_exceed(&state, charge->limit, charge->cost, now_ns, &verdict);
    return verdict;
}

/* Adds what a rate would say. */
static void explain_rate(struct limiter *limiter, const struct drossel_request *request, const struct policy_rate *rate,
                         struct limiter_explained *explained)
{
    const struct policy_limit *limit = &limiter->policy->limits[explained->limit];
    uint32_t at = explained->rate_count++;
    struct table_key key = table_key_mix(explained->key_hash, rate->seed);
    struct store_charge charge[2] = {
        { .key = key,
          .limit = &rate->engine,
          .cost = explained->cost > 0 && explained->thing > 0 ? explained->thing : explained->cost,
          .limit_id = limiter->rates[rate - limiter->policy->rates].limit_id },
        { .key = limiter_open_key(key),
          .limit = table_engine_at(limiter->table, TABLE_LIMIT_OPEN),
          .limit_id = TABLE_LIMIT_OPEN },
    };
    const struct engine_verdict *said = &charge[0].verdict;
    bool has_open = limit->failures && explained->cost > 0;
    store_table_judge(limiter->table,
                      &(struct store_batch){ .charge = charge, .count = has_open ? 2 : 1, .now_ns = request->now_ns });
    uint64_t open = explained->open[at] = has_open ? charge[1].verdict.used : 0;
    uint64_t settled = said->used > open ? said->used - open : 0;
    bool is_doubtful = open > 0 && !said->allowed && !said->blocked && said->wait_ns != ENGINE_NEVER &&
                       settled + explained->cost <= rate->engine.capacity;
    explained->rate[at] = rate;
    explained->verdict[at] = *said;
    explained->taken[at] = is_doubtful ? *said : taken(limiter, &charge[0], request->now_ns);
    explained->waits[at] = is_doubtful && may_wait(limit, request);
}

/* How many keys the limit has in the request, as limiter_add_limit charges them; the one of `account` is selected. */
static unsigned select_account(struct subject_finder *finder, const struct policy *policy,
                               const struct policy_limit *limit, unsigned account)
{
    unsigned accounts = 1;
    bool is_by_account = policy->account_from_count > 0 && subject_has_account(policy, limit->subject);
    if (!is_by_account || !subject_is_account_doubtful(finder, &accounts))
        return 1;
    subject_account_select(finder, account);
    return accounts;
}

void limiter_explain(struct limiter *limiter, const struct drossel_request *request, uint32_t index,
                     struct limiter_explained *explained)
{
    limiter_explain_account(limiter, request, index, 0, explained);
}

void limiter_explain_account(struct limiter *limiter, const struct drossel_request *request, uint32_t index,
                             unsigned account, struct limiter_explained *explained)
{
    const struct policy *policy = limiter->policy;
    const struct policy_limit *limit = &policy->limits[index];
    struct policy_facts facts = { request->method, request->host, request->path, request, request->door };
    struct policy_class_set classes;
    memset(explained, 0, sizeof *explained);
    explained->limit = index;
    explained->accounts = 1;
    (void)policy_match(policy, &facts, &classes, NULL, 0);
    if (!policy_limit_is_for(limit, &classes)) {
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
    if (limit->distinct != POLICY_NOT_DISTINCT)
        explained->thing = limiter_thing_of(&finder, limit);
    explained->accounts = select_account(&finder, policy, limit, account);
    if (!subject_hash(&finder, limit->subject, &explained->key_hash)) {
        explained->why = LIMITER_KEY_MISSING;
        explained->missing = subject_missing(&finder, limit->subject);
        return;
    }
    if (limit->distinct != POLICY_NOT_DISTINCT && explained->thing == 0) {
        explained->why = LIMITER_KEY_MISSING;
        explained->missing = "account";
        return;
    }
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
    for (uint32_t i = 0; i < count && i < 8; i++)
        explain_rate(limiter, request, &policy->rates[first + i], explained);
}

static bool make_room(struct limiter_told *told, uint32_t count)
{
    if (count <= told->cap)
        return true;
    struct limiter_charge *grown = realloc(told->charge, count * sizeof *grown);
    if (grown == NULL)
        return false;
    told->charge = grown;
    told->cap = count;
    return true;
}

/* Where a running block of another key had decided, an advisory charge was not judged: nothing has changed since. */
static void judge_now(const struct limiter *limiter, const struct store_charge *made, uint64_t now_ns,
                      struct limiter_charge *charge)
{
    struct store_charge copy = *made;
    store_table_judge(limiter->table, &(struct store_batch){ .charge = &copy, .count = 1, .now_ns = now_ns });
    charge->verdict = copy.verdict;
}

bool limiter_tell(const struct limiter *limiter, struct subject_finder *finder, const struct charges *charges,
                  struct limiter_told *told)
{
    uint32_t made = charges->count < charges->cap ? charges->count : charges->cap;
    bool is_refused = false;
    if (!make_room(told, made))
        return false;
    told->count = 0;
    for (uint32_t i = 0; i < made; i++) {
        const struct store_charge *from = &charges->charge[i];
        if (from->counts_open_of > 0 || (from->subject & ~(unsigned)SUBJECT_SEVERAL) != 0)
            continue;
        struct limiter_charge *to = &told->charge[told->count++];
        to->key = from->key;
        to->rate = charges->rate[i];
        to->waits = false;
        if (!told->is_judged)
            continue;
        to->verdict = from->verdict;
        if (!from->judged)
            judge_now(limiter, from, finder->request->now_ns, to);
        to->waits =
            from->judged && from->held &&
            limiter_verdict_of(&limiter->policy->limits[limiter->policy->rates[to->rate].limit], from) == DROSSEL_ALLOW;
        is_refused |= !to->verdict.allowed;
    }
    told->signed_in = is_refused && subject_signed_in(finder);
    return true;
}
