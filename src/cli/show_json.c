/* drossel show --json: everything that the table tells, for machines. */
#include "cli/show.h"

#include <stdio.h>

#include "cli/cli.h"

static json_t *seconds_json(uint64_t ns)
{
    return ns == ENGINE_NEVER ? json_null() : json_real((double)ns / 1e9);
}

static json_t *count_json(uint64_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *when_json(const struct show_view *view, uint64_t then_ns)
{
    return then_ns > 0 ? json_real(live_when_unix(then_ns, view->now_ns)) : json_null();
}

static json_t *key_json(const struct show_view *view, const struct live_key *key)
{
    const struct live_limit *limit = live_limits_at(view->limits, key->entry.limit);
    bool is_dry_run = limit != NULL && limit->sum.is_dry_run;
    struct live_stops stops = live_past_find(view->past, view->limits, &key->entry, is_dry_run);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:o, s:o, s:o}", "limit",
                     live_limit_name(view->table, key->entry.limit), "key", key->entry.name, "used",
                     count_json(key->used), "count", count_json(key->count), "remaining", count_json(key->remaining),
                     "wait", seconds_json(key->block_ns == 0 ? key->wait_ns : 0), "block", seconds_json(key->block_ns),
                     "strikes", (int)key->entry.state.strikes & LIVE_STRIKES, "dry_run", is_dry_run, "stopped",
                     count_json(stops.count), "first_stopped", when_json(view, stops.first_ns), "last_stopped",
                     when_json(view, stops.last_ns));
}

static json_t *keys_json(const struct show_view *view)
{
    struct live_key key;
    json_t *keys = json_array();
    for (size_t i = 0; i < view->count; i++)
        if (live_key_read(view->table, view->key[i].slot, 0, view->now_ns, &key))
            json_array_append_new(keys, key_json(view, &key));
    return keys;
}

static json_t *verdicts_json(const uint64_t *count, unsigned tallies)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < tallies; i++)
        json_object_set_new(object, live_verdict_names[i], count_json(count[i]));
    return object;
}

static json_t *limit_json(const struct show_view *view, const struct live_limit *limit)
{
    double passed, stopped;
    char rate[80];
    const struct table_limit *of = limit->limit;
    live_rate_format(of, rate, sizeof rate);
    json_t *object = json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "limit", limit->name, "rate", rate, "by",
                               of != NULL ? of->subject : "address", "dry_run", limit->sum.is_dry_run, "verdicts",
                               verdicts_json(limit->sum.count, TABLE_TALLIES), "dry_run_verdicts",
                               verdicts_json(limit->sum.dry_run, TABLE_TALLIES));
    if (object != NULL && of != NULL) {
        json_object_set_new(object, "count", count_json(of->spec.count));
        json_object_set_new(object, "window", seconds_json(of->spec.period_ns));
    }
    if (object != NULL && show_rate(view, limit, &passed, &stopped)) {
        json_object_set_new(object, "passed_per_second", json_real(passed));
        json_object_set_new(object, "stopped_per_second", json_real(stopped));
    }
    return object;
}

static json_t *limits_json(const struct show_view *view)
{
    json_t *limits = json_array();
    for (uint32_t i = 0; i < view->limits->count; i++)
        json_array_append_new(limits, limit_json(view, &view->limits->limit[i]));
    return limits;
}

/* Those of dry runs, or all. */
static json_t *offenders_json(const struct show_view *view, bool dry_run_only)
{
    json_t *offenders = json_array();
    for (size_t i = 0; i < view->past->count; i++) {
        const struct table_offender *offender = &view->past->offender[i];
        if ((dry_run_only && !offender->is_dry_run) || !show_is_wanted(view, offender->limit))
            continue;
        json_array_append_new(offenders, json_pack("{s:s, s:s, s:b, s:o, s:f, s:f}", "limit",
                                                   live_limit_name(view->table, offender->limit), "key", offender->name,
                                                   "dry_run", offender->is_dry_run, "verdicts",
                                                   verdicts_json(offender->count, TABLE_VERDICTS), "first",
                                                   live_when_unix(offender->first_ns, view->now_ns), "last",
                                                   live_when_unix(offender->last_ns, view->now_ns)));
    }
    return offenders;
}

static json_t *times_json(const struct show_view *view)
{
    uint64_t times[TABLE_TIMES];
    json_t *array = json_array();
    table_stats_times(view->table, times);
    for (unsigned i = 0; i < TABLE_TIMES; i++)
        if (times[i] > 0)
            json_array_append_new(
                array, json_pack("{s:I, s:I}", "below_ns", (json_int_t)1 << (i + 1), "count", (json_int_t)times[i]));
    return array;
}

static json_t *whole_json(const struct show_view *view)
{
    struct table_counts counts;
    table_counts(view->table, &counts);
    return json_pack("{s:s, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:f, s:o, s:o, s:o, s:o}", "table",
                     table_path(view->table), "used", (json_int_t)view->used, "keys",
                     (json_int_t)table_keys(view->table), "evicted", "expired", (json_int_t)counts.evicted_expired,
                     "live", (json_int_t)counts.evicted_live, "full", (json_int_t)counts.evicted_full, "blocked",
                     (json_int_t)counts.evicted_blocked, "time", live_when_unix(view->now_ns, view->now_ns), "limits",
                     limits_json(view), "offenders", offenders_json(view, false), "decision_times", times_json(view),
                     "entries", keys_json(view));
}

bool show_print_json(const struct show_view *view, bool dry_run, bool compact)
{
    json_t *object =
        dry_run ? json_pack("{s:s, s:o}", "table", table_path(view->table), "dry_run", offenders_json(view, true))
                : whole_json(view);
    bool good = object != NULL &&
                json_dumpf(object, stdout, JSON_ENSURE_ASCII | (compact ? JSON_COMPACT : JSON_INDENT(2))) == 0 &&
                putchar('\n') == '\n';
    json_decref(object);
    if (!good && ferror(stdout))
        return true; /* whoever closes or flushes it says so */
    if (!good)
        cli_complain("a key's name is no UTF-8, or there is no memory: show it without --json");
    return good;
}
