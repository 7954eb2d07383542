/* The reading of several logs at once: what logs.c, survey.c and tally.c share. */
#ifndef DROSSEL_LOGS_READING_H
#define DROSSEL_LOGS_READING_H

#include "logs/file.h"
#include "logs/order.h"

#define PROGRESS_BYTES ((uint64_t)4 << 20)

struct logs {
    struct logs_options options;
    const char **path;        /* in the order of reading; the strings are the caller's */
    struct log_file *file;
    size_t count;
    struct order *order;
    struct log_scratch scratch;
    struct logs_facts facts;
    char error[1024];
    bool surveyed, failed, stopped;

    uint64_t bytes;           /* of all texts */
    uint64_t done, told;      /* bytes gone through in both passes, and when progress was last told */

    /* Of the block that is being read. */
    size_t current;           /* its file */
    bool in_block, direct;    /* direct: lines go straight to the caller, up to limit_ns */
    uint64_t block_end, limit_ns;

    /* What waits is given out up to here: a time, and of equals this file. */
    uint64_t frontier_ns;
    uint32_t frontier_file;
    uint64_t latest_ns;       /* LOGS_AS_FILED: of the records so far */
};

/* The earliest time that the unread rest of a file may hold. */
static inline uint64_t file_frontier(const struct log_file *file)
{
    return file->block[file->next_block].earliest_ns;
}

/* The first pass. */
void survey(struct logs *logs);

/* So many bytes more are done. */
void logs_progress(struct logs *logs, uint64_t bytes);

/* Room in the scratch for undoing the escapes of such a line and for joining its parts.  Without memory for it the escapes of this
 * line stay, or it is unparsed; the others are not lost for its sake. */
void logs_make_room(struct logs *logs, size_t line_size);

/* Says so when somebody cut the file off since the last time. */
void logs_check_cut(struct logs *logs, struct log_file *file);

/* Counts a line as what it is, and a record's facts. */
void tally_line(struct logs *logs, enum log_line result, struct log_record *record);

#endif
