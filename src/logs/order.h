/*
 * Lines that were seen but cannot be given out yet, because an earlier one may still come: a priority queue of references, not of text.
 *
 * Bounded.  Up to half of `memory` bytes hold the references in a heap; when they are full, the later half is sorted and written to
 * a file without a name in $TMPDIR as one run, and the smallest of all runs and of the heap is the next.  The other half is for
 * reading runs: when too many of one level are there, they become one of the next level.
 */
#ifndef DROSSEL_LOGS_ORDER_H
#define DROSSEL_LOGS_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_PLACE_LINE_BITS 40

/* 32 bytes. */
struct log_ref {
    uint64_t t_ns;
    uint64_t place;  /* file in the upper 24 bits, line in its file in the lower 40: what decides between equal times */
    uint64_t offset; /* of the line in its file */
    uint64_t epoch;  /* what the parser knew there, see file.h */
};

struct order;

/* NULL: no memory. */
struct order *order_open(uint64_t memory);
void order_close(struct order *order);

/* False: no memory, or no room on the disk; see order_error. */
bool order_push(struct order *order, const struct log_ref *ref);
/* The smallest by (t_ns, place); NULL when there is none.  Until the next call. */
const struct log_ref *order_top(const struct order *order);
bool order_pop(struct order *order);
/* What went wrong, with the remedy. */
const char *order_error(const struct order *order);

/* The most references that the heap held at once, and how many runs were written: for tests. */
size_t order_most(const struct order *order);
uint64_t order_runs(const struct order *order);

#endif
