/*
 * HAProxy's HTTP log, alone or behind a syslog prefix, with captures, and with what `option httpslog` writes behind
 * the request:
 *
 *     client:port [02/Feb/2012:04:05:24.385] frontend backend/server 0/0/0/1/4 404 638 - - CD-- 0/0/0/0/0 0/0 {req|caps} {resp} "GET / HTTP/1.0"
 *
 * Lines of TCP mode (three timers) and of refused handshakes are no requests.
 */
#include "logs/format.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define TIMER_SLASHES 4

struct words {
    const char *p, *end;
};

/* The fields that decide whether it is a request, and what follows them. */
struct cut {
    struct drossel_text client, timers, status;
    struct log_stamp stamp;
    struct words rest;
};

static struct drossel_text next_word(struct words *words)
{
    while (words->p < words->end && log_is_blank(*words->p))
        words->p++;
    struct drossel_text word = { words->p, 0 };
    while (words->p < words->end && !log_is_blank(*words->p))
        words->p++;
    word.size = (size_t)(words->p - word.data);
    return word;
}

/* The first bracket with a time that has a fraction. */
static const char *find_time(struct log_stamp_cache *cache, struct drossel_text line, struct log_stamp *stamp)
{
    const char *open = line.data, *end = open + line.size;
    for (;; open++) {
        open = memchr(open, '[', (size_t)(end - open));
        if (open == NULL)
            return NULL;
        struct drossel_text text = { open + 1, (size_t)(end - open) - 1 };
        if (log_stamp_clf_cached(cache, text, stamp) && stamp->size < text.size && text.data[stamp->size] == ']')
            return stamp->resolution_ns < SECOND_NS ? open : NULL;
    }
}

/* `192.0.2.1:80` at the end of what stands before the time: the address.  Size 0: it is none. */
static struct drossel_text client_of(const char *start, const char *end)
{
    while (end > start && log_is_blank(end[-1]))
        end--;
    const char *word = end;
    while (word > start && !log_is_blank(word[-1]))
        word--;
    const char *colon = word == end ? NULL : memrchr(word, ':', (size_t)(end - word));
    if (colon == NULL)
        return (struct drossel_text){ NULL, 0 };
    bool bracketed = colon - word >= 2 && *word == '[' && colon[-1] == ']';
    return (struct drossel_text){ word + bracketed, (size_t)(colon - word) - 2 * bracketed };
}

static bool is_status(struct drossel_text word)
{
    if (word.size == 2 && memcmp(word.data, "-1", 2) == 0)
        return true;
    size_t sign = word.size > 0 && word.data[0] == '+';
    if (word.size != 3 + sign)
        return false;
    for (size_t i = sign; i < word.size; i++)
        if (word.data[i] < '0' || word.data[i] > '9')
            return false;
    return true;
}

static bool is_timers(struct drossel_text word)
{
    unsigned slashes = 0;
    for (size_t i = 0; i < word.size; i++)
        slashes += word.data[i] == '/';
    return slashes >= TIMER_SLASHES;
}

static bool cut_line(struct log_stamp_cache *cache, struct drossel_text line, struct cut *cut)
{
    const char *end = line.data + line.size, *open = find_time(cache, line, &cut->stamp);
    if (open == NULL)
        return false;
    cut->client = client_of(line.data, open);
    cut->rest = (struct words){ open + 2 + cut->stamp.size, end };
    next_word(&cut->rest); /* frontend */
    next_word(&cut->rest); /* backend/server */
    cut->timers = next_word(&cut->rest);
    cut->status = next_word(&cut->rest);
    return cut->client.size > 0 && is_timers(cut->timers) && is_status(cut->status);
}

/* ---- the record ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* HAProxy writes what is not printable, and its own separators, as #XX. */
static struct drossel_text plain(struct log_scratch *scratch, struct drossel_text text)
{
    if (text.size == 0 || memchr(text.data, '#', text.size) == NULL || scratch->cap - scratch->used < text.size)
        return text;
    char *start = scratch->data + scratch->used, *out = start;
    for (size_t i = 0; i < text.size; i++) {
        bool escaped =
            text.data[i] == '#' && text.size - i > 2 && hex(text.data[i + 1]) >= 0 && hex(text.data[i + 2]) >= 0;
        *out++ = escaped ? (char)(hex(text.data[i + 1]) * 16 + hex(text.data[i + 2])) : text.data[i];
        i += escaped ? 2 : 0;
    }
    scratch->used += (size_t)(out - start);
    return (struct drossel_text){ start, (size_t)(out - start) };
}

/* The last of the timers, `+` before it as long as the answer is still on its way; -1: none. */
static void read_duration(struct log_record *record, struct drossel_text timers)
{
    const char *last = memrchr(timers.data, '/', timers.size) + 1;
    last += last < timers.data + timers.size && *last == '+';
    log_duration((struct drossel_text){ last, (size_t)(timers.data + timers.size - last) }, 1000000,
                 &record->duration_ns);
}

static uint64_t number(struct drossel_text word)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word.size && value < UINT64_MAX / 100; i++)
        if (word.data[i] >= '0' && word.data[i] <= '9')
            value = value * 10 + (uint64_t)(word.data[i] - '0');
    return value;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* `www.example.com`, perhaps with a port: ends in a label of letters. */
static bool is_host(struct drossel_text text)
{
    struct drossel_text host = log_client_text(text);
    size_t label = 0; /* letters of the last label so far; 0 behind anything else */
    bool dot = false, letters = false;
    for (size_t i = 0; i < host.size; i++) {
        char c = host.data[i];
        if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.' && c != '-')
            return false;
        dot = dot || c == '.';
        letters = is_letter(c) && (letters || label == 0);
        label = c == '.' ? 0 : label + 1;
    }
    return dot && letters && host.size < 256;
}

/* Captured fields have no names in the log.  Addresses are X-Forwarded-For, `Name/1.0 ...` is an agent, a name with a
 * dot the host. */
static void read_capture(struct log_record *record, struct drossel_text text)
{
    static const struct drossel_text forwarded = DROSSEL_TEXT("X-Forwarded-For"), agent = DROSSEL_TEXT("User-Agent"),
                                     host = DROSSEL_TEXT("Host");
    struct drossel_address address;
    const char *comma = text.size == 0 ? NULL : memchr(text.data, ',', text.size);
    size_t first = comma == NULL ? text.size : (size_t)(comma - text.data);
    const char *slash = text.size == 0 ? NULL : memchr(text.data, '/', text.size);
    if (log_text_absent(text))
        return;
    if (drossel_address_parse(text.data, first, &address) == DROSSEL_OK) {
        if (record->forwarded.size == 0)
            log_record_header(record, forwarded, text);
    } else if (slash != NULL && slash > text.data && slash[1] >= '0' && slash[1] <= '9' && text.data[0] != '/' &&
               memchr(text.data, ' ', (size_t)(slash - text.data)) == NULL) {
        if (record->agent.size == 0)
            log_record_header(record, agent, text);
    } else if (record->host.size == 0 && is_host(text)) {
        log_record_header(record, host, text);
    }
}

/* `{a|b}` of the request; the braces of the answer follow, and say nothing of the client. */
static void read_captures(struct log_record *record, const char *p, const char *end, struct log_scratch *scratch)
{
    const char *open = memchr(p, '{', (size_t)(end - p));
    const char *close = open == NULL ? NULL : memchr(open, '}', (size_t)(end - open));
    if (close == NULL)
        return;
    for (p = open + 1; p <= close; p++) {
        const char *bar = memchr(p, '|', (size_t)(close - p));
        const char *stop = bar == NULL ? close : bar;
        read_capture(record, plain(scratch, (struct drossel_text){ p, (size_t)(stop - p) }));
        p = stop;
    }
}

/* The request is the first quoted text; of one that was cut off at the log's length the closing quote is missing. */
static void read_request(struct log_record *record, struct words *rest, struct log_scratch *scratch)
{
    const char *p = rest->p, *end = rest->end, *open = p == end ? NULL : memchr(p, '"', (size_t)(end - p));
    if (open == NULL)
        return;
    read_captures(record, p, open, scratch);
    const char *close = memchr(open + 1, '"', (size_t)(end - open) - 1);
    const char *stop = close == NULL ? end : close;
    log_record_request(record, plain(scratch, (struct drossel_text){ open + 1, (size_t)(stop - open) - 1 }));
}

static bool haproxy_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    struct cut cut;
    if (!cut_line(parser, line, &cut))
        return false;
    *t_ns = cut.stamp.t_ns;
    *resolution_ns = cut.stamp.resolution_ns;
    return true;
}

static enum log_line haproxy_parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                                   struct log_record *record)
{
    struct cut cut;
    if (!cut_line(parser, line, &cut))
        return LOG_UNPARSED;
    record->t_ns = cut.stamp.t_ns;
    record->client = cut.client;
    record->status = cut.status.data[0] == '-' ? 0 : (uint16_t)number(cut.status);
    record->bytes = number(next_word(&cut.rest));
    read_duration(record, cut.timers);
    read_request(record, &cut.rest, scratch);
    return LOG_REQUEST;
}

static void *haproxy_open(const char *text, char *error, size_t error_size)
{
    (void)text, (void)error, (void)error_size;
    return calloc(1, sizeof(struct log_stamp_cache));
}

static int haproxy_recognise(struct drossel_text line)
{
    struct log_stamp_cache cache = { .zoned = false };
    struct cut cut;
    return cut_line(&cache, line, &cut) ? 95 : 0;
}

const struct log_format log_format_haproxy = { "haproxy", haproxy_recognise, haproxy_open,
                                               free,      haproxy_time,      haproxy_parse };
