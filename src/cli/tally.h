/*
 * What a replay came to: for each limit how many requests, clients, refusals, and the peak of each key.
 *
 * A peak is the largest number of requests of one key, admitted or not, in any window (t-T, t] of the limit's first rate:
 * exact, so that a number for `allow` can be read off it.
 */
#ifndef DROSSEL_CLI_TALLY_H
#define DROSSEL_CLI_TALLY_H

#include <jansson.h>
#include <stdio.h>

#include "cli/events.h"
#include "limiter.h"

struct tally;

/* Counts for this policy; NULL without memory.  The policy must outlive it. */
struct tally *tally_open(const struct policy *policy);
void tally_close(struct tally *tally);

/* Before an event is decided, and each time that it is asked again after it was held: what each limit would say now (this
 * asks the limiter).  False without memory. */
bool tally_before(struct tally *tally, struct limiter *limiter, const struct drossel_request *request);
/* After it was asked for the first time, decided or not. */
bool tally_arrived(struct tally *tally, const struct event *event, const struct drossel_decision *decision);
/* Once it is decided, after tally_before for that time. */
bool tally_decided(struct tally *tally, const struct drossel_decision *decision);

/* Adds each line of `text` (may be NULL) to the warnings. */
void tally_warn(struct tally *tally, const char *text);
/* Warns of what only the whole shows: everybody seems to be one private address. */
void tally_conclude(struct tally *tally);

/* The object of `drossel replay --json`; a new reference, NULL without memory. */
json_t *tally_json(const struct tally *tally, size_t unparsed);
/* The same for people. */
void tally_print(const struct tally *tally, size_t unparsed, FILE *out);

#endif
