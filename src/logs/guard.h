/*
 * Mappings of other people's files, guarded: a file that is cut off while it is mapped (logrotate's copytruncate) would kill who touches
 * the missing pages (SIGBUS).  Here the missing part becomes zeros, and it is noted from where on.
 */
#ifndef DROSSEL_LOGS_GUARD_H
#define DROSSEL_LOGS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* A number for the mapping; -1: the list is full, do not read it. */
int guard_watch(const void *map, size_t size);
void guard_unwatch(int guard);
/* Bytes that are there; `size` as long as nothing was cut off. */
size_t guard_intact(int guard, size_t size);

#endif
