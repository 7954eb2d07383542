/*
 * A census of keys: a growing hash map from a key's bytes to its counts, with the exact peak in a sliding window.
 */
#ifndef DROSSEL_CLI_CENSUS_H
#define DROSSEL_CLI_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct census_entry {
    char *label; /* what the key is called */
    void *id;    /* what it is */
    size_t id_size;
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

/* The entry of the key `id`, made if need be and then called `label`; NULL without memory.  Stays where it is until
 * census_release. */
struct census_entry *census_find(struct census *census, const void *id, size_t id_size, const char *label);

/* One more request at `t`, not before the last one; raises the peak of the window (t - period, t].  False without memory. */
bool census_arrive(struct census_entry *entry, uint64_t t_ns, uint64_t period_ns);

/* Writes up to `cap` entries, most refused first, then most requests, then by label.  Returns how many. */
size_t census_top(const struct census *census, const struct census_entry **top, size_t cap);

#endif
