/* Times as Apache writes them with %{...}t: strftime's format read backwards, and Apache's own words. */
#include "logs/pattern.h"

#include <string.h>

struct cursor {
    const char *p, *end;
    struct log_civil *civil;
    uint64_t *epoch_ns;
    int hour_shift; /* of %p: 12 after noon, -12 for twelve before */
};

/* One to `most` digits; -1 if there is none. */
static int64_t digits(struct cursor *cursor, int most)
{
    int64_t value = 0;
    int count = 0;
    while (cursor->p < cursor->end && *cursor->p == ' ') /* %e pads with a blank */
        cursor->p++;
    for (; count < most && cursor->p < cursor->end && *cursor->p >= '0' && *cursor->p <= '9'; count++)
        value = value * 10 + (*cursor->p++ - '0');
    return count == 0 ? -1 : value;
}

static bool take(struct cursor *cursor, int most, int *out)
{
    int64_t value = digits(cursor, most);
    *out = (int)value;
    return value >= 0;
}

/* The name of a month or a day, short or long. */
static bool month_name(struct cursor *cursor)
{
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (cursor->end - cursor->p < 3)
        return false;
    char name[3];
    for (int i = 0; i < 3; i++)
        name[i] = (char)(cursor->p[i] | 0x20);
    for (int i = 0; i < 12; i++)
        if (memcmp(months + 3 * i, name, 3) == 0)
            cursor->civil->month = i + 1;
    while (cursor->p < cursor->end && (*cursor->p | 0x20) >= 'a' && (*cursor->p | 0x20) <= 'z')
        cursor->p++;
    return cursor->civil->month > 0;
}

static bool skip_name(struct cursor *cursor)
{
    while (cursor->p < cursor->end && (*cursor->p | 0x20) >= 'a' && (*cursor->p | 0x20) <= 'z')
        cursor->p++;
    return true;
}

static bool zone(struct cursor *cursor)
{
    if (cursor->end - cursor->p >= 1 && *cursor->p == 'Z') {
        cursor->p++;
        return true;
    }
    if (cursor->end - cursor->p < 5 || (*cursor->p != '+' && *cursor->p != '-'))
        return false;
    int sign = *cursor->p++ == '-' ? -1 : 1, hours, minutes;
    if (!take(cursor, 2, &hours))
        return false;
    cursor->p += cursor->p < cursor->end && *cursor->p == ':';
    if (!take(cursor, 2, &minutes))
        return false;
    cursor->civil->offset_s = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool whole(struct cursor *cursor, uint64_t unit_ns)
{
    int64_t value = digits(cursor, 18);
    if (value < 0 || (uint64_t)value > UINT64_C(9000000000000000000) / unit_ns)
        return false;
    *cursor->epoch_ns = (uint64_t)value * unit_ns;
    return true;
}

static bool noon(struct cursor *cursor)
{
    if (cursor->end - cursor->p < 2 || (cursor->p[1] | 0x20) != 'm')
        return false;
    bool after = (*cursor->p | 0x20) == 'p', twelve = cursor->civil->hour == 12;
    cursor->hour_shift = after ? (twelve ? 0 : 12) : (twelve ? -12 : 0);
    cursor->p += 2;
    return true;
}

static bool read_format(struct cursor *cursor, const char *format, size_t size);

static bool conversion(struct cursor *cursor, char letter)
{
    struct log_civil *civil = cursor->civil;
    switch (letter) {
    case 'Y':
        return take(cursor, 4, &civil->year);
    case 'y':
        return take(cursor, 2, &civil->year) && (civil->year += civil->year < 70 ? 2000 : 1900, true);
    case 'm':
        return take(cursor, 2, &civil->month);
    case 'b':
    case 'B':
    case 'h':
        return month_name(cursor);
    case 'a':
    case 'A':
        return skip_name(cursor);
    case 'd':
    case 'e':
        return take(cursor, 2, &civil->day);
    case 'H':
    case 'I':
    case 'k':
    case 'l':
        return take(cursor, 2, &civil->hour);
    case 'M':
        return take(cursor, 2, &civil->minute);
    case 'S':
        return take(cursor, 2, &civil->second);
    case 'p':
        return noon(cursor);
    case 'z':
        return zone(cursor);
    case 'Z':
        return skip_name(cursor);
    case 's':
        return whole(cursor, 1000000000);
    case 'T':
        return read_format(cursor, "%H:%M:%S", 8);
    case 'R':
        return read_format(cursor, "%H:%M", 5);
    case 'F':
        return read_format(cursor, "%Y-%m-%d", 8);
    case 'D':
        return read_format(cursor, "%m/%d/%y", 8);
    case 'r':
        return read_format(cursor, "%I:%M:%S %p", 11);
    case 'c':
        return read_format(cursor, "%a %b %e %H:%M:%S %Y", 20);
    default:
        return false;
    }
}

static bool read_format(struct cursor *cursor, const char *format, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (format[i] == '%' && i + 1 < size) {
            i++;
            if (format[i] != '%' && !conversion(cursor, format[i]))
                return false;
            if (format[i] != '%')
                continue;
        }
        if (cursor->p == cursor->end || *cursor->p != format[i])
            return false;
        cursor->p++;
    }
    return true;
}

/* Apache's own words beside strftime's format. */
static bool read_word(struct cursor *cursor, struct drossel_text format, bool *good)
{
    static const struct {
        const char *word;
        uint64_t unit_ns;
        int fraction_digits; /* 0: a whole time */
    } words[] = { { "sec", 1000000000, 0 },
                  { "msec", 1000000, 0 },
                  { "usec", 1000, 0 },
                  { "msec_frac", 1000000, 3 },
                  { "usec_frac", 1000, 6 } };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (format.size != strlen(words[i].word) || memcmp(format.data, words[i].word, format.size) != 0)
            continue;
        if (words[i].fraction_digits == 0) {
            *good = whole(cursor, words[i].unit_ns);
        } else {
            int64_t value = digits(cursor, words[i].fraction_digits);
            cursor->civil->fraction_ns = (uint64_t)(value < 0 ? 0 : value) * words[i].unit_ns;
            *good = value >= 0;
        }
        return true;
    }
    return false;
}

size_t pattern_clock(struct drossel_text format, struct drossel_text text, struct log_civil *civil, uint64_t *epoch_ns)
{
    struct cursor cursor = { text.data, text.data + text.size, civil, epoch_ns, 0 };
    bool good;
    if (!read_word(&cursor, format, &good))
        good = read_format(&cursor, format.data, format.size);
    civil->hour += good ? cursor.hour_shift : 0;
    return good ? (size_t)(cursor.p - text.data) : 0;
}
