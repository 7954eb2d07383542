/*
 * One line of an events file: a JSON object to the facts of a request.
 */
#include "cli/event_line.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/door.h"
#include "cli/seconds.h"

#define HEADERS_MAX 1024
#define WHOLE_REAL_MOST 9007199254740992.0 /* 2^53: of larger doubles nobody knows which number was meant */

/* What a line is read into; `why` is set where it is wrong. */
struct reading {
    struct events *events;
    struct event *event;
    const json_t *line;
    char why[EVENT_WHY_BYTES];
};

static bool wrong(struct reading *reading, const char *found)
{
    snprintf(reading->why, sizeof reading->why, "%s", found);
    return false;
}

static bool keep(struct reading *reading, const char *data, size_t size, struct drossel_text *text)
{
    char *copy = events_keep(reading->events, size + 1);
    if (copy == NULL)
        return wrong(reading, "no memory");
    memcpy(copy, data, size);
    copy[size] = '\0';
    *text = (struct drossel_text){ copy, size };
    return true;
}

static bool read_text(struct reading *reading, const char *name, struct drossel_text *text)
{
    const json_t *value = json_object_get(reading->line, name);
    if (value == NULL || json_is_null(value))
        return true;
    if (json_is_string(value))
        return keep(reading, json_string_value(value), json_string_length(value), text);
    snprintf(reading->why, sizeof reading->why, "\"%s\" is no string; write \"%s\": \"...\"", name, name);
    return false;
}

static bool time_of(const json_t *value, uint64_t *ns)
{
    if (json_is_integer(value))
        return seconds_from_integer(json_integer_value(value), ns);
    if (json_is_real(value))
        return seconds_from_double(json_real_value(value), ns);
    return json_is_string(value) && seconds_from_rfc3339(json_string_value(value), json_string_length(value), ns);
}

#define TIME_WANTED "write seconds from 0 on (12.5) or an RFC 3339 time (\"2026-01-31T12:00:00Z\")"

static bool read_time(struct reading *reading)
{
    const json_t *value = json_object_get(reading->line, "t");
    char text[SECONDS_TEXT + 80];
    struct drossel_text kept;
    if (value == NULL)
        return wrong(reading, "\"t\" is missing; " TIME_WANTED);
    if (!time_of(value, &reading->event->t_ns))
        return wrong(reading, "\"t\" is no time; " TIME_WANTED);
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        seconds_format_double(json_real_value(value), text);
    else
        snprintf(text, sizeof text, "\"%s\"", json_string_value(value)); /* digits and -:.TZ+ only: no escapes */
    if (!keep(reading, text, strlen(text), &kept))
        return false;
    reading->event->t_text = kept.data;
    reading->event->told_ns = reading->event->t_ns;
    return true;
}

static bool read_address(struct reading *reading, const char *name, struct drossel_address *address)
{
    const json_t *value = json_object_get(reading->line, name);
    if (value == NULL || json_is_null(value))
        return true;
    if (json_is_string(value) &&
        drossel_address_parse(json_string_value(value), json_string_length(value), address) == DROSSEL_OK)
        return true;
    snprintf(reading->why, sizeof reading->why,
             "\"%s\" %s is no address; write one like \"203.0.113.7\" or \"2001:db8::1\"", name,
             json_is_string(value) ? json_string_value(value) : "of another type");
    return false;
}

static bool read_addresses(struct reading *reading)
{
    struct event *event = reading->event;
    if (!read_address(reading, "address", &event->address) || !read_address(reading, "peer", &event->peer))
        return false;
    if (event->address.family == DROSSEL_NONE && event->peer.family == DROSSEL_NONE)
        return wrong(
            reading,
            "neither \"address\" nor \"peer\"; write \"address\": \"203.0.113.7\", or \"peer\" with \"headers\"");
    return true;
}

/* As it comes from the wire: white space around a value is none of it (RFC 9110 section 5.5). */
static bool keep_value(struct reading *reading, const json_t *value, struct drossel_text *text)
{
    const char *data = json_string_value(value);
    size_t size = json_string_length(value);
    while (size > 0 && (data[size - 1] == ' ' || data[size - 1] == '\t'))
        size--;
    for (; size > 0 && (*data == ' ' || *data == '\t'); size--)
        data++;
    return keep(reading, data, size, text);
}

static bool keep_header(struct reading *reading, const char *name, const json_t *value, struct drossel_header *header)
{
    if (!json_is_string(value)) {
        snprintf(reading->why, sizeof reading->why,
                 "header \"%s\" is neither a string nor a list of strings; write one string for each line", name);
        return false;
    }
    return keep(reading, name, strlen(name), &header->name) && keep_value(reading, value, &header->value);
}

static size_t count_headers(json_t *headers)
{
    const char *name;
    json_t *value;
    size_t count = 0;
    json_object_foreach(headers, name, value) count +=
        json_is_array(value) ? json_array_size(value) : !json_is_null(value);
    return count;
}

static bool read_headers(struct reading *reading, const char *member, const struct drossel_header **out, uint32_t *used)
{
    json_t *headers = json_object_get(reading->line, member), *value;
    const char *name;
    if (headers == NULL || json_is_null(headers))
        return true;
    if (!json_is_object(headers)) {
        snprintf(reading->why, sizeof reading->why, "\"%s\" is no object; write {\"Name\": \"value\"}", member);
        return false;
    }
    size_t count = count_headers(headers);
    if (count > HEADERS_MAX)
        return wrong(reading, "more than 1024 header lines; leave out what no policy looks at");
    struct drossel_header *header = events_keep(reading->events, count * sizeof *header);
    if (header == NULL)
        return wrong(reading, "no memory");
    json_object_foreach(headers, name, value)
    {
        size_t lines = json_is_array(value) ? json_array_size(value) : !json_is_null(value);
        for (size_t i = 0; i < lines; i++, (*used)++)
            if (!keep_header(reading, name, json_is_array(value) ? json_array_get(value, i) : value, &header[*used]))
                return false;
    }
    *out = header;
    return true;
}

/* Of 2 and of 2.0; -1 if it is none, or too large for every use of it here. */
static long long whole_of(const json_t *value)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    double real = json_is_real(value) ? json_real_value(value) : -1;
    return real >= 0 && real <= WHOLE_REAL_MOST && real == (double)(long long)real ? (long long)real : -1;
}

static bool read_number(struct reading *reading, const char *name, long long least, long long most, long long *out)
{
    const json_t *value = json_object_get(reading->line, name);
    if (value == NULL || json_is_null(value))
        return true;
    long long number = whole_of(value);
    if (number >= least && number <= most) {
        *out = number;
        return true;
    }
    snprintf(reading->why, sizeof reading->why, "\"%s\" is out of range; write a whole number from %lld to %lld", name,
             least, most);
    return false;
}

static bool read_numbers(struct reading *reading)
{
    long long status = 0, cost = 1;
    uint64_t settle_ns = reading->event->t_ns;
    const json_t *settle = json_object_get(reading->line, "settle_at");
    if (!read_number(reading, "status", 100, 599, &status) || !read_number(reading, "cost", 0, LLONG_MAX, &cost))
        return false;
    if (settle != NULL && !json_is_null(settle) && (!time_of(settle, &settle_ns) || settle_ns < reading->event->t_ns))
        return wrong(reading, "\"settle_at\" is no time from \"t\" on; write when the outcome arrived, like \"t\"");
    reading->event->status = (uint16_t)status;
    reading->event->settle_ns = settle_ns;
    reading->event->extra_cost = cost == 0 ? DROSSEL_ASK : (uint64_t)cost;
    return true;
}

static bool read_path(struct reading *reading)
{
    struct event *event = reading->event;
    if (!read_text(reading, "path", &event->path))
        return false;
    event->target = event->path;
    if (event->path.size == 0) {
        event->path = (struct drossel_text)DROSSEL_TEXT("/");
        return true;
    }
    char *out = events_keep(reading->events, event->path.size + 1);
    if (out == NULL)
        return wrong(reading, "no memory");
    event->path.size = drossel_path_normalise(event->path, out, event->path.size + 1);
    event->path.data = out;
    return true;
}

/* The first line of a header, where nothing is there yet. */
static void take_header(const struct event *event, const char *name, struct drossel_text *text)
{
    size_t size = strlen(name);
    for (uint32_t i = 0; i < event->header_count && text->size == 0; i++)
        if (event->headers[i].name.size == size && strncasecmp(event->headers[i].name.data, name, size) == 0)
            *text = event->headers[i].value;
}

static bool read_facts(struct reading *reading)
{
    struct event *event = reading->event;
    if (!read_text(reading, "method", &event->method) || !read_text(reading, "host", &event->host) ||
        !read_text(reading, "account", &event->account) || !read_text(reading, "token", &event->token) ||
        !read_path(reading) || !read_headers(reading, "headers", &event->headers, &event->header_count) ||
        !read_headers(reading, "answer_headers", &event->answer_headers, &event->answer_header_count))
        return false;
    if (event->method.size == 0)
        event->method = (struct drossel_text)DROSSEL_TEXT("GET");
    take_header(event, "host", &event->host);
    take_header(event, "user-agent", &event->agent);
    take_header(event, "x-forwarded-for", &event->forwarded);
    event->host = door_host(event->host);
    return true;
}

bool event_read(struct events *events, struct event *event, struct drossel_text line, char why[EVENT_WHY_BYTES])
{
    json_error_t error;
    json_t *object = json_loadb(line.data, line.size, JSON_ALLOW_NUL, &error);
    struct reading reading = { events, event, object, "" };
    *reading.event = (struct event){ 0 };
    bool good = false;
    if (object == NULL)
        snprintf(reading.why, sizeof reading.why, "no JSON: %s at column %d; write one object a line", error.text,
                 error.column);
    else if (!json_is_object(object))
        wrong(&reading, "a list; write one object a line");
    else
        good = read_time(&reading) && read_addresses(&reading) && read_numbers(&reading) && read_facts(&reading);
    json_decref(object);
    memcpy(why, reading.why, EVENT_WHY_BYTES);
    return good;
}
