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

#define LIMITER_CHARGES 64
#define BAN_SEED UINT64_C(0x62616e2061646472) /* "ban addr" */

/* ---- attaching a policy to a table ---- */

static void describe_rate(const struct policy *policy, const struct policy_rate *rate, struct table_limit *limit)
{
    const struct policy_limit *of = &policy->limits[rate->limit];
    *limit = (struct table_limit){ .seed = rate->seed, .spec = rate->engine.spec, .ipv6_prefix = policy->ipv6_prefix };
    snprintf(limit->name, sizeof limit->name, "%s", rate->name);
    snprintf(limit->subject, sizeof limit->subject, "%s", policy->subjects[of->subject].text.data);
}

struct limiter *limiter_open(const struct policy *policy, struct table *table, char *error, size_t error_size)
{
    struct limiter *limiter = calloc(1, sizeof *limiter + policy->rate_count * sizeof limiter->limit_id[0]);
    if (limiter == NULL) {
        snprintf(error, error_size, "%s: no memory to attach the policy to its table; free some", policy->path);
        return NULL;
    }
    limiter->policy = policy;
    limiter->table = table;
    for (uint32_t i = 0; i < policy->rate_count; i++) {
        struct table_limit limit;
        describe_rate(policy, &policy->rates[i], &limit);
        int id = table_limit_register(table, &limit);
        if (id < 0) {
            snprintf(error, error_size, "%s: the table has seen %d different limits and takes no more; stop all that use "
                                        "it, remove it, and start again", table_path(table)[0] != '\0' ? table_path(table) : policy->path,
                     TABLE_LIMITS_MAX);
            limiter_close(limiter);
            return NULL;
        }
        limiter->limit_id[i] = (uint16_t)id;
        uint16_t both = ENGINE_BAN | ENGINE_EXTEND;
        if ((limit.spec.flags & both) == both && limit.spec.block_ns > limiter->ban_extend_ns)
            limiter->ban_extend_ns = limit.spec.block_ns;
    }
    return limiter;
}

void limiter_close(struct limiter *limiter)
{
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

/* ---- bans ---- */

struct table_key limiter_address_key(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix,
                                     uint64_t seed)
{
    struct drossel_address counted = client_key(address, ipv6_prefix);
    struct key_hash hash = key_address_hash(table_secret(table), POLICY_BY_ADDRESS, &counted);
    return table_key_mix(hash.half, seed);
}

static size_t format_key_address(const struct drossel_address *counted, unsigned ipv6_prefix, char *out, size_t cap)
{
    char text[DROSSEL_ADDRESS_TEXT];
    int size;
    drossel_address_format(counted, text);
    if (counted->family == DROSSEL_IPV6 && ipv6_prefix < 128)
        size = snprintf(out, cap, "%s/%u", text, ipv6_prefix);
    else
        size = snprintf(out, cap, "%s", text);
    return (size_t)size < cap ? (size_t)size : cap - (cap > 0);
}

struct ban {
    const struct drossel_address *address;
    unsigned ipv6_prefix;
    uint64_t for_ns, now_ns;
    bool only_longer;                /* a ban that runs longer stays as it is */
};

static bool put_ban(struct table *table, const struct ban *ban)
{
    struct table_key key = limiter_address_key(table, ban->address, ban->ipv6_prefix, BAN_SEED);
    struct drossel_address counted = client_key(ban->address, ban->ipv6_prefix);
    struct table_hold hold;
    char name[TABLE_NAME_BYTES + 8];
    size_t size = format_key_address(&counted, ban->ipv6_prefix, name, sizeof name);
    for (;;) {
        switch (table_insert(table, key, TABLE_LIMIT_BAN, ban->now_ns, table_ticket(), &hold)) {
        case TABLE_ABSENT:
            return false;
        case TABLE_BUSY:
            table_wait(table, &hold, ban->now_ns);
            break;
        case TABLE_TAKEN:
            if (ban->only_longer && hold.state.block_end_ns > ban->now_ns &&
                hold.state.block_end_ns - ban->now_ns >= ban->for_ns) {
                table_drop(table, &hold);
                return true;
            }
            engine_block(&hold.state, ban->for_ns, ban->now_ns);
            if (hold.fresh)
                table_name_set(table, &hold, key, name, size);
            table_bans_extend(table, hold.state.block_end_ns);
            if (table_put(table, &hold, key, TABLE_LIMIT_BAN))
                return true;
            break;
        }
    }
}

bool limiter_ban(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix, uint64_t for_ns,
                 uint64_t now_ns)
{
    struct ban ban = { address, ipv6_prefix, for_ns, now_ns, false };
    return put_ban(table, &ban);
}

static bool ban_client(const struct limiter *limiter, const struct subject_finder *finder, uint64_t for_ns)
{
    struct ban ban = { &finder->client, limiter->policy->ipv6_prefix, for_ns, finder->request->now_ns, true };
    return put_ban(limiter->table, &ban);
}

bool limiter_unban(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix, uint64_t now_ns)
{
    struct table_key key = limiter_address_key(table, address, ipv6_prefix, BAN_SEED);
    struct table_entry entry = { .slot = table_find(table, key), .tag = key.tag };
    if (entry.slot == TABLE_NO_SLOT || table_block_end(table, entry.slot, key) <= now_ns)
        return false;
    return table_forget(table, &entry, now_ns);
}

uint64_t limiter_banned_until(const struct limiter *limiter, const struct drossel_address *counted, uint64_t now_ns)
{
    if (table_bans_until(limiter->table) <= now_ns)
        return 0;
    struct key_hash hash = key_address_hash(table_secret(limiter->table), POLICY_BY_ADDRESS, counted);
    struct table_key key = table_key_mix(hash.half, BAN_SEED);
    uint64_t slot = table_find(limiter->table, key);
    uint64_t end_ns = slot == TABLE_NO_SLOT ? 0 : table_block_end(limiter->table, slot, key);
    return end_ns > now_ns ? end_ns : 0;
}

/* ---- from facts to charges ---- */

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

/* The charges of one request and what is needed to make them. */
struct charges {
    struct store_charge *charge;
    uint32_t *rate;      /* for each: index into policy->rates */
    uint32_t count, cap; /* those beyond `cap` are only counted */
    bool has_open;       /* some count charges with an open outcome */
};

/* One request on its way, worked out as far as nothing is asked of the table: in a batch well before its turn. */
struct way {
    struct subject_finder finder;
    struct policy_facts facts;
    bool missing_forward;            /* came through a proxy that told no usable address */
    bool untrusted, exempt;          /* decided already, without any charge */
    bool is_crowded;                 /* more charges than there is room for */
    struct charges charges;
};

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
        main->open_counter = (uint16_t)(charges->count + 1);
        main->may_hold = held_ns < limit->hold_ns;
        *counter = (struct store_charge){ .key = limiter_open_key(main->key),
                                          .limit = table_engine_at(limiter->table, TABLE_LIMIT_OPEN),
                                          .cost = main->cost,
                                          .limit_id = TABLE_LIMIT_OPEN,
                                          .advisory = true,
                                          .counts_open_of = (uint16_t)(of + 1) };
        charges->rate[charges->count] = charges->rate[of];
        charges->has_open = true;
    }
}

/* Adds the charges of one limit.  Those beyond `cap` are only counted. */
static void add_limit(const struct limiter *limiter, struct subject_finder *finder, uint32_t index,
                      const struct policy_class_set *classes, struct charges *charges)
{
    const struct policy *policy = limiter->policy;
    const struct policy_limit *limit = &policy->limits[index];
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
    uint64_t cost = limiter_times(policy_cost_of(limit, classes), finder->request->extra_cost);
    for (uint32_t rate = first; rate < first + count; rate++, charges->count++) {
        if (charges->count >= charges->cap)
            continue;
        struct store_charge *charge = &charges->charge[charges->count];
        charge->key = table_key_mix(hash.half, policy->rates[rate].seed);
        table_prefetch(limiter->table, charge->key);
        charge->limit = &policy->rates[rate].engine;
        charge->cost = cost;
        charge->limit_id = limiter->limit_id[rate];
        charge->advisory = is_advisory(limit);
        charge->open_counter = charge->counts_open_of = 0;
        charge->held = false;
        charges->rate[charges->count] = rate;
    }
    if (limit->failures && cost > 0)
        add_open_counters(limiter, limit, finder->request, charges, count);
}

static size_t name_of_charge(void *context, const struct store_charge *charge, char *out, size_t cap)
{
    struct naming *naming = context;
    uint32_t rate = naming->rate[charge - naming->charge];
    return subject_format(naming->finder,
                          naming->finder->policy->limits[naming->finder->policy->rates[rate].limit].subject, out, cap);
}

/* Bans the address of those whose refusal says so. */
static void apply_bans(const struct limiter *limiter, const struct subject_finder *finder,
                       const struct charges *charges)
{
    const struct policy *policy = limiter->policy;
    if (!policy->has_ban)
        return;
    for (uint32_t i = 0; i < charges->count; i++) {
        const struct store_charge *charge = &charges->charge[i];
        if ((charge->limit->spec.flags & ENGINE_BAN) == 0 || !charge->judged || !charge->verdict.started_block)
            continue;
        if (!policy->limits[policy->rates[charges->rate[i]].limit].dry_run)
            (void)ban_client(limiter, finder, charge->verdict.wait_ns);
    }
}

static void charge_and_merge(const struct limiter *limiter, struct subject_finder *finder,
                             const struct charges *charges, struct table_hold *hold, struct drossel_decision *decision)
{
    struct naming naming = { finder, charges->charge, charges->rate };
    struct store_batch batch = { .charge = charges->charge,
                                 .hold = hold,
                                 .count = charges->count,
                                 .now_ns = finder->request->now_ns,
                                 .has_open = charges->has_open,
                                 .name = name_of_charge,
                                 .context = &naming };
    bool admitted = charges->count == 0 || store_table_charge(limiter->table, &batch);
    if (batch.is_held) {
        limiter_hold(limiter, &batch, charges->rate, finder->request, decision);
        return;
    }
    apply_bans(limiter, finder, charges);
    limiter_merge(limiter, charges->charge, charges->rate, charges->count, decision);
    if (admitted && charges->has_open)
        limiter_ticket(limiter, &batch, charges->rate, &decision->ticket);
    if (decision->verdict >= DROSSEL_REFUSE)
        decision->signed_in = subject_signed_in(finder);
}

/* Field by field: compilers clear so much at once with `rep stos`, which takes longer to begin than these to end.  Names and
 * quotas are left as they are: only as many as the counts say are set. */
static void begin_decision(const struct way *way, struct drossel_decision *decision)
{
    decision->verdict = DROSSEL_ALLOW;
    decision->status = 200;
    decision->signed_in = decision->banned = decision->blocked = decision->started_block = decision->untrusted = false;
    decision->exempt = way->exempt;
    decision->missing_forward = way->missing_forward;
    decision->limit = UINT32_MAX;
    decision->limit_name = NULL;
    decision->remaining = decision->used = decision->wait_ns = decision->delay_ns = decision->subject_hash = 0;
    decision->client = way->finder.client;
    decision->dry_run_count = decision->quota_count = 0;
    decision->dry_run_verdict = DROSSEL_ALLOW;
    decision->dry_run_wait_ns = decision->hold_ns = 0;
    decision->ticket.count = 0;
}

/* With more limits than the stack has room for.  The decision is begun only when nothing can fail any more. */
static enum drossel_result charge_many(const struct limiter *limiter, struct way *way, struct drossel_decision *decision)
{
    const struct policy *policy = limiter->policy;
    struct policy_class_set classes;
    uint32_t *matched = malloc((size_t)policy->limit_count * sizeof *matched);
    struct charges charges = { .cap = 2 * policy->rate_count }; /* each may have a counter of open outcomes */
    charges.charge = malloc((size_t)charges.cap * sizeof *charges.charge);
    charges.rate = malloc((size_t)charges.cap * sizeof *charges.rate);
    struct table_hold *hold = malloc((size_t)charges.cap * sizeof *hold);
    enum drossel_result result = DROSSEL_NO_MEMORY;
    if (matched != NULL && charges.charge != NULL && charges.rate != NULL && hold != NULL) {
        uint32_t count = policy_match(policy, &way->facts, &classes, matched, policy->limit_count);
        for (uint32_t i = 0; i < count; i++)
            add_limit(limiter, &way->finder, matched[i], &classes, &charges);
        begin_decision(way, decision);
        charge_and_merge(limiter, &way->finder, &charges, hold, decision);
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
    struct store_batch batch = { .charge = charges->charge, .now_ns = way->finder.request->now_ns,
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

static void refuse_banned(const struct limiter *limiter, struct way *way, uint64_t until_ns,
                          struct drossel_decision *decision)
{
    struct subject_finder *finder = &way->finder;
    uint64_t wait_ns = until_ns - finder->request->now_ns;
    if (limiter->ban_extend_ns > wait_ns && finder->request->extra_cost != DROSSEL_ASK &&
        ban_client(limiter, finder, limiter->ban_extend_ns))
        wait_ns = limiter->ban_extend_ns;
    uint64_t other_ns = wait_without_ban(limiter, way);
    decision->verdict = DROSSEL_REFUSE;
    decision->banned = decision->blocked = true;
    decision->limit_name = "ban";
    decision->wait_ns = wait_ns > other_ns ? wait_ns : other_ns;
    decision->status = limiter->policy->answer.status;
    struct key_hash hash = key_address_hash(finder->secret, POLICY_BY_ADDRESS, &finder->client_key);
    decision->subject_hash = hash.half[0];
    decision->signed_in = subject_signed_in(finder);
}

static struct client client_of(const struct limiter *limiter, const struct drossel_request *request)
{
    if (request->address.family != DROSSEL_NONE)
        return (struct client){ request->address, CLIENT_IS_PEER, true };
    return client_recover(&limiter->policy->client, request);
}

/* From the facts to the charges, into `way->charges`. */
static void prepare(const struct limiter *limiter, const struct drossel_request *request, struct way *way)
{
    const struct policy *policy = limiter->policy;
    struct client client = client_of(limiter, request);
    way->facts = (struct policy_facts){ request->method, request->host, request->path, request, request->door };
    way->missing_forward = client.reason == CLIENT_NO_HEADER ||
                           (client.reason == CLIENT_STOPPED_AT_GARBAGE &&
                            memcmp(&client.address, &request->peer, sizeof client.address) == 0);
    way->charges.count = 0;
    way->charges.has_open = false;
    subject_begin(&way->finder, policy, table_secret(limiter->table), request, &client.address);
    struct policy_class_set classes;
    uint32_t matched[LIMITER_CHARGES];
    uint32_t count = policy_match(policy, &way->facts, &classes, matched, LIMITER_CHARGES);
    for (uint32_t i = 0; i < count && i < LIMITER_CHARGES; i++)
        add_limit(limiter, &way->finder, matched[i], &classes, &way->charges);
    way->is_crowded = count > LIMITER_CHARGES || way->charges.count > way->charges.cap;
    /* Last, though it may make all of the above idle: by now the keys' lines are on their way from memory, and long lists
     * of networks are looked through meanwhile. */
    way->untrusted = policy->require_trusted && !client.peer_trusted;
    way->exempt = !way->untrusted && policy_exempt(policy, &client.address, &way->facts) != POLICY_NOT_EXEMPT;
}

/* From the charges to the decision. */
static enum drossel_result finish(const struct limiter *limiter, struct way *way, struct table_hold *hold,
                                  struct drossel_decision *decision)
{
    bool is_decided = way->exempt || way->untrusted;
    uint64_t banned_until_ns =
        is_decided ? 0 : limiter_banned_until(limiter, &way->finder.client_key, way->finder.request->now_ns);
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

bool limiter_needs_body(const struct limiter *limiter, const struct drossel_request *request)
{
    const struct policy *policy = limiter->policy;
    if (!policy->needs_body || request->account.size > 0)
        return false;
    struct policy_facts facts = { request->method, request->host, request->path, request, request->door };
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

enum drossel_result limiter_check(struct limiter *limiter, const struct drossel_request *request,
                                  struct drossel_decision *decision)
{
    struct store_charge charge[LIMITER_CHARGES];
    uint32_t rate[LIMITER_CHARGES];
    struct table_hold hold[LIMITER_CHARGES];
    struct way way;
    way.charges = (struct charges){ .charge = charge, .rate = rate, .cap = LIMITER_CHARGES };
    prepare(limiter, request, &way);
    return finish(limiter, &way, hold, decision);
}

#define AHEAD 8 /* requests prepared ahead: covers a cache miss with the work on those before; a power of two */
#define AHEAD_CHARGES 8

/* Requests of a batch whose turn is to come.  One of more charges than fit here is prepared anew when it is decided. */
struct ahead {
    struct way way;
    struct store_charge charge[AHEAD_CHARGES];
    uint32_t rate[AHEAD_CHARGES];
};

/* Prepares a request and fetches the lines of its keys. */
static void prepare_ahead(const struct limiter *limiter, const struct drossel_request *request, struct ahead *ahead)
{
    ahead->way.charges = (struct charges){ .charge = ahead->charge, .rate = ahead->rate, .cap = AHEAD_CHARGES };
    prepare(limiter, request, &ahead->way);
    for (uint32_t i = 0; i < ahead->way.charges.count && i < AHEAD_CHARGES; i++)
        table_prefetch(limiter->table, ahead->charge[i].key);
}

enum drossel_result limiter_check_batch(struct limiter *limiter, const struct drossel_request *requests, size_t count,
                                        struct drossel_decision *decisions)
{
    struct ahead ahead[AHEAD];
    struct table_hold hold[AHEAD_CHARGES];
    for (size_t i = 0; i < count && i < AHEAD; i++)
        prepare_ahead(limiter, &requests[i], &ahead[i]);
    for (size_t i = 0; i < count; i++) {
        struct way *way = &ahead[i % AHEAD].way;
        enum drossel_result result = way->is_crowded ? limiter_check(limiter, &requests[i], &decisions[i])
                                                     : finish(limiter, way, hold, &decisions[i]);
        if (result != DROSSEL_OK)
            return result;
        if (i + AHEAD < count)
            prepare_ahead(limiter, &requests[i + AHEAD], &ahead[i % AHEAD]);
    }
    return DROSSEL_OK;
}

size_t limiter_key_format(const struct limiter *limiter, const struct drossel_request *request,
                          const struct drossel_decision *decision, char *out, size_t cap)
{
    const struct policy *policy = limiter->policy;
    if (decision->limit >= policy->limit_count) {
        struct drossel_address counted = client_key(&decision->client, policy->ipv6_prefix);
        return format_key_address(&counted, policy->ipv6_prefix, out, cap);
    }
    struct subject_finder finder;
    subject_begin(&finder, policy, table_secret(limiter->table), request, &decision->client);
    return subject_format(&finder, policy->limits[decision->limit].subject, out, cap);
}
