/*
 * How far a long replay is: a bar on a terminal, nothing elsewhere; and Ctrl-C, which ends it early with the report so far.
 */
#ifndef DROSSEL_CLI_REPLAY_PROGRESS_H
#define DROSSEL_CLI_REPLAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_shown;
    bool is_drawn;
    uint64_t begun_ns, drawn_ns;
};

/* From now on the first SIGINT only sets a mark; the second one ends the process as ever. */
void progress_begin(struct progress *progress);
/* Draws, at most some times a second.  False once there was a SIGINT. */
bool progress_at(void *progress, uint64_t done, uint64_t total);
/* Wipes the bar off. */
void progress_end(struct progress *progress);
/* Was there a SIGINT? */
bool progress_interrupted(void);

#endif
