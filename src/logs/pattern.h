/*
 * A format given as its string, compiled: an nginx log_format (`$remote_addr - [$time_local] "$request" $status`, also with its
 * quotes, its name and the word log_format, over several lines) or an Apache LogFormat (`%h %l %u %t \"%r\" %>s %b`).
 *
 * A line is read from left to right: literal text has to be there, a variable reaches to the next literal text; between quotes an escaped
 * quote does not end it; before a time the literal text is the one behind which a time stands, and before a protocol or a status the
 * first one behind which such a thing stands, if there is any.
 */
#ifndef DROSSEL_LOGS_PATTERN_H
#define DROSSEL_LOGS_PATTERN_H

#include "logs/format.h"

#define PATTERN_ITEMS 96

/* What a variable is to a record. */
enum item_kind {
    ITEM_SKIP = 0,
    ITEM_CLIENT,
    ITEM_CLIENT_BELOW, /* the other end of the connection, where ITEM_CLIENT is what a proxy told: taken if there is none */
    ITEM_USER,
    ITEM_STAMP,        /* in brackets: with them */
    ITEM_CLOCK,        /* strftime: `name` is its format; parts of one time may stand apart */
    ITEM_REQUEST,
    ITEM_METHOD,
    ITEM_TARGET,
    ITEM_QUERY,
    ITEM_MARK,         /* $is_args: a question mark or nothing */
    ITEM_PROTOCOL,
    ITEM_STATUS,
    ITEM_BYTES,
    ITEM_DURATION,     /* `unit_ns` */
    ITEM_HOST,
    ITEM_HEADER,       /* `name` */
    ITEM_COOKIE,       /* `name` */
    ITEM_CACHE,
    ITEM_VERDICT
};

struct pattern_item {
    enum item_kind kind;
    uint64_t unit_ns;
    struct drossel_text name;
    struct drossel_text after; /* the literal text that follows */
    bool quoted;               /* the literal text closes the quotes that it stands in */
};

struct pattern {
    char *text, *literals;     /* what the names and the literal texts point into */
    struct drossel_text first; /* the literal text before the first item */
    struct pattern_item item[PATTERN_ITEMS];
    size_t count;
    bool has_client;           /* an ITEM_CLIENT */
    struct log_stamp_cache cache;
};

/* NULL: with a message. */
struct pattern *pattern_open(const char *string, char *error, size_t error_size);
void pattern_close(struct pattern *pattern);

/* Is it a field in which a proxy says who the client is, other than X-Forwarded-For: X-Real-IP, CF-Connecting-IP, ... */
bool pattern_names_client(struct drossel_text field);

/* Is it the string of a format, and not the name of one? */
bool pattern_is_string(const char *text);

enum log_line pattern_parse(struct pattern *pattern, struct drossel_text line, struct log_scratch *scratch,
                            struct log_record *record);

/* The time only, of the line's beginning up to it. */
bool pattern_time(struct pattern *pattern, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns);

/* Reads strftime's `format` from the beginning of the text into parts of a time.  Returns how much it took; 0: it does not fit.
 * `epoch_ns` is set where the time is given whole (%s). */
size_t pattern_clock(struct drossel_text format, struct drossel_text text, struct log_civil *civil, uint64_t *epoch_ns);

#endif
