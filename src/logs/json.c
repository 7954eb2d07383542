/*
 * JSON by nginx's log_format and by whatever else writes an object for each request: Cloudflare, Envoy, alp, Elastic's common
 * schema, Google's load balancers, GitLab, API gateways.  What a value means is told by its name, see field_names.c.
 */
#include "logs/json_line.h"

#include <stdlib.h>
#include <string.h>

/* What an application says on the occasion of a request (a failed login) has a level and a text, but no status: the request itself
 * is in another log. */
static bool is_remark(const struct log_values *values)
{
    bool says = values->text[FIELD_MESSAGE].size > 0 || values->text[FIELD_LOGGER].size > 0;
    return says && values->text[FIELD_LEVEL].size > 0 && values->text[FIELD_STATUS].size == 0;
}

static enum log_line read_values(struct json_reader *reader, struct drossel_text line, struct log_scratch *scratch,
                                 struct log_record *record, struct log_values *values)
{
    if (!json_line_read(&reader->names, line, scratch, values)) {
        /* an array with an entry on each line */
        bool bracket = line.size == 1 && (line.data[0] == '[' || line.data[0] == ']');
        return bracket ? LOG_COMMENT : LOG_UNPARSED;
    }
    return is_remark(values) ? LOG_UNPARSED : log_values_record(values, scratch, record);
}

static void *open_reader(const char *map, char *error, size_t error_size)
{
    struct json_reader *reader = json_reader_open(map, error, error_size);
    if (reader == NULL)
        return NULL;
    reader->read = read_values;
    return reader;
}

/* A server of a name knows its own JSON better. */
static int recognise(struct drossel_text line)
{
    struct log_scratch nowhere = { 0 };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    struct log_values values;
    if (json_line_prefix(line).size == line.size)
        return 0;
    if (!json_line_read(log_names_common(), line, &nowhere, &values))
        return 0;
    if (is_remark(&values) || log_values_record(&values, &nowhere, &record) != LOG_REQUEST)
        return 5;
    return record.client.size > 0 ? 85 : 75;
}

const struct log_format log_format_json = {
    .name = "json",
    .recognise = recognise,
    .open = open_reader,
    .close = free,
    .time = json_reader_time,
    .parse = json_reader_parse,
};
