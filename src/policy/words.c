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

/* The next bytes of a text as a number that sorts as they do. */
static uint64_t lead_of(const struct affixes *affixes, struct drossel_text text, bool is_member)
{
    uint64_t lead = 0;
    size_t size = text.size - affixes->common < 8 ? text.size - affixes->common : 8;
    for (size_t i = 0; i < size; i++) {
        size_t at = affixes->common + i;
        bool turn = affixes->backwards && !is_member;
        unsigned char byte = (unsigned char)(turn ? lower(text.data[text.size - 1 - at]) : text.data[at]);
        lead |= (uint64_t)byte << (56 - 8 * i);
    }
    return lead;
}

/* Members that begin alike are told apart by what comes then: the numbers lie side by side, where the members do not. */
static void fill_leads(struct policy_arena *arena, struct affixes *affixes)
{
    struct drossel_text first = affixes->sorted[0].text, last = affixes->sorted[affixes->count - 1].text;
    size_t size = first.size < last.size ? first.size : last.size;
    while (affixes->common < size && first.data[affixes->common] == last.data[affixes->common])
        affixes->common++;
    affixes->leads = arena_array(arena, affixes->count, sizeof(*affixes->leads));
    for (uint32_t i = 0; i < affixes->count; i++)
        affixes->leads[i] = lead_of(affixes, affixes->sorted[i].text, true);
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
    fill_leads(arena, affixes);
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

/* How many leads are less than `lead`, or not greater. */
static uint32_t leads_below(const struct affixes *affixes, uint64_t lead, bool or_equal)
{
    uint32_t low = 0;
    for (uint32_t left = affixes->count; left > 0;) {
        uint32_t half = left / 2;
        uint64_t at = affixes->leads[low + half];
        bool is_below = at < lead || (or_equal && at == lead);
        low = is_below ? low + half + 1 : low; /* no branch: it would be guessed wrong every other time */
        left = is_below ? left - half - 1 : half;
    }
    return low;
}

/* How many members are not greater than the text. */
static uint32_t members_below(const struct affixes *affixes, struct drossel_text text)
{
    int order;
    if (compare(affixes, affixes->sorted[0].text, text, 0, &order) < affixes->common)
        return order > 0 ? 0 : affixes->count;
    uint64_t lead = lead_of(affixes, text, false);
    uint32_t low = leads_below(affixes, lead, false), high = leads_below(affixes, lead, true);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        (void)compare(affixes, affixes->sorted[middle].text, text, affixes->common, &order);
        if (order > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint32_t affixes_find(const struct affixes *affixes, struct drossel_text text)
{
    int order;
    uint32_t below = affixes->count == 0 ? 0 : members_below(affixes, text);
    if (below == 0)
        return WORDS_NONE;
    uint32_t found = below - 1;
    size_t shared = compare(affixes, affixes->sorted[found].text, text, 0, &order);
    while (found != WORDS_NONE && affixes->sorted[found].text.size > shared)
        found = affixes->sorted[found].parent;
    return found;
}
