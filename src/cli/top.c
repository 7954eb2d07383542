/*
 * drossel top: the live table on the whole screen.
 *
 * The keyboard is waited for in short turns; in between, a bounded number of slots is looked through, and once a second rates are
 * sampled and the screen is drawn anew.
 */
#include "cli/top.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curses.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/top_guard.h"
#include "cli/top_screen.h"

#define REFRESH_NS UINT64_C(1000000000)
#define TURN_MS 100                        /* the keyboard is waited for */
#define SCAN_NS UINT64_C(10000000)         /* looking through slots in one turn: a tenth of a processor */
#define SCAN_SLOTS 4096                    /* between two looks at the clock */
#define PASS_EVERY_NS UINT64_C(1000000000) /* small tables are not looked through again and again */

struct top_values {
    struct live_place place;
    bool ascii;
};

static const struct cli_option options[] = {
    LIVE_OPTIONS(top_values, place),
    { "ascii", CLI_FLAG, offsetof(struct top_values, ascii), NULL, "draw with ASCII characters only" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

static volatile sig_atomic_t told_to_end;

static void on_end(int signal_number)
{
    told_to_end = signal_number;
}

/* Without SA_RESTART: waiting for the keyboard ends at once. */
static void take_signals(void)
{
    static const int ends[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    struct sigaction action = { .sa_handler = on_end };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigaction(ends[i], &action, NULL);
}

static uint64_t steady_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A stretch of the running pass.  Returns whether it ended, after which there is a rest. */
static void scan(struct top *top)
{
    uint64_t now_ns = table_now(top->model->table), end_ns = steady_ns() + SCAN_NS;
    if (top->paused || (top->model->scan_at == 0 && top->model->scanned_ns > 0 && !top->changed &&
                        now_ns - top->model->scanned_ns < PASS_EVERY_NS))
        return;
    bool was_first = top->model->scanned_ns == 0;
    while (steady_ns() < end_ns)
        if (top_model_scan(top->model, SCAN_SLOTS, now_ns)) {
            top->changed |= was_first || top->mode == TOP_DRILL || top->model->filter[0] != '\0';
            return;
        }
}

static void view(struct top *top)
{
    uint64_t drawn_ns = 0;
    struct live_file file = live_file_of(top->model->table);
    timeout(TURN_MS);
    while (!top->quit && told_to_end == 0) {
        scan(top);
        uint64_t now_ns = steady_ns();
        if (top->changed || now_ns - drawn_ns >= REFRESH_NS) {
            top->is_gone = !live_is_in_place(top->model->table, file);
            top_refresh(top, table_now(top->model->table));
            top_draw(top);
            drawn_ns = now_ns;
        }
        int key = getch();
        if (key == KEY_RESIZE)
            clear(); /* all of it anew: what stood there has moved */
        else if (key != ERR)
            (void)top_press(top, key);
        if (key == ERR)
            continue;
        if (top->changed)
            top_refresh(top, table_now(top->model->table));
        top_draw(top);
    }
}

static SCREEN *open_screen(void)
{
    const char *term = getenv("TERM");
    top_guard_drawing(true);
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        top_guard_drawing(false);
        cli_complain("the terminal %s is not known here; set TERM, or use `drossel show --watch`",
                     term != NULL ? term : "without a name");
        return NULL;
    }
    if (tigetstr("cup") == NULL) { /* `dumb`, and what prints on paper */
        endwin();
        delscreen(screen);
        top_guard_drawing(false);
        cli_complain("the terminal %s cannot move its cursor; set TERM, or use `drossel show --watch`", term);
        return NULL;
    }
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    top_looks_init();
    return screen;
}

static int show(struct table *table, const struct top_values *values)
{
    struct top_model *model = top_model_open(table);
    struct top *top = calloc(1, sizeof *top);
    int code = CLI_FAILED;
    if (model == NULL || top == NULL) {
        cli_complain("no memory to look at %s", table_path(table));
        goto out;
    }
    top->model = model;
    top->ascii = values->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    take_signals();
    SCREEN *screen = open_screen();
    if (screen == NULL)
        goto out;
    view(top);
    endwin();
    top_guard_drawing(false);
    top_screen_end();
    delscreen(screen);
    code = told_to_end != 0 && told_to_end != SIGINT ? 128 + (int)told_to_end : CLI_DONE;
out:
    free(top);
    top_model_close(model);
    return code;
}

static int run_top(int argc, char **argv)
{
    struct top_values values = { 0 };
    char **operand;
    int count, code;
    if (!cli_parse(&cli_top, argc, argv, &values, &operand, &count, &code))
        return code;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        cli_complain("top needs a terminal; use `drossel show --watch` in a pipe");
        return CLI_FAILED;
    }
    setlocale(LC_CTYPE, "");
    struct table *table = live_open(&values.place);
    if (table == NULL)
        return CLI_FAILED;
    if (!top_guard(&code)) {
        table_close(table);
        return code;
    }
    code = show(table, &values);
    table_close(table);
    return code;
}

const struct cli_command cli_top = { "top",   "", "the live table on the whole screen: rates, keys, blocks",
                                     options, 0,  0,
                                     run_top };
