/*
 * Clients that a log calls by a host name, or by anything that is no address.  The engine counts addresses: each name gets one of
 * its own, out of 240.0.0.0/4, where no host can be (RFC 1112 section 4), and which as IPv4 is never cut to a prefix.
 */
#ifndef DROSSEL_CLI_REPLAY_NAMES_H
#define DROSSEL_CLI_REPLAY_NAMES_H

#include "drossel.h"

struct names;

struct names *names_open(void); /* NULL without memory */
void names_close(struct names *names);

/* The address of a client's text: itself, if it is one.  False without memory. */
bool names_address(struct names *names, struct drossel_text text, struct drossel_address *address);
/* The text that was given this address; NULL if it is a true one.  Printable. */
const char *names_text(const struct names *names, const struct drossel_address *address);

#endif
