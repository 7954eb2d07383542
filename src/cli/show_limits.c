/* drossel show: each limit with the verdicts that it gave, and who a dry run would have refused. */
#include "cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define ROWS_KEPT 4
#define KEY_WIDTH 40
#define KINDS_BYTES 96
#define BESIDE_NAME 112 /* columns of a row beside the limit's name */

static bool is_shown(const struct show_view *view, uint32_t at)
{
    const struct live_limit *limit = &view->limits->limit[at];
    if (view->limit != NULL)
        return limit->limit != NULL ? live_limit_is(limit->limit, view->limit) : strcmp(view->limit, "ban") == 0;
    return at > 0 || limit->sum.count[TABLE_REFUSED] > 0; /* bans, once there were any */
}

static void print_limit(const struct show_view *view, const struct live_limit *limit, bool is_dry_run)
{
    const uint64_t *count = is_dry_run ? limit->sum.dry_run : limit->sum.count;
    char rate[80], per_second[64] = "";
    double passed, stopped;
    live_rate_format(limit->limit, rate, sizeof rate);
    if (is_dry_run == limit->sum.is_dry_run && show_rate(view, limit, &passed, &stopped))
        snprintf(per_second, sizeof per_second, "  %.1f/s passed, %.1f/s not", passed, stopped);
    printf("%-*s %-24s", view->name_width, limit->name, rate);
    for (unsigned i = 0; i < TABLE_VERDICTS; i++)
        printf(" %10llu", (unsigned long long)count[i]);
    printf(" %10llu%s%s\n", (unsigned long long)count[TABLE_BLOCKS], is_dry_run ? "  dry run" : "", per_second);
}

void show_print_limits(const struct show_view *view)
{
    printf("%-*s %-24s", view->name_width, "limit", "rate");
    for (unsigned i = 0; i < TABLE_VERDICTS; i++)
        printf(" %10s", live_verdict_names[i]);
    printf(" %10s\n", live_verdict_names[TABLE_BLOCKS]);
    for (uint32_t i = 0; i < view->limits->count; i++) {
        const struct live_limit *limit = &view->limits->limit[i];
        bool has_dry_run = limit->sum.dry_run[TABLE_PASSED] + live_stopped(limit->sum.dry_run) > 0;
        bool has_other = limit->sum.count[TABLE_PASSED] + live_stopped(limit->sum.count) > 0;
        if (!is_shown(view, i))
            continue;
        if (has_other || !has_dry_run)
            print_limit(view, limit, false);
        if (has_dry_run)
            print_limit(view, limit, true);
    }
}

/* ---- dry runs ---- */

static int compare_last(const void *left, const void *right)
{
    const struct table_offender *a = *(const struct table_offender *const *)left;
    const struct table_offender *b = *(const struct table_offender *const *)right;
    return a->last_ns < b->last_ns ? 1 : a->last_ns > b->last_ns ? -1 : 0;
}

static void kinds_format(const struct table_offender *offender, char out[KINDS_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = TABLE_VERDICTS; i-- > TABLE_MARKED;)
        if (offender->count[i] > 0 && used < KINDS_BYTES)
            used += (size_t)snprintf(out + used, KINDS_BYTES - used, "%s%llu %s", used > 0 ? ", " : "",
                                     (unsigned long long)offender->count[i], live_verdict_names[i]);
}

static void print_offender(const struct show_view *view, const struct table_offender *offender)
{
    char kinds[KINDS_BYTES], first[32], last[32], ago[64];
    kinds_format(offender, kinds);
    live_when_format(offender->first_ns, view->now_ns, first, sizeof first);
    live_when_format(offender->last_ns, view->now_ns, last, sizeof last);
    live_ago_format(offender->last_ns, view->now_ns, ago, sizeof ago);
    printf("%-*s %-*s %-20s %s  %s  %s\n", view->name_width, live_limit_name(view->table, offender->limit), KEY_WIDTH,
           offender->name, kinds, first, last, ago);
}

void show_print_dry_run(const struct show_view *view, bool all)
{
    const struct table_offender *sorted[TABLE_OFFENDERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < view->past->count; i++)
        if (view->past->offender[i].is_dry_run && show_is_wanted(view, view->past->offender[i].limit))
            sorted[count++] = &view->past->offender[i];
    if (count == 0) {
        puts(table_has_stats(view->table) ? "no limit in dry run would have stopped anybody"
                                          : "nothing is known of dry runs: this table keeps no statistics");
        return;
    }
    qsort(sorted, count, sizeof sorted[0], compare_last);
    printf("%-*s %-*s %-20s %-19s  %s\n", view->name_width, "limit", KEY_WIDTH, "key", "would have been", "first",
           "last");
    size_t wanted = show_rows(all, ROWS_KEPT, count, view->name_width + BESIDE_NAME);
    for (size_t i = 0; i < wanted; i++)
        print_offender(view, sorted[i]);
    if (wanted < count)
        printf("and %zu more; --all shows them\n", count - wanted);
}
