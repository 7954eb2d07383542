/*
 * Whole logs: opened, recognised or read by a string of a log format, in both orders and within little memory, packed or not.
 *
 * Input: a byte that says how; then, if it says so, a line with the string; then the log.  Beyond surviving: records come in the order of
 * (time, file, line); each line is a record, nothing or empty; and all text of a record can be read.
 */
#include "logs/logs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stdio.h>
#include <unistd.h>

#define BY_STRING 1
#define AS_FILED 2
#define LITTLE_MEMORY 4
#define TWICE 8
#define BY_NAME 16

static volatile unsigned sum;

static void check(bool right)
{
    if (!right)
        abort();
}

static void touch(struct drossel_text text)
{
    for (size_t i = 0; i < text.size; i++)
        sum += (unsigned char)text.data[i];
}

static void touch_record(const struct log_record *record)
{
    const struct drossel_text texts[] = { record->raw,    record->client,  record->user,      record->request,
                                          record->method, record->target,  record->protocol,  record->host,
                                          record->agent,  record->referer, record->forwarded, record->verdict };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        touch(texts[i]);
    check(record->header_count <= LOG_HEADERS_MOST);
    for (size_t i = 0; i < record->header_count; i++) {
        touch(record->header[i].name);
        touch(record->header[i].value);
    }
}

static void read_all(struct logs *logs)
{
    struct log_record record, previous = { .t_ns = 0 };
    bool by_time = true;
    while (logs_next(logs, &record)) {
        touch_record(&record);
        check(record.t_ns >= previous.t_ns);
        bool ordered = record.t_ns > previous.t_ns || record.file > previous.file ||
                       (record.file == previous.file && record.line > previous.line);
        check(!by_time || ordered);
        previous = record;
    }
    const struct logs_facts *facts = logs_facts(logs);
    check(logs_error(logs) != NULL || facts->lines == facts->records + facts->unparsed + facts->empty);
    check(facts->bad_count == (facts->unparsed < LOGS_BAD_KEPT ? facts->unparsed : LOGS_BAD_KEPT));
    check(!logs_next(logs, &record));
}

/* The line that is a string or a name, taken from the front. */
static char *take_line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t length = end == NULL ? *size : (size_t)(end - *data);
    char *line = malloc(length + 1);
    memcpy(line, *data, length);
    line[length] = '\0';
    *data += end == NULL ? length : length + 1;
    *size -= end == NULL ? length : length + 1;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t how = *data;
    data++;
    size--;
    char path[64], error[1000], *format = (how & (BY_STRING | BY_NAME)) != 0 ? take_line(&data, &size) : NULL;
    int fd = memfd_create("log", 0);
    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *const paths[] = { path, path };
    struct logs_options options = { .format = format,
                                    .order = (how & AS_FILED) != 0 ? LOGS_AS_FILED : LOGS_BY_TIME,
                                    .memory = (how & LITTLE_MEMORY) != 0 ? 1 : 0 };
    struct logs *logs = logs_open(paths, (how & TWICE) != 0 ? 2 : 1, &options, error, sizeof error);
    if (logs != NULL)
        read_all(logs);
    check(logs != NULL || error[0] != '\0');
    logs_close(logs);
    close(fd);
    free(format);
    return 0;
}
