/*
 * drossel show: the live table, closest to its limit first; once, or again and again.
 */
#include "cli/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define ROWS_DEFAULT 24
#define ROWS_KEPT 5 /* of the terminal: the three head lines, the last line, the prompt */
#define KEY_WIDTH 40
#define NAME_LEAST 20   /* columns of the limits' names; the longest one decides */
#define BESIDE_NAME 130 /* columns of a row beside them */
#define WATCH_DEFAULT "2"
#define WATCH_LEAST_S 0.1
#define WATCH_MOST_S 86400.0
#define HOME_AND_CLEAR "\033[H\033[2J"

struct show_values {
    struct live_place place;
    bool json, all, all_limits, limits, dry_run;
    const char *watch; /* seconds; "": the default; NULL: once */
};

static const struct cli_option options[] = {
    LIVE_OPTIONS(show_values, place),
    { "json", CLI_FLAG, offsetof(struct show_values, json), NULL, "print one JSON object; with --watch one a line" },
    { "all", CLI_FLAG, offsetof(struct show_values, all), NULL, "every key, not only what fits the terminal" },
    { "all-limits", CLI_FLAG, offsetof(struct show_values, all_limits), NULL,
      "with the table's own: `open` outcomes and each `ticket` of one" },
    { "limits", CLI_FLAG, offsetof(struct show_values, limits), NULL,
      "each limit with the verdicts it gave, instead of the keys" },
    { "dry-run", CLI_FLAG, offsetof(struct show_values, dry_run), NULL,
      "who would have been refused by limits in dry run, how often and when" },
    { "watch", CLI_NUMBER, offsetof(struct show_values, watch), "[SECONDS]",
      "again every so many seconds (default: " WATCH_DEFAULT ")" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* ---- looking ---- */

bool show_is_wanted(const struct show_view *view, uint16_t limit)
{
    if (limit < LIVE_LIMIT_FIRST && limit != TABLE_LIMIT_BAN && !view->all_limits)
        return false;
    if (view->limit == NULL)
        return true;
    if (limit < LIVE_LIMIT_FIRST)
        return strcmp(view->limit, live_limit_name(view->table, limit)) == 0;
    const struct table_limit *of = table_limit_at(view->table, limit);
    return of != NULL && live_limit_is(of, view->limit);
}

static bool add(struct show_view *view, uint32_t worth, uint64_t slot)
{
    if (view->count == view->cap) {
        size_t cap = view->cap > 0 ? view->cap * 2 : 1024;
        struct show_ranked *key = realloc(view->key, cap * sizeof *key);
        if (key == NULL)
            return false;
        view->key = key;
        view->cap = cap;
    }
    view->key[view->count++] = (struct show_ranked){ worth, slot };
    return true;
}

/* What is worth nothing has run out: shown no more, though the slot may still be taken. */
static bool collect(struct show_view *view)
{
    struct table_entry entry;
    for (uint64_t slot = 0; table_next(view->table, &slot, &entry); slot = entry.slot + 1) {
        uint32_t worth = live_key_worth(view->table, &entry, view->now_ns);
        view->used++;
        if (worth > 0 && show_is_wanted(view, entry.limit) && !add(view, worth, entry.slot))
            return false;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct show_ranked *a = left, *b = right;
    if (a->worth != b->worth)
        return a->worth > b->worth ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* ---- text ---- */

static void print_sums(const char *title, const uint64_t sum[TABLE_VERDICTS], unsigned first)
{
    printf("%s", title);
    for (unsigned i = first; i < TABLE_VERDICTS; i++)
        printf("%s %llu %s", i > first ? "," : "", (unsigned long long)sum[i], live_verdict_names[i]);
}

/* What the limits said in all. */
static void print_verdicts(const struct show_view *view)
{
    uint64_t sum[TABLE_VERDICTS] = { 0 }, dry_run[TABLE_VERDICTS] = { 0 };
    if (!table_has_stats(view->table)) {
        puts("verdicts: not counted in this table");
        return;
    }
    for (uint32_t i = 0; i < view->limits->count; i++)
        for (unsigned k = 0; k < TABLE_VERDICTS; k++) {
            sum[k] += view->limits->limit[i].sum.count[k];
            dry_run[k] += view->limits->limit[i].sum.dry_run[k];
        }
    print_sums("verdicts of all limits:", sum, TABLE_PASSED);
    if (live_stopped(dry_run) > 0)
        print_sums("; in dry run:", dry_run, TABLE_MARKED);
    putchar('\n');
}

static void print_state(const struct live_key *key, bool is_dry_run, char *out, size_t cap)
{
    char wait[48];
    if (key->block_ns > 0)
        snprintf(out, cap, "%s %s", is_dry_run ? "dry run" : "blocked",
                 cli_wait_format(key->block_ns, wait, sizeof wait));
    else if (!key->allowed)
        snprintf(out, cap, "%s %s", is_dry_run ? "dry run" : "wait   ",
                 cli_wait_format(key->wait_ns, wait, sizeof wait));
    else
        snprintf(out, cap, "%s", is_dry_run ? "dry run" : "");
}

static void print_key(const struct show_view *view, const struct live_key *key)
{
    char state[64], counts[48] = "", last[64] = "";
    const struct live_limit *limit = live_limits_at(view->limits, key->entry.limit);
    bool is_dry_run = limit != NULL && limit->sum.is_dry_run;
    struct live_stops stops = live_past_find(view->past, view->limits, &key->entry, is_dry_run);
    if (key->entry.limit != TABLE_LIMIT_BAN && key->block_ns == 0)
        snprintf(counts, sizeof counts, "%llu/%llu", (unsigned long long)key->used, (unsigned long long)key->count);
    print_state(key, is_dry_run, state, sizeof state);
    if (stops.count > 0)
        live_ago_format(stops.last_ns, view->now_ns, last, sizeof last);
    printf("%-*s %-*s %12s %9llu  %-22s %7u %9llu%s%s\n", view->name_width,
           live_limit_name(view->table, key->entry.limit), KEY_WIDTH, key->entry.name, counts,
           (unsigned long long)key->remaining, state, key->entry.state.strikes & LIVE_STRIKES,
           (unsigned long long)stops.count, *last != '\0' ? "  " : "", last);
}

size_t show_rows(bool all, size_t kept, size_t count, int width)
{
    struct winsize size = { 0 };
    if (all || !isatty(STDOUT_FILENO))
        return count;
    size_t rows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : ROWS_DEFAULT;
    size_t lines = size.ws_col > 0 ? ((size_t)width + size.ws_col - 1) / size.ws_col : 1; /* of one row */
    rows = rows / lines > kept ? rows / lines - kept : 1;
    return rows < count ? rows : count;
}

static void print_keys(const struct show_view *view, bool all)
{
    struct live_key key;
    if (view->count == 0) {
        puts("nothing is counted at the moment");
        return;
    }
    printf("%-*s %-*s %12s %9s  %-22s %s %9s  %s\n", view->name_width, "limit", KEY_WIDTH, "key", "used", "remaining",
           "state", "strikes", "stopped", "last");
    size_t wanted = show_rows(all, ROWS_KEPT, view->count, view->name_width + BESIDE_NAME);
    for (size_t i = 0; i < wanted; i++)
        if (live_key_read(view->table, view->key[i].slot, 0, view->now_ns, &key))
            print_key(view, &key);
    if (wanted < view->count)
        printf("and %zu more; --all shows them\n", view->count - wanted);
}

static void print_text(const struct show_view *view, const struct show_values *values)
{
    struct table_counts counts;
    table_counts(view->table, &counts);
    if (values->dry_run) {
        show_print_dry_run(view, values->all);
        return;
    }
    printf("%s: %llu of %llu keys used; evicted: %llu expired, %llu live, %llu at their limit, %llu blocked\n",
           table_path(view->table), (unsigned long long)view->used, (unsigned long long)table_keys(view->table),
           (unsigned long long)counts.evicted_expired, (unsigned long long)counts.evicted_live,
           (unsigned long long)counts.evicted_full, (unsigned long long)counts.evicted_blocked);
    print_verdicts(view);
    if (values->limits)
        show_print_limits(view);
    else
        print_keys(view, values->all);
}

/* ---- once, or again and again ---- */

static int name_width(const struct live_limits *limits)
{
    size_t width = NAME_LEAST;
    for (uint32_t i = 0; i < limits->count; i++) {
        size_t size = strlen(limits->limit[i].name);
        width = size > width ? size : width;
    }
    return (int)width;
}

static bool look(struct show_view *view, const struct show_values *values)
{
    view->now_ns = table_now(view->table);
    view->count = 0;
    view->used = 0;
    live_limits_read(view->limits);
    view->name_width = name_width(view->limits);
    live_past_read(view->table, view->past);
    if (!collect(view)) {
        cli_complain("no memory for %zu keys", view->count);
        return false;
    }
    if (view->count > 0)
        qsort(view->key, view->count, sizeof *view->key, compare);
    if (values->json)
        return show_print_json(view, values->dry_run, values->watch != NULL);
    print_text(view, values);
    return true;
}

bool show_rate(const struct show_view *view, const struct live_limit *limit, double *passed, double *stopped)
{
    size_t at = (size_t)(limit - view->limits->limit);
    if (view->since_ns == 0 || view->now_ns <= view->since_ns)
        return false;
    double seconds = (double)(view->now_ns - view->since_ns) / 1e9;
    *passed = (double)(limit->sum.count[TABLE_PASSED] + limit->sum.dry_run[TABLE_PASSED] - view->passed[at]) / seconds;
    *stopped =
        (double)(live_stopped(limit->sum.count) + live_stopped(limit->sum.dry_run) - view->stopped[at]) / seconds;
    return true;
}

static void keep_for_rates(struct show_view *view)
{
    view->since_ns = view->now_ns;
    for (uint32_t i = 0; i < view->limits->count; i++) {
        const struct table_limit_stats *sum = &view->limits->limit[i].sum;
        view->passed[i] = sum->count[TABLE_PASSED] + sum->dry_run[TABLE_PASSED];
        view->stopped[i] = live_stopped(sum->count) + live_stopped(sum->dry_run);
    }
}

static void sleep_for(double seconds)
{
    struct timespec time = { .tv_sec = (time_t)seconds };
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        continue;
}

static bool watch(struct show_view *view, const struct show_values *values, double seconds)
{
    bool clears = !values->json && isatty(STDOUT_FILENO);
    struct live_file file = live_file_of(view->table);
    for (;;) {
        if (clears)
            fputs(HOME_AND_CLEAR, stdout);
        if (!look(view, values))
            return false;
        if (!values->json && !clears)
            putchar('\n');
        if (fflush(stdout) != 0 || ferror(stdout)) {
            if (errno != EPIPE) /* which means that nobody reads any more */
                cli_complain("standard output: could not be written: %s", strerror(errno));
            return false;
        }
        keep_for_rates(view);
        sleep_for(seconds);
        if (table_is_lost(view->table) || !live_is_in_place(view->table, file)) {
            cli_complain("%s: was removed, replaced or cut off while it was watched; start again",
                         table_path(view->table));
            return false;
        }
    }
}

static bool show(struct show_view *view, const struct show_values *values, double seconds)
{
    const char *broken = table_validate(view->table, table_now(view->table));
    if (broken != NULL)
        cli_complain("%s: not as it should be: %s; it is mended as its keys are used", table_path(view->table), broken);
    view->limits = live_limits_open(view->table);
    view->past = malloc(sizeof *view->past);
    view->passed = calloc(TABLE_LIMITS_MAX, sizeof *view->passed);
    view->stopped = calloc(TABLE_LIMITS_MAX, sizeof *view->stopped);
    bool good = view->limits != NULL && view->past != NULL && view->passed != NULL && view->stopped != NULL;
    if (!good)
        cli_complain("no memory to look at %s", table_path(view->table));
    good = good && (values->watch != NULL ? watch(view, values, seconds) : look(view, values));
    live_limits_close(view->limits);
    free(view->past);
    free(view->passed);
    free(view->stopped);
    free(view->key);
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

static bool parse_seconds(const char *text, double *seconds)
{
    char *end;
    if (text == NULL || *text == '\0')
        text = WATCH_DEFAULT;
    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && *seconds >= WATCH_LEAST_S && *seconds <= WATCH_MOST_S;
}

static int run_show(int argc, char **argv)
{
    struct show_values values = { 0 };
    char **operand;
    int count, code;
    double seconds;
    if (!cli_parse(&cli_show, argc, argv, &values, &operand, &count, &code))
        return code;
    if (!parse_seconds(values.watch, &seconds))
        return cli_misuse(&cli_show, "--watch %s: write seconds, from 0.1 to 86400", values.watch);
    struct table *table = live_open(&values.place);
    if (table == NULL)
        return CLI_FAILED;
    struct show_view view = { .table = table, .limit = count > 0 ? operand[0] : NULL, .all_limits = values.all_limits };
    bool known =
        view.limit == NULL || (values.all_limits && is_own(table, view.limit)) || live_has_limit(table, view.limit);
    bool good = known && show(&view, &values, seconds);
    table_close(table);
    return good ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_show = { "show",  "[LIMIT]", "the live table: keys closest to their limit first",
                                      options, 0,         1,
                                      run_show };
