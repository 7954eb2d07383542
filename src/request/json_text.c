/* Strings and numbers of JSON as plain text. */
#include "request/json_body.h"

#include <string.h>

struct writer {
    char *out;
    size_t cap, size; /* `size` goes on beyond `cap`: nothing is written there */
};

static void put(struct writer *writer, unsigned c)
{
    if (writer->size < writer->cap)
        writer->out[writer->size] = (char)(unsigned char)c;
    writer->size++;
}

static void put_character(struct writer *writer, uint32_t character)
{
    if (character < 0x80)
        return put(writer, character);
    if (character < 0x800) {
        put(writer, 0xc0 | character >> 6);
    } else {
        if (character < 0x10000) {
            put(writer, 0xe0 | character >> 12);
        } else {
            put(writer, 0xf0 | character >> 18);
            put(writer, 0x80 | (character >> 12 & 0x3f));
        }
        put(writer, 0x80 | (character >> 6 & 0x3f));
    }
    put(writer, 0x80 | (character & 0x3f));
}

/* The four digits of \uXXXX, that escape's backslash being at `at`; false if it is none. */
static bool unit_at(struct drossel_text text, size_t at, uint32_t *unit)
{
    if (text.size < 6 || at > text.size - 6 || text.data[at] != '\\' || text.data[at + 1] != 'u')
        return false;
    uint32_t value = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        int digit = body_hex(text.data[i]);
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    *unit = value;
    return true;
}

/* Writes the character of the escape at `at`, two of them for a surrogate pair; returns the size of what was read. */
static size_t decode_unit(struct drossel_text text, size_t at, struct writer *writer, bool *faulty)
{
    uint32_t unit, second;
    if (!unit_at(text, at, &unit)) {
        *faulty = true;
        put(writer, 'u');
        return 2;
    }
    bool high = unit >= 0xd800 && unit < 0xdc00;
    if (high && unit_at(text, at + 6, &second) && second >= 0xdc00 && second < 0xe000) {
        put_character(writer, 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00));
        return 12;
    }
    *faulty |= unit >= 0xd800 && unit < 0xe000;
    put_character(writer, unit);
    return 6;
}

static char escaped(char c, bool *faulty)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *letter = c == '\0' ? NULL : strchr(letters, c);
    *faulty |= letter == NULL;
    return letter == NULL ? c : values[letter - letters];
}

size_t json_decode(struct drossel_text text, char *out, size_t cap, bool *faulty)
{
    struct writer writer = { out, cap, 0 };
    size_t at = 0;
    while (at < text.size) {
        char c = text.data[at];
        if (c != '\\' || at + 1 == text.size) {
            *faulty |= c == '\\';
            put(&writer, (unsigned char)c);
            at++;
        } else if (text.data[at + 1] == 'u') {
            at += decode_unit(text, at, &writer, faulty);
        } else {
            put(&writer, (unsigned char)escaped(text.data[at + 1], faulty));
            at += 2;
        }
    }
    return writer.size;
}

/* ---- numbers ---- */

static size_t digits(struct drossel_text text, size_t at)
{
    size_t count = 0;
    while (at + count < text.size && text.data[at + count] >= '0' && text.data[at + count] <= '9')
        count++;
    return count;
}

bool json_is_number(struct drossel_text text)
{
    size_t at = text.size > 0 && text.data[0] == '-';
    size_t count = digits(text, at);
    if (count == 0 || (count > 1 && text.data[at] == '0'))
        return false;
    at += count;
    if (at < text.size && text.data[at] == '.') {
        count = digits(text, at + 1);
        if (count == 0)
            return false;
        at += 1 + count;
    }
    if (at < text.size && (text.data[at] | 0x20) == 'e') {
        at++;
        at += at < text.size && (text.data[at] == '-' || text.data[at] == '+');
        count = digits(text, at);
        if (count == 0)
            return false;
        at += count;
    }
    return at == text.size;
}

/* A number as digits without zeros at either end, times ten to the `exponent`. */
struct decimal {
    char digit[JSON_INTEGER_DIGITS];
    size_t count;  /* JSON_INTEGER_DIGITS + 1: too many */
    long exponent; /* saturated far beyond anything that is an integer here */
    bool negative;
};

static void add_digit(struct decimal *decimal, char digit, size_t *zeros)
{
    if (digit == '0') { /* zeros count only if another digit follows */
        *zeros += decimal->count > 0;
        return;
    }
    if (decimal->count + *zeros >= JSON_INTEGER_DIGITS) {
        decimal->count = JSON_INTEGER_DIGITS + 1;
        return;
    }
    memset(decimal->digit + decimal->count, '0', *zeros);
    decimal->count += *zeros;
    decimal->digit[decimal->count++] = digit;
    *zeros = 0;
}

static long exponent_of(struct drossel_text text, size_t at)
{
    if (at >= text.size)
        return 0;
    bool negative = text.data[at + 1] == '-';
    long value = 0;
    for (; at < text.size; at++)
        if (text.data[at] >= '0' && text.data[at] <= '9' && value < 100000000)
            value = value * 10 + (text.data[at] - '0');
    return negative ? -value : value;
}

/* `text` is a number. */
static void read_decimal(struct drossel_text text, struct decimal *decimal)
{
    size_t at = 0, zeros = 0, places = 0;
    bool fraction = false;
    decimal->count = 0;
    decimal->negative = text.data[0] == '-';
    for (; at < text.size && (text.data[at] | 0x20) != 'e'; at++) {
        char c = text.data[at];
        if (c == '.')
            fraction = true;
        if (c < '0' || c > '9')
            continue;
        places += fraction;
        if (decimal->count <= JSON_INTEGER_DIGITS)
            add_digit(decimal, c, &zeros);
    }
    long shift = (long)zeros - (long)places;
    decimal->exponent = exponent_of(text, at) + shift;
}

/* Writes `decimal` as an integer of at most JSON_INTEGER_DIGITS; false if it is none. */
static bool put_integer(struct writer *writer, const struct decimal *decimal)
{
    if (decimal->count == 0) {
        put(writer, '0');
        return true;
    }
    if (decimal->count > JSON_INTEGER_DIGITS || decimal->exponent < 0 ||
        decimal->exponent > (long)(JSON_INTEGER_DIGITS - decimal->count))
        return false;
    if (decimal->negative)
        put(writer, '-');
    for (size_t i = 0; i < decimal->count; i++)
        put(writer, (unsigned char)decimal->digit[i]);
    for (long i = 0; i < decimal->exponent; i++)
        put(writer, '0');
    return true;
}

size_t json_number(struct drossel_text text, char *out, size_t cap, bool *faulty)
{
    struct writer writer = { out, cap, 0 };
    struct decimal decimal;
    if (json_is_number(text)) {
        read_decimal(text, &decimal);
        if (put_integer(&writer, &decimal))
            return writer.size;
    }
    *faulty = true;
    for (size_t i = 0; i < text.size; i++)
        put(&writer, (unsigned char)text.data[i]);
    return writer.size;
}
