/*
 * What is replayed: files of events, read whole, and access logs, read record by record; in the order of their time.
 */
#ifndef DROSSEL_CLI_REPLAY_INPUT_H
#define DROSSEL_CLI_REPLAY_INPUT_H

#include "cli/events.h"
#include "cli/replay_names.h"
#include "cli/replay_progress.h"
#include "cli/tally.h"
#include "logs/logs.h"

struct replay_input;

struct replay_input_options {
    const char *format;      /* NULL: recognised; `events`; else for logs_open */
    const char *map;         /* for logs_open */
    enum logs_order order;   /* of logs: events are always sorted */
    struct progress *progress;
};

/* Opens all files; those that cannot be are complained about, and the others go on.  NULL if none is left. */
struct replay_input *replay_input_open(char **path, int count, const struct replay_input_options *options);
void replay_input_close(struct replay_input *input);

/* The next one, valid until the next call.  `shift_ns` is added to its times for the engine.  NULL at the end, on SIGINT and on failure. */
const struct event *replay_input_next(struct replay_input *input, uint64_t shift_ns);
/* The time of the first one, without taking it; UINT64_MAX: there is none. */
uint64_t replay_input_first(struct replay_input *input);
/* Can it be read again?  Not what comes through a named pipe in a format that was named; standard input and other pipes are kept for it. */
bool replay_input_can_rewind(const struct replay_input *input);
/* Once more from the beginning.  False on failure, which is complained about. */
bool replay_input_rewind(struct replay_input *input);
/* False: something could not be read, which is complained about. */
bool replay_input_is_whole(const struct replay_input *input);

/* At most so many events; UINT64_MAX: nobody knows. */
uint64_t replay_input_most(const struct replay_input *input);
const struct names *replay_input_names(const struct replay_input *input);
/* Sets what the tally tells of its input; texts live as long as the input. */
void replay_input_tell(struct replay_input *input, struct tally_input *told);

#endif
