/*
 * Keys of the live table, by hand.
 */
#include "cli/hand.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/live_key.h"
#include "limiter.h"

#define PREFIX_DEFAULT 64
#define PREFIX_MOST 128
#define PREFIX_IPV4 32
#define PARTS " ,+|" /* between the parts of a readable key */

void hand_init(struct hand *hand, struct table *table, const char *key, const char *limit)
{
    *hand = (struct hand){ .table = table, .key = key, .limit = limit, .prefix = -1 };
    size_t size = strcspn(key, "/");
    hand->is_address = drossel_address_parse(key, size, &hand->address) == DROSSEL_OK;
    if (!hand->is_address || key[size] == '\0')
        return;
    char *end;
    unsigned long prefix = isdigit((unsigned char)key[size + 1]) ? strtoul(key + size + 1, &end, 10) : ULONG_MAX;
    bool is_prefix = prefix != ULONG_MAX && *end == '\0';
    if (is_prefix && hand->address.family == DROSSEL_IPV6 && prefix <= PREFIX_MOST)
        hand->prefix = (int)prefix;
    else
        hand->is_network = !is_prefix || hand->address.family != DROSSEL_IPV4 || prefix != PREFIX_IPV4;
    hand->is_address = !hand->is_network;
}

bool hand_means(const struct hand *hand, unsigned prefix)
{
    return hand->prefix < 0 || (unsigned)hand->prefix == prefix;
}

unsigned hand_prefix(const struct table *table)
{
    for (uint32_t i = table_limit_count(table); i-- > LIVE_LIMIT_FIRST;) {
        const struct table_limit *limit = table_limit_at(table, i);
        if (limit != NULL && limit->ipv6_prefix > 0)
            return limit->ipv6_prefix;
    }
    return PREFIX_DEFAULT;
}

static bool is_wanted(const struct hand *hand, uint32_t index)
{
    const struct table_limit *limit = table_limit_at(hand->table, index);
    if (limit == NULL || index < LIVE_LIMIT_FIRST)
        return false;
    return hand->limit == NULL || live_limit_is(limit, hand->limit);
}

/* Is `part` the whole name or one of its parts? */
static bool has_part(const char *name, const char *part)
{
    size_t size = strlen(part);
    for (const char *at = name; size > 0 && (at = strstr(at, part)) != NULL; at++) {
        bool begins = at == name || strchr(PARTS, at[-1]) != NULL;
        bool ends = at[size] == '\0' || strchr(PARTS, at[size]) != NULL;
        if (begins && ends)
            return true;
    }
    return false;
}

static bool is_named(const struct hand *hand, const struct table_entry *entry)
{
    char text[DROSSEL_ADDRESS_TEXT + 8];
    if (entry->name[0] == '\0')
        return false;
    if (strcmp(entry->name, hand->key) == 0 || has_part(entry->name, hand->key))
        return true;
    if (!hand->is_address)
        return false;
    const struct table_limit *limit = table_limit_at(hand->table, entry->limit);
    if (!hand_means(hand, limit->ipv6_prefix))
        return false;
    struct drossel_address network = client_key(&hand->address, limit->ipv6_prefix > 0 ? limit->ipv6_prefix : 128);
    size_t size = drossel_address_format(&network, text);
    if (has_part(entry->name, text))
        return true;
    snprintf(text + size, sizeof text - size, "/%u", limit->ipv6_prefix);
    return has_part(entry->name, text);
}

static bool forget(const struct hand *hand, const struct table_entry *entry, bool blocked_only)
{
    char wait[48];
    uint64_t now_ns = table_now(hand->table), end_ns = entry->state.block_end_ns;
    if (blocked_only && end_ns <= now_ns)
        return false;
    if (live_key_worth(hand->table, entry, now_ns) == 0 || !limiter_forget(hand->table, entry, now_ns))
        return false;
    printf("%s: %s forgotten", live_limit_name(hand->table, entry->limit),
           entry->name[0] != '\0' ? entry->name : hand->key);
    if (end_ns > now_ns)
        printf(", was blocked for another %s", cli_wait_format(end_ns - now_ns, wait, sizeof wait));
    putchar('\n');
    return true;
}

/* The key of the address in one limit.  False if that counts by something else. */
static bool address_key(const struct hand *hand, uint32_t index, struct table_key *key)
{
    const struct table_limit *limit = table_limit_at(hand->table, index);
    if (strcmp(limit->subject, "address") != 0 || !hand_means(hand, limit->ipv6_prefix))
        return false;
    *key = limiter_address_key(hand->table, &hand->address, limit->ipv6_prefix, limit->seed);
    return true;
}

static bool find_key(const struct hand *hand, struct table_key key, struct table_entry *entry)
{
    uint64_t slot = table_find(hand->table, key), at = slot;
    return slot != TABLE_NO_SLOT && table_next(hand->table, &at, entry) && entry->slot == slot;
}

/* Forgets the address in one limit, and how many of its charges have no outcome yet. */
static unsigned forget_address(const struct hand *hand, uint32_t index, bool blocked_only)
{
    struct table_key key;
    struct table_entry entry;
    if (!address_key(hand, index, &key))
        return 0;
    unsigned count = find_key(hand, key, &entry) && forget(hand, &entry, blocked_only);
    if (!blocked_only && find_key(hand, limiter_open_key(key), &entry))
        (void)limiter_forget(hand->table, &entry, table_now(hand->table));
    return count;
}

/* Forgets keys by their readable names.  The count of a key's open outcomes has the key's name, but does not tell its limit: it
 * goes where all limits are meant. */
static unsigned forget_named(const struct hand *hand, bool blocked_only)
{
    struct table_entry entry;
    unsigned count = 0;
    for (uint64_t slot = 0; table_has_names(hand->table) && table_next(hand->table, &slot, &entry);
         slot = entry.slot + 1) {
        bool is_open = entry.limit == TABLE_LIMIT_OPEN && hand->limit == NULL && !blocked_only;
        if ((!is_open && !is_wanted(hand, entry.limit)) || !is_named(hand, &entry))
            continue;
        if (is_open)
            (void)limiter_forget(hand->table, &entry, table_now(hand->table));
        else
            count += forget(hand, &entry, blocked_only);
    }
    return count;
}

/* How many slots of the key were forgotten. */
static unsigned forget_all(const struct hand *hand, bool blocked_only)
{
    unsigned count = 0;
    for (uint32_t i = LIVE_LIMIT_FIRST; hand->is_address && i < table_limit_count(hand->table); i++)
        if (is_wanted(hand, i))
            count += forget_address(hand, i, blocked_only);
    return count + forget_named(hand, blocked_only);
}

/* How many bans of the address, of several lengths of prefix, were lifted. */
static unsigned unban(const struct hand *hand)
{
    uint64_t seen[3] = { 0 };
    unsigned count = 0;
    if (!hand->is_address || (hand->limit != NULL && strcmp(hand->limit, "ban") != 0))
        return 0;
    for (uint32_t i = 0; i < table_limit_count(hand->table); i++) {
        const struct table_limit *limit = table_limit_at(hand->table, i);
        unsigned prefix = limit->ipv6_prefix > 0 && limit->ipv6_prefix <= 128 ? limit->ipv6_prefix : PREFIX_DEFAULT;
        if ((seen[prefix / 64] >> (prefix % 64) & 1) != 0 || !hand_means(hand, prefix))
            continue;
        seen[prefix / 64] |= UINT64_C(1) << (prefix % 64);
        count += limiter_unban(hand->table, &hand->address, prefix, table_now(hand->table));
    }
    if (count > 0)
        printf("ban: %s lifted\n", hand->key);
    return count;
}

int hand_take_back(const struct hand_values *values, const char *key, bool blocked_only)
{
    struct hand hand;
    unsigned found = 0;
    struct table *table = live_open(&values->place);
    if (table == NULL)
        return CLI_FAILED;
    if (values->limit == NULL || live_has_limit(table, values->limit)) {
        hand_init(&hand, table, key, values->limit);
        found = forget_all(&hand, blocked_only) + unban(&hand);
        if (found == 0)
            cli_complain("%s %s%s", blocked_only ? "nothing is blocked for" : "nothing is counted for", key,
                         hand.is_address || table_has_names(table)
                             ? "; `drossel show` lists the keys as they are called"
                             : ": this table keeps no names, so only addresses can be found");
    }
    table_close(table);
    return found > 0 ? CLI_DONE : CLI_FAILED;
}
