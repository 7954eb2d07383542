/*
 * The status in the text format of Prometheus, version 0.0.4.
 *
 * Labels have few values and only such as the policy names: limits and their rates, verdicts, kinds.  Counters that stand in the
 * table are not begun anew by a reload or a restart.
 */
#include "status/status.h"

#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
/* The histogram's bounds: 128 ns to 134 ms, by powers of two. */
#define TIMES_FIRST 6
#define TIMES_LAST 26
_Static_assert(TIMES_LAST < TABLE_TIMES - 1, "the last of the times has no upper bound");

static void put_head(struct http_writer *writer, const char *name, const char *type, const char *help)
{
    http_put_string(writer, "# HELP ");
    http_put_string(writer, name);
    http_put_string(writer, " ");
    http_put_string(writer, help);
    http_put_string(writer, "\n# TYPE ");
    http_put_string(writer, name);
    http_put_string(writer, " ");
    http_put_string(writer, type);
    http_put_string(writer, "\n");
}

static void put_value(struct http_writer *writer, uint64_t value)
{
    http_put_string(writer, " ");
    http_put_number(writer, value);
    http_put_string(writer, "\n");
}

static void put_single(struct http_writer *writer, const char *name, const char *type, const char *help, uint64_t value)
{
    put_head(writer, name, type, help);
    http_put_string(writer, name);
    put_value(writer, value);
}

/* `name="value"`, as the first label or a further one. */
static void put_label(struct http_writer *writer, bool is_first, const char *name, const char *value)
{
    http_put_string(writer, is_first ? "{" : ",");
    http_put_string(writer, name);
    http_put_string(writer, "=\"");
    for (; *value != '\0'; value++) {
        if (*value == '\n')
            http_put_string(writer, "\\n");
        else if (*value == '"' || *value == '\\')
            http_put(writer, (const char[2]){ '\\', *value }, 2);
        else
            http_put(writer, value, 1);
    }
    http_put_string(writer, "\"");
}

static void put_kind(struct http_writer *writer, const char *name, const char *label, const char *kind, uint64_t value)
{
    http_put_string(writer, name);
    put_label(writer, true, label, kind);
    http_put_string(writer, "}");
    put_value(writer, value);
}

/* ---- limits ---- */

struct family {
    const struct status *status;
    const char *name;
    bool dry_run;
    unsigned first, last; /* tallies; more than one: told apart by their verdict */
};

static bool is_zero(const uint64_t count[TABLE_TALLIES])
{
    uint64_t any = 0;
    for (unsigned i = 0; i < TABLE_TALLIES; i++)
        any |= count[i];
    return any == 0;
}

static void put_rate(const struct family *family, const struct status_rate *rate, struct http_writer *writer)
{
    const struct policy_limit *limit = &family->status->from.policy->limits[rate->rate->limit];
    const uint64_t *count = family->dry_run ? rate->sum.dry_run : rate->sum.count;
    if (limit->dry_run != family->dry_run && is_zero(count)) /* of a kind that it is not of, and never was */
        return;
    for (unsigned i = family->first; i <= family->last; i++) {
        http_put_string(writer, family->name);
        put_label(writer, true, "limit", limit->name);
        put_label(writer, false, "rate", rate->rate->name);
        if (family->first != family->last)
            put_label(writer, false, "verdict", drossel_verdict_name((enum drossel_verdict)i));
        http_put_string(writer, "}");
        put_value(writer, count[i]);
    }
}

static void put_rates(const struct family *family, const char *help, struct http_writer *writer)
{
    put_head(writer, family->name, "counter", help);
    for (uint32_t i = 0; i < family->status->rate_count; i++)
        put_rate(family, &family->status->rate[i], writer);
}

static void put_limits(const struct status *status, struct http_writer *writer)
{
    const unsigned last = TABLE_VERDICTS - 1;
    put_rates(&(struct family){ status, "drossel_verdicts_total", false, TABLE_PASSED, last },
              "What each limit said to the requests it is for, as if it were alone.", writer);
    put_rates(&(struct family){ status, "drossel_dry_run_verdicts_total", true, TABLE_PASSED, last },
              "The same of limits in dry run: what they would have said.", writer);
    put_rates(&(struct family){ status, "drossel_verdicts_by_block_total", false, TABLE_BY_BLOCK, TABLE_BY_BLOCK },
              "Those of the verdicts that a running block spoke.", writer);
    put_rates(&(struct family){ status, "drossel_blocks_total", false, TABLE_BLOCKS, TABLE_BLOCKS },
              "Blocks and bans that a limit began.", writer);
}

static void put_requests(const struct status *status, struct http_writer *writer)
{
    put_head(writer, "drossel_requests_total", "counter", "Requests by what they met, all limits together.");
    for (unsigned i = TABLE_PASSED; i < TABLE_VERDICTS; i++)
        put_kind(writer, "drossel_requests_total", "verdict", drossel_verdict_name((enum drossel_verdict)i),
                 status->requests.count[i]);
    put_head(writer, "drossel_dry_run_requests_total", "counter",
             "Requests that passed, but would not have without a dry run.");
    for (unsigned i = TABLE_MARKED; i < TABLE_VERDICTS; i++)
        put_kind(writer, "drossel_dry_run_requests_total", "verdict", drossel_verdict_name((enum drossel_verdict)i),
                 status->requests.dry_run[i]);
    put_single(writer, "drossel_refused_by_ban_total", "counter", "Requests refused because their address is banned.",
               status->bans.count[TABLE_REFUSED]);
}

/* ---- table ---- */

static void put_table(const struct status *status, struct http_writer *writer)
{
    const struct table_fill *fill = &status->fill;
    put_single(writer, "drossel_table_slots", "gauge", "Places for keys in the table.", fill->slots);
    put_head(writer, "drossel_table_keys", "gauge",
             "Keys in the table: all, those with some of their quota used, at their limit, blocked. Each includes the "
             "next. Of a "
             "large table estimated from a part.");
    put_kind(writer, "drossel_table_keys", "state", "all", table_fill_scale(fill, fill->used));
    put_kind(writer, "drossel_table_keys", "state", "live", table_fill_scale(fill, fill->live));
    put_kind(writer, "drossel_table_keys", "state", "full", table_fill_scale(fill, fill->full));
    put_kind(writer, "drossel_table_keys", "state", "blocked", table_fill_scale(fill, fill->blocked));
    put_single(writer, "drossel_table_inserted_total", "counter", "Keys that were given a place.",
               status->counts.inserted);
    put_head(writer, "drossel_table_evicted_total", "counter",
             "Keys that made room for others: expired ones, with some of their quota used, at their limit, blocked.");
    put_kind(writer, "drossel_table_evicted_total", "state", "expired", status->counts.evicted_expired);
    put_kind(writer, "drossel_table_evicted_total", "state", "live", status->counts.evicted_live);
    put_kind(writer, "drossel_table_evicted_total", "state", "full", status->counts.evicted_full);
    put_kind(writer, "drossel_table_evicted_total", "state", "blocked", status->counts.evicted_blocked);
    put_single(writer, "drossel_table_taken_over_total", "counter", "Keys taken over from processes that died.",
               status->counts.taken_over);
    put_single(writer, "drossel_table_lost", "gauge", "1: the table's file was cut off, and this worker counts alone.",
               status->is_lost);
}

/* ---- times ---- */

static void put_seconds(struct http_writer *writer, uint64_t ns)
{
    char digits[9];
    uint64_t part = ns % NS_PER_S;
    for (unsigned i = sizeof digits; i-- > 0; part /= 10)
        digits[i] = (char)('0' + part % 10);
    http_put_number(writer, ns / NS_PER_S);
    http_put_string(writer, ".");
    http_put(writer, digits, sizeof digits);
}

static void put_bucket(struct http_writer *writer, uint64_t under_ns, uint64_t count)
{
    http_put_string(writer, "drossel_decision_seconds_bucket{le=\"");
    if (under_ns == 0)
        http_put_string(writer, "+Inf");
    else
        put_seconds(writer, under_ns);
    http_put_string(writer, "\"}");
    put_value(writer, count);
}

static void put_times(const struct status *status, struct http_writer *writer)
{
    uint64_t count = 0;
    put_head(writer, "drossel_decision_seconds", "histogram",
             "How long nginx waited for a decision, of one in eight, a request's body not included.");
    for (unsigned i = 0; i < TABLE_TIMES; i++) {
        count += status->times[i];
        if (i >= TIMES_FIRST && i <= TIMES_LAST)
            put_bucket(writer, UINT64_C(2) << i, count);
    }
    put_bucket(writer, 0, count);
    http_put_string(writer, "drossel_decision_seconds_sum ");
    put_seconds(writer, status->times_sum_ns);
    http_put_string(writer, "\ndrossel_decision_seconds_count");
    put_value(writer, count);
}

void status_prometheus(const struct status *status, struct http_writer *writer)
{
    put_head(writer, "drossel_build_info", "gauge", "The version.");
    put_kind(writer, "drossel_build_info", "version", DROSSEL_VERSION, 1);
    put_single(writer, "drossel_policy_loaded_timestamp_seconds", "gauge", "When the policy was read.",
               status->from.loaded_unix_s);
    put_single(writer, "drossel_policy_warnings", "gauge", "Warnings about the policy.", status->from.warnings);
    put_limits(status, writer);
    put_requests(status, writer);
    put_single(writer, "drossel_store_errors_total", "counter",
               "Requests that this nginx could not judge, or judged without the others' counts.",
               status->from.store_errors);
    put_table(status, writer);
    put_times(status, writer);
}
