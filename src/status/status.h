/*
 * What a policy and its table come to at this moment, and three ways to tell it: JSON, the text format of Prometheus, and a
 * page that draws the JSON.
 *
 * Counters are those of the table: of all processes that use it, since it was made.  They are told by the rates of the policy in
 * force; what other policies called by the same limit's name counted is in the sums, so that a changed number does not begin
 * them anew.  Nothing told has the value of a key, a path or an address in it, and its size depends on the policy alone.
 *
 * No allocation, no lock; the only thing that takes time is to look at the table's slots, which is bounded and done
 * once a second.
 */
#ifndef DROSSEL_STATUS_STATUS_H
#define DROSSEL_STATUS_STATUS_H

#include "http/writer.h"
#include "policy/policy.h"
#include "table/fill.h"
#include "table/stats.h"
#include "table/table.h"

#define STATUS_SLOTS_MAX 32768           /* slots looked at: all of a table of 16k keys, else a part; 1 ms */
#define STATUS_FILL_AGE_NS UINT64_C(1000000000)  /* so long a look at them is good */

/* The last look at the slots; zeroed in the beginning.  Of one process. */
struct status_look {
    uint64_t taken_ns;                   /* table's clock; 0: never */
    struct table_fill fill;
};

/* Where it all comes from: what a door knows. */
struct status_source {
    const struct policy *policy;
    struct table *table;
    struct status_look *look;
    uint64_t unix_now_ms;                /* wall clock */
    uint64_t loaded_unix_s;              /* when the policy was read */
    uint32_t warnings;                   /* that were told about the policy */
    uint64_t store_errors;               /* requests that could not be judged, or that were by a table of their own */
};

/* One rate of a limit, with its sums. */
struct status_rate {
    uint64_t seed;
    const struct policy_rate *rate;
    struct table_limit_stats sum;
};

struct status {
    struct status_source from;
    bool is_lost;                        /* the table's file was cut off */
    bool is_counted;                     /* the table has statistics; else times and sums are zero */
    struct table_counts counts;
    struct table_fill fill;
    uint64_t times[TABLE_TIMES];         /* decisions by time, of those that were timed */
    uint64_t times_sum_ns;
    struct table_limit_stats requests;   /* what requests met, all limits together */
    struct table_limit_stats bans;       /* refused by a ban, in .count[TABLE_REFUSED] */
    const struct status_rate *rate;      /* in the order of the policy's limits */
    uint32_t rate_count;
};

/* How many rates a policy's limits have, those of its overrides not counted. */
uint32_t status_rate_count(const struct policy *policy);

/* Gathers it.  `rates` is memory of the caller for status_rate_count of them, and has to outlive `status`. */
void status_gather(const struct status_source *source, struct status_rate *rates, struct status *status);

enum status_format { STATUS_JSON = 0, STATUS_PROMETHEUS, STATUS_PAGE };

/* Which format is asked for: by `name` (json, prometheus, html), or, where its size is 0, by the Accept field (size 0: none).
 * JSON when anything will do.  False if there is no format of that name. */
bool status_choose(struct drossel_text name, struct drossel_text accept, enum status_format *format);

/* The media type, for the Content-Type field. */
const char *status_media_type(enum status_format format);

/* Writes it; the page is status_page.  What does not fit leaves writer->full. */
void status_json(const struct status *status, struct http_writer *writer);
void status_prometheus(const struct status *status, struct http_writer *writer);

/* The page: the same for everybody, it fetches its JSON from where it came from.  It loads nothing else, and its
 * Content-Security-Policy lets no other script and no other style run than its own, which it names by their hashes. */
struct status_page {
    struct drossel_text text;
    const char *security_policy;
};
extern const struct status_page status_page;

#endif
