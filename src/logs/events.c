/*
 * The events of `drossel replay`, read as a log: for tools that want to know what the traffic was like, not what a policy says.
 *
 * `t` is seconds, however large, or an RFC 3339 time; the client is `address`, or else `peer`; `path` without anything is `/`.
 */
#include "logs/json_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MOST 9e9 /* year 2255, as for the replay itself */
#define NUMBER_BYTES 40

static const struct log_name own[] = {
    { "t", FIELD_TIME, LOG_RANK_CERTAIN, 0, 0 }, { "address", FIELD_CLIENT, 8, 0, 0 },
    { "peer", FIELD_CLIENT, 4, 0, 0 },           { "method", FIELD_METHOD, 8, 0, 0 },
    { "path", FIELD_TARGET, 8, 0, 0 },           { "host", FIELD_HOST, LOG_RANK_CERTAIN, 0, 0 },
    { "account", FIELD_USER, 8, 0, 0 },          { "status", FIELD_STATUS, 8, 0, 0 },
};

/* 1.7e9 is 1700000000: rare, and written out for whoever reads stamps digit by digit.  False if it is no time. */
static bool write_out(struct drossel_text *time, char out[NUMBER_BYTES])
{
    char *end;
    if (time->size == 0 || time->size >= NUMBER_BYTES)
        return false;
    memcpy(out, time->data, time->size);
    out[time->size] = '\0';
    if (strpbrk(out, "-:T") == NULL || strpbrk(out, "eE") != NULL) {
        double seconds = strtod(out, &end);
        if (end != out + time->size || !(seconds >= 0) || seconds > SECONDS_MOST)
            return false;
        if (strpbrk(out, "eE") != NULL)
            *time = (struct drossel_text){ out, (size_t)snprintf(out, NUMBER_BYTES, "%.9f", seconds) };
    }
    return true;
}

static enum log_line read_values(struct json_reader *reader, struct drossel_text line, struct log_scratch *scratch,
                                 struct log_record *record, struct log_values *values)
{
    char number[NUMBER_BYTES];
    if (!json_line_read(&reader->names, line, scratch, values) || values->rank[FIELD_TIME] < LOG_RANK_CERTAIN ||
        values->text[FIELD_CLIENT].size == 0 || !write_out(&values->text[FIELD_TIME], number))
        return LOG_UNPARSED;
    if (values->text[FIELD_TARGET].size == 0)
        values->text[FIELD_TARGET] = (struct drossel_text)DROSSEL_TEXT("/");
    if (values->text[FIELD_METHOD].size == 0)
        values->text[FIELD_METHOD] = (struct drossel_text)DROSSEL_TEXT("GET");
    return log_values_record(values, scratch, record);
}

static void set_names(struct log_names *names)
{
    log_names_clear(names);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        log_names_add(names, own[i]);
}

static void *open_reader(const char *map, char *error, size_t error_size)
{
    struct json_reader *reader = json_reader_open(NULL, error, error_size);
    (void)map;
    if (reader == NULL)
        return NULL;
    set_names(&reader->names);
    reader->read = read_values;
    return reader;
}

static int recognise(struct drossel_text line)
{
    struct json_reader reader;
    struct log_scratch nowhere = { 0 };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    struct log_values values;
    if (line.size == 0 || (line.data[0] != '{' && line.data[0] != ' '))
        return 0;
    set_names(&reader.names);
    return read_values(&reader, line, &nowhere, &record, &values) == LOG_REQUEST ? 97 : 0;
}

const struct log_format log_format_events = {
    .name = "events",
    .recognise = recognise,
    .open = open_reader,
    .close = free,
    .time = json_reader_time,
    .parse = json_reader_parse,
};
