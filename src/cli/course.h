/*
 * The course of a replay: requests, the outcomes of those that went through, and the ends of holds, exactly at their times.
 *
 * At the same time outcomes come first, then ends of holds, then requests: whoever asks at the very moment at which a
 * neighbour's answer is known has the use of it, and whoever was held came before.  An outcome is due at its event's
 * `settle_ns`, or as soon as the request is decided where that is later: one that is known at once follows its own
 * decision directly.  With every outcome those who are held are asked again, in the order in which they came.
 *
 * Events are given one by one, in the order of their time; only those that are held are kept.
 */
#ifndef DROSSEL_CLI_COURSE_H
#define DROSSEL_CLI_COURSE_H

#include "cli/agenda.h"
#include "cli/events.h"
#include "cli/tally.h"
#include "cli/verdicts.h"
#include "limiter.h"

/* Called once for each event, when it is decided; `index` counts from 0 in the order in which they came.  False: no memory. */
typedef bool course_listener(void *context, uint64_t index, const struct event *event,
                             const struct drossel_decision *decision);

struct held;

/* Zero, but for what the caller sets. */
struct course {
    struct limiter *limiter;
    enum drossel_door door;
    struct verdicts *verdicts; /* NULL: not wanted */
    struct tally *tally;       /* NULL: not wanted */
    course_listener *listener; /* NULL: nobody */
    void *context;
    /* its own: */
    struct agenda agenda;
    struct held *held, **held_end; /* in the order in which they came */
    struct limiter_told told;
    uint64_t count;
};

/* Does what is due before the event, and decides it or holds it.  None at 0 where a limit counts failures: 0 is no time of
 * arrival.  False without memory. */
bool course_take(struct course *course, const struct event *event);
/* Does all that is still due.  False without memory. */
bool course_end(struct course *course);
/* Frees what is its own. */
void course_release(struct course *course);

#endif
