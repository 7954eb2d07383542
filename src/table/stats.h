/*
 * Live statistics of a table: what each limit said how often, whom it stopped and when, and how long decisions took.
 *
 * They are kept in the table's file, summed over all processes since it was made, and read without locks by `drossel show`,
 * `drossel top` and nginx's status page.  Nothing is decided by them: a lost count does no harm but to the eye.
 *
 *     file:  | ... registry | times, 4 KiB | offenders, 480 KiB | counters, 2 MiB | slots ... |
 *
 *  - Counters: two lines of 64 bytes for each registered limit and shard, the second for its dry runs.  Exact: each is one
 *    relaxed atomic add.  A thread always writes to the same of the TABLE_SHARDS shards, so that workers seldom want one line.
 *  - Offenders: the keys that were, or in a dry run would have been, delayed, refused, dropped, challenged or marked, each with
 *    its first and last time.  Sets of 7 entries, in which the one that was not seen for longest gives way; a full set takes a
 *    new key at most every TABLE_OFFENDERS_EVERY_NS, so that a flood of many keys neither costs much nor leaves only its last.
 *  - Times: powers of two of nanoseconds, of those decisions that a door measures.
 *
 * Memory.  The region is a hole in the file until a limit of a policy is registered; then the offenders, and the pages of the
 * counters that are in use, are reserved (so that a full file system is no fault later).  Where that fails, or the table was
 * made without statistics, everything here does nothing and tells of nothing.
 *
 * Who writes what.  Counters, times and an entry's words: anybody, by atomic adds and stores.  Which key an entry is: the holder
 * of its set's guard.  The guard is never waited for: who finds it held does not note that one offence; one that
 * is older than TABLE_OFFENDERS_PATIENCE_NS belonged to somebody who was killed, and is taken over.
 *
 * What a process killed at any instruction leaves: a count that is missing by one, or an entry with id 0, which is free.
 *
 * Not guaranteed: that an offence is not told of the key that takes over the entry in the very same nanoseconds.
 */
#ifndef DROSSEL_TABLE_STATS_H
#define DROSSEL_TABLE_STATS_H

#include "table/table.h"

/* What a limit said to a request, as if it were alone: a request that matches several limits is counted by each.  In the order
 * of enum drossel_verdict. */
enum table_verdict {
    TABLE_PASSED = 0,        /* it had room */
    TABLE_MARKED,
    TABLE_DELAYED,
    TABLE_CHALLENGED,
    TABLE_REFUSED,
    TABLE_DROPPED,
    TABLE_VERDICTS,
    /* Counted beside them, of the limit alone: */
    TABLE_BY_BLOCK = TABLE_VERDICTS, /* of those not passed: because a block or ban was running */
    TABLE_BLOCKS,                /* of those not passed: which began a block or ban */
    TABLE_TALLIES
};

#define TABLE_TIMES 32
#define TABLE_OFFENDERS_PATIENCE_NS UINT64_C(1000000000)
#define TABLE_OFFENDERS_EVERY_NS UINT64_C(10000000)

/* Is anything counted here? */
bool table_has_stats(const struct table *table);

/* The registry has a place of its own where no limit counts: there stands what became of whole requests, all their limits
 * together. */
#define TABLE_LIMIT_REQUEST TABLE_LIMIT_TICKET

/* ---- writing ---- */

/* Fetches the line of a limit's counters ahead, as table_prefetch does a key's. */
void table_stats_fetch(const struct table *table, uint32_t limit);

/* Counts one of a limit (registry index).  One atomic add. */
void table_stats_count(struct table *table, uint32_t limit, enum table_verdict tally, bool is_dry_run);

/* Counts so many that a limit let pass.  One atomic add. */
void table_stats_add_passed(struct table *table, uint32_t limit, uint64_t count);

/* Counts that a limit let pass what the request asked for, and that the request passed: as two of the above. */
void table_stats_count_passed(struct table *table, uint32_t limit, bool is_dry_run);

/* Who was not just passed, and how. */
struct table_offence {
    struct table_key key;
    uint16_t limit;          /* registry index */
    bool is_dry_run;         /* would have been */
    enum table_verdict verdict;  /* not TABLE_PASSED */
    uint64_t now_ns;
    /* Writes the readable name, masked as it is shown; called only when the key is new here and the table has names.
     * NULL: none. */
    size_t (*name)(void *context, char *out, size_t cap);
    void *context;
};
/* Notes it among the offenders; counts nothing else. */
void table_stats_offend(struct table *table, const struct table_offence *offence);

/* Counts a decision that took so long. */
void table_stats_time(struct table *table, uint64_t took_ns);

/* ---- reading: without locks, at any time ---- */

struct table_limit_stats {
    uint64_t count[TABLE_TALLIES];       /* by enum table_verdict */
    uint64_t dry_run[TABLE_TALLIES];     /* the same of its dry runs: would have been */
    bool is_dry_run;                     /* it is in dry run now, as far as its last verdicts tell */
};
/* The sums of one limit.  False, and all zero, where it is not counted. */
bool table_stats_limit(const struct table *table, uint32_t limit, struct table_limit_stats *stats);

/* How many decisions took from 2^i to under 2^(i+1) ns; the first also 0, the last all longer ones. */
bool table_stats_times(const struct table *table, uint64_t times[TABLE_TIMES]);
/* How long all of them took together, ns; 0 without statistics. */
uint64_t table_stats_times_sum(const struct table *table);

struct table_offender {
    uint64_t tag;            /* of the key, as in table_entry */
    uint16_t limit;
    bool is_dry_run;
    uint64_t first_ns, last_ns;
    uint64_t count[TABLE_VERDICTS];      /* by enum table_verdict; passed: 0 */
    char name[TABLE_NAME_BYTES + 1];     /* "" without */
};
/* The next offender at or after `*at`, which moves on; in no order.  False at the end.  Begin with 0. */
bool table_stats_next(const struct table *table, uint32_t *at, struct table_offender *offender);
#define TABLE_OFFENDERS_MAX 3584

#endif
