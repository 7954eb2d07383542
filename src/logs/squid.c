/*
 * Squid's native access log.
 *
 *     1286536309.586    921 192.0.2.68 TCP_MISS/200 507 GET http://www.example.com/ user HIER_DIRECT/192.0.2.1 text/html
 */
#include "logs/worded.h"

#include <string.h>

static bool read_line(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                      struct log_stamp *stamp)
{
    struct log_columns columns;
    struct drossel_text host = { 0 };
    (void)scratch;
    log_columns_split(line, COLUMNS_PLAIN, &columns);
    if (columns.count < 9 || !log_stamp_epoch(columns.text[0], stamp) || stamp->size != columns.text[0].size)
        return false;
    struct drossel_text result = columns.text[3];
    const char *slash = memchr(result.data, '/', result.size);
    bool known =
        memchr(result.data, '_', result.size) != NULL || (result.size > 5 && memcmp(result.data, "NONE/", 5) == 0);
    if (slash == NULL || !known)
        return false;
    record->client = log_client_text(log_column(&columns, 2));
    record->cache = log_cache_of((struct drossel_text){ result.data, (size_t)(slash - result.data) });
    record->status = log_status((struct drossel_text){ slash + 1, (size_t)(result.data + result.size - slash - 1) });
    record->bytes = log_count(columns.text[4]);
    record->method = log_column(&columns, 5);
    if (record->method.size > 0) /* else it says what was wrong: error:invalid-request */
        record->target = log_target(log_column(&columns, 6), &host);
    record->user = log_column(&columns, 7);
    log_record_header(record, (struct drossel_text)DROSSEL_TEXT("Host"), host);
    uint64_t duration;
    if (log_duration(columns.text[1], 1000000, &duration))
        record->duration_ns = duration;
    return true;
}

static void *open_reader(const char *text, char *error, size_t error_size)
{
    static struct worded reader = { read_line };
    (void)text, (void)error, (void)error_size;
    return &reader;
}

static int recognise(struct drossel_text line)
{
    return worded_confidence(read_line, line, 95);
}

const struct log_format log_format_squid = {
    .name = "squid",
    .recognise = recognise,
    .open = open_reader,
    .time = worded_time,
    .parse = worded_parse,
};
