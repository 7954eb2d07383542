/* How far the reading of a log is: a bar on a terminal's standard error, nothing elsewhere. */
#ifndef DROSSEL_CLI_SUGGEST_PROGRESS_H
#define DROSSEL_CLI_SUGGEST_PROGRESS_H

#include <stdint.h>

void bar_show(uint64_t done, uint64_t total);
void bar_end(void); /* the line is empty again */

#endif
