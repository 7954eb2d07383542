/* Lines of another format than their file's. */
#include "logs/mixed.h"

#define SURE 75 /* what a line scores that cannot well be anything else */

void mixed_release(struct mixed *mixed)
{
    for (size_t i = 0; i < MIXED_FORMATS_MOST && log_formats[i] != NULL; i++)
        if (mixed->parser[i] != NULL && log_formats[i]->close != NULL)
            log_formats[i]->close(mixed->parser[i]);
    *mixed = (struct mixed){ 0 };
}

static bool takes_part(const struct log_format *format, const struct log_format *own)
{
    return format != own && format->recognise != NULL && format->time != NULL;
}

static bool is_ready(struct mixed *mixed, size_t at)
{
    char error[256];
    const struct log_format *format = log_formats[at];
    if (mixed->parser[at] == NULL && format->open != NULL)
        mixed->parser[at] = format->open(NULL, error, sizeof error);
    return format->open == NULL || mixed->parser[at] != NULL;
}

/* The format that is most sure of the line, or none.  Not the one of the line before, if it is sure enough: then a line's meaning
 * would depend on what was read before it. */
static bool choose(const struct log_format *own, struct drossel_text line, size_t *at)
{
    int most = SURE - 1;
    for (size_t i = 0; i < MIXED_FORMATS_MOST && log_formats[i] != NULL && line.size > 0; i++) {
        int sure = takes_part(log_formats[i], own) ? log_formats[i]->recognise(line) : 0;
        if (sure <= most)
            continue;
        most = sure;
        *at = i;
    }
    return most >= SURE;
}

enum log_line mixed_parse(struct mixed *mixed, const struct log_format *own, struct drossel_text line,
                          struct log_scratch *scratch, struct log_record *record)
{
    size_t at;
    if (!choose(own, line, &at) || !is_ready(mixed, at))
        return LOG_UNPARSED;
    return log_formats[at]->parse(mixed->parser[at], line, scratch, record);
}

bool mixed_time(struct mixed *mixed, const struct log_format *own, struct drossel_text line, uint64_t *t_ns,
                uint64_t *resolution_ns)
{
    size_t at;
    return choose(own, line, &at) && is_ready(mixed, at) &&
           log_formats[at]->time(mixed->parser[at], line, t_ns, resolution_ns);
}

bool mixed_knows(const struct log_format *own, struct drossel_text line)
{
    size_t at;
    return choose(own, line, &at);
}
