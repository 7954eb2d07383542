/*
 * How full a table is.
 *
 * A table of a billion bytes is not read whole while others wait: of a large one only some slots are looked at, in
 * runs of neighbours that are spread evenly.  Homes of keys are hashes, so that these slots are like all others: with
 * 30,000 of them looked at, a share is known to within about one hundredth of the table.
 */
#ifndef DROSSEL_TABLE_FILL_H
#define DROSSEL_TABLE_FILL_H

#include "table/table.h"

#define TABLE_FILL_RUN 16            /* neighbours looked at together: the processor fetches them ahead */

struct table_fill {
    uint64_t slots;                  /* that there are */
    uint64_t looked_at;              /* equal to slots: all of them, and the rest is exact */
    uint64_t used;                   /* of those looked at: taken by a key ... */
    uint64_t live;                   /* ... which still means something: part of its quota is used, or it is blocked */
    uint64_t full;                   /* at its limit, blocked ones included */
    uint64_t blocked;
};

/* Looks at `most` slots at the most, but at least at one run of them.  Without a lock; 1 ms for 30,000 slots of a cold table. */
void table_fill(struct table *table, uint64_t now_ns, uint64_t most, struct table_fill *fill);

/* A count of `fill`, scaled to the whole table, rounded. */
uint64_t table_fill_scale(const struct table_fill *fill, uint64_t count);

#endif
