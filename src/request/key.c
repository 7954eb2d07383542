/* Subjects as 128-bit keyed hashes. */
#include "request/key.h"

#include <sodium.h>
#include <string.h>

_Static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(struct key_hash), "128 bits");
_Static_assert(crypto_shorthash_siphashx24_KEYBYTES == KEY_SECRET_BYTES, "SipHash's key");

#define KIND_JOINED 255

struct key_hash key_part_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind, const void *data, size_t size)
{
    uint8_t key[KEY_SECRET_BYTES];
    struct key_hash hash;
    memcpy(key, secret, sizeof key);
    key[0] ^= kind;
    (void)crypto_shorthash_siphashx24((unsigned char *)&hash, data, size, key);    /* cannot fail */
    return hash;
}

struct key_hash key_address_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind, const struct drossel_address *address)
{
    uint8_t bytes[17];
    size_t size = address->family == DROSSEL_IPV4 ? 4 : 16;
    bytes[0] = address->family;
    memcpy(bytes + 1, address->bytes, size);
    return key_part_hash(secret, kind, bytes, 1 + size);
}

struct key_hash key_join(const uint8_t secret[KEY_SECRET_BYTES], const struct key_hash *parts, const uint8_t *kinds,
                         size_t count)
{
    uint8_t joined[KEY_PARTS_MAX * (1 + sizeof(struct key_hash))];
    size_t size = 0;
    for (size_t i = 0; i < count && i < KEY_PARTS_MAX; i++) {
        joined[size++] = kinds[i];
        memcpy(joined + size, &parts[i], sizeof parts[i]);
        size += sizeof parts[i];
    }
    return key_part_hash(secret, KIND_JOINED, joined, size);
}
