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

/* Index of the first byte that is not zero, as comparisons of blocks make them; SCAN_BYTES if all are. */
static inline size_t scan_first(scan_block found)
{
#if defined(__SSE2__) /* there it is one instruction instead of eight */
    typedef char signs __attribute__((vector_size(SCAN_BYTES)));
    unsigned mask = (unsigned)__builtin_ia32_pmovmskb128((signs)found);
    return (size_t)__builtin_ctz(mask | 1u << SCAN_BYTES);
#else
    size_t first = 0;
    while (first < SCAN_BYTES && found[first] == 0)
        first++;
    return first;
#endif
}

#endif
