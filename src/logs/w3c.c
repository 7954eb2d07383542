/*
 * W3C's extended log format, whose `#Fields` lines say what the columns are: IIS, CloudFront, and others.
 *
 * `#Fields` may change inside a file, and a file that was cut may have none: then the columns are those that IIS and CloudFront
 * write by default.  Times are in UTC.
 */
#include "logs/columns.h"
#include "logs/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIELDS_BYTES 4096 /* of a #Fields line; what is beyond is unknown */

struct column {
    struct log_name name;       /* field FIELD_NONE: unknown, or a header */
    struct drossel_text header; /* size 0: none */
};

struct w3c {
    struct log_names names;
    struct column column[LOG_COLUMNS_MOST];
    size_t count;       /* 0: no #Fields yet */
    bool is_cloudfront; /* seconds, and texts percent-encoded */
    size_t assumed;     /* not 0: nobody said what the columns are, and so many were there */
    char date[16];      /* of #Date, for lines with a time only */
    char fields[FIELDS_BYTES];
};

static const char cloudfront_fields[] =
    "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) "
    "cs-uri-query "
    "cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for "
    "ssl-protocol "
    "ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port "
    "time-to-first-byte "
    "x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end";
static const char iis_fields[] =
    "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) "
    "cs(Referer) sc-status sc-substatus sc-win32-status time-taken";
static const char iis_short_fields[] = "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip "
                                       "cs(User-Agent) sc-status sc-substatus sc-win32-status time-taken";
static const char iis_all_fields[] =
    "date time s-sitename s-computername s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs-version "
    "cs(User-Agent) cs(Cookie) cs(Referer) cs-host sc-status sc-substatus sc-win32-status sc-bytes cs-bytes time-taken";
#define CLOUDFRONT_LEAST 15 /* columns of its oldest logs */
#define IIS_COLUMNS 15
#define IIS_SHORT_COLUMNS 14
#define IIS_ALL_COLUMNS 22

static bool begins(struct drossel_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && strncasecmp(text.data, with, size) == 0;
}

static bool contains(struct drossel_text text, const char *what)
{
    return text.size > 0 && memmem(text.data, text.size, what, strlen(what)) != NULL;
}

/* ---- the columns ---- */

static void set_column(struct w3c *w3c, struct drossel_text written, struct column *column)
{
    char folded[LOG_NAME_MOST];
    struct log_scratch nowhere = { 0 };
    const struct log_name *name =
        log_names_find(&w3c->names, (struct drossel_text){ folded, log_name_fold(written, folded) });
    *column = (struct column){ 0 };
    if (name != NULL)
        column->name = *name;
    else
        log_header_name(written, &nowhere, &column->header);
    if (w3c->is_cloudfront && column->name.field == FIELD_DURATION)
        column->name.unit = UNIT_S;
}

/* `fields`: what follows `#Fields:`. */
static void set_columns(struct w3c *w3c, struct drossel_text fields)
{
    struct log_columns columns;
    size_t size = fields.size < sizeof w3c->fields ? fields.size : sizeof w3c->fields;
    memcpy(w3c->fields, fields.data, size);
    for (size_t i = 0; i < size; i++)
        if (w3c->fields[i] == '\t')
            w3c->fields[i] = ' ';
    fields = (struct drossel_text){ w3c->fields, size };
    while (fields.size > 0 && fields.data[0] == ' ') {
        fields.data++;
        fields.size--;
    }
    w3c->is_cloudfront = contains(fields, "x-edge-location");
    log_columns_split(fields, COLUMNS_PLAIN, &columns);
    for (size_t i = 0; i < columns.count; i++)
        set_column(w3c, columns.text[i], &w3c->column[i]);
    w3c->count = columns.count;
}

static void assume_columns(struct w3c *w3c, const struct log_columns *columns, bool tabbed)
{
    struct drossel_text fields = { 0 };
    w3c->count = 0;
    if (tabbed && columns->count >= CLOUDFRONT_LEAST)
        fields = (struct drossel_text)DROSSEL_TEXT(cloudfront_fields);
    else if (!tabbed && columns->count == IIS_COLUMNS)
        fields = (struct drossel_text)DROSSEL_TEXT(iis_fields);
    else if (!tabbed && columns->count == IIS_SHORT_COLUMNS)
        fields = (struct drossel_text)DROSSEL_TEXT(iis_short_fields);
    else if (!tabbed && columns->count == IIS_ALL_COLUMNS && begins(columns->text[2], "W3SVC"))
        fields = (struct drossel_text)DROSSEL_TEXT(iis_all_fields);
    if (fields.size > 0)
        set_columns(w3c, fields);
    w3c->assumed = columns->count;
}

static void read_directive(struct w3c *w3c, struct drossel_text line)
{
    if (begins(line, "#Fields:")) {
        w3c->assumed = 0;
        set_columns(w3c, (struct drossel_text){ line.data + 8, line.size - 8 });
    } else if (begins(line, "#Date: ") && line.size >= 17) {
        memcpy(w3c->date, line.data + 7, 10);
        w3c->date[10] = '\0';
    }
}

/* ---- lines ---- */

/* IIS writes `+` for a blank; CloudFront percent-encodes, and did so twice until 2019. */
static struct drossel_text plain_text(const struct w3c *w3c, struct drossel_text text, struct log_scratch *scratch)
{
    if (w3c->is_cloudfront) {
        struct drossel_text once = log_percent_decoded(scratch, text);
        return contains(once, "%20") ? log_percent_decoded(scratch, once) : once;
    }
    if (text.size == 0 || memchr(text.data, '+', text.size) == NULL)
        return text;
    char *out = log_scratch_take(scratch, text.size);
    if (out == NULL)
        return text;
    for (size_t i = 0; i < text.size; i++)
        out[i] = text.data[i] == '+' ? ' ' : text.data[i];
    return (struct drossel_text){ out, text.size };
}

static void take(const struct w3c *w3c, const struct column *column, struct drossel_text value,
                 struct log_scratch *scratch, struct log_values *values)
{
    uint8_t field = column->name.field;
    if (log_text_absent(value))
        return;
    if (field == FIELD_AGENT || field == FIELD_COOKIE || (field == FIELD_REFERER && w3c->is_cloudfront) ||
        (field == FIELD_FORWARDED && !w3c->is_cloudfront) || column->header.size > 0)
        value = plain_text(w3c, value, scratch);
    if (column->header.size > 0)
        log_values_header(values, column->header, value);
    else if (field != FIELD_NONE)
        log_values_set(values, &column->name, value);
}

/* Some write the host before the path, without a scheme: a.example/page. */
static void cut_host(struct log_record *record)
{
    struct drossel_text target = record->target;
    bool whole = target.size > 0 && (target.data[0] == '/' || target.data[0] == '*' || target.data[0] == '?');
    const char *slash = target.size > 0 && !whole ? memchr(target.data, '/', target.size) : NULL;
    if (slash != NULL && memchr(target.data, '.', (size_t)(slash - target.data)) != NULL)
        record->target = (struct drossel_text){ slash, (size_t)(target.data + target.size - slash) };
}

/* IIS quotes nothing, and what a client calls itself may begin with a quote: where the words are as many as the columns, each is
 * one. */
static void split(const struct w3c *w3c, struct drossel_text line, bool tabbed, struct log_columns *columns)
{
    log_columns_split(line, tabbed ? COLUMNS_TABBED : COLUMNS_BARE, columns);
    if (!tabbed && (w3c->count == 0 || columns->count != w3c->count))
        log_columns_split(line, COLUMNS_PLAIN, columns);
}

/* There is no quicker way to the time: which columns it stands in is told by the lines before. */
static enum log_line parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                           struct log_record *record)
{
    struct w3c *w3c = parser;
    struct log_columns columns;
    struct log_values values;
    if (line.size > 0 && line.data[0] == '#') {
        read_directive(w3c, line);
        return LOG_COMMENT;
    }
    bool tabbed = line.size > 0 && memchr(line.data, '\t', line.size) != NULL;
    split(w3c, line, tabbed, &columns);
    if ((w3c->count == 0 || w3c->assumed > 0) && w3c->assumed != columns.count)
        assume_columns(w3c, &columns, tabbed);
    if (w3c->count == 0 || (columns.count < w3c->count && w3c->assumed == 0))
        return LOG_UNPARSED;
    memset(&values, 0, sizeof values);
    for (size_t i = 0; i < columns.count && i < w3c->count; i++)
        take(w3c, &w3c->column[i], columns.text[i], scratch, &values);
    if (values.text[FIELD_DATE].size == 0 && w3c->date[0] != '\0')
        values.text[FIELD_DATE] = (struct drossel_text){ w3c->date, strlen(w3c->date) };
    enum log_line result = log_values_record(&values, scratch, record);
    cut_host(record);
    return result;
}

static void *open_parser(const char *map, char *error, size_t error_size)
{
    struct w3c *w3c = calloc(1, sizeof *w3c);
    if (w3c == NULL) {
        snprintf(error, error_size, "no memory");
        return NULL;
    }
    w3c->names = *log_names_common();
    if (!log_names_map(&w3c->names, map, error, error_size)) {
        free(w3c);
        return NULL;
    }
    return w3c;
}

/* ---- recognition ---- */

/* The columns of a line that begins with a date and a time; false if it does not. */
static bool split_after_time(struct drossel_text line, char separator, struct log_columns *columns)
{
    if (line.size < 20 || line.data[4] != '-' || line.data[7] != '-' || line.data[10] != separator ||
        line.data[13] != ':' || line.data[16] != ':' || line.data[19] != separator)
        return false;
    log_columns_split(line, separator == '\t' ? COLUMNS_TABBED : COLUMNS_PLAIN, columns);
    return true;
}

static int recognise_cloudfront(struct drossel_text line)
{
    struct log_columns columns;
    if (begins(line, "#Fields:"))
        return contains(line, "x-edge-") ? 100 : 0;
    return split_after_time(line, '\t', &columns) && columns.count >= CLOUDFRONT_LEAST ? 90 : 0;
}

static bool is_address(struct drossel_text text)
{
    struct drossel_address address;
    return drossel_address_parse(text.data, text.size, &address) == DROSSEL_OK;
}

static int recognise_iis(struct drossel_text line)
{
    struct log_columns columns;
    if (begins(line, "#Software: Microsoft"))
        return 100;
    if (begins(line, "#Fields:"))
        return !contains(line, "x-edge-") && contains(line, "s-ip") && contains(line, "cs-uri-stem") ? 100 : 0;
    if (!split_after_time(line, ' ', &columns))
        return 0;
    if (columns.count == IIS_ALL_COLUMNS)
        return begins(columns.text[2], "W3SVC") ? 70 : 0;
    bool usual = columns.count == IIS_COLUMNS || columns.count == IIS_SHORT_COLUMNS;
    return usual && is_address(columns.text[2]) ? 70 : 0;
}

/* Its lines say nothing without the directives; those of others are seen as theirs. */
static int recognise_other(struct drossel_text line)
{
    if (begins(line, "#Fields:"))
        return 60;
    return begins(line, "#Version:") || begins(line, "#Software:") || begins(line, "#Date:") ||
                   begins(line, "#Start-Date:")
               ? 30
               : 0;
}

const struct log_format log_format_cloudfront = {
    .name = "cloudfront",
    .recognise = recognise_cloudfront,
    .open = open_parser,
    .close = free,
    .parse = parse,
};

const struct log_format log_format_iis = {
    .name = "iis",
    .recognise = recognise_iis,
    .open = open_parser,
    .close = free,
    .parse = parse,
};

const struct log_format log_format_w3c = {
    .name = "w3c",
    .recognise = recognise_other,
    .open = open_parser,
    .close = free,
    .parse = parse,
};
