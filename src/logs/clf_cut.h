/* The anchors of a line of the Common Log Format's family; private to clf.c. */
#ifndef DROSSEL_LOGS_CLF_CUT_H
#define DROSSEL_LOGS_CLF_CUT_H

#include "logs/format.h"

struct clf {
    struct log_stamp_cache cache;
    bool host_first; /* vhost_combined, by name: the first word is never the client */
};

/* A line taken apart at its two anchors. */
struct clf_cut {
    bool plain;                  /* the head is `client - - ` */
    struct drossel_text head;    /* before the time */
    struct drossel_text request; /* between its quotes */
    struct drossel_text tail;    /* behind the request */
    struct log_stamp stamp;
};

/* Head and time; `rest` is what follows the bracket.  False: there is no time in brackets, or nothing before it. */
bool clf_cut_head(struct clf *clf, struct drossel_text line, struct clf_cut *cut, struct drossel_text *rest);

/* Request and tail: what stands between the first quote and the one that closes it.  Something has to follow. */
bool clf_cut_request(struct drossel_text rest, struct clf_cut *cut);

/* Is a request there, seen at a glance: nothing escaped up to its closing quote, and a status behind it?  False: look closer. */
bool clf_has_plain_request(struct drossel_text rest);

/* The quote that closes what began at p: one with an even number of backslashes before it.  NULL: none. */
const char *clf_closing_quote(const char *p, const char *end);

/* Does a status stand at p, as it does behind a request?  ` 200 ` or ` - `. */
bool clf_status_follows(const char *p, const char *end);

#endif
