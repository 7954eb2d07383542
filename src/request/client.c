/*
 * Who is asking: the walk from the peer through a forwarding header.
 *
 * Every element costs one parse and one lookup, and a client writes the header: the walk ends after ELEMENTS_MAX elements
 * or BYTES_MAX bytes, at the last good address, as it does at garbage.  No chain of proxies is that long; a header that
 * is, was made up.  With more than LINES_MAX lines the last line is not looked for at all, and the peer stands.
 */
#include "request/client.h"

#include "request/forwarded.h"

#include <string.h>
#include <strings.h>

#define LINES_MAX 128
#define ELEMENTS_MAX 256
#define BYTES_MAX 16384
#define ELEMENT_BYTES 64 /* no address with brackets and port is longer */

struct walk {
    const struct client_rules *rules;
    struct client client;
    unsigned elements;
    size_t bytes;
};

/* Ends the walk at the last good address.  A header without any element at all is as good as none. */
static bool stop(struct walk *walk, bool empty)
{
    walk->client.reason = empty && walk->elements == 0 ? CLIENT_NO_HEADER : CLIENT_STOPPED_AT_GARBAGE;
    return false;
}

/* Goes on from `address`, or not: true if it is itself trusted and the walk follows trusted ones. */
static bool step(struct walk *walk, const struct drossel_address *address)
{
    walk->client.address = *address;
    walk->client.reason = CLIENT_FROM_HEADER;
    if (!walk->rules->recursive || !netset_has(walk->rules->trusted, address))
        return false;
    walk->client.reason = CLIENT_ALL_TRUSTED;
    return true;
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t';
}

/* One line of a list, from right to left.  True if the walk goes on to the line before it. */
static bool walk_list(struct walk *walk, struct drossel_text line)
{
    size_t end = line.size;
    do {
        while (end > 0 && is_separator(line.data[end - 1]) && walk->bytes++ < BYTES_MAX)
            end--;
        size_t start = end;
        while (start > 0 && !is_separator(line.data[start - 1]) && end - start <= ELEMENT_BYTES)
            start--;
        walk->bytes += end - start;
        if (start == end)
            return stop(walk, true); /* an empty line, or a separator before the first element */
        struct drossel_address address;
        if (walk->elements >= ELEMENTS_MAX || walk->bytes > BYTES_MAX)
            return stop(walk, false);
        if (!forwarded_element_address((struct drossel_text){ line.data + start, end - start }, &address))
            return stop(walk, false);
        walk->elements++;
        if (!step(walk, &address))
            return false;
        end = start;
    } while (end > 0);
    return true;
}

/* One line of Forwarded, from right to left. */
static bool walk_forwarded(struct walk *walk, struct drossel_text line)
{
    struct forwarded parsed;
    walk->bytes += line.size;
    if (walk->bytes > BYTES_MAX || !forwarded_parse(line, &parsed))
        return stop(walk, false);
    if (parsed.count == 0)
        return stop(walk, true);
    size_t oldest = parsed.count > FORWARDED_NODES ? parsed.count - FORWARDED_NODES : 0;
    for (size_t i = parsed.count; i-- > oldest;) {
        struct drossel_address address;
        if (walk->elements >= ELEMENTS_MAX)
            return stop(walk, false);
        if (!forwarded_node_address(parsed.node[i % FORWARDED_NODES], &address))
            return stop(walk, false);
        walk->elements++;
        if (!step(walk, &address))
            return false;
    }
    return oldest == 0 || stop(walk, false);
}

static bool is_name(struct drossel_text name, const char *other)
{
    return name.size == strlen(other) && strncasecmp(name.data, other, name.size) == 0;
}

/* What the rules mean, whoever wrote the header's name in whatever case: X-Forwarded-For as a `header` is still a list
 * of all its lines.  (nginx takes `real_ip_header x-forwarded-for` for a header of one line, and a client's own first
 * line wins.) */
static enum client_source effective_source(const struct client_rules *rules)
{
    if (rules->source != CLIENT_HEADER)
        return rules->source;
    if (is_name(rules->header, "x-forwarded-for"))
        return CLIENT_X_FORWARDED_FOR;
    return is_name(rules->header, "forwarded") ? CLIENT_FORWARDED : CLIENT_HEADER;
}

/* All lines, last to first. */
static void walk_lines(struct walk *walk, const struct drossel_request *request, bool forwarded)
{
    static const struct drossel_text names[] = { DROSSEL_TEXT("x-forwarded-for"), DROSSEL_TEXT("forwarded") };
    struct drossel_text line[LINES_MAX];
    unsigned count = 0;
    while (count < LINES_MAX && request_header(request, names[forwarded], count, &line[count]))
        count++;
    struct drossel_text beyond;
    if (count == LINES_MAX && request_header(request, names[forwarded], count, &beyond)) {
        stop(walk, false);
        return;
    }
    while (count-- > 0) {
        if (!(forwarded ? walk_forwarded(walk, line[count]) : walk_list(walk, line[count])))
            return;
    }
}

static void walk_header(struct walk *walk, const struct drossel_request *request)
{
    struct drossel_text line, second;
    if (!request_header(request, walk->rules->header, 0, &line))
        return;
    if (walk->rules->single && request_header(request, walk->rules->header, 1, &second)) {
        stop(walk, false);
        return;
    }
    walk_list(walk, line);
}

struct client client_recover(const struct client_rules *rules, const struct drossel_request *request)
{
    struct walk walk = { .rules = rules, .client = { .address = request->peer, .reason = CLIENT_IS_PEER } };
    enum client_source source = effective_source(rules);
    walk.client.peer_trusted = netset_has(rules->trusted, &request->peer);
    if (source == CLIENT_PEER || source == CLIENT_PROXY_PROTOCOL)
        return walk.client;
    walk.client.reason = CLIENT_PEER_UNTRUSTED;
    if (!walk.client.peer_trusted)
        return walk.client;
    walk.client.reason = CLIENT_NO_HEADER;
    if (source == CLIENT_HEADER)
        walk_header(&walk, request);
    else
        walk_lines(&walk, request, source == CLIENT_FORWARDED);
    return walk.client;
}

const char *client_reason_text(enum client_reason reason)
{
    switch (reason) {
    case CLIENT_IS_PEER:
        return "the connection's other end is the client: no forwarding header is configured";
    case CLIENT_PEER_UNTRUSTED:
        return "the connection does not come from a trusted proxy, so the header was not read";
    case CLIENT_NO_HEADER:
        return "the trusted proxy sent no address in the header, so its own address counts for all its clients";
    case CLIENT_FROM_HEADER:
        return "the first address from the right that is no trusted proxy";
    case CLIENT_ALL_TRUSTED:
        return "every address in the header is a trusted proxy, so the leftmost one counts";
    case CLIENT_STOPPED_AT_GARBAGE:
        return "an element of the header is no address, so the last good one counts";
    }
    return "unknown";
}

inline struct drossel_address client_key(const struct drossel_address *address, unsigned ipv6_prefix)
{
    struct drossel_address key = *address;
    if (key.family != DROSSEL_IPV6 || ipv6_prefix >= 128)
        return key;
    unsigned whole = ipv6_prefix / 8;
    key.bytes[whole] &= (uint8_t)(0xff00u >> (ipv6_prefix % 8));
    memset(key.bytes + whole + 1, 0, 15 - whole);
    return key;
}

static bool starts_with(const uint8_t *bytes, uint8_t first, uint8_t second, unsigned bits)
{
    unsigned have = (unsigned)bytes[0] << 8 | bytes[1];
    unsigned want = (unsigned)first << 8 | second;
    return ((have ^ want) >> (16 - bits)) == 0;
}

bool client_is_private(const struct drossel_address *address)
{
    static const uint8_t loopback[16] = { [15] = 1 };
    const uint8_t *bytes = address->bytes;
    if (address->family == DROSSEL_IPV4)
        return starts_with(bytes, 10, 0, 8) || starts_with(bytes, 127, 0, 8) || starts_with(bytes, 172, 16, 12) ||
               starts_with(bytes, 192, 168, 16) || starts_with(bytes, 169, 254, 16) || starts_with(bytes, 100, 64, 10);
    if (address->family == DROSSEL_IPV6)
        return memcmp(bytes, loopback, 16) == 0 || starts_with(bytes, 0xfc, 0, 7) || starts_with(bytes, 0xfe, 0x80, 10);
    return address->family == DROSSEL_UNIX;
}
