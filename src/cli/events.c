/*
 * Events to replay: files of JSON lines, kept in one arena, sorted by time.
 */
#include "cli/event_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plain.h"
#include "logs/source.h"

#define BLOCK_BYTES (UINT64_C(1) << 20)

struct block { /* of the arena */
    struct block *next;
    size_t used, size; /* bytes of data */
    char data[];
};

struct order { /* sorted instead of the events, which are ten times as large */
    uint64_t t_ns;
    size_t index;
};

struct events {
    struct block *blocks;
    struct event *event;
    struct order *order; /* NULL until sorted */
    size_t count, cap, unparsed;
};

void *events_keep(struct events *events, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    struct block *block = events->blocks;
    if (block == NULL || block->size - block->used < size) {
        size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = malloc(sizeof *block + bytes);
        if (block == NULL)
            return NULL;
        *block = (struct block){ events->blocks, 0, bytes };
        events->blocks = block;
    }
    block->used += size;
    return block->data + block->used - size;
}

static bool grow(struct events *events)
{
    if (events->count < events->cap)
        return true;
    size_t cap = events->cap > 0 ? events->cap * 2 : 1024;
    struct event *event = realloc(events->event, cap * sizeof *event);
    if (event == NULL)
        return false;
    events->event = event;
    events->cap = cap;
    return true;
}

static bool no_memory(char *why, size_t cap)
{
    snprintf(why, cap, "no memory");
    return false;
}

/* The line itself is kept for those who want to see it. */
static bool keep_line(struct events *events, const char *line, size_t size, struct event *event)
{
    while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
        size--;
    char *raw = events_keep(events, size + 1);
    if (raw == NULL)
        return false;
    memcpy(raw, line, size);
    event->raw = (struct drossel_text){ raw, size };
    return true;
}

static bool read_line(struct events *events, const char *line, size_t size, char *why, size_t cap)
{
    if (!grow(events))
        return no_memory(why, cap);
    struct event *event = &events->event[events->count];
    return event_read(events, event, (struct drossel_text){ line, size }, why) &&
           (keep_line(events, line, size, event) || no_memory(why, cap));
}

static bool is_blank(const char *line)
{
    return line[strspn(line, " \t\r\n")] == '\0';
}

static bool read_stream(struct events *events, const char *name, FILE *in)
{
    char *line = NULL, why[EVENT_WHY_BYTES];
    size_t cap = 0;
    ssize_t size;
    for (unsigned long number = 1; (size = getline(&line, &cap, in)) >= 0; number++) {
        if (is_blank(line) && strlen(line) == (size_t)size)
            continue;
        if (read_line(events, line, (size_t)size, why, sizeof why)) {
            events->event[events->count].file = name;
            events->event[events->count].line = number;
            events->count++;
        } else {
            events->unparsed++;
            plain_print(stderr, false, "%s:%lu: %s", name, number, why);
            fputc('\n', stderr);
        }
    }
    free(line);
    if (ferror(in)) {
        cli_complain("%s: %s", name, strerror(errno));
        return false;
    }
    return true;
}

/* Unpacked, if it was packed. */
static bool read_source(struct events *events, const char *name, const struct log_source *source)
{
    size_t size = source->size - source->begin;
    if (size == 0)
        return true;
    FILE *in = fmemopen((void *)(uintptr_t)(source->data + source->begin), size, "r");
    if (in == NULL) {
        cli_complain("%s: no memory to read it", name);
        return false;
    }
    bool good = read_stream(events, name, in);
    fclose(in);
    return good;
}

struct events *events_open(void)
{
    return calloc(1, sizeof(struct events));
}

void events_close(struct events *events)
{
    while (events->blocks != NULL) {
        struct block *next = events->blocks->next;
        free(events->blocks);
        events->blocks = next;
    }
    free(events->event);
    free(events->order);
    free(events);
}

bool events_read(struct events *events, const char *path)
{
    static const struct log_spooling quietly = { NULL, NULL };
    struct log_source source;
    char error[1024];
    if (!source_open(&source, path, &quietly, error, sizeof error)) {
        cli_complain("%s", error);
        return false;
    }
    bool good = read_source(events, strcmp(path, "-") == 0 ? "stdin" : path, &source);
    source_close(&source);
    if (*error != '\0') /* it is damaged, and what came before was read */
        cli_complain("%s", error);
    return good && *error == '\0';
}

static int compare(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

bool events_sort(struct events *events)
{
    free(events->order);
    events->order = malloc((events->count + 1) * sizeof *events->order);
    if (events->order == NULL)
        return false;
    for (size_t i = 0; i < events->count; i++)
        events->order[i] = (struct order){ events->event[i].t_ns, i };
    qsort(events->order, events->count, sizeof *events->order, compare);
    return true;
}

size_t events_count(const struct events *events)
{
    return events->count;
}

size_t events_unparsed(const struct events *events)
{
    return events->unparsed;
}

const struct event *events_at(const struct events *events, size_t index)
{
    return &events->event[events->order != NULL ? events->order[index].index : index];
}
