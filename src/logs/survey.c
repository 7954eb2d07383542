/* The first pass: the earliest time of each block, and of all blocks from there on. */
#include "logs/reading.h"

#include <stdio.h>
#include <stdlib.h>

void logs_progress(struct logs *logs, uint64_t bytes)
{
    logs->done += bytes;
    if (logs->options.progress == NULL || logs->done - logs->told < PROGRESS_BYTES)
        return;
    logs->told = logs->done;
    uint64_t passes = logs->options.order == LOGS_BY_TIME ? 2 : 1, total = logs->bytes * passes;
    if (!logs->options.progress(logs->options.context, logs->done < total ? logs->done : total, total))
        logs->stopped = true;
}

void logs_make_room(struct logs *logs, size_t line_size)
{
    size_t size = line_size * 2 + 64;
    if (size <= logs->scratch.cap)
        return;
    char *data = realloc(logs->scratch.data, size + size / 2);
    if (data == NULL)
        return;
    logs->scratch.data = data;
    logs->scratch.cap = size + size / 2;
}

void logs_check_cut(struct logs *logs, struct log_file *file)
{
    if (source_is_cut(&file->source) && logs->error[0] == '\0')
        snprintf(logs->error, sizeof logs->error,
                 "%s: was cut off while it was read (by logrotate's copytruncate?); what is left of it is used",
                 file->name);
}

static void survey_block(struct logs *logs, struct log_file *file, struct file_block *block)
{
    uint64_t end = ((uint64_t)(block - file->block) + 1) * file->block_bytes, earliest = UINT64_MAX, t_ns, last = 0;
    struct file_line line;
    block->sorted = true;
    while (file_next(file, end, &line)) {
        logs_make_room(logs, line.text.size);
        if (!file_time(file, &line, &logs->scratch, &t_ns))
            continue;
        logs->facts.out_of_order += t_ns < file->previous_ns;
        block->sorted = block->sorted && t_ns >= last;
        earliest = t_ns < earliest ? t_ns : earliest;
        file->previous_ns = last = t_ns;
    }
    block->earliest_ns = earliest;
}

static void survey_file(struct logs *logs, struct log_file *file)
{
    for (size_t i = 0; i < file->block_count && !logs->stopped; i++) {
        survey_block(logs, file, &file->block[i]);
        logs_progress(logs, file->block_bytes);
        logs_check_cut(logs, file);
        source_release(&file->source, file->offset);
    }
    for (size_t i = file->block_count; i-- > 0;)
        if (file->block[i + 1].earliest_ns < file->block[i].earliest_ns)
            file->block[i].earliest_ns = file->block[i + 1].earliest_ns;
    file_rewind(file);
}

void survey(struct logs *logs)
{
    for (size_t i = 0; i < logs->count && !logs->stopped; i++)
        survey_file(logs, &logs->file[i]);
}
