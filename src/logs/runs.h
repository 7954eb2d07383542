/* Sorted runs of references on disk, and the smallest of all.  Made by order.c when its heap is full. */
#ifndef DROSSEL_LOGS_RUNS_H
#define DROSSEL_LOGS_RUNS_H

#include "logs/order.h"

struct runs;

/* `memory` bytes for reading them.  NULL: no memory. */
struct runs *runs_open(uint64_t memory);
void runs_close(struct runs *runs);

/* Writes one run: `count` references in DESCENDING order.  False: see runs_error. */
bool runs_add(struct runs *runs, const struct log_ref *descending, size_t count);

/* The smallest, NULL when all are empty; until the next call. */
const struct log_ref *runs_top(const struct runs *runs);
bool runs_pop(struct runs *runs);

/* What went wrong, names the folder and the remedy. */
const char *runs_error(const struct runs *runs);


/* How many were ever written, merged ones not counted. */
uint64_t runs_written(const struct runs *runs);

static inline bool log_ref_before(const struct log_ref *a, const struct log_ref *b)
{
    return a->t_ns < b->t_ns || (a->t_ns == b->t_ns && a->place < b->place);
}

#endif
