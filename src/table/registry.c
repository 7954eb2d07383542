/*
 * The registry: which limit a slot's 16 bits mean, readable by every process and after the policy has changed.
 *
 * Append-only.  Who registers reserves an index, writes the entry, then publishes it; who dies in between leaves an entry
 * that is never published, which is all the harm.  Two who register the same limit at once make two equal entries; that is
 * harmless, too.
 */
#include "table/layout.h"

#include <string.h>

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
        if (known != NULL && is_equal(known, limit))
            return (int)i;
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
    atomic_store_explicit(&slot->ready, 1, memory_order_release);
    return (int)index;
}

const struct engine_limit *table_engine_at(struct table *table, uint32_t index)
{
    if (index >= TABLE_LIMITS_MAX)
        return NULL;
    struct compiled_limit *compiled = &table->compiled[index];
    uint32_t state = atomic_load_explicit(&compiled->state, memory_order_acquire);
    if (state == 2)
        return &compiled->limit;
    const struct table_limit *limit = table_limit_at(table, index);
    if (limit == NULL || state == 3)
        return NULL;
    uint32_t none = 0;
    if (atomic_compare_exchange_strong_explicit(&compiled->state, &none, 1, memory_order_acq_rel,
                                                memory_order_acquire)) {
        bool usable = engine_compile(&limit->spec, &compiled->limit) == NULL;
        atomic_store_explicit(&compiled->state, usable ? 2 : 3, memory_order_release);
        return usable ? &compiled->limit : NULL;
    }
    while ((state = atomic_load_explicit(&compiled->state, memory_order_acquire)) == 1)
        continue;    /* another thread compiles it: microseconds, once in a process's life */
    return state == 2 ? &compiled->limit : NULL;
}
