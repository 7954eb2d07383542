/*
 * drossel: a rate limiter for web applications.  The library's one header, and its manual.
 *
 *     struct drossel_error why;
 *     struct drossel *limiter;
 *     if (drossel_open(&limiter, "policy.yaml", NULL, &why) != DROSSEL_OK)
 *         die("%s", why.text);
 *
 *     struct drossel_request request = { .now_ns = drossel_now(limiter), .method = DROSSEL_TEXT("GET"),
 *                                        .path = DROSSEL_TEXT("/search") };
 *     drossel_address_parse("203.0.113.7", 11, &request.peer);
 *     struct drossel_decision decision;
 *     if (drossel_check(limiter, &request, &decision) == DROSSEL_OK && decision.verdict == DROSSEL_REFUSE)
 *         ...send what drossel_answer_format says: 429, Retry-After, a body...
 *
 * Guarantees.  A limit `N per T` (sliding) never admits more than N requests of one key in any window of
 * length T, whatever the pattern of arrival and however many processes share the table.  A request refused by
 * one limit spends nothing from any other.  A client that waits `wait_ns` is admitted, if nobody else spent
 * from its key.  A process killed at any instruction leaves a table that the others go on using.
 *
 * Units.  All times are nanoseconds.  `now_ns` is the table's clock (drossel_now): close to Unix time when the
 * table was made, monotonic, counting on through suspend and restart.  It never follows a step of the wall clock.
 *
 * Threads.  One `struct drossel` may be used by any number of threads at once, and after fork() by the child.
 * drossel_open, drossel_reload and drossel_close must not overlap with other calls on the same object.
 *
 * Memory.  drossel_check, drossel_check_batch and drossel_settle allocate nothing for up to 64 charges.
 *
 * The process.  The first table that is opened on a file installs a handler of SIGBUS, for files that are cut off under us; a SIGBUS from
 * elsewhere goes to the handler that was there before, so install yours first, or pass on to ours.  Once loaded the library stays.  The
 * table's file carries locks (fcntl): a process that opens and closes it by hand loses them, and may be taken for dead by others.
 *
 * Errors.  Functions return enum drossel_result; outputs stay untouched on failure (of a batch: those not reached).  The library never exits,
 * never aborts, and writes to no file descriptor but the table's.
 */
#ifndef DROSSEL_H
#define DROSSEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DROSSEL_VERSION "0.1.0"

#if defined(__GNUC__)
#define DROSSEL_API __attribute__((visibility("default")))
#define DROSSEL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define DROSSEL_API
#define DROSSEL_MUST_CHECK
#endif

/* What a call came to.  Zero is success. */
enum drossel_result {
    DROSSEL_OK = 0,
    DROSSEL_INVALID,     /* an argument or the text given is malformed */
    DROSSEL_POLICY,      /* the policy file has mistakes; the error's text lists all of them */
    DROSSEL_TABLE,       /* the table cannot be opened, made or used */
    DROSSEL_NO_MEMORY,   /* an allocation failed */
    DROSSEL_NO_SPACE     /* the caller's buffer is too small */
};

/* A failure in words: lines of `place: what was found; what would be right`, cut off at the buffer's end. */
struct drossel_error {
    char text[4000];     /* NUL-terminated, no newline at the end */
};

/* Bytes of the caller, not NUL-terminated.  Size 0 means absent. */
struct drossel_text {
    const char *data;
    size_t size;         /* bytes */
};
#define DROSSEL_TEXT(literal) { (literal), sizeof(literal) - 1 }

enum drossel_family { DROSSEL_NONE = 0, DROSSEL_UNIX = 1, DROSSEL_IPV4 = 4, DROSSEL_IPV6 = 6 };

/* A network address.  IPv4-mapped IPv6 is always folded to IPv4, so that one client is one key. */
struct drossel_address {
    uint8_t family;      /* enum drossel_family */
    uint8_t bytes[16];   /* network order; IPv4 in the first four, the rest zero */
};

/* Parses `203.0.113.7`, `2001:db8::1` (RFC 5952 and RFC 4291 forms; no port, no zone, no brackets), `unix`, or `unix:` as
 * nginx writes it.  DROSSEL_INVALID for anything else. */
DROSSEL_API DROSSEL_MUST_CHECK enum drossel_result
drossel_address_parse(const char *text, size_t size, struct drossel_address *address);

#define DROSSEL_ADDRESS_TEXT 48
/* Writes the canonical text (RFC 5952) and a NUL into `text`; returns its length without the NUL. */
DROSSEL_API size_t drossel_address_format(const struct drossel_address *address, char text[DROSSEL_ADDRESS_TEXT]);

struct drossel_header {
    struct drossel_text name;    /* any case */
    struct drossel_text value;   /* without surrounding white space */
};

enum drossel_door {
    DROSSEL_DOOR_LIBRARY = 0, DROSSEL_DOOR_NGINX, DROSSEL_DOOR_HAPROXY, DROSSEL_DOOR_REDIS, DROSSEL_DOOR_PHP,
    DROSSEL_DOOR_ENVOY, DROSSEL_DOOR_FORWARD_AUTH, DROSSEL_DOOR_COUNT
};

/* The facts of one request.  Fill with zero what is not known.  Nothing in it is kept after the call. */
struct drossel_request {
    uint64_t now_ns;                 /* from drossel_now, read once for this request */
    struct drossel_address peer;     /* the other end of the connection; the client is recovered from it and the headers */
    struct drossel_address address;  /* if its family is not DROSSEL_NONE: the client, taken as it is, `peer` unused */
    struct drossel_text method;      /* as on the wire, upper case */
    struct drossel_text host;        /* without port */
    struct drossel_text path;        /* decoded and normalised, without the query string (drossel_path_normalise) */
    struct drossel_text account;     /* if the caller knows it; else taken as the policy says */
    const struct drossel_text *accounts;    /* those found in the body, as they stand there: each is charged; at most 16 count */
    size_t account_count;
    bool is_account_unreadable;      /* the body that should name it is malformed or too long: all such requests of an
                                        address share one account */
    struct drossel_text token;       /* likewise */
    const struct drossel_header *headers;   /* in wire order; used when `find_header` is NULL */
    size_t header_count;
    /* Where headers live elsewhere: the `nth` (from 0) line whose name equals `name` (lower case), or false. */
    bool (*find_header)(const struct drossel_request *request, struct drossel_text name, unsigned nth,
                        struct drossel_text *value);
    void *context;                   /* for find_header; the library does not touch it */
    uint64_t arrived_ns;             /* when a request that is asked again after DROSSEL_HOLD first came; 0: now */
    uint64_t extra_cost;             /* 0: the limits' own cost.  n: n times that.  DROSSEL_ASK: ask, charge nothing */
    enum drossel_door door;          /* for limits with `only:` */
};
#define DROSSEL_ASK UINT64_MAX

enum drossel_verdict {       /* ordered: a greater one is stricter and wins */
    DROSSEL_ALLOW = 0,
    DROSSEL_MARK,            /* goes through; some limit of action `mark` is exceeded */
    DROSSEL_DELAY,           /* hold back for delay_ns, then go on */
    DROSSEL_CHALLENGE,       /* goes through; the application is to ask for more */
    DROSSEL_REFUSE,          /* answer with `status` */
    DROSSEL_DROP,            /* close without an answer */
    DROSSEL_HOLD             /* not decided: only charges whose outcome is still open stand in the way.  Nothing was charged;
                                ask again soon, with arrived_ns set; within hold_ns it is decided */
};

#define DROSSEL_NEVER UINT64_MAX    /* as wait_ns: waiting does not help */
#define DROSSEL_QUOTAS 8            /* at most so many are reported, the closest to exhaustion */
#define DROSSEL_DRY_RUNS 16         /* at most so many names; the count goes on */

/* What one limit had to say.  Strings belong to the policy and live until drossel_reload or drossel_close. */
struct drossel_quota {
    const char *name;        /* the limit's name; `page-10m` style where a limit has several rates */
    uint64_t count;          /* N */
    uint64_t window_ns;      /* T */
    uint64_t remaining;      /* admitted at once from here on */
    uint64_t more_ns;        /* until one more than `remaining` would be admitted; 0 when full.  Violated or blocked:
                                until this request would be; DROSSEL_NEVER: never */
    bool violated;           /* it refused this request */
    bool counts_failures;    /* so that its numbers tell how often others have failed for the same key */
};

/* What counted as a failure comes to this when the answer is known. */
enum drossel_outcome {
    DROSSEL_OTHER = 0,       /* neither: the charge is given back */
    DROSSEL_FAILURE,         /* the charge stays */
    DROSSEL_SUCCESS          /* the charge is given back, and limits with `reset_on: success` forget the key */
};

#define DROSSEL_TICKET_CHARGES 8     /* charges beyond them cannot be given back: they stay */

/* The charges of a request whose outcome is open.  Plain data: may be copied, kept, sent to another process of this machine.
 * Settled once, by whoever comes first; later ones change nothing.  Never settled: the charges stay. */
struct drossel_ticket {
    uint32_t count;          /* 0: nothing to settle */
    uint32_t is_listed;      /* the table knows it, so that it can be settled once only */
    uint64_t home, tag;      /* its own key in the table */
    struct {
        uint64_t home, tag;  /* the key charged */
        uint64_t mark, open_mark;    /* where the charges went, for the engine */
        uint64_t cost;
        uint16_t limit;      /* registry index */
        uint16_t resets;     /* a success clears the key */
    } charge[DROSSEL_TICKET_CHARGES];
};

/* The answer to one request.  Only the first `quota_count` quotas and `min(dry_run_count, DROSSEL_DRY_RUNS)` names are set. */
struct drossel_decision {
    enum drossel_verdict verdict;
    uint16_t status;              /* what the client gets: 429 or the policy's; 0 for drop; 200 when it goes through */
    bool signed_in;               /* refused, and a token was there: for `reveal: signed-in` */
    bool exempt;                  /* neither counted nor refused */
    bool banned;                  /* refused by a ban of the address */
    bool blocked;                 /* refused by a running block or ban: nothing was written, but by `extend` */
    bool started_block;           /* this refusal started a block or ban */
    bool untrusted;               /* refused (403) because it did not come through a trusted proxy */
    bool missing_forward;         /* came from a trusted proxy but without a usable address: counted as the proxy */
    uint32_t limit;               /* index of the limit that decided; UINT32_MAX for none */
    const char *limit_name;       /* its name, or NULL */
    uint64_t remaining;           /* of that limit */
    uint64_t used;                /* of that limit: charges in its window, this request's included if admitted */
    uint64_t capacity;            /* of that limit's rate, unless it is DROSSEL_ALLOW: as many as can be charged at once */
    uint64_t wait_ns;             /* refused: until this request would be admitted; DROSSEL_NEVER: never */
    uint64_t delay_ns;            /* delayed: how long */
    uint64_t subject_hash;        /* of the deciding key: spreads Retry-After without a random state */
    struct drossel_address client;
    uint32_t dry_run_count;       /* limits in dry run that would have refused */
    uint32_t quota_count;
    enum drossel_verdict dry_run_verdict;   /* the strictest verdict that a dry run suppressed */
    uint64_t dry_run_wait_ns;               /* the longest wait among them */
    /* Of the limit that was the strictest of them (of equals the one with the longest wait), if dry_run_verdict is not
     * DROSSEL_ALLOW: */
    uint32_t dry_run_limit;                 /* its index */
    const char *dry_run_limit_name;
    uint64_t dry_run_used;                  /* charges in its window */
    uint64_t dry_run_capacity;              /* as many as can be charged at once */
    uint64_t dry_run_delay_ns;
    const char *dry_run[DROSSEL_DRY_RUNS];
    struct drossel_quota quota[DROSSEL_QUOTAS];
    uint64_t hold_ns;             /* DROSSEL_HOLD: it is decided within so long */
    struct drossel_ticket ticket; /* of limits that count failures: to drossel_settle when the outcome is known */
};

struct drossel;

/* Options of drossel_open; zero for the policy's own. */
struct drossel_options {
    const char *table_path;      /* instead of the policy's table.path */
    uint64_t table_keys;         /* instead of the policy's table.keys */
    bool private_table;          /* a table in this process's own memory (shared with its forks), on no file */
    uint64_t private_start_ns;   /* with private_table: what its clock counts from; 0: the wall clock */
};

/* Reads the policy, opens or makes its table.  `*limiter` is the caller's to drossel_close.
 * At most 64 tables on files are open in one process at once.  On failure `why` (may be NULL) holds all mistakes.
 * DROSSEL_INVALID: a NULL argument.  DROSSEL_POLICY, DROSSEL_TABLE, DROSSEL_NO_MEMORY. */
DROSSEL_API DROSSEL_MUST_CHECK enum drossel_result
drossel_open(struct drossel **limiter, const char *policy_path, const struct drossel_options *options,
             struct drossel_error *why);

/* Reads the policy anew and swaps it in; counters are kept.  On failure the old policy stays in force.  The table stays the
 * one that was opened, whatever the policy now says of it, unless it was lost: then it is opened anew. */
DROSSEL_API DROSSEL_MUST_CHECK enum drossel_result
drossel_reload(struct drossel *limiter, struct drossel_error *why);

/* Releases the policy and the mapping; the table itself stays.  NULL is allowed. */
DROSSEL_API void drossel_close(struct drossel *limiter);

/* Was the table's file cut off under us?  Then counting goes on, alone and from nothing, in this process's memory: nobody
 * crashes, and drossel_check goes on deciding.  Say so to a person; once the file is removed, drossel_reload makes it anew. */
DROSSEL_API bool drossel_is_lost(const struct drossel *limiter);

/* The table's clock, ns. */
DROSSEL_API uint64_t drossel_now(const struct drossel *limiter);

/* Decides one request and charges the limits that match, all or nothing.  DROSSEL_INVALID: a NULL argument or an unknown
 * door; DROSSEL_NO_MEMORY: over 64 charges and no memory for them.  Nothing is charged then. */
DROSSEL_API DROSSEL_MUST_CHECK enum drossel_result
drossel_check(struct drossel *limiter, const struct drossel_request *request, struct drossel_decision *decision);

/* The same for `count` requests in their order, fetching ahead: for loops that have many at hand, this hides the cost
 * of memory that is not in a cache.  Decisions as by drossel_check on each in turn; the first failure ends it. */
DROSSEL_API DROSSEL_MUST_CHECK enum drossel_result
drossel_check_batch(struct drossel *limiter, const struct drossel_request *requests, size_t count,
                    struct drossel_decision *decisions);

/* Tells, at now_ns, the outcome of a request that drossel_check let through.  May come from any process that opened the same table, and
 * long after; settling twice is harmless.  A ticket with a count of 0 is ignored.  DROSSEL_INVALID: a NULL argument. */
DROSSEL_API DROSSEL_MUST_CHECK enum drossel_result
drossel_settle(struct drossel *limiter, const struct drossel_ticket *ticket, enum drossel_outcome outcome, uint64_t now_ns);

/* What an answer of the application means by the policy's `outcomes`: its status, or one of its header fields. */
DROSSEL_API enum drossel_outcome drossel_outcome_of(const struct drossel *limiter, int status,
                                                    const struct drossel_header *headers, size_t header_count);

#define DROSSEL_ANSWER_HEADERS 12
#define DROSSEL_ANSWER_BYTES 8192

/* What a refused client is told.  Texts point into `buffer` or to static memory: the answer is not to be copied. */
struct drossel_answer {
    uint16_t status;                  /* 429, or what the policy says */
    uint32_t retry_after_s;           /* with jitter, rounded up; 0: waiting does not help, and no Retry-After is sent */
    const char *content_type;         /* NULL: no body */
    struct drossel_text body;         /* to a HEAD request it is not sent */
    size_t header_count;
    struct drossel_header header[DROSSEL_ANSWER_HEADERS];   /* Retry-After, Cache-Control, RateLimit; no Content-Type */
    char buffer[DROSSEL_ANSWER_BYTES];
};

/* The answer to a decision of DROSSEL_REFUSE, as the policy's `answer` wants it, the body by the request's Accept field
 * (size 0: none).  `unix_now_s`: the wall clock in seconds, rounded up, for jitter and dates.  Call it before the next drossel_reload.
 * DROSSEL_INVALID: a NULL argument, or a decision that refuses nothing. */
DROSSEL_API DROSSEL_MUST_CHECK enum drossel_result
drossel_answer_format(const struct drossel *limiter, const struct drossel_decision *decision, struct drossel_text accept,
                      uint64_t unix_now_s, struct drossel_answer *answer);

/* Decodes %XX, resolves `.` and `..`, merges slashes and cuts the query string, as nginx does for $uri, so that
 * one page has one name.  Where nginx refuses a path this goes on: an escape that it refuses (`%zz`, `%00`) stays as it is
 * written, and `..` beyond the root stays at the root.  Of an absolute form, `http://host/path`, it takes the path.
 * `out` holds `cap` bytes, at least path.size (at least 1); returns the length written.  Any other path that does not
 * begin with `/` is returned as it is, cut at `?`. */
DROSSEL_API size_t drossel_path_normalise(struct drossel_text path, char *out, size_t cap);

/* ---- the client's side of the contract ---- */

struct drossel_wait_rules {      /* zero for the defaults */
    double base_s;               /* backoff: 1 */
    double cap_s;                /* backoff: 60 */
    double max_sleep_s;          /* longer waits are deferred: 600 */
    bool legacy_x_ratelimit;     /* read X-RateLimit-Reset too */
    bool draft_12;               /* the server's RateLimit fields have the parameters of draft 12, `a` and `w` */
};

enum drossel_wait_action {
    DROSSEL_WAIT_NONE = 0,       /* go on */
    DROSSEL_WAIT_SLEEP,          /* choose uniformly in [min_s, max_s] */
    DROSSEL_WAIT_DEFER           /* do not sleep; not before not_before_s from now */
};

struct drossel_wait {
    enum drossel_wait_action action;
    double min_s, max_s;         /* seconds from now */
    double not_before_s;         /* seconds from now, for DEFER */
    const char *source;          /* what decided: static text for a log line */
};

struct drossel_response {        /* what the client received */
    int status;
    const struct drossel_header *headers;
    size_t header_count;
    double now_s;                /* local clock, Unix seconds */
    unsigned attempt;            /* 0: the first failure */
};

/* How long to wait before the next attempt (RFC 9110 section 10.2.3, RFC 6585, draft-ietf-httpapi-ratelimit-headers).
 * Retry-After counts on 429, 503 and 3xx.  Without it, RateLimit fields with nothing left count on every status, unless
 * the response comes from a cache.  Without either, 429 and 503 back off with full jitter; what to do about other
 * failures is the caller's judgement, as are how often to try and whether the request may be repeated at all.
 * `rules` may be NULL. */
DROSSEL_API struct drossel_wait drossel_client_wait(const struct drossel_response *response,
                                                    const struct drossel_wait_rules *rules);

/* Static text for a verdict: "allow", "mark", "delay", "challenge", "refuse", "drop", "hold". */
DROSSEL_API const char *drossel_verdict_name(enum drossel_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
