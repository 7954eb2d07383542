/*
 * The course of a replay: requests, the outcomes of those that went through, and the ends of holds, exactly at their times.
 *
 * At the same time outcomes come first, then ends of holds, then requests: whoever asks at the very moment at which a
 * neighbour's answer is known has the use of it, and whoever was held came before.  An outcome is due at its event's
 * `settle_ns`, or as soon as the request is decided where that is later: one that is known at once follows its own
 * decision directly.  With every outcome those who are held are asked again, in the order in which they came.
 */
#ifndef DROSSEL_CLI_COURSE_H
#define DROSSEL_CLI_COURSE_H

#include "cli/events.h"
#include "cli/tally.h"
#include "cli/verdicts.h"
#include "limiter.h"

struct course {
    struct limiter *limiter;
    const struct events *events; /* sorted; none at 0, if a limit counts failures: 0 is no time of arrival */
    enum drossel_door door;
    struct verdicts *verdicts; /* NULL: not wanted */
    struct tally *tally;       /* NULL: not wanted */
};

/* Decides every event.  False without memory. */
bool course_run(const struct course *course);

#endif
