/*
 * The table's layout in memory; private to this room.  See table.h for the drawing and who writes what.
 *
 * All shared words are atomics and, unless a line says otherwise, relaxed: what orders them is the guard, taken with acquire
 * and freed with release.  Readers without the guard check the key again afterwards and repair what they read.
 */
#ifndef DROSSEL_TABLE_LAYOUT_H
#define DROSSEL_TABLE_LAYOUT_H

#include "hint.h"
#include "table/stats.h"
#include "table/table.h"
#include "table/ticks.h"

#define TABLE_MAGIC "drossel\n"
#define TABLE_VERSION 5
#define TABLE_HEADER_BYTES 4096
#define TABLE_BOOT_ID_BYTES 40
#define TABLE_TAG_MASK (~UINT64_C(0xffff))

struct slot {
    _Atomic uint64_t key;            /* tag in the upper 48 bits, limit in the lower 16; 0: free */
    _Atomic uint32_t guard;          /* 0: free, else the holder's ticket */
    _Atomic uint32_t meta;           /* strikes in the upper 8 bits, tally in the lower 24 */
    _Atomic uint64_t block_end_ns;
    _Atomic uint64_t time_ns;
    _Atomic uint64_t log[4];
};
_Static_assert(sizeof(struct slot) == 64, "a slot is one cache line");
#define SLOT_TALLY UINT32_C(0xffffff)
#define SLOT_STRIKES 24

struct name_slot {
    _Atomic uint64_t key;            /* tag of the key that the name belongs to, so that stale ones are seen, and by which rules it was named */
    _Atomic uint64_t text[TABLE_NAME_BYTES / 8];
};
_Static_assert(sizeof(struct name_slot) == 64, "a name is as long as a slot");

struct limit_slot {
    _Atomic uint32_t ready;          /* 1 once `limit` is complete; never changes back */
    _Atomic uint32_t is_dry_run;     /* for the eye only: of the last offence */
    struct table_limit limit;
};
_Static_assert(sizeof(struct limit_slot) <= 256, "a registered limit has 256 bytes");
#define TABLE_LIMIT_BYTES 256

/* The statistics; see stats.h.  All of them at fixed places between the registry and the slots. */
#define TABLE_SHARDS 4
#define TABLE_PAGE_BYTES 4096
#define OFFENDER_SETS 512
#define OFFENDER_WAYS 7

struct offender {
    _Atomic uint64_t first_ns, last_ns;
    _Atomic uint64_t count[5];       /* of the verdicts from TABLE_MARKED on */
    uint64_t reserved;
};
_Static_assert(sizeof(struct offender) == 64, "an offender is one cache line");

struct offender_set {
    _Atomic uint64_t guard;          /* when it was taken last; the lowest bit: it is taken now */
    _Atomic uint64_t id[OFFENDER_WAYS];      /* key's tag | 1 << 15 for a dry run | limit; 0: free */
    struct offender offender[OFFENDER_WAYS];
    struct name_slot name[OFFENDER_WAYS];    /* its `key` is the id */
};
_Static_assert(sizeof(struct offender_set) == 960, "a set is 15 cache lines");

struct limit_stats {
    _Alignas(64) _Atomic uint64_t count[8];  /* by enum table_verdict */
    _Alignas(64) _Atomic uint64_t dry_run[8];
};
_Static_assert(sizeof(struct limit_stats) == 128, "a limit has two cache lines in each shard");

struct stats {
    _Alignas(TABLE_PAGE_BYTES) _Atomic uint64_t times[TABLE_SHARDS][TABLE_TIMES];
    struct { _Alignas(64) _Atomic uint64_t ns; } times_sum[TABLE_SHARDS];
    _Alignas(TABLE_PAGE_BYTES) struct offender_set offenders[OFFENDER_SETS];
    _Alignas(TABLE_PAGE_BYTES) struct limit_stats limits[TABLE_SHARDS][TABLE_LIMITS_MAX];
};
_Static_assert(sizeof(struct stats) % TABLE_PAGE_BYTES == 0, "whole pages: what is around them is reserved without them");

struct table_header {
    char magic[8];
    uint32_t version;
    uint16_t has_names;
    uint16_t has_stats;
    uint64_t keys;
    uint64_t file_bytes;
    uint8_t secret[TABLE_SECRET_BYTES];
    char boot_id[TABLE_BOOT_ID_BYTES];
    /* In one line what each request reads, and next to nobody writes.
     * The clock: offset and boot_id change only under the file's lock, when the machine has booted anew. */
    _Alignas(64) _Atomic int64_t clock_offset_ns;    /* table time minus time since boot */
    _Atomic uint64_t last_ns;        /* table time, noted at most once a second by whoever reads the clock */
    _Atomic int64_t last_wall_ns;    /* wall clock at that time: how long a reboot took */
    _Atomic uint64_t bans_until_ns;
    _Atomic uint64_t forgotten;      /* how many times a key was forgotten by hand */
    _Atomic uint32_t limits_reserved;
    _Atomic uint32_t limits_counted; /* limits below it have counters, whose memory is reserved; 0: no statistics */
    /* Counters have a line of their own: they are written on insertion only. */
    _Alignas(64) _Atomic uint64_t inserted;
    _Atomic uint64_t evicted_expired, evicted_live, evicted_full, evicted_blocked, taken_over;
};
_Static_assert(sizeof(struct table_header) <= TABLE_HEADER_BYTES, "the header has one page");

/* The state lies in one line with what a limit without closed stamps needs. */
struct compiled_limit {
    _Alignas(64) _Atomic uint32_t state;          /* 0: not yet, 1: usable, 2: unusable, else COMPILING + the process that compiles it */
    struct engine_limit limit;
};

struct table {
    /* In one line what each request reads. */
    _Alignas(64) unsigned char *map; /* header at its beginning */
    struct slot *slots;
    uint64_t keys;
    int64_t clock_offset_ns;         /* as in the header: constant while this machine runs */
    int64_t (*boot_clock)(void);     /* NULL: this machine's */
    uint8_t secret[TABLE_SECRET_BYTES];
    _Atomic uint32_t lost;
    _Atomic uint32_t generation;     /* owner.c's: tickets of threads that were given their first in another one are no good */
    size_t map_bytes;
    struct name_slot *names;         /* NULL: none */
    struct stats *stats;             /* NULL: none */
    int64_t (*wall_clock)(void);
    int fd;                          /* -1: private */
    int owner_fd;                    /* carries the locks of owner.c: the same, or a file of its own; -1: none */
    struct table *next;              /* owner.c's */
    char path[256];
    struct compiled_limit compiled[TABLE_LIMITS_MAX];
};

/* Out of line, so that what each decision does saves no registers for it and is small enough to be inlined. */
#define SELDOM __attribute__((noinline, cold))

static inline struct table_header *table_header(const struct table *table)
{
    return (struct table_header *)(void *)table->map;
}

static inline uint64_t stats_offset(void)
{
    return TABLE_HEADER_BYTES + (uint64_t)TABLE_LIMITS_MAX * TABLE_LIMIT_BYTES;
}

/* What a thread keeps for itself. */
struct thread_own {
    _Alignas(64) uint32_t last_ticket;
    uint32_t seeded_in;              /* table->generation; 0: not yet */
    uint32_t shard;                  /* of the statistics; until it has taken a ticket 0, or its parent's */
    struct ticks ticks;
};
_Static_assert(sizeof(struct thread_own) == 64, "one line of memory");
extern _Thread_local struct thread_own thread_own;

/* Makes room for the statistics of a limit, of whose memory none was reserved when the table was made. */
void stats_reserve(struct table *table, uint32_t limit);

/* Not from the pointer, for those who know that there are some: it lies in another line. */
static inline struct stats *table_stats_of(const struct table *table)
{
    return (struct stats *)(void *)(table->map + stats_offset());
}

static inline struct limit_slot *table_limit_slot(const struct table *table, uint32_t index)
{
    return (struct limit_slot *)(void *)(table->map + TABLE_HEADER_BYTES + (size_t)index * TABLE_LIMIT_BYTES);
}

static inline uint64_t table_home(const struct table *table, struct table_key key)
{
    return key.home & (table->keys - 1);
}

/* Copies a slot's words without looking at its guard. */
void slot_read(const struct slot *slot, struct engine_state *state);
void slot_write(struct slot *slot, const struct engine_state *state);

/* Clock of a table: makes the offset when it is new, mends it after a reboot (under the file's lock). */
void clock_start(struct table *table, uint64_t start_ns, const char *boot_id);
void clock_resume(struct table *table, const char *boot_id);
int64_t clock_wall(void);
void clock_find_ticks(void);         /* may the counter be used?  Before the first look at a clock, and again for each table: it may have changed */
void clock_boot_id(char out[TABLE_BOOT_ID_BYTES]);

/* Who holds guards, and whether he lives; see owner.c.  The lower bits of a ticket are the number of its process, never 0. */
#define OWNER_NUMBER_BITS 14
#define OWNER_LOCKS ((off_t)1 << 60)  /* where the locked bytes are: number 0 is the lock for opening */
uint32_t owner_first_ticket(uint32_t seeded_in);
bool owner_lives(const struct table *table, uint32_t ticket);
void owner_enter(struct table *table);   /* the table was opened */
void owner_leave(struct table *table);   /* or is closed, or was not opened: closes its files */

/* Watches a mapping for a file that shrinks under it; see lost.c.  False when too many tables are open. */
bool lost_watch(struct table *table);
void lost_unwatch(struct table *table);

#endif
