/*
 * A record of an access log as an event.
 *
 * The client's text is the peer, from which the policy's `client:` recovers who asks; a host name gets an address of its own.  The
 * request line gives method and path; without a usable one both are absent, and the request still counts.  The outcome is known at once.
 */
#ifndef DROSSEL_CLI_REPLAY_RECORD_H
#define DROSSEL_CLI_REPLAY_RECORD_H

#include "cli/events.h"
#include "cli/replay_names.h"
#include "logs/logs.h"

struct recorder {
    struct names *names;
    char *path; /* normalised, of the last record */
    size_t path_cap;
};

/* Into an event that is zero at first, and then the one before.  Its texts live until the next call of logs_next or of this.  False without memory. */
bool record_event(struct recorder *recorder, const struct logs *logs, const struct log_record *record, struct event *event);
void recorder_release(struct recorder *recorder); /* not the names */

#endif
