/* Collects mistakes and warnings, sorts them by place, and finds what a misspelt word was meant to be. */
#include "policy/diagnose.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistr.h>

#define QUOTED_MAX 80 /* bytes of a quoted word; longer ones end in `...` */
#define WORD_MAX 64   /* words longer than this are like no name */

void diagnose(struct diagnoses *diagnoses, enum severity severity, const struct place *place, const char *format, ...)
{
    if (place->told)
        return;
    if (diagnoses->found[severity].count >= DIAGNOSES_MAX) {
        diagnoses->untold[severity]++;
        return;
    }
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (size < 0)
        text[0] = '\0';
    const char *kept = arena_text(diagnoses->arena, text, strlen(text)).data;
    struct diagnosis *one = arena_push(diagnoses->arena, &diagnoses->found[severity], sizeof(*one));
    one->place = *place;
    one->serial = diagnoses->found[severity].count;
    one->text = kept;
}

static int by_number(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *left, const void *right)
{
    const struct diagnosis *a = left, *b = right;
    int order = by_number(a->place.file_number, b->place.file_number);
    if (order == 0)
        order = by_number(a->place.line, b->place.line);
    if (order == 0)
        order = by_number(a->place.column, b->place.column);
    return order != 0 ? order : by_number(a->serial, b->serial);
}

/* A list that is read for two keys has its mistakes twice. */
static bool is_again(const struct diagnosis *one, const struct diagnosis *next)
{
    return one->place.file_number == next->place.file_number && one->place.line == next->place.line &&
           one->place.column == next->place.column && strcmp(one->text, next->text) == 0;
}

char *diagnoses_text(struct diagnoses *diagnoses, enum severity severity)
{
    struct arena_list *found = &diagnoses->found[severity];
    if (found->count == 0)
        return NULL;
    qsort(found->items, found->count, sizeof(struct diagnosis), by_place);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        arena_fail(diagnoses->arena);
    const struct diagnosis *all = found->items;
    const char *kind = severity == WARNING ? "warning: " : "";
    for (size_t i = 0; i < found->count; i++)
        if (i == 0 || !is_again(&all[i - 1], &all[i]))
            fprintf(out, "%s:%u:%u: %s%s\n", all[i].place.file, all[i].place.line, all[i].place.column, kind,
                    all[i].text);
    if (diagnoses->untold[severity] > 0)
        fprintf(out, "%s:1:1: %s%zu more of this kind are not listed; mend these first\n", all[0].place.file, kind,
                diagnoses->untold[severity]);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        arena_fail(diagnoses->arena);
    }
    return text;
}

static char folded(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte + ('a' - 'A'));
    return (char)(byte == '_' ? '-' : byte);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

#define SLIP_EDITS 2

/* Edits (insert, delete, replace, swap two neighbours) from one word to the other; case and `_` for `-` cost nothing. */
static unsigned distance(struct drossel_text word, const char *name)
{
    size_t length = strlen(name);
    if (word.size > WORD_MAX || length > WORD_MAX)
        return WORD_MAX;
    unsigned row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= length; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= word.size; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= length; j++) {
            bool same = folded(word.data[i - 1]) == folded(name[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && folded(word.data[i - 1]) == folded(name[j - 2]) &&
                folded(word.data[i - 2]) == folded(name[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[word.size % 3][length];
}

static size_t length_apart(struct drossel_text word, const char *name)
{
    size_t length = strlen(name);
    return length > word.size ? length - word.size : word.size - length;
}

const char *closest_name(struct drossel_text word, const char *const *names)
{
    const char *best = NULL;
    unsigned best_distance = (unsigned)(word.size < 3 ? 1 : word.size / 3) + 1;
    for (; *names != NULL; names++) {
        unsigned far = distance(word, *names);
        bool nearer = far < best_distance ||
                      (best != NULL && far == best_distance && length_apart(word, *names) < length_apart(word, best));
        if (nearer && far < strlen(*names)) {
            best = *names;
            best_distance = far;
        }
    }
    return best;
}

const char *slip_of(struct drossel_text word, const char *const *names)
{
    const char *found = NULL;
    for (; *names != NULL; names++) {
        if (strlen(*names) == word.size && strncasecmp(*names, word.data, word.size) == 0)
            return NULL;
        if (distance(word, *names) <= SLIP_EDITS)
            found = *names;
    }
    return found;
}

/* Bytes of the character at `text` that a terminal shows as it is, and as nothing else; 0: it must be escaped. */
static size_t shown_size(const uint8_t *text, size_t left)
{
    ucs4_t character;
    int size = u8_mbtoucr(&character, text, left);
    if (size <= 0 || character < 0x20 || (character >= 0x7F && character < 0xA0))
        return 0;
    bool looks_like_space = character == 0xA0 || character == 0x3000;
    bool hides = (character >= 0x2000 && character <= 0x200F) || (character >= 0x2028 && character <= 0x202F) ||
                 (character >= 0x205F && character <= 0x206F) || character == 0xFEFF;
    return looks_like_space || hides ? 0 : (size_t)size;
}

static size_t put_escaped(char *out, unsigned char byte)
{
    static const char plain[] = "\n\r\t", letters[] = "nrt", digits[] = "0123456789abcdef";
    const char *named = byte == 0 ? NULL : strchr(plain, byte);
    out[0] = '\\';
    if (named != NULL) {
        out[1] = letters[named - plain];
        return 2;
    }
    out[1] = 'x';
    out[2] = digits[byte >> 4];
    out[3] = digits[byte & 15];
    return 4;
}

const char *quotable(struct policy_arena *arena, struct drossel_text word)
{
    size_t size = 0, at = 0;
    char *text = arena_alloc(arena, (word.size > QUOTED_MAX ? QUOTED_MAX : word.size) * 4 + 4);
    while (at < word.size && at < QUOTED_MAX) {
        size_t shown = shown_size((const uint8_t *)word.data + at, word.size - at);
        if (at + shown > QUOTED_MAX)
            break; /* not in the middle of a character */
        if (shown == 0)
            size += put_escaped(text + size, (unsigned char)word.data[at++]);
        for (; shown > 0; shown--)
            text[size++] = word.data[at++];
    }
    memcpy(text + size, at < word.size ? "..." : "", at < word.size ? 4 : 1);
    return text;
}
