/*
 * A census of keys: hash map and sliding peak.
 */
#include "cli/census.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_LEAST 64

/* The hash beside the index: a probe looks at an entry only if it is very likely the one. */
struct census_slot {
    uint32_t hash;  /* upper half */
    uint32_t index; /* + 1; 0: free */
};

/* Keyed, as the keys come from whoever wrote the log: nobody shall make them collide. */
static uint64_t hash_of(const struct census *census, const void *id, size_t size)
{
    static unsigned char secret[crypto_shorthash_KEYBYTES];
    static bool made;
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t hash;
    if (census->is_hashed) {
        memcpy(&hash, id, sizeof hash);
        return hash;
    }
    if (!made) {
        randombytes_buf(secret, sizeof secret);
        made = true;
    }
    crypto_shorthash(out, id, size, secret);
    memcpy(&hash, out, sizeof hash);
    return hash;
}

static size_t free_slot(const struct census *census, uint64_t hash, const void *id, size_t size)
{
    size_t mask = census->slots - 1, at = (size_t)hash & mask;
    uint32_t upper = (uint32_t)(hash >> 32);
    for (; census->slot[at].index != 0; at = (at + 1) & mask) {
        if (census->slot[at].hash != upper)
            continue;
        const struct census_entry *other = census->entry[census->slot[at].index - 1];
        if (other->id_size == size && memcmp(other->id, id, size) == 0)
            break;
    }
    return at;
}

static bool rehash(struct census *census)
{
    size_t slots = census->slots > 0 ? census->slots * 2 : SLOTS_LEAST;
    struct census_slot *slot = calloc(slots, sizeof *slot), *old = census->slot;
    if (slot == NULL)
        return false;
    census->slot = slot;
    census->slots = slots;
    for (size_t i = 0; i < census->count; i++) {
        const struct census_entry *entry = census->entry[i];
        uint64_t hash = hash_of(census, entry->id, entry->id_size);
        slot[free_slot(census, hash, entry->id, entry->id_size)] =
            (struct census_slot){ (uint32_t)(hash >> 32), (uint32_t)i + 1 };
    }
    free(old);
    return true;
}

static bool grow(struct census *census)
{
    size_t cap = census->cap > 0 ? census->cap * 2 : SLOTS_LEAST;
    struct census_entry **entry = realloc(census->entry, cap * sizeof *entry);
    if (entry == NULL)
        return false;
    census->entry = entry;
    census->cap = cap;
    return true;
}

static void release_entry(struct census_entry *entry)
{
    free(entry->label);
    if (entry->run != entry->first)
        free(entry->run);
    free(entry);
}

static struct census_entry *insert(struct census *census, const void *id, size_t size, const char *label)
{
    size_t own = census->entry_size > 0 ? census->entry_size : sizeof(struct census_entry);
    struct census_entry *entry = calloc(1, own + size);
    if (entry == NULL)
        return NULL;
    entry->label = label != NULL ? strdup(label) : NULL;
    if (label != NULL && entry->label == NULL) {
        free(entry);
        return NULL;
    }
    entry->id = (char *)entry + own;
    memcpy(entry->id, id, size);
    entry->id_size = (uint32_t)size;
    census->entry[census->count++] = entry;
    return entry;
}

struct census_entry *census_look(const struct census *census, const void *id, size_t id_size)
{
    if (census->slots == 0)
        return NULL;
    size_t at = free_slot(census, hash_of(census, id, id_size), id, id_size);
    return census->slot[at].index != 0 ? census->entry[census->slot[at].index - 1] : NULL;
}

struct census_entry *census_find(struct census *census, const void *id, size_t id_size, const char *label)
{
    if (census->count >= census->slots / 2 && !rehash(census))
        return NULL;
    uint64_t hash = hash_of(census, id, id_size);
    size_t at = free_slot(census, hash, id, id_size);
    if (census->slot[at].index != 0)
        return census->entry[census->slot[at].index - 1];
    if ((census->count == census->cap && !grow(census)) || census->count == UINT32_MAX - 1)
        return NULL;
    struct census_entry *entry = insert(census, id, id_size, label);
    if (entry != NULL)
        census->slot[at] = (struct census_slot){ (uint32_t)(hash >> 32), (uint32_t)census->count };
    return entry;
}

/* Room for one more run at the end: moves what is still in the window to the front, or grows. */
static bool make_room(struct census_entry *entry)
{
    if (entry->run == NULL) {
        entry->run = entry->first;
        entry->cap = CENSUS_RUNS_WITHIN;
    }
    if (entry->head + entry->count < entry->cap)
        return true;
    if (entry->head > entry->cap / 2 || (entry->head > 0 && entry->cap == CENSUS_RUNS_WITHIN)) {
        memmove(entry->run, entry->run + entry->head, entry->count * sizeof *entry->run);
        entry->head = 0;
        return true;
    }
    if (entry->cap > UINT32_MAX / 2)
        return false;
    uint32_t cap = entry->cap * 2;
    struct census_run *own = entry->run == entry->first ? NULL : entry->run;
    struct census_run *run = realloc(own, cap * sizeof *run);
    if (run == NULL)
        return false;
    if (own == NULL)
        memcpy(run, entry->first, sizeof entry->first);
    entry->run = run;
    entry->cap = cap;
    return true;
}

bool census_arrive(struct census_entry *entry, uint64_t t_ns, uint64_t period_ns)
{
    while (entry->count > 0 && t_ns - entry->run[entry->head].t_ns >= period_ns) {
        entry->within -= entry->run[entry->head].count;
        entry->head++;
        entry->count--;
    }
    if (entry->count > 0 && entry->run[entry->head + entry->count - 1].t_ns == t_ns) {
        entry->run[entry->head + entry->count - 1].count++;
    } else {
        if (!make_room(entry))
            return false;
        entry->run[entry->head + entry->count++] = (struct census_run){ t_ns, 1 };
    }
    if (++entry->within > entry->peak)
        entry->peak = entry->within;
    entry->requests++;
    return true;
}

int census_by_refused(const struct census_entry *left, const struct census_entry *right)
{
    if (left->refused != right->refused)
        return left->refused > right->refused ? -1 : 1;
    if (left->requests != right->requests)
        return left->requests > right->requests ? -1 : 1;
    return 0;
}

struct sorting {
    census_order *compare;
    void *context;
};

static int compare_places(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    const struct census_entry *const *a = left, *const *b = right;
    return sorting->compare(sorting->context, *a, *b);
}

size_t census_first(const struct census *census, const struct census_entry **first, size_t cap, census_order *compare,
                    void *context)
{
    struct sorting sorting = { compare, context };
    size_t used = 0;
    if (cap >= census->count) {
        if (census->count > 0)
            memcpy(first, census->entry, census->count * sizeof *first);
        qsort_r(first, census->count, sizeof *first, compare_places, &sorting);
        return census->count;
    }
    for (size_t i = 0; i < census->count; i++) {
        size_t at = used < cap ? used++ : used;
        for (; at > 0 && compare(context, census->entry[i], first[at - 1]) < 0; at--)
            if (at < cap)
                first[at] = first[at - 1];
        if (at < cap)
            first[at] = census->entry[i];
    }
    return used;
}

void census_release(struct census *census)
{
    for (size_t i = 0; i < census->count; i++)
        release_entry(census->entry[i]);
    free(census->entry);
    free(census->slot);
    census->entry = NULL;
    census->slot = NULL;
    census->count = census->cap = census->slots = 0;
}
