/*
 * uWSGI's own log.  Its times have no zone: they are taken for UTC.
 *
 *     [pid: 24386|app: 0|req: 4/4] 192.0.2.1 (bob) {44 vars in 1322 bytes} [Tue Nov 14 22:13:20 2023] POST /a => generated 50 bytes in
 *     123 msecs (HTTP/1.1 200) 4 headers in 178 bytes (1 switches on core 0)
 */
#include "logs/worded.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define STAMP_BYTES 24 /* of `Tue Nov 14 22:13:20 2023` */

static bool read_stamp(struct drossel_text text, struct log_stamp *stamp)
{
    char copy[STAMP_BYTES + 1];
    struct tm parts = { 0 };
    if (text.size != STAMP_BYTES)
        return false;
    memcpy(copy, text.data, STAMP_BYTES);
    copy[STAMP_BYTES] = '\0';
    const char *end = strptime(copy, "%a %b %d %H:%M:%S %Y", &parts);
    struct log_civil civil = { .year = parts.tm_year + 1900,
                               .month = parts.tm_mon + 1,
                               .day = parts.tm_mday,
                               .hour = parts.tm_hour,
                               .minute = parts.tm_min,
                               .second = parts.tm_sec };
    *stamp = (struct log_stamp){ .resolution_ns = 1000000000, .size = STAMP_BYTES };
    return end != NULL && *end == '\0' && log_stamp_civil(&civil, &stamp->t_ns);
}

static bool is_word(const struct log_columns *columns, size_t index, const char *word)
{
    struct drossel_text text = columns->text[index];
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

/* Where `=>` stands: behind the target, which has no blanks, as servers pass it on encoded. */
static size_t arrow_at(const struct log_columns *columns, size_t from)
{
    for (size_t i = from; i + 8 < columns->count; i++)
        if (is_word(columns, i, "=>") && is_word(columns, i + 1, "generated"))
            return i;
    return 0;
}

/* The column of the time: the second in brackets. */
static size_t stamp_at(const struct log_columns *columns)
{
    for (size_t i = 1; i < columns->count; i++)
        if (columns->opened[i] == '[')
            return i;
    return 0;
}

static struct drossel_text inside(struct drossel_text text, size_t skip)
{
    return text.size < skip + 1 ? (struct drossel_text){ 0 }
                                : (struct drossel_text){ text.data + skip, text.size - skip - 1 };
}

static bool read_line(struct drossel_text line, struct log_scratch *scratch, struct log_record *record,
                      struct log_stamp *stamp)
{
    struct log_columns columns;
    (void)scratch;
    if (line.size < 6 || memcmp(line.data, "[pid: ", 6) != 0)
        return false;
    log_columns_split(line, COLUMNS_QUOTED, &columns);
    size_t time = stamp_at(&columns), arrow = time == 0 ? 0 : arrow_at(&columns, time);
    if (time < 3 || arrow != time + 3 || !read_stamp(columns.text[time], stamp))
        return false;
    record->client = log_client_text(columns.text[1]);
    record->user = inside(columns.text[2], 1); /* (bob) */
    record->method = columns.text[time + 1];
    record->target = columns.text[time + 2];
    record->bytes = log_count(columns.text[arrow + 2]);
    record->protocol =
        inside((struct drossel_text){ columns.text[arrow + 7].data, columns.text[arrow + 7].size + 1 }, 1);
    record->status = log_status(columns.text[arrow + 8]);
    uint64_t duration, unit = is_word(&columns, arrow + 6, "msecs") ? 1000000 : 1000;
    if (log_duration(columns.text[arrow + 5], unit, &duration))
        record->duration_ns = duration;
    return true;
}

static void *open_reader(const char *text, char *error, size_t error_size)
{
    static struct worded reader = { read_line };
    (void)text, (void)error, (void)error_size;
    return &reader;
}

static int recognise(struct drossel_text line)
{
    return worded_confidence(read_line, line, 95);
}

const struct log_format log_format_uwsgi = {
    .name = "uwsgi",
    .recognise = recognise,
    .open = open_reader,
    .time = worded_time,
    .parse = worded_parse,
};
