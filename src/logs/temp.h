/* Files without a name in $TMPDIR (or /tmp): they are gone when they are closed, however the process ends. */
#ifndef DROSSEL_LOGS_TEMP_H
#define DROSSEL_LOGS_TEMP_H

#include <stdbool.h>
#include <stddef.h>

/* -1: with a message; `what` says what it is for. */
int temp_open(const char *what, char *error, size_t error_size);
/* False: with a message that names the folder and the remedy. */
bool temp_write(int fd, const void *data, size_t size, const char *what, char *error, size_t error_size);

#endif
