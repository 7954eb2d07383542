/*
 * One request from end to end.
 *
 *   client address -> exempt? -> banned? -> matching limits -> keys -> charge all or nothing -> merged verdict
 *
 * Up to LIMITER_CHARGES charges live on the stack; a request that more limits match takes memory for them.
 */
#include "limiter.h"

#include "limiter_private.h"
#include "request/key.h"
#include "store/store.h"
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The way of most requests is compiled twice, for one alone and for one of a batch, each without a call up to the store.  What is
 * not on it is kept apart: it would save registers, and clear memory, for each decision. */
#define INLINED static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

/* ---- charging ---- */

/* One request on its way, worked out as far as nothing is asked of the table: in a batch well before its turn. */
struct way {
    bool missing_forward;   /* came through a proxy that told no usable address */
    bool untrusted, exempt; /* decided already, without any charge */
    bool is_short;          /* `brief` is set; else `charges` */
    bool is_crowded;        /* more charges than there is room for */
    struct charges charges;
    struct short_way brief;
    struct matched matched;
    struct subject_finder finder;
};

size_t limiter_name_of_charge(void *context, const struct store_charge *charge, char *out, size_t cap)
{
    struct naming *naming = context;
    uint32_t rate = naming->rate[charge - naming->charge];
    subject_account_select(naming->finder, charge->subject & ~(unsigned)SUBJECT_SEVERAL);
    return subject_format(naming->finder,
                          naming->finder->policy->limits[naming->finder->policy->rates[rate].limit].subject, out, cap);
}

/* Bans the address of those whose refusal says so. */
APART void apply_bans(const struct limiter *limiter, const struct subject_finder *finder, const struct charges *charges)
{
    const struct policy *policy = limiter->policy;
    for (uint32_t i = 0; i < charges->count; i++) {
        const struct store_charge *charge = &charges->charge[i];
        if ((charge->limit->spec.flags & ENGINE_BAN) == 0 || !charge->judged || !charge->verdict.started_block)
            continue;
        if (!policy->limits[policy->rates[charges->rate[i]].limit].dry_run)
            (void)limiter_ban_client(limiter, finder, charge->verdict.wait_ns);
    }
}

INLINED void charge_and_merge(const struct limiter *limiter, struct subject_finder *finder,
                              const struct charges *charges, struct table_hold *hold, struct drossel_decision *decision)
{
    struct naming naming = { finder, charges->charge, charges->rate };
    struct store_batch batch = { .charge = charges->charge,
                                 .hold = hold,
                                 .count = charges->count,
                                 .now_ns = finder->request->now_ns,
                                 .has_open = charges->has_open,
                                 .name = limiter_name_of_charge,
                                 .context = &naming,
                                 .naming = limiter->naming };
    bool admitted = charges->count == 0 || store_table_charge(limiter->table, &batch);
    if (batch.is_held) {
        limiter_hold(limiter, &batch, charges->rate, finder->request, decision);
        return;
    }
    if (limiter->policy->has_ban)
        apply_bans(limiter, finder, charges);
    limiter_merge(limiter, charges->charge, charges->rate, charges->count, decision);
    limiter_count(limiter, finder, charges);
    if (admitted && charges->has_open)
        limiter_ticket(limiter, &batch, charges->rate, &decision->ticket);
    if (decision->verdict >= DROSSEL_REFUSE)
        decision->signed_in = subject_signed_in(finder);
}

INLINED void begin_decision(const struct way *way, struct drossel_decision *decision)
{
    limiter_begin_decision(decision);
    decision->exempt = way->exempt;
    decision->missing_forward = way->missing_forward;
    decision->client = way->finder.client;
}

static struct policy_facts facts_of(const struct drossel_request *request)
{
    return (struct policy_facts){ request->method, request->host, request->path, request, request->door };
}

static void add_limits(const struct limiter *limiter, struct subject_finder *finder, const uint32_t *limits,
                       uint32_t count, const struct policy_class_set *classes, struct charges *charges)
{
    charges->count = 0;
    for (uint32_t i = 0; i < count; i++)
        limiter_add_limit(limiter, finder, limits[i], classes, charges);
}

/* With more limits than the stack has room for.  The decision is begun only when nothing can fail any more. */
APART enum drossel_result charge_many(const struct limiter *limiter, struct way *way, struct drossel_decision *decision)
{
    struct policy_class_set classes;
    struct charges charges = { .cap = 0 };
    uint32_t limit_count = limiter->policy->limit_count;
    uint32_t *matched = malloc((size_t)limit_count * sizeof *matched);
    if (matched == NULL)
        return DROSSEL_NO_MEMORY;
    struct policy_facts facts = facts_of(way->finder.request);
    uint32_t count = policy_match(limiter->policy, &facts, &classes, matched, limit_count);
    add_limits(limiter, &way->finder, matched, count, &classes, &charges); /* without room: counts them */
    charges.cap = charges.count;
    charges.charge = malloc((size_t)charges.cap * sizeof *charges.charge);
    charges.rate = malloc((size_t)charges.cap * sizeof *charges.rate);
    struct table_hold *hold = malloc((size_t)charges.cap * sizeof *hold);
    enum drossel_result result = DROSSEL_NO_MEMORY;
    if (charges.charge != NULL && charges.rate != NULL && hold != NULL) {
        add_limits(limiter, &way->finder, matched, count, &classes, &charges);
        begin_decision(way, decision);
        charge_and_merge(limiter, &way->finder, &charges, hold, decision);
        if (way->charges.told == NULL || limiter_tell(limiter, &way->finder, &charges, way->charges.told))
            result = DROSSEL_OK;
    }
    free(matched);
    free(charges.charge);
    free(charges.rate);
    free(hold);
    return result;
}

/* ---- the way of a request ---- */

static void refuse_untrusted(struct drossel_decision *decision)
{
    decision->verdict = DROSSEL_REFUSE;
    decision->status = 403;
    decision->untrusted = true;
    decision->wait_ns = DROSSEL_NEVER;
}

/* The longest wait of the limits that would refuse the request if there were no ban.  Charges nothing. */
static uint64_t wait_without_ban(const struct limiter *limiter, const struct way *way)
{
    const struct charges *charges = &way->charges;
    struct store_batch batch = { .charge = charges->charge,
                                 .now_ns = way->finder.request->now_ns,
                                 .count = charges->count < charges->cap ? charges->count : charges->cap };
    uint64_t longest_ns = 0;
    store_table_judge(limiter->table, &batch);
    for (uint32_t i = 0; i < batch.count; i++) {
        const struct store_charge *charge = &batch.charge[i];
        if (!charge->advisory && !charge->verdict.allowed && charge->verdict.wait_ns > longest_ns)
            longest_ns = charge->verdict.wait_ns;
    }
    return longest_ns;
}

APART void refuse_banned(const struct limiter *limiter, struct way *way, uint64_t until_ns,
                         struct drossel_decision *decision)
{
    struct subject_finder *finder = &way->finder;
    uint64_t wait_ns = until_ns - finder->request->now_ns;
    if (limiter->ban_extend_ns > wait_ns && finder->request->extra_cost != DROSSEL_ASK &&
        limiter_ban_client(limiter, finder, limiter->ban_extend_ns))
        wait_ns = limiter->ban_extend_ns;
    uint64_t other_ns = wait_without_ban(limiter, way);
    decision->verdict = DROSSEL_REFUSE;
    decision->banned = decision->blocked = true;
    decision->limit_name = "ban";
    decision->wait_ns = wait_ns > other_ns ? wait_ns : other_ns;
    decision->status = limiter->policy->answer.status;
    decision->subject_hash = key_address_hash(finder->secret, POLICY_BY_ADDRESS, &finder->client_key);
    decision->signed_in = subject_signed_in(finder);
    if (finder->request->extra_cost != DROSSEL_ASK)
        limiter_count_banned(limiter, finder);
}

/* Where the client comes from the peer and the headers: into `way`. */
APART const struct drossel_address *recover_client(const struct policy *policy, const struct drossel_request *request,
                                                   struct way *way)
{
    struct client client = client_recover(&policy->client, request);
    way->finder.client = client.address;
    way->missing_forward =
        client.reason == CLIENT_NO_HEADER || (client.reason == CLIENT_STOPPED_AT_GARBAGE &&
                                              memcmp(&client.address, &request->peer, sizeof client.address) == 0);
    way->untrusted = policy->require_trusted && !client.peer_trusted;
    return &way->finder.client;
}

/* By classes, and by doors. */
APART void match_some(const struct limiter *limiter, const struct drossel_request *request, struct matched *matched)
{
    struct policy_facts facts = facts_of(request);
    matched->limit = matched->room;
    matched->count = policy_match(limiter->policy, &facts, &matched->classes, matched->room, LIMITER_CHARGES);
}

INLINED void match(const struct limiter *limiter, const struct drossel_request *request, struct matched *matched)
{
    matched->limit = limiter->everything;
    matched->count = limiter->policy->limit_count;
    if (matched->limit == NULL)
        match_some(limiter, request, matched);
}

/* The charges of the limits that match. */
APART void add_charges(const struct limiter *limiter, struct way *way)
{
    way->charges.count = 0;
    way->charges.has_open = false;
    for (uint32_t i = 0; i < way->matched.count && i < LIMITER_CHARGES; i++)
        limiter_add_limit(limiter, &way->finder, way->matched.limit[i], &way->matched.classes, &way->charges);
    way->is_crowded = way->matched.count > LIMITER_CHARGES || way->charges.count > way->charges.cap;
}

APART bool is_exempt(const struct policy *policy, const struct way *way)
{
    struct policy_facts facts = facts_of(way->finder.request);
    return policy_exempt(policy, &way->finder.client, &facts) != POLICY_NOT_EXEMPT;
}

/* Fetches the lines of several keys, all at once.  What costs most of a cold key is not its line but finding its page, and a
 * processor looks for several pages at a time only if it is asked for them within some hundred instructions. */
INLINED void fetch_keys(const struct limiter *limiter, const struct way *way)
{
    if (way->is_short)
        for (uint32_t i = 0; i < way->brief.count; i++)
            table_prefetch(limiter->table, way->brief.pass[i].key);
    else
        for (uint32_t i = 0; i < way->charges.count && i < way->charges.cap; i++)
            table_prefetch(limiter->table, way->charges.charge[i].key);
}

/* From the facts to the limits. */
INLINED void set_out(const struct limiter *limiter, const struct drossel_request *request, struct way *way)
{
    const struct policy *policy = limiter->policy;
    way->missing_forward = way->untrusted = way->exempt = way->is_crowded = false;
    const struct drossel_address *client = &request->address;
    if (client->family == DROSSEL_NONE)
        client = limiter->peer_is_client ? &request->peer : recover_client(policy, request, way);
    subject_begin(&way->finder, policy, table_secret(limiter->table), request, client);
    match(limiter, request, &way->matched);
}

/* To the keys, whose lines are fetched. */
INLINED void prepare(const struct limiter *limiter, struct way *way)
{
    way->is_short = way->charges.told == NULL && limiter_short_begin(limiter, &way->finder, &way->matched, &way->brief);
    if (!way->is_short)
        add_charges(limiter, way);
    fetch_keys(limiter, way);
    /* Last, though it may make all of the above idle: by now the keys' lines are on their way from memory, and long lists
     * of networks are looked through meanwhile. */
    if (limiter->has_exemptions && !way->untrusted)
        way->exempt = is_exempt(limiter->policy, way);
}

/* From the charges to the decision, which is begun only when nothing can fail any more. */
APART enum drossel_result finish_any(const struct limiter *limiter, struct way *way, uint64_t banned_until_ns,
                                     struct table_hold *hold, struct drossel_decision *decision)
{
    bool is_decided = way->exempt || way->untrusted;
    if (!is_decided && banned_until_ns == 0 && way->is_crowded)
        return charge_many(limiter, way, decision);
    begin_decision(way, decision);
    if (way->untrusted)
        refuse_untrusted(decision);
    else if (banned_until_ns > 0)
        refuse_banned(limiter, way, banned_until_ns, decision);
    else if (!way->exempt)
        charge_and_merge(limiter, &way->finder, &way->charges, hold, decision);
    return DROSSEL_OK;
}

/* From the keys to the decision. */
INLINED enum drossel_result finish(const struct limiter *limiter, struct way *way, struct table_hold *hold,
                                   struct drossel_decision *decision)
{
    uint64_t now_ns = way->finder.request->now_ns, banned_until_ns = 0;
    if (!way->exempt && !way->untrusted) {
        banned_until_ns = limiter_banned_until(limiter, &way->finder.client_key, now_ns);
        if (way->is_short && banned_until_ns == 0) {
            begin_decision(way, decision);
            if (limiter_short_end(limiter, &way->brief, now_ns, decision))
                return DROSSEL_OK;
        }
        if (way->is_short)
            add_charges(limiter, way);
    }
    return finish_any(limiter, way, banned_until_ns, hold, decision);
}

bool limiter_needs_body(const struct limiter *limiter, const struct drossel_request *request)
{
    const struct policy *policy = limiter->policy;
    if (!policy->needs_body || request->account.size > 0)
        return false;
    struct policy_facts facts = facts_of(request);
    struct policy_class_set classes;
    uint32_t matched[LIMITER_CHARGES];
    uint32_t count = policy_match(policy, &facts, &classes, matched, LIMITER_CHARGES);
    if (count > LIMITER_CHARGES)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (policy->limits[matched[i]].needs_body)
            return true;
    return false;
}

/* Is there a refusal in memory that may be said again?  Not while somebody is banned: this client may be. */
INLINED bool is_recalled(const struct limiter *limiter, struct limiter_memory *memory, struct way *way,
                         struct drossel_decision *decision)
{
    uint64_t now_ns = way->finder.request->now_ns;
    return memory != NULL && limiter_memory_is_fresh(memory, now_ns) && !way->untrusted &&
           table_bans_until(limiter->table) <= now_ns &&
           limiter_recall(memory, limiter, &way->finder, &way->matched, decision);
}

APART enum drossel_result check_any(struct limiter *limiter, struct limiter_memory *memory,
                                    const struct drossel_request *request, struct drossel_decision *decision)
{
    struct store_charge charge[LIMITER_CHARGES];
    uint32_t rate[LIMITER_CHARGES];
    struct table_hold hold[LIMITER_CHARGES];
    struct way way;
    way.charges = (struct charges){ .charge = charge, .rate = rate, .cap = LIMITER_CHARGES };
    set_out(limiter, request, &way);
    if (is_recalled(limiter, memory, &way, decision))
        return DROSSEL_OK;
    prepare(limiter, &way);
    enum drossel_result result = finish(limiter, &way, hold, decision);
    if (memory != NULL && result == DROSSEL_OK && decision->verdict >= DROSSEL_REFUSE && !way.untrusted)
        limiter_remember(memory, limiter, &way.finder, &way.matched, &way.charges, decision);
    return result;
}

enum drossel_result limiter_check_told(struct limiter *limiter, const struct drossel_request *request,
                                       struct drossel_decision *decision, struct limiter_told *told)
{
    struct store_charge charge[LIMITER_CHARGES];
    uint32_t rate[LIMITER_CHARGES];
    struct table_hold hold[LIMITER_CHARGES];
    struct way way;
    way.charges = (struct charges){ .charge = charge, .rate = rate, .cap = LIMITER_CHARGES, .told = told };
    set_out(limiter, request, &way);
    prepare(limiter, &way);
    told->is_judged = !way.exempt && !way.untrusted;
    told->count = UINT32_MAX;
    enum drossel_result result = finish(limiter, &way, hold, decision);
    if (result != DROSSEL_OK || told->count != UINT32_MAX) /* of more than there is room for here it was told already */
        return result;
    return limiter_tell(limiter, &way.finder, &way.charges, told) ? DROSSEL_OK : DROSSEL_NO_MEMORY;
}

inline enum drossel_result limiter_check(struct limiter *limiter, const struct drossel_request *request,
                                         struct drossel_decision *decision)
{
    if (limiter->alone != NULL && limiter_check_alone(limiter, request, decision))
        return DROSSEL_OK;
    return check_any(limiter, NULL, request, decision);
}

enum drossel_result limiter_check_remembering(struct limiter *limiter, struct limiter_memory *memory,
                                              const struct drossel_request *request, struct drossel_decision *decision)
{
    if (memory == NULL || !limiter_memory_is_fresh(memory, request->now_ns)) {
        if (limiter->alone != NULL && limiter_check_alone(limiter, request, decision))
            return DROSSEL_OK;
    }
    return check_any(limiter, memory, request, decision);
}

/* How many requests of a batch are worked out ahead of those that are decided: enough that their lines come from memory meanwhile,
 * side by side, and few enough that all they touch stays in the first cache. */
#define AHEAD_ALONE 8
#define AHEAD 4
#define AHEAD_CHARGES 8

/* A request of a batch whose turn is to come.  One of more charges than fit here is prepared anew when it is decided. */
struct ahead {
    struct way way;
    struct store_charge charge[AHEAD_CHARGES];
    uint32_t rate[AHEAD_CHARGES];
};

static size_t at_most(size_t count, size_t most)
{
    return count < most ? count : most;
}

/* While one group is decided, the lines of the next one's keys come from memory. */
static enum drossel_result check_batch_alone(struct limiter *limiter, const struct drossel_request *requests,
                                             size_t count, struct drossel_decision *decisions)
{
    struct limiter_alone_key keys[2][AHEAD_ALONE];
    limiter_alone_fetch(limiter, requests, at_most(count, AHEAD_ALONE), keys[0]);
    for (size_t i = 0; i < count; i++) {
        size_t group = i / AHEAD_ALONE % 2, next = i + AHEAD_ALONE;
        if (i % AHEAD_ALONE == 0 && next < count)
            limiter_alone_fetch(limiter, &requests[next], at_most(count - next, AHEAD_ALONE), keys[1 - group]);
        if (limiter_alone_fetched(limiter, &requests[i], &keys[group][i % AHEAD_ALONE], &decisions[i]))
            continue;
        /* The shortest way is too short for it: it is decided by its turn, too. */
        enum drossel_result result = check_any(limiter, NULL, &requests[i], &decisions[i]);
        if (result != DROSSEL_OK)
            return result;
    }
    return DROSSEL_OK;
}

static void look_ahead(struct limiter *limiter, const struct drossel_request *request, struct ahead *ahead)
{
    ahead->way.charges = (struct charges){ .charge = ahead->charge, .rate = ahead->rate, .cap = AHEAD_CHARGES };
    set_out(limiter, request, &ahead->way);
    prepare(limiter, &ahead->way);
}

static enum drossel_result check_batch_any(struct limiter *limiter, const struct drossel_request *requests,
                                           size_t count, struct drossel_decision *decisions)
{
    struct ahead ahead[AHEAD];
    struct table_hold hold[AHEAD_CHARGES];
    for (size_t i = 0, next = 0; i < count; i++) {
        for (; next < count && next < i + AHEAD; next++)
            look_ahead(limiter, &requests[next], &ahead[next % AHEAD]);
        struct way *way = &ahead[i % AHEAD].way;
        enum drossel_result result = way->is_crowded ? check_any(limiter, NULL, &requests[i], &decisions[i])
                                                     : finish(limiter, way, hold, &decisions[i]);
        if (result != DROSSEL_OK)
            return result;
    }
    return DROSSEL_OK;
}

enum drossel_result limiter_check_batch(struct limiter *limiter, const struct drossel_request *requests, size_t count,
                                        struct drossel_decision *decisions)
{
    return limiter->alone != NULL ? check_batch_alone(limiter, requests, count, decisions)
                                  : check_batch_any(limiter, requests, count, decisions);
}

size_t limiter_key_format(const struct limiter *limiter, const struct drossel_request *request,
                          const struct drossel_decision *decision, char *out, size_t cap)
{
    const struct policy *policy = limiter->policy;
    if (decision->limit >= policy->limit_count) {
        struct drossel_address counted = client_key(&decision->client, policy->ipv6_prefix);
        return limiter_address_format(&counted, policy->ipv6_prefix, out, cap);
    }
    struct subject_finder finder;
    subject_begin(&finder, policy, table_secret(limiter->table), request, &decision->client);
    return subject_format(&finder, policy->limits[decision->limit].subject, out, cap);
}
