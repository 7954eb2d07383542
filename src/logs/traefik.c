/*
 * Traefik's access log as JSON.  (Its other format is Apache's, with more at the end.)
 */
#include "logs/json_line.h"

#include <stdlib.h>
#include <string.h>

/* Traefik's own log may go to the same file. */
static bool is_own_log(const struct log_values *values)
{
    return values->text[FIELD_LEVEL].size > 0 && values->text[FIELD_METHOD].size == 0 &&
           values->text[FIELD_CLIENT].size == 0;
}

static enum log_line read_values(struct json_reader *reader, struct drossel_text line, struct log_scratch *scratch,
                                 struct log_record *record, struct log_values *values)
{
    if (!json_line_read(&reader->names, line, scratch, values))
        return LOG_UNPARSED;
    return is_own_log(values) ? LOG_COMMENT : log_values_record(values, scratch, record);
}

static void *open_reader(const char *map, char *error, size_t error_size)
{
    struct json_reader *reader = json_reader_open(map, error, error_size);
    if (reader == NULL)
        return NULL;
    reader->read = read_values;
    json_reader_duration(reader, UNIT_NS);
    return reader;
}

static int recognise(struct drossel_text line)
{
    static const char *const own[] = { "clienthost",  "clientaddr",       "requestmethod",
                                       "requestpath", "downstreamstatus", "entrypointname",
                                       "routername",  "startutc",         "startlocal" };
    struct json_scan scan;
    struct json_scalar scalar;
    int found = 0;
    if (!json_scan_init(&scan, line))
        return 0;
    while (json_scan_next(&scan, &scalar))
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            found += scalar.path.size == strlen(own[i]) && memcmp(scalar.path.data, own[i], scalar.path.size) == 0;
    return json_scan_is_whole(&scan) && found >= 4 ? 96 : 0;
}

const struct log_format log_format_traefik = {
    .name = "traefik",
    .recognise = recognise,
    .open = open_reader,
    .close = free,
    .time = json_reader_time,
    .parse = json_reader_parse,
};
