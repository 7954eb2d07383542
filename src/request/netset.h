/*
 * A set of networks: is this address in one of them?  Sorted, disjoint ranges; IPv4 has an index of its upper 16 bits,
 * so that 100,000 networks cost a lookup little more than ten do.  Immutable after netset_seal; shared by any threads.
 */
#ifndef DROSSEL_REQUEST_NETSET_H
#define DROSSEL_REQUEST_NETSET_H

#include "drossel.h"

struct netset;

/* A new, empty set, or NULL without memory.  The caller's to netset_close. */
struct netset *netset_open(void);
void netset_close(struct netset *set);

/* Adds `address/bits` (bits of the family: 0..32 or 0..128), or DROSSEL_UNIX (bits ignored).  False without memory. */
bool netset_add(struct netset *set, const struct drossel_address *address, unsigned bits);

/* Sorts, merges and indexes; call once after the last netset_add.  False without memory. */
bool netset_seal(struct netset *set);

bool netset_has(const struct netset *set, const struct drossel_address *address);
size_t netset_size(const struct netset *set); /* ranges after merging */

/* Does it cover the whole IPv4 or the whole IPv6 space? */
bool netset_is_everything(const struct netset *set);

/* Parses `203.0.113.7`, `10.0.0.0/8`, `2001:db8::/32`, `unix` (or nginx's `unix:`).  NULL on success, else static text:
 * what is wrong and what would be right.  Outputs stay untouched on failure, but for one: where the address has bits
 * beyond its prefix, both are set, so that the caller can say which network would be right. */
const char *netset_parse(const char *text, size_t size, struct drossel_address *address, unsigned *bits);

#endif
