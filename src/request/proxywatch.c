/* All visitors under one address, their proxy's: sees it and says it once. */
#include "request/proxywatch.h"

#include <string.h>

static bool is_suspect(const struct client_rules *rules, const struct drossel_address *client)
{
    return client->family == DROSSEL_UNIX || client_is_private(client) ||
           (rules->trusted != NULL && netset_has(rules->trusted, client));
}

/* A new suspect begins with nothing seen. */
static void suspect(struct proxywatch *watch, const struct drossel_address *client)
{
    *watch = (struct proxywatch){ .address = *client, .calm = watch->calm };
}

static void calm_down(struct proxywatch *watch)
{
    if (watch->calm < PROXYWATCH_CALM)
        watch->calm++;
}

static bool is_same(const struct drossel_address *one, const struct drossel_address *other)
{
    return one->family == other->family && memcmp(one->bytes, other->bytes, sizeof(one->bytes)) == 0;
}

/* Counts a value unless its bit is taken: never too many, and about right as long as most bits are free. */
static void count_value(struct proxywatch *watch, uint64_t hash)
{
    uint64_t place = hash % PROXYWATCH_BITS;
    uint64_t bit = UINT64_C(1) << (place % 64);
    if ((watch->sketch[place / 64] & bit) != 0)
        return;
    watch->sketch[place / 64] |= bit;
    watch->values++;
}

bool proxywatch_observe(struct proxywatch *watch, const struct client_rules *rules,
                        const struct drossel_address *client, uint64_t header_hash)
{
    if (watch->done)
        return false;
    if (watch->score == 0) {
        if (!is_suspect(rules, client)) {
            calm_down(watch);
            return false;
        }
        suspect(watch, client);
    } else if (!is_same(&watch->address, client)) {
        watch->score--;
        calm_down(watch);
        return false;
    }
    if (watch->score < UINT32_MAX)
        watch->score++;
    if (watch->score >= PROXYWATCH_REQUESTS / 2)
        watch->calm = 0;
    count_value(watch, header_hash);
    if (watch->score < PROXYWATCH_REQUESTS || watch->values < PROXYWATCH_VALUES)
        return false;
    watch->done = true;
    return true;
}

uint64_t proxywatch_hash(const char *data, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}
