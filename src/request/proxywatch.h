/*
 * Notices a missing setting: all visitors seem to come from one address, their proxy's, and so share one key.
 *
 * Watches the requests of one process.  The sign: request after request is counted under the same private or trusted
 * address, while its forwarding header names ever other visitors.  Pure: no clock, no allocation; the state is the caller's
 * (zeroed to begin with), and one state must not be used by two threads at once.
 */
#ifndef DROSSEL_REQUEST_PROXYWATCH_H
#define DROSSEL_REQUEST_PROXYWATCH_H

#include "request/client.h"

#define PROXYWATCH_REQUESTS 24 /* at least so many more under that address than under others, in one worker of many ... */
#define PROXYWATCH_VALUES 12   /* ... with at least so many different values of the header */
#define PROXYWATCH_BITS 512    /* of the sketch that counts them */
#define PROXYWATCH_CALM 256    /* after so many requests under addresses of visitors a look at some of them is enough */

struct proxywatch {
    struct drossel_address address; /* the suspect */
    uint32_t score;                 /* requests under it, less those under others */
    uint32_t values;                /* different values of the header, at least */
    uint64_t sketch[PROXYWATCH_BITS / 64];
    uint32_t calm;                  /* requests under addresses that are no suspects, since the last time that it looked like one */
    bool done; /* it was told; nobody needs to ask again */
};

/* Takes one request that carries a forwarding header: the address it was counted under, and the hash of the header's value.
 * True once: now is the time to warn. */
bool proxywatch_observe(struct proxywatch *watch, const struct client_rules *rules,
                        const struct drossel_address *client, uint64_t header_hash);

/* Do visitors seem to have their own addresses?  Then it is enough to go on with some of the requests. */
static inline bool proxywatch_is_calm(const struct proxywatch *watch)
{
    return watch->calm >= PROXYWATCH_CALM;
}

/* A hash for it: FNV-1a, no secret.  Whoever forges values can only make a warning appear that is true anyway, or
 * not appear. */
uint64_t proxywatch_hash(const char *data, size_t size);

#endif
