/*
 * Records of many files in the order of their time, in two passes.
 *
 * The first (survey.c) notes for each block of text the earliest time in it and whether its times ever go back.  The
 * second takes, again and again, the block whose file may hold the earliest time not yet seen.  A block that is in
 * order is parsed line by line straight into the caller's record, as long as nothing that waits and no later block can
 * be earlier.  The lines of any other block become references that wait in a queue (order.h) until that is certain.
 */
#include "logs/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logs/formats.h"
#include "logs/log_format.h"
#include "logs/pattern.h"
#include "logs/rotated.h"

#define MEMORY_DEFAULT ((uint64_t)64 << 20)

/* ---- opening ---- */

static const struct log_format *wanted_format(struct logs *logs)
{
    const char *wanted = logs->options.format;
    const struct log_format *named = format_named(wanted);
    if (named != NULL)
        return named;
    if (pattern_is_string(wanted))
        return &log_format_string;
    snprintf(logs->error, sizeof logs->error,
             "format \"%s\": unknown; known are %s, and the string of an nginx log_format or an Apache LogFormat",
             wanted, logs_format_names());
    return NULL;
}

static bool choose_format(struct logs *logs, struct log_file *file)
{
    bool recognised = logs->options.format == NULL;
    file->is_named = !recognised;
    file->format =
        recognised ? format_recognised(file->source.data + file->source.begin, file->source.size - file->source.begin)
                   : wanted_format(logs);
    file->format_text = file->format == &log_format_string ? logs->options.format : logs->options.map;
    if (file->format == NULL && !recognised)
        return false;
    file->format_name = file->format == NULL ? "unknown" : file->format->name;
    if (file->format == NULL)
        file->format = format_named("combined");
    return true;
}

/* How much there will be is not known yet. */
static bool tell_spooled(void *context, uint64_t done)
{
    struct logs *logs = context;
    if (logs->options.progress == NULL || done - logs->told < PROGRESS_BYTES)
        return true;
    logs->told = done;
    logs->stopped = !logs->options.progress(logs->options.context, done, UINT64_MAX);
    return !logs->stopped;
}

static bool open_file(struct logs *logs, const char *path)
{
    struct log_file *file = &logs->file[logs->count];
    struct log_spooling spooling = { tell_spooled, logs };
    char error[sizeof logs->error];
    file->name = path;
    bool good = source_open(&file->source, path, &spooling, error, sizeof error);
    if (!good && logs->options.skipped != NULL && !logs->stopped) {
        logs->options.skipped(logs->options.skipped_context, error);
        return true;
    }
    if (!good || logs->error[0] == '\0')
        memcpy(logs->error, error, sizeof error);
    if (!good)
        return false;
    logs->count++;
    logs->bytes += file->source.size;
    if (!choose_format(logs, file))
        return false;
    if (file_prepare(file, error, sizeof error)) /* not into logs->error, where a damaged file may be named */
        return true;
    memcpy(logs->error, error, sizeof error);
    return false;
}

static bool open_all(struct logs *logs, const char *const *path, size_t count)
{
    logs->file = calloc(count + 1, sizeof *logs->file);
    logs->path = calloc(count + 1, sizeof *logs->path);
    logs->order = order_open(logs->options.memory == 0 ? MEMORY_DEFAULT : logs->options.memory);
    bool good = logs->file != NULL && logs->path != NULL && logs->order != NULL;
    if (good && count > 0)
        memcpy(logs->path, path, count * sizeof *path);
    if (!good || !rotated_sort(logs->path, count)) {
        snprintf(logs->error, sizeof logs->error, "no memory for %zu logs", count);
        return false;
    }
    if (count == 1) /* there is nothing to go on with */
        logs->options.skipped = NULL;
    for (size_t i = 0; i < count && !logs->stopped; i++)
        if (!open_file(logs, logs->path[i]))
            return false;
    logs->told = 0;
    if (logs->count > 0 || count == 0 || logs->stopped)
        return true;
    snprintf(logs->error, sizeof logs->error, "no log is left that can be read");
    return false;
}

struct logs *logs_open(const char *const *path, size_t count, const struct logs_options *options, char *error,
                       size_t error_size)
{
    if (!logs_map_check(options->map, error, error_size))
        return NULL;
    struct logs *logs = calloc(1, sizeof *logs);
    if (logs == NULL) {
        snprintf(error, error_size, "no memory for %zu logs", count);
        return NULL;
    }
    logs->options = *options;
    logs->facts.resolution_ns = UINT64_C(1000000000);
    if (open_all(logs, path, count))
        return logs;
    snprintf(error, error_size, "%s", logs->error);
    logs_close(logs);
    return NULL;
}

void logs_close(struct logs *logs)
{
    if (logs == NULL)
        return;
    for (size_t i = 0; i < logs->count; i++)
        file_release(&logs->file[i]);
    free(logs->file);
    free(logs->path);
    order_close(logs->order);
    free(logs->scratch.data);
    free(logs);
}

/* ---- the second pass ---- */

/* The file whose next block may hold the earliest time.  SIZE_MAX: all are read. */
static size_t earliest_file(const struct logs *logs)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < logs->count; i++) {
        const struct log_file *file = &logs->file[i];
        if (file->next_block < file->block_count &&
            (best == SIZE_MAX || file_frontier(file) < file_frontier(&logs->file[best])))
            best = i;
    }
    return best;
}

/* Up to which time lines of this file's next block may be given out as they come: nothing else can be earlier. */
static bool direct_limit(const struct logs *logs, size_t at, uint64_t *limit)
{
    uint64_t most = logs->file[at].block[logs->file[at].next_block + 1].earliest_ns;
    for (size_t i = 0; i < logs->count; i++) {
        const struct log_file *other = &logs->file[i];
        if (i == at || other->next_block >= other->block_count)
            continue;
        uint64_t frontier = file_frontier(other);
        if (frontier == 0 && i < at)
            return false;
        uint64_t bound = at < i ? frontier : frontier - 1;
        most = bound < most ? bound : most;
    }
    const struct log_ref *top = order_top(logs->order);
    if (top != NULL) {
        if (top->t_ns == 0)
            return false;
        most = top->t_ns - 1 < most ? top->t_ns - 1 : most;
    }
    *limit = most;
    return true;
}

/* The first file that is not read to its end. */
static size_t next_as_filed(const struct logs *logs)
{
    size_t at = logs->current;
    while (at < logs->count && logs->file[at].next_block >= logs->file[at].block_count)
        at++;
    return at;
}

static bool begin_block(struct logs *logs)
{
    bool as_filed = logs->options.order == LOGS_AS_FILED;
    size_t at = as_filed ? next_as_filed(logs) : earliest_file(logs);
    if (at >= logs->count)
        return false;
    struct log_file *file = &logs->file[at];
    logs->current = at;
    logs->in_block = true;
    logs->block_end = (uint64_t)(file->next_block + 1) * file->block_bytes;
    logs->limit_ns = UINT64_MAX;
    logs->direct = as_filed || (file->block[file->next_block].sorted && direct_limit(logs, at, &logs->limit_ns));
    return true;
}

static void end_block(struct logs *logs)
{
    struct log_file *file = &logs->file[logs->current];
    logs->in_block = false;
    file->next_block++;
    logs_progress(logs, file->block_bytes);
    logs_check_cut(logs, file);
    source_release(&file->source, file->offset);
    size_t next = earliest_file(logs);
    logs->frontier_ns = next == SIZE_MAX ? UINT64_MAX : file_frontier(&logs->file[next]);
    logs->frontier_file = next == SIZE_MAX ? UINT32_MAX : (uint32_t)next;
}

static bool fail_of_order(struct logs *logs)
{
    snprintf(logs->error, sizeof logs->error, "%s", order_error(logs->order));
    logs->failed = true;
    return false;
}

static bool push(struct logs *logs, const struct file_line *line, uint64_t t_ns)
{
    struct log_ref ref = { t_ns, (uint64_t)logs->current << LOG_PLACE_LINE_BITS | line->line, line->offset,
                           line->epoch };
    return order_push(logs->order, &ref) || fail_of_order(logs);
}

/* Parses the line; true: it is a request, and counted as given out.  Others are counted as what they are. */
static bool take(struct logs *logs, size_t at, const struct file_line *line, struct log_record *record)
{
    enum log_line result = file_parse(&logs->file[at], FILE_EMIT, line, &logs->scratch, record);
    record->file = (uint32_t)at;
    tally_line(logs, result, record);
    return result == LOG_REQUEST;
}

/* The next line of a block that is in order.  True: the record is to be given out. */
static bool next_direct(struct logs *logs, struct log_record *record)
{
    struct log_file *file = &logs->file[logs->current];
    struct file_line line;
    while (file_next(file, logs->block_end, &line)) {
        logs_make_room(logs, line.text.size);
        enum log_line result = file_parse(file, FILE_EMIT, &line, &logs->scratch, record);
        record->file = (uint32_t)logs->current;
        if (result == LOG_REQUEST && record->t_ns > logs->limit_ns) {
            logs->direct = false; /* so are all that follow in this block */
            push(logs, &line, record->t_ns);
            return false;
        }
        tally_line(logs, result, record);
        if (result == LOG_REQUEST)
            return true;
    }
    end_block(logs);
    return false;
}

/* Puts the rest of the block into the queue. */
static void queue_block(struct logs *logs)
{
    struct log_file *file = &logs->file[logs->current];
    struct file_line line;
    struct log_record record;
    uint64_t t_ns;
    while (file_next(file, logs->block_end, &line)) {
        logs_make_room(logs, line.text.size);
        if (file_time(file, &line, &logs->scratch, &t_ns)) {
            if (!push(logs, &line, t_ns))
                return;
        } else {
            take(logs, logs->current, &line, &record);
        }
    }
    end_block(logs);
}

/* The earliest that waits, if nothing earlier can come.  True: the record is to be given out. */
static bool next_waiting(struct logs *logs, struct log_record *record, bool *waiting)
{
    const struct log_ref *top = order_top(logs->order);
    *waiting =
        top != NULL && (top->t_ns < logs->frontier_ns ||
                        (top->t_ns == logs->frontier_ns && (top->place >> LOG_PLACE_LINE_BITS) <= logs->frontier_file));
    if (!*waiting)
        return false;
    size_t at = (size_t)(top->place >> LOG_PLACE_LINE_BITS);
    struct file_line line = { file_text(&logs->file[at], top->offset), top->offset,
                              top->place & ((UINT64_C(1) << LOG_PLACE_LINE_BITS) - 1), top->epoch };
    if (!order_pop(logs->order))
        return fail_of_order(logs);
    logs_make_room(logs, line.text.size);
    return take(logs, at, &line, record);
}

static bool next_of_any(struct logs *logs, struct log_record *record)
{
    while (!logs->failed && !logs->stopped) {
        bool waiting = false;
        if (logs->in_block && logs->direct) {
            if (next_direct(logs, record))
                return true;
        } else if (logs->in_block) {
            queue_block(logs);
        } else if (next_waiting(logs, record, &waiting)) {
            return true;
        } else if (!waiting && !logs->failed && !begin_block(logs)) {
            return false;
        }
    }
    return false;
}

bool logs_next(struct logs *logs, struct log_record *record)
{
    if (!logs->surveyed) {
        logs->surveyed = true;
        if (logs->options.order == LOGS_BY_TIME)
            survey(logs);
        logs->frontier_ns = 0;
        logs->frontier_file = 0;
    }
    return next_of_any(logs, record);
}

/* ---- what was learned ---- */

const char *logs_error(const struct logs *logs)
{
    return logs->error[0] == '\0' ? NULL : logs->error;
}

bool logs_stopped(const struct logs *logs)
{
    return logs->stopped;
}

const struct logs_facts *logs_facts(const struct logs *logs)
{
    return &logs->facts;
}

size_t logs_file_count(const struct logs *logs)
{
    return logs->count;
}

const char *logs_file_name(const struct logs *logs, uint32_t file)
{
    return file < logs->count ? logs->file[file].name : "";
}

const char *logs_file_format(const struct logs *logs, uint32_t file)
{
    return file < logs->count ? logs->file[file].format_name : "";
}
