/*
 * Numbers, times and names as a person reads them, and texts that are put together from them.
 */
#ifndef DROSSEL_CLI_SUGGEST_PROSE_H
#define DROSSEL_CLI_SUGGEST_PROSE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROSE_COUNT 32 /* room for any count with its commas */

/* 1234567 as `1,234,567`.  Returns out. */
const char *prose_count(uint64_t count, char out[PROSE_COUNT]);
/* `2026-01-05 08:00:12` in UTC. */
const char *prose_time(uint64_t t_ns, char out[PROSE_COUNT]);
/* `3 min`, `2.5 h`, `12 days`: about. */
const char *prose_span(uint64_t ns, char out[PROSE_COUNT]);

/* Text from a log, as a terminal and a comment may have it: one line of printable ASCII, anything else as `?`, cut off with `...`.  Returns out;
 * cap is 8 at least. */
const char *prose_plain(const char *text, size_t size, char *out, size_t cap);

/* A text that grows; what does not fit into memory is left out, and said by is_short. */
struct prose {        /* zero: empty; `text` is freed by whoever has it */
    char *text;       /* NULL while empty */
    size_t size, cap;
    bool is_short;
};
void prose_add(struct prose *prose, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
