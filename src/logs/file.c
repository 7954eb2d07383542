/* One log file: lines, parsers and their states. */
#include "logs/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)
#define BLOCKS_MOST ((size_t)64 << 10)

static bool open_parser(struct log_file *file, enum file_parser which, char *error, size_t error_size)
{
    file->parser_epoch[which] = 0;
    if (file->format->open == NULL)
        return true;
    char why[512] = "no memory for a parser";
    file->parser[which] = file->format->open(file->format_text, why, sizeof why);
    if (file->parser[which] == NULL)
        snprintf(error, error_size, "%s: %s", file->name, why);
    return file->parser[which] != NULL;
}

static void close_parser(struct log_file *file, enum file_parser which)
{
    if (file->parser[which] != NULL && file->format->close != NULL)
        file->format->close(file->parser[which]);
    file->parser[which] = NULL;
}

bool file_prepare(struct log_file *file, char *error, size_t error_size)
{
    size_t size = file->source.size;
    file->block_bytes = BLOCK_BYTES;
    while (size / file->block_bytes >= BLOCKS_MOST)
        file->block_bytes *= 2;
    file->block_count = size / file->block_bytes + (size % file->block_bytes != 0);
    file->block = calloc(file->block_count + 1, sizeof *file->block);
    if (file->block == NULL) {
        snprintf(error, error_size, "%s: no memory for %zu blocks", file->name, file->block_count);
        return false;
    }
    file->block[file->block_count].earliest_ns = UINT64_MAX;
    file_rewind(file);
    return open_parser(file, FILE_SCAN, error, error_size) && open_parser(file, FILE_EMIT, error, error_size);
}

void file_release(struct log_file *file)
{
    close_parser(file, FILE_SCAN);
    close_parser(file, FILE_EMIT);
    mixed_release(&file->mixed);
    free(file->block);
    file->block = NULL;
    source_close(&file->source);
}

void file_rewind(struct log_file *file)
{
    source_rewind(&file->source);
    file->next_block = 0;
    file->offset = file->source.begin;
    file->line = 1;
    file->epoch = 0;
    file->in_group = false;
}

/* ---- lines ---- */

static inline struct drossel_text text_at(const struct log_file *file, uint64_t offset)
{
    if (offset >= file->source.size) /* it was cut off */
        return (struct drossel_text){ "", 0 };
    const char *start = file->source.data + offset;
    const char *stop = memchr(start, '\n', file->source.size - offset);
    size_t size = stop == NULL ? file->source.size - offset : (size_t)(stop - start);
    return (struct drossel_text){ start, size };
}

struct drossel_text file_text(const struct log_file *file, uint64_t offset)
{
    return text_at(file, offset);
}

/* Without the CR at its end, and without the zeros before it: the hole that is left where a log was cut off while the
 * server wrote on at the old place, or that a crash left. */
static struct drossel_text bare_line(struct drossel_text line)
{
    size_t hole = 0;
    while (hole < line.size && line.data[hole] == '\0')
        hole++;
    if (hole < line.size)
        line = (struct drossel_text){ line.data + hole, line.size - hole };
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

bool file_next(struct log_file *file, uint64_t end, struct file_line *line)
{
    if (file->offset >= end || file->offset >= file->source.size)
        return false;
    struct drossel_text text = text_at(file, file->offset);
    *line = (struct file_line){ text, file->offset, file->line, file->epoch };
    file->offset += text.size + 1;
    file->line++;
    return true;
}

/* ---- parsing ---- */

/* What a record has before its header fields.  No constant to the compiler: it would make a `rep stos` of it, which
 * takes a tenth of the time of a whole line. */
static volatile const size_t record_head = offsetof(struct log_record, header);

/* The record but for its header fields, of which the count says how many are valid. */
static void clear(struct log_record *record, struct log_scratch *scratch)
{
    memset(record, 0, record_head);
    record->duration_ns = LOG_NO_DURATION;
    scratch->used = 0;
}

static enum log_line parse_foreign(struct log_file *file, struct drossel_text text, struct drossel_text body,
                                   struct log_scratch *scratch, struct log_record *record)
{
    clear(record, scratch);
    enum log_line result = mixed_parse(&file->mixed, file->format, text, scratch, record);
    if (result != LOG_UNPARSED || body.data == text.data)
        return result;
    clear(record, scratch);
    return mixed_parse(&file->mixed, file->format, body, scratch, record);
}

/* As the line stands, or else without what it got on its way, or else as a line of another format. */
static enum log_line parse_either(struct log_file *file, enum file_parser which, struct drossel_text text,
                                  struct log_scratch *scratch, struct log_record *record)
{
    clear(record, scratch);
    if (file->format->open != NULL && file->parser[which] == NULL) /* no memory for it, see restore */
        return LOG_UNPARSED;
    enum log_line result = file->format->parse(file->parser[which], text, scratch, record);
    if (result != LOG_UNPARSED)
        return result;
    struct drossel_text body = log_line_body(text);
    if (body.data != text.data) {
        clear(record, scratch);
        result = file->format->parse(file->parser[which], body, scratch, record);
    }
    return result == LOG_UNPARSED && !file->is_named ? parse_foreign(file, text, body, scratch, record) : result;
}

/* Gives the parser the state that it had at this epoch. */
static void restore(struct log_file *file, enum file_parser which, uint64_t epoch, struct log_scratch *scratch)
{
    struct log_record ignored;
    char error[256];
    if (file->parser_epoch[which] == epoch)
        return;
    if (epoch == 0) {
        close_parser(file, which);
        if (!open_parser(file, which, error, sizeof error))
            return;
    }
    for (uint64_t offset = epoch - 1; epoch > 0 && offset < file->source.size && file->source.data[offset] == '#';) {
        struct drossel_text text = file_text(file, offset);
        parse_either(file, which, bare_line(text), scratch, &ignored);
        offset += text.size + 1;
    }
    file->parser_epoch[which] = epoch;
}

static bool is_state(const struct file_line *line, enum log_line result)
{
    return result == LOG_COMMENT && line->text.size > 0 && line->text.data[0] == '#';
}

/* The line was just met: a group of `#` lines begins, goes on or ends here. */
static void follow_epoch(struct log_file *file, enum file_parser which, const struct file_line *line, bool state)
{
    if (state && !file->in_group)
        file->epoch = line->offset + 1;
    if (state)
        file->parser_epoch[which] = file->epoch;
    file->in_group = state;
}

enum log_line file_parse(struct log_file *file, enum file_parser which, const struct file_line *line,
                         struct log_scratch *scratch, struct log_record *record)
{
    struct drossel_text text = bare_line(line->text);
    restore(file, which, line->epoch, scratch);
    record->t_ns = 0;
    enum log_line result = parse_either(file, which, text, scratch, record);
    record->raw = text;
    record->line = line->line;
    if (line->offset + line->text.size + 1 == file->offset)
        follow_epoch(file, which, line, is_state(line, result));
    return result;
}

bool file_time(struct log_file *file, const struct file_line *line, struct log_scratch *scratch, uint64_t *t_ns)
{
    struct log_record record;
    if (file->format->time == NULL) {
        enum log_line result = file_parse(file, FILE_SCAN, line, scratch, &record);
        *t_ns = record.t_ns;
        return result == LOG_REQUEST;
    }
    uint64_t resolution_ns;
    struct drossel_text text = bare_line(line->text);
    void *parser = file->parser[FILE_SCAN];
    if (file->format->time(parser, text, t_ns, &resolution_ns))
        return true;
    struct drossel_text body = log_line_body(text);
    if (body.data != text.data && file->format->time(parser, body, t_ns, &resolution_ns))
        return true;
    return !file->is_named &&
           (mixed_time(&file->mixed, file->format, text, t_ns, &resolution_ns) ||
            (body.data != text.data && mixed_time(&file->mixed, file->format, body, t_ns, &resolution_ns)));
}
