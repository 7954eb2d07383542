/*
 * Logs that can be read only once (standard input, pipes) as files that can be read again.
 */
#ifndef DROSSEL_CLI_SUGGEST_SPOOL_H
#define DROSSEL_CLI_SUGGEST_SPOOL_H

#include <stddef.h>

/* Paths where `count` logs can be read any number of times: what is no plain file is copied into one without a name, until its end or
 * until there is an interrupt (replay_progress.h).  NULL after a complaint. */
char **spool_open(const char *const *path, size_t count);
void spool_close(char **path, size_t count);

#endif
