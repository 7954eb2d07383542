/*
 * Mistakes and warnings of one reading, collected, then told in the order of the files' lines.
 *
 * A line is `FILE:LINE:COLUMN: what was found; what would be right`; a warning has `warning: ` before what was found.
 */
#ifndef DROSSEL_POLICY_DIAGNOSE_H
#define DROSSEL_POLICY_DIAGNOSE_H

#include "policy/arena.h"

#define DIAGNOSES_MAX 1000 /* of each kind; the rest is counted: a list of a million faults helps nobody */

enum severity { MISTAKE = 0, WARNING = 1 };

struct place {
    const char *file;      /* lives as long as the arena */
    unsigned file_number;  /* 0: the policy; then the lists in the order they were read */
    unsigned line, column; /* from 1 */
    bool told;             /* what stands here was refused as a whole: nothing more is told of it */
};

struct diagnosis {
    struct place place;
    size_t serial; /* of one place, the first found comes first */
    const char *text;
};

struct diagnoses {
    struct policy_arena *arena;
    struct arena_list found[2]; /* struct diagnosis, by severity */
    size_t untold[2];           /* beyond DIAGNOSES_MAX */
};

void diagnose(struct diagnoses *diagnoses, enum severity severity, const struct place *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* All of one severity as malloc'ed lines; NULL if there are none.  Without memory: arena_fail. */
char *diagnoses_text(struct diagnoses *diagnoses, enum severity severity);

/* The name of `names` (NULL at its end) that `word` was probably meant to be, or NULL. */
const char *closest_name(struct drossel_text word, const char *const *names);

/* The name of which the word may be a slip of the pen, one or two edits away, or NULL; what is no mistake, but hardly meant. */
const char *slip_of(struct drossel_text word, const char *const *names);

/* `word` made fit for a message: control bytes, what is no UTF-8 and what turns text around are escaped, what is too long is cut off;
 * in the arena. */
const char *quotable(struct policy_arena *arena, struct drossel_text word);

#endif
