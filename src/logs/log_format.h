/* Formats that are strings. */
#ifndef DROSSEL_LOGS_LOG_FORMAT_H
#define DROSSEL_LOGS_LOG_FORMAT_H

#include "logs/format.h"

/* Of any string: its open takes it as `text`.  Not in the list, as it has no name to be asked for. */
extern const struct log_format log_format_string;

#endif
