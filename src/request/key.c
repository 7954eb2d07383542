/*
 * Subjects as keyed hashes of 64 bits.
 *
 * SipHash is written out here: libsodium has it with twice the rounds only, and for the few bytes of an address a call, byte-wise
 * loads and a copy of the secret for each kind cost as much again as the rounds.  The tests compare it with OpenSSL's for every
 * length.
 */
#include "request/key.h"

#include "hint.h"

#include <string.h>

#define KIND_JOINED 255

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotated(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_rounds(struct sip *sip, unsigned count)
{
    while (count-- > 0) {
        sip->v0 += sip->v1;
        sip->v1 = rotated(sip->v1, 13) ^ sip->v0;
        sip->v0 = rotated(sip->v0, 32);
        sip->v2 += sip->v3;
        sip->v3 = rotated(sip->v3, 16) ^ sip->v2;
        sip->v0 += sip->v3;
        sip->v3 = rotated(sip->v3, 21) ^ sip->v0;
        sip->v2 += sip->v1;
        sip->v1 = rotated(sip->v1, 17) ^ sip->v2;
        sip->v2 = rotated(sip->v2, 32);
    }
}

/* Little-endian, as SipHash reads its bytes. */
static inline uint64_t load(const void *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t load_half(const void *bytes)
{
    uint32_t half;
    memcpy(&half, bytes, sizeof half);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    half = __builtin_bswap32(half);
#endif
    return half;
}

/* The last 0 to 7 bytes, of which no more are read; some are read twice, and say the same. */
static inline uint64_t load_rest(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    if (size >= 4)
        return load_half(bytes) | load_half(bytes + size - 4) << (8 * (size - 4));
    if (size == 0)
        return 0;
    return bytes[0] | (uint64_t)bytes[size / 2] << (8 * (size / 2)) | (uint64_t)bytes[size - 1] << (8 * (size - 1));
}

/* The kind is in the key's first byte. */
static inline struct sip sip_begin(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind)
{
    uint64_t k0 = load(secret) ^ kind, k1 = load(secret + 8);
    return (struct sip){ k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                         k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573) };
}

static inline void sip_word(struct sip *sip, uint64_t word)
{
    sip->v3 ^= word;
    sip_rounds(sip, 1);
    sip->v0 ^= word;
}

/* `rest`: the last size % 8 bytes. */
static inline uint64_t sip_end(struct sip *sip, uint64_t rest, size_t size)
{
    sip_word(sip, rest | (uint64_t)size << 56);
    sip->v2 ^= 0xff;
    sip_rounds(sip, 3);
    return sip->v0 ^ sip->v1 ^ sip->v2 ^ sip->v3;
}

/* Not inlined: who hashes two parts finds its code at hand for the second. */
on_the_way kept_apart uint64_t key_part_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind, const void *data,
                                             size_t size)
{
    const uint8_t *bytes = data;
    struct sip sip = sip_begin(secret, kind);
    size_t left = size;
    for (; left >= 8; left -= 8, bytes += 8)
        sip_word(&sip, load(bytes));
    return sip_end(&sip, load_rest(bytes, left), size);
}

/* Each text ends with a word that holds its length, so that no two pairs are one message. */
uint64_t key_pair_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind, struct drossel_text name,
                       struct drossel_text value)
{
    struct sip sip = sip_begin(secret, kind);
    const char *bytes = name.data;
    size_t left = name.size;
    for (; left >= 8; left -= 8, bytes += 8)
        sip_word(&sip, load(bytes));
    sip_word(&sip, load_rest(bytes, left) | (uint64_t)name.size << 56);
    bytes = value.data;
    for (left = value.size; left >= 8; left -= 8, bytes += 8)
        sip_word(&sip, load(bytes));
    return sip_end(&sip, load_rest(bytes, left), value.size);
}

/* Not inlined, and told nothing that was begun: the way of the shorter ones would keep that in memory for it. */
static __attribute__((noinline)) uint64_t long_address_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind,
                                                            const struct drossel_address *address)
{
    const uint8_t *bytes = &address->family;
    struct sip sip = sip_begin(secret, kind);
    sip_word(&sip, load(bytes));
    sip_word(&sip, load(bytes + 8));
    return sip_end(&sip, bytes[16], 17);
}

/* The bytes: family, then the address. */
inline uint64_t key_address_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind,
                                 const struct drossel_address *address)
{
    _Static_assert(offsetof(struct drossel_address, family) == 0 && offsetof(struct drossel_address, bytes) == 1,
                   "family and address lie side by side");
    const uint8_t *bytes = &address->family;
    if (unlikely(address->family != DROSSEL_IPV4))
        return long_address_hash(secret, kind, address);
    struct sip sip = sip_begin(secret, kind);
    return sip_end(&sip, load(bytes) & UINT64_C(0xffffffffff), 5);
}

/* The parts' hashes are keyed already, so that nobody can choose what is added up here: what is left to do is to tell places and kinds
 * apart.  Odd numbers, so that no bit of any part is lost. */
inline uint64_t key_join(const uint64_t *parts, const uint8_t *kinds, size_t count)
{
    uint64_t joined = KIND_JOINED;
    for (size_t i = 0; i < count; i++)
        joined = rotated(joined * UINT64_C(0x9e3779b97f4a7c15) + (parts[i] ^ kinds[i]), 29);
    return joined;
}
