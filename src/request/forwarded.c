/*
 * Elements of forwarding headers.
 *
 * The grammar of RFC 7239 section 4:
 *     Forwarded   = 1#( [ pair ] *( ";" [ pair ] ) )
 *     pair        = token "=" ( token / quoted-string )
 *     node        = ( IPv4 / "[" IPv6 "]" / "unknown" / obfnode ) [ ":" ( 1*5DIGIT / obfport ) ]
 */
#include "request/forwarded.h"

#include <string.h>
#include <strings.h>

#define NODE_BYTES 128 /* an address with brackets, an obfuscated port and escapes is shorter */

static bool is_token_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static const char *skip_token(const char *p, const char *end)
{
    while (p < end && is_token_char(*p))
        p++;
    return p;
}

static const char *skip_white(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static bool is_text_char(char c)
{
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

/* Past the quoted-string that begins at `p`; NULL if it is malformed or not closed. */
static const char *skip_quoted(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        if (*p == '\\' && ++p == end)
            return NULL;
        if (!is_text_char(*p))
            return NULL;
    }
    return p == end ? NULL : p + 1;
}

struct element {
    struct drossel_text name[FORWARDED_PARAMETERS];
    size_t count;
    struct drossel_text node;
};

static bool is_repeated(const struct element *element, struct drossel_text name)
{
    for (size_t i = 0; i < element->count; i++) {
        if (element->name[i].size == name.size && strncasecmp(element->name[i].data, name.data, name.size) == 0)
            return true;
    }
    return false;
}

/* One `name=value` at `p`; returns what follows it, or NULL. */
static const char *parse_pair(const char *p, const char *end, struct element *element)
{
    const char *name_end = skip_token(p, end);
    struct drossel_text name = { p, (size_t)(name_end - p) };
    if (name.size == 0 || name_end == end || *name_end != '=')
        return NULL;
    if (element->count == FORWARDED_PARAMETERS || is_repeated(element, name))
        return NULL;
    element->name[element->count++] = name;
    const char *value = name_end + 1;
    const char *after = value < end && *value == '"' ? skip_quoted(value, end) : skip_token(value, end);
    if (after == NULL || after == value)
        return NULL;
    if (name.size == 3 && strncasecmp(name.data, "for", 3) == 0)
        element->node = (struct drossel_text){ value, (size_t)(after - value) };
    return after;
}

/* One element at `p`, up to a comma or the end; `*present` tells whether there was anything. */
static const char *parse_element(const char *p, const char *end, struct element *element, bool *present)
{
    element->count = 0;
    element->node = (struct drossel_text){ NULL, 0 };
    *present = false;
    for (;;) {
        p = skip_white(p, end);
        if (p < end && *p != ',' && *p != ';') {
            *present = true;
            p = parse_pair(p, end, element);
            if (p == NULL)
                return NULL;
            p = skip_white(p, end);
        }
        if (p == end || *p == ',')
            return p;
        if (*p != ';')
            return NULL;
        *present = true;
        p++;
    }
}

bool forwarded_parse(struct drossel_text line, struct forwarded *out)
{
    struct element element;
    out->count = 0;
    if (line.size == 0)
        return true;
    const char *p = line.data, *end = line.data + line.size;
    for (;;) {
        bool present;
        p = parse_element(p, end, &element, &present);
        if (p == NULL)
            return false;
        if (present)
            out->node[out->count++ % FORWARDED_NODES] = element.node;
        if (p == end)
            return true;
        p++;
    }
}

/* A port of 1 to 65535 in up to five digits. */
static bool is_port(struct drossel_text text)
{
    unsigned long value = 0;
    if (text.size == 0 || text.size > 5)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (unsigned long)(text.data[i] - '0');
    }
    return value >= 1 && value <= 65535;
}

static bool is_obfuscated(struct drossel_text text)
{
    if (text.size < 2 || text.data[0] != '_')
        return false;
    for (size_t i = 1; i < text.size; i++) {
        char c = text.data[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && c != '.' && c != '_' && c != '-')
            return false;
    }
    return true;
}

static struct drossel_text cut(struct drossel_text text, size_t from, size_t to)
{
    return (struct drossel_text){ text.data + from, to - from };
}

/* Splits `host:port` and `[host]:port`.  `host` is without brackets; a size of 0 for `port` and `has_port` false: none. */
struct split {
    struct drossel_text host, port;
    bool bracketed, has_port;
};

static bool split_port(struct drossel_text text, struct split *split)
{
    const char *end = NULL;
    *split = (struct split){ .host = text };
    if (text.size > 0 && text.data[0] == '[') {
        end = memchr(text.data, ']', text.size);
        if (end == NULL)
            return false;
        split->bracketed = true;
        split->host = cut(text, 1, (size_t)(end - text.data));
        end++;
    } else {
        end = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
        if (end == NULL || memchr(end + 1, ':', text.size - (size_t)(end + 1 - text.data)) != NULL)
            return true; /* no port, or an IPv6 address as it is */
        split->host = cut(text, 0, (size_t)(end - text.data));
    }
    size_t at = (size_t)(end - text.data);
    if (at == text.size)
        return true;
    split->has_port = true;
    split->port = cut(text, at + 1, text.size);
    return text.data[at] == ':';
}

/* An address and nothing else; within brackets only one in IPv6 notation, without them as `bare_ipv6` says. */
static bool host_address(const struct split *split, bool bare_ipv6, struct drossel_address *address)
{
    struct drossel_address parsed;
    bool colons = split->host.size > 0 && memchr(split->host.data, ':', split->host.size) != NULL;
    if (split->bracketed ? !colons : colons && !bare_ipv6)
        return false;
    if (drossel_address_parse(split->host.data, split->host.size, &parsed) != DROSSEL_OK ||
        parsed.family == DROSSEL_UNIX)
        return false; /* a header cannot say that the client sits on a socket of this machine */
    *address = parsed;
    return true;
}

bool forwarded_element_address(struct drossel_text element, struct drossel_address *address)
{
    struct split split;
    if (!split_port(element, &split) || (split.has_port && !is_port(split.port)))
        return false;
    return host_address(&split, true, address);
}

/* Takes quotes and escapes off.  False if the value is longer than a node can be. */
static bool unquote(struct drossel_text value, char out[NODE_BYTES], size_t *size)
{
    if (value.size > NODE_BYTES)
        return false;
    *size = 0;
    bool quoted = value.size >= 2 && value.data[0] == '"';
    size_t end = quoted ? value.size - 1 : value.size;
    for (size_t i = quoted ? 1 : 0; i < end; i++) {
        if (quoted && value.data[i] == '\\' && i + 1 < end)
            i++;
        out[(*size)++] = value.data[i];
    }
    return true;
}

bool forwarded_node_address(struct drossel_text node, struct drossel_address *address)
{
    char plain[NODE_BYTES];
    size_t size;
    struct split split;
    if (node.size == 0 || !unquote(node, plain, &size) || !split_port((struct drossel_text){ plain, size }, &split))
        return false;
    if (split.has_port && !is_port(split.port) && !is_obfuscated(split.port))
        return false;
    return host_address(&split, false, address);
}
