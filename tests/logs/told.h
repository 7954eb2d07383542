/* What a format makes of a line, as text that a table of cases can hold. */
#ifndef DROSSEL_TEST_LOGS_TOLD_H
#define DROSSEL_TEST_LOGS_TOLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "logs/format.h"
#include "logs/formats.h"

#define TOLD_BYTES 4000

static inline void tell_text(char out[TOLD_BYTES], const char *name, struct drossel_text text)
{
    size_t used = strlen(out);
    if (text.size > 0)
        snprintf(out + used, TOLD_BYTES - used, "; %s=%.*s", name, (int)text.size, text.data);
}

static inline void tell_number(char out[TOLD_BYTES], const char *name, uint64_t number)
{
    size_t used = strlen(out);
    snprintf(out + used, TOLD_BYTES - used, "; %s=%llu", name, (unsigned long long)number);
}

/* `t=SECONDS.NANOSECONDS; client=...; ...`, only what is there. */
static inline void tell_record(const struct log_record *record, char out[TOLD_BYTES])
{
    snprintf(out, TOLD_BYTES, "t=%llu.%09llu", (unsigned long long)(record->t_ns / 1000000000),
             (unsigned long long)(record->t_ns % 1000000000));
    tell_text(out, "client", record->client);
    tell_text(out, "user", record->user);
    tell_text(out, "method", record->method);
    tell_text(out, "target", record->target);
    tell_text(out, "protocol", record->protocol);
    if (record->status > 0)
        tell_number(out, "status", record->status);
    if (record->bytes > 0)
        tell_number(out, "bytes", record->bytes);
    if (record->duration_ns != LOG_NO_DURATION)
        tell_number(out, "ns", record->duration_ns);
    if (record->cache != LOG_CACHE_UNKNOWN)
        tell_text(out, "cache", record->cache == LOG_CACHE_HIT ? (struct drossel_text)DROSSEL_TEXT("hit")
                                                               : (struct drossel_text)DROSSEL_TEXT("miss"));
    tell_text(out, "host", record->host);
    tell_text(out, "agent", record->agent);
    tell_text(out, "referer", record->referer);
    tell_text(out, "forwarded", record->forwarded);
    tell_text(out, "verdict", record->verdict);
}

/* A format at work. */
struct reader {
    const struct log_format *format;
    void *parser;
    char scratch_data[1 << 16];
    struct log_scratch scratch;
    struct log_record record; /* of the last line */
};

static inline void reader_init(struct reader *reader, const char *format, const char *text)
{
    char error[1000] = "";
    reader->format = format_named(format);
    if (reader->format == NULL)
        fail_msg("no format %s", format);
    reader->parser = reader->format->open == NULL ? NULL : reader->format->open(text, error, sizeof error);
    if (reader->format->open != NULL && reader->parser == NULL)
        fail_msg("%s cannot be opened: %s", format, error);
}

static inline void reader_release(struct reader *reader)
{
    if (reader->format->close != NULL)
        reader->format->close(reader->parser);
}

/* The scratch is as long as the line, as the caller of a parser promises, and no longer. */
static inline enum log_line reader_read_sized(struct reader *reader, struct drossel_text line)
{
    size_t cap = line.size < sizeof reader->scratch_data ? line.size : sizeof reader->scratch_data;
    reader->scratch = (struct log_scratch){ reader->scratch_data, 0, cap };
    reader->record = (struct log_record){ .duration_ns = LOG_NO_DURATION };
    return reader->format->parse(reader->parser, line, &reader->scratch, &reader->record);
}

static inline enum log_line reader_read(struct reader *reader, const char *line)
{
    return reader_read_sized(reader, (struct drossel_text){ line, strlen(line) });
}

/* Does `time` agree with `parse`? */
static inline void assert_time_agrees(struct reader *reader, const char *line, enum log_line result)
{
    uint64_t t_ns = 0, resolution_ns = 0;
    if (reader->format->time == NULL)
        return;
    bool found = reader->format->time(reader->parser, (struct drossel_text){ line, strlen(line) }, &t_ns, &resolution_ns);
    if (result == LOG_COMMENT && found)
        fail_msg("%s: a comment with a time", line);
    if (result == LOG_REQUEST && (!found || t_ns != reader->record.t_ns))
        fail_msg("%s: %s time", line, found ? "another" : "no");
    if (found && (resolution_ns == 0 || resolution_ns > 1000000000))
        fail_msg("%s: a resolution of %llu ns", line, (unsigned long long)resolution_ns);
}

/* NULL: no request; `#`: a comment. */
static inline void assert_told(struct reader *reader, const char *line, const char *expected)
{
    char told[TOLD_BYTES];
    enum log_line result = reader_read(reader, line);
    snprintf(told, sizeof told, "%s", result == LOG_COMMENT ? "#" : "no request");
    if (result == LOG_REQUEST)
        tell_record(&reader->record, told);
    if (strcmp(told, expected == NULL ? "no request" : expected) != 0)
        fail_msg("%s: %s:\n  is       %s\n  expected %s", reader->format->name, line, told,
                 expected == NULL ? "no request" : expected);
    assert_time_agrees(reader, line, result);
}

struct told_case {
    const char *line, *expected;
};

static inline void assert_all_told(const char *format, const char *text, const struct told_case *cases, size_t count)
{
    struct reader reader;
    reader_init(&reader, format, text);
    for (size_t i = 0; i < count; i++)
        assert_told(&reader, cases[i].line, cases[i].expected);
    reader_release(&reader);
}

#endif
