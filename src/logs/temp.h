/* Files without a name in $TMPDIR (or /tmp): they are gone when they are closed, however the process ends. */
#ifndef DROSSEL_LOGS_TEMP_H
#define DROSSEL_LOGS_TEMP_H

#include <stdbool.h>
#include <stddef.h>

/* -1: see temp_explain. */
int temp_open(void);
/* All of it, or false: see temp_explain. */
bool temp_write(int fd, const void *data, size_t size);

/* What errno says of the last call that failed, for `what`, with the folder and the remedy. */
void temp_explain(const char *what, char *error, size_t error_size);

#endif
