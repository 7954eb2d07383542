/*
 * What every program of the bench needs: a clock, a processor to itself, random numbers that cost next to nothing, and the
 * two lines that bench/run reads:
 *
 *     pair<TAB>ROW<TAB>OURS<TAB>OTHER      one measurement of each, made one after the other
 *     note<TAB>TEXT                        what a reader should know besides
 */
#ifndef DROSSEL_BENCH_MEASURE_H
#define DROSSEL_BENCH_MEASURE_H

#include <stdint.h>

/* Monotonic, ns. */
uint64_t measure_now_ns(void);

/* Processor time of this thread, ns: what somebody else runs meanwhile on a busy machine is not in it. */
uint64_t measure_spent_ns(void);

/* Runs on this processor only from here on; where it may not, it runs where it is put. */
void measure_pin(unsigned processor);

void measure_pair(const char *row, double ours, double other);
void measure_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says why on stderr and ends the program: a bench that cannot measure must not print a number. */
void measure_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* SplitMix64: one multiplication more than nothing, and no line of memory. */
static inline uint64_t measure_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A number below `count`, without a division. */
static inline uint64_t measure_below(uint64_t *state, uint64_t count)
{
    return (uint64_t)((measure_random(state) >> 32) * count >> 32);
}

#endif
