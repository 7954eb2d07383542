/*
 * Amazon S3's server access log.
 *
 *     owner bucket [06/Feb/2014:00:00:38 +0000] client requester id operation key "request" status error sent size total turnaround "referer" "agent" ...
 */
#include "logs/worded.h"

#include <string.h>

#define HEADER(name) ((struct drossel_text)DROSSEL_TEXT(name))

/* S3 does not encode keys the same way in all operations: with blanks in them, the request is what is in quotes. */
static size_t request_at(const struct log_columns *columns)
{
    for (size_t i = 8; i < columns->count; i++)
        if (columns->opened[i] == '"')
            return i;
    return 0;
}

static bool read_line(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                      struct log_stamp *stamp)
{
    struct log_columns columns;
    log_columns_split(line, COLUMNS_QUOTED, &columns);
    size_t request = columns.count >= 16 && columns.opened[2] == '[' ? request_at(&columns) : 0;
    if (request == 0 || columns.is_torn || columns.count < request + 9 || !log_stamp_clf(columns.text[2], stamp) ||
        memchr(columns.text[6].data, '.', columns.text[6].size) == NULL || log_text_absent(columns.text[3]))
        return false; /* without a client: what S3 did by itself, such as letting an object expire */
    record->client = log_client_text(log_column(&columns, 3));
    record->user = log_column(&columns, 4);
    log_record_request(record, log_unescaped(scratch, log_column(&columns, request)));
    record->status = log_status(log_column(&columns, request + 1));
    record->bytes = log_count(log_column(&columns, request + 3));
    uint64_t duration;
    if (log_duration(log_column(&columns, request + 5), 1000000, &duration))
        record->duration_ns = duration;
    log_record_header(record, HEADER("Referer"), log_unescaped(scratch, log_column(&columns, request + 7)));
    log_record_header(record, HEADER("User-Agent"), log_unescaped(scratch, log_column(&columns, request + 8)));
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
    return worded_confidence(read_line, line, 97);
}

const struct log_format log_format_s3 = {
    .name = "s3",
    .recognise = recognise,
    .open = open_reader,
    .time = worded_time,
    .parse = worded_parse,
};
