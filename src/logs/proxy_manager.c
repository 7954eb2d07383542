/*
 * Nginx Proxy Manager, NPMplus and Zoraxy: proxies with a web page to set them up, each with a format of its own.
 *
 *     [24/Jan/2022:16:51:02 +0000] HIT 404 404 - GET http host.example "/uri" [Client 192.0.2.1] [Length 192] [Gzip -] [Sent-to x] "agent" "referer"
 *     [10/Feb/2024:21:23:40 +0100] host.example 192.0.2.1 0.002 "GET / HTTP/1.1" 401 77 935 referer agent with blanks
 *     2025/05/01 12:01:50 [2025-05-01 12:01:50.912318] [router:x] [origin:host.example] [client: 192.0.2.1] [useragent: x] GET / 404
 */
#include "logs/worded.h"

#include <string.h>

#define HEADER(name) ((struct drossel_text)DROSSEL_TEXT(name))

/* ---- Nginx Proxy Manager ---- */

static bool take_label(struct drossel_text text, const char *label, struct drossel_text *value)
{
    size_t size = strlen(label);
    if (text.size <= size || memcmp(text.data, label, size) != 0)
        return false;
    *value = (struct drossel_text){ text.data + size, text.size - size };
    return true;
}

/* Behind the target: what is in brackets names itself, what is in quotes is agent and referer. */
static void read_npm_tail(const struct log_columns *columns, size_t from, struct log_scratch *scratch,
                          struct log_record *record)
{
    struct drossel_text value;
    unsigned quoted = 0;
    for (size_t i = from; i < columns->count; i++) {
        if (columns->opened[i] == '"')
            log_record_header(record, quoted++ == 0 ? HEADER("User-Agent") : HEADER("Referer"),
                              log_unescaped(scratch, columns->text[i]));
        else if (take_label(columns->text[i], "Client ", &value))
            record->client = log_client_text(value);
        else if (take_label(columns->text[i], "Length ", &value))
            record->bytes = log_count(value);
    }
}

static bool read_npm(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                     struct log_stamp *stamp)
{
    struct log_columns columns;
    log_columns_split(line, COLUMNS_QUOTED, &columns);
    size_t target = 0;
    while (target < columns.count && columns.opened[target] != '"')
        target++;
    if (target < 6 || target + 3 > columns.count || columns.is_torn || columns.opened[0] != '[' ||
        columns.opened[target + 1] != '[' || !log_stamp_clf(columns.text[0], stamp))
        return false;
    record->status = log_status(log_column(&columns, target - 5));
    record->method = log_column(&columns, target - 3);
    log_record_header(record, HEADER("Host"), log_column(&columns, target - 1));
    record->target = log_unescaped(scratch, columns.text[target]);
    if (target == 8) /* the cache and the upstream's status before the status */
        record->cache = log_cache_of(columns.text[1]);
    read_npm_tail(&columns, target + 1, scratch, record);
    return record->client.size > 0;
}

/* ---- NPMplus ---- */

static bool read_npmplus(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                         struct log_stamp *stamp)
{
    struct log_columns columns;
    log_columns_split(line, COLUMNS_QUOTED, &columns);
    if (columns.count < 8 || columns.opened[0] != '[' || columns.opened[4] != '"' ||
        !log_stamp_clf(columns.text[0], stamp))
        return false;
    log_record_header(record, HEADER("Host"), log_column(&columns, 1));
    record->client = log_client_text(log_column(&columns, 2));
    uint64_t duration;
    if (log_duration(columns.text[3], 1000000000, &duration))
        record->duration_ns = duration;
    log_record_request(record, log_unescaped(scratch, columns.text[4]));
    record->status = log_status(columns.text[5]);
    record->bytes = log_count(columns.text[6]);
    log_record_header(record, HEADER("Referer"), log_column(&columns, 8));
    if (columns.count > 9) {
        const char *agent = columns.text[9].data;
        struct drossel_text text = { agent, (size_t)(line.data + line.size - agent) };
        log_record_header(record, HEADER("User-Agent"), log_unescaped(scratch, text));
    }
    return true;
}

/* ---- Zoraxy ---- */

/* What stands between `open` and the next `]`. */
static struct drossel_text bracketed(struct drossel_text line, const char *open)
{
    const char *start = memmem(line.data, line.size, open, strlen(open));
    if (start == NULL)
        return (struct drossel_text){ 0 };
    start += strlen(open);
    while (start < line.data + line.size && (*start == ' ' || *start == ':'))
        start++;
    const char *close = memchr(start, ']', (size_t)(line.data + line.size - start));
    return (struct drossel_text){ start, close == NULL ? 0 : (size_t)(close - start) };
}

static bool read_zoraxy(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                        struct log_stamp *stamp)
{
    struct log_columns columns;
    (void)scratch;
    const char *last = line.size > 0 ? memrchr(line.data, ']', line.size) : NULL;
    struct drossel_text client = bracketed(line, "[client"), agent = bracketed(line, "[useragent");
    if (last == NULL || client.size == 0 || memmem(line.data, line.size, "[router:", 8) == NULL ||
        !log_any_stamp(line.data[0] == '[' ? line : bracketed(line, "["), stamp))
        return false;
    if (agent.size > 0) /* may have brackets of its own */
        agent.size = (size_t)(last - agent.data);
    log_columns_split((struct drossel_text){ last + 1, (size_t)(line.data + line.size - last - 1) }, COLUMNS_PLAIN,
                      &columns);
    size_t first = columns.count > 0 && columns.text[0].size == 0; /* a blank stands before it */
    if (columns.count != first + 3)
        return false;
    record->client = log_client_text(client);
    record->method = columns.text[first];
    record->target = columns.text[first + 1];
    record->status = log_status(columns.text[first + 2]);
    log_record_header(record, HEADER("User-Agent"), agent);
    log_record_header(record, HEADER("Host"), bracketed(line, "[origin"));
    return true;
}

/* ---- the formats ---- */

static void *open_npm(const char *text, char *error, size_t error_size)
{
    static struct worded reader = { read_npm };
    (void)text, (void)error, (void)error_size;
    return &reader;
}

static void *open_npmplus(const char *text, char *error, size_t error_size)
{
    static struct worded reader = { read_npmplus };
    (void)text, (void)error, (void)error_size;
    return &reader;
}

static void *open_zoraxy(const char *text, char *error, size_t error_size)
{
    static struct worded reader = { read_zoraxy };
    (void)text, (void)error, (void)error_size;
    return &reader;
}

static int recognise_npm(struct drossel_text line)
{
    return worded_confidence(read_npm, line, 96);
}

static int recognise_npmplus(struct drossel_text line)
{
    return worded_confidence(read_npmplus, line, 90);
}

static int recognise_zoraxy(struct drossel_text line)
{
    return worded_confidence(read_zoraxy, line, 96);
}

const struct log_format log_format_npm = {
    .name = "npm",
    .recognise = recognise_npm,
    .open = open_npm,
    .time = worded_time,
    .parse = worded_parse,
};

const struct log_format log_format_npmplus = {
    .name = "npmplus",
    .recognise = recognise_npmplus,
    .open = open_npmplus,
    .time = worded_time,
    .parse = worded_parse,
};

const struct log_format log_format_zoraxy = {
    .name = "zoraxy",
    .recognise = recognise_zoraxy,
    .open = open_zoraxy,
    .time = worded_time,
    .parse = worded_parse,
};
