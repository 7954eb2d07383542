/*
 * Points in time as files write them, and back.
 */
#include "cli/seconds.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS UINT64_C(1000000000)
#define NS_DIGITS 9
#define MICROSECOND UINT64_C(1000)
#define STEP_COARSE 1e-7 /* seconds: from 2^29 on, the year 1987 */
#define DIGITS_KEPT 15   /* any decimal of so many digits survives a double (DBL_DIG) ... */
#define DIGITS_MOST 17   /* ... and with so many any double survives a decimal */

bool seconds_from_integer(long long value, uint64_t *ns)
{
    if (value < 0 || (uint64_t)value > SECONDS_MAX)
        return false;
    *ns = (uint64_t)value * NS;
    return true;
}

/* The decimal that was written, if it had up to 15 digits; else the shortest that reads back as the value. */
static void decimal_of(double value, char style, char out[SECONDS_TEXT])
{
    for (int digits = DIGITS_KEPT; digits <= DIGITS_MOST; digits++) {
        int precision = style == 'e' ? digits - 1 : digits;
        snprintf(out, SECONDS_TEXT, style == 'e' ? "%.*e" : "%.*g", precision, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

/* Near today's Unix time a double's step is a quarter of a microsecond, and a program that adds a wait to such a time is off by
 * a step: of 1796000000.978 + 7.412 comes 1796000008.3899999.  A whole microsecond so close by is what was meant. */
static uint64_t without_noise(double value, uint64_t ns)
{
    double step = nextafter(value, INFINITY) - value;
    if (step < STEP_COARSE)
        return ns;
    uint64_t whole = (ns + MICROSECOND / 2) / MICROSECOND * MICROSECOND;
    uint64_t off = whole > ns ? whole - ns : ns - whole;
    return (double)off <= step * (double)NS ? whole : ns;
}

bool seconds_from_double(double value, uint64_t *ns)
{
    char text[SECONDS_TEXT];
    if (!isfinite(value) || value < 0 || value > (double)SECONDS_MAX)
        return false;
    decimal_of(value, 'e', text);
    char *exponent = strchr(text, 'e');
    long shift = strtol(exponent + 1, NULL, 10) + NS_DIGITS; /* decimal places of the first digit, in ns */
    uint64_t sum = 0;
    long place = shift;
    for (const char *c = text; c < exponent; c++) {
        if (!isdigit((unsigned char)*c))
            continue;
        if (place >= 0)
            sum = sum * 10 + (uint64_t)(*c - '0');
        else if (place == -1 && *c >= '5')
            sum++; /* rounds half up at the nanosecond */
        place--;
    }
    for (; place >= 0; place--)
        sum *= 10;
    *ns = without_noise(value, sum);
    return true;
}

/* Exactly `count` digits from *at on; moves it. */
static bool take_digits(const char **at, const char *end, int count, int *value)
{
    *value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (*at == end || !isdigit((unsigned char)**at))
            return false;
        *value = *value * 10 + (**at - '0');
    }
    return true;
}

static bool take_any(const char **at, const char *end, const char *of)
{
    if (*at == end || **at == '\0' || strchr(of, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar (year >= 1). */
static int64_t days_since_epoch(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year;
    int era = y / 400, of_era = y - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t days = (int64_t)of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return (int64_t)era * 146097 + days - 719468;
}

static int days_in(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static bool take_date(const char **at, const char *end, int64_t *days)
{
    int year, month, day;
    if (!take_digits(at, end, 4, &year) || !take_any(at, end, "-") || !take_digits(at, end, 2, &month) ||
        !take_any(at, end, "-") || !take_digits(at, end, 2, &day))
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month))
        return false;
    *days = days_since_epoch(year, month, day);
    return true;
}

static bool take_clock(const char **at, const char *end, int64_t *seconds, uint64_t *fraction_ns)
{
    int hour, minute, second;
    if (!take_digits(at, end, 2, &hour) || !take_any(at, end, ":") || !take_digits(at, end, 2, &minute) ||
        !take_any(at, end, ":") || !take_digits(at, end, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;
    *seconds = hour * 3600 + minute * 60 + second;
    *fraction_ns = 0;
    if (!take_any(at, end, "."))
        return true;
    uint64_t unit = NS / 10;
    const char *first = *at;
    for (; *at < end && isdigit((unsigned char)**at); (*at)++, unit /= 10)
        *fraction_ns += unit * (uint64_t)(**at - '0');
    return *at > first;
}

static bool take_offset(const char **at, const char *end, int64_t *seconds)
{
    int hour, minute;
    *seconds = 0;
    if (take_any(at, end, "Zz"))
        return true;
    bool west = *at < end && **at == '-';
    if (!take_any(at, end, "+-") || !take_digits(at, end, 2, &hour) || !take_any(at, end, ":") ||
        !take_digits(at, end, 2, &minute) || hour > 23 || minute > 59)
        return false;
    *seconds = (hour * 3600 + minute * 60) * (west ? -1 : 1);
    return true;
}

bool seconds_from_rfc3339(const char *text, size_t size, uint64_t *ns)
{
    const char *at = text, *end = text + size;
    int64_t days, clock, offset;
    uint64_t fraction_ns;
    if (!take_date(&at, end, &days) || !take_any(&at, end, "Tt ") || !take_clock(&at, end, &clock, &fraction_ns) ||
        !take_offset(&at, end, &offset) || at != end)
        return false;
    int64_t total = days * 86400 + clock - offset;
    if (!seconds_from_integer(total, ns))
        return false;
    *ns += fraction_ns;
    return true;
}

size_t seconds_format(uint64_t ns, char out[SECONDS_TEXT])
{
    int size = snprintf(out, SECONDS_TEXT, "%llu.%09llu", (unsigned long long)(ns / NS), (unsigned long long)(ns % NS));
    size_t length = (size_t)size;
    while (out[length - 1] == '0')
        length--;
    if (out[length - 1] == '.')
        length--;
    out[length] = '\0';
    return length;
}

size_t seconds_format_double(double value, char out[SECONDS_TEXT])
{
    decimal_of(value, 'g', out);
    return strlen(out);
}
