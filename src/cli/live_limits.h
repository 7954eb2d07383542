/*
 * The limits of the live table with their sums, one for each name: a limit whose numbers were changed has several entries in the
 * registry, and is one limit to a person.
 */
#ifndef DROSSEL_CLI_LIVE_LIMITS_H
#define DROSSEL_CLI_LIVE_LIMITS_H

#include "table/stats.h"
#include "table/table.h"

struct live_limit {
    const char *name;                /* of the rate; the registry's own text */
    const struct table_limit *limit; /* its newest numbers; NULL: the ban */
    struct table_limit_stats sum;    /* over all its entries */
};

struct live_limits {
    const struct table *table;
    uint32_t seen;                   /* entries of the registry that are sorted in */
    uint32_t count;
    uint16_t group[TABLE_LIMITS_MAX];    /* of a registry index: place in `limit` */
    struct live_limit limit[TABLE_LIMITS_MAX];   /* the ban first, then in the order of their first use */
};

/* NULL without memory.  The table must outlive it. */
struct live_limits *live_limits_open(const struct table *table);
void live_limits_close(struct live_limits *limits);

/* Takes in what was registered since, and sums up anew. */
void live_limits_read(struct live_limits *limits);

/* The limit of a registry index; NULL for the table's own and what is not known yet. */
const struct live_limit *live_limits_at(const struct live_limits *limits, uint32_t index);

/* The verdicts' names as people read them: "passed", "marked", ... by enum table_verdict, with "by block" and "blocks". */
extern const char *const live_verdict_names[TABLE_TALLIES];

/* Of all verdicts but passed. */
uint64_t live_stopped(const uint64_t count[TABLE_VERDICTS]);

/* `50 per 10s`, `5 per 1s, burst 20`; of the ban "". */
void live_rate_format(const struct table_limit *limit, char *out, size_t cap);

#endif
