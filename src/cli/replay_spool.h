/*
 * Pipes into files without a name: what comes through one can be recognised, and read again with a larger table, only so.
 *
 * Each waits until all has come, or a SIGINT, which progress_interrupted then tells: what came so far is kept.  False on failure, which
 * is complained about with the remedy.
 */
#ifndef DROSSEL_CLI_REPLAY_SPOOL_H
#define DROSSEL_CLI_REPLAY_SPOOL_H

#include <stdbool.h>

/* Standard input becomes the file, unless it is one. */
bool spool_stdin(void);
/* The named pipe is kept (logs/kept.h) under its name, which must outlive the reading. */
bool spool_pipe(const char *path);

#endif
