/*
 * The text of one log, as memory: a plain file is mapped, what is compressed or comes through a pipe is written into a file without
 * a name first and that is mapped.
 *
 * A file that somebody cuts off while it is mapped does not kill the reader: see source_is_cut.
 */
#ifndef DROSSEL_LOGS_SOURCE_H
#define DROSSEL_LOGS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_source {
    const char *data;      /* the mapping; never NULL */
    size_t size;           /* bytes */
    size_t begin;          /* where the text begins: behind a byte order mark */
    size_t released;       /* pages before here were given back to the system */
    size_t mapped;         /* bytes of the mapping */
    int watch;             /* where the mapping is listed against SIGBUS; -1: not */
};

/* Said every few MB while something is spooled.  False stops there: what came so far is the text. */
struct log_spooling {
    bool (*progress)(void *context, uint64_t done);
    void *context;
};

/* Opens the file (`-`: standard input).  False: with a message that names it, and nothing to close.  True, and a message all the
 * same: it is damaged, and what could be read of it is the text. */
bool source_open(struct log_source *source, const char *path, const struct log_spooling *spooling, char *error, size_t error_size);
void source_close(struct log_source *source);

/* Gives the pages before `offset` back, every few MB: they count as this process's memory otherwise.  Reading them again brings them
 * back. */
void source_release(struct log_source *source, size_t offset);
/* From the beginning again. */
void source_rewind(struct log_source *source);

/* Was the file cut off since the last call?  What is missing reads as zeros; from now on `size` ends before it. */
bool source_is_cut(struct log_source *source);

#endif
