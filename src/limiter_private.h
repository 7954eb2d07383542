/* What the limiter's files share. */
#ifndef DROSSEL_LIMITER_PRIVATE_H
#define DROSSEL_LIMITER_PRIVATE_H

#include "limiter.h"
#include "store/store.h"
#include "subject.h"

struct limiter {
    const struct policy *policy;
    struct table *table;
    uint64_t ban_extend_ns;          /* the longest `ban` with `extend`; 0: none */
    uint16_t limit_id[];             /* of policy->rates, by index: place in the table's registry */
};

/* For names of fresh keys. */
struct naming {
    struct subject_finder *finder;
    const struct store_charge *charge;
    const uint32_t *rate;
};

/* Merges the verdicts of all charges into one decision. */
void limiter_merge(const struct limiter *limiter, const struct store_charge *charge, const uint32_t *rate, uint32_t count,
                   struct drossel_decision *decision);

/* The request is not decided: says how long it may take. */
void limiter_hold(const struct limiter *limiter, const struct store_batch *batch, const uint32_t *rate,
                  const struct drossel_request *request, struct drossel_decision *decision);

/* Makes the ticket of what was charged with an open outcome, and lists it in the table. */
void limiter_ticket(const struct limiter *limiter, const struct store_batch *batch, const uint32_t *rate,
                    struct drossel_ticket *ticket);

/* End of the ban of a counted address, or 0. */
uint64_t limiter_banned_until(const struct limiter *limiter, const struct drossel_address *counted, uint64_t now_ns);

/* What a request spends that costs `cost` and is told to cost `extra` times as much (drossel_request.extra_cost). */
uint64_t limiter_times(uint64_t cost, uint64_t extra);

#endif
