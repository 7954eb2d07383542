/*
 * Caddy's access log: JSON, on its own, behind the name of a container, or at the end of a line of its console format.  Caddy
 * writes everything else into the same stream, which is no request: its start, certificates, errors of a request that has an entry
 * of its own besides.
 */
#include "logs/json_line.h"

#include <stdlib.h>
#include <string.h>

static bool begins(struct drossel_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

static bool contains(struct drossel_text text, const char *what)
{
    return text.size > 0 && memmem(text.data, text.size, what, strlen(what)) != NULL;
}

/* `2024/05/01 10:00:00.123	INFO	http.log.access	handled request	`, perhaps coloured. */
static bool is_console(struct drossel_text prefix)
{
    static const char *const levels[] = { "INFO", "WARN", "ERROR", "DEBUG", "FATAL", "PANIC" };
    if (!contains(prefix, "\t"))
        return false;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (contains(prefix, levels[i]))
            return true;
    return false;
}

/* A formatter may have left out logger and message: then it is what has a request's method. */
static bool is_access(const struct log_values *values, struct drossel_text prefix)
{
    struct drossel_text logger = values->text[FIELD_LOGGER], message = values->text[FIELD_MESSAGE];
    if (is_console(prefix))
        return contains(prefix, "http.log.access") || contains(prefix, "handled request");
    if (logger.size > 0 || message.size > 0)
        return begins(logger, "http.log.access") || begins(message, "handled request");
    return values->text[FIELD_METHOD].size > 0;
}

/* Seconds, or with the duration_format nano whole nanoseconds. */
static void choose_unit(struct log_values *values)
{
    struct drossel_text duration = values->text[FIELD_DURATION];
    bool fraction = contains(duration, ".");
    if (values->unit == UNIT_S && !fraction && duration.size >= 5)
        values->unit = UNIT_NS;
}

static enum log_line read_values(struct json_reader *reader, struct drossel_text line, struct log_scratch *scratch,
                                 struct log_record *record, struct log_values *values)
{
    struct drossel_text prefix = json_line_prefix(line);
    if (prefix.size == line.size)
        return is_console(line) ? LOG_COMMENT : LOG_UNPARSED;
    if (!json_line_read(&reader->names, line, scratch, values))
        return LOG_UNPARSED;
    if (!is_access(values, prefix))
        return values->text[FIELD_LEVEL].size > 0 || is_console(prefix) ? LOG_COMMENT : LOG_UNPARSED;
    choose_unit(values);
    return log_values_record(values, scratch, record);
}

static void *open_reader(const char *map, char *error, size_t error_size)
{
    struct json_reader *reader = json_reader_open(map, error, error_size);
    if (reader == NULL)
        return NULL;
    reader->read = read_values;
    json_reader_duration(reader, UNIT_S);
    return reader;
}

/* Its start is told before its first request: such lines are Caddy's too. */
static int recognise(struct drossel_text line)
{
    struct json_scan scan;
    struct json_scalar scalar;
    bool level = false, stamped = false, message = false, request = false;
    if (is_console(json_line_prefix(line)))
        return contains(line, "http.log.access") ? 96 : 40;
    if (!json_scan_init(&scan, line))
        return 0;
    while (json_scan_next(&scan, &scalar)) {
        level |= begins(scalar.path, "level") && scalar.path.size == 5;
        stamped |= begins(scalar.path, "ts") && scalar.path.size == 2;
        message |= begins(scalar.path, "msg") && scalar.path.size == 3;
        request |= begins(scalar.path, "request.method") || begins(scalar.path, "request.uri");
    }
    if (!json_scan_is_whole(&scan) || !level || !stamped)
        return 0;
    return request ? 96 : message ? 80 : 0;
}

const struct log_format log_format_caddy = {
    .name = "caddy",
    .recognise = recognise,
    .open = open_reader,
    .close = free,
    .time = json_reader_time,
    .parse = json_reader_parse,
};
