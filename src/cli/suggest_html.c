/*
 * The findings as a page.
 */
#include "cli/suggest_report.h"
bool report_html(const struct findings *findings, FILE *out)
{
    (void)findings, (void)out;
    return true;
}
