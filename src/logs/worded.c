/* Formats of one server each: what their parsers share. */
#include "logs/worded.h"

enum log_line worded_parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                           struct log_record *record)
{
    const struct worded *worded = parser;
    struct log_stamp stamp;
    if (!worded->read(line, scratch, record, &stamp))
        return LOG_UNPARSED;
    record->t_ns = stamp.t_ns;
    return LOG_REQUEST;
}

static bool read_only(worded_read *read, struct drossel_text line, struct log_stamp *stamp)
{
    struct log_scratch nowhere = { 0 };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    return read(line, &nowhere, &record, stamp);
}

bool worded_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    const struct worded *worded = parser;
    struct log_stamp stamp;
    if (!read_only(worded->read, line, &stamp))
        return false;
    *t_ns = stamp.t_ns;
    *resolution_ns = stamp.resolution_ns;
    return true;
}

int worded_confidence(worded_read *read, struct drossel_text line, int sure)
{
    struct log_stamp stamp;
    return read_only(read, line, &stamp) ? sure : 0;
}
