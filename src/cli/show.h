/* What the files of `drossel show` share: a look at the live table. */
#ifndef DROSSEL_CLI_SHOW_H
#define DROSSEL_CLI_SHOW_H

#include <jansson.h>

#include "cli/live.h"
#include "cli/live_key.h"
#include "cli/live_limits.h"

/* What is sorted; the key itself is read again when its turn comes. */
struct show_ranked {
    uint32_t worth;
    uint64_t slot;
};

struct show_view {
    struct table *table;
    const char *limit; /* NULL: all */
    bool all_limits;   /* the table's own as well */
    uint64_t now_ns;
    struct show_ranked *key;
    size_t count, cap;
    uint64_t used; /* slots */
    struct live_limits *limits;
    struct live_past *past;
    /* of the look before this one, for rates; since_ns 0: there was none */
    uint64_t since_ns;
    uint64_t *passed, *stopped; /* of each limit, by its place in `limits` */
    int name_width;             /* of the column with the limits' names */
};

/* Is what a registry entry means to be shown? */
bool show_is_wanted(const struct show_view *view, uint16_t limit);

/* How many rows of `count`, each so many columns wide, fit the terminal beside `kept` others of that width: on a narrow one a row
 * takes several lines.  All of them in a pipe or with `all`. */
size_t show_rows(bool all, size_t kept, size_t count, int width);

/* The limits with their verdicts; who would have been refused. */
void show_print_limits(const struct show_view *view);
void show_print_dry_run(const struct show_view *view, bool all);

/* One JSON object with everything, or with the offenders of dry runs only; `compact` on one line.  False after complaining. */
bool show_print_json(const struct show_view *view, bool dry_run, bool compact);

/* How many a second since the look before; false if there was none. */
bool show_rate(const struct show_view *view, const struct live_limit *limit, double *passed, double *stopped);

#endif
