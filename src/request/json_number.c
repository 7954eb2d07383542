/* Numbers of JSON as accounts: one text for all spellings, whatever the application makes of them. */
#include "request/json_body.h"

#define DIGITS_KEPT 40                    /* significant ones; of those behind it only matters whether all are zero */
#define EVERY_INTEGER (UINT64_C(1) << 53) /* up to here a double holds each */
#define MOST_COARSE UINT64_C(1000000)     /* more than the last digits that a double of JSON_INTEGER_DIGITS may lose */

__extension__ typedef unsigned __int128 wide;

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

/* 0.d1d2d3... times ten to the `point`; the first digit is not zero. */
struct decimal {
    char digit[DIGITS_KEPT];
    size_t count;
    long point;            /* saturated far beyond anything that is an integer here */
    bool negative, is_cut; /* digits that are not zero did not fit */
};

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

static void add_digit(struct decimal *decimal, char digit, bool is_fraction)
{
    if (decimal->count == 0 && digit == '0') {
        decimal->point -= is_fraction;
        return;
    }
    decimal->point += !is_fraction;
    if (decimal->count < DIGITS_KEPT)
        decimal->digit[decimal->count++] = digit;
    else
        decimal->is_cut |= digit != '0';
}

/* `text` is a number. */
static void read_decimal(struct drossel_text text, struct decimal *decimal)
{
    bool is_fraction = false;
    size_t at = 0;
    *decimal = (struct decimal){ .negative = text.data[0] == '-' };
    for (; at < text.size && (text.data[at] | 0x20) != 'e'; at++) {
        is_fraction |= text.data[at] == '.';
        if (text.data[at] >= '0' && text.data[at] <= '9')
            add_digit(decimal, text.data[at], is_fraction);
    }
    decimal->point = decimal->count == 0 ? 0 : decimal->point + exponent_of(text, at);
}

/* Is there nothing behind the point? */
static bool is_whole(const struct decimal *decimal)
{
    size_t at = decimal->point > 0 ? (size_t)decimal->point : 0;
    for (; at < decimal->count; at++)
        if (decimal->digit[at] != '0')
            return false;
    return !decimal->is_cut;
}

/* What is before the point; it has at most JSON_INTEGER_DIGITS. */
static wide whole_of(const struct decimal *decimal)
{
    wide value = 0;
    for (long i = 0; i < decimal->point; i++)
        value = value * 10 + ((size_t)i < decimal->count ? (unsigned)(decimal->digit[i] - '0') : 0u);
    return value;
}

static void keep_text(const struct body_search *search, uint32_t source, wide value, bool negative)
{
    char text[JSON_INTEGER_DIGITS + 2];
    size_t at = sizeof text;
    do
        text[--at] = (char)('0' + (int)(value % 10));
    while ((value /= 10) > 0);
    if (negative)
        text[--at] = '-';
    body_copy(search, source, (struct drossel_text){ text + at, sizeof text - at });
}

/* The integer that JavaScript prints for one that it read: the shortest of those that are the same double. */
static wide as_double(wide value)
{
    double rounded = (double)value;
    for (wide unit = MOST_COARSE; unit > 1; unit /= 10) {
        wide shorter = ((wide)rounded + unit / 2) / unit * unit;
        if ((double)shorter == rounded)
            return shorter;
    }
    return (wide)rounded;
}

static void keep_integer(const struct body_search *search, uint32_t source, wide value, bool negative)
{
    negative &= value > 0;
    keep_text(search, source, value, negative);
    if (value > EVERY_INTEGER)
        keep_text(search, source, as_double(value), negative);
}

void json_keep_number(const struct body_search *search, uint32_t source, struct drossel_text text, bool *faulty)
{
    struct decimal decimal;
    bool is_number = json_is_number(text);
    if (is_number)
        read_decimal(text, &decimal);
    bool has_whole = is_number && decimal.point <= JSON_INTEGER_DIGITS;
    if (has_whole && is_whole(&decimal))
        return keep_integer(search, source, whole_of(&decimal), decimal.negative);
    *faulty = true;
    body_copy(search, source, text);
    if (!has_whole)
        return;
    keep_integer(search, source, whole_of(&decimal), decimal.negative);
    keep_integer(search, source, whole_of(&decimal) + 1, decimal.negative);
}
