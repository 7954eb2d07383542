/*
 * One key of the live table as a person looks at it, and what is known of its past.
 */
#ifndef DROSSEL_CLI_LIVE_KEY_H
#define DROSSEL_CLI_LIVE_KEY_H

#include <time.h>

#include "cli/live_limits.h"
#include "engine/engine.h"
#include "table/stats.h"
#include "table/table.h"

#define LIVE_STRIKES 127 /* of engine_state.strikes; the top bit tells a block by hand */

struct live_key {
    struct table_entry entry;        /* its name cleaned; a key without one is called by its tag, `#0123...` */
    bool allowed;                    /* one more request would be let through now */
    uint64_t used, count;            /* in the limit's window, and what it allows at once */
    uint64_t remaining;              /* 0 while blocked */
    uint64_t wait_ns;                /* until one more would be let through; ENGINE_NEVER; else 0 */
    uint64_t block_ns;               /* left of a block; 0: none */
};

/* Reads the key in a slot anew.  False if there is none, or, where `tag` is not 0, another one. */
bool live_key_read(struct table *table, uint64_t slot, uint64_t tag, uint64_t now_ns, struct live_key *key);

/* Makes a name fit for a terminal and for JSON: what clients sent of controls, and bytes that are no UTF-8, becomes `?`. */
void live_name_clean(char *name);

/* What entry of any limit is worth to look at: as engine_worth; 0: it has run out. */
uint32_t live_key_worth(struct table *table, const struct table_entry *entry, uint64_t now_ns);

/* ---- the past ---- */

/* All offenders, sorted by their keys. */
struct live_past {
    size_t count;
    struct table_offender offender[TABLE_OFFENDERS_MAX];
};
void live_past_read(const struct table *table, struct live_past *past);

/* How often a key was stopped in a limit, whatever numbers the limit had then, and when for the first and the last time. */
struct live_stops {
    uint64_t count;
    uint64_t first_ns, last_ns;      /* 0: never */
};
struct live_stops live_past_find(const struct live_past *past, const struct live_limits *limits,
                                 const struct table_entry *entry, bool is_dry_run);

/* A moment of the table's clock as local time, `2026-11-30 12:34:56`, and how long ago it was, `47 s ago`. */
void live_when_format(uint64_t then_ns, uint64_t now_ns, char *out, size_t cap);
void live_ago_format(uint64_t then_ns, uint64_t now_ns, char *out, size_t cap);
/* The same as Unix seconds. */
double live_when_unix(uint64_t then_ns, uint64_t now_ns);

#endif
