/*
 * Formats of one server each whose lines are columns in a fixed order: a function that reads a line is all that they need.
 */
#ifndef DROSSEL_LOGS_WORDED_H
#define DROSSEL_LOGS_WORDED_H

#include "logs/columns.h"
#include "logs/fields.h"

/* False: no line of this server.  `stamp` is its time. */
typedef bool worded_read(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                         struct log_stamp *stamp);

/* A parser is such a function, in a box, as pointers to functions and to data are not the same to C. */
struct worded {
    worded_read *read;
};

/* For struct log_format. */
enum log_line worded_parse(void *parser, struct drossel_text line, struct log_scratch *scratch, struct log_record *record);
bool worded_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns);
/* `sure` if the line can be read. */
int worded_confidence(worded_read *read, struct drossel_text line, int sure);

#endif
