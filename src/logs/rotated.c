/* Takes the names of rotated logs apart and sorts by what they say. */
#include "logs/rotated.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DATE_DIGITS 14 /* of 20240101235959 */

/* `access.log-20240101.gz`: base `access.log`, date 20240101000000.  `access.log.2.gz`: number 2. */
struct rotation {
    const char *path;
    size_t base_size;    /* of the name without what rotation put behind it */
    uint64_t date;       /* padded to 14 digits; UINT64_MAX: none */
    uint64_t number;     /* greater is older; 0: none, else one more than it says */
    size_t group, place; /* where the first of this base stands, and this one */
};

static size_t without_packing(const char *path)
{
    static const char *const endings[] = { ".gz", ".xz", ".zst", ".bz2", ".lz4", ".z" };
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(endings[i]);
        if (size > length && memcmp(path + size - length, endings[i], length) == 0)
            return size - length;
    }
    return size;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c == '.' || c == '-' || c == '_';
}

static uint64_t padded(uint64_t date, size_t digits)
{
    for (; digits < DATE_DIGITS; digits++)
        date *= 10;
    return date;
}

/* The numbers behind the base: those of a date together, then perhaps one that counts. */
static void read_numbers(struct rotation *rotation, const char *p, const char *end)
{
    uint64_t date = 0;
    size_t digits = 0;
    while (p < end) {
        uint64_t value = 0;
        const char *start = ++p; /* behind a separator */
        for (; p < end && is_digit(*p); p++)
            value = value * 10 + (uint64_t)(*p - '0');
        size_t size = (size_t)(p - start);
        bool of_date = digits == 0 ? size >= 8 || (size == 4 && end - p >= 6) : (size == 2 || size == 4 || size == 6);
        if (of_date && digits + size <= DATE_DIGITS) {
            for (size_t i = 0; i < size; i++)
                date *= 10;
            date += value;
            digits += size;
        } else {
            rotation->number = value + 1;
        }
    }
    if (digits > 0)
        rotation->date = padded(date, digits);
}

static void read_name(struct rotation *rotation)
{
    const char *path = rotation->path;
    size_t end = without_packing(path), start = end;
    rotation->date = UINT64_MAX;
    if (end > 4 && memcmp(path + end - 4, ".old", 4) == 0) {
        rotation->base_size = end - 4;
        rotation->number = 1;
        return;
    }
    size_t longest = 0;
    for (size_t run = 0; start > 0 && (is_digit(path[start - 1]) || is_separator(path[start - 1])); start--) {
        run = is_digit(path[start - 1]) ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    bool rotated = start > 0 && start < end && path[start - 1] != '/' && is_separator(path[start]) &&
                   is_digit(path[end - 1]) && longest <= DATE_DIGITS;
    rotation->base_size = rotated ? start : end;
    if (rotated)
        read_numbers(rotation, path + start, path + end);
}

static bool same_base(const struct rotation *a, const struct rotation *b)
{
    return a->base_size == b->base_size && memcmp(a->path, b->path, a->base_size) == 0;
}

/* The dated ones first, by date; then the numbered ones, the greatest first; then the one that is written now. */
static int compare(const void *left, const void *right)
{
    const struct rotation *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->date != b->date)
        return a->date < b->date ? -1 : 1;
    if (a->number != b->number)
        return a->number > b->number ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

bool rotated_sort(const char **path, size_t count)
{
    struct rotation *rotation = calloc(count + 1, sizeof *rotation);
    if (rotation == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        rotation[i].path = path[i];
        rotation[i].place = i;
        read_name(&rotation[i]);
        size_t first = 0;
        while (first < i && !same_base(&rotation[first], &rotation[i]))
            first++;
        rotation[i].group = first;
    }
    qsort(rotation, count, sizeof *rotation, compare);
    for (size_t i = 0; i < count; i++)
        path[i] = rotation[i].path;
    free(rotation);
    return true;
}
