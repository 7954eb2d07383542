/*
 * The stamps of a sliding window as they lie in a state's log: read, and put in front.  Private to sliding.c, which tells what
 * they are.
 */
#ifndef DROSSEL_ENGINE_STAMPS_H
#define DROSSEL_ENGINE_STAMPS_H

#include "engine/algorithm.h"

__extension__ typedef unsigned __int128 stamps_wide;

#define STAMPS_MAX 30
#define LIVE_SHIFT ENGINE_CLOSED_SHIFT /* number of closed stamps, in the top 5 bits of log[3] */
#define LIVE_MASK (UINT64_C(31) << LIVE_SHIFT)

/* Never more than fit: who reads a slot without its guard may meet the words of another limit. */
static inline unsigned closed_count(const struct engine_state *state, const struct engine_limit *limit)
{
    return (unsigned)engine_min(state->log[3] >> LIVE_SHIFT, limit->stamps);
}

static inline void closed_count_set(struct engine_state *state, unsigned count)
{
    state->log[3] = (state->log[3] & ~LIVE_MASK) | (uint64_t)count << LIVE_SHIFT;
}

static inline uint64_t low_bits(unsigned bits)
{
    return (UINT64_C(1) << bits) - 1;
}

static inline unsigned count_bits(const struct engine_limit *limit)
{
    return limit->count_bits;
}

/* The `place`th closed stamp, 0 the newest, as it is packed.  Without a branch, which would be guessed wrong for every other key: what the
 * next word gives where it is not needed lies beyond the mask. */
static inline uint64_t code_at(const struct engine_state *state, const struct engine_limit *limit, unsigned place)
{
    unsigned bit = place * limit->stamp_bits;
    unsigned word = bit / 64, shift = bit % 64, next = word + (word < 3);
    return (state->log[word] >> shift | state->log[next] << 1 << (63 - shift)) & limit->stamp_mask;
}

/* time_ns / quantum_ns, rounded up.  A division takes as long as half a judgement; below 2^63 it is a multiplication by 2^(63 + L) /
 * quantum_ns, rounded up, with L bits in quantum_ns - 1: exact for dividends of 63 bits (Granlund, Montgomery: Division by Invariant
 * Integers using Multiplication, 1994, theorem 4.2). */
static inline uint64_t grid_of(const struct engine_limit *limit, uint64_t time_ns)
{
    if (unlikely(limit->quantum_inverse == 0)) /* of the quantum 1 */
        return time_ns;
    uint64_t last_ns = time_ns + limit->quantum_ns - 1;
    if (unlikely((time_ns | last_ns) >> 63 != 0))
        return time_ns / limit->quantum_ns + (time_ns % limit->quantum_ns != 0);
    return (uint64_t)((stamps_wide)last_ns * limit->quantum_inverse >> 64) >> limit->quantum_shift;
}

static inline uint64_t count_of(const struct engine_limit *limit, uint64_t code)
{
    unsigned bits = count_bits(limit);
    return bits == 0 ? limit->chunk : code & low_bits(bits);
}

/* Grid place of a stamp; `newest` is that of time_ns, to which all codes are relative. */
static inline uint64_t place_on_grid(const struct engine_limit *limit, uint64_t code, uint64_t newest)
{
    uint64_t behind = (newest - (code >> count_bits(limit))) & limit->age_mask;
    return engine_minus(newest, behind);
}

static inline uint64_t expiry_of(const struct engine_limit *limit, uint64_t place)
{
    uint64_t time_ns;
    if (unlikely(__builtin_mul_overflow(place, limit->quantum_ns, &time_ns))) /* rounded up beyond the end of the clock */
        return UINT64_MAX;
    return engine_add(time_ns, limit->period_ns);
}

/* Shifts the log up by one stamp and puts a new one in front. The oldest falls off when all places are taken. */
static inline void push(struct engine_state *state, const struct engine_limit *limit, uint64_t place, uint64_t count)
{
    unsigned bits = limit->stamp_bits;
    if (limit->stamps == 0)
        return;
    unsigned closed = closed_count(state, limit);
    uint64_t code = place & limit->age_mask;
    if (count_bits(limit) > 0)
        code = code << count_bits(limit) | engine_min(count, low_bits(count_bits(limit)));
    uint64_t *log = state->log;
    log[3] = log[3] << bits | log[2] >> (64 - bits);
    log[2] = log[2] << bits | log[1] >> (64 - bits);
    log[1] = log[1] << bits | log[0] >> (64 - bits);
    log[0] = log[0] << bits | code;
    closed_count_set(state, closed < limit->stamps ? closed + 1 : limit->stamps);
}

#endif
