/*
 * The order of rotated logs, oldest first: access.log-20240101.gz, access.log.10.gz, access.log.2.gz, access.log.1, access.log.
 * Files of one name stay together, where the first of them was; a name given twice comes twice.
 */
#ifndef DROSSEL_LOGS_ROTATED_H
#define DROSSEL_LOGS_ROTATED_H

#include <stdbool.h>
#include <stddef.h>

/* False: no memory, and the order is as it was. */
bool rotated_sort(const char **path, size_t count);

#endif
