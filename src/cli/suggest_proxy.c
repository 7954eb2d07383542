/*
 * Logs of a server behind a proxy.
 */
#include "cli/suggest_proxy.h"

#include <stdio.h>
#include <string.h>

#define LINES_LEAST 50

struct network {
    unsigned char bytes[2];
    unsigned bits; /* up to 16 */
};

static bool is_within(const unsigned char *bytes, const struct network *network, size_t count)
{
    unsigned head = (unsigned)bytes[0] << 8 | bytes[1];
    for (size_t i = 0; i < count; i++) {
        unsigned mask = 0xffffu << (16 - network[i].bits) & 0xffffu;
        if ((head & mask) == ((unsigned)network[i].bytes[0] << 8 | network[i].bytes[1]))
            return true;
    }
    return false;
}

bool proxy_is_private(struct drossel_text client)
{
    static const struct network four[] = { { { 10, 0 }, 8 },     { { 127, 0 }, 8 },    { { 172, 16 }, 12 },
                                           { { 192, 168 }, 16 }, { { 169, 254 }, 16 }, { { 100, 64 }, 10 } };
    static const struct network six[] = { { { 0xfc, 0 }, 7 }, { { 0xfe, 0x80 }, 10 } };
    static const unsigned char loopback[16] = { [15] = 1 };
    struct drossel_address address;
    if (client.size == 0 || drossel_address_parse(client.data, client.size, &address) != DROSSEL_OK)
        return false;
    if (address.family == DROSSEL_UNIX)
        return true;
    if (address.family == DROSSEL_IPV4)
        return is_within(address.bytes, four, sizeof four / sizeof *four);
    return address.family == DROSSEL_IPV6 && (is_within(address.bytes, six, sizeof six / sizeof *six) ||
                                              memcmp(address.bytes, loopback, sizeof loopback) == 0);
}

static bool is_proxy(const struct profile *profile, const struct client *client)
{
    return client_total(client, TRAFFIC_ALL) * 10 >= profile->records &&
           proxy_is_private((struct drossel_text){ client->name, client->name_size });
}

bool proxy_suspected(const struct profile *profile)
{
    uint64_t lines = 0;
    for (uint32_t i = 0; i < profile->count; i++)
        if (is_proxy(profile, profile->client[i]))
            lines += client_total(profile->client[i], TRAFFIC_ALL);
    return lines >= LINES_LEAST && lines * 2 > profile->records;
}

void proxy_list(const struct profile *profile, char *out, size_t cap)
{
    size_t size = 0, shown = 0;
    *out = '\0';
    for (uint32_t i = 0; i < profile->count && shown < PROXIES_SHOWN; i++) {
        if (!is_proxy(profile, profile->client[i]) || size + DROSSEL_ADDRESS_TEXT + 2 >= cap)
            continue;
        size += (size_t)snprintf(out + size, cap - size, "%s%s", shown++ > 0 ? ", " : "", profile->client[i]->name);
    }
}

bool proxies_add(struct proxies *proxies, const struct profile *profile)
{
    size_t before = proxies->count;
    struct drossel_address address;
    for (uint32_t i = 0; i < profile->count; i++) {
        const struct client *client = profile->client[i];
        if (is_proxy(profile, client) && drossel_address_parse(client->name, client->name_size, &address) == DROSSEL_OK)
            proxies_trust(proxies, &address);
    }
    return proxies->count > before && proxies_seal(proxies);
}
