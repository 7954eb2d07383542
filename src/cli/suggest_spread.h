/*
 * How peaks are spread over clients: ranks and a histogram.
 */
#ifndef DROSSEL_CLI_SUGGEST_SPREAD_H
#define DROSSEL_CLI_SUGGEST_SPREAD_H

#include <stddef.h>
#include <stdint.h>

enum { SPREAD_P50, SPREAD_P90, SPREAD_P99, SPREAD_P999, SPREAD_MAX, SPREAD_RANKS };
extern const char *const spread_rank_name[SPREAD_RANKS]; /* p50 ... p99.9, max */

/* Steps 1, 2, 3-4, 5-6, 7-8, 9-10, 11-15 ...: narrow where people are, wide where machines are. */
#define SPREAD_STEPS 24

struct spread {
    uint64_t clients;            /* 0: all ranks are 0 */
    uint64_t rank[SPREAD_RANKS]; /* nearest rank: a value that some client has */
    uint64_t step[SPREAD_STEPS]; /* clients in each step */
};

/* Sorts `value`. */
void spread_of(uint64_t *value, size_t count, struct spread *spread);
/* The last value of a step; the last step has no end. */
uint64_t spread_step_end(size_t step);
size_t spread_step_of(uint64_t value);
/* `3-4`, `10001+`. */
const char *spread_step_format(size_t step, char *out, size_t cap);

#endif
