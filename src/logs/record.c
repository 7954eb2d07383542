/* What the parsers of all formats share: request lines, header fields, clients, durations, words of caches. */
#include "logs/format.h"

#include <string.h>
#include <strings.h>

#include "logs/marks.h"

static bool text_is(struct drossel_text text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

bool log_text_absent(struct drossel_text text)
{
    return text.size == 0 || (text.size == 1 && text.data[0] == '-');
}

/* ---- request lines ---- */

/* RFC 9110 section 5.6.2, but only what methods are made of in practice. */
static bool is_method(struct drossel_text text, bool *upper)
{
    *upper = true;
    if (text.size == 0 || text.size > 32)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool lower = c >= 'a' && c <= 'z';
        if (!(c >= 'A' && c <= 'Z') && !lower && c != '-' && c != '_')
            return false;
        *upper = *upper && !lower;
    }
    return true;
}

/* Where the protocol begins in a request line, behind its last blank; its end, if there is none. */
static size_t protocol_start(struct drossel_text line)
{
    if (line.size > 9 && memcmp(line.data + line.size - 9, " HTTP/", 6) == 0)
        return line.size - 8;
    const char *blank = memrchr(line.data, ' ', line.size);
    size_t start = blank == NULL ? line.size : (size_t)(blank - line.data) + 1;
    return line.size - start > 5 && memcmp(line.data + start, "HTTP/", 5) == 0 ? start : line.size;
}

/* `GET /target HTTP/1.1` and nothing odd about it.  False: look closer. */
static bool plain_request(struct log_record *record, struct drossel_text request)
{
    const char *p = request.data, *end = p + request.size, *blank = p;
    if (request.size < 14 || memcmp(end - 9, " HTTP/", 6) != 0)
        return false;
    while (*blank >= 'A' && *blank <= 'Z' && blank < p + 8)
        blank++;
    if (blank == p || blank[0] != ' ' || blank[1] != '/' || end[-10] == ' ')
        return false;
    record->method = (struct drossel_text){ p, (size_t)(blank - p) };
    record->target = (struct drossel_text){ blank + 1, (size_t)(end - blank) - 10 };
    record->protocol = (struct drossel_text){ end - 8, 8 };
    return true;
}

void log_record_request(struct log_record *record, struct drossel_text request)
{
    if (log_text_absent(request))
        return;
    record->request = request;
    if (plain_request(record, request))
        return;
    size_t size = 0;
    while (size < request.size && request.data[size] != ' ')
        size++;
    struct drossel_text method = { request.data, size };
    bool upper;
    if (size + 1 >= request.size || !is_method(method, &upper))
        return;
    size_t protocol = protocol_start(request), start = size + 1, end = protocol;
    bool has_protocol = protocol < request.size;
    if (protocol <= start)
        return;
    while (end > start && request.data[end - 1] == ' ')
        end--;
    while (start < end && request.data[start] == ' ')
        start++;
    bool plausible = has_protocol || (upper && (request.data[start] == '/' || request.data[start] == '*' ||
                                                memmem(request.data + start, end - start, "://", 3) != NULL));
    if (start == end || !plausible)
        return;
    record->method = method;
    record->target = (struct drossel_text){ request.data + start, end - start };
    if (has_protocol)
        record->protocol = (struct drossel_text){ request.data + protocol, request.size - protocol };
}

/* ---- header fields ---- */

void log_record_header(struct log_record *record, struct drossel_text name, struct drossel_text value)
{
    if (log_text_absent(value))
        return;
    if (record->header_count < LOG_HEADERS_MOST)
        record->header[record->header_count++] = (struct drossel_header){ name, value };
    if (text_is(name, "user-agent"))
        record->agent = value;
    else if (text_is(name, "referer"))
        record->referer = value;
    else if (text_is(name, "host"))
        record->host = log_client_text(value);
    else if (text_is(name, "x-forwarded-for"))
        record->forwarded = value;
}

/* ---- clients ---- */

struct drossel_text log_client_text(struct drossel_text written)
{
    if (log_text_absent(written))
        return (struct drossel_text){ NULL, 0 };
    if (written.data[0] == '[') {
        const char *close = memchr(written.data, ']', written.size);
        if (close != NULL)
            return (struct drossel_text){ written.data + 1, (size_t)(close - written.data) - 1 };
    }
    size_t host = (size_t)(log_find(written.data, written.data + written.size, ':') - written.data);
    if (host == 0 || host == written.size)
        return written;
    for (size_t i = host + 1; i < written.size; i++)
        if (written.data[i] < '0' || written.data[i] > '9')
            return written;
    return (struct drossel_text){ written.data, host };
}

/* ---- words and numbers ---- */

enum log_cache log_cache_of(struct drossel_text word)
{
    static const char *const hits[] = { "hit",         "stale",           "revalidated", "updating",
                                        "refreshhit",  "originshieldhit", "tcp_hit",     "tcp_mem_hit",
                                        "tcp_ims_hit", "tcp_refresh_hit", "mem_hit",     NULL };
    static const char *const misses[] = { "miss",     "bypass",   "expired",          "error",
                                          "dynamic",  "pass",     "limitexceeded",    "capacityexceeded",
                                          "redirect", "tcp_miss", "tcp_refresh_miss", "uncacheable",
                                          "none",     NULL };
    for (const char *const *hit = hits; *hit != NULL; hit++)
        if (text_is(word, *hit))
            return LOG_CACHE_HIT;
    for (const char *const *miss = misses; *miss != NULL; miss++)
        if (text_is(word, *miss))
            return LOG_CACHE_MISS;
    return LOG_CACHE_UNKNOWN;
}

/* The unit at the end of a duration; `plain` if there is none, 0 if it is not known. */
static uint64_t unit_of(struct drossel_text text, uint64_t plain)
{
    if (text.size == 0)
        return plain;
    if (text_is(text, "ns"))
        return 1;
    if (text_is(text, "us") || text_is(text, "\xc2\xb5s") || text_is(text, "\xce\xbcs"))
        return 1000;
    if (text_is(text, "ms"))
        return 1000000;
    return text_is(text, "s") ? 1000000000 : 0;
}

/* `e-05`, as many languages write what is very small or great: moves the point of the number.  Returns its size; 0: there is
 * none, or what comes out has no place in nanoseconds. */
static size_t exponent(struct drossel_text text, uint64_t *whole, uint64_t *fraction, uint64_t *fraction_unit)
{
    if (text.size < 2 || (text.data[0] | 0x20) != 'e')
        return 0;
    bool negative = text.data[1] == '-';
    size_t start = negative || text.data[1] == '+' ? 2 : 1, i = start;
    int value = 0;
    for (; i < text.size && i - start < 3 && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        value = value * 10 + (text.data[i] - '0');
    if (i == start || (!negative && value > 18))
        return 0;
    __uint128_t number = (__uint128_t)*whole * *fraction_unit + *fraction;
    uint64_t unit = *fraction_unit;
    for (; value > 0 && negative; value--) {
        if (unit >= UINT64_C(1000000000000000000))
            number /= 10;
        else
            unit *= 10;
    }
    for (; value > 0; value--)
        if ((number *= 10) / unit > UINT64_MAX / 10)
            return 0;
    *whole = (uint64_t)(number / unit);
    *fraction = (uint64_t)(number % unit);
    *fraction_unit = unit;
    return i;
}

bool log_duration(struct drossel_text text, uint64_t unit_ns, uint64_t *ns)
{
    size_t i = 0, fraction_size = 0;
    uint64_t whole = 0, fraction = 0, fraction_unit = 1;
    if (text.size == 0)
        return false;
    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        if (whole > UINT64_MAX / 100)
            return false;
        whole = whole * 10 + (uint64_t)(text.data[i] - '0');
    }
    size_t whole_size = i;
    if (i < text.size && text.data[i] == '.') {
        for (i++; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++, fraction_size++) {
            if (fraction_unit >= 1000000000)
                continue;
            fraction = fraction * 10 + (uint64_t)(text.data[i] - '0');
            fraction_unit *= 10;
        }
    }
    i += exponent((struct drossel_text){ text.data + i, text.size - i }, &whole, &fraction, &fraction_unit);
    uint64_t unit = unit_of((struct drossel_text){ text.data + i, text.size - i }, unit_ns), total;
    if (whole_size + fraction_size == 0 || unit == 0 || __builtin_mul_overflow(whole, unit, &total))
        return false;
    *ns = total + (uint64_t)((__uint128_t)fraction * unit / fraction_unit);
    return *ns >= total && *ns != LOG_NO_DURATION;
}

/* ---- escapes ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits of `\u00e9` at p; -1 if it is none. */
static long unit_at(const char *p, const char *end)
{
    long value = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        if (hex(p[i]) < 0)
            return -1;
        value = value * 16 + hex(p[i]);
    }
    return value;
}

/* UTF-8 of a code point; at most as long as what it was written with. */
static size_t put_point(char *out, long point)
{
    size_t more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = { 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = more; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(lead[more] | (unsigned char)point);
    return more + 1;
}

/* `\u00e9`, or two halves of one character.  Returns how much it takes, and sets how much it gave. */
static size_t point_escape(const char *p, const char *end, char *out, size_t *given)
{
    long high = unit_at(p, end), low = high >= 0xd800 && high < 0xdc00 ? unit_at(p + 6, end) : -1;
    bool pair = low >= 0xdc00 && low < 0xe000;
    if (high < 0)
        return 0;
    *given = put_point(out, pair ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : high);
    return pair ? 12 : 6;
}

/* One escape at p, which is a backslash with something behind it.  Returns how much it takes; 0: none that is known. */
static size_t escape(const char *p, const char *end, char *out, size_t *given)
{
    static const char from[] = "\"\\ntrbvf'/", to[] = "\"\\\n\t\r\b\v\f'/";
    const char *known = p[1] == '\0' ? NULL : strchr(from, p[1]);
    *given = 1;
    if (known != NULL) {
        *out = to[known - from];
        return 2;
    }
    if (p[1] == 'u')
        return point_escape(p, end, out, given);
    if (p[1] != 'x' || end - p < 4 || hex(p[2]) < 0 || hex(p[3]) < 0)
        return 0;
    *out = (char)(hex(p[2]) * 16 + hex(p[3]));
    return 4;
}

struct drossel_text log_unescaped(struct log_scratch *scratch, struct drossel_text text)
{
    if (text.size == 0 || memchr(text.data, '\\', text.size) == NULL || scratch->cap - scratch->used < text.size)
        return text;
    char *out = scratch->data + scratch->used, *start = out;
    const char *p = text.data, *end = p + text.size;
    while (p < end) {
        size_t given = 1, taken = *p == '\\' && end - p >= 2 ? escape(p, end, out, &given) : 0;
        if (taken == 0)
            *out = *p;
        p += taken == 0 ? 1 : taken;
        out += given;
    }
    scratch->used += (size_t)(out - start);
    return (struct drossel_text){ start, (size_t)(out - start) };
}
