/*
 * The clock between two looks at it: extrapolated by the processor's own counter, for about a millisecond at most.
 *
 * A look at the kernel's clock touches a dozen lines of memory of the vDSO, and waits until all loads before it are done: a fifth of
 * what a door needs for a request that passes.  The kernel itself does nothing else than to extrapolate by this counter; only where it
 * does (its clock source is `tsc`), because then it has found the counter even and the same on all processors, we do it, too.  Should it give the
 * counter up while we run, every span still begins at its clock.
 *
 * Error: the rate is taken from looks at least 4 ms apart, each of which is known to a microsecond; within a span that is a microsecond, next
 * to what happens between a look and its use.  A counter that jumps, or stands still while the clock goes on (a machine that sleeps), is noticed, or
 * costs one span.  Pure: the caller reads counter and clock.
 */
#ifndef DROSSEL_TABLE_TICKS_H
#define DROSSEL_TABLE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#define TICKS_SPAN (UINT64_C(1) << 21)       /* ticks; 0.5 ms at 4 GHz, 2 ms at 1 GHz */
#define TICKS_APART (UINT64_C(1) << 24)      /* looks that give a rate are at least so far apart, */
#define TICKS_RENEW (UINT64_C(1) << 31)      /* soon others begin, */
#define TICKS_LONG (UINT64_C(1) << 32)       /* and these are too far */
#define TICKS_STEADY 128                     /* a rate that differs by a 128th comes from looks between which one of the two stood still */
#define TICKS_CLOSE UINT64_C(4096)           /* ticks that a look may take; else the thread was interrupted in it */

/* A thread's.  Zero: nothing is known. */
struct ticks {
    uint64_t tick, at_ns;        /* the last look; tick 0: none to go on from */
    uint64_t rate;               /* ns of a tick, in 2^-32 */
    uint64_t first_tick, first_ns;   /* the look that the rate is taken from, with the last one */
};

/* The time at `tick`; 0: look at the clock. */
static inline uint64_t ticks_time(const struct ticks *ticks, uint64_t tick)
{
    uint64_t past = tick - ticks->tick;
    return past < TICKS_SPAN && ticks->tick != 0 ? ticks->at_ns + (past * ticks->rate >> 32) : 0;
}

/* The clock said now_ns, somewhen between two looks at the counter. */
void ticks_look(struct ticks *ticks, uint64_t before, uint64_t now_ns, uint64_t after);

#endif
