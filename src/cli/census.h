/*
 * A census of keys: a growing hash map from a key's bytes to its counts, with the exact peak in a sliding window.
 *
 * Requests at one time are kept as one number, so that the memory of a window grows with its length in ticks of the log's clock,
 * not with the requests in it.
 */
#ifndef DROSSEL_CLI_CENSUS_H
#define DROSSEL_CLI_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct census_run { /* requests at one time */
    uint64_t t_ns, count;
};

#define CENSUS_RUNS_WITHIN 2 /* of most keys no more are ever in a window: these take no memory of their own */

struct census_entry {
    uint64_t requests, refused, peak;
    struct census_run *run; /* within the window, oldest first from `head` on; NULL until a peak is asked for */
    uint32_t head, count, cap, id_size;
    uint64_t within; /* requests of all these runs */
    struct census_run first[CENSUS_RUNS_WITHIN];
    void *id;    /* what the key is: in the entry's own memory */
    char *label; /* what it is called; NULL: nobody has asked yet */
};

struct census {                  /* zero: empty */
    size_t entry_size;           /* of a larger struct that begins with a census_entry; 0: of that alone */
    bool is_hashed;              /* the first 8 bytes of each id are a keyed hash already */
    struct census_entry **entry; /* in the order of appearance */
    size_t count, cap;
    struct census_slot *slot; /* open addressing */
    size_t slots;             /* power of two */
};

void census_release(struct census *census);

/* The entry of the key `id`, made zero if need be and then called `label` (NULL: nothing yet).  NULL without memory.  Stays
 * where it is until census_release. */
struct census_entry *census_find(struct census *census, const void *id, size_t id_size, const char *label);

/* The entry of the key `id` if it is there, else NULL. */
struct census_entry *census_look(const struct census *census, const void *id, size_t id_size);

/* One more request at `t`, not before the last one; raises the peak of the window (t - period, t].  False without memory. */
bool census_arrive(struct census_entry *entry, uint64_t t_ns, uint64_t period_ns);

/* Writes up to `cap` entries in the order of `compare`, which says of two which comes first, as for qsort.  Returns how many. */
typedef int census_order(void *context, const struct census_entry *left, const struct census_entry *right);
size_t census_first(const struct census *census, const struct census_entry **first, size_t cap, census_order *compare,
                    void *context);
/* Of two the one refused more comes first, then the one with more requests. */
int census_by_refused(const struct census_entry *left, const struct census_entry *right);

#endif
