/* Draws `drossel top`: limits above, keys below, one key by itself, help, and what is asked. */
#include "cli/top.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/top_screen.h"

#define LINE_BYTES 256
#define LIMITS_LEAST 3
#define HEAD_ROWS 4 /* title, sums, head of the limits, head of the keys */
#define STATE_WIDTH 14
#define STOPPED_WIDTH 8
#define LAST_WIDTH 6
#define RATE_WIDTH 9
#define DRY_WIDTH 4

void top_time_format(uint64_t ns, char *out, size_t cap)
{
    unsigned long long seconds = ns / 1000000000;
    if (ns == ENGINE_NEVER)
        snprintf(out, cap, "never");
    else if (seconds < 10)
        snprintf(out, cap, "%.1fs", (double)ns / 1e9);
    else if (seconds < 60)
        snprintf(out, cap, "%llus", seconds);
    else if (seconds < 3600)
        snprintf(out, cap, "%llum%02llus", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        snprintf(out, cap, "%lluh%02llum", seconds / 3600, seconds / 60 % 60);
    else
        snprintf(out, cap, "%llud%02lluh", seconds / 86400, seconds / 3600 % 24);
}

/* How long ago, in whole seconds. */
static void age_format(uint64_t now_ns, uint64_t then_ns, char *out, size_t cap)
{
    uint64_t seconds = now_ns > then_ns ? (now_ns - then_ns) / 1000000000 : 0;
    if (seconds < 60)
        snprintf(out, cap, "%llus", (unsigned long long)seconds);
    else
        top_time_format(seconds * 1000000000, out, cap);
}

static void number_format(double number, char *out, size_t cap)
{
    if (number >= 9999999.5)
        snprintf(out, cap, "%.4gM", number / 1e6);
    else if (number >= 999.95 || number == 0)
        snprintf(out, cap, "%.0f", number);
    else
        snprintf(out, cap, "%.1f", number);
}

static int used_width(void)
{
    return COLS >= 60 ? 13 : 9;
}

static int limit_width(void)
{
    return COLS >= 110 ? 24 : COLS >= 60 ? 12 : 8;
}

/* ---- the head ---- */

static void draw_title(const struct top *top)
{
    char text[LINE_BYTES], clock[64];
    const struct top_model *model = top->model;
    live_when_format(top->now_ns, table_now(model->table), clock, sizeof clock);
    snprintf(text, sizeof text, " drossel top   %s%s", top->paused ? "PAUSED: p goes on   " : "",
             table_path(model->table));
    top_attributes_on(top_look(TOP_TITLE));
    top_put(0, 0, COLS - 10, text);
    top_put(0, COLS - 10, 10, "");
    top_put(0, COLS - 9, 9, strlen(clock) > 11 ? clock + 11 : clock);
    top_attributes_off(top_look(TOP_TITLE));
}

/* How many keys, and how fresh the choice of those shown is. */
static void fill_format(const struct top *top, char *out, size_t cap)
{
    char age[16];
    const struct top_model *model = top->model;
    if (model->scanned_ns == 0) {
        snprintf(out, cap, "looking through %llu slots: %.0f%%", (unsigned long long)table_keys(model->table),
                 top_model_progress(model) * 100);
        return;
    }
    age_format(top->now_ns, model->scanned_ns, age, sizeof age);
    snprintf(out, cap, "%llu of %llu keys used, seen %s ago", (unsigned long long)model->used,
             (unsigned long long)table_keys(model->table), age);
}

static void draw_sums(const struct top *top)
{
    char text[LINE_BYTES], fill[96], passed[24], stopped[24];
    struct table_counts counts;
    table_counts(top->model->table, &counts);
    number_format(top->model->total.passed, passed, sizeof passed);
    number_format(top->model->total.stopped, stopped, sizeof stopped);
    fill_format(top, fill, sizeof fill);
    int used = snprintf(text, sizeof text, "passed %s/s  stopped %s/s   %s", passed, stopped, fill);
    if (counts.evicted_full + counts.evicted_blocked > 0 && used > 0 && (size_t)used < sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, "   EVICTED %llu at limit, %llu blocked",
                 (unsigned long long)counts.evicted_full, (unsigned long long)counts.evicted_blocked);
    if (table_is_lost(top->model->table))
        snprintf(text, sizeof text, "THE TABLE WAS CUT OFF: what follows is nothing; q, and start again");
    else if (top->is_gone)
        snprintf(text, sizeof text, "THE TABLE WAS REMOVED OR REPLACED: this is the old one; q, and start again");
    top_put(1, 0, COLS, text);
}

/* ---- the limits ---- */

static double busyness(const struct top_model *model, uint32_t limit)
{
    double sum = 0;
    for (unsigned i = 0; i < TOP_HISTORY; i++)
        sum += (double)model->rate[limit].history[i];
    return sum;
}

static bool is_shown(const struct top_model *model, uint32_t limit)
{
    const struct live_limit *of = &model->limits->limit[limit];
    return limit > 0 || of->sum.count[TABLE_REFUSED] > 0; /* the ban, once there was one */
}

/* The busiest ones, at most `cap`, busiest first; returns how many there are in all. */
static uint32_t choose_limits(const struct top_model *model, uint32_t chosen[], uint32_t cap, uint32_t *count)
{
    uint32_t all = 0;
    *count = 0;
    for (uint32_t i = 0; i < model->limits->count; i++) {
        if (!is_shown(model, i))
            continue;
        all++;
        double busy = busyness(model, i);
        uint32_t at = *count;
        while (at > 0 && busyness(model, chosen[at - 1]) < busy)
            at--;
        if (at >= cap)
            continue;
        uint32_t moves = *count < cap ? *count - at : cap - 1 - at;
        memmove(&chosen[at + 1], &chosen[at], moves * sizeof chosen[0]);
        chosen[at] = i;
        *count += *count < cap;
    }
    return all;
}

static void draw_limit(const struct top *top, int y, uint32_t at)
{
    char text[LINE_BYTES];
    const struct live_limit *limit = &top->model->limits->limit[at];
    const struct top_rate *rate = &top->model->rate[at];
    int x = limit_width(), rate_text = COLS >= 72 ? 20 : 0;
    attr_t look = limit->sum.is_dry_run ? top_look(TOP_DRY) : top_look(TOP_PLAIN);
    top_attributes_on(look);
    top_put(y, 0, x, limit->name);
    top_attributes_off(look);
    if (rate_text > 0) {
        live_rate_format(limit->limit, text, sizeof text);
        top_put(y, x + 1, rate_text, text);
        x += 1 + rate_text;
    }
    number_format(rate->passed, text, sizeof text);
    top_put_right(y, x + 1, RATE_WIDTH, text);
    number_format(rate->stopped, text, sizeof text);
    top_attributes_on(rate->stopped > 0 ? top_look(TOP_BLOCKED) : 0);
    top_put_right(y, x + 2 + RATE_WIDTH, RATE_WIDTH, text);
    top_attributes_off(rate->stopped > 0 ? top_look(TOP_BLOCKED) : 0);
    x += 3 + 2 * RATE_WIDTH;
    top_attributes_on(look);
    top_put(y, x, DRY_WIDTH, limit->sum.is_dry_run ? "dry" : "");
    top_attributes_off(look);
    x += DRY_WIDTH;
    struct top_plot plot = { rate->history, rate->history_stopped, TOP_HISTORY, top->ascii };
    top_put_plot(y, x, COLS - x, &plot);
}

/* Returns the first row below. */
static int draw_limits(const struct top *top)
{
    uint32_t chosen[64], count, cap = (uint32_t)(LINES - HEAD_ROWS - 1) / 3;
    char text[LINE_BYTES];
    if (cap < LIMITS_LEAST)
        cap = LIMITS_LEAST;
    if (cap > sizeof chosen / sizeof chosen[0])
        cap = sizeof chosen / sizeof chosen[0];
    uint32_t all = choose_limits(top->model, chosen, cap, &count);
    int x = limit_width();
    snprintf(text, sizeof text, all > count ? "limit (%u of %u)" : "limit", count, all);
    top_attributes_on(top_look(TOP_HEAD));
    top_put(2, 0, COLS, text);
    if (COLS >= 72) {
        top_put(2, x + 1, 20, all > count ? "" : "rate");
        x += 21;
    }
    top_put_right(2, x + 1, RATE_WIDTH, "passed/s");
    top_put_right(2, x + 2 + RATE_WIDTH, RATE_WIDTH, "stopped/s");
    x += 3 + 2 * RATE_WIDTH + DRY_WIDTH;
    top_put(2, x, COLS - x, "the last minute");
    top_attributes_off(top_look(TOP_HEAD));
    for (uint32_t i = 0; i < count; i++)
        draw_limit(top, 3 + (int)i, chosen[i]);
    if (!table_has_stats(top->model->table))
        top_put(2, 0, COLS, "limits: not counted in this table");
    return 3 + (int)count;
}

/* ---- the keys ---- */

static int key_width(void)
{
    int rest = COLS - limit_width() - 1 - used_width() - 1 - STATE_WIDTH - 1;
    return COLS >= 72 ? rest - STOPPED_WIDTH - 1 - LAST_WIDTH - 1 : rest;
}

static void draw_key_columns(int y, const char *const column[6])
{
    int x = limit_width() + 1, width = key_width();
    top_put(y, 0, COLS, "");
    top_put(y, 0, limit_width(), column[0]);
    top_put(y, x, width, column[1]);
    top_put_right(y, x += width, used_width(), column[2]);
    top_put(y, x += used_width() + 1, STATE_WIDTH, column[3]);
    if (COLS < 72)
        return;
    top_put_right(y, x += STATE_WIDTH, STOPPED_WIDTH, column[4]);
    top_put_right(y, x += STOPPED_WIDTH + 1, LAST_WIDTH, column[5]);
}

static void state_format(const struct top_key *key, char *out, size_t cap)
{
    char time[24];
    const char *what = key->is_dry_run ? "dry run" : key->live.block_ns > 0 ? "blocked" : "wait";
    uint64_t wait_ns = key->live.block_ns > 0 ? key->live.block_ns : key->live.wait_ns;
    if (key->live.block_ns == 0 && key->live.allowed) {
        snprintf(out, cap, "%s", key->is_dry_run ? "dry run" : "");
        return;
    }
    top_time_format(wait_ns, time, sizeof time);
    snprintf(out, cap, "%-7s %s", what, time);
}

static attr_t look_of(const struct top_key *key)
{
    if (key->is_dry_run)
        return top_look(TOP_DRY);
    if (key->live.block_ns > 0)
        return top_look(TOP_BLOCKED);
    return top_look(key->live.allowed ? TOP_PLAIN : TOP_FULL);
}

static void draw_key(const struct top *top, int y, const struct top_key *key, bool is_selected)
{
    char used[48] = "", state[48], stopped[32] = "", last[24] = "";
    const struct table_entry *entry = &key->live.entry;
    if (entry->limit != TABLE_LIMIT_BAN)
        snprintf(used, sizeof used, "%llu/%llu", (unsigned long long)key->live.used,
                 (unsigned long long)key->live.count);
    state_format(key, state, sizeof state);
    if (key->stopped > 0)
        snprintf(stopped, sizeof stopped, "%llu", (unsigned long long)key->stopped);
    if (key->last_ns > 0)
        age_format(top->now_ns, key->last_ns, last, sizeof last);
    const char *column[6] = {
        live_limit_name(top->model->table, entry->limit), entry->name, used, state, stopped, last
    };
    attr_t look = look_of(key) | (is_selected ? A_REVERSE : 0);
    top_attributes_on(look);
    draw_key_columns(y, column);
    top_attributes_off(look);
}

static const char *const key_heads[6] = { "limit", "key", "used", "state", "stopped", "ago" };

static void draw_list(struct top *top, int y)
{
    const struct top_model *model = top->model;
    int last = LINES - 1;
    top_attributes_on(top_look(TOP_HEAD));
    draw_key_columns(y, key_heads);
    top_attributes_off(top_look(TOP_HEAD));
    top->rows = last > y + 1 ? (uint32_t)(last - y - 1) : 1;
    if (top->selected >= top->first + top->rows)
        top->first = top->selected - top->rows + 1;
    for (int row = y + 1; row < last; row++) {
        uint32_t at = top->first + (uint32_t)(row - y - 1);
        if (at < model->key_count)
            draw_key(top, row, &model->key[at], at == top->selected);
    }
    if (model->key_count == 0)
        top_put(y + 2, 2, COLS - 2,
                model->filter[0] != '\0' ? "nothing matches the filter" : "nothing is counted at the moment");
}

/* ---- one key ---- */

static void draw_offence(const struct top *top, int y, const struct table_offender *offender)
{
    char text[LINE_BYTES], when[2][32];
    live_when_format(offender->first_ns, top->now_ns, when[0], sizeof when[0]);
    live_when_format(offender->last_ns, top->now_ns, when[1], sizeof when[1]);
    int used = snprintf(text, sizeof text, "%-*.*s %s  %s ", limit_width(), limit_width(),
                        live_limit_name(top->model->table, offender->limit), when[0], when[1]);
    for (unsigned i = TABLE_VERDICTS; i-- > TABLE_MARKED && used > 0 && (size_t)used < sizeof text;)
        if (offender->count[i] > 0)
            used += snprintf(text + used, sizeof text - (size_t)used, " %llu %s",
                             (unsigned long long)offender->count[i], live_verdict_names[i]);
    if (offender->is_dry_run && used > 0 && (size_t)used < sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, " (dry run)");
    top_put(y, 0, COLS, text);
}

static void draw_offences(const struct top *top, int y)
{
    char head[LINE_BYTES];
    int first = y;
    const struct live_past *past = top->model->past;
    snprintf(head, sizeof head, "%-*s %-19s  %-19s  stopped", limit_width(), "its past", "first", "last");
    top_attributes_on(top_look(TOP_HEAD));
    top_put(y++, 0, COLS, head);
    top_attributes_off(top_look(TOP_HEAD));
    for (size_t i = 0; i < past->count && y < LINES - 1; i++)
        if (strcmp(past->offender[i].name, top->drilled.live.entry.name) == 0)
            draw_offence(top, y++, &past->offender[i]);
    if (y == first + 1 && y < LINES - 1)
        top_put(y, 0, COLS, "never stopped, as far as it is known");
}

static void draw_drill(struct top *top)
{
    char text[LINE_BYTES];
    const struct table_entry *entry = &top->drilled.live.entry;
    snprintf(text, sizeof text, "%s   tag %012llx", entry->name, (unsigned long long)(entry->tag >> 16));
    top_attributes_on(A_BOLD);
    top_put(2, 0, COLS, text);
    top_attributes_off(A_BOLD);
    top_attributes_on(top_look(TOP_HEAD));
    draw_key_columns(4, key_heads);
    top_attributes_off(top_look(TOP_HEAD));
    int y = 5, room = (LINES - 6) / 2 > 1 ? (LINES - 6) / 2 : 1;
    top->rows = (uint32_t)room;
    uint32_t first = top->drill_selected >= top->rows ? top->drill_selected - top->rows + 1 : 0;
    for (uint32_t i = first; i < top->drill_count && y < 5 + room; i++)
        draw_key(top, y++, &top->drill_key[i], i == top->drill_selected);
    if (top->drill_count == 0)
        top_put(y++, 2, COLS - 2, "no limit counts anything for it at the moment");
    draw_offences(top, y + 1);
}

/* ---- help, and the last line ---- */

static void draw_help(void)
{
    static const char *const lines[] = {
        "up down PgUp PgDn   move            j k g G too",
        "Enter               look into a key; q or Esc leaves it",
        "s S                 next, previous order",
        "/                   filter by part of a key or limit; Esc clears it",
        "p                   pause, go on",
        "b                   block the key in this limit; asks how long",
        "B                   block its address in all limits",
        "r                   reset: forget what is counted",
        "q Ctrl-C            quit       Ctrl-Z  stop for a while",
        "",
        "red: blocked   yellow: at its limit   cyan: dry run",
        "stopped, ago: refused, dropped, delayed, challenged or",
        "marked so often (in a dry run: would have been), and last when",
        "Any key goes back.  The whole story: man drossel-top",
    };
    for (int i = 0; i < (int)(sizeof lines / sizeof lines[0]) && i + 2 < LINES; i++)
        top_put(i + 2, 2, COLS - 2, lines[i]);
}

static void draw_question(const struct top *top)
{
    char text[LINE_BYTES], wait[48];
    const char *name = top->on.live.entry.name, *limit = live_limit_name(top->model->table, top->on.live.entry.limit);
    if (top->action == TOP_RESET)
        snprintf(text, sizeof text, "reset %s in %s?  y: yes, any other key: no", name, limit);
    else if (top->action == TOP_BAN)
        snprintf(text, sizeof text, "block the address of %s in all limits for %s?  y: yes, any other key: no", name,
                 cli_wait_format(top->for_ns, wait, sizeof wait));
    else
        snprintf(text, sizeof text, "block %s in %s for %s?  y: yes, any other key: no", name, limit,
                 cli_wait_format(top->for_ns, wait, sizeof wait));
    top_attributes_on(top_look(TOP_TITLE));
    top_put(LINES - 1, 0, COLS, text);
    top_attributes_off(top_look(TOP_TITLE));
}

static void draw_typing(const char *prompt, const char *input, const char *hint)
{
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "%s%s_   %s", prompt, input, hint);
    top_attributes_on(top_look(TOP_TITLE));
    top_put(LINES - 1, 0, COLS, text);
    top_attributes_off(top_look(TOP_TITLE));
}

static void draw_last_line(const struct top *top)
{
    char text[LINE_BYTES];
    const struct top_model *model = top->model;
    if (top->message[0] != '\0') {
        top_attributes_on(A_BOLD);
        top_put(LINES - 1, 0, COLS, top->message);
        top_attributes_off(A_BOLD);
    } else if (top->mode == TOP_FILTER) {
        draw_typing("filter: ", top->input, "Enter keeps it, Esc clears it");
    } else if (top->mode == TOP_ASK_TIME) {
        draw_typing("block for: ", top->input, "15m, 2h, 1d; Enter, or Esc for no");
    } else if (top->mode == TOP_CONFIRM) {
        draw_question(top);
    } else {
        snprintf(text, sizeof text, "? help  q %s  s sort: %s  %s%s%s", top->mode == TOP_DRILL ? "back" : "quit",
                 top_order_names[model->order], model->filter[0] != '\0' ? "/ filter: " : "/ filter", model->filter,
                 COLS >= 76 ? "  Enter look into  b block  r reset" : "");
        top_attributes_on(top_look(TOP_DIM));
        top_put(LINES - 1, 0, COLS, text);
        top_attributes_off(top_look(TOP_DIM));
    }
}

void top_draw(struct top *top)
{
    char text[LINE_BYTES];
    if (!top_screen_begin())
        return;
    if (LINES < TOP_ROWS_LEAST || COLS < TOP_COLUMNS_LEAST) {
        snprintf(text, sizeof text, "too small: %dx%d", COLS, LINES);
        top_put(0, 0, COLS, text);
        snprintf(text, sizeof text, "%dx%d is the least", TOP_COLUMNS_LEAST, TOP_ROWS_LEAST);
        top_put(1, 0, COLS, text);
        top_screen_show();
        return;
    }
    bool drills = top->mode == TOP_DRILL || (top->mode > TOP_DRILL && top->behind == TOP_DRILL);
    draw_title(top);
    draw_sums(top);
    if (top->mode == TOP_HELP)
        draw_help();
    else if (drills)
        draw_drill(top);
    else
        draw_list(top, draw_limits(top));
    draw_last_line(top);
    top_screen_show();
}
