/*
 * Runs on disk, one file without a name each.  When FAN_IN of one level are there, they become one of the next level:
 * so there are never more than FAN_IN of each of a few levels, and the memory for reading them is bounded.
 */
#include "logs/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logs/temp.h"

#define FAN_IN 16
#define LEVELS 8 /* 16^8 runs */
#define RUNS_MOST (FAN_IN * LEVELS)
#define BUFFER_LEAST 16 /* references */
#define BUFFER_MOST 2048
#define WHAT "lines that wait for their turn"

struct run {
    int fd;
    unsigned level;
    uint64_t count, read; /* references in the file, and taken into the buffer */
    struct log_ref *buffer;
    size_t first, end; /* of the buffer: the next one, and behind the last */
};

struct runs {
    struct run run[RUNS_MOST];
    size_t count, smallest; /* smallest: whose first is the smallest, if count > 0 */
    size_t buffer_refs;
    struct log_ref *out; /* of buffer_refs: what is written next */
    size_t used;         /* of them */
    uint64_t written;
    char error[512];
};

struct runs *runs_open(uint64_t memory)
{
    struct runs *runs = calloc(1, sizeof *runs);
    if (runs == NULL)
        return NULL;
    uint64_t refs = memory / (3 * FAN_IN) / sizeof(struct log_ref);
    runs->buffer_refs = refs < BUFFER_LEAST ? BUFFER_LEAST : refs > BUFFER_MOST ? BUFFER_MOST : (size_t)refs;
    runs->out = calloc(runs->buffer_refs, sizeof *runs->out);
    if (runs->out != NULL)
        return runs;
    free(runs);
    return NULL;
}

static void drop(struct run *run)
{
    close(run->fd);
    free(run->buffer);
}

void runs_close(struct runs *runs)
{
    if (runs == NULL)
        return;
    for (size_t i = 0; i < runs->count; i++)
        drop(&runs->run[i]);
    free(runs->out);
    free(runs);
}

/* ---- reading ---- */

static bool refill(struct runs *runs, struct run *run)
{
    uint64_t left = run->count - run->read;
    size_t want = left < runs->buffer_refs ? (size_t)left : runs->buffer_refs, size = want * sizeof *run->buffer;
    size_t have = 0;
    while (have < size) {
        ssize_t got =
            pread(run->fd, (char *)run->buffer + have, size - have, (off_t)(run->read * sizeof *run->buffer + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            snprintf(runs->error, sizeof runs->error, WHAT ": cannot be read back: %s",
                     got == 0 ? "the file ends" : strerror(errno));
            return false;
        }
        have += (size_t)got;
    }
    run->read += want;
    run->first = 0;
    run->end = want;
    return true;
}

static bool is_empty(const struct run *run)
{
    return run->first == run->end;
}

static void find_smallest(struct runs *runs)
{
    runs->smallest = 0;
    for (size_t i = 1; i < runs->count; i++) {
        const struct run *a = &runs->run[i], *b = &runs->run[runs->smallest];
        if (log_ref_before(&a->buffer[a->first], &b->buffer[b->first]))
            runs->smallest = i;
    }
}

const struct log_ref *runs_top(const struct runs *runs)
{
    const struct run *run = &runs->run[runs->smallest];
    return runs->count == 0 ? NULL : &run->buffer[run->first];
}

bool runs_pop(struct runs *runs)
{
    struct run *run = &runs->run[runs->smallest];
    run->first++;
    if (is_empty(run) && !refill(runs, run))
        return false;
    if (is_empty(run)) {
        drop(run);
        *run = runs->run[--runs->count];
    }
    find_smallest(runs);
    return true;
}

/* ---- writing ---- */

/* A run that begins: its file, and the buffer for reading it later. */
static bool begin(struct runs *runs, struct run *run)
{
    *run = (struct run){ .fd = temp_open() };
    if (run->fd < 0) {
        temp_explain(WHAT, runs->error, sizeof runs->error);
        return false;
    }
    run->buffer = calloc(runs->buffer_refs, sizeof *run->buffer);
    if (run->buffer != NULL)
        return true;
    close(run->fd);
    snprintf(runs->error, sizeof runs->error, WHAT ": no memory");
    return false;
}

/* Appends to what is written next; NULL: writes that, the run is complete. */
static bool append(struct runs *runs, struct run *run, const struct log_ref *ref)
{
    if (ref != NULL) {
        runs->out[runs->used++] = *ref;
        run->count++;
    }
    if (runs->used == 0 || (ref != NULL && runs->used < runs->buffer_refs))
        return true;
    size_t size = runs->used * sizeof *runs->out;
    runs->used = 0;
    if (temp_write(run->fd, runs->out, size))
        return true;
    temp_explain(WHAT, runs->error, sizeof runs->error);
    return false;
}

/* Merges all runs of a level into `merged`. */
static bool merge_into(struct runs *all, struct runs *level, struct run *merged)
{
    find_smallest(level);
    for (const struct log_ref *top; (top = runs_top(level)) != NULL;) {
        if (!append(all, merged, top))
            return false;
        if (!runs_pop(level)) {
            memcpy(all->error, level->error, sizeof all->error);
            return false;
        }
    }
    return append(all, merged, NULL);
}

/* Takes the runs of one level out of the list. */
static void take_level(struct runs *runs, unsigned level, struct runs *taken)
{
    size_t kept = 0;
    *taken = (struct runs){ .buffer_refs = runs->buffer_refs };
    for (size_t i = 0; i < runs->count; i++) {
        if (runs->run[i].level == level)
            taken->run[taken->count++] = runs->run[i];
        else
            runs->run[kept++] = runs->run[i];
    }
    runs->count = kept;
}

static bool merge_level(struct runs *runs, unsigned level)
{
    struct runs *taken = calloc(1, sizeof *taken);
    struct run merged;
    if (taken == NULL || !begin(runs, &merged)) {
        if (taken == NULL)
            snprintf(runs->error, sizeof runs->error, WHAT ": no memory");
        free(taken);
        return false;
    }
    merged.level = level + 1;
    take_level(runs, level, taken);
    bool good = merge_into(runs, taken, &merged) && refill(runs, &merged);
    for (size_t i = 0; i < taken->count; i++)
        drop(&taken->run[i]);
    free(taken);
    if (good)
        runs->run[runs->count++] = merged;
    else
        drop(&merged);
    return good;
}

/* Makes room for one more of level 0. */
static bool make_room(struct runs *runs)
{
    for (unsigned level = 0; level + 1 < LEVELS; level++) {
        size_t count = 0;
        for (size_t i = 0; i < runs->count; i++)
            count += runs->run[i].level == level;
        if (count < FAN_IN)
            return true;
        if (!merge_level(runs, level))
            return false;
    }
    return runs->count < RUNS_MOST;
}

bool runs_add(struct runs *runs, const struct log_ref *descending, size_t count)
{
    struct run run;
    runs->used = 0;
    if (!make_room(runs) || !begin(runs, &run))
        return false;
    bool good = true;
    for (size_t i = count; good && i-- > 0;)
        good = append(runs, &run, &descending[i]);
    if (!good || !append(runs, &run, NULL) || !refill(runs, &run)) {
        drop(&run);
        return false;
    }
    runs->run[runs->count++] = run;
    runs->written++;
    find_smallest(runs);
    return true;
}

const char *runs_error(const struct runs *runs)
{
    return runs->error;
}

uint64_t runs_written(const struct runs *runs)
{
    return runs->written;
}
