/*
 * Lines of another format than their file's: the operator changed the log_format at noon, or a proxy writes requests that it could
 * not route in another way.  Each such line is read by itself, by the format that is sure of it.
 *
 * Only formats without a state between lines take part, so that a line means the same in both passes and in any order.
 */
#ifndef DROSSEL_LOGS_MIXED_H
#define DROSSEL_LOGS_MIXED_H

#include "logs/format.h"

#define MIXED_FORMATS_MOST 40

/* Zeroed at first. */
struct mixed {
    void *parser[MIXED_FORMATS_MOST]; /* opened when first needed */
};

void mixed_release(struct mixed *mixed);

/* LOG_UNPARSED, if none but `own` is sure of it. */
enum log_line mixed_parse(struct mixed *mixed, const struct log_format *own, struct drossel_text line,
                          struct log_scratch *scratch, struct log_record *record);
bool mixed_time(struct mixed *mixed, const struct log_format *own, struct drossel_text line, uint64_t *t_ns,
                uint64_t *resolution_ns);
/* Is any sure of it? */
bool mixed_knows(const struct log_format *own, struct drossel_text line);

#endif
