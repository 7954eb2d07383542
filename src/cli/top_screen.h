/* Writing on the screen for `drossel top`: text cut at columns, and small plots. */
#ifndef DROSSEL_CLI_TOP_SCREEN_H
#define DROSSEL_CLI_TOP_SCREEN_H

#include <curses.h>
#include <stdbool.h>

/* What a stretch of text means; how it looks depends on the terminal. */
enum top_look { TOP_PLAIN = 0, TOP_TITLE, TOP_HEAD, TOP_BLOCKED, TOP_FULL, TOP_DRY, TOP_DIM, TOP_LOOKS };

/* Chooses the looks: colours where there are some and NO_COLOR is not set. */
void top_looks_init(void);
attr_t top_look(enum top_look look);

/* What is put from now on has these attributes, or has them no more. */
void top_attributes_on(attr_t attributes);
void top_attributes_off(attr_t attributes);

/* Writes `text` at (y, x), cut or padded to `width` columns; characters take as many columns as they do. */
void top_put(int y, int x, int width, const char *text);
void top_put_right(int y, int x, int width, const char *text);

/* Shows what was drawn since top_screen_begin, row by row.  Curses would otherwise find rows that have moved and scroll parts of the
 * screen, by sequences that not every program that calls itself xterm knows. */
bool top_screen_begin(void);
void top_screen_show(void);
void top_screen_end(void);

/* One column for each value from `from` on: its height for how much of the greatest it is; red where `marked` is not 0. */
struct top_plot {
    const float *value, *marked;
    int count;
    bool ascii;
};
void top_put_plot(int y, int x, int width, const struct top_plot *plot);

#endif
