/*
 * Values by name: what formats share whose lines say what each value is (JSON, LTSV, W3C).
 *
 * A table knows the names that servers and their operators use: `remote_addr`, `ClientIP`, `c-ip` are the client.  A value whose
 * name ranks higher takes the place of another (`request_uri` says more than `uri`); of equal ones the first stays.
 */
#ifndef DROSSEL_LOGS_FIELDS_H
#define DROSSEL_LOGS_FIELDS_H

#include "logs/format.h"

#define LOG_NAME_MOST 96  /* bytes of a folded name; a longer one is unknown */
#define LOG_RANK_CERTAIN 100 /* of names that somebody said, and that are not guessed */
#define LOG_NAMES_CAP 512 /* places in a table: a power of two, twice as many as names */

enum log_field {
    FIELD_NONE,
    FIELD_TIME,   /* a whole stamp, or the time of a day */
    FIELD_DATE,
    FIELD_CLIENT,
    FIELD_NEAR,   /* the client if nothing else is, else the host: `host` of LTSV */
    FIELD_USER,
    FIELD_REQUEST,
    FIELD_METHOD,
    FIELD_TARGET, /* with or without a query string; also a whole URL */
    FIELD_QUERY,
    FIELD_PROTOCOL,
    FIELD_STATUS,
    FIELD_BYTES,
    FIELD_DURATION,
    FIELD_CACHE,
    FIELD_VERDICT,
    FIELD_LOGGER,
    FIELD_MESSAGE,
    FIELD_LEVEL,
    FIELD_HOST, /* from here on: fields of the request, see log_values_header */
    FIELD_AGENT,
    FIELD_REFERER,
    FIELD_FORWARDED,
    FIELD_COOKIE,
    FIELD_COUNT
};

/* Of a duration.  Guess: seconds if it has a fraction, else milliseconds. */
enum log_unit { UNIT_GUESS, UNIT_S, UNIT_MS, UNIT_US, UNIT_NS };

struct log_name {
    const char *name; /* folded */
    uint8_t field, rank, unit;
    uint8_t size; /* of the name; set by log_names_add */
};

/* A hash table over names, so that a line of eighty keys costs eighty short look-ups. */
struct log_names {
    struct log_name slot[LOG_NAMES_CAP];
    size_t count;
    char map[1024]; /* the names of the operator's map, folded */
};

/* What a line says; zeroed before each. */
struct log_values {
    struct drossel_text text[FIELD_COUNT];
    uint8_t rank[FIELD_COUNT];
    uint8_t unit;           /* of the duration */
    uint64_t resolution_ns; /* of the time; set by log_values_record */
    uint32_t header_count;
    struct drossel_header header[LOG_HEADERS_MOST];
};

/* Letters in lower case, digits and dots; all else is left out.  Returns the size, at most LOG_NAME_MOST. */
size_t log_name_fold(struct drossel_text name, char out[LOG_NAME_MOST]);

/* No names. */
void log_names_clear(struct log_names *names);
/* The common names; copied by whoever adds to them. */
const struct log_names *log_names_common(void);
/* Another name, or another meaning of a known one.  `name` is folded, and outlives the table. */
void log_names_add(struct log_names *names, struct log_name name);
/* The same, unless the operator mapped it. */
void log_names_default(struct log_names *names, struct log_name name);
/* The operator's own: `time=ts,client=req.ip,duration=took:ms`; NULL: none.  False: with a message that names the entry and the remedy. */
bool log_names_map(struct log_names *names, const char *map, char *error, size_t error_size);
/* NULL: unknown.  `folded` is folded. */
const struct log_name *log_names_find(const struct log_names *names, struct drossel_text folded);

/* Nothing for an empty value, and `-`. */
void log_values_set(struct log_values *values, const struct log_name *name, struct drossel_text value);
/* A field of the request.  Where there are too many, those that no limit is for (Accept, Sec-Fetch-Mode) go. */
void log_values_header(struct log_values *values, struct drossel_text name, struct drossel_text value);
/* Is it the name of a request's header, as nginx (http_x_api_key), Traefik (request_X-Api-Key) or W3C (cs(X-Api-Key)) write it?
 * `header` may be put into the scratch. */
bool log_header_name(struct drossel_text name, struct log_scratch *scratch, struct drossel_text *header);

/* Fills the record.  LOG_UNPARSED where the values are no request: without a time, or with neither a request nor a client and
 * a status. */
enum log_line log_values_record(struct log_values *values, struct log_scratch *scratch, struct log_record *record);

/* What values and columns share.  A stamp in any of the three ways, in brackets or not. */
bool log_any_stamp(struct drossel_text text, struct log_stamp *stamp);
uint16_t log_status(struct drossel_text text);
/* Digits, saturated; 0 if there are none. */
uint64_t log_count(struct drossel_text text);
/* Where only X-Forwarded-For is logged: the first of the list, which is whom the proxies speak for. */
struct drossel_text log_first_client(struct drossel_text list);
/* `https://shop.example:443/a?b` is `/a?b` at that host; anything else stays. */
struct drossel_text log_target(struct drossel_text written, struct drossel_text *host);
/* Room in the scratch; NULL if there is none. */
char *log_scratch_take(struct log_scratch *scratch, size_t size);
/* Undoes %HH.  The text itself where nothing is to undo, or no room. */
struct drossel_text log_percent_decoded(struct log_scratch *scratch, struct drossel_text text);

#endif
