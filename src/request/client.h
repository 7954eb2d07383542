/*
 * Who is asking: recovers the client's address from the connection's peer and a forwarding header.
 *
 * The walk is nginx's real_ip (recursive): start with the peer; while the current address is trusted take the next
 * element from the right; an element that cannot be parsed stops the walk at the last good address.  Never is
 * garbage skipped.  Sources: ngx_http_realip_module, RFC 7239 for Forwarded.
 */
#ifndef DROSSEL_REQUEST_CLIENT_H
#define DROSSEL_REQUEST_CLIENT_H

#include "drossel.h"
#include "request/netset.h"

enum client_source {
    CLIENT_PEER = 0,        /* no address_from: the peer is the client */
    CLIENT_X_FORWARDED_FOR, /* all lines, last to first */
    CLIENT_FORWARDED,       /* RFC 7239 */
    CLIENT_HEADER,          /* another header: its first line only, walked as a list */
    CLIENT_PROXY_PROTOCOL   /* the server's listener has already put the client in `peer` */
};

struct client_rules {
    const struct netset *trusted; /* NULL: nobody */
    enum client_source source;
    struct drossel_text header; /* lower case name, for CLIENT_HEADER */
    bool recursive;             /* true in policies; false: one step, as nginx's default */
    bool single;                /* strict: a CLIENT_HEADER that occurs twice is not trusted */
};

enum client_reason {                           /* why the walk ended where it did */
                     CLIENT_IS_PEER,           /* no header configured, or the server did it */
                     CLIENT_PEER_UNTRUSTED,    /* the header was not read */
                     CLIENT_NO_HEADER,         /* trusted peer, header missing: counted as the proxy */
                     CLIENT_FROM_HEADER,       /* an untrusted address was reached */
                     CLIENT_ALL_TRUSTED,       /* the list ended: its leftmost element */
                     CLIENT_STOPPED_AT_GARBAGE /* an element could not be parsed: the last good address */
};

struct client {
    struct drossel_address address;
    enum client_reason reason;
    bool peer_trusted;
};

/* Recovers the client of `request` (its peer and headers; `address` is not looked at).  Cannot fail. */
struct client client_recover(const struct client_rules *rules, const struct drossel_request *request);

/* One sentence for a person: why this address.  Static text. */
const char *client_reason_text(enum client_reason reason);

/* The address as a key: IPv6 cut to `ipv6_prefix` bits (1..128), IPv4 whole. */
struct drossel_address client_key(const struct drossel_address *address, unsigned ipv6_prefix);

/* Loopback, RFC 1918, RFC 6598, RFC 4193 or link-local: an address that cannot be a visitor of a public site. */
bool client_is_private(const struct drossel_address *address);

/* Finds the `nth` line of a header in the request, by its callback or its array. `name` in lower case. */
bool request_header(const struct drossel_request *request, struct drossel_text name, unsigned nth,
                    struct drossel_text *value);

#endif
