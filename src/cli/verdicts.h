/*
 * The decisions of a replay, one JSON object a line, in the order of the events: a request that was held is decided after
 * later ones, and these are kept until it is.
 */
#ifndef DROSSEL_CLI_VERDICTS_H
#define DROSSEL_CLI_VERDICTS_H

#include <stdio.h>

#include "cli/events.h"
#include "policy/policy.h"

/* What became of one event. */
struct verdict {
    uint64_t index; /* of the event */
    const struct event *event;
    const struct drossel_decision *decision;
    bool was_held;
    uint64_t held_ns; /* how long */
};

struct verdicts;

/* Writes to `out`, which stays the caller's.  NULL without memory. */
struct verdicts *verdicts_open(FILE *out, const struct policy *policy);
/* Each index once, in any order.  False without memory. */
bool verdicts_add(struct verdicts *verdicts, const struct verdict *verdict);
/* Lines that wait for one that never came are lost. */
void verdicts_close(struct verdicts *verdicts);

/* Is a challenged client sent elsewhere, so that the application never sees the request? */
bool verdict_redirects(const struct policy *policy, const struct drossel_decision *decision);

#endif
