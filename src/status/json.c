/* The status as one JSON object.  All texts of others are escaped; times are Unix seconds, durations seconds. */
#include "status/status.h"

#include <string.h>
#include <unistr.h>

#define NS_PER_S UINT64_C(1000000000)

/* What a limit counts apart from verdicts on requests. */
static const char *const tallies[TABLE_TALLIES] = { [TABLE_BY_BLOCK] = "by_block", [TABLE_BLOCKS] = "blocks" };

static const char *tally_name(unsigned tally)
{
    return tally < TABLE_VERDICTS ? drossel_verdict_name((enum drossel_verdict)tally) : tallies[tally];
}

/* `"name":`, after a comma unless it is the first in its object. */
static void put_name(struct http_writer *writer, const char *name)
{
    if (writer->size > 0 && writer->data[writer->size - 1] != '{')
        http_put_string(writer, ",");
    http_put_string(writer, "\"");
    http_put_string(writer, name);
    http_put_string(writer, "\":");
}

static void put_number(struct http_writer *writer, const char *name, uint64_t number)
{
    put_name(writer, name);
    http_put_number(writer, number);
}

static void put_bool(struct http_writer *writer, const char *name, bool is_so)
{
    put_name(writer, name);
    http_put_string(writer, is_so ? "true" : "false");
}

/* A path is any bytes: as it stands where it is UTF-8, else byte by byte. */
static void put_text(struct http_writer *writer, const char *name, const char *text)
{
    size_t size = strlen(text);
    bool is_utf8 = u8_check((const uint8_t *)text, size) == NULL;
    put_name(writer, name);
    http_put_string(writer, "\"");
    for (size_t at = 0, length; at < size; at += length) {
        length = is_utf8 ? (size_t)u8_mblen((const uint8_t *)text + at, size - at) : 1;
        if (length > 1)
            http_put(writer, text + at, length);
        else
            http_put_json(writer, (struct drossel_text){ text + at, 1 });
    }
    http_put_string(writer, "\"");
}

/* `seconds`, with as many digits of its fraction as there are. */
static void put_fraction(struct http_writer *writer, uint64_t seconds, uint64_t part, uint64_t whole)
{
    http_put_number(writer, seconds);
    if (part > 0)
        http_put_string(writer, ".");
    while (part > 0) {
        part *= 10;
        http_put_number(writer, part / whole);
        part %= whole;
    }
}

static void put_seconds(struct http_writer *writer, const char *name, uint64_t ns)
{
    put_name(writer, name);
    put_fraction(writer, ns / NS_PER_S, ns % NS_PER_S, NS_PER_S);
}

static void put_tallies(struct http_writer *writer, const char *name, const uint64_t count[TABLE_TALLIES])
{
    put_name(writer, name);
    http_put_string(writer, "{");
    for (unsigned i = 0; i < TABLE_TALLIES; i++)
        put_number(writer, tally_name(i), count[i]);
    http_put_string(writer, "}");
}

static const char *unit_of(const struct policy_limit *limit)
{
    if (limit->distinct == POLICY_DISTINCT_ACCOUNTS)
        return "accounts";
    if (limit->distinct == POLICY_DISTINCT_ADDRESSES)
        return "addresses";
    return limit->failures ? "failures" : "requests";
}

static void put_rate(const struct policy *policy, const struct status_rate *rate, struct http_writer *writer)
{
    static const char *const actions[] = { [POLICY_REFUSE] = "refuse",
                                           [POLICY_DROP] = "drop",
                                           [POLICY_DELAY] = "delay",
                                           [POLICY_CHALLENGE] = "challenge",
                                           [POLICY_MARK] = "mark" };
    const struct policy_limit *limit = &policy->limits[rate->rate->limit];
    const struct engine_spec *spec = &rate->rate->engine.spec;
    http_put_string(writer, "{");
    put_text(writer, "name", rate->rate->name);
    put_text(writer, "limit", limit->name);
    put_text(writer, "by", policy->subjects[limit->subject].text.data);
    put_number(writer, "count", spec->count);
    put_text(writer, "counts", unit_of(limit));
    put_seconds(writer, "window", spec->period_ns);
    put_seconds(writer, "block", spec->block_ns);
    put_text(writer, "action", actions[limit->action]);
    put_bool(writer, "dry_run", limit->dry_run);
    put_tallies(writer, "verdicts", rate->sum.count);
    put_tallies(writer, "dry_run_verdicts", rate->sum.dry_run);
    http_put_string(writer, "}");
}

static void put_limits(const struct status *status, struct http_writer *writer)
{
    put_name(writer, "limits");
    http_put_string(writer, "[");
    for (uint32_t i = 0; i < status->rate_count; i++) {
        http_put_string(writer, i > 0 ? "," : "");
        put_rate(status->from.policy, &status->rate[i], writer);
    }
    http_put_string(writer, "]");
}

static void put_policy(const struct status_source *from, struct http_writer *writer)
{
    put_name(writer, "policy");
    http_put_string(writer, "{");
    put_text(writer, "path", from->policy->path);
    put_number(writer, "loaded", from->loaded_unix_s);
    put_number(writer, "warnings", from->warnings);
    http_put_string(writer, "}");
}

static void put_table(const struct status *status, struct http_writer *writer)
{
    const struct table_fill *fill = &status->fill;
    put_name(writer, "table");
    http_put_string(writer, "{");
    put_text(writer, "path", table_path(status->from.table));
    put_bool(writer, "lost", status->is_lost);
    put_bool(writer, "counted", status->is_counted);
    put_number(writer, "slots", fill->slots);
    put_number(writer, "looked_at", fill->looked_at);
    put_number(writer, "used", table_fill_scale(fill, fill->used));
    put_number(writer, "live", table_fill_scale(fill, fill->live));
    put_number(writer, "full", table_fill_scale(fill, fill->full));
    put_number(writer, "blocked", table_fill_scale(fill, fill->blocked));
    put_number(writer, "inserted", status->counts.inserted);
    put_number(writer, "taken_over", status->counts.taken_over);
    put_name(writer, "evicted");
    http_put_string(writer, "{");
    put_number(writer, "expired", status->counts.evicted_expired);
    put_number(writer, "live", status->counts.evicted_live);
    put_number(writer, "full", status->counts.evicted_full);
    put_number(writer, "blocked", status->counts.evicted_blocked);
    http_put_string(writer, "}}");
}

static void put_decisions(const struct status *status, struct http_writer *writer)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < TABLE_TIMES; i++)
        count += status->times[i];
    put_name(writer, "decisions");
    http_put_string(writer, "{");
    put_number(writer, "count", count);
    put_seconds(writer, "seconds", status->times_sum_ns);
    put_name(writer, "buckets");
    http_put_string(writer, "[");
    for (unsigned i = 0; i < TABLE_TIMES; i++) {
        http_put_string(writer, i > 0 ? ",{" : "{");
        if (i + 1 < TABLE_TIMES)
            put_seconds(writer, "le", UINT64_C(2) << i);
        else
            http_put_string(writer, "\"le\":null");
        put_number(writer, "count", status->times[i]);
        http_put_string(writer, "}");
    }
    http_put_string(writer, "]}");
}

void status_json(const struct status *status, struct http_writer *writer)
{
    http_put_string(writer, "{");
    put_text(writer, "version", DROSSEL_VERSION);
    put_name(writer, "time");
    put_fraction(writer, status->from.unix_now_ms / 1000, status->from.unix_now_ms % 1000, 1000);
    put_policy(&status->from, writer);
    put_table(status, writer);
    put_number(writer, "store_errors", status->from.store_errors);
    put_decisions(status, writer);
    put_tallies(writer, "requests", status->requests.count);
    put_tallies(writer, "dry_run_requests", status->requests.dry_run);
    put_number(writer, "banned", status->bans.count[TABLE_REFUSED]);
    put_limits(status, writer);
    http_put_string(writer, "}\n");
}
