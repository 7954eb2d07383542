/* Which format is a file written in? */
#ifndef DROSSEL_LOGS_FORMATS_H
#define DROSSEL_LOGS_FORMATS_H

#include "logs/format.h"

/* NULL: there is none of this name. */
const struct log_format *format_named(const char *name);

/* By its first lines: each format says how sure it is of each line, and the greatest sum wins; of equals the first in the list.  NULL: none
 * knew a single line. */
const struct log_format *format_recognised(const char *data, size_t size);

#endif
