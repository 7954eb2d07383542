/* Live statistics of a table: counters in shards, offenders in small sets, times.  See stats.h. */
#include "table/stats.h"

#include "table/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define DRY_RUN 0x8000u /* in an offender's id, above the limit */
#define SET_BITS 9
#define HELD UINT64_C(1) /* in a guard: taken */
_Static_assert(OFFENDER_SETS == 1 << SET_BITS, "a set is chosen by so many bits");
_Static_assert(TABLE_LIMITS_MAX <= DRY_RUN, "a limit leaves the dry run's bit alone");
_Static_assert(TABLE_OFFENDERS_MAX == OFFENDER_SETS * OFFENDER_WAYS, "as many as all sets hold");

/* ---- memory ---- */

static bool reserve(const struct table *table, const void *begin, size_t bytes)
{
    off_t offset = (const unsigned char *)begin - table->map;
    int error;
    do
        error = fallocate(table->fd, FALLOC_FL_KEEP_SIZE, offset, (off_t)bytes) == 0 ? 0 : errno;
    while (error == EINTR);
    return error == 0 || error == EOPNOTSUPP || error == ENOSYS; /* then it was reserved with the file */
}

static bool reserve_all(const struct table *table, uint32_t limits)
{
    struct stats *stats = table->stats;
    bool good = reserve(table, stats, offsetof(struct stats, limits));
    for (unsigned shard = 0; good && shard < TABLE_SHARDS; shard++)
        good = reserve(table, stats->limits[shard], limits * sizeof(struct limit_stats));
    return good;
}

void stats_reserve(struct table *table, uint32_t limit)
{
    const uint32_t of_a_page = TABLE_PAGE_BYTES / sizeof(struct limit_stats);
    _Atomic uint32_t *counted = &table_header(table)->limits_counted;
    uint32_t known = atomic_load_explicit(counted, memory_order_relaxed);
    if (table->stats == NULL || limit < TABLE_LIMIT_FIRST || limit < known)
        return;
    uint32_t wanted = (limit / of_a_page + 1) * of_a_page;
    if (table->fd >= 0 && !reserve_all(table, wanted))
        return;
    while (known < wanted &&
           !atomic_compare_exchange_weak_explicit(counted, &known, wanted, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static uint32_t counted(const struct table *table)
{
    return atomic_load_explicit(&table_header(table)->limits_counted, memory_order_relaxed);
}

bool table_has_stats(const struct table *table)
{
    return counted(table) > 0;
}

/* ---- counting ---- */

inline void table_stats_fetch(const struct table *table, uint32_t limit)
{
    if (likely(table->stats != NULL))
        __builtin_prefetch(table->stats->limits[thread_own.shard][limit].count, 1, 3);
}

inline void table_stats_count(struct table *table, uint32_t limit, enum table_verdict tally, bool is_dry_run)
{
    if (unlikely(limit >= counted(table)))
        return;
    struct limit_stats *stats = &table_stats_of(table)->limits[thread_own.shard][limit];
    _Atomic uint64_t *count = is_dry_run ? stats->dry_run : stats->count;
    atomic_fetch_add_explicit(&count[tally], 1, memory_order_relaxed);
}

inline void table_stats_add_passed(struct table *table, uint32_t limit, uint64_t count)
{
    if (unlikely(limit >= counted(table)))
        return;
    struct limit_stats *stats = &table_stats_of(table)->limits[thread_own.shard][limit];
    atomic_fetch_add_explicit(&stats->count[TABLE_PASSED], count, memory_order_relaxed);
}

inline void table_stats_count_passed(struct table *table, uint32_t limit, bool is_dry_run)
{
    _Static_assert(TABLE_LIMIT_REQUEST < TABLE_LIMIT_FIRST, "who counts a policy's limit counts requests, too");
    if (unlikely(limit >= counted(table)))
        return;
    struct limit_stats *stats = table_stats_of(table)->limits[thread_own.shard];
    _Atomic uint64_t *count = is_dry_run ? stats[limit].dry_run : stats[limit].count;
    atomic_fetch_add_explicit(&count[TABLE_PASSED], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats[TABLE_LIMIT_REQUEST].count[TABLE_PASSED], 1, memory_order_relaxed);
}

void table_stats_time(struct table *table, uint64_t took_ns)
{
    if (counted(table) == 0)
        return;
    unsigned power = 63 - (unsigned)__builtin_clzll(took_ns | 1);
    atomic_fetch_add_explicit(&table->stats->times[thread_own.shard][power < TABLE_TIMES ? power : TABLE_TIMES - 1], 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&table->stats->times_sum[thread_own.shard].ns, took_ns, memory_order_relaxed);
}

/* ---- offenders ---- */

static void add(struct offender *offender, const struct table_offence *offence)
{
    atomic_fetch_add_explicit(&offender->count[offence->verdict - TABLE_MARKED], 1, memory_order_relaxed);
    if (atomic_load_explicit(&offender->last_ns, memory_order_relaxed) < offence->now_ns)
        atomic_store_explicit(&offender->last_ns, offence->now_ns, memory_order_relaxed);
}

static bool add_if_known(struct offender_set *set, uint64_t id, const struct table_offence *offence)
{
    for (unsigned way = 0; way < OFFENDER_WAYS; way++)
        if (atomic_load_explicit(&set->id[way], memory_order_acquire) ==
            id) { /* acquire: the entry was emptied before */
            add(&set->offender[way], offence);
            return true;
        }
    return false;
}

/* A free one, else the one that was not seen for longest. */
static unsigned find_victim(const struct offender_set *set)
{
    uint64_t oldest_ns = UINT64_MAX;
    unsigned victim = 0;
    for (unsigned way = 0; way < OFFENDER_WAYS; way++) {
        if (atomic_load_explicit(&set->id[way], memory_order_relaxed) == 0)
            return way;
        uint64_t last_ns = atomic_load_explicit(&set->offender[way].last_ns, memory_order_relaxed);
        if (last_ns < oldest_ns) {
            oldest_ns = last_ns;
            victim = way;
        }
    }
    return victim;
}

static void put_name(struct name_slot *slot, uint64_t id, const struct table_offence *offence)
{
    uint64_t words[TABLE_NAME_BYTES / 8] = { 0 };
    size_t size = offence->name(offence->context, (char *)words, sizeof words);
    atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* who sees the new text no longer sees the old key */
    for (unsigned i = 0; i < TABLE_NAME_BYTES / 8; i++)
        atomic_store_explicit(&slot->text[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&slot->key, size > 0 ? id : 0, memory_order_release); /* the text is complete */
}

/* Under the set's guard: gives an entry to a new id.  It is nobody's while its words change. */
static void replace(const struct table *table, struct offender_set *set, uint64_t id,
                    const struct table_offence *offence)
{
    unsigned way = find_victim(set);
    struct offender *offender = &set->offender[way];
    atomic_store_explicit(&set->id[way], 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* who sees the new words no longer sees the old id */
    for (unsigned i = 0; i < sizeof offender->count / sizeof offender->count[0]; i++)
        atomic_store_explicit(&offender->count[i], i == (unsigned)(offence->verdict - TABLE_MARKED),
                              memory_order_relaxed);
    atomic_store_explicit(&offender->first_ns, offence->now_ns, memory_order_relaxed);
    atomic_store_explicit(&offender->last_ns, offence->now_ns, memory_order_relaxed);
    if (table->names != NULL && offence->name != NULL)
        put_name(&set->name[way], id, offence);
    else
        atomic_store_explicit(&set->name[way].key, 0, memory_order_relaxed);
    atomic_store_explicit(&set->id[way], id, memory_order_release); /* the entry is complete */
}

static bool is_full(const struct offender_set *set)
{
    for (unsigned way = 0; way < OFFENDER_WAYS; way++)
        if (atomic_load_explicit(&set->id[way], memory_order_relaxed) == 0)
            return false;
    return true;
}

/* May nobody come in now?  A held guard is that of a writer; a free one tells when the last key came in. */
static bool is_closed(const struct offender_set *set, uint64_t guard, uint64_t now_ns)
{
    uint64_t since_ns = now_ns > guard ? now_ns - guard : guard - now_ns;
    if ((guard & HELD) != 0)
        return since_ns < TABLE_OFFENDERS_PATIENCE_NS;
    return since_ns < TABLE_OFFENDERS_EVERY_NS && is_full(set);
}

SELDOM static void add_new(const struct table *table, struct offender_set *set, uint64_t id,
                           const struct table_offence *offence)
{
    uint64_t own = offence->now_ns | HELD, seen = atomic_load_explicit(&set->guard, memory_order_relaxed);
    if (is_closed(set, seen, offence->now_ns) ||
        !atomic_compare_exchange_strong_explicit(&set->guard, &seen, own, memory_order_acquire, memory_order_relaxed))
        return;
    if (!add_if_known(set, id, offence)) /* by the last holder, since we looked */
        replace(table, set, id, offence);
    seen = own;
    /* Unless it was taken over, because we were stopped for so long. */
    (void)atomic_compare_exchange_strong_explicit(&set->guard, &seen, own & ~HELD, memory_order_release,
                                                  memory_order_relaxed);
}

void table_stats_offend(struct table *table, const struct table_offence *offence)
{
    if (offence->limit >= counted(table) || offence->verdict < TABLE_MARKED || offence->verdict >= TABLE_VERDICTS)
        return;
    uint64_t id = (offence->key.tag & TABLE_TAG_MASK) | (offence->is_dry_run ? DRY_RUN : 0) | offence->limit;
    uint64_t set = (id * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SET_BITS);
    _Atomic uint32_t *is_dry_run = &table_limit_slot(table, offence->limit)->is_dry_run;
    if (atomic_load_explicit(is_dry_run, memory_order_relaxed) != offence->is_dry_run)
        atomic_store_explicit(is_dry_run, offence->is_dry_run, memory_order_relaxed);
    if (!add_if_known(&table->stats->offenders[set], id, offence))
        add_new(table, &table->stats->offenders[set], id, offence);
}

/* ---- reading ---- */

static uint64_t word(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

bool table_stats_limit(const struct table *table, uint32_t limit, struct table_limit_stats *stats)
{
    *stats = (struct table_limit_stats){ 0 };
    if (limit >= counted(table))
        return false;
    for (unsigned shard = 0; shard < TABLE_SHARDS; shard++)
        for (unsigned i = 0; i < TABLE_TALLIES; i++) {
            stats->count[i] += word(&table->stats->limits[shard][limit].count[i]);
            stats->dry_run[i] += word(&table->stats->limits[shard][limit].dry_run[i]);
        }
    bool never_enforced = stats->dry_run[TABLE_PASSED] > 0 && stats->count[TABLE_PASSED] == 0;
    stats->is_dry_run =
        never_enforced || atomic_load_explicit(&table_limit_slot(table, limit)->is_dry_run, memory_order_relaxed) != 0;
    return true;
}

bool table_stats_times(const struct table *table, uint64_t times[TABLE_TIMES])
{
    memset(times, 0, TABLE_TIMES * sizeof times[0]);
    if (counted(table) == 0)
        return false;
    for (unsigned shard = 0; shard < TABLE_SHARDS; shard++)
        for (unsigned i = 0; i < TABLE_TIMES; i++)
            times[i] += word(&table->stats->times[shard][i]);
    return true;
}

uint64_t table_stats_times_sum(const struct table *table)
{
    uint64_t sum_ns = 0;
    for (unsigned shard = 0; counted(table) > 0 && shard < TABLE_SHARDS; shard++)
        sum_ns += word(&table->stats->times_sum[shard].ns);
    return sum_ns;
}

static void read_name(const struct name_slot *slot, uint64_t id, char name[TABLE_NAME_BYTES + 1])
{
    uint64_t words[TABLE_NAME_BYTES / 8];
    memset(name, 0, TABLE_NAME_BYTES + 1);
    if (atomic_load_explicit(&slot->key, memory_order_acquire) != id) /* acquire: its text is complete */
        return;
    for (unsigned i = 0; i < TABLE_NAME_BYTES / 8; i++)
        words[i] = word(&slot->text[i]);
    atomic_thread_fence(memory_order_acquire);
    if (word(&slot->key) == id)
        memcpy(name, words, sizeof words);
}

static bool read_offender(const struct offender_set *set, unsigned way, struct table_offender *out)
{
    const struct offender *offender = &set->offender[way];
    uint64_t id = atomic_load_explicit(&set->id[way], memory_order_acquire);
    if (id == 0)
        return false;
    *out = (struct table_offender){ .tag = id & TABLE_TAG_MASK,
                                    .limit = (uint16_t)(id & (DRY_RUN - 1)),
                                    .is_dry_run = (id & DRY_RUN) != 0,
                                    .first_ns = word(&offender->first_ns),
                                    .last_ns = word(&offender->last_ns) };
    for (unsigned i = TABLE_MARKED; i < TABLE_VERDICTS; i++)
        out->count[i] = word(&offender->count[i - TABLE_MARKED]);
    read_name(&set->name[way], id, out->name);
    atomic_thread_fence(memory_order_acquire);
    return word(&set->id[way]) == id;
}

bool table_stats_next(const struct table *table, uint32_t *at, struct table_offender *offender)
{
    if (counted(table) == 0)
        return false;
    while (*at < TABLE_OFFENDERS_MAX) {
        uint32_t index = (*at)++;
        if (read_offender(&table->stats->offenders[index / OFFENDER_WAYS], index % OFFENDER_WAYS, offender))
            return true;
    }
    return false;
}
