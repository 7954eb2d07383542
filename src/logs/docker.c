/*
 * Lines of other formats, each as a string in an object of JSON: Docker's json-file driver (`log`), Filebeat and journald (`message`).
 *
 *     {"log":"192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET / HTTP/1.1\" 200 5\n","stream":"stdout","time":"..."}
 *
 * What the line is of is asked anew for each, as a container's output is a mixture of all that runs in it.
 */
#include "logs/json_scan.h"
#include "logs/mixed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLANCE_BYTES 4096 /* of a line that is looked at for recognition */
#define SURE 80           /* less than JSON that is a request itself */

struct docker {
    struct mixed mixed;
    char *inside; /* the line without its escapes; the record's texts point into it */
    size_t cap;
};

extern const struct log_format log_format_docker;

static bool is_wrapped(const struct json_scalar *scalar)
{
    static const char *const names[] = { "log", "message", "msg", "line", "textpayload" };
    if (!scalar->is_string || scalar->value.size == 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (scalar->path.size == strlen(names[i]) && memcmp(scalar->path.data, names[i], scalar->path.size) == 0)
            return true;
    return false;
}

static bool find_wrapped(struct drossel_text line, struct json_scalar *found)
{
    struct json_scan scan;
    struct json_scalar scalar;
    bool wrapped = false;
    if (line.size == 0 || line.data[0] != '{' || !json_scan_init(&scan, line))
        return false;
    while (json_scan_next(&scan, &scalar))
        if (!wrapped && is_wrapped(&scalar)) {
            *found = scalar;
            wrapped = true;
        }
    return wrapped && json_scan_is_whole(&scan);
}

static struct drossel_text without_end(struct drossel_text line)
{
    while (line.size > 0 && (line.data[line.size - 1] == '\n' || line.data[line.size - 1] == '\r'))
        line.size--;
    return line;
}

/* Size 0: there is none. */
static struct drossel_text unwrapped(struct docker *docker, struct drossel_text line)
{
    struct json_scalar scalar;
    if (!find_wrapped(line, &scalar))
        return (struct drossel_text){ 0 };
    if (scalar.value.size > docker->cap) {
        char *grown = realloc(docker->inside, scalar.value.size * 2);
        if (grown == NULL)
            return (struct drossel_text){ 0 };
        docker->inside = grown;
        docker->cap = scalar.value.size * 2;
    }
    struct log_scratch room = { docker->inside, 0, docker->cap };
    return without_end(json_scan_text(&scalar, &room));
}

static enum log_line parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                           struct log_record *record)
{
    struct docker *docker = parser;
    struct drossel_text inside = unwrapped(docker, line);
    if (inside.size == 0)
        return LOG_UNPARSED;
    enum log_line result = mixed_parse(&docker->mixed, &log_format_docker, inside, scratch, record);
    if (result != LOG_UNPARSED)
        return result;
    return mixed_parse(&docker->mixed, &log_format_docker, log_line_body(inside), scratch, record);
}

static bool find_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    struct docker *docker = parser;
    struct drossel_text inside = unwrapped(docker, line);
    if (inside.size == 0)
        return false;
    return mixed_time(&docker->mixed, &log_format_docker, inside, t_ns, resolution_ns) ||
           mixed_time(&docker->mixed, &log_format_docker, log_line_body(inside), t_ns, resolution_ns);
}

static void *open_docker(const char *map, char *error, size_t error_size)
{
    (void)map;
    struct docker *docker = calloc(1, sizeof *docker);
    if (docker == NULL)
        snprintf(error, error_size, "no memory");
    return docker;
}

static void close_docker(void *parser)
{
    struct docker *docker = parser;
    mixed_release(&docker->mixed);
    free(docker->inside);
    free(docker);
}

static int recognise(struct drossel_text line)
{
    char glance[GLANCE_BYTES];
    struct log_scratch room = { glance, 0, sizeof glance };
    struct json_scalar scalar;
    if (!find_wrapped(line, &scalar) || scalar.value.size > sizeof glance)
        return 0;
    struct drossel_text inside = without_end(json_scan_text(&scalar, &room));
    bool known = mixed_knows(&log_format_docker, inside) || mixed_knows(&log_format_docker, log_line_body(inside));
    return known ? SURE : 0;
}

const struct log_format log_format_docker = {
    .name = "docker",
    .recognise = recognise,
    .open = open_docker,
    .close = close_docker,
    .time = find_time,
    .parse = parse,
};
