/* Texts looked up by hash, and prefixes and suffixes by binary search over a sorted set. */
#include "policy/words.h"

#include <stdlib.h>
#include <string.h>

static char lower(char byte)
{
    return (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
}

/* FNV-1a.  No secret is needed: requests search the table, they never fill it. */
static uint64_t hash_of(struct drossel_text text, bool folded)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.size; i++) {
        hash ^= (unsigned char)(folded ? lower(text.data[i]) : text.data[i]);
        hash *= UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 29;
}

static bool same(struct drossel_text stored, struct drossel_text text, bool folded)
{
    if (stored.size != text.size)
        return false;
    if (!folded)
        return text.size == 0 || memcmp(stored.data, text.data, text.size) == 0;
    for (size_t i = 0; i < text.size; i++)
        if (stored.data[i] != lower(text.data[i]))
            return false;
    return true;
}

/* The slot of the text, or the free one where it would be.  At most half of the slots are in use. */
static size_t slot_of(const struct words *words, struct drossel_text text)
{
    const struct word *list = words->list.items;
    size_t slot = (size_t)hash_of(text, words->folded) & (words->slot_count - 1);
    while (words->slots[slot] != 0 && !same(list[words->slots[slot] - 1].text, text, words->folded))
        slot = (slot + 1) & (words->slot_count - 1);
    return slot;
}

static void grow(struct policy_arena *arena, struct words *words)
{
    words->slot_count = words->slot_count == 0 ? 16 : words->slot_count * 4;
    words->slots = arena_array(arena, words->slot_count, sizeof(*words->slots));
    const struct word *list = words->list.items;
    for (size_t i = 0; i < words->list.count; i++)
        words->slots[slot_of(words, list[i].text)] = (uint32_t)i + 1;
}

void words_add(struct policy_arena *arena, struct words *words, struct drossel_text text, uint32_t number)
{
    if ((words->list.count + 1) * 2 > words->slot_count)
        grow(arena, words);
    size_t slot = slot_of(words, text);
    if (words->slots[slot] == 0) {
        struct word *word = arena_push(arena, &words->list, sizeof(*word));
        word->text = words->folded ? arena_text_lower(arena, text) : text;
        word->parent = WORDS_NONE;
        words->slots[slot] = (uint32_t)words->list.count;
    }
    struct word *word = (struct word *)words->list.items + (words->slots[slot] - 1);
    uint32_t *numbers = word->numbers.items;
    if (word->numbers.count > 0 && numbers[word->numbers.count - 1] == number)
        return;
    *(uint32_t *)arena_push(arena, &word->numbers, sizeof(uint32_t)) = number;
}

const struct word *words_find(const struct words *words, struct drossel_text text)
{
    if (words->slot_count == 0)
        return NULL;
    size_t slot = slot_of(words, text);
    return words->slots[slot] == 0 ? NULL : (const struct word *)words->list.items + (words->slots[slot] - 1);
}

/* ---- affixes ---- */

static struct drossel_text reversed(struct policy_arena *arena, struct drossel_text text)
{
    char *copy = arena_alloc(arena, text.size + 1);
    for (size_t i = 0; i < text.size; i++)
        copy[i] = lower(text.data[text.size - 1 - i]);
    return (struct drossel_text){ copy, text.size };
}

void affixes_add(struct policy_arena *arena, struct affixes *affixes, struct drossel_text text, uint32_t number)
{
    words_add(arena, &affixes->words, affixes->backwards ? reversed(arena, text) : text, number);
}

static int by_bytes(const void *left, const void *right)
{
    const struct word *a = left, *b = right;
    size_t size = a->text.size < b->text.size ? a->text.size : b->text.size;
    int order = size == 0 ? 0 : memcmp(a->text.data, b->text.data, size);
    return order != 0 ? order : (a->text.size > b->text.size) - (a->text.size < b->text.size);
}

static bool begins(struct drossel_text text, struct drossel_text prefix)
{
    return prefix.size <= text.size && (prefix.size == 0 || memcmp(text.data, prefix.data, prefix.size) == 0);
}

void affixes_seal(struct policy_arena *arena, struct affixes *affixes)
{
    affixes->count = (uint32_t)affixes->words.list.count;
    affixes->sorted = arena_array(arena, (size_t)affixes->count + 1, sizeof(*affixes->sorted));
    if (affixes->count == 0)
        return;
    memcpy(affixes->sorted, affixes->words.list.items, affixes->count * sizeof(*affixes->sorted));
    qsort(affixes->sorted, affixes->count, sizeof(*affixes->sorted), by_bytes);
    for (uint32_t i = 1; i < affixes->count; i++) {
        /* what is a prefix of this one is one of the last, or of its parents: all between begin with it too */
        uint32_t parent = i - 1;
        while (parent != WORDS_NONE && !begins(affixes->sorted[i].text, affixes->sorted[parent].text))
            parent = affixes->sorted[parent].parent;
        affixes->sorted[i].parent = parent;
    }
}

/* Equal leading bytes of member and text, of which `from` are known; `*order` is the sign of member - text. */
static size_t compare(const struct affixes *affixes, struct drossel_text member, struct drossel_text text, size_t from,
                      int *order)
{
    size_t size = member.size < text.size ? member.size : text.size;
    for (size_t i = from; i < size; i++) {
        unsigned char byte = (unsigned char)(affixes->backwards ? lower(text.data[text.size - 1 - i]) : text.data[i]);
        if ((unsigned char)member.data[i] != byte) {
            *order = (unsigned char)member.data[i] < byte ? -1 : 1;
            return i;
        }
    }
    *order = member.size > text.size ? 1 : -1; /* equal counts as not greater */
    return size;
}

uint32_t affixes_find(const struct affixes *affixes, struct drossel_text text)
{
    uint32_t low = 0, high = affixes->count; /* the members before `low` are not greater than the text */
    size_t shared = 0;                       /* bytes of the last of them that are the text's ... */
    size_t above = 0;                        /* ... and of the member at `high`: all between share the lesser */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order;
        size_t equal = compare(affixes, affixes->sorted[middle].text, text, shared < above ? shared : above, &order);
        if (order > 0) {
            high = middle;
            above = equal;
        } else {
            low = middle + 1;
            shared = equal;
        }
    }
    uint32_t found = low == 0 ? WORDS_NONE : low - 1;
    while (found != WORDS_NONE && affixes->sorted[found].text.size > shared)
        found = affixes->sorted[found].parent;
    return found;
}
