/*
 * One log file: its text in blocks, its parsers, and where the reading of it stands.
 *
 * Two parsers, because some formats keep a state (#Fields), and lines are scanned for their time ahead of where they are given out.
 * The state of a parser is named by an epoch: where in the file the group of `#` lines begins that it read last, plus one; 0 for the file's
 * beginning.  A parser that is asked for a line of another epoch is given that group again.
 */
#ifndef DROSSEL_LOGS_FILE_H
#define DROSSEL_LOGS_FILE_H

#include "logs/format.h"
#include "logs/mixed.h"
#include "logs/source.h"

enum file_parser { FILE_SCAN = 0, FILE_EMIT, FILE_PARSERS };

/* What the first pass learned of a stretch of text: of the lines that begin in it. */
struct file_block {
    uint64_t earliest_ns; /* of this and all later blocks, when the pass is over; UINT64_MAX: no line with a time */
    bool sorted;          /* their times never go back */
};

struct log_file {
    const char *name;
    struct log_source source;
    const struct log_format *format;
    const char *format_name;
    const char *format_text;            /* for its open */
    void *parser[FILE_PARSERS];
    uint64_t parser_epoch[FILE_PARSERS];
    bool is_named;                      /* the user said which format: then no line is of another */
    struct mixed mixed;

    struct file_block *block;
    size_t block_count, block_bytes;

    /* The reader's place. */
    size_t next_block;
    uint64_t offset, line;              /* of the next line; lines from 1 */
    uint64_t epoch;
    bool in_group;                      /* the line before was a `#` line */
    uint64_t previous_ns;               /* the time of the record before */
};

/* A line as it is met. */
struct file_line {
    struct drossel_text text;
    uint64_t offset, line, epoch;
};

/* False: with a message. */
bool file_prepare(struct log_file *file, char *error, size_t error_size);
void file_release(struct log_file *file);
void file_rewind(struct log_file *file);

/* The line at file->offset, and steps behind it.  False at `end` (an offset) or the end of the text. */
bool file_next(struct log_file *file, uint64_t end, struct file_line *line);
/* The text of the line that begins at the offset. */
struct drossel_text file_text(const struct log_file *file, uint64_t offset);

/* Reads a line with one of the parsers.  A comment that begins with `#` moves the file's epoch, if it is the line just met. */
enum log_line file_parse(struct log_file *file, enum file_parser which, const struct file_line *line, struct log_scratch *scratch,
                         struct log_record *record);
/* Its time only. */
bool file_time(struct log_file *file, const struct file_line *line, struct log_scratch *scratch, uint64_t *t_ns);

#endif
