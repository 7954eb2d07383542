/*
 * What is replayed: events and logs as one stream.
 */
#include "cli/replay_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/replay_record.h"
#include "cli/replay_spool.h"
#include "logs/kept.h"

#define LOOK_EACH 4096 /* events between two looks for a SIGINT */
#define BAD_BYTES 600

struct replay_input {
    struct replay_input_options options;
    const char **log_path;
    size_t log_count;
    struct logs *logs;     /* NULL: none */
    struct events *events; /* NULL: none */
    size_t next_event;
    struct names *names;
    struct recorder recorder;
    struct log_record line; /* the log's next one, where the event below has its headers */
    struct event record;    /* the same, as an event ... */
    bool has_record;        /* ... if there is one, */
    bool is_taken;          /* and it was given out */
    struct event shifted;
    uint64_t looked;
    bool is_broken, is_reopened;
    char bad[LOGS_BAD_KEPT][BAD_BYTES];
    const char *bad_text[LOGS_BAD_KEPT];
};

/* ---- opening ---- */

/* Without opening it: who writes into a pipe would lose his reader.  The words are those of logs/source.c. */
static bool is_there(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || access(path, R_OK) != 0) {
        cli_complain("%s: cannot be read: %s", path,
                     errno == EACCES ? "permission denied; read it as root, or as a member of its group (often adm)"
                                     : strerror(errno));
        return false;
    }
    if (S_ISDIR(about.st_mode))
        cli_complain("%s: is a folder; name the files in it: %s/*", path, path);
    return !S_ISDIR(about.st_mode);
}

static bool is_pipe(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
}

/* What is to be recognised has to be read twice; of a format that is named it is read as it comes. */
static bool is_readable(const struct replay_input *input, const char *path)
{
    if (strcmp(path, "-") == 0)
        return spool_stdin();
    if (!is_there(path))
        return false;
    return input->options.format != NULL || !is_pipe(path) || kept_is(path) || spool_pipe(path);
}

/* Can it be read more than once? */
static bool is_lasting(const char *path)
{
    struct stat about;
    return kept_is(path) || (stat(path, &about) == 0 && S_ISREG(about.st_mode));
}

static FILE *open_again(const char *path)
{
    int fd = kept_is(path) ? kept_open(path) : open(path, O_RDONLY | O_CLOEXEC);
    FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    if (in == NULL && fd >= 0)
        close(fd);
    return in;
}

/* So few lines, or so odd ones, that no format is recognised: events if any of them has their members, or there is none. */
static bool begins_like_events(const char *path)
{
    char head[1 << 14];
    FILE *in = is_lasting(path) ? open_again(path) : NULL; /* of a pipe the beginning would be lost */
    if (in == NULL)
        return false;
    size_t size = fread(head, 1, sizeof head - 1, in);
    fclose(in);
    head[size] = '\0';
    size_t blank = strspn(head, " \t\r\n");
    return blank == size ||
           ((head[blank] == '{' || head[blank] == '[' || strstr(head, "\n{") != NULL) &&
            strstr(head, "\"t\"") != NULL && (strstr(head, "\"address\"") != NULL || strstr(head, "\"peer\"") != NULL));
}

static bool is_events(const struct replay_input *input, const char *path)
{
    const char *format = input->options.format;
    if (format != NULL)
        return strcmp(format, "events") == 0;
    const char *name = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    return logs_is_events(name) || begins_like_events(name);
}

/* When the logs are opened again for a larger table it was told before. */
static void tell_skipped(void *context, const char *message)
{
    struct replay_input *input = context;
    input->is_broken = true;
    if (!input->is_reopened)
        cli_complain("%s", message);
}

static bool open_logs(struct replay_input *input)
{
    char error[1024] = "";
    struct logs_options options = { .format = input->options.format,
                                    .map = input->options.map,
                                    .order = input->options.order,
                                    .progress = progress_at,
                                    .context = input->options.progress,
                                    .skipped = tell_skipped,
                                    .skipped_context = input };
    for (size_t i = 0; i < input->log_count; i++)
        if (strcmp(input->log_path[i], "-") == 0 && lseek(STDIN_FILENO, 0, SEEK_SET) != 0)
            return false;
    input->logs = logs_open(input->log_path, input->log_count, &options, error, sizeof error);
    if (input->logs == NULL)
        cli_complain("%s", error);
    return input->logs != NULL;
}

static bool read_events(struct replay_input *input, const char *path)
{
    if (input->events == NULL)
        input->events = events_open();
    return input->events != NULL && events_read(input->events, path);
}

static bool open_all(struct replay_input *input, char **path, int count)
{
    int used = 0;
    char error[512];
    if (!logs_map_check(input->options.map, error,
                        sizeof error)) { /* events need none, and a mistake is one all the same */
        cli_complain("%s", error);
        return false;
    }
    for (int i = 0; i < count; i++) {
        bool good = is_readable(input, path[i]);
        if (good && is_events(input, path[i]))
            good = read_events(input, path[i]);
        else if (good)
            input->log_path[input->log_count++] = path[i];
        used += good;
        input->is_broken |= !good;
    }
    if (used == 0)
        return false;
    return (input->events == NULL || events_sort(input->events)) && (input->log_count == 0 || open_logs(input));
}

struct replay_input *replay_input_open(char **path, int count, const struct replay_input_options *options)
{
    struct replay_input *input = calloc(1, sizeof *input);
    if (input == NULL)
        return NULL;
    input->options = *options;
    input->log_path = calloc((size_t)count + 1, sizeof *input->log_path);
    input->names = names_open();
    input->recorder.names = input->names;
    input->is_taken = true;
    if (input->log_path != NULL && input->names != NULL && open_all(input, path, count))
        return input;
    replay_input_close(input);
    return NULL;
}

void replay_input_close(struct replay_input *input)
{
    logs_close(input->logs);
    if (input->events != NULL)
        events_close(input->events);
    recorder_release(&input->recorder);
    names_close(input->names);
    free(input->log_path);
    free(input);
}

bool replay_input_can_rewind(const struct replay_input *input)
{
    for (size_t i = 0; i < input->log_count; i++)
        if (strcmp(input->log_path[i], "-") != 0 && !is_lasting(input->log_path[i]))
            return false;
    return true;
}

bool replay_input_rewind(struct replay_input *input)
{
    input->next_event = 0;
    input->has_record = false;
    input->is_taken = true;
    if (input->logs == NULL)
        return true;
    logs_close(input->logs);
    input->logs = NULL;
    input->is_reopened = true;
    return open_logs(input);
}

/* ---- one after the other ---- */

/* The log's next one is at hand, if there is one. */
static bool fetch(struct replay_input *input)
{
    if (input->logs == NULL || !input->is_taken)
        return input->has_record;
    input->is_taken = false;
    input->has_record = logs_next(input->logs, &input->line);
    if (input->has_record && !record_event(&input->recorder, input->logs, &input->line, &input->record)) {
        cli_complain("no memory for the names of all clients");
        input->is_broken = true;
        input->has_record = false;
    }
    return input->has_record;
}

/* Of one time, events come first. */
static const struct event *earliest(struct replay_input *input)
{
    bool has_record = fetch(input);
    const struct event *event = NULL;
    if (input->events != NULL && input->next_event < events_count(input->events))
        event = events_at(input->events, input->next_event);
    if (event == NULL || (has_record && input->record.t_ns < event->t_ns))
        return has_record ? &input->record : NULL;
    return event;
}

uint64_t replay_input_first(struct replay_input *input)
{
    const struct event *first = earliest(input);
    return first != NULL ? first->t_ns : UINT64_MAX;
}

const struct event *replay_input_next(struct replay_input *input, uint64_t shift_ns)
{
    if (++input->looked % LOOK_EACH == 0 && progress_interrupted())
        return NULL;
    const struct event *event = earliest(input);
    if (event == NULL)
        return NULL;
    if (event == &input->record)
        input->is_taken = true;
    else
        input->next_event++;
    if (shift_ns == 0)
        return event;
    input->shifted = *event;
    input->shifted.t_ns += shift_ns;
    input->shifted.settle_ns += shift_ns;
    return &input->shifted;
}

bool replay_input_is_whole(const struct replay_input *input)
{
    bool is_parsed = input->events == NULL || events_unparsed(input->events) == 0;
    if (input->logs != NULL && logs_error(input->logs) != NULL) {
        cli_complain("%s", logs_error(input->logs));
        return false;
    }
    return !input->is_broken && is_parsed;
}

uint64_t replay_input_most(const struct replay_input *input)
{
    if (input->logs != NULL)
        return UINT64_MAX;
    return input->events != NULL ? events_count(input->events) : 0;
}

const struct names *replay_input_names(const struct replay_input *input)
{
    return input->names;
}

void replay_input_tell(struct replay_input *input, struct tally_input *told)
{
    if (input->events != NULL)
        told->unparsed += events_unparsed(input->events);
    if (input->logs == NULL)
        return;
    const struct logs_facts *facts = logs_facts(input->logs);
    told->is_log = true;
    told->unparsed += facts->unparsed;
    told->without_client = facts->without_client;
    told->resolution_ns = facts->resolution_ns;
    told->format = logs_file_format(input->logs, 0);
    for (uint32_t i = 0; i < facts->bad_count; i++) {
        snprintf(input->bad[i], BAD_BYTES, "%s:%llu: %s", logs_file_name(input->logs, facts->bad[i].file),
                 (unsigned long long)facts->bad[i].line, facts->bad[i].text);
        input->bad_text[i] = input->bad[i];
    }
    told->bad = input->bad_text;
    told->bad_count = facts->bad_count;
}
