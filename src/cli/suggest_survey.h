/*
 * Reads a log and fills a profile: once, and a second time where the first look taught what is what (paths of logins and of expensive
 * pages, a proxy in front).
 */
#ifndef DROSSEL_CLI_SUGGEST_SURVEY_H
#define DROSSEL_CLI_SUGGEST_SURVEY_H

#include "cli/replay_progress.h"
#include "cli/suggest_paths.h"
#include "cli/suggest_profile.h"
#include "cli/suggest_proxy.h"

struct survey {
    const char *const *path;       /* of the log's files */
    size_t count;
    struct logs_options options;   /* progress and context are set by survey_run */
    struct progress progress;
    char **place;                  /* where they can be read twice; set by survey_run */
    /* What came of it: */
    struct traffic_signs *signs;
    struct paths *paths;
    struct profile *profile;
    struct logs_facts facts;       /* of the first look */
    char format[64];               /* what was recognised, comma-separated */
    struct proxies proxies;        /* behind which clients were looked for */
    bool is_stopped;               /* by Ctrl-C */
    bool is_read;                  /* the first look is over */
    bool is_damaged;               /* a file could not be read, or not to its end; that was complained about */
};

/* False with a complaint; survey_release is right in either case. */
bool survey_run(struct survey *survey);
void survey_release(struct survey *survey);

#endif
