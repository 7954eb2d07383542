/*
 * Elements of forwarding headers: the nodes of X-Forwarded-For and the like, and the grammar of RFC 7239 (Forwarded).
 *
 * Everything points into the caller's line; nothing is allocated; work is linear in the line.
 */
#ifndef DROSSEL_REQUEST_FORWARDED_H
#define DROSSEL_REQUEST_FORWARDED_H

#include "drossel.h"

#define FORWARDED_NODES 256     /* of a line, so many elements are kept: the last ones */
#define FORWARDED_PARAMETERS 16 /* of one element; more is malformed */

/* The `for` values of a line's last elements. */
struct forwarded {
    size_t count; /* elements in the line; those before the last FORWARDED_NODES are not kept */
    struct drossel_text node[FORWARDED_NODES]; /* element i at [i % FORWARDED_NODES]; as written, with its quotes;
                                                    size 0: the element has no `for` */
};

/* Parses one line.  False if it does not follow the grammar anywhere: a quote left open, an unquoted colon, a parameter
 * twice in one element.  One bad element spoils the line, because what stands to the right of it might be inside a string
 * that a client opened.  Deviations that are read: white space around `;` (RFC 7239 has none), empty elements. */
bool forwarded_parse(struct drossel_text line, struct forwarded *out);

/* The address in a `for` value, quoted or not: `192.0.2.1`, `"192.0.2.1:80"`, `"[2001:db8::1]:_port"`.  False for
 * `unknown`, obfuscated names and everything else. */
bool forwarded_node_address(struct drossel_text node, struct drossel_address *address);

/* The address in an element of X-Forwarded-For or a header like it: v4, v4:port, v6, [v6], [v6]:port, with a port of 1 to
 * 65535. */
bool forwarded_element_address(struct drossel_text element, struct drossel_address *address);

#endif
