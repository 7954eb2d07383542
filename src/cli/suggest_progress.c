/*
 * How far the reading of a log is.
 */
#include "cli/suggest_progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR 40

static unsigned shown; /* percent + 1; 0: nothing stands there */

void bar_show(uint64_t done, uint64_t total)
{
    if (total == 0 || isatty(STDERR_FILENO) == 0)
        return;
    unsigned percent = done >= total ? 100 : (unsigned)((double)done * 100 / (double)total);
    if (percent + 1 == shown)
        return;
    int filled = (int)percent * BAR / 100;
    fprintf(stderr, "\rreading [%.*s%*s] %3u%%", filled, "========================================", BAR - filled, "",
            percent);
    fflush(stderr);
    shown = percent + 1;
}

void bar_end(void)
{
    if (shown != 0)
        fprintf(stderr, "\r%*s\r", BAR + 16, "");
    shown = 0;
}
