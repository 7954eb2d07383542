/*
 * Access logs as records: any number of files in any of the known formats, in the order of their time.
 *
 *     struct logs *logs = logs_open(path, count, &(struct logs_options){ 0 }, error, sizeof error);
 *     struct log_record record;
 *     while (logs_next(logs, &record))
 *         ...
 *     if (logs_error(logs) != NULL) ...
 *
 * Order.  Logs are written at the end of a request, and are not quite in order.  Records come by (time, file, line), exactly and
 * stably, whatever the disorder: a first, quick pass over the files notes the earliest time in each block of text; in the second a
 * record is given out once no later block can hold an earlier one.  Memory grows with the disorder and is bounded: beyond
 * `memory` bytes of waiting references they are sorted in runs on disk ($TMPDIR, unlinked at once) and merged.  The text itself is
 * never copied: plain files are mapped, compressed ones and standard input are spooled into such a file first.  A mapped file that is
 * cut off meanwhile ends there.
 *
 * Nothing is lost for another's sake: a line that is no request of its format is counted, the first three are kept, and reading goes on.
 */
#ifndef DROSSEL_LOGS_LOGS_H
#define DROSSEL_LOGS_LOGS_H

#include "drossel.h"

#define LOG_HEADERS_MOST 12
#define LOG_NO_DURATION UINT64_MAX
#define LOGS_BAD_KEPT 3
#define LOGS_BAD_TEXT 200 /* bytes kept of each */

/* Did a cache answer? */
enum log_cache { LOG_CACHE_UNKNOWN = 0, LOG_CACHE_HIT, LOG_CACHE_MISS };

/* One request as the log tells it.  Texts live until the next call; size 0: not logged, or `-`.  Escapes of the format (\x22, \", \u00e9)
 * are undone, so that a text is what the client sent. */
struct log_record {
    uint64_t t_ns;                /* since 1970; a log without a zone is read as UTC */
    uint64_t line;                /* within its file, from 1 */
    uint32_t file;                /* for logs_file_name */
    uint16_t status;              /* 0: none */
    enum log_cache cache;
    struct drossel_text raw;      /* the line as it stands, without its end */
    struct drossel_text client;   /* as written: an address, or a host name; a port and its brackets cut off */
    struct drossel_text user;
    struct drossel_text request;  /* the request line as it stands; where the log has it in parts: "METHOD TARGET PROTOCOL" may be size 0 */
    struct drossel_text method, target, protocol; /* of the request line; size 0 where it is no request line (binary, "-") */
    struct drossel_text host;     /* virtual host, or the Host field */
    struct drossel_text agent, referer;
    struct drossel_text forwarded; /* X-Forwarded-For */
    struct drossel_text verdict;  /* of $drossel_verdict, where it is logged */
    uint64_t bytes;               /* of the answer */
    uint64_t duration_ns;         /* LOG_NO_DURATION: not logged */
    uint32_t header_count;
    struct drossel_header header[LOG_HEADERS_MOST]; /* all fields of the request that are logged: User-Agent, Referer, Host, X-Forwarded-For,
                                                       Cookie, and what a log_format names (%{X-Api-Key}i, $http_x_api_key) */
};

enum logs_order { LOGS_BY_TIME = 0, LOGS_AS_FILED /* the clock never goes back: a record has the latest time so far */ };

struct logs_options {
    const char *format;           /* NULL: recognised, each file by its own first lines; a name (logs_format_names); or the string of
                                     an nginx log_format or an Apache LogFormat */
    const char *map;              /* JSON: "time=ts,client=ip,..."; names as in docs; NULL: common ones */
    enum logs_order order;
    uint64_t memory;              /* bytes for waiting references; 0: 64 MiB */
    /* Called every few MB of text, in both passes; while a pipe or a packed file is read in, `total` is UINT64_MAX, as nobody knows it.
     * False stops: logs_next says false, and logs_stopped true.  NULL: never. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
    /* A file that cannot be opened is told here, with the remedy, and the others go on.  NULL: it fails the whole. */
    void (*skipped)(void *context, const char *message);
    void *skipped_context;
};

/* What the whole was like; complete at the end, the present state before. */
struct logs_facts {
    uint64_t lines, records, unparsed, empty;
    uint64_t out_of_order;        /* records earlier than the one before them in the file */
    uint64_t without_client;      /* records of which the log does not say who asked */
    uint64_t first_ns, last_ns;
    uint64_t resolution_ns;       /* of the stamps: 1000000000 for whole seconds */
    bool has_agent, has_status, has_duration, has_cache, has_forwarded, has_user;
    struct {
        uint32_t file;
        uint64_t line;
        char text[LOGS_BAD_TEXT]; /* printable, cut off */
    } bad[LOGS_BAD_KEPT];         /* the first ones */
    uint32_t bad_count;
};

struct logs;

/* Opens all files (`-`: standard input), rotated sets oldest first (access.log.2.gz, access.log.1, access.log), gzip and xz by their
 * magic.  NULL on failure, or when every file was skipped, with a message that names the file and the remedy.  The strings that `path` points to must outlive it; the
 * numbers of files are those of the sorted order. */
struct logs *logs_open(const char *const *path, size_t count, const struct logs_options *options, char *error, size_t error_size);
/* Is it a map that logs_open takes, whatever the formats; NULL is.  False: with a message that names the entry and the remedy. */
bool logs_map_check(const char *map, char *error, size_t error_size);
void logs_close(struct logs *logs);

/* The next record.  False at the end, when stopped, and on failure. */
bool logs_next(struct logs *logs, struct log_record *record);
/* What went wrong; NULL: nothing.  Ask at the end: a damaged file is told although all records that could be read were given. */
const char *logs_error(const struct logs *logs);
bool logs_stopped(const struct logs *logs);

const struct logs_facts *logs_facts(const struct logs *logs);
size_t logs_file_count(const struct logs *logs);
const char *logs_file_name(const struct logs *logs, uint32_t file);
const char *logs_file_format(const struct logs *logs, uint32_t file); /* the name of what was recognised */

/* Are the first lines of this file (not `-`) events of `drossel replay --format events`? */
bool logs_is_events(const char *path);
/* Names for a message, comma-separated: `combined, common, ...`. */
const char *logs_format_names(void);

#endif
