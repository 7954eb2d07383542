/*
 * A census of keys: a growing hash map from a text to its counts, with the exact peak in a sliding window.
 */
#ifndef DROSSEL_CLI_CENSUS_H
#define DROSSEL_CLI_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct census_entry {
    char *text;
    uint64_t requests, refused, peak;
    uint64_t *time; /* within the window, oldest first from `head` on; NULL until a peak is asked for */
    size_t head, count, cap;
};

struct census {                  /* zero: empty */
    struct census_entry **entry; /* in the order of appearance */
    size_t count, cap;
    uint32_t *slot; /* open addressing: index + 1; 0: free */
    size_t slots;   /* power of two */
};

void census_release(struct census *census);

/* The entry of that text, made if need be; NULL without memory.  Stays where it is until census_release. */
struct census_entry *census_find(struct census *census, const char *text, size_t size);

/* One more request at `t`, not before the last one; raises the peak of the window (t - period, t].  False without memory. */
bool census_arrive(struct census_entry *entry, uint64_t t_ns, uint64_t period_ns);

/* Writes up to `cap` entries, most refused first, then most requests, then by text.  Returns how many. */
size_t census_top(const struct census *census, const struct census_entry **top, size_t cap);

#endif
