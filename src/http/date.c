/* HTTP-dates: three forms in, one out. */
#include "http/date.h"

#include <string.h>

#define DAY_S 86400

static const char months[12][4] = {
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
};
static const char *const days[7] = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" };

struct civil {
    int year, month, day;     /* month 1 to 12 */
    int hour, minute, second; /* second 0 to 60 */
};

/* Days since 1970-01-01 in the proleptic Gregorian calendar.  Years begin in March, so that a leap day is the last. */
static int64_t days_from_civil(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int64_t unix_from_civil(const struct civil *civil)
{
    return days_from_civil(civil->year, civil->month, civil->day) * DAY_S + civil->hour * 3600 + civil->minute * 60 +
           civil->second;
}

static struct civil civil_from_unix(int64_t unix_s)
{
    int64_t z = unix_s / DAY_S + 719468, rest = unix_s % DAY_S;
    int64_t era = z / 146097, day_of_era = z - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;
    int month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    return (struct civil){ .year = (int)(year_of_era + era * 400) + (month <= 2),
                           .month = month,
                           .day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1),
                           .hour = (int)(rest / 3600),
                           .minute = (int)(rest / 60 % 60),
                           .second = (int)(rest % 60) };
}

static void put_digits(char *out, int value, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void http_date_format(int64_t unix_s, char out[HTTP_DATE_TEXT])
{
    int64_t time = unix_s < 0 ? 0 : unix_s > HTTP_DATE_MAX ? HTTP_DATE_MAX : unix_s;
    struct civil civil = civil_from_unix(time);
    memcpy(out, "Sun, 00 Jan 0000 00:00:00 GMT", HTTP_DATE_TEXT);
    memcpy(out, days[(time / DAY_S + 4) % 7], 3);
    put_digits(out + 5, civil.day, 2);
    memcpy(out + 8, months[civil.month - 1], 3);
    put_digits(out + 12, civil.year, 4);
    put_digits(out + 17, civil.hour, 2);
    put_digits(out + 20, civil.minute, 2);
    put_digits(out + 23, civil.second, 2);
}

/* ---- parsing: a cursor that fails for good ---- */

struct cursor {
    const char *p, *end;
    bool failed;
};

static void expect(struct cursor *cursor, const char *literal)
{
    size_t size = strlen(literal);
    if (cursor->failed || (size_t)(cursor->end - cursor->p) < size || memcmp(cursor->p, literal, size) != 0)
        cursor->failed = true;
    else
        cursor->p += size;
}

static int number(struct cursor *cursor, int digits)
{
    int value = 0;
    if (cursor->failed || cursor->end - cursor->p < digits) {
        cursor->failed = true;
        return 0;
    }
    for (int i = 0; i < digits; i++, cursor->p++) {
        if (*cursor->p < '0' || *cursor->p > '9')
            cursor->failed = true;
        value = value * 10 + (*cursor->p - '0');
    }
    return value;
}

static int month(struct cursor *cursor)
{
    for (int i = 0; i < 12; i++) {
        struct cursor attempt = *cursor;
        expect(&attempt, months[i]);
        if (!attempt.failed) {
            *cursor = attempt;
            return i + 1;
        }
    }
    cursor->failed = true;
    return 0;
}

static void clock_time(struct cursor *cursor, struct civil *civil)
{
    civil->hour = number(cursor, 2);
    expect(cursor, ":");
    civil->minute = number(cursor, 2);
    expect(cursor, ":");
    civil->second = number(cursor, 2);
}

/* After the name of the day: `, 06 Nov 1994 08:49:37 GMT`. */
static void imf_fixdate(struct cursor *cursor, struct civil *civil)
{
    expect(cursor, ", ");
    civil->day = number(cursor, 2);
    expect(cursor, " ");
    civil->month = month(cursor);
    expect(cursor, " ");
    civil->year = number(cursor, 4);
    expect(cursor, " ");
    clock_time(cursor, civil);
    expect(cursor, " GMT");
}

/* `, 06-Nov-94 08:49:37 GMT`; the year is left with two digits. */
static void rfc850(struct cursor *cursor, struct civil *civil)
{
    expect(cursor, ", ");
    civil->day = number(cursor, 2);
    expect(cursor, "-");
    civil->month = month(cursor);
    expect(cursor, "-");
    civil->year = number(cursor, 2);
    expect(cursor, " ");
    clock_time(cursor, civil);
    expect(cursor, " GMT");
}

/* ` Nov  6 08:49:37 1994`. */
static void asctime_form(struct cursor *cursor, struct civil *civil)
{
    expect(cursor, " ");
    civil->month = month(cursor);
    expect(cursor, " ");
    bool padded = !cursor->failed && cursor->p < cursor->end && *cursor->p == ' ';
    cursor->p += padded;
    civil->day = number(cursor, padded ? 1 : 2);
    expect(cursor, " ");
    clock_time(cursor, civil);
    expect(cursor, " ");
    civil->year = number(cursor, 4);
}

static int month_days(int year, int month_number)
{
    static const uint8_t length[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return length[month_number - 1] + (month_number == 2 && leap);
}

/* The century of a two-digit year, RFC 9110: more than 50 years ahead is the past. */
static int whole_year(const struct civil *civil, int64_t now_s)
{
    struct civil now = civil_from_unix(now_s < 0 ? 0 : now_s > HTTP_DATE_MAX ? HTTP_DATE_MAX : now_s);
    struct civil candidate = *civil, latest = now;
    candidate.year += now.year / 100 * 100;
    latest.year += 50;
    return unix_from_civil(&candidate) > unix_from_civil(&latest) ? candidate.year - 100 : candidate.year;
}

bool http_date_parse(struct drossel_text text, int64_t now_s, int64_t *unix_s)
{
    static void (*const forms[3])(struct cursor *, struct civil *) = { imf_fixdate, rfc850, asctime_form };
    for (int form = 0; form < 3 && text.size > 0; form++) {
        for (int day = 0; day < 7; day++) {
            struct cursor cursor = { text.data, text.data + text.size, false };
            struct civil civil = { 0 };
            char name[10] = "";
            memcpy(name, days[day], form == 1 ? strlen(days[day]) : 3);
            expect(&cursor, name);
            if (cursor.failed)
                continue;
            forms[form](&cursor, &civil);
            if (cursor.failed || cursor.p != cursor.end || civil.day < 1)
                break;
            if (form == 1)
                civil.year = whole_year(&civil, now_s);
            if (civil.day > month_days(civil.year, civil.month) || civil.hour > 23 || civil.minute > 59 ||
                civil.second > 60)
                return false;
            *unix_s = unix_from_civil(&civil);
            return true;
        }
    }
    return false;
}
