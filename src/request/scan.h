/*
 * Sixteen bytes of a body at once: where the first of certain ones is.
 *
 * Vectors as gcc and clang offer them on any processor.
 */
#ifndef DROSSEL_REQUEST_SCAN_H
#define DROSSEL_REQUEST_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SCAN_BYTES 16

typedef uint8_t scan_block __attribute__((vector_size(SCAN_BYTES)));

/* SCAN_BYTES that are there; they need not be aligned. */
static inline scan_block scan_load(const char *at)
{
    scan_block block;
    memcpy(&block, at, sizeof block);
    return block;
}

/* Each byte the same. */
static inline scan_block scan_all(char c)
{
    return (scan_block){ 0 } + (uint8_t)c;
}

/* A bit for each byte that is not zero, as comparisons of blocks make them: the lowest is the first byte's. */
static inline uint32_t scan_bits(scan_block found)
{
#if defined(__SSE2__) /* there it is one instruction */
    typedef char signs __attribute__((vector_size(SCAN_BYTES)));
    return (uint32_t)__builtin_ia32_pmovmskb128((signs)found);
#else
    uint32_t bits = 0;
    for (unsigned i = 0; i < SCAN_BYTES; i++)
        bits |= (uint32_t)(found[i] != 0) << i;
    return bits;
#endif
}

/* Index of the first such byte; SCAN_BYTES if there is none. */
static inline size_t scan_first(scan_block found)
{
    return (size_t)__builtin_ctz(scan_bits(found) | UINT32_C(1) << SCAN_BYTES);
}

/* Index behind the last such byte among `size`; 0 if there is none. */
static inline size_t scan_behind_last(const char *bytes, size_t size, char c)
{
    if (size >= SCAN_BYTES) {
        uint32_t bits = scan_bits((scan_block)(scan_load(bytes + size - SCAN_BYTES) == scan_all(c)));
        if (bits != 0) /* of its 32 the upper half is never set */
            return size + SCAN_BYTES - (size_t)__builtin_clz(bits);
        size -= SCAN_BYTES;
    }
    while (size > 0 && bytes[size - 1] != c)
        size--;
    return size;
}

/* The first such byte in [at, end), else end.  From `begin` on, no later than at, bytes may be read: where there is less than a block, the last one
 * is looked at again. */
const char *scan_find(const char *begin, const char *at, const char *end, char c);

#endif
