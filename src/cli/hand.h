/*
 * Keys of the live table, by hand: finds what a person means by KEY and forgets it.
 *
 * An address is found by its hash in every limit whose key is the address, whether or not the table keeps names; every other
 * key by its readable name, which a table without `names: true` does not have.
 */
#ifndef DROSSEL_CLI_HAND_H
#define DROSSEL_CLI_HAND_H

#include "cli/live.h"

struct hand {
    struct table *table;
    const char *key;   /* as given */
    const char *limit; /* only this one; NULL: all */
    bool is_address;
    struct drossel_address address;
};

/* Reads KEY: an address (with or without `/64`), or any name. */
void hand_init(struct hand *hand, struct table *table, const char *key, const char *limit);

/* Forgets the key's slots, with `blocked_only` those that are blocked now.  Prints each.  Returns how many. */
unsigned hand_forget(const struct hand *hand, bool blocked_only);

/* Lifts a ban of the address.  Prints it.  Returns how many (of several prefix lengths). */
unsigned hand_unban(const struct hand *hand);

/* The prefix by which IPv6 clients are counted here: of the limits used with the table, else 64. */
unsigned hand_prefix(const struct table *table);

#endif
