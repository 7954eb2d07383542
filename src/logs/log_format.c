/* Reads lines by a compiled pattern: the format that --format gives as a string. */
#include "logs/log_format.h"

#include <string.h>

#include "logs/pattern_end.h"

#define SECOND_NS UINT64_C(1000000000)

/* ---- what a variable says ---- */

static bool is_number(struct drossel_text text, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || *value > UINT64_MAX / 100)
            return false;
        *value = *value * 10 + (uint64_t)(text.data[i] - '0');
    }
    return true;
}

static bool take_status(struct pattern_match *match, struct drossel_text text)
{
    uint64_t value;
    if (log_text_absent(text))
        return true;
    if (text.size != 3 || !is_number(text, &value))
        return false;
    match->record->status = (uint16_t)value;
    return true;
}

static bool take_bytes(struct pattern_match *match, struct drossel_text text)
{
    uint64_t value;
    if (log_text_absent(text))
        return true;
    if (!is_number(text, &value))
        return false;
    if (match->record->bytes == 0)
        match->record->bytes = value;
    return true;
}

static void take_cookie(struct pattern_match *match, struct drossel_text name, struct drossel_text value)
{
    static const struct drossel_text field = DROSSEL_TEXT("Cookie");
    struct log_scratch *scratch = match->scratch;
    size_t size = name.size + 1 + value.size;
    if (log_text_absent(value) || scratch->cap - scratch->used < size)
        return;
    char *start = scratch->data + scratch->used, *out = mempcpy(start, name.data, name.size);
    *out++ = '=';
    memcpy(out, value.data, value.size);
    scratch->used += size;
    log_record_header(match->record, field, (struct drossel_text){ start, size });
}

/* A number that is none is left out: `-`, several upstreams `0.1, 0.2`. */
static void take_duration(struct pattern_match *match, const struct pattern_item *item, struct drossel_text text)
{
    uint64_t value;
    if (match->record->duration_ns == LOG_NO_DURATION && log_duration(text, item->unit_ns, &value))
        match->record->duration_ns = value;
}

/* Of several times in a line the finest is the one. */
static void take_time(struct pattern_match *match, uint64_t t_ns, uint64_t resolution_ns)
{
    if (match->has_time && match->resolution_ns <= resolution_ns)
        return;
    match->t_ns = t_ns;
    match->resolution_ns = resolution_ns;
    match->has_time = true;
}

static void set_first(struct drossel_text *place, struct drossel_text value)
{
    if (place->size == 0 && !log_text_absent(value))
        *place = value;
}

/* An address or the name of a host has no blanks: a line that has some there is of another format. */
static bool take_client(struct drossel_text *place, struct drossel_text text)
{
    set_first(place, log_client_text(text));
    return text.size == 0 || memchr(text.data, ' ', text.size) == NULL;
}

static bool take_value(struct pattern_match *match, const struct pattern_item *item, struct drossel_text raw)
{
    if (match->record == NULL)
        return true;
    struct log_record *record = match->record;
    struct drossel_text text = item->kind == ITEM_SKIP ? raw : log_unescaped(match->scratch, raw);
    switch (item->kind) {
    case ITEM_CLIENT:
        return take_client(&record->client, text);
    case ITEM_CLIENT_BELOW:
        return take_client(&match->below, text);
    case ITEM_USER:
        set_first(&record->user, text);
        return true;
    case ITEM_REQUEST:
        log_record_request(record, text);
        return true;
    case ITEM_METHOD:
        set_first(&record->method, text);
        return true;
    case ITEM_TARGET:
        set_first(&record->target, text);
        return true;
    case ITEM_QUERY:
        set_first(&match->query, text);
        return true;
    case ITEM_PROTOCOL:
        set_first(&record->protocol, text);
        return true;
    case ITEM_STATUS:
        return take_status(match, text);
    case ITEM_BYTES:
        return take_bytes(match, text);
    case ITEM_DURATION:
        take_duration(match, item, text);
        return true;
    case ITEM_HOST:
        set_first(&record->host, log_client_text(text));
        return true;
    case ITEM_HEADER:
        log_record_header(record, item->name, text);
        return true;
    case ITEM_COOKIE:
        take_cookie(match, item->name, text);
        return true;
    case ITEM_CACHE:
        record->cache = log_cache_of(text);
        return true;
    case ITEM_VERDICT:
        set_first(&record->verdict, text);
        return true;
    default:
        return true;
    }
}

/* ---- the line ---- */

static bool read_stamp(struct pattern_match *match)
{
    struct log_stamp stamp;
    if (!pattern_stamp_at(match, match->p, &stamp))
        return false;
    take_time(match, stamp.t_ns, stamp.resolution_ns);
    match->p += stamp.size;
    return true;
}

/* `msec_frac`, `usec_frac`: 0 if it is neither. */
static uint64_t fraction_unit(struct drossel_text format)
{
    if (format.size != 9 || memcmp(format.data + 1, "sec_frac", 8) != 0)
        return 0;
    return format.data[0] == 'm' ? 1000000 : 1000;
}

static bool read_clock(struct pattern_match *match, struct drossel_text format)
{
    uint64_t epoch_ns = UINT64_MAX, part_ns = fraction_unit(format);
    size_t size = pattern_clock(format, (struct drossel_text){ match->p, (size_t)(match->end - match->p) },
                                &match->civil, &epoch_ns);
    if (size == 0)
        return false;
    if (part_ns > 0)
        match->fraction_unit_ns = part_ns;
    else if (epoch_ns != UINT64_MAX)
        take_time(match, epoch_ns, epoch_ns % 1000000000 == 0 ? 1000000000 : epoch_ns % 1000000 == 0 ? 1000000 : 1000);
    else
        match->has_civil = true;
    match->p += size;
    return true;
}

/* One variable, and the literal text behind it. */
static bool read_item(struct pattern_match *match, size_t at)
{
    const struct pattern_item *item = &match->pattern->item[at];
    bool last = at + 1 == match->pattern->count;
    if (item->kind == ITEM_STAMP || item->kind == ITEM_CLOCK) {
        if (item->kind == ITEM_STAMP ? !read_stamp(match) : !read_clock(match, item->name))
            return false;
    } else {
        const char *stop = item->after.size > 0 ? pattern_item_end(match, at)
                           : last               ? match->end
                                                : match->p + pattern_natural_size(match, at);
        /* A line that was cut off inside a quoted text has at least said what came before. */
        if (stop == NULL && item->quoted && match->has_time)
            stop = match->end;
        if (stop == NULL || !take_value(match, item, (struct drossel_text){ match->p, (size_t)(stop - match->p) }))
            return false;
        match->p = stop;
        if (item->after.size > 0 && stop < match->end) { /* there it was found */
            match->p += item->after.size;
            return true;
        }
    }
    if (pattern_literal_at(match, match->p, item->after)) {
        match->p += item->after.size;
        return true;
    }
    return match->p == match->end && item->quoted;
}

/* `/path` and `a=1`, which the pattern has apart, or `?a=1`. */
static void join_query(struct pattern_match *match)
{
    struct log_record *record = match->record;
    struct drossel_text query = match->query, target = record->target;
    if (query.size > 0 && query.data[0] == '?')
        query = (struct drossel_text){ query.data + 1, query.size - 1 };
    size_t size = target.size + 1 + query.size;
    if (query.size == 0 || target.size == 0 || match->scratch->cap - match->scratch->used < size ||
        memchr(target.data, '?', target.size) != NULL)
        return;
    char *start = match->scratch->data + match->scratch->used, *out = mempcpy(start, target.data, target.size);
    *out++ = '?';
    memcpy(out, query.data, query.size);
    match->scratch->used += size;
    record->target = (struct drossel_text){ start, size };
}

/* The client where the log has only what a proxy said: the one that it names, or the first of its list. */
static struct drossel_text first_forwarded(const struct log_record *record)
{
    struct drossel_text forwarded = record->forwarded;
    for (uint32_t i = 0; i < record->header_count; i++)
        if (pattern_names_client(record->header[i].name))
            return log_client_text(record->header[i].value);
    const char *comma = forwarded.size == 0 ? NULL : memchr(forwarded.data, ',', forwarded.size);
    return log_client_text(
        (struct drossel_text){ forwarded.data, comma == NULL ? forwarded.size : (size_t)(comma - forwarded.data) });
}

/* The time of its parts; or, where a whole second stands in one place and its fraction in another, both together. */
static void take_civil(struct pattern_match *match)
{
    uint64_t t_ns;
    if (match->has_civil && !match->has_time && log_stamp_civil(&match->civil, &t_ns))
        take_time(match, t_ns, 1);
    else if (match->has_time && match->fraction_unit_ns > 0 && match->resolution_ns == SECOND_NS)
        take_time(match, match->t_ns + match->civil.fraction_ns, match->fraction_unit_ns);
}

static struct pattern_match begin(struct pattern *pattern, struct drossel_text line)
{
    return (struct pattern_match){
        .pattern = pattern, .p = line.data, .end = line.data + line.size, .civil = { .month = 1, .day = 1 }
    };
}

/* The first `count` items.  A line may end early, behind a text that was cut off, when its time is known. */
static bool read_items(struct pattern_match *match, size_t count)
{
    if (match->p == match->end || !pattern_literal_at(match, match->p, match->pattern->first))
        return false;
    match->p += match->pattern->first.size;
    for (size_t i = 0; i < count; i++) {
        if (match->p == match->end && match->has_time && i + 1 < match->pattern->count)
            break;
        if (!read_item(match, i))
            return false;
    }
    return true;
}

enum log_line pattern_parse(struct pattern *pattern, struct drossel_text line, struct log_scratch *scratch,
                            struct log_record *record)
{
    struct pattern_match match = begin(pattern, line);
    match.scratch = scratch;
    match.record = record;
    if (!read_items(&match, pattern->count))
        return LOG_UNPARSED;
    while (match.p < match.end && *match.p == ' ')
        match.p++;
    take_civil(&match);
    if (match.p < match.end || !match.has_time)
        return LOG_UNPARSED;
    record->t_ns = match.t_ns;
    if (record->client.size == 0)
        record->client = match.below.size > 0 ? match.below : first_forwarded(record);
    join_query(&match);
    return LOG_REQUEST;
}

bool pattern_time(struct pattern *pattern, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    struct pattern_match match = begin(pattern, line);
    size_t count = 0;
    for (size_t i = 0; i < pattern->count; i++)
        if (pattern->item[i].kind == ITEM_STAMP || pattern->item[i].kind == ITEM_CLOCK)
            count = i + 1;
    if (!read_items(&match, count))
        return false;
    take_civil(&match);
    *t_ns = match.t_ns;
    *resolution_ns = match.resolution_ns;
    return match.has_time;
}

/* ---- the format ---- */

static void *open_string(const char *text, char *error, size_t error_size)
{
    return pattern_open(text, error, error_size);
}

static void close_string(void *parser)
{
    pattern_close(parser);
}

static bool time_by_string(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    return pattern_time(parser, line, t_ns, resolution_ns);
}

static enum log_line parse_by_string(void *parser, struct drossel_text line, struct log_scratch *scratch,
                                     struct log_record *record)
{
    return pattern_parse(parser, line, scratch, record);
}

const struct log_format log_format_string = { "log format", NULL,           open_string,
                                              close_string, time_by_string, parse_by_string };
