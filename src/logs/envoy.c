/*
 * Envoy's default text format, and Istio's, which has three columns more in the middle and some at the end.  (Envoy's JSON is read as JSON.)
 *
 *     [2026-01-24T01:34:36.743Z] "GET /test HTTP/1.1" 200 - 0 256 50 25 "client" "agent" "id" "authority" "upstream" ...
 */
#include "logs/worded.h"

#include <string.h>

#define HEADER(name) ((struct drossel_text)DROSSEL_TEXT(name))

static bool is_number(const struct log_columns *columns, size_t index)
{
    struct drossel_text text = columns->text[index];
    return columns->opened[index] == 0 && text.size > 0 &&
           ((text.data[0] >= '0' && text.data[0] <= '9') || (text.size == 1 && text.data[0] == '-'));
}

/* The first of: bytes received, bytes sent, duration, the upstream's.  Istio's details stand before. */
static size_t sizes_at(const struct log_columns *columns)
{
    for (size_t i = 4; i + 4 < columns->count && i < 9; i++)
        if (is_number(columns, i) && is_number(columns, i + 1) && is_number(columns, i + 2) &&
            is_number(columns, i + 3) && columns->opened[i + 4] == '"')
            return i;
    return 0;
}

/* Istio's lines have the one that connected in a column of its own, which counts where X-Forwarded-For is empty. */
static void set_client(const struct log_columns *columns, size_t forwarded_at, struct log_record *record)
{
    struct drossel_text forwarded = log_column(columns, forwarded_at);
    log_record_header(record, HEADER("X-Forwarded-For"), forwarded);
    if (forwarded.size > 0)
        record->client = log_first_client(forwarded);
    else
        record->client = log_client_text(log_column(columns, forwarded_at + 8));
}

static bool read_line(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                      struct log_stamp *stamp)
{
    struct log_columns columns;
    log_columns_split(line, COLUMNS_QUOTED, &columns);
    if (columns.count < 13 || columns.opened[0] != '[' || columns.opened[1] != '"' ||
        !log_stamp_iso(columns.text[0], stamp) || columns.text[2].size > 3)
        return false;
    size_t sizes = sizes_at(&columns);
    if (sizes == 0)
        return false;
    log_record_request(record, log_unescaped(scratch, columns.text[1]));
    record->status = log_status(columns.text[2]);
    record->bytes = log_count(columns.text[sizes + 1]);
    uint64_t duration;
    if (log_duration(columns.text[sizes + 2], 1000000, &duration))
        record->duration_ns = duration;
    set_client(&columns, sizes + 4, record);
    log_record_header(record, HEADER("User-Agent"), log_unescaped(scratch, log_column(&columns, sizes + 5)));
    log_record_header(record, HEADER("Host"), log_column(&columns, sizes + 7));
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
    return worded_confidence(read_line, line, 92);
}

const struct log_format log_format_envoy = {
    .name = "envoy",
    .recognise = recognise,
    .open = open_reader,
    .time = worded_time,
    .parse = worded_parse,
};
