/*
 * What `drossel top` knows: rates and their history for each limit, and the keys that are closest to their limit.  Without a
 * terminal and without a clock of its own, so that tests hold both.
 *
 * A table may have millions of slots.  They are looked through in passes, a bounded number at a time, while the screen lives on;
 * a pass keeps the TOP_KEYS keys worth most.  What is shown are the keys of the last whole pass (of the running one, as long as
 * there is none), each read anew at every look.  `scanned_ns` tells how fresh the choice is.
 *
 * Nothing here writes to the table.
 */
#ifndef DROSSEL_CLI_TOP_MODEL_H
#define DROSSEL_CLI_TOP_MODEL_H

#include "cli/live_key.h"
#include "cli/live_limits.h"

#define TOP_KEYS 1000
#define TOP_HISTORY 60
#define TOP_FILTER_BYTES 64
#define TOP_FOCUS 64

struct top_rate {
    double passed, stopped;              /* a second, in the last interval; dry runs included */
    uint64_t all_passed, all_stopped;    /* the sums then */
    float history[TOP_HISTORY];          /* of both, the newest last */
    float history_stopped[TOP_HISTORY];
};

enum top_order { TOP_CLOSEST = 0, TOP_USED, TOP_WAIT, TOP_STOPPED, TOP_LATEST, TOP_NAME, TOP_ORDERS };
extern const char *const top_order_names[TOP_ORDERS];

struct top_ranked {
    uint32_t worth;
    uint64_t slot, tag;
};

/* One key as it is shown. */
struct top_key {
    struct live_key live;
    uint32_t worth;
    bool is_dry_run;         /* its limit is */
    uint64_t stopped;        /* so often, or would have been */
    uint64_t last_ns;        /* when it was the last time; 0: never */
};

struct top_model {
    struct table *table;
    struct live_limits *limits;
    struct live_past *past;
    struct top_rate *rate;           /* of each limit, by its place in `limits` */
    struct top_rate total;
    uint64_t sampled_ns;             /* 0: not yet */
    unsigned samples;                /* of the history */

    /* the passes */
    struct top_ranked heap[TOP_KEYS];    /* of the running one; the one worth least on top */
    uint32_t heap_count;
    uint64_t scan_at, scan_used;
    struct top_ranked chosen[TOP_KEYS];  /* of the last whole one */
    uint32_t chosen_count;
    uint64_t scanned_ns;             /* when it ended; 0: there was none */
    uint64_t used;                   /* slots, in it */

    /* what is asked for */
    char filter[TOP_FILTER_BYTES];   /* part of a limit's or a key's name, upper and lower case alike; "": all */
    enum top_order order;
    char focus[TABLE_NAME_BYTES + 1];    /* all limits of the key of this name are looked for; "": of none */
    struct top_ranked focused[TOP_FOCUS], focus_heap[TOP_FOCUS];
    uint32_t focused_count, focus_heap_count;

    struct top_key key[TOP_KEYS];    /* in order; see top_model_arrange */
    uint32_t key_count;
};

/* NULL without memory.  The table is the caller's. */
struct top_model *top_model_open(struct table *table);
void top_model_close(struct top_model *model);

/* Takes a sample of all rates, and reads who was stopped.  Once a second or so; within TOP_SAMPLE_LEAST_NS of the last one nothing
 * happens. */
#define TOP_SAMPLE_LEAST_NS UINT64_C(500000000)
void top_model_sample(struct top_model *model, uint64_t now_ns);

/* Looks at up to `slots` more.  True when this ended a pass. */
bool top_model_scan(struct top_model *model, uint64_t slots, uint64_t now_ns);
/* How far the running pass is, 0 to 1. */
double top_model_progress(const struct top_model *model);

/* Reads the chosen keys anew, filters and sorts them into `key`. */
void top_model_arrange(struct top_model *model, uint64_t now_ns);

/* Changes the filter; the next pass chooses by it. */
void top_model_filter(struct top_model *model, const char *filter);
/* Looks for all limits of the key of that name from now on; "" stops it. */
void top_model_focus(struct top_model *model, const char *name);
/* Reads the focused key's limits into `key`; returns how many. */
uint32_t top_model_focused(struct top_model *model, uint64_t now_ns, struct top_key key[TOP_FOCUS]);

#endif
