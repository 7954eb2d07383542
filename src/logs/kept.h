/*
 * What came through a named pipe, kept in a file without a name: a pipe can be read once, and whoever opens and closes it takes the
 * reader away from its writer.  So what is to be looked at first, or read twice, is kept by its name, and source_open and the others
 * of this room read what is kept.
 *
 * For a command that reads its files in one thread; kept until the process ends.
 */
#ifndef DROSSEL_LOGS_KEPT_H
#define DROSSEL_LOGS_KEPT_H

#include <stdbool.h>

#define KEPT_MOST 64

/* From now on `path`, which outlives the process's use of it, is what `fd` holds.  Takes `fd` over, but on false: there are KEPT_MOST. */
bool kept_add(const char *path, int fd);
bool kept_is(const char *path);
/* Opens what is kept, from its beginning; -1 and errno if nothing is. */
int kept_open(const char *path);

#endif
