/* Bans: an address refused by every limit for a while; a slot of its own in the table. */
#include "limiter_private.h"

#include "request/key.h"

#define BAN_SEED UINT64_C(0x62616e2061646472) /* "ban addr" */

struct table_key limiter_address_key(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix,
                                     uint64_t seed)
{
    struct drossel_address counted = client_key(address, ipv6_prefix);
    uint64_t hash = key_address_hash(table_secret(table), POLICY_BY_ADDRESS, &counted);
    return table_key_mix(hash, seed);
}

size_t limiter_address_format(const struct drossel_address *counted, unsigned ipv6_prefix, char *out, size_t cap)
{
    return subject_address_format(counted, ipv6_prefix, out, cap);
}

struct ban {
    const struct drossel_address *address;
    unsigned ipv6_prefix;
    uint64_t for_ns, now_ns;
    uint64_t extend_ns; /* each request that it refuses starts it anew, for so long; 0: none does */
    bool only_longer;   /* a ban that runs longer stays as it is */
};

/* Where a ban's state, which counts nothing, keeps how long a refused request makes it last. */
static uint64_t *extend_of(struct engine_state *state)
{
    return &state->log[0];
}

/* Writes the ban into its state.  False if it stays as it was. */
static bool renew(struct engine_state *state, const struct ban *ban)
{
    uint64_t left_ns = state->block_end_ns > ban->now_ns ? state->block_end_ns - ban->now_ns : 0;
    uint64_t extend_ns = ban->extend_ns;
    if (ban->only_longer && left_ns > 0 && *extend_of(state) > extend_ns)
        extend_ns = *extend_of(state);
    bool stays = ban->only_longer && left_ns > 0 && left_ns >= ban->for_ns;
    if (stays && extend_ns == *extend_of(state))
        return false;
    if (!stays)
        engine_block(state, ban->for_ns, ban->now_ns);
    *extend_of(state) = extend_ns;
    return true;
}

static bool put_ban(struct table *table, const struct ban *ban)
{
    struct table_key key = limiter_address_key(table, ban->address, ban->ipv6_prefix, BAN_SEED);
    struct drossel_address counted = client_key(ban->address, ban->ipv6_prefix);
    struct table_hold hold;
    char name[TABLE_NAME_BYTES + 8];
    size_t size = limiter_address_format(&counted, ban->ipv6_prefix, name, sizeof name);
    while (table_insert_waiting(table, key, TABLE_LIMIT_BAN, ban->now_ns, &hold)) {
        if (!renew(&hold.state, ban)) {
            table_drop(table, &hold);
            return true;
        }
        if (hold.fresh)
            table_name_set(table, &hold, key, name, size);
        table_bans_extend(table, hold.state.block_end_ns);
        if (table_put(table, &hold, key, TABLE_LIMIT_BAN))
            return true;
    }
    return false;
}

bool limiter_ban(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix, uint64_t for_ns,
                 uint64_t now_ns)
{
    struct ban ban = { address, ipv6_prefix, for_ns, now_ns, 0, false };
    return put_ban(table, &ban);
}

bool limiter_ban_client(const struct limiter *limiter, const struct subject_finder *finder, uint64_t for_ns,
                        bool extends)
{
    struct ban ban = { &finder->client,         limiter->policy->ipv6_prefix, for_ns,
                       finder->request->now_ns, extends ? for_ns : 0,         true };
    return put_ban(limiter->table, &ban);
}

struct table_key limiter_ban_key(const struct table *table, const struct drossel_address *counted)
{
    uint64_t hash = key_address_hash(table_secret(table), POLICY_BY_ADDRESS, counted);
    return table_key_mix(hash, BAN_SEED);
}

uint64_t limiter_ban_extension(const struct limiter *limiter, const struct subject_finder *finder)
{
    struct engine_state state;
    if (!limiter->bans_extend)
        return 0;
    (void)table_look(limiter->table, limiter_ban_key(limiter->table, &finder->client_key), TABLE_LIMIT_BAN,
                     finder->request->now_ns, &state);
    return *extend_of(&state);
}

bool limiter_unban(struct table *table, const struct drossel_address *address, unsigned ipv6_prefix, uint64_t now_ns)
{
    struct table_key key = limiter_address_key(table, address, ipv6_prefix, BAN_SEED);
    struct table_entry entry = { .slot = table_find(table, key), .tag = key.tag };
    if (entry.slot == TABLE_NO_SLOT || table_block_end(table, entry.slot, key) <= now_ns)
        return false;
    return table_forget(table, &entry, now_ns);
}

static __attribute__((noinline)) uint64_t ban_end(const struct limiter *limiter, const struct drossel_address *counted,
                                                  uint64_t now_ns)
{
    struct table_key key = limiter_ban_key(limiter->table, counted);
    uint64_t slot = table_find(limiter->table, key);
    uint64_t end_ns = slot == TABLE_NO_SLOT ? 0 : table_block_end(limiter->table, slot, key);
    return end_ns > now_ns ? end_ns : 0;
}

/* While no ban runs at all, which is nearly always, none is looked for. */
inline uint64_t limiter_banned_until(const struct limiter *limiter, const struct drossel_address *counted,
                                     uint64_t now_ns)
{
    return table_bans_until(limiter->table) <= now_ns ? 0 : ban_end(limiter, counted, now_ns);
}
