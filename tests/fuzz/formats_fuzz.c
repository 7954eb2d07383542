/*
 * Lines of logs: every format looks at every line, as a file may hold anything.  The first byte chooses the format that reads the lines.
 * What a parser gives must lie in the line, in the scratch or in a constant, and its time must be the same for both ways to ask for it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logs/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(struct drossel_text text)
{
    volatile char sum = 0;
    for (size_t i = 0; i < text.size; i++)
        sum = (char)(sum + text.data[i]);
}

static void check_record(const struct log_record *record)
{
    const struct drossel_text texts[] = { record->client,  record->user,      record->request, record->method,
                                          record->target,  record->protocol,  record->host,    record->agent,
                                          record->referer, record->forwarded, record->verdict };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        touch(texts[i]);
    if (record->header_count > LOG_HEADERS_MOST || record->status > 999 || (int)record->cache > LOG_CACHE_MISS)
        abort();
    for (size_t i = 0; i < record->header_count; i++) {
        touch(record->header[i].name);
        touch(record->header[i].value);
    }
}

/* `line` and the scratch are blocks of their own, as long as promised, so that a byte too far is seen. */
static void read_line(const struct log_format *format, void *parser, const char *bytes, size_t size)
{
    char *line = malloc(size + 1), *room = malloc(size + 1);
    if (line == NULL || room == NULL)
        abort();
    char *start = line + 1; /* the end of the line is the end of the block */
    memcpy(start, bytes, size);
    struct drossel_text text = { start, size };
    struct log_scratch scratch = { room, 0, size };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    uint64_t t_ns = 0, resolution_ns = 0;
    bool timed = format->time != NULL && format->time(parser, text, &t_ns, &resolution_ns);
    enum log_line result = format->parse(parser, text, &scratch, &record);
    if (scratch.used > scratch.cap)
        abort();
    if (result == LOG_REQUEST)
        check_record(&record);
    if (format->time != NULL && result == LOG_REQUEST && (!timed || t_ns != record.t_ns))
        abort();
    if (result == LOG_COMMENT && timed)
        abort();
    for (size_t i = 0; log_formats[i] != NULL; i++) {
        int sure = log_formats[i]->recognise == NULL ? 0 : log_formats[i]->recognise(text);
        if (sure < 0 || sure > 100)
            abort();
    }
    free(line);
    free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = 0;
    char error[1000];
    while (log_formats[count] != NULL)
        count++;
    if (size < 1 || size > 1 << 16)
        return 0;
    const struct log_format *format = log_formats[data[0] % count];
    void *parser = format->open == NULL ? NULL : format->open(NULL, error, sizeof error);
    if (format->open != NULL && parser == NULL)
        return 0;
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        read_line(format, parser, at, (size_t)(stop - at));
        at = stop + 1;
    }
    if (format->close != NULL)
        format->close(parser);
    return 0;
}
