/*
 * What kind of request a line of a log is: page or static file, and login attempt, API call, expensive.
 *
 * A static file is told by its ending, everything else is a page, a line without a request too.  Login attempts, API calls and expensive
 * requests are pages, of which a request may be several at once.  They are told by names that are usual for them, with
 * the same patterns that a proposed policy has for its classes, and by what a first look at the log has learned (suggest_paths.h).
 */
#ifndef DROSSEL_CLI_SUGGEST_TRAFFIC_H
#define DROSSEL_CLI_SUGGEST_TRAFFIC_H

#include "logs/logs.h"

enum traffic {
    TRAFFIC_ALL,
    TRAFFIC_PAGE,
    TRAFFIC_STATIC,
    TRAFFIC_LOGIN,   /* somebody tries a password */
    TRAFFIC_FAILURE, /* and it was wrong: an answer of 400, 401, 403 or 422, as is a policy's default */
    TRAFFIC_API,
    TRAFFIC_EXPENSIVE,
    TRAFFIC_KINDS
};
#define TRAFFIC_BIT(kind) (1u << (kind))

#define TRAFFIC_LEARNED_MOST 16

/* A path that counts as something because of what the log says about it. */
struct traffic_path {
    char *text;
    bool is_prefix; /* all that begins with it; else it alone */
};

struct traffic_paths {
    struct traffic_path item[TRAFFIC_LEARNED_MOST];
    size_t count;
};

struct traffic_signs {
    void *login, *api, *expensive;       /* compiled patterns */
    struct traffic_paths learned_login;  /* answered to POST as a login is */
    struct traffic_paths learned_costly; /* slow, or rarely from the cache */
    bool has_costs;                      /* the log tells what is expensive: its name does not count */
};

extern const char traffic_login_pattern[], traffic_api_pattern[], traffic_expensive_pattern[];
extern const char *const traffic_name[TRAFFIC_KINDS]; /* one word, for machines: page, static, login ... */
extern const char *const traffic_static_ending[];     /* without the dot; ends with NULL */

/* NULL without memory. */
struct traffic_signs *traffic_open(void);
void traffic_close(struct traffic_signs *signs);
/* Appends; false if there are too many already, or without memory. */
bool traffic_learn(struct traffic_paths *paths, struct drossel_text text, bool is_prefix);

/* Path of the request as it was asked for, without scheme, host, query and fragment; size 0 where there is none. */
struct drossel_text traffic_path_of(const struct log_record *record);
/* The page that such a path is to a policy: escapes undone, `//` and `/../` resolved.  The text lives until the next call. */
struct drossel_text traffic_page_of(struct drossel_text path);
bool traffic_is_static(struct drossel_text path);
bool traffic_is_failure(uint16_t status);
/* TRAFFIC_BITs of a record whose path it is. */
unsigned traffic_of(const struct traffic_signs *signs, const struct log_record *record, struct drossel_text path);

#endif
