/*
 * The scalars of one line of JSON, one after the other, each with its path.
 *
 * A reader of our own, since what logs hold is not quite JSON: nginx writes \x22 where no escape=json was asked, `-` and `,,`
 * for variables that are empty, clients send bytes that are no UTF-8, and numbers are wanted digit by digit, not as a double.
 * It allocates nothing, recurses nowhere, reads each byte a bounded number of times, and gives views into the line.
 */
#ifndef DROSSEL_LOGS_JSON_SCAN_H
#define DROSSEL_LOGS_JSON_SCAN_H

#include "logs/fields.h"

#define JSON_SCAN_DEPTH 16 /* what is nested deeper is skipped */

struct json_scan {
    const char *at, *end;
    const char *quote;              /* the next quote, where one was looked for; else before `at` */
    bool faulty, done;              /* done: the first object is closed */
    size_t depth;
    bool is_object[JSON_SCAN_DEPTH];
    size_t base[JSON_SCAN_DEPTH];   /* size of the path of each open container, with its dot */
    struct drossel_text key;        /* of the member that is read */
    size_t path_size;
    char path[2 * LOG_NAME_MOST];
};

struct json_scalar {
    struct drossel_text key;   /* as it stands; of an array's element: the array's */
    struct drossel_text path;  /* folded, joined with dots; without containers that only wrap (`nginx`, `fields`, ...) */
    struct drossel_text value; /* as it stands, without quotes; size 0 for null */
    bool is_string, has_escapes;
};

/* Begins at the first `{`; false if there is none. */
bool json_scan_init(struct json_scan *scan, struct drossel_text line);
bool json_scan_next(struct json_scan *scan, struct json_scalar *scalar);
/* After the last: was it one whole object, with nothing but a comma behind it? */
bool json_scan_is_whole(const struct json_scan *scan);

/* The string without its escapes, \xHH among them; in the scratch where there are any.  Where it has no room, as it stands. */
struct drossel_text json_scan_text(const struct json_scalar *scalar, struct log_scratch *scratch);

#endif
