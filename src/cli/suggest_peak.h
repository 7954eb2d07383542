/*
 * The busiest window of one client, exactly: the most requests in any (t - window, t], where all that share t count, for windows of 10 s,
 * 1 min and 10 min at once.
 *
 * Times come in order, equal ones next to each other.  What is kept are the different times of the last 10 min, each with the
 * number of requests before it, in a ring of a power of two: memory grows with the busiest 10 minutes of a client, and where
 * stamps are whole seconds it never holds more than 600 of them.
 */
#ifndef DROSSEL_CLI_SUGGEST_PEAK_H
#define DROSSEL_CLI_SUGGEST_PEAK_H

#include <stdbool.h>
#include <stdint.h>

enum { PEAK_10S, PEAK_1MIN, PEAK_10MIN, PEAK_WINDOWS };

struct peak_stamp {
    uint64_t t_ns;
    uint64_t before; /* requests with an earlier time */
};

struct peak {                     /* zero: no request yet */
    struct peak_stamp *stamp;     /* ring; places below are counted from the first stamp ever and wrap */
    uint64_t total;               /* requests */
    uint64_t most[PEAK_WINDOWS];  /* in any window so far */
    uint32_t tail[PEAK_WINDOWS];  /* the oldest stamp within the window that ends at the last one */
    uint32_t end;                 /* one behind the last stamp */
    uint32_t cap;                 /* of the ring */
};

extern const uint64_t peak_window_ns[PEAK_WINDOWS];
extern const char *const peak_window_name[PEAK_WINDOWS]; /* as in a policy: 10s, 1m, 10m */

/* One more request at `t`, not before the last one.  False without memory; nothing is counted then. */
bool peak_arrive(struct peak *peak, uint64_t t_ns);
void peak_release(struct peak *peak);

#endif
