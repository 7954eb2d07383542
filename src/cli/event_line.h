/*
 * One line of an events file.
 */
#ifndef DROSSEL_CLI_EVENT_LINE_H
#define DROSSEL_CLI_EVENT_LINE_H

#include "cli/events.h"

#define EVENT_WHY_BYTES 512

/* Memory that lives as long as the events, or NULL. */
void *events_keep(struct events *events, size_t size);

/* Reads a line into `event`, its texts into the memory of `events`.  False: `why` says what was found and what would be right. */
bool event_read(struct events *events, struct event *event, struct drossel_text line, char why[EVENT_WHY_BYTES]);

#endif
