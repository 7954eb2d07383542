/* What `drossel top` knows: rates, history, and the keys closest to their limit. */
#include "cli/top_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live.h"

const char *const top_order_names[TOP_ORDERS] = { "closest to its limit", "used", "wait", "stopped",
                                                  "last stopped",         "name" };

struct top_model *top_model_open(struct table *table)
{
    struct top_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return NULL;
    model->table = table;
    model->limits = live_limits_open(table);
    model->past = calloc(1, sizeof *model->past);
    model->rate = calloc(TABLE_LIMITS_MAX, sizeof *model->rate);
    if (model->limits == NULL || model->past == NULL || model->rate == NULL) {
        top_model_close(model);
        return NULL;
    }
    return model;
}

void top_model_close(struct top_model *model)
{
    if (model == NULL)
        return;
    live_limits_close(model->limits);
    free(model->past);
    free(model->rate);
    free(model);
}

/* ---- rates ---- */

static void sample_one(struct top_rate *rate, uint64_t passed, uint64_t stopped, double seconds)
{
    if (seconds > 0) {
        /* Sums only grow; where they do not, the table was cut off. */
        rate->passed = passed >= rate->all_passed ? (double)(passed - rate->all_passed) / seconds : 0;
        rate->stopped = stopped >= rate->all_stopped ? (double)(stopped - rate->all_stopped) / seconds : 0;
        memmove(rate->history, rate->history + 1, sizeof rate->history - sizeof rate->history[0]);
        memmove(rate->history_stopped, rate->history_stopped + 1,
                sizeof rate->history_stopped - sizeof rate->history_stopped[0]);
        rate->history[TOP_HISTORY - 1] = (float)(rate->passed + rate->stopped);
        rate->history_stopped[TOP_HISTORY - 1] = (float)rate->stopped;
    }
    rate->all_passed = passed;
    rate->all_stopped = stopped;
}

void top_model_sample(struct top_model *model, uint64_t now_ns)
{
    uint64_t all_passed = 0, all_stopped = 0;
    if (model->sampled_ns > 0 && (now_ns <= model->sampled_ns || now_ns - model->sampled_ns < TOP_SAMPLE_LEAST_NS))
        return;
    double seconds = model->sampled_ns > 0 ? (double)(now_ns - model->sampled_ns) / 1e9 : 0;
    uint32_t known = model->limits->count;
    live_limits_read(model->limits);
    live_past_read(model->table, model->past);
    for (uint32_t i = 0; i < model->limits->count; i++) {
        const struct table_limit_stats *sum = &model->limits->limit[i].sum;
        uint64_t passed = sum->count[TABLE_PASSED] + sum->dry_run[TABLE_PASSED];
        uint64_t stopped = live_stopped(sum->count) + live_stopped(sum->dry_run);
        all_passed += passed;
        all_stopped += stopped;
        /* what a limit has done before it was first seen did not happen in this second, if this is the first one */
        sample_one(&model->rate[i], passed, stopped, i < known || model->sampled_ns > 0 ? seconds : 0);
    }
    sample_one(&model->total, all_passed, all_stopped, seconds);
    model->samples += model->sampled_ns > 0 && model->samples < TOP_HISTORY;
    model->sampled_ns = now_ns;
}

/* ---- the passes ---- */

static void sift_down(struct top_ranked *heap, uint32_t count, uint32_t at)
{
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].worth < heap[child].worth)
            child++;
        if (heap[at].worth <= heap[child].worth)
            return;
        struct top_ranked lesser = heap[child];
        heap[child] = heap[at];
        heap[at] = lesser;
    }
}

static void sift_up(struct top_ranked *heap, uint32_t at)
{
    for (uint32_t parent; at > 0 && heap[parent = (at - 1) / 2].worth > heap[at].worth; at = parent) {
        struct top_ranked greater = heap[parent];
        heap[parent] = heap[at];
        heap[at] = greater;
    }
}

static void keep(struct top_model *model, struct top_ranked ranked)
{
    if (model->heap_count < TOP_KEYS) {
        model->heap[model->heap_count] = ranked;
        sift_up(model->heap, model->heap_count++);
    } else if (ranked.worth > model->heap[0].worth) {
        model->heap[0] = ranked;
        sift_down(model->heap, TOP_KEYS, 0);
    }
}

static bool is_shown(const struct top_model *model, const struct table_entry *entry)
{
    if (entry->limit < LIVE_LIMIT_FIRST && entry->limit != TABLE_LIMIT_BAN)
        return false;
    return model->filter[0] == '\0' || strcasestr(entry->name, model->filter) != NULL ||
           strcasestr(live_limit_name(model->table, entry->limit), model->filter) != NULL;
}

static void name_format(struct table_entry *entry)
{
    live_name_clean(entry->name);
    if (entry->name[0] == '\0')
        snprintf(entry->name, sizeof entry->name, "#%016llx", (unsigned long long)entry->tag);
}

static void look_at(struct top_model *model, struct table_entry *entry, uint64_t now_ns)
{
    uint32_t worth = live_key_worth(model->table, entry, now_ns);
    struct top_ranked ranked = { worth, entry->slot, entry->tag };
    model->scan_used++;
    if (worth == 0)
        return;
    bool needs_name = model->filter[0] != '\0' || model->focus[0] != '\0';
    if (needs_name)
        name_format(entry);
    if (is_shown(model, entry))
        keep(model, ranked);
    if (model->focus[0] != '\0' && model->focus_heap_count < TOP_FOCUS && strcmp(entry->name, model->focus) == 0 &&
        (entry->limit >= LIVE_LIMIT_FIRST || entry->limit == TABLE_LIMIT_BAN))
        model->focus_heap[model->focus_heap_count++] = ranked;
}

static void begin_pass(struct top_model *model)
{
    model->scan_at = model->scan_used = 0;
    model->heap_count = model->focus_heap_count = 0;
}

static void end_pass(struct top_model *model, uint64_t now_ns)
{
    memcpy(model->chosen, model->heap, model->heap_count * sizeof model->heap[0]);
    memcpy(model->focused, model->focus_heap, model->focus_heap_count * sizeof model->focus_heap[0]);
    model->chosen_count = model->heap_count;
    model->focused_count = model->focus_heap_count;
    model->used = model->scan_used;
    model->scanned_ns = now_ns;
    begin_pass(model);
}

bool top_model_scan(struct top_model *model, uint64_t slots, uint64_t now_ns)
{
    struct table_entry entry;
    uint64_t end = model->scan_at + slots;
    while (model->scan_at < end) {
        uint64_t at = model->scan_at;
        if (!table_next_before(model->table, &at, end, &entry)) {
            model->scan_at = at;
            break;
        }
        model->scan_at = at;
        look_at(model, &entry, now_ns);
    }
    if (model->scan_at < table_keys(model->table) + TABLE_NEIGHBOURS - 1)
        return false;
    end_pass(model, now_ns);
    return true;
}

double top_model_progress(const struct top_model *model)
{
    return (double)model->scan_at / (double)(table_keys(model->table) + TABLE_NEIGHBOURS - 1);
}

/* ---- what is shown ---- */

static bool read_key(struct top_model *model, const struct top_ranked *ranked, uint64_t now_ns, struct top_key *key)
{
    if (!live_key_read(model->table, ranked->slot, ranked->tag, now_ns, &key->live))
        return false;
    key->worth = live_key_worth(model->table, &key->live.entry, now_ns);
    if (key->worth == 0)
        return false;
    const struct live_limit *limit = live_limits_at(model->limits, key->live.entry.limit);
    key->is_dry_run = limit != NULL && limit->sum.is_dry_run;
    struct live_stops stops = live_past_find(model->past, model->limits, &key->live.entry, key->is_dry_run);
    key->stopped = stops.count;
    key->last_ns = stops.last_ns;
    return true;
}

static uint64_t wait_of(const struct top_key *key)
{
    return key->live.block_ns > 0 ? key->live.block_ns : key->live.wait_ns;
}

static uint64_t share_of(const struct top_key *key)
{
    return key->live.count > 0 ? key->live.used * 1000000 / key->live.count : UINT64_MAX;
}

/* What the order goes by; the greater comes first. */
static uint64_t measure(const struct top_key *key, enum top_order order)
{
    switch (order) {
    case TOP_USED:
        return share_of(key);
    case TOP_WAIT:
        return wait_of(key);
    case TOP_STOPPED:
        return key->stopped;
    case TOP_LATEST:
        return key->last_ns;
    case TOP_CLOSEST:
    case TOP_NAME:
    case TOP_ORDERS:
        break;
    }
    return key->worth;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct top_key *a = left, *b = right;
    enum top_order order = *(const enum top_order *)context;
    int by_name = strcmp(a->live.entry.name, b->live.entry.name);
    if (order == TOP_NAME && by_name != 0)
        return by_name;
    uint64_t measure_a = measure(a, order), measure_b = measure(b, order);
    if (measure_a != measure_b)
        return measure_a > measure_b ? -1 : 1;
    if (a->worth != b->worth)
        return a->worth > b->worth ? -1 : 1;
    return a->live.entry.slot < b->live.entry.slot ? -1 : a->live.entry.slot > b->live.entry.slot;
}

void top_model_arrange(struct top_model *model, uint64_t now_ns)
{
    bool is_first = model->scanned_ns == 0;
    const struct top_ranked *ranked = is_first ? model->heap : model->chosen;
    uint32_t count = is_first ? model->heap_count : model->chosen_count;
    model->key_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct top_key *key = &model->key[model->key_count];
        if (read_key(model, &ranked[i], now_ns, key) && is_shown(model, &key->live.entry))
            model->key_count++;
    }
    qsort_r(model->key, model->key_count, sizeof model->key[0], compare, &model->order);
}

void top_model_filter(struct top_model *model, const char *filter)
{
    if (strcmp(model->filter, filter) == 0)
        return;
    snprintf(model->filter, sizeof model->filter, "%s", filter);
    begin_pass(model);
}

void top_model_focus(struct top_model *model, const char *name)
{
    snprintf(model->focus, sizeof model->focus, "%s", name);
    model->focused_count = 0;
    if (name[0] == '\0')
        return;
    for (uint32_t i = 0; i < model->key_count && model->focused_count < TOP_FOCUS; i++) /* what is known already */
        if (strcmp(model->key[i].live.entry.name, name) == 0)
            model->focused[model->focused_count++] =
                (struct top_ranked){ model->key[i].worth, model->key[i].live.entry.slot, model->key[i].live.entry.tag };
    begin_pass(model);
}

uint32_t top_model_focused(struct top_model *model, uint64_t now_ns, struct top_key key[TOP_FOCUS])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->focused_count; i++)
        count += read_key(model, &model->focused[i], now_ns, &key[count]);
    enum top_order order = TOP_CLOSEST;
    qsort_r(key, count, sizeof key[0], compare, &order);
    return count;
}
