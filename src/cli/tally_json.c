/*
 * What a replay came to, as one JSON object.
 */
#include "cli/tally_parts.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 60

/* ---- the keys refused most ---- */

/* Labels only where all else is equal: most keys are never named. */
static int by_refused(void *context, const struct census_entry *left, const struct census_entry *right)
{
    int order = census_by_refused(left, right);
    char a[TALLY_LABEL], b[TALLY_LABEL];
    if (order != 0)
        return order;
    return strcmp(tally_label(context, (const struct tally_key *)(const void *)left, a),
                  tally_label(context, (const struct tally_key *)(const void *)right, b));
}

size_t tally_top(const struct tally *tally, const struct tally_limit *limit, const struct tally_key **top, size_t cap)
{
    struct tally copy = *tally; /* the order takes no const */
    return census_first(&limit->keys, (const struct census_entry **)(void *)top, cap, by_refused, &copy);
}

/* ---- JSON ---- */

/* Bytes that are no UTF-8 are shown as what they are in Latin-1: a line is shown, whatever it has. */
static json_t *text_json(const char *data, size_t size)
{
    json_t *text = json_stringn(data, size);
    if (text != NULL)
        return text;
    char *wide = malloc(2 * size + 1);
    size_t used = 0;
    if (wide == NULL)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)data[i];
        if (byte >= 0x80)
            wide[used++] = (char)(0xc0 | byte >> 6);
        wide[used++] = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
    }
    text = json_stringn(wide, used);
    free(wide);
    return text;
}

static json_t *time_json(const struct tally_time *time)
{
    char text[EVENT_TIME_TEXT];
    return json_loads(tally_time(time, text), JSON_DECODE_ANY, NULL);
}

static json_t *seconds_json(uint64_t ns)
{
    return ns % 1000000000 == 0 ? json_integer((json_int_t)(ns / 1000000000)) : json_real((double)ns / 1e9);
}

static json_t *key_json(const struct tally *tally, const struct tally_key *key)
{
    char label[TALLY_LABEL];
    const char *text = tally_label(tally, key, label);
    return json_pack("{s:o, s:I, s:I, s:I}", "key", text_json(text, strlen(text)), "requests",
                     (json_int_t)key->of.requests, "refused", (json_int_t)key->of.refused, "peak",
                     (json_int_t)key->of.peak);
}

static json_t *name_json(const struct tally *tally, const struct tally_key *key)
{
    char label[TALLY_LABEL];
    if (key == NULL)
        return json_null();
    const char *text = tally_label(tally, key, label);
    return text_json(text, strlen(text));
}

static json_t *top_json(const struct tally *tally, const struct tally_limit *limit, size_t most)
{
    json_t *list = json_array();
    size_t cap = most < limit->keys.count ? most : limit->keys.count;
    const struct tally_key **top = malloc((cap + 1) * sizeof *top);
    if (top == NULL)
        return list;
    size_t count = tally_top(tally, limit, top, cap);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, key_json(tally, top[i]));
    free(top);
    return list;
}

static json_t *examples_json(const struct tally *tally, const struct tally_limit *limit)
{
    json_t *list = json_array();
    for (size_t i = 0; i < limit->example_count; i++) {
        const struct tally_example *example = &limit->example[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:o, s:o, s:o}", "file", example->file, "line",
                                              (json_int_t)example->line, "t", time_json(&example->time), "key",
                                              name_json(tally, example->key), "text",
                                              text_json(example->text, example->text_size)));
    }
    return list;
}

static json_t *columns_json(const struct timeline *timeline, size_t row, uint64_t *step_ns)
{
    uint64_t column[COLUMNS];
    json_t *list = json_array();
    size_t count = timeline_columns(timeline, row, column, COLUMNS, step_ns);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer((json_int_t)column[i]));
    return list;
}

static json_t *timeline_json(const struct timeline *timeline, size_t row)
{
    uint64_t step_ns = 0;
    json_t *counts = columns_json(timeline, row, &step_ns);
    return json_pack("{s:o, s:o, s:o}", "start", seconds_json(timeline->start_ns), "step", seconds_json(step_ns),
                     "counts", counts);
}

static json_t *limit_json(const struct tally *tally, uint32_t index, size_t most)
{
    const struct tally_limit *limit = &tally->limit[index];
    const struct policy_limit *policy = &tally->policy->limits[index];
    size_t clients = limit->by_address ? limit->keys.count : limit->clients.count;
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "requests",
                  (json_int_t)limit->requests, "clients", (json_int_t)clients, "refused", (json_int_t)limit->refused,
                  "clients_refused", (json_int_t)limit->clients_refused, "held", (json_int_t)limit->held, "delayed",
                  (json_int_t)limit->delayed, "challenged", (json_int_t)limit->challenged, "marked",
                  (json_int_t)limit->marked, "blocked", (json_int_t)limit->blocked, "peak", (json_int_t)limit->peak,
                  "dry_run", policy->dry_run, "top", top_json(tally, limit, most));
    json_t *more = json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "keys", (json_int_t)limit->keys.count,
                             "refused_signed_in", (json_int_t)limit->signed_in, "refused_successful",
                             (json_int_t)limit->successful, "first_refused", time_json(&limit->first), "last_refused",
                             time_json(&limit->last), "longest_lockout", seconds_json(limit->lockout_ns),
                             "longest_lockout_key", name_json(tally, limit->lockout_key), "timeline",
                             timeline_json(&tally->timeline, 1 + index), "examples", examples_json(tally, limit));
    if (object != NULL && more != NULL)
        json_object_update_missing_new(object, more);
    else
        json_decref(more);
    return object;
}

static json_t *input_json(const struct tally_input *input)
{
    json_t *bad = json_array();
    for (size_t i = 0; i < input->bad_count; i++)
        json_array_append_new(bad, text_json(input->bad[i], strlen(input->bad[i])));
    return json_pack("{s:s, s:b, s:o, s:o}", "format", input->format != NULL ? input->format : "events", "partial",
                     input->is_partial, "resolution", seconds_json(input->resolution_ns), "unparsed_examples", bad);
}

json_t *tally_json(const struct tally *tally, const struct tally_input *input)
{
    json_t *limits = json_object();
    for (uint32_t i = 0; i < tally->policy->limit_count; i++)
        json_object_set_new(limits, tally->policy->limits[i].name, limit_json(tally, i, input->top));
    json_t *object = json_pack(
        "{s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:O, s:o}", "requests", (json_int_t)tally->requests, "unparsed",
        (json_int_t)input->unparsed, "first", time_json(&tally->first), "last", time_json(&tally->last), "clients",
        (json_int_t)tally->watch.clients.count, "held", (json_int_t)tally->held, "exempt", (json_int_t)tally->exempt,
        "banned", (json_int_t)tally->banned, "warnings", tally->warnings, "limits", limits);
    json_t *more = input_json(input);
    json_t *timeline = timeline_json(&tally->timeline, 0);
    if (object == NULL || more == NULL)
        return object;
    json_object_update_missing_new(object, more);
    json_object_set_new(object, "timeline", timeline);
    return object;
}
