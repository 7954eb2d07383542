/* Looking at a table while others write to it: names, entries one by one, counters, and whether all is valid. */
#include "table/layout.h"

#include <string.h>

static bool entry_read(const struct table *table, uint64_t index, struct table_entry *entry)
{
    const struct slot *slot = &table->slots[index];
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        uint64_t key = atomic_load_explicit(&slot->key, memory_order_acquire);
        if (key == 0)
            return false;
        slot_read(slot, &entry->state);
        atomic_thread_fence(memory_order_acquire);
        bool held = atomic_load_explicit(&slot->guard, memory_order_relaxed) != 0;
        if (atomic_load_explicit(&slot->key, memory_order_relaxed) != key || (held && attempt < 2))
            continue;
        entry->slot = index;
        entry->limit = (uint16_t)key;
        entry->tag = key & TABLE_TAG_MASK;
        return true;
    }
    return false;
}

static void name_read(const struct table *table, struct table_entry *entry)
{
    memset(entry->name, 0, sizeof entry->name);
    if (table->names == NULL)
        return;
    const struct name_slot *name = &table->names[entry->slot];
    uint64_t words[TABLE_NAME_BYTES / 8];
    uint64_t key = atomic_load_explicit(&name->key, memory_order_acquire); /* acquire: its text is complete */
    if ((key & TABLE_TAG_MASK) != entry->tag)
        return;
    for (unsigned i = 0; i < TABLE_NAME_BYTES / 8; i++)
        words[i] = atomic_load_explicit(&name->text[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&name->key, memory_order_relaxed) == key)
        memcpy(entry->name, words, sizeof words);
}

bool table_name_is_set(const struct table *table, const struct table_hold *hold, struct table_key key)
{
    return table->names != NULL && atomic_load_explicit(&table->names[hold->slot].key, memory_order_relaxed) == key.tag;
}

void table_name_set(struct table *table, const struct table_hold *hold, struct table_key key, const char *name,
                    size_t size)
{
    if (table->names == NULL)
        return;
    struct name_slot *slot = &table->names[hold->slot];
    uint64_t words[TABLE_NAME_BYTES / 8] = { 0 };
    memcpy(words, name, size < TABLE_NAME_BYTES ? size : TABLE_NAME_BYTES);
    atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* who sees the new text no longer sees the old key */
    for (unsigned i = 0; i < TABLE_NAME_BYTES / 8; i++)
        atomic_store_explicit(&slot->text[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&slot->key, key.tag, memory_order_release); /* the text is complete */
}

bool table_next_before(const struct table *table, uint64_t *slot, uint64_t end, struct table_entry *entry)
{
    uint64_t slots = table->keys + TABLE_NEIGHBOURS - 1;
    if (end > slots)
        end = slots;
    for (; *slot < end; (*slot)++) {
        if (!entry_read(table, *slot, entry))
            continue;
        name_read(table, entry);
        (*slot)++;
        return true;
    }
    return false;
}

bool table_next(const struct table *table, uint64_t *slot, struct table_entry *entry)
{
    return table_next_before(table, slot, UINT64_MAX, entry);
}

/* Where it is, is near enough to its home; behind the last home lie some slots more. */
struct table_key table_entry_key(const struct table *table, const struct table_entry *entry)
{
    uint64_t last = table->keys - 1;
    return (struct table_key){ .home = entry->slot < last ? entry->slot : last, .tag = entry->tag };
}

bool table_forget(struct table *table, const struct table_entry *entry, uint64_t now_ns)
{
    struct slot *slot = &table->slots[entry->slot];
    struct table_hold hold = { .slot = entry->slot, .ticket = table_ticket(table) };
    uint32_t none = 0;
    while (!atomic_compare_exchange_strong_explicit(&slot->guard, &none, hold.ticket, memory_order_acquire,
                                                    memory_order_relaxed)) {
        table_wait(table, &hold, now_ns);
        none = 0;
    }
    bool same = (atomic_load_explicit(&slot->key, memory_order_relaxed) & TABLE_TAG_MASK) == entry->tag;
    if (same)
        atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
    table_drop(table, &hold);
    /* After it, and released: who sees the new count sees the free slot. */
    atomic_fetch_add_explicit(&table_header(table)->forgotten, 1, memory_order_release);
    return same;
}

void table_counts(const struct table *table, struct table_counts *counts)
{
    const struct table_header *header = table_header(table);
    counts->inserted = atomic_load_explicit(&header->inserted, memory_order_relaxed);
    counts->evicted_expired = atomic_load_explicit(&header->evicted_expired, memory_order_relaxed);
    counts->evicted_live = atomic_load_explicit(&header->evicted_live, memory_order_relaxed);
    counts->evicted_full = atomic_load_explicit(&header->evicted_full, memory_order_relaxed);
    counts->evicted_blocked = atomic_load_explicit(&header->evicted_blocked, memory_order_relaxed);
    counts->taken_over = atomic_load_explicit(&header->taken_over, memory_order_relaxed);
}

uint64_t table_forgotten(const struct table *table)
{
    return atomic_load_explicit(&table_header(table)->forgotten, memory_order_acquire);
}

uint64_t table_bans_until(const struct table *table)
{
    return atomic_load_explicit(&table_header(table)->bans_until_ns, memory_order_relaxed);
}

void table_bans_extend(struct table *table, uint64_t until_ns)
{
    _Atomic uint64_t *bans_until = &table_header(table)->bans_until_ns;
    uint64_t known = atomic_load_explicit(bans_until, memory_order_relaxed);
    while (known < until_ns && !atomic_compare_exchange_weak_explicit(bans_until, &known, until_ns,
                                                                      memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* Alike in all that a verdict depends on: repair also wipes old stamps behind the window. */
static bool is_alike(const struct engine_state *a, const struct engine_state *b, const struct engine_limit *limit,
                     uint64_t now_ns)
{
    return a->block_end_ns == b->block_end_ns && a->time_ns == b->time_ns && a->tally == b->tally &&
           a->strikes == b->strikes && engine_used(a, limit, now_ns) == engine_used(b, limit, now_ns);
}

static const char *check_slot(struct table *table, uint64_t index, uint64_t now_ns)
{
    const struct slot *slot = &table->slots[index];
    uint64_t key = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (key == 0)
        return NULL;
    const struct engine_limit *limit = table_engine_at(table, (uint16_t)key);
    if (limit == NULL)
        return "a slot of a limit that is not registered";
    for (uint64_t other = index + 1; other < index + TABLE_NEIGHBOURS; other++)
        if (other < table->keys + TABLE_NEIGHBOURS - 1 &&
            (atomic_load_explicit(&table->slots[other].key, memory_order_relaxed) & TABLE_TAG_MASK) ==
                (key & TABLE_TAG_MASK))
            return "a key with two slots";
    struct engine_state state, repaired;
    slot_read(slot, &state);
    repaired = state;
    engine_repair(&repaired, limit, now_ns);
    bool settled = atomic_load_explicit(&slot->guard, memory_order_relaxed) == 0;
    if (settled && !is_alike(&state, &repaired, limit, now_ns))
        return "a state that needs repair under no guard";
    return NULL;
}

const char *table_validate(struct table *table, uint64_t now_ns)
{
    const char *wrong = NULL;
    for (uint64_t index = 0; wrong == NULL && index < table->keys + TABLE_NEIGHBOURS - 1; index++)
        wrong = check_slot(table, index, now_ns);
    return wrong;
}
