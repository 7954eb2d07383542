/* Blocks and resets by hand from `drossel top`: what was confirmed is done to the key that was selected then, or to nobody. */
#include "cli/top.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/hand.h"
#include "limiter.h"

/* The part of a key's name that is an address: `203.0.113.7`, `2001:db8::/64`, `#0123abcd 203.0.113.7`. */
bool top_address_of(const struct top_key *key, struct drossel_address *address)
{
    const char *name = key->live.entry.name;
    while (*name != '\0') {
        size_t size = strcspn(name, " /");
        if (drossel_address_parse(name, size, address) == DROSSEL_OK)
            return true;
        name += strcspn(name, " ");
        name += strspn(name, " ");
    }
    return false;
}

static bool block(struct table *table, const struct table_entry *entry, uint64_t for_ns, uint64_t now_ns)
{
    struct table_key key = table_entry_key(table, entry);
    struct table_hold hold;
    while (table_take_waiting(table, key, entry->limit, now_ns, &hold)) {
        engine_block(&hold.state, for_ns, now_ns);
        if (entry->limit == TABLE_LIMIT_BAN)
            table_bans_extend(table, hold.state.block_end_ns);
        if (table_put(table, &hold, key, entry->limit))
            return true;
    }
    return false;
}

static bool ban(struct table *table, const struct top_key *key, uint64_t for_ns, uint64_t now_ns)
{
    struct drossel_address address;
    return top_address_of(key, &address) && limiter_ban(table, &address, hand_prefix(table), for_ns, now_ns);
}

void top_act(struct top *top, uint64_t now_ns)
{
    char wait[48];
    struct table *table = top->model->table;
    const struct table_entry *entry = &top->on.live.entry;
    const char *limit = live_limit_name(table, entry->limit);
    bool good = false;
    switch (top->action) {
    case TOP_BLOCK:
        good = block(table, entry, top->for_ns, now_ns);
        snprintf(top->message, sizeof top->message, "%s: %s blocked for %s", limit, entry->name,
                 cli_wait_format(top->for_ns, wait, sizeof wait));
        break;
    case TOP_BAN:
        good = ban(table, &top->on, top->for_ns, now_ns);
        snprintf(top->message, sizeof top->message, "the address of %s blocked in all limits for %s", entry->name,
                 cli_wait_format(top->for_ns, wait, sizeof wait));
        break;
    case TOP_RESET:
        good = limiter_forget(table, entry, now_ns);
        snprintf(top->message, sizeof top->message, "%s: %s forgotten", limit, entry->name);
        break;
    case TOP_NOTHING:
        return;
    }
    if (!good)
        snprintf(top->message, sizeof top->message, "%s: %s is not there any more; nothing was done", limit,
                 entry->name);
    top->action = TOP_NOTHING;
    top->changed = true;
}
