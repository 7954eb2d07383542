/*
 * What the files of `drossel top` share: the state of the view.  top_keys.c changes it, top_screen.c draws it, top_act.c does what
 * was confirmed.
 */
#ifndef DROSSEL_CLI_TOP_H
#define DROSSEL_CLI_TOP_H

#include "cli/top_model.h"
#include "drossel.h"

#define TOP_INPUT_BYTES 64
#define TOP_ROWS_LEAST 10    /* a smaller terminal is told so */
#define TOP_COLUMNS_LEAST 50
#define TOP_ESCAPE 27

enum top_mode {
    TOP_LIST = 0,
    TOP_DRILL,       /* one key in all its limits, and its past */
    TOP_FILTER,      /* a filter is typed */
    TOP_ASK_TIME,    /* how long to block is typed */
    TOP_CONFIRM,     /* y or not */
    TOP_HELP
};

enum top_action { TOP_NOTHING = 0, TOP_BLOCK, TOP_BAN, TOP_RESET };

struct top {
    struct top_model *model;
    enum top_mode mode, behind;      /* behind: where typing, asking and help came from */
    bool paused, quit, ascii;
    bool is_gone;                    /* the table's file was removed or replaced */
    bool changed;                    /* what is shown has to be arranged anew */
    uint64_t now_ns;                 /* of what is shown; in a pause of its beginning */
    uint32_t selected, first;        /* in the list: the row, and the one at the top of the screen */
    uint32_t rows;                   /* the list has on the screen */
    uint64_t selected_slot, selected_tag;    /* the selection stays with its key */

    char input[TOP_INPUT_BYTES];
    char message[160];               /* "" or what the last action came to; until the next key */

    enum top_action action;          /* asked for, not confirmed yet */
    struct top_key on;               /* the key that it is for */
    uint64_t for_ns;

    struct top_key drilled;          /* the key that was looked into */
    struct top_key drill_key[TOP_FOCUS];     /* in all limits */
    uint32_t drill_count, drill_selected;
};

/* Takes one key (of curses).  True if anything changed. */
bool top_press(struct top *top, int key);

/* Samples, arranges, and keeps the selection on its key.  Not in a pause, unless `top->changed`. */
void top_refresh(struct top *top, uint64_t now_ns);

/* Draws all of it and shows it. */
void top_draw(struct top *top);

/* Does the confirmed action and says in top->message what came of it.  The only thing that writes to the table. */
void top_act(struct top *top, uint64_t now_ns);

/* May the key's address be banned?  Then `*address` is it. */
bool top_address_of(const struct top_key *key, struct drossel_address *address);

/* `19.8s`, `5m12s`, `2h05m`, `3d04h`, `never`: at most 6 columns. */
void top_time_format(uint64_t ns, char *out, size_t cap);

#endif
