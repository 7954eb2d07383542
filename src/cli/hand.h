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
    bool is_network;   /* an address, but with a prefix that is no client's: what is counted has no such key */
    int prefix;        /* of an IPv6 address, as written behind it; -1: none */
    struct drossel_address address;
};

/* Reads KEY: an address (an IPv6 one with the prefix of its clients or without, as 2001:db8::/64), or any name. */
void hand_init(struct hand *hand, struct table *table, const char *key, const char *limit);

/* Are IPv6 clients that are counted by this prefix meant by the address? */
bool hand_means(const struct hand *hand, unsigned prefix);

/* What reset, block and unblock are told on the command line. */
struct hand_values {
    struct live_place place;
    const char *limit;
};

/* Forgets what the live table has of KEY, with `blocked_only` no more than what is blocked now, and lifts its ban.  Prints
 * each.  The exit code: CLI_FAILED, with a message, if there was nothing. */
int hand_take_back(const struct hand_values *values, const char *key, bool blocked_only);

/* The prefix by which IPv6 clients are counted here: of the limits used with the table, else 64. */
unsigned hand_prefix(const struct table *table);

#endif
