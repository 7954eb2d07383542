/*
 * Events to replay: a request, its time and its outcome; and files of them, one JSON object a line, read whole, in the order
 * of their time.
 */
#ifndef DROSSEL_CLI_EVENTS_H
#define DROSSEL_CLI_EVENTS_H

#include "drossel.h"
#include "policy/policy.h"

struct event {
    uint64_t t_ns;      /* for the engine */
    uint64_t told_ns;   /* as it was given: they differ where all times are put off */
    const char *t_text; /* JSON: the number, or the RFC 3339 string with its quotes; NULL: told_ns since 1970 */
    struct drossel_address address, peer;
    struct drossel_text method, host, path, account, token; /* size 0: not given; path is normalised */
    const struct drossel_header *headers, *answer_headers;  /* of the request, and of the application's answer */
    uint32_t header_count, answer_header_count;
    uint16_t status;     /* what the application answered; 0: it never did */
    uint64_t settle_ns;  /* when that was known; not before t */
    uint64_t extra_cost; /* as in drossel_request */
    /* For those who look at whom a policy hits: */
    struct drossel_text agent, forwarded; /* User-Agent, X-Forwarded-For; size 0: not given */
    struct drossel_text target;           /* as requested; size 0: no request line */
    struct drossel_text user;             /* whom the log names, signed in by basic authentication */
    bool signed_in;
    const char *file;                     /* where it was read ... */
    uint64_t line;                        /* ... from 1 */
    struct drossel_text raw;              /* the line as it stands, without its end */
};

struct events;

/* An empty set, or NULL without memory. */
struct events *events_open(void);
void events_close(struct events *events);

/* Appends all events of `path` (`-`: standard input).  A bad line is complained about as FILE:LINE and counted, the others
 * go on.  False if the file cannot be read, or without memory; that is complained about. */
bool events_read(struct events *events, const char *path);

/* Sorts by time, equal ones in the order they were read.  False without memory. */
bool events_sort(struct events *events);

size_t events_count(const struct events *events);
size_t events_unparsed(const struct events *events);
const struct event *events_at(const struct events *events, size_t index); /* in order once sorted */

#define EVENT_TIME_TEXT 48
/* The time as it was given, as JSON; `out` may be used for it. */
const char *event_time(const struct event *event, char out[EVENT_TIME_TEXT]);

/* A copy in one piece of memory, the caller's to free; NULL without memory.  The file's name is not copied. */
struct event *event_copy(const struct event *event);

/* The event as the engine's question under a policy; its texts live as long as the event's.  The user of a log is the account, unless a
 * source of the policy's `account_from` that comes before `basic` is in the event's headers. */
void event_request(const struct event *event, const struct policy *policy, enum drossel_door door,
                   struct drossel_request *request);

#endif
