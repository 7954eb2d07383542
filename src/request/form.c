/* Fields of application/x-www-form-urlencoded. */
#include "request/form.h"

#include "hint.h"
#include "request/scan.h"

#include <string.h>

/* What a byte of a pair is.  A table, since nearly every byte of a name is asked. */
enum { ESCAPE = 1, EQUALS = 2, AMPERSAND = 4, SEMICOLON = 8 };
static const uint8_t kinds[256] = {
    ['%'] = ESCAPE, ['+'] = ESCAPE, ['='] = EQUALS, ['&'] = AMPERSAND, [';'] = SEMICOLON
};

static unsigned kind_of(char c)
{
    return kinds[(unsigned char)c];
}

/* The byte that an escape stands for; *size is that of the escape, 1 if it is none. */
static char unescape(const char *at, size_t left, bool plus, size_t *size, bool *faulty)
{
    *size = 1;
    if (*at == '+')
        return plus ? ' ' : '+';
    int high = left > 2 ? body_hex(at[1]) : -1;
    int low = high < 0 ? -1 : body_hex(at[2]);
    if (low < 0) {
        *faulty = true;
        return *at;
    }
    *size = 3;
    return (char)(high * 16 + low);
}

struct room {
    char *at;
    size_t cap;
};

/* Where a block may be read and written, the bytes that stand for themselves are copied with it; what it copies behind them is written
 * over, or is beyond the end.  `readable`: so many bytes are there from the text's beginning on, though not all of them are its own. */
static inline size_t decode(struct drossel_text text, size_t readable, bool plus, struct room out, bool *faulty)
{
    const scan_block percents = scan_all('%'), pluses = scan_all('+');
    size_t size = 0, taken;
    for (size_t at = 0; at < text.size; at += taken) {
        if (readable - at >= SCAN_BYTES && size + SCAN_BYTES <= out.cap) {
            scan_block block = scan_load(text.data + at);
            memcpy(out.at + size, &block, sizeof block);
            taken = scan_first((scan_block)(block == percents) | (scan_block)(block == pluses));
            taken = taken < text.size - at ? taken : text.size - at;
            size += taken;
            if (taken > 0)
                continue;
        }
        char c = text.data[at];
        taken = 1;
        if (c == '%' || c == '+')
            c = unescape(text.data + at, text.size - at, plus, &taken, faulty);
        if (size < out.cap)
            out.at[size] = c;
        size++;
    }
    return size;
}

size_t form_decode(struct drossel_text text, bool plus, char *out, size_t cap, bool *faulty)
{
    return decode(text, text.size, plus, (struct room){ out, cap }, faulty);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static inline bool is_same(char c, char wanted)
{
    return c == wanted || lower(c) == lower(wanted) || (wanted == '_' && (c == '.' || c == ' ' || c == '['));
}

static size_t after_brackets(struct drossel_text name, size_t at)
{
    while (at < name.size && (name.data[at] == '[' || name.data[at] == ']' || name.data[at] == ' '))
        at++;
    return at;
}

static bool is_bracket(char c)
{
    return c == '[' || c == ']';
}

/* What `name` is if its first `at` bytes are the wanted field. */
static enum form_name end_of_name(struct drossel_text name, size_t at)
{
    if (at == name.size || name.data[at] == '\0')
        return FORM_NAME_SAME;
    bool is_closed = name.data[at] == ']';
    while (at < name.size && name.data[at] == ']')
        at++;
    if (at < name.size && name.data[at] == '[')
        return FORM_NAME_ARRAY;
    return is_closed ? FORM_NAME_SAME : FORM_NAME_OTHER; /* `[email]x`, `user[email]x`: what follows is passed over */
}

/* Is something between a closing bracket at `at` and a later opening one?  qs passes over it: `[user]x[email]`. */
static bool has_more_between(struct drossel_text name, size_t at, size_t next)
{
    return memchr(name.data + at, '[', next - at) == NULL && memchr(name.data + next, '[', name.size - next) != NULL;
}

/* Byte by byte, as nearly every one that begins alike is: no call for half a dozen of them. */
static inline bool is_identical(struct drossel_text name, struct drossel_text wanted)
{
    if (name.size != wanted.size)
        return false;
    size_t at = 0;
    while (at < name.size && name.data[at] == wanted.data[at])
        at++;
    return at == name.size;
}

/* Brackets count as one where they divide `wanted` (`user[email]`), and for nothing at its ends. */
enum form_name form_name_compare(struct drossel_text name, struct drossel_text wanted)
{
    size_t i = after_brackets(wanted, 0);
    if (i == wanted.size)
        return FORM_NAME_OTHER;
    if (likely(is_identical(name, wanted)))
        return FORM_NAME_SAME;
    size_t at = after_brackets(name, 0);
    while (i < wanted.size) {
        bool divided = is_bracket(wanted.data[i]);
        size_t next = divided ? after_brackets(name, at) : at + 1;
        if (divided && (i = after_brackets(wanted, i)) == wanted.size)
            break;
        if (at == name.size) /* or it was cut */
            return name.size < BODY_NAME_MAX ? FORM_NAME_OTHER : FORM_NAME_ARRAY;
        if (divided && next > at && has_more_between(name, at, next))
            return FORM_NAME_ARRAY;
        if (divided ? next == at : !is_same(name.data[at], wanted.data[i]))
            return FORM_NAME_OTHER;
        i += !divided;
        at = next;
    }
    return end_of_name(name, at);
}

/* A pair as it stands in the body, which goes on for `readable` bytes from the value on. */
struct pair {
    struct drossel_text name, value;
    size_t readable;
};

/* For qs the value begins behind a `]=`, if there is one: `[email]x=eve]=bob` is bob. */
static inline bool is_name_for_qs(const char *value, size_t size)
{
    return unlikely(scan_find(value, value, value + size, '=') != value + size) && memmem(value, size, "]=", 2) != NULL;
}

static void keep_value(const struct pair *pair, uint32_t source, const struct body_search *search)
{
    struct room room;
    room.at = body_room(search, &room.cap);
    size_t size = decode(pair->value, pair->readable, true, room, &search->found->malformed);
    search->found->malformed |= size > 0 && size <= room.cap && is_name_for_qs(room.at, size);
    body_keep(search, source, size);
}

static void take_value(const struct pair *pair, uint32_t source, const struct body_search *search)
{
    struct drossel_text name = pair->name;
    if (name.size > BODY_NAME_MAX)
        name.size = BODY_NAME_MAX;
    enum form_name is = form_name_compare(name, search->sources->source[source].name);
    if (is == FORM_NAME_SAME)
        keep_value(pair, source, search);
    search->found->malformed |= is == FORM_NAME_ARRAY;
}

static bool is_long_enough(struct drossel_text name, struct drossel_text wanted)
{
    return name.size >= wanted.size || (wanted.size > 0 && is_bracket(wanted.data[wanted.size - 1]));
}

static void take_pair(const struct pair *pair, const struct body_search *search)
{
    const struct body_source *source = search->sources->source;
    for (uint32_t i = 0; i < search->sources->count; i++)
        if (source[i].kind == BODY_FORM && is_long_enough(pair->name, source[i].name))
            take_value(pair, i, search);
}

/* Not inlined: it has an array on the stack, and hardly any name is written so. */
static __attribute__((noinline)) void take_encoded(struct pair *pair, const struct body_search *search)
{
    char decoded[BODY_NAME_MAX];
    size_t size = form_decode(pair->name, true, decoded, sizeof decoded, &search->found->malformed);
    pair->name = (struct drossel_text){ decoded, size < sizeof decoded ? size : sizeof decoded };
    take_pair(pair, search);
}

/* The end of the name at `at`; sets *encoded to other than 0 if it is written in escapes. */
static inline const char *name_end(const char *at, const char *end, bool semicolons, uint32_t *encoded)
{
    const unsigned stops = EQUALS | AMPERSAND | (semicolons ? SEMICOLON : 0u);
    *encoded = 0;
    for (; !semicolons && end - at >= SCAN_BYTES; at += SCAN_BYTES) {
        scan_block block = scan_load(at);
        uint32_t ends = scan_bits((scan_block)(block == scan_all('=')) | (scan_block)(block == scan_all('&')));
        uint32_t escapes = scan_bits((scan_block)(block == scan_all('%')) | (scan_block)(block == scan_all('+')));
        *encoded |= escapes & ~ends & (ends - 1); /* those before the first end */
        if (ends != 0)
            return at + __builtin_ctz(ends);
    }
    for (; at < end && (kind_of(*at) & stops) == 0; at++)
        *encoded |= kind_of(*at) == ESCAPE;
    return at;
}

/* The end of a value, or of a pair.  Each byte is looked at once, however many separators there are; most values are short. */
static inline const char *value_end(const char *begin, const char *at, const char *end, bool semicolons)
{
    if (semicolons) {
        while (at < end && *at != '&' && *at != ';')
            at++;
        return at;
    }
    if (end - at >= SCAN_BYTES) {
        uint32_t ends = scan_bits((scan_block)(scan_load(at) == scan_all('&')));
        if (ends != 0)
            return at + __builtin_ctz(ends);
        at += SCAN_BYTES;
    }
    return scan_find(begin, at, end, '&');
}

/* Compiled twice: nearly no body has a semicolon. */
static inline __attribute__((always_inline)) void read_pairs(struct drossel_text body, bool semicolons,
                                                             const struct body_search *search)
{
    const char *at = body.data, *end = at + body.size;
    const uint32_t letters = search->sources->form_letters;
    for (; at < end; at += at < end) {                  /* and over the separator */
        if (likely((letters >> (*at & 31) & 1) == 0)) { /* most names differ from the wanted ones there already */
            at = value_end(body.data, at, end, semicolons);
            continue;
        }
        uint32_t encoded;
        const char *name = at, *name_stop = at = name_end(at, end, semicolons, &encoded), *value = at;
        if (at < end && *at == '=') {
            value++;
            at = value_end(body.data, value, end, semicolons);
        }
        struct pair pair = { .name = { name, (size_t)(name_stop - name) },
                             .value = { value, (size_t)(at - value) },
                             .readable = (size_t)(end - value) };
        if (encoded != 0)
            take_encoded(&pair, search);
        else
            take_pair(&pair, search);
    }
}

static __attribute__((noinline)) void read_pairs_at_semicolons(struct drossel_text body,
                                                               const struct body_search *search)
{
    read_pairs(body, true, search);
}

/* What JavaScript passes over before the first name: a byte order mark (`text()` of a request), a `?` (URLSearchParams). */
static __attribute__((noinline)) size_t size_passed_over(struct drossel_text body)
{
    static const char mark[] = "\xef\xbb\xbf";
    bool marked = body.size >= sizeof mark - 1 && memcmp(body.data, mark, sizeof mark - 1) == 0;
    size_t at = marked ? sizeof mark - 1 : 0;
    return at + (at < body.size && body.data[at] == '?');
}

void form_fields(struct drossel_text body, const struct body_search *search)
{
    if (body.size == 0)
        return;
    if (unlikely(*body.data == '?' || *body.data == '\xef')) {
        size_t passed = size_passed_over(body);
        search->found->malformed |= passed > 0;
        body.data += passed;
        body.size -= passed;
    }
    if (body.size == 0)
        return;
    read_pairs(body, false, search);
    if (scan_find(body.data, body.data, body.data + body.size, ';') != body.data + body.size)
        read_pairs_at_semicolons(body, search);
}
