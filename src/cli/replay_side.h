/*
 * One policy under replay: its own table, limiter, course and counts.
 */
#ifndef DROSSEL_CLI_REPLAY_SIDE_H
#define DROSSEL_CLI_REPLAY_SIDE_H

#include "cli/course.h"
#include "cli/tally.h"

struct replay_side {
    const char *path;
    struct policy *policy;
    char *warnings;      /* of reading the policy */
    FILE *decisions;     /* NULL: not wanted */
    FILE *refused;       /* likewise */
    bool has_tally;
    /* of one run: */
    struct table *table;
    struct course course;
};

/* Reads the policy; what is wrong with it is printed. */
bool side_open(struct replay_side *side, const char *path);
void side_close(struct replay_side *side);

/* Begins a run on a fresh table of so many keys.  False: it was complained about. */
bool side_begin(struct replay_side *side, uint64_t keys, enum drossel_door door, const struct names *names);
/* Ends it, with nothing left of it. */
void side_drop(struct replay_side *side);
/* Had keys to make room for others, so that a decision may be wrong? */
uint64_t side_lost(const struct replay_side *side);

/* A time that changes no window when all events are put off by it: all windows on the clock begin in it as at 0.  If there
 * is none to be had, the least.  0: the policy does not mind a time of 0. */
uint64_t side_shift(const struct replay_side *side);

#endif
