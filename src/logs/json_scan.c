/*
 * Scalars of one line of JSON.
 */
#include "logs/json_scan.h"

#include <string.h>

#include "request/json_body.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct json_scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
}

/* Reads a string, its opening quote being at `at`.  The next quote is looked for once, and not again for each backslash before
 * it: a megabyte of backslashes takes as long as one of letters. */
static struct drossel_text read_string(struct json_scan *scan, bool *escapes)
{
    const char *start = ++scan->at;
    *escapes = false;
    for (;;) {
        if (scan->quote < scan->at)
            scan->quote = memchr(scan->at, '"', (size_t)(scan->end - scan->at));
        if (scan->quote == NULL)
            break;
        const char *backslash = memchr(scan->at, '\\', (size_t)(scan->quote - scan->at));
        if (backslash == NULL) {
            scan->at = scan->quote + 1;
            return (struct drossel_text){ start, (size_t)(scan->quote - start) };
        }
        *escapes = true;
        scan->at = backslash + 2;
        if (scan->at > scan->end)
            break;
    }
    scan->faulty = true;
    scan->at = scan->quote = scan->end;
    return (struct drossel_text){ start, (size_t)(scan->end - start) };
}

/* A number, true, null, `-`, or whatever stands there instead; may be empty. */
static struct drossel_text read_word(struct json_scan *scan)
{
    const char *start = scan->at;
    while (scan->at < scan->end && !is_blank(*scan->at) && strchr(",:{}[]\"", *scan->at) == NULL)
        scan->at++;
    return (struct drossel_text){ start, (size_t)(scan->at - start) };
}

/* ---- containers ---- */

/* Objects that say who ships the log, not what a value is. */
static bool is_wrapper(struct drossel_text key)
{
    static const char *const wrappers[] = { "nginx",   "access",      "fields",      "json",       "data",
                                            "log",     "jsonpayload", "httprequest", "attributes", "entry",
                                            "payload", "message",     "accesslog",   "properties" };
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (key.size == strlen(wrappers[i]) && memcmp(key.data, wrappers[i], key.size) == 0)
            return true;
    return false;
}

/* Skips what is nested too deeply, without looking at it. */
static void skip_container(struct json_scan *scan)
{
    size_t depth = 0;
    bool escapes;
    while (scan->at < scan->end) {
        char c = *scan->at;
        if (c == '"') {
            read_string(scan, &escapes);
            continue;
        }
        scan->at++;
        depth += c == '{' || c == '[';
        if ((c == '}' || c == ']') && --depth == 0)
            return;
    }
    scan->faulty = true;
}

static void open_container(struct json_scan *scan)
{
    if (scan->depth == JSON_SCAN_DEPTH) {
        skip_container(scan);
        return;
    }
    bool object = *scan->at++ == '{';
    size_t base = scan->depth > 0 ? scan->base[scan->depth - 1] : 0;
    size_t size = scan->path_size;
    struct drossel_text last = { scan->path + base, size - base };
    if (object && is_wrapper(last))
        size = base;
    else if (object && size > base && size < sizeof scan->path)
        scan->path[size++] = '.';
    scan->is_object[scan->depth] = object;
    scan->base[scan->depth++] = size;
    scan->path_size = size;
}

static void close_container(struct json_scan *scan)
{
    bool object = *scan->at++ == '}';
    scan->faulty |= object != scan->is_object[scan->depth - 1];
    scan->depth--;
    scan->done = scan->depth == 0;
}

/* ---- members ---- */

/* The path of an element is that of its array. */
static void begin_member(struct json_scan *scan)
{
    if (scan->depth > 0)
        scan->path_size = scan->base[scan->depth - 1];
}

static void take_key(struct json_scan *scan, struct drossel_text key)
{
    char folded[LOG_NAME_MOST];
    size_t size = log_name_fold(key, folded), left = sizeof scan->path - scan->path_size;
    size = size < left ? size : left;
    memcpy(scan->path + scan->path_size, folded, size);
    scan->path_size += size;
    scan->key = key;
}

static bool give(struct json_scan *scan, struct drossel_text value, bool is_string, struct json_scalar *scalar)
{
    bool null = !is_string && value.size == 4 && memcmp(value.data, "null", 4) == 0;
    scalar->key = scan->key;
    scalar->path = (struct drossel_text){ scan->path, scan->path_size };
    scalar->value = null ? (struct drossel_text){ 0 } : value;
    scalar->is_string = is_string;
    return true;
}

/* A string or a word: a key if a colon follows.  True: it was a value. */
static bool take_scalar(struct json_scan *scan, struct json_scalar *scalar)
{
    const char *start = scan->at;
    bool is_string = *start == '"', in_object = scan->is_object[scan->depth - 1];
    scalar->has_escapes = false;
    struct drossel_text text = is_string ? read_string(scan, &scalar->has_escapes) : read_word(scan);
    skip_blanks(scan);
    bool is_key = in_object && scan->at < scan->end && *scan->at == ':';
    if (is_key) {
        scan->at++;
        begin_member(scan);
        take_key(scan, text);
        return false;
    }
    if (scan->at == start) /* a stray colon */
        scan->at++;
    return give(scan, text, is_string, scalar);
}

bool json_scan_init(struct json_scan *scan, struct drossel_text line)
{
    const char *brace = line.size > 0 ? memchr(line.data, '{', line.size) : NULL;
    if (brace == NULL)
        return false;
    scan->at = brace;
    scan->end = line.data + line.size;
    scan->quote = line.data;
    scan->faulty = scan->done = false;
    scan->depth = scan->path_size = 0;
    scan->key = (struct drossel_text){ 0 };
    return true;
}

bool json_scan_next(struct json_scan *scan, struct json_scalar *scalar)
{
    for (skip_blanks(scan); scan->at < scan->end && !scan->done; skip_blanks(scan)) {
        switch (*scan->at) {
        case '{':
        case '[':
            open_container(scan);
            break;
        case '}':
        case ']':
            close_container(scan);
            begin_member(scan);
            break;
        case ',':
            scan->at++;
            if (scan->is_object[scan->depth - 1])
                scan->key = (struct drossel_text){ 0 };
            begin_member(scan);
            break;
        default:
            if (take_scalar(scan, scalar))
                return true;
        }
    }
    return false;
}

bool json_scan_is_whole(const struct json_scan *scan)
{
    const char *at = scan->at;
    while (at < scan->end && (is_blank(*at) || *at == ',' || *at == ']')) /* an element of an array over many lines */
        at++;
    return scan->done && !scan->faulty && at == scan->end;
}

/* ---- text ---- */

static bool is_hex_escape(struct drossel_text text, size_t at)
{
    return text.size - at >= 4 && text.data[at + 1] == 'x' && body_hex(text.data[at + 2]) >= 0 &&
           body_hex(text.data[at + 3]) >= 0;
}

/* The next \xHH from `at` on, or the end. */
static size_t hex_escape_from(struct drossel_text text, size_t at)
{
    while (at < text.size) {
        const char *backslash = memchr(text.data + at, '\\', text.size - at);
        if (backslash == NULL)
            return text.size;
        at = (size_t)(backslash - text.data);
        if (is_hex_escape(text, at))
            return at;
        at += 2;
    }
    return text.size;
}

struct drossel_text json_scan_text(const struct json_scalar *scalar, struct log_scratch *scratch)
{
    struct drossel_text text = scalar->value;
    bool faulty = false;
    char *out = scalar->has_escapes ? log_scratch_take(scratch, text.size) : NULL;
    if (out == NULL)
        return text;
    size_t size = 0;
    for (size_t at = 0; at < text.size;) {
        size_t next = hex_escape_from(text, at);
        struct drossel_text piece = { text.data + at, next - at };
        size += json_decode(piece, out + size, text.size - size, &faulty);
        at = next;
        if (at < text.size) {
            out[size++] = (char)(body_hex(text.data[at + 2]) << 4 | body_hex(text.data[at + 3]));
            at += 4;
        }
    }
    scratch->used -= text.size - size;
    return (struct drossel_text){ out, size };
}
