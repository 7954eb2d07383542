/*
 * A record of an access log as an event.
 */
#include "cli/replay_record.h"

#include <stdlib.h>
#include <string.h>

#include "cli/door.h"

/* Is there nothing to normalise?  Most paths are as they should be but for a query. */
static bool is_plain(struct drossel_text target, size_t *size)
{
    size_t i = 0;
    if (target.size == 0 || target.data[0] != '/')
        return false;
    for (; i < target.size && target.data[i] != '?'; i++) {
        char byte = target.data[i];
        if (byte == '%' || byte == '#' || (i > 0 && target.data[i - 1] == '/' && (byte == '/' || byte == '.')))
            return false;
    }
    *size = i;
    return true;
}

static bool find_path(struct recorder *recorder, struct drossel_text target, struct drossel_text *path)
{
    *path = target;
    if (target.size == 0 || is_plain(target, &path->size))
        return true;
    if (target.size >= recorder->path_cap) {
        char *grown = realloc(recorder->path, 2 * target.size);
        if (grown == NULL)
            return false;
        recorder->path = grown;
        recorder->path_cap = 2 * target.size;
    }
    path->size = drossel_path_normalise(target, recorder->path, target.size + 1);
    path->data = recorder->path;
    return true;
}

/* Field by field, as to clear an event takes as long as to fill it; those that no record has stay as they were. */
bool record_event(struct recorder *recorder, const struct logs *logs, const struct log_record *record,
                  struct event *event)
{
    event->t_ns = event->told_ns = event->settle_ns = record->t_ns;
    event->method = record->method;
    event->host = door_host(record->host);
    event->headers = record->header;
    event->header_count = record->header_count;
    event->status = record->status;
    event->agent = record->agent;
    event->forwarded = record->forwarded;
    event->target = record->target;
    event->user = record->user;
    event->signed_in = record->user.size > 0;
    event->file = logs_file_name(logs, record->file);
    event->line = record->line;
    event->raw = record->raw;
    return names_address(recorder->names, record->client, &event->peer) &&
           find_path(recorder, record->target, &event->path);
}

void recorder_release(struct recorder *recorder)
{
    free(recorder->path);
    *recorder = (struct recorder){ 0 };
}
