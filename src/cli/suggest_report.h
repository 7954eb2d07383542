/*
 * The findings for whoever reads them: as text on a terminal, as JSON, as a page.
 */
#ifndef DROSSEL_CLI_SUGGEST_REPORT_H
#define DROSSEL_CLI_SUGGEST_REPORT_H

#include <stdio.h>

#include "cli/suggest_findings.h"

/* 80 columns; `policy` is the file where the proposal was written to, NULL: it is printed.  `is_wide`: block characters of UTF-8. */
void report_print(const struct findings *findings, const char *policy, bool is_wide, FILE *out);

/* One histogram: how many clients (the steps of suggest_spread.h) have which peak in a window, and the number that is proposed. */
struct histogram {
    uint64_t part[SPREAD_STEPS][CLIENT_KINDS], sum[SPREAD_STEPS];
    uint64_t most;      /* clients in any step */
    size_t steps;       /* up to the last that has clients, or the proposed number */
    uint64_t number;    /* proposed; 0: none */
    const char *limit;  /* its name */
    int window;
};
/* Of the window that the kind's first limit is about; of 10 s where there is none. */
void report_histogram(const struct findings *findings, enum traffic kind, struct histogram *histogram);
/* Of the limit's own kind and window. */
void report_histogram_of(const struct findings *findings, const struct proposal *limit, struct histogram *histogram);
/* Is this step one of several empty ones in a row, that can be left out?  `rest`: the first of them. */
bool report_is_void(const struct histogram *histogram, size_t step, bool *is_first);

/* One object, with all clients or with the busiest only.  False if it could not be written. */
bool report_json(const struct findings *findings, bool with_all, FILE *out);

/* One page that needs nothing else.  False if it could not be written. */
bool report_html(const struct findings *findings, FILE *out);
/* Within that page, as SVG: a histogram, and the line of numbers on which people end, machines begin and the limit stands between. */
void report_plot(const struct histogram *histogram, FILE *out);
void report_strip(const struct gap *gap, uint64_t number, FILE *out);
/* Style sheet, head and end of the page. */
void report_page_begin(const struct findings *findings, FILE *out);
void report_page_end(FILE *out);
/* Text from anywhere as text of HTML, also within quotes. */
void report_escape(const char *text, size_t size, FILE *out);

/* What both call things: `Pages`, `everything that is no static file`. */
extern const char *const report_traffic_label[TRAFFIC_KINDS];
extern const char *const report_traffic_about[TRAFFIC_KINDS];
extern const char *const report_window_label[PEAK_WINDOWS]; /* `10 s` */
/* A sentence: where people end and machines begin. */
void report_gap(const struct gap *gap, int window, struct prose *out);
/* The kinds that have something to show, in its order; returns how many. */
size_t report_shown(const struct findings *findings, enum traffic kind[TRAFFIC_KINDS]);
/* `1 client`, `1,234 clients`. */
const char *report_clients(uint64_t count, char out[PROSE_COUNT]);
/* All clients that made such requests. */
uint64_t report_clients_of(const struct findings *findings, enum traffic kind);

#endif
