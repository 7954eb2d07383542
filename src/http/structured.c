/* A strict pull parser for structured fields. */
#include "http/structured.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static bool at_end(const struct sf_cursor *cursor)
{
    return cursor->p == cursor->end;
}

void sf_skip_spaces(struct sf_cursor *cursor)
{
    while (!at_end(cursor) && *cursor->p == ' ')
        cursor->p++;
}

void sf_skip_white(struct sf_cursor *cursor)
{
    while (!at_end(cursor) && (*cursor->p == ' ' || *cursor->p == '\t'))
        cursor->p++;
}

bool sf_take(struct sf_cursor *cursor, char c)
{
    if (at_end(cursor) || *cursor->p != c)
        return false;
    cursor->p++;
    return true;
}

static struct drossel_text since(const struct sf_cursor *cursor, const char *start)
{
    return (struct drossel_text){ start, (size_t)(cursor->p - start) };
}

/* Digits, at most `most` of them; returns how many. */
static size_t digits(struct sf_cursor *cursor, size_t most, int64_t *value)
{
    size_t count = 0;
    *value = 0;
    while (!at_end(cursor) && is_digit(*cursor->p) && count <= most) {
        *value = *value * 10 + (*cursor->p++ - '0');
        count++;
    }
    return count;
}

static bool parse_number(struct sf_cursor *cursor, struct sf_value *value)
{
    int64_t whole, fraction;
    bool negative = sf_take(cursor, '-');
    size_t count = digits(cursor, 15, &whole);
    if (count == 0 || count > 15)
        return false;
    *value = (struct sf_value){ .kind = SF_INTEGER, .integer = negative ? -whole : whole };
    if (!sf_take(cursor, '.'))
        return true;
    value->kind = SF_DECIMAL;
    size_t places = digits(cursor, 3, &fraction);
    return count <= 12 && places >= 1 && places <= 3;
}

static bool parse_string(struct sf_cursor *cursor, struct sf_value *value)
{
    const char *start = ++cursor->p;
    for (; !at_end(cursor) && *cursor->p != '"'; cursor->p++) {
        if (*cursor->p == '\\') {
            cursor->p++;
            if (at_end(cursor) || !is_one_of(*cursor->p, "\"\\"))
                return false;
        }
        if ((unsigned char)*cursor->p < 0x20 || (unsigned char)*cursor->p > 0x7e)
            return false;
    }
    *value = (struct sf_value){ .kind = SF_STRING, .text = since(cursor, start) };
    return sf_take(cursor, '"');
}

static bool parse_token(struct sf_cursor *cursor, struct sf_value *value)
{
    const char *start = cursor->p++;
    while (!at_end(cursor) &&
           (is_alpha(*cursor->p) || is_digit(*cursor->p) || is_one_of(*cursor->p, "!#$%&'*+-.^_`|~:/")))
        cursor->p++;
    *value = (struct sf_value){ .kind = SF_TOKEN, .text = since(cursor, start) };
    return true;
}

static bool parse_bytes(struct sf_cursor *cursor, struct sf_value *value)
{
    const char *start = ++cursor->p;
    size_t padding = 0;
    for (; !at_end(cursor) && *cursor->p != ':'; cursor->p++) {
        bool letter = is_alpha(*cursor->p) || is_digit(*cursor->p) || *cursor->p == '+' || *cursor->p == '/';
        padding += *cursor->p == '=';
        if ((!letter && *cursor->p != '=') || (letter && padding > 0) || padding > 2)
            return false;
    }
    *value = (struct sf_value){ .kind = SF_BYTES, .text = since(cursor, start) };
    return sf_take(cursor, ':') && (value->text.size - padding) % 4 != 1;
}

static bool parse_boolean(struct sf_cursor *cursor, struct sf_value *value)
{
    cursor->p++;
    if (at_end(cursor) || !is_one_of(*cursor->p, "01"))
        return false;
    *value = (struct sf_value){ .kind = SF_BOOLEAN, .integer = *cursor->p++ == '1' };
    return true;
}

static bool parse_date(struct sf_cursor *cursor, struct sf_value *value)
{
    cursor->p++;
    if (at_end(cursor) || !parse_number(cursor, value) || value->kind != SF_INTEGER)
        return false;
    value->kind = SF_DATE;
    return true;
}

static int lower_hex(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* How UTF-8 goes on after what was read: so many more bytes, and the range of the next. */
struct utf8 {
    int more;
    unsigned low, high;
};

static bool utf8_take(struct utf8 *utf8, unsigned byte)
{
    if (utf8->more > 0) {
        bool right = byte >= utf8->low && byte <= utf8->high;
        *utf8 = (struct utf8){ utf8->more - 1, 0x80, 0xbf };
        return right;
    }
    *utf8 = (struct utf8){ byte < 0x80   ? 0
                           : byte < 0xe0 ? 1
                           : byte < 0xf0 ? 2
                                         : 3,
                           byte == 0xe0   ? 0xa0
                           : byte == 0xf0 ? 0x90
                                          : 0x80,
                           byte == 0xed   ? 0x9f
                           : byte == 0xf4 ? 0x8f
                                          : 0xbf };
    return byte < 0x80 || (byte >= 0xc2 && byte <= 0xf4);
}

/* `%"...%c3%bc"`: percent-encoded UTF-8. */
static bool parse_display_string(struct sf_cursor *cursor, struct sf_value *value)
{
    struct utf8 utf8 = { 0, 0, 0 };
    cursor->p++;
    const char *start = cursor->p + 1;
    if (!sf_take(cursor, '"'))
        return false;
    for (; !at_end(cursor) && *cursor->p != '"'; cursor->p++) {
        unsigned byte = (unsigned char)*cursor->p;
        if (byte < 0x20 || byte > 0x7e)
            return false;
        if (byte == '%') {
            if (cursor->end - cursor->p < 3 || lower_hex(cursor->p[1]) < 0 || lower_hex(cursor->p[2]) < 0)
                return false;
            byte = (unsigned)(lower_hex(cursor->p[1]) * 16 + lower_hex(cursor->p[2]));
            cursor->p += 2;
        }
        if (!utf8_take(&utf8, byte))
            return false;
    }
    *value = (struct sf_value){ .kind = SF_DISPLAY_STRING, .text = since(cursor, start) };
    return sf_take(cursor, '"') && utf8.more == 0;
}

static bool bare_item(struct sf_cursor *cursor, struct sf_value *value)
{
    if (at_end(cursor))
        return false;
    char c = *cursor->p;
    if (c == '-' || is_digit(c))
        return parse_number(cursor, value);
    if (is_alpha(c) || c == '*')
        return parse_token(cursor, value);
    switch (c) {
    case '"':
        return parse_string(cursor, value);
    case ':':
        return parse_bytes(cursor, value);
    case '?':
        return parse_boolean(cursor, value);
    case '@':
        return parse_date(cursor, value);
    case '%':
        return parse_display_string(cursor, value);
    default:
        return false;
    }
}

int sf_parameter(struct sf_cursor *cursor, struct drossel_text *key, struct sf_value *value)
{
    if (!sf_take(cursor, ';'))
        return 0;
    sf_skip_spaces(cursor);
    const char *start = cursor->p;
    if (at_end(cursor) || (!is_lower(*start) && *start != '*'))
        return -1;
    while (!at_end(cursor) && (is_lower(*cursor->p) || is_digit(*cursor->p) || is_one_of(*cursor->p, "_-.*")))
        cursor->p++;
    *key = since(cursor, start);
    *value = (struct sf_value){ .kind = SF_BOOLEAN, .integer = 1 };
    return !sf_take(cursor, '=') || bare_item(cursor, value) ? 1 : -1;
}

static bool skip_parameters(struct sf_cursor *cursor)
{
    struct drossel_text key;
    struct sf_value value;
    int found;
    do
        found = sf_parameter(cursor, &key, &value);
    while (found > 0);
    return found == 0;
}

static bool inner_list(struct sf_cursor *cursor, struct sf_value *value)
{
    struct sf_value item;
    cursor->p++;
    for (;;) {
        sf_skip_spaces(cursor);
        if (sf_take(cursor, ')'))
            break;
        if (!bare_item(cursor, &item) || !skip_parameters(cursor))
            return false;
        if (at_end(cursor) || (*cursor->p != ' ' && *cursor->p != ')'))
            return false;
    }
    *value = (struct sf_value){ .kind = SF_INNER_LIST };
    return true;
}

bool sf_member(struct sf_cursor *cursor, struct sf_value *value)
{
    return !at_end(cursor) && *cursor->p == '(' ? inner_list(cursor, value) : bare_item(cursor, value);
}

int sf_next_member(struct sf_cursor *cursor)
{
    sf_skip_white(cursor);
    if (at_end(cursor))
        return 0;
    if (!sf_take(cursor, ','))
        return -1;
    sf_skip_white(cursor);
    return at_end(cursor) ? -1 : 1;
}

size_t sf_unescape(struct drossel_text text, char *out)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\\' && i + 1 < text.size)
            i++;
        out[size++] = text.data[i];
    }
    return size;
}

static unsigned base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A');
    if (is_lower(c))
        return (unsigned)(c - 'a') + 26;
    if (is_digit(c))
        return (unsigned)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

bool sf_decode(struct drossel_text text, uint8_t *out, size_t *size)
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t written = 0;
    while (text.size > 0 && text.data[text.size - 1] == '=')
        text.size--;
    for (size_t i = 0; i < text.size; i++) {
        unsigned value = base64_value(text.data[i]);
        if (value > 63)
            return false;
        bits = (bits << 6 | value) & 0xffffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[written++] = (uint8_t)(bits >> count & 0xff);
        }
    }
    *size = written;
    return count < 6;
}
