/* Writing on the screen for `drossel top`: text cut at columns, and small plots. */
#include "cli/top_screen.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define TEXT_MAX 256
#define LEVELS 8

static attr_t looks[TOP_LOOKS];
static WINDOW *canvas; /* what is drawn on; of the screen's size */

bool top_screen_begin(void)
{
    if (canvas != NULL && (getmaxy(canvas) != LINES || getmaxx(canvas) != COLS)) {
        delwin(canvas);
        canvas = NULL;
    }
    if (canvas == NULL)
        canvas = newpad(LINES, COLS);
    return canvas != NULL && werase(canvas) == OK;
}

void top_screen_end(void)
{
    if (canvas != NULL)
        delwin(canvas);
    canvas = NULL;
}

void top_screen_show(void)
{
    for (int y = 0; y < LINES; y++) {
        copywin(canvas, stdscr, y, 0, y, 0, y, COLS - 1, FALSE);
        refresh();
    }
}

void top_attributes_on(attr_t attributes)
{
    wattron(canvas, (int)attributes);
}

void top_attributes_off(attr_t attributes)
{
    wattroff(canvas, (int)attributes);
}

attr_t top_look(enum top_look look)
{
    return looks[look];
}

void top_looks_init(void)
{
    const char *no_color = getenv("NO_COLOR");
    looks[TOP_TITLE] = A_REVERSE;
    looks[TOP_HEAD] = A_BOLD;
    looks[TOP_BLOCKED] = looks[TOP_FULL] = A_BOLD;
    looks[TOP_DRY] = A_UNDERLINE;
    looks[TOP_DIM] = A_DIM;
    if (!has_colors() || (no_color != NULL && *no_color != '\0') || start_color() != OK)
        return;
    short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
    init_pair(1, COLOR_RED, background);
    init_pair(2, COLOR_YELLOW, background);
    init_pair(3, COLOR_CYAN, background);
    looks[TOP_BLOCKED] = COLOR_PAIR(1) | A_BOLD;
    looks[TOP_FULL] = COLOR_PAIR(2) | A_BOLD;
    looks[TOP_DRY] = COLOR_PAIR(3);
}

/* The text's characters that fit into `width` columns, with `~` for what does not; returns how many columns they take. */
static int fit(const char *text, int width, wchar_t out[TEXT_MAX])
{
    mbstate_t state = { 0 };
    int columns = 0;
    size_t count = 0;
    while (*text != '\0' && count + 1 < TEXT_MAX) {
        wchar_t character;
        size_t size = mbrtowc(&character, text, strlen(text), &state);
        if (size == (size_t)-1 || size == (size_t)-2) { /* not in this locale's alphabet */
            memset(&state, 0, sizeof state);
            character = L'?';
            size = 1;
            while (((unsigned char)text[size] & 0xc0) == 0x80)
                size++;
        }
        int takes = wcwidth(character);
        if (takes < 0) {
            character = L'?';
            takes = 1;
        }
        if (columns + takes > width) {
            if (count > 0)
                out[count - 1] = L'~';
            break;
        }
        out[count++] = character;
        columns += takes;
        text += size;
    }
    out[count] = L'\0';
    return columns;
}

void top_put(int y, int x, int width, const char *text)
{
    wchar_t fitting[TEXT_MAX];
    if (width <= 0 || y >= LINES || x >= COLS)
        return;
    if (x + width > COLS)
        width = COLS - x;
    int columns = fit(text, width, fitting);
    mvwaddwstr(canvas, y, x, fitting);
    if (columns < width)
        mvwhline(canvas, y, x + columns, ' ', width - columns);
}

void top_put_right(int y, int x, int width, const char *text)
{
    wchar_t fitting[TEXT_MAX];
    int columns = width > 0 ? fit(text, width, fitting) : 0;
    top_put(y, x, width - columns, "");
    top_put(y, x + width - columns, columns, text);
}

void top_put_plot(int y, int x, int width, const struct top_plot *plot)
{
    static const wchar_t *const blocks[LEVELS + 1] = { L" ", L"▁", L"▂", L"▃", L"▄", L"▅", L"▆", L"▇", L"█" };
    static const wchar_t *const ascii[LEVELS + 1] = { L" ", L".", L":", L"-", L"=", L"+", L"*", L"#", L"@" };
    int shown = width < plot->count ? width : plot->count;
    float most = 0;
    for (int i = plot->count - shown; i < plot->count; i++)
        if (plot->value[i] > most)
            most = plot->value[i];
    top_put(y, x, width, "");
    for (int i = 0; i < shown && x + i < COLS; i++) {
        float value = plot->value[plot->count - shown + i];
        int level = most > 0 && value > 0 ? (int)(value / most * (LEVELS - 1) + 1.0f) : 0;
        attr_t look = plot->marked[plot->count - shown + i] > 0 ? looks[TOP_BLOCKED] : 0;
        wattron(canvas, (int)look);
        mvwaddwstr(canvas, y, x + i, (plot->ascii ? ascii : blocks)[level < LEVELS ? level : LEVELS]);
        wattroff(canvas, (int)look);
    }
}
