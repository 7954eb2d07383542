/*
 * A set of networks as sorted, disjoint ranges.
 *
 * Cost of a lookup.  IPv4: the index gives the few ranges that touch the address's /16, a binary search among these: two
 * or three cache lines with 100,000 networks.  A set of few ranges has no index, its 256 kB would cost more than they
 * save.  IPv6: networks crowd in few places, so that an index of upper bits would not part them; the binary search runs
 * over the upper halves of the ranges' ends alone, 800 kB for 100,000 networks, which stays in the second-level cache.
 */
#include "request/netset.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_FROM 64    /* IPv4 ranges from which on the index pays */
#define INDEX_SIZE 65537 /* one for each /16, and the end */

__extension__ typedef unsigned __int128 netset_u128;

struct range4 {
    uint32_t first, last;
};
struct range6 {
    netset_u128 first, last;
};

struct netset {
    struct range4 *v4;
    struct range6 *v6;
    size_t v4_count, v4_cap, v6_count, v6_cap;
    uint64_t *v6_upper; /* upper half of each v6 range's end */
    uint32_t *index;    /* for each /16: the first range that ends in it or after it; NULL for small sets */
    bool has_unix;
};

struct netset *netset_open(void)
{
    return calloc(1, sizeof(struct netset));
}

void netset_close(struct netset *set)
{
    if (set == NULL)
        return;
    free(set->v4);
    free(set->v6);
    free(set->v6_upper);
    free(set->index);
    free(set);
}

/* Room for one more item of `size` bytes; doubles.  False without memory, the array is kept then. */
static bool grow(void **items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return true;
    size_t wanted = *cap == 0 ? 16 : *cap * 2;
    if (wanted > SIZE_MAX / 2 / size)
        return false;
    void *grown = realloc(*items, wanted * size);
    if (grown == NULL)
        return false;
    *items = grown;
    *cap = wanted;
    return true;
}

static uint32_t v4_of(const uint8_t bytes[4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static netset_u128 v6_of(const uint8_t bytes[16])
{
    netset_u128 value = 0;
    for (int i = 0; i < 16; i++)
        value = value << 8 | bytes[i];
    return value;
}

static bool add_v4(struct netset *set, uint32_t address, unsigned bits)
{
    uint32_t host = bits == 0 ? UINT32_MAX : (uint32_t)((UINT64_C(1) << (32 - bits)) - 1);
    void *items = set->v4;
    bool grown = grow(&items, set->v4_count, &set->v4_cap, sizeof *set->v4);
    set->v4 = items;
    if (grown)
        set->v4[set->v4_count++] = (struct range4){ address & ~host, address | host };
    return grown;
}

static bool add_v6(struct netset *set, netset_u128 address, unsigned bits)
{
    netset_u128 host = bits == 0 ? ~(netset_u128)0 : ((netset_u128)1 << (128 - bits)) - 1;
    void *items = set->v6;
    bool grown = grow(&items, set->v6_count, &set->v6_cap, sizeof *set->v6);
    set->v6 = items;
    if (grown)
        set->v6[set->v6_count++] = (struct range6){ address & ~host, address | host };
    return grown;
}

bool netset_add(struct netset *set, const struct drossel_address *address, unsigned bits)
{
    switch (address->family) {
    case DROSSEL_UNIX:
        set->has_unix = true;
        return true;
    case DROSSEL_IPV4:
        return add_v4(set, v4_of(address->bytes), bits > 32 ? 32 : bits);
    case DROSSEL_IPV6:
        return add_v6(set, v6_of(address->bytes), bits > 128 ? 128 : bits);
    default:
        return true;
    }
}

static int compare_v4(const void *a, const void *b)
{
    const struct range4 *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int compare_v6(const void *a, const void *b)
{
    const struct range6 *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Joins overlapping and touching ranges of a sorted array; returns how many are left. */
static size_t merge_v4(struct range4 *range, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct range4 *last = kept == 0 ? NULL : &range[kept - 1];
        if (last == NULL || (last->last != UINT32_MAX && range[i].first > last->last + 1))
            range[kept++] = range[i];
        else if (range[i].last > last->last)
            last->last = range[i].last;
    }
    return kept;
}

static size_t merge_v6(struct range6 *range, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct range6 *last = kept == 0 ? NULL : &range[kept - 1];
        if (last == NULL || (last->last != ~(netset_u128)0 && range[i].first > last->last + 1))
            range[kept++] = range[i];
        else if (range[i].last > last->last)
            last->last = range[i].last;
    }
    return kept;
}

static bool build_index(struct netset *set)
{
    set->index = malloc(INDEX_SIZE * sizeof *set->index);
    if (set->index == NULL)
        return false;
    uint32_t at = 0;
    for (uint32_t upper = 0; upper < INDEX_SIZE - 1; upper++) {
        while (at < set->v4_count && set->v4[at].last < upper << 16)
            at++;
        set->index[upper] = at;
    }
    set->index[INDEX_SIZE - 1] = (uint32_t)set->v4_count;
    return true;
}

static bool build_upper(struct netset *set)
{
    if (set->v6_count == 0)
        return true;
    set->v6_upper = malloc(set->v6_count * sizeof *set->v6_upper);
    if (set->v6_upper == NULL)
        return false;
    for (size_t i = 0; i < set->v6_count; i++)
        set->v6_upper[i] = (uint64_t)(set->v6[i].last >> 64);
    return true;
}

bool netset_seal(struct netset *set)
{
    if (set->v4_count > 1)
        qsort(set->v4, set->v4_count, sizeof *set->v4, compare_v4);
    if (set->v6_count > 1)
        qsort(set->v6, set->v6_count, sizeof *set->v6, compare_v6);
    set->v4_count = merge_v4(set->v4, set->v4_count);
    set->v6_count = merge_v6(set->v6, set->v6_count);
    return build_upper(set) && (set->v4_count < INDEX_FROM || build_index(set));
}

static bool has_v4(const struct netset *set, uint32_t address)
{
    size_t low = 0, high = set->v4_count;
    if (set->index != NULL) {
        low = set->index[address >> 16];
        high = set->index[(address >> 16) + 1]; /* ends in a later /16, but may begin in this one */
    }
    while (low < high) { /* the first range that does not end before the address */
        size_t middle = low + (high - low) / 2;
        if (set->v4[middle].last < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->v4_count && set->v4[low].first <= address && address <= set->v4[low].last;
}

/* The first of `count` sorted numbers that is not below `wanted`; without a branch that could be predicted wrongly. */
static size_t first_not_below(const uint64_t *numbers, size_t count, uint64_t wanted)
{
    const uint64_t *base = numbers;
    while (count > 1) {
        size_t half = count / 2;
        base = base[half - 1] < wanted ? base + half : base;
        count -= half;
    }
    return (size_t)(base - numbers) + (count == 1 && *base < wanted);
}

static bool has_v6(const struct netset *set, netset_u128 address)
{
    size_t low = first_not_below(set->v6_upper, set->v6_count, (uint64_t)(address >> 64));
    size_t high = set->v6_count;
    if (low < high && set->v6[low].last >= address)
        return set->v6[low].first <= address;
    while (low < high) { /* several ranges within one /64 */
        size_t middle = low + (high - low) / 2;
        if (set->v6[middle].last < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->v6_count && set->v6[low].first <= address;
}

bool netset_has(const struct netset *set, const struct drossel_address *address)
{
    if (set == NULL)
        return false;
    if (address->family == DROSSEL_IPV4)
        return has_v4(set, v4_of(address->bytes));
    if (address->family == DROSSEL_IPV6)
        return has_v6(set, v6_of(address->bytes));
    return address->family == DROSSEL_UNIX && set->has_unix;
}

size_t netset_size(const struct netset *set)
{
    return set->v4_count + set->v6_count + (set->has_unix ? 1 : 0);
}

bool netset_is_everything(const struct netset *set)
{
    bool v4 = set->v4_count == 1 && set->v4[0].first == 0 && set->v4[0].last == UINT32_MAX;
    bool v6 = set->v6_count == 1 && set->v6[0].first == 0 && set->v6[0].last == ~(netset_u128)0;
    return v4 || v6;
}

/* A prefix length: 1 to 3 digits without a leading zero.  UINT_MAX-like 1000 when it is none. */
static unsigned parse_bits(const char *text, size_t size)
{
    unsigned bits = 0;
    if (size == 0 || size > 3 || (size > 1 && text[0] == '0'))
        return 1000;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 1000;
        bits = bits * 10 + (unsigned)(text[i] - '0');
    }
    return bits;
}

static bool has_host_bits(const struct drossel_address *address, unsigned bits)
{
    unsigned size = address->family == DROSSEL_IPV4 ? 4 : 16;
    for (unsigned i = bits / 8; i < size; i++) {
        unsigned mask = i == bits / 8 ? 0xffu >> (bits % 8) : 0xffu;
        if ((address->bytes[i] & mask) != 0)
            return true;
    }
    return false;
}

#define HOST_BITS "the address has bits beyond its prefix; write the network's first address, or the address alone"

const char *netset_parse(const char *text, size_t size, struct drossel_address *address, unsigned *bits)
{
    struct drossel_address parsed;
    const char *slash = size == 0 ? NULL : memchr(text, '/', size);
    size_t length = slash == NULL ? size : (size_t)(slash - text);
    if (drossel_address_parse(text, length, &parsed) != DROSSEL_OK)
        return "not an address; write 203.0.113.7, 10.0.0.0/8, 2001:db8::/32 or unix";
    if (parsed.family == DROSSEL_UNIX && slash != NULL)
        return "unix has no prefix; write unix alone";
    unsigned most = parsed.family == DROSSEL_IPV4 ? 32 : 128;
    unsigned wanted = most;
    if (parsed.family == DROSSEL_UNIX)
        wanted = 0;
    if (slash != NULL) {
        wanted = parse_bits(slash + 1, size - length - 1);
        bool mapped = parsed.family == DROSSEL_IPV4 && memchr(text, ':', length) != NULL;
        if (mapped && wanted < 96)
            return HOST_BITS; /* the ::ffff of a mapped address lies beyond it */
        if (mapped && wanted <= 128)
            wanted -= 96;
        if (wanted > most)
            return most == 32 ? "not a prefix length; write /0 to /32 after an IPv4 address"
                              : "not a prefix length; write /0 to /128 after an IPv6 address";
        if (has_host_bits(&parsed, wanted)) {
            *address = parsed; /* told, so that the caller can say which network would be right */
            *bits = wanted;
            return HOST_BITS;
        }
    }
    *address = parsed;
    *bits = wanted;
    return NULL;
}
