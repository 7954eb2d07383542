/*
 * Events to replay: files of one JSON object a line, read whole, in the order of their time.
 */
#ifndef DROSSEL_CLI_EVENTS_H
#define DROSSEL_CLI_EVENTS_H

#include "drossel.h"

struct event {
    uint64_t t_ns;
    const char *t_text; /* JSON: the number, or the RFC 3339 string with its quotes */
    struct drossel_address address, peer;
    struct drossel_text method, host, path, account, token; /* size 0: not given; path is normalised */
    const struct drossel_header *headers, *answer_headers;  /* of the request, and of the application's answer */
    uint32_t header_count, answer_header_count;
    uint16_t status;     /* what the application answered; 0: it never did */
    uint64_t settle_ns;  /* when that was known; not before t */
    uint64_t extra_cost; /* as in drossel_request */
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

/* Puts all times off by so much. */
void events_shift(struct events *events, uint64_t by_ns);

size_t events_count(const struct events *events);
size_t events_unparsed(const struct events *events);
const struct event *events_at(const struct events *events, size_t index); /* in order once sorted */

/* The event as the engine's question; its texts live as long as the events. */
void event_request(const struct event *event, enum drossel_door door, struct drossel_request *request);

#endif
