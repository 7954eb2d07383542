/*
 * Numbers, times and names as a person reads them.
 */
#include "cli/suggest_prose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CAP_LEAST 256

const char *prose_count(uint64_t count, char out[PROSE_COUNT])
{
    char digits[PROSE_COUNT];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), at = 0;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

const char *prose_time(uint64_t t_ns, char out[PROSE_COUNT])
{
    time_t seconds = (time_t)(t_ns / 1000000000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL || strftime(out, PROSE_COUNT, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        snprintf(out, PROSE_COUNT, "%lld s", (long long)seconds);
    return out;
}

const char *prose_span(uint64_t ns, char out[PROSE_COUNT])
{
    static const struct {
        double seconds;
        const char *name;
    } unit[] = { { 86400, "days" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
    double seconds = (double)ns / 1e9;
    size_t i = 0;
    while (i < 3 && seconds < 2 * unit[i].seconds)
        i++;
    double amount = seconds / unit[i].seconds;
    snprintf(out, PROSE_COUNT, amount < 10 && i < 3 ? "%.1f %s" : "%.0f %s", amount, unit[i].name);
    return out;
}

const char *prose_plain(const char *text, size_t size, char *out, size_t cap)
{
    size_t room = cap - 1, shown = size <= room ? size : room - 3;
    for (size_t i = 0; i < shown; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    strcpy(out + shown, size <= room ? "" : "...");
    return out;
}

static bool reserve(struct prose *prose, size_t more)
{
    size_t cap = prose->cap > 0 ? prose->cap : CAP_LEAST;
    while (cap - prose->size <= more)
        cap *= 2;
    if (cap == prose->cap)
        return true;
    char *text = realloc(prose->text, cap);
    if (text == NULL)
        return false;
    prose->text = text;
    prose->cap = cap;
    return true;
}

void prose_add(struct prose *prose, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (size < 0 || !reserve(prose, (size_t)size))
        prose->is_short = true;
    else
        prose->size += (size_t)vsnprintf(prose->text + prose->size, prose->cap - prose->size, format, arguments);
    va_end(arguments);
}
