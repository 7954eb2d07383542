/*
 * Lookup of texts, compiled once and then read by any thread.
 *
 * `words` finds a whole text by hash.  `affixes` finds all prefixes (or suffixes) of a text that are in a set: the set is
 * sorted, each member knows the longest other member that is a prefix of it, and one binary search finds the chain: at first
 * among numbers made of the eight bytes behind what all members share, which lie in a few lines of memory.
 * Each member carries a list of numbers (of classes).
 */
#ifndef DROSSEL_POLICY_WORDS_H
#define DROSSEL_POLICY_WORDS_H

#include "policy/arena.h"

#define WORDS_NONE UINT32_MAX

struct word {
    struct drossel_text text;  /* folded words: in lower case; suffixes: reversed and in lower case */
    struct arena_list numbers; /* uint32_t */
    uint32_t parent;           /* affixes: the longest other prefix of this one; WORDS_NONE */
};

struct words {
    bool folded;            /* case of A-Z does not count */
    struct arena_list list; /* struct word */
    uint32_t *slots;        /* index + 1 into list, by hash; a power of two of them */
    size_t slot_count;
};

/* Adds a number to the word, which is made if it is new.  The text is not copied (but folded words are). */
void words_add(struct policy_arena *arena, struct words *words, struct drossel_text text, uint32_t number);
/* The word, or NULL. */
const struct word *words_find(const struct words *words, struct drossel_text text);

struct affixes {
    bool backwards;     /* suffixes, and case does not count */
    struct words words; /* while they are added */
    struct word *sorted;
    size_t common;   /* bytes that all members begin with */
    uint64_t *leads; /* of each of `sorted`, the bytes after those */
    uint32_t count;
};

void affixes_add(struct policy_arena *arena, struct affixes *affixes, struct drossel_text text, uint32_t number);
/* Sorts and links; once, after the last affixes_add. */
void affixes_seal(struct policy_arena *arena, struct affixes *affixes);
/* The longest member that the text begins (ends) with, or WORDS_NONE; the others are its parents. */
uint32_t affixes_find(const struct affixes *affixes, struct drossel_text text);

#endif
