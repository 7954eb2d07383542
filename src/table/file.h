/*
 * Opening and naming the file of a table.
 *
 * No descriptor is that of a standard stream: in a process whose output is closed the next file that is opened takes its number, and
 * whatever is printed then would be written over the table's header.
 */
#ifndef DROSSEL_TABLE_FILE_H
#define DROSSEL_TABLE_FILE_H

#include <limits.h>
#include <stdbool.h>

/* A file that is there, but none that a symbolic link names.  The descriptor, or -1 and errno. */
int file_open(const char *path);

/* A new file in the folder of `path`, without a name; or, where the file system has no such files, with the one that is written into
 * `temporary`, else "".  The descriptor, or -1 and errno. */
int file_make_unnamed(const char *path, char temporary[PATH_MAX]);

/* Gives it the name `path`, and takes the temporary one from it.  False and errno: EEXIST if somebody else has that name. */
bool file_give_name(int fd, const char *path, const char *temporary);

/* The same file under a descriptor above those of the standard streams, if it has one of theirs.  -1 stays. */
int file_above_streams(int fd);

#endif
