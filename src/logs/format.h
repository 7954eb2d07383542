/*
 * A log format: how a line becomes a record.  Private to this room; each format is one of these, the list is in formats.c.
 */
#ifndef DROSSEL_LOGS_FORMAT_H
#define DROSSEL_LOGS_FORMAT_H

#include "logs/logs.h"

/* Where a parser puts text that is not as it stands in the line: unescaped, joined.  As long as the line at most, emptied for each. */
struct log_scratch {
    char *data;
    size_t used, cap;
};

enum log_line {
    LOG_REQUEST,   /* the record is complete */
    LOG_COMMENT,   /* belongs to the format but is no request: `#Fields: ...`, an empty line, an error entry of Caddy */
    LOG_UNPARSED   /* neither */
};

struct log_format {
    const char *name;
    /* How sure is one to read this line so: 0 not at all, 100 nobody else could.  NULL: by --format only. */
    int (*recognise)(struct drossel_text line);
    /* A parser for one file, as some keep a state (#Fields) or are made of a string; `text` is the string of --format, or the map.
     * NULL: with a message.  NULL for open: no state. */
    void *(*open)(const char *text, char *error, size_t error_size);
    void (*close)(void *parser);
    /* Only the time of the line, for the first pass: quick, and for exactly the lines for which `parse` says LOG_REQUEST or LOG_UNPARSED
     * after the time: false if there is none.  NULL: parse is used. */
    bool (*time)(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns);
    /* Record is zeroed but for duration_ns (LOG_NO_DURATION), raw, line, file. */
    enum log_line (*parse)(void *parser, struct drossel_text line, struct log_scratch *scratch, struct log_record *record);
};

extern const struct log_format *const log_formats[];   /* ends with NULL */

/* What parsers share: one purpose each, see record.c and stamp.c.
 * Splits a request line into method, target, protocol; nothing is set where it is none.  HTTP/0.9 has no protocol. */
void log_record_request(struct log_record *record, struct drossel_text request);
/* Appends a header field, and sets agent, referer, host, forwarded where it is one of these.  Nothing for size 0 or `-`. */
void log_record_header(struct log_record *record, struct drossel_text name, struct drossel_text value);
/* Cuts port and brackets off: `[2001:db8::1]:443`, `192.0.2.1:80`; a bare IPv6 address stays. */
struct drossel_text log_client_text(struct drossel_text written);
/* HIT, STALE, REVALIDATED, Hit, RefreshHit, TCP_HIT ...: hit; MISS, BYPASS, EXPIRED, Miss, Error, dynamic ...: miss. */
enum log_cache log_cache_of(struct drossel_text word);
/* Seconds as a decimal, and with a unit (`12ms`, `1.5s`, `350us`). */
bool log_duration(struct drossel_text text, uint64_t unit_ns, uint64_t *ns);

/* Stamps.  Each reads one from the beginning of `text`, sets how much it took and how fine it was. */
struct log_stamp { uint64_t t_ns, resolution_ns; size_t size; };
/* 10/Oct/2000:13:55:36 -0700, also with .123; the zone may be missing. */
bool log_stamp_clf(struct drossel_text text, struct log_stamp *stamp);
/* RFC 3339 and ISO 8601: T or blank, fraction with . or , ; zone optional, +0200 too. */
bool log_stamp_iso(struct drossel_text text, struct log_stamp *stamp);
/* Seconds, with fraction; by their size also milli-, micro- and nanoseconds. */
bool log_stamp_epoch(struct drossel_text text, struct log_stamp *stamp);

/* A broken-down time as its writer wrote it. */
struct log_civil {
    int year, month, day, hour, minute, second; /* month 1 to 12; second 60 is a leap second, counted as the next one */
    int offset_s;                               /* of the zone, east of Greenwich */
    uint64_t fraction_ns;
};
/* False outside 1970 to 2255, or where a part is out of its range (a 31st of June is the 1st of July). */
bool log_stamp_civil(const struct log_civil *civil, uint64_t *t_ns);

/* log_stamp_clf where the stamp is mostly in the same minute, and zone, as the one before.  Zeroed at first. */
struct log_stamp_cache {
    char text[26];        /* `10/Oct/2000:13:55:36 -0700`; without a zone only up to the seconds */
    bool zoned;
    uint64_t minute_ns;   /* the beginning of its minute */
};
bool log_stamp_clf_cached(struct log_stamp_cache *cache, struct drossel_text text, struct log_stamp *stamp);

static inline bool log_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Size 0, or `-`. */
bool log_text_absent(struct drossel_text text);
/* Undoes \", \\, \n, \t, \r, \b, \v, \f, \xHH and \uHHHH, in the scratch; a text without a backslash is given back as it stands. */
struct drossel_text log_unescaped(struct log_scratch *scratch, struct drossel_text text);
/* What stands behind the prefix that a line got on its way: of syslog (RFC 3164, RFC 5424, ISO stamps), of a container's runtime, of
 * docker compose.  The line itself, if there is none. */
struct drossel_text log_line_body(struct drossel_text line);

#endif
