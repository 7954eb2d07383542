/* What the files of the tally share: counting, warning, and the two ways of telling. */
#ifndef DROSSEL_CLI_TALLY_PARTS_H
#define DROSSEL_CLI_TALLY_PARTS_H

#include "cli/census.h"
#include "cli/replay_timeline.h"
#include "cli/replay_watch.h"
#include "cli/tally.h"

#define TALLY_EXAMPLES 10
#define TALLY_EXAMPLE_BYTES 1000 /* kept of a line */
#define TALLY_LABEL 256

/* A time as it was given: the text of an event, or of a log nanoseconds since 1970. */
struct tally_time {
    bool is_set;
    uint64_t told_ns;
    char text[EVENT_TIME_TEXT]; /* "": by told_ns */
};

/* A key of a limit. */
struct tally_key {
    struct census_entry of;
    struct watch_client *client;           /* of a limit by address: whose it is */
    uint64_t locked_since_ns;              /* refused from then on; 0: not locked out */
    uint64_t lockout_ns;                   /* the longest time from a first refusal to the end of the wait of the last */
    bool is_locked_for_ever;               /* waiting does not help */
    uint64_t hits;                         /* as of the limit */
};

struct tally_example {
    const char *file;
    uint64_t line;
    const struct tally_key *key;
    struct tally_time time;
    char *text;                            /* cut off at TALLY_EXAMPLE_BYTES */
    size_t text_size;
    char *request;                         /* method and target */
    uint16_t status;
};

/* Why a limit never matched; of a sample of the requests. */
struct tally_unmatched {
    uint64_t asked, no_class, other_door, unlimited, key_missing;
    const char *missing;
};

struct tally_limit {
    struct census keys;
    struct census clients;                 /* where it is not by address alone: by watch_client * */
    bool by_address, needs_label;
    uint64_t requests, refused, held, delayed, challenged, marked, blocked, clients_refused;
    uint64_t signed_in, successful;        /* of those refused */
    uint64_t failures;                     /* of a limit of failures: requests whose outcome was one */
    uint64_t peak, lockout_ns;
    const struct tally_key *lockout_key;
    uint64_t hits;                         /* exceeded, whatever its action */
    struct tally_time first, last;         /* hit */
    struct tally_example example[TALLY_EXAMPLES];
    size_t example_count, example_keys;    /* the first `example_keys` are of different keys */
    struct tally_unmatched unmatched;
};

/* What a limit says to the event under way. */
struct tally_touch {
    uint32_t limit;
    struct tally_key *key;
    bool violated, waits, delays, in_block;
    uint64_t wait_ns;
};

struct tally {
    const struct policy *policy;
    struct limiter *limiter;
    struct tally_limit *limit;
    struct tally_touch *touch; /* of the event under way */
    uint32_t touch_count;
    struct watch watch;
    struct timeline timeline;  /* row 0: all requests; 1 + limit: hits of a limit */
    FILE *refused_to;
    bool is_terminal; /* that is what refused_to is */
    json_t *warnings;
    const struct event *looked_at; /* the event that `touch` is of */
    struct tally_time first, last;
    uint64_t requests, held, exempt, banned, untrusted;
};

/* A time as JSON; `out` may be used for it.  "null" if it is not set. */
const char *tally_time(const struct tally_time *time, char out[EVENT_TIME_TEXT]);

/* ---- the event under way ---- */

/* Sets the touches of the event.  False without memory. */
bool tally_look_at(struct tally *tally, const struct event *event, const struct limiter_told *told);
/* Its client, by a key that has it or by its address; NULL without memory. */
struct watch_client *tally_client(struct tally *tally, const struct drossel_decision *decision);
/* The client among those of the limit; NULL without memory. */
struct census_entry *tally_client_of(struct tally_limit *limit, const struct tally_touch *touch,
                                     const struct watch_client *client);
void tally_set_time(struct tally_time *time, const struct event *event);

/* ---- the whole ---- */

/* Warns of limits that never match or cannot fire, and of times that are coarser than a window. */
void tally_warn_of_limits(struct tally *tally, const struct tally_input *input);
/* Has the policy a limit of failures, by account or by site, that matched? */
bool tally_reaches_slow_logins(const struct tally *tally);

/* The name of a key. */
const char *tally_label(const struct tally *tally, const struct tally_key *key, char out[TALLY_LABEL]);

/* The keys refused most, as census_top; returns how many. */
size_t tally_top(const struct tally *tally, const struct tally_limit *limit, const struct tally_key **top, size_t cap);

#endif
