/*
 * Counts over time, of several rows at once, in a fixed number of steps: when time goes on beyond the last one, each two become
 * one and a step is twice as long.  So a log of any length has its timeline in one pass, without its end being known.
 */
#ifndef DROSSEL_CLI_REPLAY_TIMELINE_H
#define DROSSEL_CLI_REPLAY_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMELINE_STEPS 1024 /* even */
#define TIMELINE_LEAST_NS UINT64_C(1000000000)

struct timeline {
    uint64_t start_ns, step_ns;
    uint64_t from_ns, end_ns; /* the step under way */
    size_t at;                /* its place */
    size_t rows;
    uint32_t *cell; /* rows * TIMELINE_STEPS */
};

/* False without memory. */
bool timeline_init(struct timeline *timeline, size_t rows);
void timeline_release(struct timeline *timeline);

/* The step of this time is under way from now on; times before the first one count as it. */
void timeline_move(struct timeline *timeline, uint64_t t_ns);

/* Counts one in a row, at the step under way. */
static inline void timeline_count(struct timeline *timeline, size_t row)
{
    uint32_t *cell = &timeline->cell[row * TIMELINE_STEPS + timeline->at];
    *cell += *cell < UINT32_MAX;
}

/* Adds a row up into at most `most` columns of equally many steps, of which it returns the number; `*step_ns` is the length of one.
 * 0: nothing was ever counted. */
size_t timeline_columns(const struct timeline *timeline, size_t row, uint64_t *column, size_t most, uint64_t *step_ns);

#endif
