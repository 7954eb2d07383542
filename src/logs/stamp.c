/* Stamps of log lines: Common Log Format, ISO 8601, seconds since 1970. */
#include "logs/format.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define SECONDS_MOST INT64_C(9000000000) /* year 2255: far below where nanoseconds would wrap */
#define CLF_MINUTE 17                    /* bytes of `10/Oct/2000:13:55` */
#define CLF_ZONED 26                     /* bytes of `10/Oct/2000:13:55:36 -0700` */

/* Days since 1970-01-01 in the Gregorian calendar.  Years begin in March, so that a leap day is the last.  A day past
 * the month's end counts on into the next. */
static int64_t days_since_1970(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year, era = y / 400, year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `count` digits at p; -1 if one is none. */
static int digits(const char *p, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (!is_digit(p[i]))
            return -1;
        value = value * 10 + (p[i] - '0');
    }
    return value;
}

/* Of `Jan` to `Dec`, 1 to 12; 0 if it is none. */
static int month_of(const char *p)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (memcmp(p, names + 3 * i, 3) == 0)
            return i + 1;
    return 0;
}

bool log_stamp_civil(const struct log_civil *civil, uint64_t *t_ns)
{
    if (civil->month < 1 || civil->month > 12 || civil->day < 1 || civil->day > 31 || civil->hour < 0 ||
        civil->hour > 24 || civil->minute < 0 || civil->minute > 59 || civil->second < 0 || civil->second > 60)
        return false;
    int64_t seconds = days_since_1970(civil->year, civil->month, civil->day) * 86400 + civil->hour * 3600 +
                      civil->minute * 60 + civil->second - civil->offset_s;
    if (seconds < 0 || seconds > SECONDS_MOST)
        return false;
    *t_ns = (uint64_t)seconds * SECOND_NS + civil->fraction_ns;
    return true;
}

/* Digits after the point, at most nine count.  Returns how many there were, and makes them nanoseconds. */
static size_t fraction(const char *p, const char *end, struct log_civil *civil, uint64_t *resolution_ns)
{
    size_t count = 0;
    uint64_t value = 0, unit = SECOND_NS;
    for (; p + count < end && is_digit(p[count]); count++) {
        if (unit == 1)
            continue;
        value = value * 10 + (uint64_t)(p[count] - '0');
        unit /= 10;
    }
    civil->fraction_ns = value * unit;
    *resolution_ns = unit;
    return count;
}

/* `+0200`, `+02:00`, `+02` or `Z` at p.  Returns its size, 0 if it is none. */
static size_t zone(const char *p, const char *end, struct log_civil *civil)
{
    if (p < end && (*p == 'Z' || *p == 'z'))
        return 1;
    if (end - p < 3 || (*p != '+' && *p != '-'))
        return 0;
    int hours = digits(p + 1, 2), minutes = 0;
    size_t size = 3;
    if (hours < 0)
        return 0;
    size_t colon = end - p >= 6 && p[3] == ':';
    if (end - p >= 5 + (ptrdiff_t)colon && digits(p + 3 + colon, 2) >= 0) {
        minutes = digits(p + 3 + colon, 2);
        size = 5 + colon;
    }
    civil->offset_s = (*p == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return size;
}

bool log_stamp_clf(struct drossel_text text, struct log_stamp *stamp)
{
    const char *p = text.data, *end = p + text.size;
    if (text.size < 20 || p[2] != '/' || p[6] != '/' || p[11] != ':' || p[14] != ':' || p[17] != ':')
        return false;
    struct log_civil civil = { .year = digits(p + 7, 4),
                               .month = month_of(p + 3),
                               .day = digits(p, 2),
                               .hour = digits(p + 12, 2),
                               .minute = digits(p + 15, 2),
                               .second = digits(p + 18, 2) };
    struct log_stamp found = { .resolution_ns = SECOND_NS };
    const char *rest = p + 20;
    if (end - rest >= 2 && *rest == '.' && is_digit(rest[1]))
        rest += 1 + fraction(rest + 1, end, &civil, &found.resolution_ns);
    size_t zoned = rest < end && *rest == ' ' ? zone(rest + 1, end, &civil) : 0;
    rest += zoned > 0 ? zoned + 1 : 0;
    if (civil.year < 0 || !log_stamp_civil(&civil, &found.t_ns))
        return false;
    found.size = (size_t)(rest - p);
    *stamp = found;
    return true;
}

/* `10/Oct/2000:13:55:36.123` of the cached minute, which had no zone either.  False: it is not. */
static bool stamp_without_zone(const struct log_stamp_cache *cache, struct drossel_text text, struct log_stamp *stamp)
{
    const char *p = text.data, *end = p + text.size, *rest = p + CLF_MINUTE + 3;
    if (cache->zoned || cache->text[0] == '\0' || rest >= end || memcmp(p, cache->text, CLF_MINUTE + 1) != 0)
        return false;
    int second = digits(p + CLF_MINUTE + 1, 2);
    struct log_civil civil = { 0 };
    uint64_t resolution_ns = SECOND_NS;
    if (end - rest >= 2 && *rest == '.' && is_digit(rest[1]))
        rest += 1 + fraction(rest + 1, end, &civil, &resolution_ns);
    if (second < 0 || second > 59 || rest == end || *rest == ' ')
        return false;
    *stamp = (struct log_stamp){ cache->minute_ns + (uint64_t)second * SECOND_NS + civil.fraction_ns, resolution_ns,
                                 (size_t)(rest - p) };
    return true;
}

/* Keeps the minute of a stamp that log_stamp_clf read. */
static void keep_minute(struct log_stamp_cache *cache, const char *p, const struct log_stamp *stamp)
{
    int second = digits(p + CLF_MINUTE + 1, 2);
    uint64_t whole_ns = stamp->t_ns / SECOND_NS * SECOND_NS;
    bool zoned = stamp->size == CLF_ZONED && p[20] == ' ';
    bool bare = stamp->size == 20 || (p[20] == '.' && memchr(p, ' ', stamp->size) == NULL);
    if (second > 59 || (!zoned && !bare))
        return;
    cache->zoned = zoned;
    memcpy(cache->text, p, zoned ? CLF_ZONED : CLF_MINUTE + 1);
    cache->minute_ns = whole_ns - (uint64_t)second * SECOND_NS;
}

bool log_stamp_clf_cached(struct log_stamp_cache *cache, struct drossel_text text, struct log_stamp *stamp)
{
    const char *p = text.data;
    if (cache->zoned && text.size > CLF_ZONED && p[CLF_ZONED] == ']') {
        unsigned tens = (unsigned)(p[18] - '0'), ones = (unsigned)(p[19] - '0');
        if (memcmp(p, cache->text, CLF_MINUTE + 1) == 0 && memcmp(p + 20, cache->text + 20, 6) == 0 && tens < 6 &&
            ones < 10) {
            *stamp = (struct log_stamp){ cache->minute_ns + (tens * 10 + ones) * SECOND_NS, SECOND_NS, CLF_ZONED };
            return true;
        }
    }
    if (stamp_without_zone(cache, text, stamp))
        return true;
    if (!log_stamp_clf(text, stamp))
        return false;
    keep_minute(cache, p, stamp);
    return true;
}

bool log_stamp_iso(struct drossel_text text, struct log_stamp *stamp)
{
    const char *p = text.data, *end = p + text.size;
    if (text.size < 19 || (p[4] != '-' && p[4] != '/') || p[7] != p[4] ||
        (p[10] != 'T' && p[10] != 't' && p[10] != ' ') || p[13] != ':' || p[16] != ':')
        return false;
    struct log_civil civil = { .year = digits(p, 4),
                               .month = digits(p + 5, 2),
                               .day = digits(p + 8, 2),
                               .hour = digits(p + 11, 2),
                               .minute = digits(p + 14, 2),
                               .second = digits(p + 17, 2) };
    struct log_stamp found = { .resolution_ns = SECOND_NS };
    const char *rest = p + 19;
    if (end - rest >= 2 && (*rest == '.' || *rest == ',') && is_digit(rest[1]))
        rest += 1 + fraction(rest + 1, end, &civil, &found.resolution_ns);
    bool blank = end - rest >= 4 && *rest == ' ' && (rest[1] == '+' || rest[1] == '-');
    size_t zoned = zone(rest + blank, end, &civil);
    rest += zoned > 0 ? zoned + blank : 0;
    if (civil.year < 0 || !log_stamp_civil(&civil, &found.t_ns))
        return false;
    found.size = (size_t)(rest - p);
    *stamp = found;
    return true;
}

/* What the last digit of a whole number stands for: by its size seconds, milli-, micro- or nanoseconds since 1970. */
static uint64_t epoch_unit(uint64_t value)
{
    if (value <= (uint64_t)SECONDS_MOST)
        return SECOND_NS;
    if (value <= (uint64_t)SECONDS_MOST * 1000)
        return 1000000;
    return value <= (uint64_t)SECONDS_MOST * 1000000 ? 1000 : 1;
}

/* `1.696946136123E9`, as Java and others write a number that is not small.  The digits are one whole number, and the exponent says
 * where its point is.  False: it is none, or out of range. */
static bool scientific(struct drossel_text text, struct log_stamp *stamp)
{
    const char *p = text.data, *end = p + text.size;
    uint64_t value = 0, power = 1;
    int point = 0, exponent = 0;
    bool behind = false;
    for (; p < end && (is_digit(*p) || (*p == '.' && !behind)); p++) {
        behind |= *p == '.';
        if (*p == '.' || (behind && value > UINT64_MAX / 100)) /* further digits tell less than a nanosecond */
            continue;
        if (value > UINT64_MAX / 100)
            return false;
        value = value * 10 + (uint64_t)(*p - '0');
        point += behind;
    }
    if (end - p < 2 || (*p | 0x20) != 'e')
        return false;
    p += 1 + (p[1] == '+');
    const char *first = p;
    for (; p < end && is_digit(*p) && p - first < 3; p++)
        exponent = exponent * 10 + (*p - '0');
    if (p == first || exponent > 18)
        return false;
    for (; exponent > point; point++)
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    for (; point > exponent; point--)
        power *= 10;
    uint64_t whole = value / power, unit = epoch_unit(whole);
    if (whole > (uint64_t)SECONDS_MOST * SECOND_NS)
        return false;
    uint64_t part_ns = (uint64_t)((__uint128_t)(value % power) * unit / power);
    *stamp = (struct log_stamp){ whole * unit + part_ns, unit > power ? unit / power : 1, (size_t)(p - text.data) };
    return true;
}

bool log_stamp_epoch(struct drossel_text text, struct log_stamp *stamp)
{
    const char *p = text.data, *end = p + text.size;
    uint64_t value = 0;
    for (; p < end && is_digit(*p); p++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    if (p == text.data || value > (uint64_t)SECONDS_MOST * SECOND_NS)
        return false;
    uint64_t unit = epoch_unit(value), t_ns = value * unit, resolution = unit, part = unit;
    if (end - p >= 2 && *p == '.' && is_digit(p[1])) {
        for (p++; p < end && is_digit(*p); p++) {
            part /= 10;
            t_ns += part * (uint64_t)(*p - '0');
            resolution = part > 0 ? part : resolution;
        }
        if (p < end && (*p | 0x20) == 'e' && scientific(text, stamp))
            return true;
    }
    *stamp = (struct log_stamp){ t_ns, resolution, (size_t)(p - text.data) };
    return true;
}
