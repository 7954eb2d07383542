/* The keys of `drossel top`: what each does in which mode. */
#include "cli/top.h"

#include <stdio.h>
#include <string.h>

#include <curses.h>

#include "cli/hand.h"
#include "policy/policy.h"

#define BLOCK_DEFAULT "15m"
#define CONTROL(letter) ((letter)&0x1f)

/* ---- the selection ---- */

static void select_row(struct top *top, uint32_t row)
{
    uint32_t count = top->model->key_count;
    top->selected = count == 0 ? 0 : row < count ? row : count - 1;
    if (count > 0) {
        top->selected_slot = top->model->key[top->selected].live.entry.slot;
        top->selected_tag = top->model->key[top->selected].live.entry.tag;
    }
    if (top->selected < top->first)
        top->first = top->selected;
    if (top->rows > 0 && top->selected >= top->first + top->rows)
        top->first = top->selected - top->rows + 1;
}

/* The first row is a place, not a key: who did not move sees who is on top. */
static void follow_selection(struct top *top)
{
    uint32_t row = top->selected;
    for (uint32_t i = 0; top->selected > 0 && i < top->model->key_count; i++)
        if (top->model->key[i].live.entry.slot == top->selected_slot &&
            top->model->key[i].live.entry.tag == top->selected_tag)
            row = i;
    select_row(top, row);
}

void top_refresh(struct top *top, uint64_t now_ns)
{
    if (top->paused && !top->changed)
        return;
    if (!top->paused) {
        top->now_ns = now_ns;
        top_model_sample(top->model, now_ns);
    }
    now_ns = top->now_ns;
    top_model_arrange(top->model, now_ns);
    follow_selection(top);
    if (top->mode == TOP_DRILL || top->behind == TOP_DRILL)
        top->drill_count = top_model_focused(top->model, now_ns, top->drill_key);
    if (top->drill_selected >= top->drill_count)
        top->drill_selected = top->drill_count > 0 ? top->drill_count - 1 : 0;
    top->changed = false;
}

static const struct top_key *selected_key(const struct top *top)
{
    if (top->mode == TOP_DRILL)
        return top->drill_count > 0 ? &top->drill_key[top->drill_selected] : NULL;
    return top->model->key_count > 0 ? &top->model->key[top->selected] : NULL;
}

static uint32_t moved(uint32_t from, int by, uint32_t count)
{
    int64_t to = (int64_t)from + by;
    return to < 0 || count == 0 ? 0 : to < count ? (uint32_t)to : count - 1;
}

static void move_by(struct top *top, int by)
{
    if (top->mode == TOP_DRILL)
        top->drill_selected = moved(top->drill_selected, by, top->drill_count);
    else
        select_row(top, moved(top->selected, by, top->model->key_count));
}

/* How many rows a key moves by; 0: it moves nothing. */
static int movement(const struct top *top, int key)
{
    int page = top->rows > 1 ? (int)top->rows - 1 : 1;
    switch (key) {
    case KEY_UP:
    case 'k':
        return -1;
    case KEY_DOWN:
    case 'j':
        return 1;
    case KEY_PPAGE:
    case CONTROL('b'):
        return -page;
    case KEY_NPAGE:
    case CONTROL('f'):
    case ' ':
        return page;
    case KEY_HOME:
    case 'g':
        return -TOP_KEYS;
    case KEY_END:
    case 'G':
        return TOP_KEYS;
    default:
        return 0;
    }
}

/* ---- asking ---- */

static void go(struct top *top, enum top_mode mode)
{
    top->behind = top->mode;
    top->mode = mode;
}

static void go_back(struct top *top)
{
    top->mode = top->behind;
    top->behind = TOP_LIST;
}

static void ask(struct top *top, enum top_action action)
{
    struct drossel_address address;
    const struct top_key *key = selected_key(top);
    if (key == NULL)
        return;
    if (action == TOP_BAN && !top_address_of(key, &address)) {
        snprintf(top->message, sizeof top->message, "%s has no address; b blocks it in its limit",
                 key->live.entry.name);
        return;
    }
    top->action = action;
    top->on = *key;
    snprintf(top->input, sizeof top->input, "%s", BLOCK_DEFAULT);
    go(top, action == TOP_RESET ? TOP_CONFIRM : TOP_ASK_TIME);
}

static void cancel(struct top *top)
{
    top->action = TOP_NOTHING;
    go_back(top);
    snprintf(top->message, sizeof top->message, "nothing was done");
}

/* Typing into top->input.  True while it goes on. */
static bool type(struct top *top, int key)
{
    size_t size = strlen(top->input);
    if (key == KEY_BACKSPACE || key == 127 || key == CONTROL('h')) {
        while (size > 0 && ((unsigned char)top->input[size - 1] & 0xc0) == 0x80) /* the rest of a character */
            top->input[--size] = '\0';
        if (size > 0)
            top->input[size - 1] = '\0';
    } else if (key == CONTROL('u')) {
        top->input[0] = '\0';
    } else if (key >= ' ' && key < 256 && key != 127 && size + 1 < sizeof top->input) {
        top->input[size] = (char)key;
        top->input[size + 1] = '\0';
    }
    return key != '\n' && key != '\r' && key != KEY_ENTER && key != TOP_ESCAPE;
}

static void press_filter(struct top *top, int key)
{
    if (type(top, key)) {
        top_model_filter(top->model, top->input);
    } else {
        if (key == TOP_ESCAPE)
            top_model_filter(top->model, "");
        go_back(top);
    }
    top->selected = top->first = 0;
    top->changed = true;
}

static void press_time(struct top *top, int key)
{
    if (type(top, key))
        return;
    if (key == TOP_ESCAPE) {
        cancel(top);
        return;
    }
    const char *wrong = policy_duration_parse((struct drossel_text){ top->input, strlen(top->input) }, &top->for_ns);
    if (wrong != NULL || top->for_ns == 0 || top->for_ns > ENGINE_PERIOD_MAX_NS)
        snprintf(top->message, sizeof top->message, "%s: %s", top->input,
                 wrong != NULL ? wrong : "write from 1ms to 366d");
    else
        top->mode = TOP_CONFIRM;
}

static void press_confirm(struct top *top, int key)
{
    if (key != 'y' && key != 'Y') {
        cancel(top);
        return;
    }
    go_back(top);
    top_act(top, table_now(top->model->table));
}

/* ---- the list, and one key ---- */

static void drill(struct top *top)
{
    const struct top_key *key = selected_key(top);
    if (key == NULL)
        return;
    top->drilled = *key;
    top->drill_selected = 0;
    top_model_focus(top->model, key->live.entry.name);
    top->mode = TOP_DRILL;
    top->behind = TOP_LIST;
    top->changed = true;
}

static void leave_drill(struct top *top)
{
    top_model_focus(top->model, "");
    top->mode = TOP_LIST;
    top->drill_count = 0;
}

static void press_list(struct top *top, int key)
{
    switch (key) {
    case 's':
    case 'S':
        top->model->order = (enum top_order)((top->model->order + (key == 's' ? 1 : TOP_ORDERS - 1)) % TOP_ORDERS);
        top->changed = true;
        break;
    case '/':
        snprintf(top->input, sizeof top->input, "%s", top->model->filter);
        go(top, TOP_FILTER);
        break;
    case TOP_ESCAPE:
        top_model_filter(top->model, "");
        top->changed = true;
        break;
    case '\n':
    case '\r':
    case KEY_ENTER:
    case KEY_RIGHT:
    case 'l':
        drill(top);
        break;
    default:
        break;
    }
}

static void press_drill(struct top *top, int key)
{
    if (key == TOP_ESCAPE || key == KEY_LEFT || key == 'h' || key == KEY_BACKSPACE || key == 127)
        leave_drill(top);
}

/* What works in both. */
static bool press_any(struct top *top, int key)
{
    int by = movement(top, key);
    if (by != 0) {
        move_by(top, by);
        return true;
    }
    switch (key) {
    case 'q':
    case 'Q':
        if (top->mode == TOP_DRILL && key == 'q')
            leave_drill(top);
        else
            top->quit = true;
        return true;
    case 'p':
    case 'P':
        top->paused = !top->paused;
        return true;
    case 'b':
        ask(top, TOP_BLOCK);
        return true;
    case 'B':
        ask(top, TOP_BAN);
        return true;
    case 'r':
        ask(top, TOP_RESET);
        return true;
    case '?':
    case KEY_F(1):
        go(top, TOP_HELP);
        return true;
    default:
        return false;
    }
}

bool top_press(struct top *top, int key)
{
    top->message[0] = '\0';
    switch (top->mode) {
    case TOP_HELP:
        go_back(top);
        return true;
    case TOP_FILTER:
        press_filter(top, key);
        return true;
    case TOP_ASK_TIME:
        press_time(top, key);
        return true;
    case TOP_CONFIRM:
        press_confirm(top, key);
        return true;
    case TOP_LIST:
        if (!press_any(top, key))
            press_list(top, key);
        return true;
    case TOP_DRILL:
        if (!press_any(top, key))
            press_drill(top, key);
        return true;
    }
    return false;
}
