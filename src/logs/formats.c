/* The list of formats, and which of them a file is written in. */
#include "logs/formats.h"

#include <string.h>
#include <sys/stat.h>

#include "logs/kept.h"
#include "logs/source.h"

#define SAMPLE_LINES 50
#define SAMPLE_BYTES ((size_t)1 << 20)

extern const struct log_format log_format_common, log_format_combined, log_format_combined_forwarded,
    log_format_vhost_combined, log_format_traefik_clf, log_format_haproxy;
extern const struct log_format log_format_json, log_format_caddy, log_format_traefik, log_format_docker,
    log_format_events, log_format_ltsv;
extern const struct log_format log_format_iis, log_format_cloudfront, log_format_w3c, log_format_alb, log_format_elb,
    log_format_s3, log_format_envoy, log_format_squid, log_format_uwsgi, log_format_npm, log_format_npmplus,
    log_format_zoraxy;

const struct log_format *const log_formats[] = { &log_format_combined,
                                                 &log_format_common,
                                                 &log_format_combined_forwarded,
                                                 &log_format_vhost_combined,
                                                 &log_format_traefik_clf,
                                                 &log_format_haproxy,
                                                 &log_format_json,
                                                 &log_format_caddy,
                                                 &log_format_traefik,
                                                 &log_format_docker,
                                                 &log_format_events,
                                                 &log_format_ltsv,
                                                 &log_format_iis,
                                                 &log_format_cloudfront,
                                                 &log_format_w3c,
                                                 &log_format_alb,
                                                 &log_format_elb,
                                                 &log_format_s3,
                                                 &log_format_envoy,
                                                 &log_format_squid,
                                                 &log_format_uwsgi,
                                                 &log_format_npm,
                                                 &log_format_npmplus,
                                                 &log_format_zoraxy,
                                                 NULL };

const struct log_format *format_named(const char *name)
{
    for (size_t i = 0; log_formats[i] != NULL; i++)
        if (strcmp(log_formats[i]->name, name) == 0)
            return log_formats[i];
    return NULL;
}

/* How sure this format is about the line, with what it got on its way or without. */
static int confidence(const struct log_format *format, struct drossel_text line)
{
    struct drossel_text body = log_line_body(line);
    int whole = format->recognise == NULL ? 0 : format->recognise(line);
    int bare = format->recognise == NULL || body.data == line.data ? 0 : format->recognise(body);
    return whole > bare ? whole : bare;
}

static struct drossel_text line_at(const char *p, const char *end)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    struct drossel_text line = { p, (size_t)((stop == NULL ? end : stop) - p) };
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

/* The sum of confidence over the first lines. */
static uint64_t votes(const struct log_format *format, const char *p, const char *end)
{
    uint64_t sum = 0;
    for (int count = 0; p < end && count < SAMPLE_LINES;) {
        struct drossel_text line = line_at(p, end);
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        p = stop == NULL ? end : stop + 1;
        if (line.size == 0)
            continue;
        sum += (uint64_t)confidence(format, line);
        count++;
    }
    return sum;
}

const struct log_format *format_recognised(const char *data, size_t size)
{
    const struct log_format *best = NULL;
    uint64_t most = 0;
    const char *end = data + (size < SAMPLE_BYTES ? size : SAMPLE_BYTES);
    for (size_t i = 0; size > 0 && log_formats[i] != NULL; i++) {
        uint64_t sum = votes(log_formats[i], data, end);
        if (sum > most) {
            most = sum;
            best = log_formats[i];
        }
    }
    return best;
}

const char *logs_format_names(void)
{
    static char names[512];
    if (names[0] == '\0') {
        char *out = names;
        for (size_t i = 0; log_formats[i] != NULL; i++) {
            size_t left = sizeof names - (size_t)(out - names), size = strlen(log_formats[i]->name);
            if (size + 3 > left)
                break;
            if (out > names)
                out = mempcpy(out, ", ", 2);
            out = mempcpy(out, log_formats[i]->name, size);
        }
        *out = '\0';
    }
    return names;
}

/* For a look at the first lines not all of a packed file has to be unpacked. */
static bool is_too_little(void *context, uint64_t done)
{
    (void)context;
    return done < SAMPLE_BYTES;
}

bool logs_is_events(const char *path)
{
    static const struct log_spooling head = { is_too_little, NULL };
    const struct log_format *events = format_named("events");
    struct log_source source;
    struct stat about;
    char error[256];
    /* A pipe could not be read twice. */
    if (events == NULL || (!kept_is(path) && (stat(path, &about) != 0 || !S_ISREG(about.st_mode))) ||
        !source_open(&source, path, &head, error, sizeof error))
        return false;
    bool found = format_recognised(source.data + source.begin, source.size - source.begin) == events;
    source_close(&source);
    return found;
}
