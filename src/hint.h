/*
 * Which way a branch nearly always goes, and which functions begin a line of memory.
 *
 * Not for the processor, which finds out by itself, but for the compiler: what is seldom done is laid out behind what is always done.
 * Between two requests nginx and the kernel push a door's code out of the nearest cache, so that each line of it that lies between
 * two that are needed costs as much as a few dozen instructions.
 */
#ifndef DROSSEL_HINT_H
#define DROSSEL_HINT_H

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* For the few functions of the way that nearly each request goes: they begin a line, and take in whatever they call that is not kept apart. */
#define own_line __attribute__((aligned(64), hot))
#define own_way __attribute__((aligned(64), hot, flatten))
#define kept_apart __attribute__((noinline))
#define on_the_way __attribute__((hot))

#endif
