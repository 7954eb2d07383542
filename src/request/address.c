/*
 * Addresses as text: strict parsing, canonical output.
 *
 * Strict on purpose: an address that two parsers read differently (`192.0.2.010`, `1..2.3`, `1.2.3`) would be one client
 * here and another one in the log.  Forms are those of RFC 4291 section 2.2, output is that of RFC 5952.
 */
#include "drossel.h"

#include <string.h>

#define GROUPS 8 /* 16-bit groups of an IPv6 address */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One octet at `*at`: 1 to 3 digits, no leading zero, at most 255. */
static bool parse_octet(const char **at, const char *end, uint8_t *octet)
{
    const char *p = *at;
    unsigned value = 0;
    while (p < end && p - *at < 3 && *p >= '0' && *p <= '9')
        value = value * 10 + (unsigned)(*p++ - '0');
    if (p == *at || value > 255 || (**at == '0' && p - *at > 1))
        return false;
    *octet = (uint8_t)value;
    *at = p;
    return true;
}

static bool parse_ipv4(const char *p, const char *end, uint8_t bytes[4])
{
    for (int i = 0; i < 4; i++) {
        if (i > 0 && (p == end || *p++ != '.'))
            return false;
        if (!parse_octet(&p, end, &bytes[i]))
            return false;
    }
    return p == end;
}

/* One group of 1 to 4 hexadecimal digits at `*at`. */
static bool parse_group(const char **at, const char *end, uint8_t bytes[2])
{
    const char *p = *at;
    unsigned value = 0;
    while (p < end && p - *at < 4 && hex_digit(*p) >= 0)
        value = value << 4 | (unsigned)hex_digit(*p++);
    if (p == *at)
        return false;
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)(value & 0xff);
    *at = p;
    return true;
}

/* Moves what follows a `::` at group `gap` to the end and fills the gap with zeros. */
static void spread(uint8_t bytes[16], size_t gap, size_t groups)
{
    size_t tail = (groups - gap) * 2;
    memmove(bytes + 16 - tail, bytes + gap * 2, tail);
    memset(bytes + gap * 2, 0, 16 - tail - gap * 2);
}

static bool parse_ipv6(const char *p, const char *end, uint8_t bytes[16])
{
    size_t groups = 0, gap = SIZE_MAX;
    if (end - p >= 2 && p[0] == ':' && p[1] == ':') {
        gap = 0;
        p += 2;
    }
    while (p < end) {
        if (groups == GROUPS)
            return false;
        if (groups <= GROUPS - 2 && memchr(p, ':', (size_t)(end - p)) == NULL &&
            parse_ipv4(p, end, bytes + groups * 2)) {
            groups += 2;
            p = end;
            break;
        }
        if (!parse_group(&p, end, bytes + groups * 2))
            return false;
        groups++;
        if (p == end)
            break;
        if (*p++ != ':' || p == end)
            return false;
        if (*p == ':') {
            if (gap != SIZE_MAX)
                return false;
            gap = groups;
            p++;
        }
    }
    if (gap == SIZE_MAX)
        return groups == GROUPS;
    if (groups >= GROUPS)
        return false;
    spread(bytes, gap, groups);
    return true;
}

static bool is_mapped(const uint8_t bytes[16])
{
    static const uint8_t prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
    return memcmp(bytes, prefix, sizeof prefix) == 0;
}

/* One client is one key, in whichever notation its address arrives. */
static void fold_mapped(struct drossel_address *address)
{
    if (!is_mapped(address->bytes))
        return;
    memmove(address->bytes, address->bytes + 12, 4);
    memset(address->bytes + 4, 0, 12);
    address->family = DROSSEL_IPV4;
}

enum drossel_result drossel_address_parse(const char *text, size_t size, struct drossel_address *address)
{
    struct drossel_address parsed = { .family = DROSSEL_NONE };
    if (text == NULL || address == NULL || size == 0 || size >= DROSSEL_ADDRESS_TEXT)
        return DROSSEL_INVALID;
    if ((size == 4 || size == 5) && memcmp(text, "unix:", size) == 0) {
        parsed.family = DROSSEL_UNIX;
    } else if (memchr(text, ':', size) == NULL) {
        parsed.family = DROSSEL_IPV4;
        if (!parse_ipv4(text, text + size, parsed.bytes))
            return DROSSEL_INVALID;
    } else {
        parsed.family = DROSSEL_IPV6;
        if (!parse_ipv6(text, text + size, parsed.bytes))
            return DROSSEL_INVALID;
        fold_mapped(&parsed);
    }
    *address = parsed;
    return DROSSEL_OK;
}

static size_t put_octets(char *out, const uint8_t bytes[4])
{
    size_t size = 0;
    for (int i = 0; i < 4; i++) {
        unsigned value = bytes[i];
        if (i > 0)
            out[size++] = '.';
        if (value >= 100)
            out[size++] = (char)('0' + value / 100);
        if (value >= 10)
            out[size++] = (char)('0' + value / 10 % 10);
        out[size++] = (char)('0' + value % 10);
    }
    return size;
}

static unsigned group_of(const uint8_t bytes[16], size_t index)
{
    return (unsigned)bytes[index * 2] << 8 | bytes[index * 2 + 1];
}

static size_t put_group(char *out, unsigned value)
{
    size_t size = 0;
    for (int shift = 12; shift >= 0; shift -= 4) {
        if (size > 0 || shift == 0 || value >> shift != 0)
            out[size++] = "0123456789abcdef"[value >> shift & 15];
    }
    return size;
}

/* The longest run of two or more zero groups, the first of equal ones (RFC 5952 section 4.2); returns its length. */
static size_t longest_zeros(const uint8_t bytes[16], size_t *start)
{
    size_t best = 1;
    *start = GROUPS;
    for (size_t i = 0; i < GROUPS; i++) {
        size_t length = 0;
        while (i + length < GROUPS && group_of(bytes, i + length) == 0)
            length++;
        if (length > best) {
            best = length;
            *start = i;
        }
    }
    return *start == GROUPS ? 0 : best;
}

static size_t put_ipv6(char *out, const uint8_t bytes[16])
{
    size_t start, size = 0, zeros = longest_zeros(bytes, &start);
    for (size_t i = 0; i < GROUPS; i++) {
        if (i == start) {
            out[size++] = ':';
            out[size++] = ':';
            i += zeros - 1;
            continue;
        }
        if (i > 0 && i != start + zeros)
            out[size++] = ':';
        size += put_group(out + size, group_of(bytes, i));
    }
    return size;
}

size_t drossel_address_format(const struct drossel_address *address, char text[DROSSEL_ADDRESS_TEXT])
{
    size_t size = 0;
    if (address->family == DROSSEL_IPV4) {
        size = put_octets(text, address->bytes);
    } else if (address->family == DROSSEL_IPV6 && is_mapped(address->bytes)) {
        memcpy(text, "::ffff:", 7);
        size = 7 + put_octets(text + 7, address->bytes + 12);
    } else if (address->family == DROSSEL_IPV6) {
        size = put_ipv6(text, address->bytes);
    } else if (address->family == DROSSEL_UNIX) {
        memcpy(text, "unix", 4);
        size = 4;
    }
    text[size] = '\0';
    return size;
}
