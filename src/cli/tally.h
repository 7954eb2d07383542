/*
 * What a replay came to: for each limit how many requests, clients, refusals, whom it hits, when, for how long, and the peak of
 * each key.
 *
 * A peak is the largest number of requests of one key, admitted or not, in any window (t-T, t] of the limit's first rate:
 * exact, so that a number for `allow` can be read off it.
 */
#ifndef DROSSEL_CLI_TALLY_H
#define DROSSEL_CLI_TALLY_H

#include <jansson.h>
#include <stdio.h>

#include "cli/events.h"
#include "cli/replay_names.h"
#include "limiter.h"

struct tally;

/* Counts for this policy; NULL without memory.  Policy and names must outlive it. */
struct tally *tally_open(const struct policy *policy, const struct names *names);
void tally_close(struct tally *tally);
/* Who decides; needed before the first event. */
void tally_attach(struct tally *tally, struct limiter *limiter);
/* Where the lines go that are refused, or would be but for a dry run; NULL (at first): nowhere. */
void tally_refused_to(struct tally *tally, FILE *out);

/* When an event was asked for the first time, decided or not.  False without memory. */
bool tally_arrived(struct tally *tally, const struct event *event, const struct drossel_request *request,
                   const struct drossel_decision *decision, const struct limiter_told *told);
/* Once it is decided, with what was told then. */
bool tally_decided(struct tally *tally, const struct event *event, const struct drossel_decision *decision,
                   const struct limiter_told *told);

/* What only who read the input knows. */
struct tally_input {
    uint64_t unparsed;
    uint64_t without_client;   /* lines of a log that do not say who asked */
    uint64_t resolution_ns;    /* of the times; 0: exact */
    bool is_log;               /* else events */
    bool is_partial;           /* it was interrupted */
    size_t top;                /* so many keys of a limit are listed */
    const char *format;        /* NULL: events */
    const char *const *bad;    /* lines that are no requests: `FILE:LINE: text`; the first ones */
    size_t bad_count;
};

/* Adds each line of `text` (may be NULL) to the warnings. */
void tally_warn(struct tally *tally, const char *text);
/* Warns of what only the whole shows. */
void tally_conclude(struct tally *tally, const struct tally_input *input);

/* The object of `drossel replay --json`; a new reference, NULL without memory. */
json_t *tally_json(const struct tally *tally, const struct tally_input *input);
/* The same for people. */
void tally_print(const struct tally *tally, const struct tally_input *input, FILE *out);

#endif
