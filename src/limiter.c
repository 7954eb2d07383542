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
    bool is_short;          /* `brief` is set */
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
            (void)limiter_ban_client(limiter, finder, charge->verdict.wait_ns,
                                     (charge->limit->spec.flags & ENGINE_EXTEND) != 0);
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
APART enum drossel_result charge_many(const struct limiter *limiter, struct way *way, struct limiter_told *told,
                                      struct drossel_decision *decision)
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
        if (told == NULL || limiter_tell(limiter, &way->finder, &charges, told))
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
    decision->capacity = 0;
    decision->wait_ns = DROSSEL_NEVER;
}

/* The longest wait of the limits that would refuse the request if there were no ban.  Charges nothing. */
static uint64_t wait_without_ban(const struct limiter *limiter, const struct charges *charges, uint64_t now_ns)
{
    struct store_batch batch = { .charge = charges->charge,
                                 .now_ns = now_ns,
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

APART void refuse_banned(const struct limiter *limiter, struct subject_finder *finder, const struct charges *charges,
                         uint64_t until_ns, struct drossel_decision *decision)
{
    uint64_t wait_ns = until_ns - finder->request->now_ns, extend_ns = limiter_ban_extension(limiter, finder);
    if (extend_ns > wait_ns && finder->request->extra_cost != DROSSEL_ASK &&
        limiter_ban_client(limiter, finder, extend_ns, true))
        wait_ns = extend_ns;
    uint64_t other_ns = wait_without_ban(limiter, charges, finder->request->now_ns);
    decision->verdict = DROSSEL_REFUSE;
    decision->banned = decision->blocked = true;
    decision->limit_name = "ban";
    decision->capacity = 0;
    decision->wait_ns = wait_ns > other_ns ? wait_ns : other_ns;
    decision->status = limiter->policy->answer.status;
    decision->subject_hash = key_address_hash(finder->secret, POLICY_BY_ADDRESS, &finder->client_key);
    decision->signed_in = subject_signed_in(finder);
    if (finder->request->extra_cost != DROSSEL_ASK)
        limiter_count_banned(limiter, finder);
}

/* Did it come past the trusted proxies, and must not?  Whose address is exempt may: of such a request it is the connection's, which nobody
 * can choose.  Exempt paths and methods anybody can, and who goes around the proxy would have them without any limit. */
APART bool is_untrusted(const struct policy *policy, const struct drossel_request *request, const struct client *client)
{
    struct policy_facts facts = facts_of(request);
    return policy->require_trusted && !client->peer_trusted &&
           policy_exempt(policy, &client->address, &facts) != POLICY_EXEMPT_ADDRESS;
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
    way->untrusted = is_untrusted(policy, request, &client);
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

APART bool is_exempt(const struct policy *policy, const struct way *way)
{
    struct policy_facts facts = facts_of(way->finder.request);
    return policy_exempt(policy, &way->finder.client, &facts) != POLICY_NOT_EXEMPT;
}

/* From the facts to the limits. */
INLINED void set_out(const struct limiter *limiter, const struct drossel_request *request, struct way *way)
{
    const struct policy *policy = limiter->policy;
    way->missing_forward = way->untrusted = way->exempt = way->is_short = false;
    const struct drossel_address *client = &request->address;
    if (client->family == DROSSEL_NONE)
        client = limiter->peer_is_client ? &request->peer : recover_client(policy, request, way);
    subject_begin(&way->finder, policy, table_secret(limiter->table), request, client);
    match(limiter, request, &way->matched);
}

/* To the keys of the short way, if it may be gone.  Their lines are fetched all at once: what costs most of a cold key is not its line but
 * finding its page, and a processor looks for several pages at a time only if it is asked for them within some hundred instructions. */
INLINED void take_short(const struct limiter *limiter, struct way *way)
{
    way->is_short = limiter_short_begin(limiter, &way->finder, &way->matched, &way->brief);
    if (!way->is_short)
        return;
    for (uint32_t i = 0; i < way->brief.count; i++)
        table_prefetch(limiter->table, way->brief.pass[i].key);
    /* Last, though it may make all of the above idle: by now the keys' lines are on their way from memory, and long lists
     * of networks are looked through meanwhile. */
    if (limiter->has_exemptions && !way->untrusted)
        way->exempt = is_exempt(limiter->policy, way);
}

/* And to the decision.  False, and nothing is changed, if it takes the general way. */
INLINED bool end_short(const struct limiter *limiter, struct way *way, struct drossel_decision *decision)
{
    uint64_t now_ns = way->finder.request->now_ns;
    if (unlikely(!way->is_short || way->exempt || way->untrusted || table_bans_until(limiter->table) > now_ns))
        return false;
    begin_decision(way, decision);
    return limiter_short_end(limiter, &way->brief, now_ns, decision);
}

/* The charges of the limits that match.  False if there are more than there is room for. */
static bool add_charges(const struct limiter *limiter, struct way *way, struct charges *charges)
{
    const struct matched *matched = &way->matched;
    for (uint32_t i = 0; i < matched->count && i < LIMITER_CHARGES; i++)
        limiter_add_limit(limiter, &way->finder, matched->limit[i], &matched->classes, charges);
    for (uint32_t i = 0; i < charges->count && i < charges->cap; i++)
        table_prefetch(limiter->table, charges->charge[i].key);
    return matched->count <= LIMITER_CHARGES && charges->count <= charges->cap;
}

/* The general way, from the limits to the decision, which is begun only when nothing can fail any more.  `memory` and `told` may be NULL. */
APART enum drossel_result decide(const struct limiter *limiter, struct limiter_memory *memory, struct way *way,
                                 struct limiter_told *told, struct drossel_decision *decision)
{
    struct store_charge charge[LIMITER_CHARGES];
    uint32_t rate[LIMITER_CHARGES];
    struct table_hold hold[LIMITER_CHARGES];
    struct charges charges = { .charge = charge, .rate = rate, .cap = LIMITER_CHARGES };
    struct subject_finder *finder = &way->finder;
    uint64_t forgotten = memory == NULL ? 0 : table_forgotten(limiter->table);
    bool has_room = add_charges(limiter, way, &charges);
    if (limiter->has_exemptions && !way->untrusted && !way->is_short)
        way->exempt = is_exempt(limiter->policy, way);
    bool is_free = way->exempt || way->untrusted;
    uint64_t banned_until_ns =
        is_free ? 0 : limiter_banned_until(limiter, &finder->client_key, finder->request->now_ns);
    if (told != NULL)
        told->is_judged = !is_free;
    if (!is_free && banned_until_ns == 0 && !has_room)
        return charge_many(limiter, way, told, decision);
    begin_decision(way, decision);
    if (way->untrusted)
        refuse_untrusted(decision);
    else if (banned_until_ns > 0)
        refuse_banned(limiter, finder, &charges, banned_until_ns, decision);
    else if (!way->exempt)
        charge_and_merge(limiter, finder, &charges, hold, decision);
    if (memory != NULL && decision->verdict >= DROSSEL_REFUSE && !way->untrusted)
        limiter_remember(memory, forgotten, limiter, finder, &way->matched, &charges, decision);
    return told == NULL || limiter_tell(limiter, finder, &charges, told) ? DROSSEL_OK : DROSSEL_NO_MEMORY;
}

APART bool some_needs_body(const struct limiter *limiter, const struct drossel_request *request)
{
    const struct policy *policy = limiter->policy;
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

bool limiter_needs_body(const struct limiter *limiter, const struct drossel_request *request)
{
    if (request->account.size > 0)
        return false;
    if (limiter->everything != NULL)
        return limiter->always_needs_body;
    return limiter->policy->needs_body && some_needs_body(limiter, request);
}

/* Is there a refusal in memory that may be said again?  Not while somebody is banned: this client may be. */
INLINED bool is_recalled(const struct limiter *limiter, struct limiter_memory *memory, struct way *way,
                         struct drossel_decision *decision)
{
    uint64_t now_ns = way->finder.request->now_ns;
    return memory != NULL && unlikely(limiter_memory_is_fresh(memory, now_ns)) && !way->untrusted &&
           table_bans_until(limiter->table) <= now_ns &&
           limiter_recall(memory, limiter, &way->finder, &way->matched, decision);
}

APART enum drossel_result check_any(struct limiter *limiter, struct limiter_memory *memory,
                                    const struct drossel_request *request, struct drossel_decision *decision)
{
    struct way way;
    set_out(limiter, request, &way);
    if (is_recalled(limiter, memory, &way, decision))
        return DROSSEL_OK;
    take_short(limiter, &way);
    return end_short(limiter, &way, decision) ? DROSSEL_OK : decide(limiter, memory, &way, NULL, decision);
}

enum drossel_result limiter_check_told(struct limiter *limiter, const struct drossel_request *request,
                                       struct drossel_decision *decision, struct limiter_told *told)
{
    struct way way;
    set_out(limiter, request, &way);
    return decide(limiter, NULL, &way, told, decision);
}

inline enum drossel_result limiter_check(struct limiter *limiter, const struct drossel_request *request,
                                         struct drossel_decision *decision)
{
    if (limiter->alone != NULL && limiter_check_alone(limiter, request, decision))
        return DROSSEL_OK;
    if (limiter->login.rate != NULL && limiter_check_login(limiter, request, decision))
        return DROSSEL_OK;
    return check_any(limiter, NULL, request, decision);
}

enum drossel_result limiter_check_remembering(struct limiter *limiter, struct limiter_memory *memory,
                                              const struct drossel_request *request, struct drossel_decision *decision)
{
    if (limiter->login.rate != NULL &&
        limiter_check_login(limiter, request, decision)) /* of its limit nothing is remembered */
        return DROSSEL_OK;
    if (memory == NULL || !limiter_memory_is_fresh(memory, request->now_ns)) {
        if (limiter->alone != NULL && limiter_check_alone(limiter, request, decision))
            return DROSSEL_OK;
    }
    return check_any(limiter, memory, request, decision);
}

/* The shortest way is too short for some: these are decided by their turn, too. */
static enum drossel_result check_group(struct limiter *limiter, const struct drossel_request *requests,
                                       const struct limiter_group *group, struct drossel_decision *decisions,
                                       uint64_t *passed)
{
    for (size_t i = 0;; i++) {
        size_t stopped = limiter_alone_pass(limiter, requests, group, i, decisions);
        *passed += stopped - i;
        i = stopped;
        if (i == group->count)
            return DROSSEL_OK;
        enum drossel_result result = check_any(limiter, NULL, &requests[i], &decisions[i]);
        if (result != DROSSEL_OK)
            return result;
    }
}

/* While one group is decided, the lines of the next one's keys come from memory. */
static enum drossel_result check_batch_alone(struct limiter *limiter, const struct drossel_request *requests,
                                             size_t count, struct drossel_decision *decisions)
{
    enum drossel_result result = DROSSEL_OK;
    struct limiter_group groups[2];
    uint64_t passed = 0;
    limiter_alone_fetch(limiter, requests, count, &groups[0]);
    for (size_t begin = 0; begin < count && result == DROSSEL_OK; begin += LIMITER_GROUP) {
        size_t next = begin + LIMITER_GROUP;
        if (next < count)
            limiter_alone_fetch(limiter, &requests[next], count - next, &groups[next / LIMITER_GROUP % 2]);
        result = check_group(limiter, &requests[begin], &groups[begin / LIMITER_GROUP % 2], &decisions[begin], &passed);
    }
    if (passed > 0)
        table_stats_add_passed(limiter->table, limiter->alone->limit_id, passed);
    return result;
}

/* How many requests of a batch are worked out ahead of those that are decided, where that takes more room. */
#define AHEAD 4

static enum drossel_result check_batch_any(struct limiter *limiter, const struct drossel_request *requests,
                                           size_t count, struct drossel_decision *decisions)
{
    struct way ahead[AHEAD];
    for (size_t i = 0, next = 0; i < count; i++) {
        for (; next < count && next < i + AHEAD; next++) {
            set_out(limiter, &requests[next], &ahead[next % AHEAD]);
            take_short(limiter, &ahead[next % AHEAD]);
        }
        struct way *way = &ahead[i % AHEAD];
        if (end_short(limiter, way, &decisions[i]))
            continue;
        enum drossel_result result = decide(limiter, NULL, way, NULL, &decisions[i]);
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
