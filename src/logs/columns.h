/* Lines of columns that stand between blanks: some of them in quotes or brackets, with blanks of their own. */
#ifndef DROSSEL_LOGS_COLUMNS_H
#define DROSSEL_LOGS_COLUMNS_H

#include "logs/format.h"

#define LOG_COLUMNS_MOST 64

struct log_columns {
    struct drossel_text text[LOG_COLUMNS_MOST]; /* without quotes and brackets, escapes as they stand */
    char opened[LOG_COLUMNS_MOST];              /* `"`, `[`, or 0 */
    size_t count;                               /* those beyond LOG_COLUMNS_MOST are left out */
    bool is_torn;                               /* the last one is not closed */
};

enum log_separator {
    COLUMNS_BARE,  /* between blanks, whatever stands in them; `"` around a whole column is taken off */
    COLUMNS_PLAIN, /* between blanks; `"` only where a column begins and ends with it, "" inside */
    COLUMNS_QUOTED, /* between blanks; quotes with \" inside, brackets */
    COLUMNS_TABBED
};

void log_columns_split(struct drossel_text line, enum log_separator separator, struct log_columns *columns);

/* Column `index`; absent (`-`, or behind the last): size 0. */
struct drossel_text log_column(const struct log_columns *columns, size_t index);

#endif
