/*
 * Amazon's load balancers: Application Load Balancer, and the classic one.  Blank-separated, the same order since 2014, more at the end
 * from year to year; the classic one has neither the type before nor what follows the cipher.
 *
 *     type time elb client:port target:port 3 durations status status received sent "request" "agent" cipher protocol ... "domain" ...
 */
#include "logs/columns.h"
#include "logs/fields.h"

#include <string.h>

/* Columns from the time on. */
enum { AT_TIME, AT_NAME, AT_CLIENT, AT_TARGET, AT_FIRST_DURATION, AT_STATUS = 7, AT_SENT = 10, AT_REQUEST, AT_AGENT };
#define ALB_DOMAIN 18 /* of the first column, in an ALB's line */

static bool is_type(struct drossel_text text)
{
    static const char *const types[] = { "http", "https", "h2", "grpcs", "ws", "wss" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text.size == strlen(types[i]) && memcmp(text.data, types[i], text.size) == 0)
            return true;
    return false;
}

/* `200`, or `-` where the load balancer closed the connection. */
static bool is_status(struct drossel_text text)
{
    return log_text_absent(text) || (text.size == 3 && log_status(text) >= 100);
}

/* Nothing but plain columns from the client to the request, with a port, three durations and a status where they belong. */
static bool is_shaped(const struct log_columns *columns, size_t shift)
{
    struct drossel_text client = columns->text[shift + AT_CLIENT];
    for (size_t i = shift; i < shift + AT_REQUEST; i++)
        if (columns->opened[i] != 0)
            return false;
    for (size_t i = 0; i < 3; i++) {
        char first = columns->text[shift + AT_FIRST_DURATION + i].data[0];
        if (first != '-' && !(first >= '0' && first <= '9'))
            return false;
    }
    return memchr(client.data, ':', client.size) != NULL && is_status(columns->text[shift + AT_STATUS]) &&
           columns->opened[shift + AT_REQUEST] == '"';
}

/* `shift` 1: an ALB's line, 0: a classic one's.  False: neither. */
static bool split(struct drossel_text line, struct log_columns *columns, size_t *shift)
{
    struct log_stamp stamp;
    log_columns_split(line, COLUMNS_QUOTED, columns);
    *shift = columns->count > 0 && is_type(columns->text[0]);
    return columns->count > *shift + AT_REQUEST && !columns->is_torn && is_shaped(columns, *shift) &&
           log_stamp_iso(columns->text[*shift], &stamp);
}

/* -1: not reached. */
static void set_duration(const struct log_columns *columns, size_t first, struct log_record *record)
{
    uint64_t sum = 0, ns;
    for (size_t i = 0; i < 3; i++) {
        if (!log_duration(log_column(columns, first + i), 1000000000, &ns) || ns > LOG_NO_DURATION / 4)
            return;
        sum += ns;
    }
    record->duration_ns = sum;
}

/* The port is always there, and an IPv6 address may stand without brackets. */
static struct drossel_text client_of(struct drossel_text written)
{
    const char *colon = written.size > 0 && written.data[0] != '[' ? memrchr(written.data, ':', written.size) : NULL;
    if (colon != NULL)
        return (struct drossel_text){ written.data, (size_t)(colon - written.data) };
    return log_client_text(written);
}

/* The target is a whole URL, whatever the client sent; what is asked is its path. */
static void set_request(struct log_record *record, struct drossel_text request, struct drossel_text domain)
{
    struct drossel_text host = { 0 };
    if (request.size > 1 && request.data[0] == '-' && request.data[1] == ' ')
        record->request = request; /* `- http://host:80- `: there was none that could be read */
    else
        log_record_request(record, request);
    record->target = log_target(record->target, &host);
    log_record_header(record, (struct drossel_text)DROSSEL_TEXT("Host"), domain.size > 0 ? domain : host);
}

static enum log_line parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                           struct log_record *record)
{
    (void)parser;
    struct log_columns columns;
    struct log_stamp stamp;
    size_t shift;
    if (!split(line, &columns, &shift) || !log_stamp_iso(columns.text[shift], &stamp))
        return LOG_UNPARSED;
    record->t_ns = stamp.t_ns;
    record->client = client_of(log_column(&columns, shift + AT_CLIENT));
    record->status = log_status(log_column(&columns, shift + AT_STATUS));
    record->bytes = log_count(log_column(&columns, shift + AT_SENT));
    set_duration(&columns, shift + AT_FIRST_DURATION, record);
    struct drossel_text domain = shift > 0 ? log_column(&columns, ALB_DOMAIN) : (struct drossel_text){ 0 };
    set_request(record, log_unescaped(scratch, columns.text[shift + AT_REQUEST]), domain);
    log_record_header(record, (struct drossel_text)DROSSEL_TEXT("User-Agent"),
                      log_unescaped(scratch, log_column(&columns, shift + AT_AGENT)));
    return LOG_REQUEST;
}

static bool find_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    (void)parser;
    struct log_columns columns;
    struct log_stamp stamp;
    size_t shift;
    if (!split(line, &columns, &shift) || !log_stamp_iso(columns.text[shift], &stamp))
        return false;
    *t_ns = stamp.t_ns;
    *resolution_ns = stamp.resolution_ns;
    return true;
}

static int recognise_alb(struct drossel_text line)
{
    struct log_columns columns;
    size_t shift;
    return split(line, &columns, &shift) && shift == 1 ? 98 : 0;
}

static int recognise_elb(struct drossel_text line)
{
    struct log_columns columns;
    size_t shift;
    return split(line, &columns, &shift) && shift == 0 ? 90 : 0;
}

const struct log_format log_format_alb = {
    .name = "alb",
    .recognise = recognise_alb,
    .time = find_time,
    .parse = parse,
};

const struct log_format log_format_elb = {
    .name = "elb",
    .recognise = recognise_elb,
    .time = find_time,
    .parse = parse,
};
