/*
 * Whoever is in a log, and what is odd about it: clients that are no visitors, many people behind one address, logins that no
 * limit by address reaches, search engines that a policy refuses.
 */
#ifndef DROSSEL_CLI_REPLAY_WATCH_H
#define DROSSEL_CLI_REPLAY_WATCH_H

#include <stdio.h>

#include "cli/census.h"
#include "cli/events.h"
#include "cli/replay_names.h"
#include "policy/policy.h"

#define WATCH_AGENTS_MOST 8
#define WATCH_ENGINES_MOST 16
#define WATCH_ADDRESS_TEXT (DROSSEL_ADDRESS_TEXT + 2)

/* One client, as it is counted. */
struct watch_client {
    struct census_entry of;           /* `refused`: by any limit, dry runs included */
    struct drossel_address address;   /* counted */
    struct drossel_address real;      /* of its last request */
    bool is_private, forwards;        /* `forwards`: its X-Forwarded-For differs from request to request */
    uint8_t agent_count, browser_count;
    struct watch_agent {
        uint32_t hash;                /* of a User-Agent */
        uint8_t engine;               /* 1 + index of the search engine that it names; 0: none */
    } agent[WATCH_AGENTS_MOST];       /* different ones, the last one first */
    uint64_t forwarded_hash;          /* 0: none yet */
    uint64_t failed_logins;
};

/* What a login attempt came to. */
enum watch_login { WATCH_NO_LOGIN, WATCH_LOGIN, WATCH_FAILED_LOGIN };

struct watch {
    const struct policy *policy;
    const struct names *names; /* NULL: clients are addresses */
    struct census clients;
    struct census failed;    /* failed logins, by client */
    struct census accounts;  /* the same, by account */
    uint64_t requests, logins, failed_logins, failed_with_account;
    uint64_t self_requests, self_refused;
    struct drossel_address self; /* of the last one */
    /* WordPress agents where the log has no host to compare them with: the site itself, if all are of one site and one client. */
    struct watch_wordpress {
        const struct watch_client *client;
        uint64_t site; /* hash of what it calls itself */
        uint64_t requests, refused;
        bool is_mixed;
    } wordpress;
    bool has_agents, has_status, has_forwarded, has_users;
    struct { uint64_t requests; } engine[WATCH_ENGINES_MOST];
};

void watch_release(struct watch *watch);

/* The client, made if need be; NULL without memory. */
struct watch_client *watch_client(struct watch *watch, const struct drossel_address *client);
/* The name of a counted client. */
size_t watch_name(const struct watch *watch, const struct drossel_address *counted, char *out, size_t cap);

/* An address as a policy may write it: whole, while the name of a counted IPv6 client is that of its network. */
void watch_address(const struct watch *watch, const struct drossel_address *real, char out[WATCH_ADDRESS_TEXT]);

/* One more request of this client.  `is_login`: a limit of failures applies to it.  False without memory. */
bool watch_arrived(struct watch *watch, const struct event *event, struct watch_client *client,
                   const struct drossel_address *real, bool is_login);
/* It was refused, or would have been but for a dry run. */
void watch_refused(struct watch *watch, const struct event *event, struct watch_client *client);

/* Search engines by index, as they name themselves. */
const char *watch_engine(size_t index);

/* Calls `warn` with one warning after the other. */
void watch_conclude(const struct watch *watch, bool has_site_or_account_limit,
                    void (*warn)(void *context, const char *text), void *context);

#endif
