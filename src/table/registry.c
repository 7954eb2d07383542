/*
 * The registry: which limit a slot's 16 bits mean, readable by every process and after the policy has changed.
 *
 * Append-only.  Who registers reserves an index, writes the entry, then publishes it; who dies in between leaves an entry
 * that is never published, which is all the harm.  Two who register the same limit at once make two equal entries; that is
 * harmless, too.
 */
#include "table/layout.h"

#include <string.h>
#include <unistd.h>

enum { NOT_YET = 0, USABLE = 1, UNUSABLE = 2, COMPILING = 3 };

uint32_t table_limit_count(const struct table *table)
{
    uint32_t count = atomic_load_explicit(&table_header(table)->limits_reserved, memory_order_acquire);
    return count < TABLE_LIMITS_MAX ? count : TABLE_LIMITS_MAX;
}

const struct table_limit *table_limit_at(const struct table *table, uint32_t index)
{
    if (index >= table_limit_count(table))
        return NULL;
    const struct limit_slot *slot = table_limit_slot(table, index);
    /* acquire: the entry's words were written before it was published */
    return atomic_load_explicit(&slot->ready, memory_order_acquire) == 1 ? &slot->limit : NULL;
}

static bool is_equal(const struct table_limit *a, const struct table_limit *b)
{
    return strncmp(a->name, b->name, sizeof a->name) == 0 && strncmp(a->subject, b->subject, sizeof a->subject) == 0 &&
           a->seed == b->seed && a->ipv6_prefix == b->ipv6_prefix && memcmp(&a->spec, &b->spec, sizeof a->spec) == 0;
}

int table_limit_register(struct table *table, const struct table_limit *limit)
{
    uint32_t count = table_limit_count(table);
    for (uint32_t i = 0; i < count; i++) {
        const struct table_limit *known = table_limit_at(table, i);
        if (known != NULL && is_equal(known, limit)) {
            stats_reserve(table, i);
            return (int)i;
        }
    }
    _Atomic uint32_t *reserved = &table_header(table)->limits_reserved;
    uint32_t index = atomic_load_explicit(reserved, memory_order_relaxed);
    do {
        if (index >= TABLE_LIMITS_MAX)
            return -1;
    } while (!atomic_compare_exchange_weak_explicit(reserved, &index, index + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    struct limit_slot *slot = table_limit_slot(table, index);
    slot->limit = *limit;
    stats_reserve(table, index);
    atomic_store_explicit(&slot->ready, 1, memory_order_release);
    return (int)index;
}

/* Compiles the entry if nobody does.  Where another thread is at it, microseconds pass; where a fork left that thread
 * behind, the child does it anew. */
static uint32_t compile_once(struct compiled_limit *compiled, const struct engine_spec *spec)
{
    uint32_t ours = COMPILING + (uint32_t)getpid(), seen = NOT_YET;
    while (!atomic_compare_exchange_strong_explicit(&compiled->state, &seen, ours, memory_order_acq_rel,
                                                    memory_order_acquire)) {
        if (seen == USABLE || seen == UNUSABLE)
            return seen;
        if (seen == ours)
            seen = NOT_YET;
    }
    seen = engine_compile(spec, &compiled->limit) == NULL ? USABLE : UNUSABLE;
    atomic_store_explicit(&compiled->state, seen, memory_order_release);
    return seen;
}

SELDOM static const struct engine_limit *compile(struct table *table, uint32_t index)
{
    const struct table_limit *limit = table_limit_at(table, index);
    struct compiled_limit *compiled = &table->compiled[index];
    if (limit == NULL || atomic_load_explicit(&compiled->state, memory_order_acquire) == UNUSABLE)
        return NULL;
    return compile_once(compiled, &limit->spec) == USABLE ? &compiled->limit : NULL;
}

inline const struct engine_limit *table_engine_at(struct table *table, uint32_t index)
{
    if (index >= TABLE_LIMITS_MAX)
        return NULL;
    struct compiled_limit *compiled = &table->compiled[index];
    /* acquire: what was compiled is seen */
    bool is_usable = atomic_load_explicit(&compiled->state, memory_order_acquire) == USABLE;
    return likely(is_usable) ? &compiled->limit : compile(table, index);
}
