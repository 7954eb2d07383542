/*
 * Where the quotes of a line are, and whether it has a backslash: found in one go, because a call for each quote costs more than the
 * quotes are apart.
 */
#ifndef DROSSEL_LOGS_MARKS_H
#define DROSSEL_LOGS_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LOG_MARKS 12

/* Complete when count < LOG_MARKS and there is no backslash; else the line has to be read with care. */
struct log_marks {
    const char *quote[LOG_MARKS];
    unsigned count;
    bool escaped;
};

/* Without vector instructions, and for less than 16 bytes. */
static inline void log_marks_plain(struct log_marks *marks, const char *p, const char *end)
{
    for (; p < end && marks->count < LOG_MARKS; p++) {
        marks->escaped |= *p == '\\';
        if (*p == '"')
            marks->quote[marks->count++] = p;
    }
}

#ifdef __SSE2__
/* Sixteen bytes at p, of which the first `skip` were seen before. */
static inline void log_marks_sixteen(struct log_marks *marks, const char *p, unsigned skip)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))) >> skip << skip;
    marks->escaped |= _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))) != 0;
    for (; quotes != 0 && marks->count < LOG_MARKS; quotes &= quotes - 1)
        marks->quote[marks->count++] = p + __builtin_ctz(quotes);
}
#endif

static inline void log_marks_find(struct log_marks *marks, const char *p, const char *end)
{
    marks->count = 0;
    marks->escaped = false;
#ifdef __SSE2__
    if (end - p >= 16) {
        for (; end - p >= 16 && marks->count < LOG_MARKS && !marks->escaped; p += 16)
            log_marks_sixteen(marks, p, 0);
        if (p < end && end - p < 16)
            log_marks_sixteen(marks, end - 16, (unsigned)(16 - (end - p)));
        return;
    }
#endif
    log_marks_plain(marks, p, end);
}

/* The first `c` from p on; `end`: there is none.  For what is near: no call. */
static inline const char *log_find(const char *p, const char *end, char c)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
        if (found != 0)
            return p + __builtin_ctz(found);
    }
#endif
    while (p < end && *p != c)
        p++;
    return p;
}

#endif
