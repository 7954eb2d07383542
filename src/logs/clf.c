/*
 * The family of the Common Log Format: common, combined, with a virtual host before, with X-Forwarded-For behind,
 * Traefik's.
 *
 *     [host] client ident user [10/Oct/2000:13:55:36 -0700] "request" status bytes "referer" "agent" ["forwarded"] ...
 *
 * One parser reads all of them, and each line by its own shape, so that a file may mix them.  The anchor is the
 * bracketed time, not the number of blanks: a user may be called `john [smith]`.  Then the first quoted text is the
 * request, the next word the status.
 */
#include "logs/clf_cut.h"

#include <stdlib.h>
#include <string.h>

#include "logs/fields.h"
#include "logs/marks.h"

static bool cut_line(struct clf *clf, struct drossel_text line, struct clf_cut *cut)
{
    struct drossel_text rest;
    return clf_cut_head(clf, line, cut, &rest) && clf_cut_request(rest, cut);
}

/* ---- before the time ---- */

static struct drossel_text next_word(struct drossel_text *text)
{
    size_t start = 0, size = 0;
    while (start < text->size && log_is_blank(text->data[start]))
        start++;
    while (start + size < text->size && !log_is_blank(text->data[start + size]))
        size++;
    struct drossel_text word = { text->data + start, size };
    *text = (struct drossel_text){ text->data + start + size, text->size - start - size };
    return word;
}

static bool is_address(struct drossel_text text)
{
    struct drossel_address address;
    struct drossel_text bare = log_client_text(text);
    return bare.size > 0 && drossel_address_parse(bare.data, bare.size, &address) == DROSSEL_OK;
}

/* `www.example.com 192.0.2.1 - `: the second word is an address and the first is none. */
static bool host_leads(const struct clf *clf, struct drossel_text first, struct drossel_text second)
{
    if (second.size == 0 || log_text_absent(second))
        return false;
    if (clf->host_first)
        return true;
    bool dotted = memchr(second.data, '.', second.size) != NULL || memchr(second.data, ':', second.size) != NULL;
    return dotted && is_address(second) && !is_address(first);
}

static void read_user(struct log_record *record, struct drossel_text rest, struct log_scratch *scratch)
{
    next_word(&rest); /* of identd */
    while (rest.size > 0 && log_is_blank(rest.data[0]))
        rest = (struct drossel_text){ rest.data + 1, rest.size - 1 };
    while (rest.size > 0 && log_is_blank(rest.data[rest.size - 1]))
        rest.size--;
    /* BunkerWeb has the request's number before the user. */
    bool numbered = rest.size > 2 && memcmp(rest.data + rest.size - 2, " -", 2) == 0;
    if (!numbered && !log_text_absent(rest))
        record->user = log_unescaped(scratch, rest);
}

/* `203.0.113.9, 10.0.0.1 - - `: X-Forwarded-For in the place of the client, which is its first.  False: it is no list. */
static bool read_list(struct log_record *record, struct drossel_text first, struct drossel_text *rest)
{
    static const struct drossel_text name = DROSSEL_TEXT("X-Forwarded-For");
    struct drossel_text list = first, word = first, after = *rest;
    if (memchr(first.data, ',', first.size) == NULL)
        return false;
    while (word.size > 0 && word.data[word.size - 1] == ',' && after.size > 0) {
        word = next_word(&after);
        list.size = (size_t)(word.data + word.size - list.data);
    }
    struct drossel_text client = log_first_client(list);
    if (!is_address(client))
        return false;
    record->client = client;
    log_record_header(record, name, list);
    *rest = after;
    return true;
}

static void read_head(const struct clf *clf, struct drossel_text head, struct log_scratch *scratch,
                      struct log_record *record)
{
    struct drossel_text rest = head, first = next_word(&rest);
    struct drossel_text body = log_line_body(head);
    if (body.data != head.data) {
        rest = body;
        first = next_word(&rest);
    }
    if (read_list(record, first, &rest)) {
        read_user(record, rest, scratch);
        return;
    }
    struct drossel_text after = rest, second = next_word(&after);
    if (host_leads(clf, first, second)) {
        record->host = log_client_text(first);
        first = second;
        rest = after;
    }
    record->client = log_client_text(first);
    read_user(record, rest, scratch);
}

/* ---- behind the request ---- */

static uint64_t number(struct drossel_text text)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || value > UINT64_MAX / 100)
            return 0;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    return value;
}

static void read_status(struct log_record *record, struct drossel_text word)
{
    if (word.size == 3)
        record->status = (uint16_t)number(word);
}

/* A bare word behind the agent: a time as nginx writes its $request_time (`0.057`, `rt=0.057`), or Traefik's `12ms`.
 * Whole numbers may mean anything, and are left alone. */
static void read_extra(struct log_record *record, struct drossel_text word)
{
    if (record->duration_ns != LOG_NO_DURATION)
        return;
    if (word.size > 3 && memcmp(word.data, "rt=", 3) == 0)
        word = (struct drossel_text){ word.data + 3, word.size - 3 };
    bool decimal = word.size > 4 && word.data[word.size - 4] == '.';
    bool milliseconds = word.size > 2 && word.data[word.size - 2] == 'm' && word.data[word.size - 1] == 's';
    if (decimal || milliseconds)
        log_duration(word, UINT64_C(1000000000), &record->duration_ns);
}

/* Is it a list as in X-Forwarded-For?  Its first entries are what the client said, and may be anything; the last is of a proxy. */
static bool is_forwarded(struct drossel_text text)
{
    const char *first = memchr(text.data, ',', text.size), *last = memrchr(text.data, ',', text.size);
    struct drossel_text head = { text.data, first == NULL ? text.size : (size_t)(first - text.data) }, tail = head;
    if (last != NULL)
        tail = (struct drossel_text){ last + 1, (size_t)(text.data + text.size - last) - 1 };
    while (tail.size > 0 && log_is_blank(tail.data[0]))
        tail = (struct drossel_text){ tail.data + 1, tail.size - 1 };
    return is_address(head) || is_address(tail) || (head.size == 7 && memcmp(head.data, "unknown", 7) == 0);
}

static const struct drossel_text header_names[] = { DROSSEL_TEXT("Referer"), DROSSEL_TEXT("User-Agent"),
                                                    DROSSEL_TEXT("X-Forwarded-For") };

/* The quoted text number `nth`, from 0, behind the status. */
static void read_quoted(struct log_record *record, unsigned nth, struct drossel_text text)
{
    if (log_text_absent(text) || nth > 2 || (nth == 2 && !is_forwarded(text)))
        return;
    record->header[record->header_count++] = (struct drossel_header){ header_names[nth], text };
    struct drossel_text *const place[] = { &record->referer, &record->agent, &record->forwarded };
    *place[nth] = text;
}

/* Where the reading behind the request stands. */
struct tail {
    struct log_scratch *scratch;
    unsigned quoted, bare; /* texts and words so far */
};

static void read_bare(struct log_record *record, unsigned nth, struct drossel_text word)
{
    if (nth == 0)
        read_status(record, word);
    else if (nth == 1)
        record->bytes = number(word);
    else
        read_extra(record, word);
}

static void read_tail(struct log_record *record, struct tail *tail, const char *p, const char *end)
{
    while (p < end) {
        const char *start = p;
        if (log_is_blank(*p)) {
            p++;
        } else if (*p == '"') {
            const char *close = clf_closing_quote(p + 1, end);
            const char *stop = close == NULL ? end : close;
            struct drossel_text text = { p + 1, (size_t)(stop - p) - 1 };
            read_quoted(record, tail->quoted++, log_unescaped(tail->scratch, text));
            p = stop + (close != NULL);
        } else {
            while (p < end && !log_is_blank(*p))
                p++;
            read_bare(record, tail->bare++, (struct drossel_text){ start, (size_t)(p - start) });
        }
    }
}

/* ---- the line that most lines are: nothing escaped, single blanks ---- */

static struct drossel_text between(const char *open, const char *close)
{
    return (struct drossel_text){ open + 1, (size_t)(close - open) - 1 };
}

/* ` 200 1234` at p.  Returns where it ends; NULL: it is something else. */
static const char *plain_numbers(struct log_record *record, const char *p, const char *end)
{
    if (end - p < 6 || p[0] != ' ' || p[4] != ' ')
        return NULL;
    unsigned a = (unsigned)(p[1] - '0'), b = (unsigned)(p[2] - '0'), c = (unsigned)(p[3] - '0');
    uint64_t bytes = 0;
    const char *digit = p + 5;
    for (; digit < end && *digit >= '0' && *digit <= '9' && digit - p < 20; digit++)
        bytes = bytes * 10 + (uint64_t)(*digit - '0');
    if (a > 9 || b > 9 || c > 9 || digit == p + 5 || (digit < end && *digit != ' '))
        return NULL;
    record->status = (uint16_t)(a * 100 + b * 10 + c);
    record->bytes = bytes;
    return digit;
}

/* Everything behind the time.  False, and nothing is set: it has to be read with care. */
static bool read_plain(struct log_record *record, struct drossel_text rest, struct log_scratch *scratch)
{
    struct log_marks marks;
    const char *end = rest.data + rest.size;
    log_marks_find(&marks, rest.data, end);
    const char *const *quote = marks.quote;
    if (marks.escaped || marks.count < 2 || marks.count == LOG_MARKS)
        return false;
    const char *p = plain_numbers(record, quote[1] + 1, end);
    if (p == NULL)
        return false;
    log_record_request(record, between(quote[0], quote[1]));
    struct tail tail = { scratch, 0, 2 };
    if (marks.count >= 6 && quote[2] == p + 1 && quote[4] == quote[3] + 2 && quote[3][1] == ' ') {
        read_quoted(record, 0, between(quote[2], quote[3]));
        read_quoted(record, 1, between(quote[4], quote[5]));
        tail.quoted = 2;
        p = quote[5] + 1;
    }
    read_tail(record, &tail, p, end);
    return true;
}

/* ---- the format ---- */

static bool clf_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    struct clf_cut cut;
    struct drossel_text rest;
    if (!clf_cut_head(parser, line, &cut, &rest) || (!clf_has_plain_request(rest) && !clf_cut_request(rest, &cut)))
        return false;
    *t_ns = cut.stamp.t_ns;
    *resolution_ns = cut.stamp.resolution_ns;
    return true;
}

static enum log_line clf_parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                               struct log_record *record)
{
    struct clf *clf = parser;
    struct clf_cut cut;
    struct drossel_text rest;
    if (!clf_cut_head(clf, line, &cut, &rest))
        return LOG_UNPARSED;
    if (!read_plain(record, rest, scratch)) {
        if (!clf_cut_request(rest, &cut))
            return LOG_UNPARSED;
        struct tail tail = { scratch, 0, 0 };
        log_record_request(record, log_unescaped(scratch, cut.request));
        read_tail(record, &tail, cut.tail.data, cut.tail.data + cut.tail.size);
    }
    record->t_ns = cut.stamp.t_ns;
    /* There is a colon in the time at the latest: if that is the first one, the client has no port, nor is it IPv6. */
    size_t colon = (size_t)(log_find(cut.head.data, rest.data, ':') - cut.head.data);
    bool bare = cut.plain && colon >= cut.head.size && cut.head.data[0] != '-' &&
                memchr(cut.head.data, ',', cut.head.size) == NULL;
    if (bare)
        record->client = (struct drossel_text){ cut.head.data, cut.head.size - 5 };
    else
        read_head(clf, cut.head, scratch, record);
    return LOG_REQUEST;
}

static void *clf_open(const char *text, char *error, size_t error_size)
{
    (void)text, (void)error, (void)error_size;
    return calloc(1, sizeof(struct clf));
}

static void *vhost_open(const char *text, char *error, size_t error_size)
{
    struct clf *clf = clf_open(text, error, error_size);
    if (clf != NULL)
        clf->host_first = true;
    return clf;
}

/* What a line looks like, for recognition. */
enum shape { SHAPE_NONE = 0, SHAPE_COMMON, SHAPE_COMBINED, SHAPE_FORWARDED, SHAPE_TRAEFIK, SHAPE_VHOST };

static enum shape shape_of(struct drossel_text line)
{
    struct clf clf = { .host_first = false };
    struct clf_cut cut;
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    if (!cut_line(&clf, line, &cut) || !clf_status_follows(cut.tail.data, cut.tail.data + cut.tail.size) ||
        log_line_body(cut.head).size == 0) /* Envoy, behind the prefix of a container */
        return SHAPE_NONE;
    struct log_scratch none = { 0 };
    read_head(&clf, cut.head, &none, &record);
    unsigned quoted = 0;
    const char *end = cut.tail.data + cut.tail.size, *last = NULL;
    for (const char *p = cut.tail.data; (p = memchr(p, '"', (size_t)(end - p))) != NULL; quoted++) {
        last = clf_closing_quote(p + 1, end);
        if (last == NULL)
            break;
        p = last + 1;
    }
    if (record.host.size > 0)
        return SHAPE_VHOST;
    if (quoted == 4 && last != NULL && end - last > 3 && memcmp(end - 2, "ms", 2) == 0)
        return SHAPE_TRAEFIK;
    return quoted < 2 ? SHAPE_COMMON : quoted == 2 ? SHAPE_COMBINED : SHAPE_FORWARDED;
}

static int recognise_common(struct drossel_text line)
{
    return shape_of(line) == SHAPE_COMMON ? 80 : 0;
}

static int recognise_combined(struct drossel_text line)
{
    return shape_of(line) == SHAPE_COMBINED ? 80 : 0;
}

static int recognise_forwarded(struct drossel_text line)
{
    return shape_of(line) == SHAPE_FORWARDED ? 80 : 0;
}

static int recognise_traefik(struct drossel_text line)
{
    return shape_of(line) == SHAPE_TRAEFIK ? 90 : 0;
}

static int recognise_vhost(struct drossel_text line)
{
    return shape_of(line) == SHAPE_VHOST ? 80 : 0;
}

const struct log_format log_format_common = { "common", recognise_common, clf_open, free, clf_time, clf_parse };
const struct log_format log_format_combined = { "combined", recognise_combined, clf_open, free, clf_time, clf_parse };
const struct log_format log_format_combined_forwarded = {
    "combined_forwarded", recognise_forwarded, clf_open, free, clf_time, clf_parse
};
const struct log_format log_format_vhost_combined = { "vhost_combined", recognise_vhost, vhost_open, free,
                                                      clf_time,         clf_parse };
const struct log_format log_format_traefik_clf = {
    "traefik_clf", recognise_traefik, clf_open, free, clf_time, clf_parse
};
