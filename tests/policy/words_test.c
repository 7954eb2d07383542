/* Texts by hash, prefixes and suffixes by binary search: against going through all of them. */
#include "opened.h"

#include <strings.h>

#include "policy/diagnose.h"
#include "policy/words.h"

#define ROUNDS 200
#define TEXTS 60

static uint64_t seed = 7;

static uint32_t any(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

/* Short texts of few letters, so that many are prefixes of others. */
static struct drossel_text make_text(char *room)
{
    size_t size = any(7);
    for (size_t i = 0; i < size; i++)
        room[i] = "aAb/"[any(4)];
    return (struct drossel_text){ room, size };
}

static bool is_affix(struct drossel_text affix, struct drossel_text text, bool backwards)
{
    if (affix.size > text.size)
        return false;
    return backwards ? strncasecmp(text.data + text.size - affix.size, affix.data, affix.size) == 0
                     : memcmp(text.data, affix.data, affix.size) == 0;
}

/* A member may carry several numbers: those of texts that are equal but for their case. */
static bool has_number(const struct affixes *affixes, uint32_t from, uint32_t number)
{
    for (; from != WORDS_NONE; from = affixes->sorted[from].parent) {
        const uint32_t *numbers = affixes->sorted[from].numbers.items;
        for (size_t i = 0; i < affixes->sorted[from].numbers.count; i++)
            if (numbers[i] == number)
                return true;
    }
    return false;
}

static void all_affixes_of_a_text_and_no_others_are_found(void **state)
{
    (void)state;
    unsigned hits = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct policy_arena *arena = arena_open();
        assert_non_null(arena);
        struct affixes affixes = { .backwards = round % 2 == 1 };
        static char rooms[TEXTS][8];
        struct drossel_text texts[TEXTS];
        for (uint32_t i = 0; i < TEXTS; i++)
            affixes_add(arena, &affixes, texts[i] = make_text(rooms[i]), i);
        affixes_seal(arena, &affixes);
        for (unsigned request = 0; request < 100; request++) {
            char room[8];
            struct drossel_text text = make_text(room);
            uint32_t found = affixes_find(&affixes, text);
            for (uint32_t i = 0; i < TEXTS; i++) {
                bool wanted = is_affix(texts[i], text, affixes.backwards);
                assert_int_equal(has_number(&affixes, found, i), wanted);
                hits += wanted;
            }
        }
        arena_close(arena);
    }
    assert_true(hits > ROUNDS * 100);
}

static void words_are_found_among_thousands(void **state)
{
    (void)state;
    struct policy_arena *arena = arena_open();
    assert_non_null(arena);
    struct words plain = { .folded = false }, folded = { .folded = true };
    assert_null(words_find(&plain, (struct drossel_text)DROSSEL_TEXT("a")));
    for (uint32_t i = 0; i < 5000; i++) {
        const char *text = arena_format(arena, "Word%u", i);
        words_add(arena, &plain, (struct drossel_text){ text, strlen(text) }, i);
        words_add(arena, &folded, (struct drossel_text){ text, strlen(text) }, i);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        const char *text = arena_format(arena, "wORD%u", i);
        assert_null(words_find(&plain, (struct drossel_text){ text, strlen(text) }));
        const struct word *word = words_find(&folded, (struct drossel_text){ text, strlen(text) });
        assert_non_null(word);
        assert_int_equal(((const uint32_t *)word->numbers.items)[0], i);
    }
    arena_close(arena);
}

static void a_misspelt_word_finds_the_name_that_was_meant(void **state)
{
    (void)state;
    static const char *const names[] = { "algorithm", "allow", "answer", "dry_run", "by", "action", NULL };
    static const struct {
        const char *word, *name;
    } cases[] = { { "algoritm", "algorithm" }, { "alow", "allow" },   { "dry-run", "dry_run" }, { "DryRun", "dry_run" },
                  { "awnser", "answer" },      { "acton", "action" }, { "bi", "by" },           { "z", NULL },
                  { "colour", NULL },          { "", NULL },          { "allow", "allow" } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name = closest_name((struct drossel_text){ cases[i].word, strlen(cases[i].word) }, names);
        assert_true((name == NULL) == (cases[i].name == NULL));
        if (name != NULL)
            assert_string_equal(name, cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_affixes_of_a_text_and_no_others_are_found),
        cmocka_unit_test(words_are_found_among_thousands),
        cmocka_unit_test(a_misspelt_word_finds_the_name_that_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
