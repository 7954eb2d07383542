/*
 * A census of keys: hash map and sliding peak.
 */
#include "cli/census.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_LEAST 64

/* Keyed, as the keys come from whoever wrote the log: nobody shall make them collide. */
static uint64_t hash_of(const void *id, size_t size)
{
    static unsigned char secret[crypto_shorthash_KEYBYTES];
    static bool made;
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t hash;
    if (!made) {
        randombytes_buf(secret, sizeof secret);
        made = true;
    }
    crypto_shorthash(out, id, size, secret);
    memcpy(&hash, out, sizeof hash);
    return hash;
}

static size_t free_slot(const struct census *census, const void *id, size_t size)
{
    size_t mask = census->slots - 1, at = (size_t)hash_of(id, size) & mask;
    while (census->slot[at] != 0) {
        const struct census_entry *other = census->entry[census->slot[at] - 1];
        if (other->id_size == size && memcmp(other->id, id, size) == 0)
            break;
        at = (at + 1) & mask;
    }
    return at;
}

static bool rehash(struct census *census)
{
    size_t slots = census->slots > 0 ? census->slots * 2 : SLOTS_LEAST;
    uint32_t *slot = calloc(slots, sizeof *slot), *old = census->slot;
    if (slot == NULL)
        return false;
    census->slot = slot;
    census->slots = slots;
    for (size_t i = 0; i < census->count; i++)
        slot[free_slot(census, census->entry[i]->id, census->entry[i]->id_size)] = (uint32_t)i + 1;
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
    free(entry->id);
    free(entry->time);
    free(entry);
}

static struct census_entry *insert(struct census *census, const void *id, size_t size, const char *label)
{
    struct census_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->label = strdup(label);
    entry->id = malloc(size);
    if (entry->label == NULL || entry->id == NULL) {
        release_entry(entry);
        return NULL;
    }
    memcpy(entry->id, id, size);
    entry->id_size = size;
    census->entry[census->count++] = entry;
    return entry;
}

struct census_entry *census_find(struct census *census, const void *id, size_t id_size, const char *label)
{
    if (census->count >= census->slots / 2 && !rehash(census))
        return NULL;
    size_t at = free_slot(census, id, id_size);
    if (census->slot[at] != 0)
        return census->entry[census->slot[at] - 1];
    if ((census->count == census->cap && !grow(census)) || census->count == UINT32_MAX - 1)
        return NULL;
    struct census_entry *entry = insert(census, id, id_size, label);
    if (entry != NULL)
        census->slot[at] = (uint32_t)census->count;
    return entry;
}

/* Room for one more time at the end: moves what is still in the window to the front, or grows. */
static bool make_room(struct census_entry *entry)
{
    if (entry->head + entry->count < entry->cap)
        return true;
    if (entry->head > entry->cap / 2) {
        memmove(entry->time, entry->time + entry->head, entry->count * sizeof *entry->time);
        entry->head = 0;
        return true;
    }
    size_t cap = entry->cap > 0 ? entry->cap * 2 : 4;
    uint64_t *time = realloc(entry->time, cap * sizeof *time);
    if (time == NULL)
        return false;
    entry->time = time;
    entry->cap = cap;
    return true;
}

bool census_arrive(struct census_entry *entry, uint64_t t_ns, uint64_t period_ns)
{
    while (entry->count > 0 && t_ns - entry->time[entry->head] >= period_ns) {
        entry->head++;
        entry->count--;
    }
    if (!make_room(entry))
        return false;
    entry->time[entry->head + entry->count++] = t_ns;
    if (entry->count > entry->peak)
        entry->peak = entry->count;
    entry->requests++;
    return true;
}

static int compare(const struct census_entry *left, const struct census_entry *right)
{
    if (left->refused != right->refused)
        return left->refused > right->refused ? -1 : 1;
    if (left->requests != right->requests)
        return left->requests > right->requests ? -1 : 1;
    return strcmp(left->label, right->label);
}

size_t census_top(const struct census *census, const struct census_entry **top, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; i < census->count; i++) {
        size_t at = used < cap ? used++ : used;
        for (; at > 0 && compare(census->entry[i], top[at - 1]) < 0; at--)
            if (at < cap)
                top[at] = top[at - 1];
        if (at < cap)
            top[at] = census->entry[i];
    }
    return used;
}

void census_release(struct census *census)
{
    for (size_t i = 0; i < census->count; i++)
        release_entry(census->entry[i]);
    free(census->entry);
    free(census->slot);
    *census = (struct census){ 0 };
}
