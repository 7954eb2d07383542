/*
 * The findings for whoever reads them: as text on a terminal, as JSON, as a page.
 */
#ifndef DROSSEL_CLI_SUGGEST_REPORT_H
#define DROSSEL_CLI_SUGGEST_REPORT_H

#include <stdio.h>

#include "cli/suggest_findings.h"

/* 80 columns; `policy` is the file where the proposal was written to, NULL: it is printed.  `is_wide`: block characters of UTF-8. */
void report_print(const struct findings *findings, const char *policy, bool is_wide, FILE *out);

/* The histograms of one kind of traffic, in 10 s, with the proposed number, if there is one (0: none). */
void report_histogram(const struct findings *findings, enum traffic kind, uint64_t number, bool is_wide, FILE *out);

/* One object, with all clients or with the busiest only.  False if it could not be written. */
bool report_json(const struct findings *findings, bool with_all, FILE *out);

/* One page that needs nothing else.  False if it could not be written. */
bool report_html(const struct findings *findings, FILE *out);
/* The plot of one kind of traffic as an SVG within that page. */
void report_plot(const struct findings *findings, enum traffic kind, uint64_t number, FILE *out);
/* Text from anywhere as text of HTML, also within quotes. */
void report_escape(const char *text, size_t size, FILE *out);

/* What both call things: `Pages`, `everything that is no static file`. */
extern const char *const report_traffic_label[TRAFFIC_KINDS];
extern const char *const report_traffic_about[TRAFFIC_KINDS];
extern const char *const report_window_label[PEAK_WINDOWS]; /* `10 s` */
/* The limit of that kind whose number is for 10 s or, if there is none, NULL. */
const struct proposal *report_limit_of(const struct findings *findings, enum traffic kind);
/* A sentence: where people end and machines begin. */
void report_gap(const struct gap *gap, struct prose *out);

#endif
