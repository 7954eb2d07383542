/* Where the variables of a pattern end in a line; private to log_format.c. */
#ifndef DROSSEL_LOGS_PATTERN_END_H
#define DROSSEL_LOGS_PATTERN_END_H

#include "logs/pattern.h"

/* A line under way. */
struct pattern_match {
    struct pattern *pattern;
    const char *p, *end;
    struct log_scratch *scratch;
    struct log_record *record;        /* NULL: only the time is wanted */
    struct drossel_text query, below; /* $args; the other end of the connection */
    struct log_civil civil;           /* of the parts of a time */
    bool has_civil, has_time;
    uint64_t t_ns, resolution_ns; /* the time that was found */
    uint64_t fraction_unit_ns;    /* of the part of a second that stands apart, in `civil`; 0: there is none */
};

/* Does the literal text stand at p? */
bool pattern_literal_at(const struct pattern_match *match, const char *p, struct drossel_text literal);
/* A stamp at p, with its brackets if it is in some. */
bool pattern_stamp_at(const struct pattern_match *match, const char *p, struct log_stamp *stamp);
/* The text behind item `at`, where it stands.  NULL: nowhere. */
const char *pattern_item_end(const struct pattern_match *match, size_t at);
/* How much of what follows is item `at`, where no text says where it ends. */
size_t pattern_natural_size(const struct pattern_match *match, size_t at);

#endif
