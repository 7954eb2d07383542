/*
 * Logs of a server behind a proxy: they show the proxy's address in place of the clients'.
 *
 * It is suspected where private addresses have most of the lines.  If the log has X-Forwarded-For too, the client is taken from there.
 */
#ifndef DROSSEL_CLI_SUGGEST_PROXY_H
#define DROSSEL_CLI_SUGGEST_PROXY_H

#include "cli/suggest_profile.h"

#define PROXIES_SHOWN 4

/* Private (RFC 1918, RFC 4193), loopback, link-local or shared by a carrier (RFC 6598)? */
bool proxy_is_private(struct drossel_text client);

/* Do private addresses have most of the lines, and enough of them? */
bool proxy_suspected(const struct profile *profile);

/* Those addresses, the busiest first, as `10.0.0.1, 10.0.0.2`: PROXIES_SHOWN at most. */
void proxy_list(const struct profile *profile, char *out, size_t cap);

/* The rightmost address in X-Forwarded-For that is not private; what the log has as the client where there is none, or the client is
 * no private address. */
struct drossel_text proxy_client(const struct log_record *record);

#endif
