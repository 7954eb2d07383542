/*
 * A line of JSON as named values.
 */
#include "logs/json_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drossel_text json_line_prefix(struct drossel_text line)
{
    const char *brace = line.size > 0 ? memchr(line.data, '{', line.size) : NULL;
    return (struct drossel_text){ line.data, brace == NULL ? line.size : (size_t)(brace - line.data) };
}

static bool ends(struct drossel_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && memcmp(text.data + text.size - size, with, size) == 0;
}

/* Is it a member of an object of the request's header fields? */
static bool is_in_headers(struct drossel_text path)
{
    static const char *const objects[] = { "request.headers.", "req.headers.", "headers.", "requestheaders.",
                                           "http.request.headers." };
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        size_t size = strlen(objects[i]);
        if (path.size > size && memcmp(path.data, objects[i], size) == 0) /* no list of {"name":..., "value":...} */
            return !ends(path, ".name") && !ends(path, ".value");
    }
    return false;
}

/* true and false are no values of ours. */
static bool is_of_use(const struct json_scalar *scalar)
{
    return scalar->is_string ||
           (scalar->value.size > 0 && scalar->value.data[0] != 't' && scalar->value.data[0] != 'f');
}

static void take(const struct log_names *names, const struct json_scalar *scalar, struct log_scratch *scratch,
                 struct log_values *values)
{
    struct drossel_text header;
    const struct log_name *name = log_names_find(names, scalar->path);
    if (name != NULL) {
        if (values->rank[name->field] < name->rank)
            log_values_set(values, name, json_scan_text(scalar, scratch));
        /* A proxy's field stays one beside the address of the connection: a policy may take the client from it. */
        if (name->field == FIELD_CLIENT && log_header_name(scalar->key, scratch, &header))
            log_values_header(values, header, json_scan_text(scalar, scratch));
    } else if (is_in_headers(scalar->path)) {
        log_values_header(values, scalar->key, json_scan_text(scalar, scratch));
    } else if (log_header_name(scalar->key, scratch, &header)) {
        log_values_header(values, header, json_scan_text(scalar, scratch));
    }
}

/* `2025-12-31T17:37:40.493+01:00 stdout F {`, `caddy  | {`, `2024/05/01 10:00:00.123	INFO	http.log.access	{`. */
static void take_prefix(struct drossel_text prefix, struct log_values *values)
{
    const char *bar = prefix.size > 0 ? memchr(prefix.data, '|', prefix.size) : NULL;
    if (bar != NULL)
        prefix = (struct drossel_text){ bar + 1, (size_t)(prefix.data + prefix.size - bar - 1) };
    while (prefix.size > 0 && prefix.data[0] == ' ') {
        prefix.data++;
        prefix.size--;
    }
    log_values_set(values, &(struct log_name){ "", FIELD_TIME, 1, 0, 0 }, prefix);
}

bool json_line_read(const struct log_names *names, struct drossel_text line, struct log_scratch *scratch,
                    struct log_values *values)
{
    struct json_scan scan;
    struct json_scalar scalar;
    memset(values, 0, sizeof *values);
    if (!json_scan_init(&scan, line))
        return false;
    while (json_scan_next(&scan, &scalar))
        if (is_of_use(&scalar))
            take(names, &scalar, scratch, values);
    if (values->rank[FIELD_TIME] == 0 && values->rank[FIELD_DATE] == 0)
        take_prefix(json_line_prefix(line), values);
    return json_scan_is_whole(&scan);
}

struct json_reader *json_reader_open(const char *map, char *error, size_t error_size)
{
    struct json_reader *reader = malloc(sizeof *reader);
    if (reader == NULL) {
        snprintf(error, error_size, "no memory");
        return NULL;
    }
    reader->names = *log_names_common();
    if (!log_names_map(&reader->names, map, error, error_size)) {
        free(reader);
        return NULL;
    }
    return reader;
}

void json_reader_duration(struct json_reader *reader, enum log_unit unit)
{
    log_names_default(&reader->names, (struct log_name){ "duration", FIELD_DURATION, 8, (uint8_t)unit, 0 });
}

enum log_line json_reader_parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                                struct log_record *record)
{
    struct json_reader *reader = parser;
    struct log_values values;
    return reader->read(reader, line, scratch, record, &values);
}

bool json_reader_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    struct json_reader *reader = parser;
    /* For the few short texts that tell whether it is a request, and when: `01\/May\/2024`.  Others may stay as they stand. */
    char room[4096];
    struct log_scratch scratch = { room, 0, sizeof room };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    struct log_values values;
    if (reader->read(reader, line, &scratch, &record, &values) != LOG_REQUEST)
        return false;
    *t_ns = record.t_ns;
    *resolution_ns = values.resolution_ns;
    return true;
}
