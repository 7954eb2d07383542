/*
 * From named values to a record.
 */
#include "logs/fields.h"

#include <string.h>
#include <strings.h>

static bool begins(struct drossel_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && strncasecmp(text.data, with, size) == 0;
}

static bool is_text(struct drossel_text text, const char *other)
{
    return text.size == strlen(other) && begins(text, other);
}

static bool has(struct drossel_text text, char c)
{
    return text.size > 0 && memchr(text.data, c, text.size) != NULL;
}

char *log_scratch_take(struct log_scratch *scratch, size_t size)
{
    if (size > scratch->cap - scratch->used)
        return NULL;
    scratch->used += size;
    return scratch->data + scratch->used - size;
}

/* ---- single values ---- */

uint64_t log_count(struct drossel_text text)
{
    uint64_t count = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        if (count > UINT64_MAX / 10 - 1)
            return UINT64_MAX;
        count = count * 10 + (uint64_t)(text.data[i] - '0');
    }
    return count;
}

uint16_t log_status(struct drossel_text text)
{
    uint64_t status = log_count(text);
    return status <= 999 ? (uint16_t)status : 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool log_any_stamp(struct drossel_text text, struct log_stamp *stamp)
{
    while (text.size > 0 && (text.data[0] == '[' || text.data[0] == ' ')) {
        text.data++;
        text.size--;
    }
    if (log_stamp_iso(text, stamp) || log_stamp_clf(text, stamp))
        return true;
    return log_stamp_epoch(text, stamp) && stamp->size == text.size;
}

struct drossel_text log_target(struct drossel_text written, struct drossel_text *host)
{
    static const char *const schemes[] = { "http://", "https://", "ws://", "wss://" };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (!begins(written, schemes[i]))
            continue;
        const char *at = written.data + strlen(schemes[i]), *end = written.data + written.size, *start = at;
        while (at < end && *at != '/' && *at != '?' && *at != '#')
            at++;
        *host = (struct drossel_text){ start, (size_t)(at - start) };
        if (at == end)
            return (struct drossel_text)DROSSEL_TEXT("/");
        return (struct drossel_text){ at, (size_t)(end - at) };
    }
    return written;
}

/* ---- escapes ---- */

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_percent_escape(struct drossel_text text, size_t at)
{
    return text.data[at] == '%' && text.size - at >= 3 && hex_digit(text.data[at + 1]) >= 0 &&
           hex_digit(text.data[at + 2]) >= 0;
}

struct drossel_text log_percent_decoded(struct log_scratch *scratch, struct drossel_text text)
{
    char *out = has(text, '%') ? log_scratch_take(scratch, text.size) : NULL;
    if (out == NULL)
        return text;
    size_t size = 0;
    for (size_t i = 0; i < text.size; size++) {
        bool escape = is_percent_escape(text, i);
        out[size] = escape ? (char)(hex_digit(text.data[i + 1]) << 4 | hex_digit(text.data[i + 2])) : text.data[i];
        i += escape ? 3 : 1;
    }
    scratch->used -= text.size - size;
    return (struct drossel_text){ out, size };
}

/* ---- collecting ---- */

/* A number too small for seconds since 1970 that is called a time may well be how long something took. */
static bool is_short_number(struct drossel_text text)
{
    size_t digits = 0;
    while (digits < text.size && is_digit(text.data[digits]))
        digits++;
    return digits < 9 && (digits == text.size || text.data[digits] == '.');
}

void log_values_set(struct log_values *values, const struct log_name *name, struct drossel_text value)
{
    uint8_t rank = name->rank;
    if (log_text_absent(value))
        return;
    if (name->field == FIELD_TIME && rank < LOG_RANK_CERTAIN && is_short_number(value))
        rank = 1;
    if (values->rank[name->field] >= rank)
        return;
    values->text[name->field] = value;
    values->rank[name->field] = rank;
    if (name->field == FIELD_DURATION)
        values->unit = name->unit;
}

static bool is_noise(struct drossel_text name)
{
    static const char *const noise[] = { "Accept", "Sec-", "Upgrade", "Connection", "Priority",       "Cache-Control",
                                         "Pragma", "Dnt",  "If-",     "Te",         "Content-Length", "X-Forwarded-P" };
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (begins(name, noise[i]))
            return true;
    return false;
}

/* What the client sent itself says more than any other name. */
#define HEADER_RANK (LOG_RANK_CERTAIN - 1)
/* The fields that FIELD_HOST and those after it are get the rest of the places. */
#define HEADERS_LISTED (LOG_HEADERS_MOST - (FIELD_COUNT - FIELD_HOST))

void log_values_header(struct log_values *values, struct drossel_text name, struct drossel_text value)
{
    static const char *const known[] = { "Host", "User-Agent", "Referer", "X-Forwarded-For", "Cookie" };
    if (log_text_absent(value) || name.size == 0)
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!is_text(name, known[i]) || values->rank[FIELD_HOST + i] == HEADER_RANK)
            continue; /* a second line of that name is one among the others */
        log_values_set(values, &(struct log_name){ known[i], (uint8_t)(FIELD_HOST + i), HEADER_RANK, 0, 0 }, value);
        return;
    }
    size_t at = values->header_count;
    for (size_t i = 0; at == HEADERS_LISTED && i < HEADERS_LISTED && !is_noise(name); i++)
        if (is_noise(values->header[i].name))
            at = i;
    if (at == HEADERS_LISTED)
        return;
    values->header_count += at == values->header_count;
    values->header[at] = (struct drossel_header){ name, value };
}

bool log_header_name(struct drossel_text name, struct log_scratch *scratch, struct drossel_text *header)
{
    bool nginx = begins(name, "http_"), traefik = begins(name, "request_"), w3c = begins(name, "cs(");
    if (!nginx && !traefik && !w3c)
        return false;
    size_t skip = nginx ? 5 : traefik ? 8 : 3;
    struct drossel_text rest = { name.data + skip, name.size - skip };
    if (w3c && rest.size > 0 && rest.data[rest.size - 1] == ')')
        rest.size--;
    if (rest.size == 0 || (traefik && !(rest.data[0] >= 'A' && rest.data[0] <= 'Z')))
        return false;
    *header = rest;
    char *out = nginx ? log_scratch_take(scratch, rest.size) : NULL;
    if (out == NULL)
        return !nginx;
    for (size_t i = 0; i < rest.size; i++)
        out[i] = rest.data[i];
    for (size_t i = 0; i < rest.size; i++)
        if (out[i] == '_')
            out[i] = '-';
    header->data = out;
    return true;
}

/* ---- the record ---- */

/* `2024-03-12` and `15:22:28` in two columns. */
static bool joined_stamp(struct drossel_text date, struct drossel_text clock, struct log_stamp *stamp)
{
    char joined[48];
    if (date.size + 1 + clock.size > sizeof joined)
        return false;
    memcpy(joined, date.data, date.size);
    joined[date.size] = ' ';
    memcpy(joined + date.size + 1, clock.data, clock.size);
    return log_any_stamp((struct drossel_text){ joined, date.size + 1 + clock.size }, stamp);
}

static bool set_time(struct log_values *values, struct log_record *record)
{
    struct drossel_text time = values->text[FIELD_TIME], date = values->text[FIELD_DATE];
    struct log_stamp stamp;
    bool found = false;
    if (date.size > 0 && time.size >= 5 && time.size < 20 && time.data[2] == ':')
        found = joined_stamp(date, time, &stamp);
    else if (time.size > 0)
        found = log_any_stamp(time, &stamp);
    if (!found && date.size >= 16)
        found = log_any_stamp(date, &stamp);
    if (!found && time.size == 0) /* API Gateway calls the time of the request so */
        found = has(values->text[FIELD_DURATION], ':') && log_any_stamp(values->text[FIELD_DURATION], &stamp);
    if (!found)
        return false;
    record->t_ns = stamp.t_ns;
    values->resolution_ns = stamp.resolution_ns;
    return true;
}

static void set_duration(const struct log_values *values, struct log_record *record)
{
    static const uint64_t ns[] = { [UNIT_S] = 1000000000, [UNIT_MS] = 1000000, [UNIT_US] = 1000, [UNIT_NS] = 1 };
    struct drossel_text text = values->text[FIELD_DURATION];
    const char *comma = text.size > 0 ? memchr(text.data, ',', text.size) : NULL; /* several upstreams */
    if (comma != NULL)
        text.size = (size_t)(comma - text.data);
    enum log_unit unit = values->unit;
    if (unit == UNIT_GUESS)
        unit = has(text, '.') || has(text, 'e') || has(text, 'E') ? UNIT_S : UNIT_MS;
    uint64_t duration;
    if (text.size > 0 && log_duration(text, ns[unit], &duration))
        record->duration_ns = duration;
}

struct drossel_text log_first_client(struct drossel_text list)
{
    const char *comma = list.size > 0 ? memchr(list.data, ',', list.size) : NULL;
    if (comma != NULL)
        list.size = (size_t)(comma - list.data);
    while (list.size > 0 && list.data[list.size - 1] == ' ')
        list.size--;
    return log_client_text(list);
}

/* A list is the X-Forwarded-For field in the place of the client. */
static void set_client(struct log_values *values, struct log_record *record)
{
    struct drossel_text client = values->text[FIELD_CLIENT], *forwarded = &values->text[FIELD_FORWARDED];
    if (client.size > 0 && forwarded->size == 0 && has(client, ','))
        *forwarded = client;
    record->client = log_first_client(client.size > 0 ? client : *forwarded);
}

static struct drossel_text joined_target(const struct log_values *values, struct log_scratch *scratch)
{
    struct drossel_text path = values->text[FIELD_TARGET], query = values->text[FIELD_QUERY];
    if (path.size == 0 || query.size == 0 || has(path, '?'))
        return path;
    size_t mark = query.data[0] != '?';
    char *out = log_scratch_take(scratch, path.size + mark + query.size);
    if (out == NULL)
        return path;
    memcpy(out, path.data, path.size);
    out[path.size] = '?';
    memcpy(out + path.size + mark, query.data, query.size);
    return (struct drossel_text){ out, path.size + mark + query.size };
}

static void set_request(struct log_values *values, struct log_scratch *scratch, struct log_record *record)
{
    struct drossel_text host = { 0 }, protocol = values->text[FIELD_PROTOCOL];
    if (values->text[FIELD_REQUEST].size > 0)
        log_record_request(record, values->text[FIELD_REQUEST]);
    if (record->method.size == 0)
        record->method = values->text[FIELD_METHOD];
    if (record->target.size == 0)
        record->target = joined_target(values, scratch);
    if (record->protocol.size == 0 && (begins(protocol, "HTTP") || (protocol.size > 0 && is_digit(protocol.data[0]))))
        record->protocol = protocol;
    record->target = log_target(record->target, &host);
    if (values->text[FIELD_HOST].size == 0)
        values->text[FIELD_HOST] = host;
}

static void set_headers(const struct log_values *values, struct log_record *record)
{
    static const struct drossel_text names[] = { DROSSEL_TEXT("Host"), DROSSEL_TEXT("User-Agent"),
                                                 DROSSEL_TEXT("Referer"), DROSSEL_TEXT("X-Forwarded-For"),
                                                 DROSSEL_TEXT("Cookie") };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        log_record_header(record, names[i], values->text[FIELD_HOST + i]);
    for (size_t i = 0; i < values->header_count; i++)
        log_record_header(record, values->header[i].name, values->header[i].value);
}

static bool is_request(const struct log_record *record)
{
    return record->request.size > 0 || record->method.size > 0 || record->target.size > 0 ||
           (record->client.size > 0 && record->status > 0);
}

enum log_line log_values_record(struct log_values *values, struct log_scratch *scratch, struct log_record *record)
{
    if (values->text[FIELD_CLIENT].size == 0)
        values->text[FIELD_CLIENT] = values->text[FIELD_NEAR];
    else if (values->text[FIELD_HOST].size == 0)
        values->text[FIELD_HOST] = values->text[FIELD_NEAR];
    if (!set_time(values, record))
        return LOG_UNPARSED;
    set_client(values, record);
    set_request(values, scratch, record);
    record->status = log_status(values->text[FIELD_STATUS]);
    if (!is_request(record))
        return LOG_UNPARSED;
    record->bytes = log_count(values->text[FIELD_BYTES]);
    record->user = values->text[FIELD_USER];
    record->verdict = values->text[FIELD_VERDICT];
    if (values->text[FIELD_CACHE].size > 0)
        record->cache = log_cache_of(values->text[FIELD_CACHE]);
    set_duration(values, record);
    set_headers(values, record);
    return LOG_REQUEST;
}
