/*
 * Who is behind proxies: the client as the policy that is proposed will find it, the first address from the right of X-Forwarded-For that is
 * none of them.  Where that is a private one, with others before it in the list, it is a proxy itself, and the log is looked at once more.
 */
#ifndef DROSSEL_CLI_SUGGEST_FORWARDED_H
#define DROSSEL_CLI_SUGGEST_FORWARDED_H

#include "logs/logs.h"
#include "request/netset.h"

#define PROXIES_MOST 20
#define PROXIES_TEXT (PROXIES_MOST * (DROSSEL_ADDRESS_TEXT + 2))

/* Zero at first; released by proxies_release. */
struct proxies {
    struct netset *trusted;
    struct drossel_address address[PROXIES_MOST];
    size_t count;
    char list[PROXIES_TEXT]; /* as in a policy's `trusted`, without quotes */
    uint64_t lines, hidden;  /* since proxies_seal; hidden: the client is private, and others stand before it */
    char client[DROSSEL_ADDRESS_TEXT];
};

/* One more proxy, in force after proxies_seal; nothing if it is one already, or there is no room. */
void proxies_trust(struct proxies *proxies, const struct drossel_address *address);
/* False without memory: then it is as before. */
bool proxies_seal(struct proxies *proxies);
void proxies_release(struct proxies *proxies);

/* The client of a record.  The text may live until the next call. */
struct drossel_text proxies_client(struct proxies *proxies, const struct log_record *record);
/* Are most of the clients proxies themselves? */
bool proxies_are_more(const struct proxies *proxies);

#endif
