/*
 * What is due in a replay, earliest first: outcomes that arrive and holds that end.  A binary heap.
 */
#ifndef DROSSEL_CLI_AGENDA_H
#define DROSSEL_CLI_AGENDA_H

#include <stdbool.h>

#include "drossel.h"

/* At the same time outcomes come before ends of holds, and each in the order of the events. */
enum agenda_kind { AGENDA_OUTCOME, AGENDA_HOLD_END };

struct agenda_item {
    uint64_t at_ns;
    enum agenda_kind kind;
    enum drossel_outcome outcome;  /* of AGENDA_OUTCOME, as is the ticket; else NULL */
    uint64_t event;                /* index of the event that it belongs to */
    struct drossel_ticket *ticket; /* malloc'ed; owned by who has the item */
};

struct agenda { /* zero: empty */
    struct agenda_item *item;
    size_t count, cap;
};

/* False without memory; the item is the caller's then. */
bool agenda_add(struct agenda *agenda, const struct agenda_item *item);
/* The earliest, or NULL; valid until the next change. */
const struct agenda_item *agenda_first(const struct agenda *agenda);
/* Takes the earliest out; there must be one. */
struct agenda_item agenda_take(struct agenda *agenda);
/* Frees everything, tickets included. */
void agenda_release(struct agenda *agenda);

#endif
