/* Values of JSON by dotted path: the grammar, token by token. */
#include "request/json_scan.h"
#include "hint.h"

#include <string.h>

/* ---- tokens ---- */

/* What a byte is outside of strings.  A table, since every byte of a body is asked. */
enum { SPACE = 1, SLASH = 2, ENDS_WORD = 4 };
static const uint8_t kinds[256] = {
    [' '] = SPACE | ENDS_WORD, ['\n'] = SPACE | ENDS_WORD, ['\r'] = SPACE | ENDS_WORD, ['\t'] = SPACE | ENDS_WORD,
    ['/'] = SLASH | ENDS_WORD, ['"'] = ENDS_WORD,          ['\''] = ENDS_WORD,         [','] = ENDS_WORD,
    [':'] = ENDS_WORD,         ['{'] = ENDS_WORD,          ['}'] = ENDS_WORD,          ['['] = ENDS_WORD,
    [']'] = ENDS_WORD,
};

static bool is_kind(char c, unsigned kind)
{
    return (kinds[(unsigned char)c] & kind) != 0;
}

/* The end of a comment at `at`, or `at` if there is none. */
static const char *comment_end(const char *at, const char *end)
{
    if (end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*'))
        return at;
    if (at[1] == '/') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        return line == NULL ? end : line;
    }
    const char *close = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
    return close == NULL ? end : close + 2;
}

static void skip_space_and_comments(struct json_scan *scan)
{
    for (;;) {
        while (scan->at < scan->end && is_kind(*scan->at, SPACE))
            scan->at++;
        const char *after = comment_end(scan->at, scan->end);
        if (after == scan->at)
            return;
        scan->faulty = true;
        scan->at = after;
    }
}

/* Mostly there is none, and no call. */
static inline void skip_space(struct json_scan *scan)
{
    if (scan->at < scan->end && is_kind(*scan->at, SPACE | SLASH))
        skip_space_and_comments(scan);
}

/* Reads a string, its opening quote being at `at`; returns its inside. */
static inline struct drossel_text read_string(struct json_scan *scan, char quote, bool *escapes)
{
    const char *start = ++scan->at, *at = start, *end = scan->end;
    scan->faulty |= quote != '"';
    for (;; at++) {
        at = json_run_end(scan->begin, at, end, quote);
        if (at == end || *at == quote)
            break;
        if (*at != '\\') {
            scan->faulty = true;
            continue;
        }
        *escapes = true;
        if (++at == end)
            break;
    }
    scan->faulty |= at == scan->end;
    scan->at = at < scan->end ? at + 1 : at;
    return (struct drossel_text){ start, (size_t)(at - start) };
}

/* Reads a number, a literal or whatever else stands there: at least one byte. */
static struct drossel_text read_word(struct json_scan *scan)
{
    const char *start = scan->at++;
    while (scan->at < scan->end && !is_kind(*scan->at, ENDS_WORD))
        scan->at++;
    return (struct drossel_text){ start, (size_t)(scan->at - start) };
}

/* ---- paths ---- */

/* Key number `index` of a path that has so many. */
static struct drossel_text path_key(struct drossel_text path, size_t index)
{
    for (;;) {
        const char *dot = memchr(path.data, '.', path.size);
        size_t size = dot == NULL ? path.size : (size_t)(dot - path.data);
        if (index-- == 0)
            return (struct drossel_text){ path.data, size };
        path.data += size + 1;
        path.size -= size + 1;
    }
}

/* The letter at `*at`, which is not ASCII, as Go folds keys: U+017F is `s`, U+212A is `k`. */
static char next_wide_letter(struct drossel_text text, size_t *at)
{
    const char *letter = text.data + *at;
    size_t left = text.size - *at;
    bool long_s = left >= 2 && memcmp(letter, "\xc5\xbf", 2) == 0;
    bool kelvin = left >= 3 && memcmp(letter, "\xe2\x84\xaa", 3) == 0;
    *at += long_s ? 2 : kelvin ? 3 : 1;
    return long_s ? 's' : kelvin ? 'k' : *letter;
}

/* The letter at `*at` without its case. */
static inline char next_letter(struct drossel_text text, size_t *at)
{
    char letter = text.data[*at];
    if ((unsigned char)letter >= 0x80)
        return next_wide_letter(text, at);
    *at += 1;
    return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter;
}

static kept_apart bool is_same_folded(struct drossel_text key, struct drossel_text wanted)
{
    size_t i = 0, j = 0;
    while (i < key.size && j < wanted.size)
        if (next_letter(key, &i) != next_letter(wanted, &j))
            return false;
    return i == key.size && j == wanted.size;
}

/* Nearly always it is as it is written. */
bool json_is_same_key(struct drossel_text key, struct drossel_text wanted)
{
    size_t i = 0;
    while (i < key.size && i < wanted.size && key.data[i] == wanted.data[i])
        i++;
    return likely(i == key.size && i == wanted.size) || is_same_folded(key, wanted);
}

/* Is a key at this depth of interest to a source? */
static bool is_on_path(const struct json_scan *scan, size_t source)
{
    return json_keys_wanted(scan, source) >= scan->depth && scan->matched[source] + (size_t)1 >= scan->depth;
}

static kept_apart void take_key(struct json_scan *scan, struct drossel_text key, bool escapes)
{
    char decoded[BODY_NAME_MAX];
    if (scan->depth == 0 || scan->depth > scan->search->sources->deepest)
        return;
    if (escapes) {
        size_t size = json_decode(key, decoded, sizeof decoded, &scan->faulty);
        key = (struct drossel_text){ decoded, size < sizeof decoded ? size : sizeof decoded };
    }
    for (size_t i = 0; i < scan->search->sources->count; i++) {
        if (!is_on_path(scan, i))
            continue;
        struct drossel_text wanted = scan->search->sources->source[i].name;
        if (json_keys_wanted(scan, i) > 1)
            wanted = path_key(wanted, scan->depth - 1);
        scan->matched[i] =
            (uint16_t)(json_is_same_key(key, wanted) ? scan->depth : scan->depth - 1); /* no deeper than `wanted` */
    }
}

/* Is the value that begins here one that the source wants? */
static bool is_wanted(const struct json_scan *scan, size_t source)
{
    return json_keys_wanted(scan, source) == scan->depth && scan->matched[source] == scan->depth && scan->depth > 0;
}

/* ---- values ---- */

static bool is_value_expected(const struct json_scan *scan)
{
    return scan->expected == JSON_VALUE || scan->expected == JSON_VALUE_OR_END || scan->expected == JSON_ANYTHING;
}

/* A wanted value of a kind that names no account. */
static void refuse_value(struct json_scan *scan)
{
    if (scan->depth > scan->search->sources->deepest)
        return;
    for (size_t i = 0; i < scan->search->sources->count; i++)
        scan->faulty |= is_wanted(scan, i);
}

void json_keep_string(struct json_scan *scan, uint32_t source, struct drossel_text raw, bool escapes)
{
    size_t cap;
    if (!escapes) {
        body_copy(scan->search, source, raw);
        return;
    }
    char *room = body_room(scan->search, &cap);
    body_keep(scan->search, source, json_decode(raw, room, cap, &scan->faulty));
}

static void take_string(struct json_scan *scan, struct drossel_text raw, bool escapes)
{
    if (scan->depth > scan->search->sources->deepest)
        return;
    for (uint32_t i = 0; i < scan->search->sources->count; i++)
        if (is_wanted(scan, i))
            json_keep_string(scan, i, raw, escapes);
}

/* Most numbers are, and need no call. */
static inline bool is_digits(struct drossel_text word)
{
    bool all = word.data[0] != '0' || word.size == 1;
    for (size_t i = 0; i < word.size; i++)
        all &= word.data[i] >= '0' && word.data[i] <= '9';
    return all;
}

static bool is_word(struct drossel_text word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.data, text, word.size) == 0;
}

static void take_word(struct json_scan *scan, struct drossel_text word)
{
    char first = word.data[0];
    if (first == 'n' && is_word(word, "null"))
        return;
    if ((first == 't' && is_word(word, "true")) || (first == 'f' && is_word(word, "false")))
        return refuse_value(scan);
    if (!is_digits(word) && !json_is_number(word))
        scan->faulty = true;
    if (scan->depth > scan->search->sources->deepest)
        return;
    for (uint32_t i = 0; i < scan->search->sources->count; i++)
        if (is_wanted(scan, i))
            json_keep_number(scan->search, i, word, &scan->faulty);
}

/* A string or word: a key if a colon follows, else a value. */
static void take_scalar(struct json_scan *scan)
{
    bool quoted = *scan->at == '"' || *scan->at == '\'', escapes = false;
    struct drossel_text text = quoted ? read_string(scan, *scan->at, &escapes) : read_word(scan);
    skip_space(scan);
    if (scan->at < scan->end && *scan->at == ':') {
        scan->at++;
        scan->faulty |= !quoted || (scan->expected != JSON_KEY && scan->expected != JSON_KEY_OR_END &&
                                    scan->expected != JSON_ANYTHING);
        take_key(scan, text, escapes);
        scan->expected = JSON_VALUE;
        return;
    }
    scan->faulty |= !is_value_expected(scan);
    scan->expected = JSON_AFTER;
    if (quoted)
        take_string(scan, text, escapes);
    else
        take_word(scan, text);
}

/* ---- containers ---- */

static void open_container(struct json_scan *scan, bool object)
{
    scan->faulty |= !is_value_expected(scan);
    refuse_value(scan);
    if (scan->depth < JSON_DEPTH_CHECKED) {
        uint8_t bit = (uint8_t)(1u << (scan->depth % 8)), *byte = &scan->is_object[scan->depth / 8];
        *byte = object ? *byte | bit : *byte & (uint8_t)~bit;
    }
    scan->depth++;
    scan->expected = object ? JSON_KEY_OR_END : JSON_VALUE_OR_END;
}

/* What may follow a comma in the innermost container. */
static enum json_expected expected_inside(const struct json_scan *scan)
{
    if (scan->depth == 0 || scan->depth > JSON_DEPTH_CHECKED)
        return JSON_ANYTHING;
    size_t index = scan->depth - 1;
    return scan->is_object[index / 8] >> (index % 8) & 1 ? JSON_KEY : JSON_VALUE;
}

static void close_container(struct json_scan *scan, bool object)
{
    enum json_expected inside = expected_inside(scan);
    scan->faulty |= scan->depth == 0 || (inside != JSON_ANYTHING && (inside == JSON_KEY) != object);
    scan->faulty |= scan->expected != JSON_AFTER && scan->expected != (object ? JSON_KEY_OR_END : JSON_VALUE_OR_END);
    scan->depth -= scan->depth > 0;
    scan->expected = JSON_AFTER;
}

static void take_comma(struct json_scan *scan)
{
    scan->faulty |= scan->expected != JSON_AFTER || scan->depth == 0;
    scan->expected = expected_inside(scan);
}

static void take_token(struct json_scan *scan)
{
    char c = *scan->at;
    switch (c) {
    case '{':
    case '[':
        open_container(scan, c == '{');
        break;
    case '}':
    case ']':
        close_container(scan, c == '}');
        break;
    case ',':
        take_comma(scan);
        break;
    case ':':
        scan->faulty = true;
        break;
    default:
        return take_scalar(scan);
    }
    scan->at++;
}

static void take_plain_object(struct json_scan *scan)
{
    struct drossel_text last = json_take_plain_members(scan);
    bool is_closed = scan->expected == JSON_AFTER;
    scan->at += is_closed;
    skip_space(scan);
    if (scan->at < scan->end && last.data != NULL) /* what follows without a key of its own counts as the last one's */
        take_key(scan, last, false);
    scan->depth -= is_closed;
}

/* Not inlined: it would lie among the way of plain members, which mostly is all. */
static __attribute__((noinline)) void take_tokens(struct json_scan *scan)
{
    for (; scan->at < scan->end; skip_space(scan))
        take_token(scan);
}

/* Kept apart from the way of forms. */
own_way kept_apart void json_values(struct drossel_text body, const struct body_search *search)
{
    struct json_scan scan; /* not zeroed whole: a bit is set when its container opens */
    if (body.size >= 3 && memcmp(body.data, "\xef\xbb\xbf", 3) == 0) {
        body.data += 3;
        body.size -= 3;
    }
    if (body.size == 0)
        return;
    scan.begin = scan.at = body.data;
    scan.end = body.data + body.size;
    scan.search = search;
    scan.depth = 0;
    scan.expected = JSON_VALUE;
    scan.faulty = false;
    memset(scan.matched, 0, sizeof scan.matched);
    skip_space(&scan);
    if (scan.at < scan.end && *scan.at == '{')
        take_plain_object(&scan);
    skip_space(&scan);
    if (unlikely(scan.at < scan.end))
        take_tokens(&scan);
    bool empty = scan.depth == 0 && scan.expected == JSON_VALUE;
    scan.faulty |= !empty && (scan.depth > 0 || scan.expected != JSON_AFTER);
    search->found->malformed |= scan.faulty;
}
