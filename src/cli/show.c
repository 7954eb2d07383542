/*
 * drossel show: the live table, closest to its limit first.
 */
#include "cli/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/live.h"

#define ROWS_DEFAULT 24
#define ROWS_KEPT 4 /* of the terminal: the two head lines, the last line, the prompt */
#define KEY_WIDTH 40
#define STRIKES 127 /* of engine_state.strikes; the top bit tells a block by hand */

struct show_values {
    struct live_place place;
    bool json, all, all_limits;
};

static const struct cli_option options[] = {
    LIVE_OPTIONS(show_values, place),
    { "json", CLI_FLAG, offsetof(struct show_values, json), NULL, "print one JSON object" },
    { "all", CLI_FLAG, offsetof(struct show_values, all), NULL, "every key, not only what fits the terminal" },
    { "all-limits", CLI_FLAG, offsetof(struct show_values, all_limits), NULL,
      "with the table's own: `open` outcomes and each `ticket` of one" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* What is sorted; the entry itself is read again when its turn comes. */
struct ranked {
    uint32_t worth;
    uint64_t slot;
};

struct view {
    struct table *table;
    const char *limit; /* NULL: all */
    bool all_limits;   /* the table's own as well */
    uint64_t now_ns;
    struct ranked *key;
    size_t count, cap;
    uint64_t used; /* slots */
};

/* One key as it is shown. */
struct row {
    struct table_entry entry;
    struct engine_verdict verdict;
    uint64_t count;    /* what the limit allows at once */
    uint64_t block_ns; /* left of a block */
};

static bool is_wanted(const struct view *view, const struct table_entry *entry)
{
    if (entry->limit < LIVE_LIMIT_FIRST && entry->limit != TABLE_LIMIT_BAN && !view->all_limits)
        return false;
    if (view->limit == NULL)
        return true;
    if (entry->limit < LIVE_LIMIT_FIRST)
        return strcmp(view->limit, live_limit_name(view->table, entry->limit)) == 0;
    const struct table_limit *limit = table_limit_at(view->table, entry->limit);
    return limit != NULL && live_limit_is(limit, view->limit);
}

static bool add(struct view *view, uint32_t worth, uint64_t slot)
{
    if (view->count == view->cap) {
        size_t cap = view->cap > 0 ? view->cap * 2 : 1024;
        struct ranked *key = realloc(view->key, cap * sizeof *key);
        if (key == NULL)
            return false;
        view->key = key;
        view->cap = cap;
    }
    view->key[view->count++] = (struct ranked){ worth, slot };
    return true;
}

/* What is worth nothing has run out: shown no more, though the slot may still be taken. */
static bool collect(struct view *view)
{
    struct table_entry entry;
    for (uint64_t slot = 0; table_next(view->table, &slot, &entry); slot = entry.slot + 1) {
        const struct engine_limit *engine = table_engine_at(view->table, entry.limit);
        uint32_t worth = engine != NULL ? engine_worth(&entry.state, engine, view->now_ns) : 0;
        view->used++;
        if (worth > 0 && is_wanted(view, &entry) && !add(view, worth, entry.slot))
            return false;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->worth != b->worth)
        return a->worth > b->worth ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Reads a ranked key again; false if it is gone meanwhile. */
static bool read_row(const struct view *view, size_t index, struct row *row)
{
    uint64_t slot = view->key[index].slot;
    if (!table_next(view->table, &slot, &row->entry) || row->entry.slot != view->key[index].slot)
        return false;
    const struct engine_limit *engine = table_engine_at(view->table, row->entry.limit);
    if (engine == NULL)
        return false;
    engine_judge(&row->entry.state, engine, 1, view->now_ns, &row->verdict);
    row->count = engine->capacity;
    row->block_ns = row->entry.state.block_end_ns > view->now_ns ? row->entry.state.block_end_ns - view->now_ns : 0;
    /* judged as if one more came: what is shown is without it */
    row->verdict.used = engine_used(&row->entry.state, engine, view->now_ns);
    row->verdict.remaining += row->verdict.allowed;
    if (row->entry.name[0] == '\0')
        snprintf(row->entry.name, sizeof row->entry.name, "#%016llx", (unsigned long long)row->entry.tag);
    return true;
}

static void print_row(const struct view *view, const struct row *row)
{
    char wait[48] = "", counts[48] = "";
    bool ban = row->entry.limit == TABLE_LIMIT_BAN;
    if (!ban && row->block_ns == 0)
        snprintf(counts, sizeof counts, "%llu/%llu", (unsigned long long)row->verdict.used,
                 (unsigned long long)row->count);
    if (row->block_ns > 0)
        cli_wait_format(row->block_ns, wait, sizeof wait);
    else if (!row->verdict.allowed)
        cli_wait_format(row->verdict.wait_ns, wait, sizeof wait);
    printf("%-20s %-*s %12s %9llu  %-8s%-14s %u\n", live_limit_name(view->table, row->entry.limit), KEY_WIDTH,
           row->entry.name, counts, (unsigned long long)(row->block_ns > 0 ? 0 : row->verdict.remaining),
           row->block_ns > 0 ? "blocked"
           : *wait != '\0'   ? "wait"
                             : "",
           wait, row->entry.state.strikes & STRIKES);
}

static size_t rows_wanted(const struct show_values *values, size_t count)
{
    struct winsize size = { 0 };
    if (values->all || !isatty(STDOUT_FILENO))
        return count;
    size_t rows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : ROWS_DEFAULT;
    rows = rows > ROWS_KEPT ? rows - ROWS_KEPT : 1;
    return rows < count ? rows : count;
}

static void print_text(const struct view *view, const struct show_values *values)
{
    struct table_counts counts;
    struct row row;
    table_counts(view->table, &counts);
    printf("%s: %llu of %llu keys used; evicted: %llu expired, %llu live, %llu at their limit, %llu blocked\n",
           table_path(view->table), (unsigned long long)view->used, (unsigned long long)table_keys(view->table),
           (unsigned long long)counts.evicted_expired, (unsigned long long)counts.evicted_live,
           (unsigned long long)counts.evicted_full, (unsigned long long)counts.evicted_blocked);
    if (view->count == 0) {
        puts("nothing is counted at the moment");
        return;
    }
    printf("%-20s %-*s %12s %9s  %-22s %s\n", "limit", KEY_WIDTH, "key", "used", "remaining", "state", "strikes");
    size_t wanted = rows_wanted(values, view->count);
    for (size_t i = 0; i < wanted; i++)
        if (read_row(view, i, &row))
            print_row(view, &row);
    if (wanted < view->count)
        printf("and %zu more; --all shows them\n", view->count - wanted);
}

static json_t *seconds_json(uint64_t ns)
{
    return ns == ENGINE_NEVER ? json_null() : json_real((double)ns / 1e9);
}

static json_t *row_json(const struct view *view, const struct row *row)
{
    bool waits = row->block_ns == 0 && !row->verdict.allowed;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:i}", "limit",
                     live_limit_name(view->table, row->entry.limit), "key", row->entry.name, "used",
                     (json_int_t)row->verdict.used, "count", (json_int_t)row->count, "remaining",
                     (json_int_t)(row->block_ns > 0 ? 0 : row->verdict.remaining), "wait",
                     seconds_json(waits ? row->verdict.wait_ns : 0), "block", seconds_json(row->block_ns), "strikes",
                     (int)row->entry.state.strikes & STRIKES);
}

static bool print_json(const struct view *view)
{
    struct table_counts counts;
    struct row row;
    json_t *rows = json_array();
    table_counts(view->table, &counts);
    for (size_t i = 0; i < view->count; i++)
        if (read_row(view, i, &row))
            json_array_append_new(rows, row_json(view, &row));
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:o}", "table", table_path(view->table), "used",
                  (json_int_t)view->used, "keys", (json_int_t)table_keys(view->table), "evicted", "expired",
                  (json_int_t)counts.evicted_expired, "live", (json_int_t)counts.evicted_live, "full",
                  (json_int_t)counts.evicted_full, "blocked", (json_int_t)counts.evicted_blocked, "entries", rows);
    bool good = object != NULL && json_dumpf(object, stdout, JSON_INDENT(2)) == 0 && putchar('\n') == '\n';
    json_decref(object);
    if (!good)
        cli_complain("a key's name is no UTF-8, or there is no memory: show it without --json");
    return good;
}

static bool show(struct table *table, const struct show_values *values, const char *limit)
{
    struct view view = { .table = table, .limit = limit, .all_limits = values->all_limits, .now_ns = table_now(table) };
    const char *broken = table_validate(table, view.now_ns);
    if (broken != NULL)
        cli_complain("%s: not as it should be: %s; it is mended as its keys are used", table_path(table), broken);
    bool good = collect(&view);
    if (!good)
        cli_complain("no memory for %zu keys", view.count);
    if (good && view.count > 0)
        qsort(view.key, view.count, sizeof *view.key, compare);
    if (good && values->json)
        good = print_json(&view);
    else if (good)
        print_text(&view, values);
    free(view.key);
    return good;
}

/* Is it one of the table's own limits? */
static bool is_own(const struct table *table, const char *limit)
{
    for (uint32_t i = 0; i < LIVE_LIMIT_FIRST; i++)
        if (strcmp(limit, live_limit_name(table, i)) == 0)
            return true;
    return false;
}

static int run_show(int argc, char **argv)
{
    struct show_values values = { 0 };
    char **operand;
    int count, code;
    if (!cli_parse(&cli_show, argc, argv, &values, &operand, &count, &code))
        return code;
    struct table *table = live_open(&values.place);
    if (table == NULL)
        return CLI_FAILED;
    const char *limit = count > 0 ? operand[0] : NULL;
    bool known = limit == NULL || (values.all_limits && is_own(table, limit)) || live_has_limit(table, limit);
    bool good = known && show(table, &values, limit);
    table_close(table);
    return good ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_show = { "show",  "[LIMIT]", "the live table: keys closest to their limit first",
                                      options, 0,         1,
                                      run_show };
