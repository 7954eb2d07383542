/*
 * A line of JSON as named values: what the formats share whose lines are JSON objects.
 */
#ifndef DROSSEL_LOGS_JSON_LINE_H
#define DROSSEL_LOGS_JSON_LINE_H

#include "logs/json_scan.h"

/* Everything before the first `{`: what syslog, a container's runtime or a console put there. */
struct drossel_text json_line_prefix(struct drossel_text line);

/* False if the line is no whole object.  The time of the prefix stands in for one that the object does not have. */
bool json_line_read(const struct log_names *names, struct drossel_text line, struct log_scratch *scratch,
                    struct log_values *values);

/* A parser of such a format: its names, and how it makes a record of a line.  `values` holds what was found. */
struct json_reader {
    struct log_names names;
    enum log_line (*read)(struct json_reader *reader, struct drossel_text line, struct log_scratch *scratch,
                          struct log_record *record, struct log_values *values);
};

/* With the common names and the operator's map.  Freed with free(). */
struct json_reader *json_reader_open(const char *map, char *error, size_t error_size);
/* The unit of `duration`, which each server means differently; the operator's map stands. */
void json_reader_duration(struct json_reader *reader, enum log_unit unit);

/* For struct log_format. */
enum log_line json_reader_parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                                struct log_record *record);
bool json_reader_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns);

#endif
