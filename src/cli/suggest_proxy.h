/*
 * Logs of a server behind proxies: they show the proxy's address in place of the clients'.
 *
 * It is suspected where private addresses have most of the lines.  If the log has X-Forwarded-For too, the clients are taken from there
 * (suggest_forwarded.h).
 */
#ifndef DROSSEL_CLI_SUGGEST_PROXY_H
#define DROSSEL_CLI_SUGGEST_PROXY_H

#include "cli/suggest_forwarded.h"
#include "cli/suggest_profile.h"

#define PROXIES_SHOWN 4

/* Private (RFC 1918, RFC 4193), loopback, link-local, shared by a carrier (RFC 6598), or a local socket? */
bool proxy_is_private(struct drossel_text client);

/* Do private addresses have most of the lines, and enough of them? */
bool proxy_suspected(const struct profile *profile);

/* Those addresses, the busiest first, as `10.0.0.1, 10.0.0.2`: PROXIES_SHOWN at most. */
void proxy_list(const struct profile *profile, char *out, size_t cap);

/* The suspected addresses of this profile that are not yet among them.  False: there are none, or no memory. */
bool proxies_add(struct proxies *proxies, const struct profile *profile);

#endif
