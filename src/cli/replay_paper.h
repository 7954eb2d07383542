/*
 * What the reports of a replay are drawn with: numbers, cut texts, wrapped paragraphs, rows of bars, within 80 columns.
 */
#ifndef DROSSEL_CLI_REPLAY_PAPER_H
#define DROSSEL_CLI_REPLAY_PAPER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PAPER_WIDTH 79
#define PAPER_NUMBER 32

struct paper {
    FILE *out;
    bool has_blocks; /* a terminal that shows UTF-8: else plain ASCII */
};

struct paper paper_on(FILE *out);

/* `1,234,567`.  Returns out. */
const char *paper_number(uint64_t number, char out[PAPER_NUMBER]);
/* A time, as JSON has it, without quotes, T and Z. */
const char *paper_time(const char *json, char *out, size_t cap);

/* At most `width` columns of the text; what steers a terminal, and what is no ASCII, is shown as `?`.  Returns how many. */
int paper_cut(const struct paper *paper, const char *text, size_t size, int width);
/* A paragraph, all lines but the first indented. */
void paper_wrap(const struct paper *paper, const char *text, int indent);
/* One bar a column, the highest for the largest number. */
void paper_bars(const struct paper *paper, const uint64_t *column, size_t count);

#endif
