/*
 * Reads a log and fills a profile.
 */
#include "cli/suggest_survey.h"

#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/suggest_spool.h"

enum look { LOOK_FIRST, LOOK_BEHIND_PROXY, LOOK_AGAIN };

static bool take(struct survey *survey, const struct log_record *record, enum look look, unsigned kinds)
{
    static const struct drossel_text nameless = DROSSEL_TEXT("-");
    struct drossel_text client = proxies_client(&survey->proxies, record);
    if (client.size == 0)
        client = nameless;
    if (look == LOOK_AGAIN)
        return profile_arrive_again(survey->profile, record, client, kinds);
    if (look == LOOK_FIRST) {
        struct drossel_text path = traffic_path_of(record);
        unsigned found = traffic_of(survey->signs, record, path);
        if ((found & TRAFFIC_BIT(TRAFFIC_PAGE)) != 0)
            paths_arrive(survey->paths, record, path, (found & TRAFFIC_BIT(TRAFFIC_LOGIN)) != 0);
    }
    return profile_arrive(survey->profile, record, client);
}

static void note_formats(struct survey *survey, const struct logs *logs)
{
    size_t size = 0;
    for (size_t i = 0; i < logs_file_count(logs); i++) {
        const char *name = logs_file_format(logs, (uint32_t)i);
        if (name == NULL || strstr(survey->format, name) != NULL || size + strlen(name) + 3 > sizeof survey->format)
            continue;
        size +=
            (size_t)snprintf(survey->format + size, sizeof survey->format - size, "%s%s", size > 0 ? ", " : "", name);
    }
}

static void conclude(struct survey *survey, struct logs *logs, enum look look)
{
    if (look != LOOK_FIRST)
        return;
    survey->facts = *logs_facts(logs);
    note_formats(survey, logs);
    if (logs_error(logs) != NULL) {
        cli_complain("%s", logs_error(logs));
        survey->is_damaged = true;
    }
}

static bool read_log(struct survey *survey, enum look look, unsigned kinds)
{
    char error[1024] = "";
    struct log_record record;
    struct logs *logs =
        logs_open((const char *const *)survey->place, survey->count, &survey->options, error, sizeof error);
    bool good = true;
    while (logs != NULL && good && !progress_interrupted() && logs_next(logs, &record))
        good = take(survey, &record, look, kinds);
    progress_end(&survey->progress);
    survey->is_stopped |= progress_interrupted();
    if (logs == NULL) {
        if (!survey->is_stopped)
            cli_complain("%s", error);
        return survey->is_stopped;
    }
    if (!good)
        cli_complain("no memory for so many clients; suggest from a part of the log");
    conclude(survey, logs, look);
    survey->is_read = true;
    logs_close(logs);
    return good;
}

/* The clients that the proxies name; again, as long as these are proxies. */
static bool look_behind_proxies(struct survey *survey)
{
    bool good = true;
    do {
        if (!proxies_add(&survey->proxies, survey->profile))
            return true;
        profile_close(survey->profile);
        survey->profile = profile_open(survey->signs);
        good = survey->profile != NULL && read_log(survey, LOOK_BEHIND_PROXY, 0);
    } while (good && !survey->is_stopped && proxies_are_more(&survey->proxies));
    return good;
}

/* What a first look has taught. */
static bool look_again(struct survey *survey)
{
    if (survey->is_stopped)
        return true;
    bool is_behind = survey->facts.has_forwarded && proxy_suspected(survey->profile);
    unsigned kinds = paths_teach(survey->paths, survey->signs);
    if (is_behind)
        return look_behind_proxies(survey);
    if (kinds == 0)
        return true;
    profile_again(survey->profile, kinds);
    if (kinds == TRAFFIC_BIT(TRAFFIC_EXPENSIVE) && survey->signs->learned_costly.count == 0)
        return true;
    return read_log(survey, LOOK_AGAIN, kinds);
}

static void tell_skipped(void *context, const char *message)
{
    struct survey *survey = context;
    if (!survey->is_read) /* in the second look it was told before */
        cli_complain("%s", message);
    survey->is_damaged = true;
}

bool survey_run(struct survey *survey)
{
    survey->options.progress = progress_at;
    survey->options.context = &survey->progress;
    survey->options.skipped = tell_skipped;
    survey->options.skipped_context = survey;
    survey->signs = traffic_open();
    survey->paths = paths_open();
    survey->profile = survey->signs != NULL ? profile_open(survey->signs) : NULL;
    if (survey->profile == NULL || survey->paths == NULL) {
        cli_complain("no memory");
        return false;
    }
    progress_begin(&survey->progress);
    survey->place = spool_open(survey->path, survey->count);
    if (progress_interrupted()) { /* what came so far is a log, too */
        survey->is_stopped = true;
        progress_begin(&survey->progress);
    }
    bool good = survey->place != NULL && read_log(survey, LOOK_FIRST, 0) && look_again(survey);
    signal(SIGINT, SIG_DFL);
    return good;
}

void survey_release(struct survey *survey)
{
    if (survey->place != NULL)
        spool_close(survey->place, survey->count);
    proxies_release(&survey->proxies);
    if (survey->profile != NULL)
        profile_close(survey->profile);
    if (survey->paths != NULL)
        paths_close(survey->paths);
    if (survey->signs != NULL)
        traffic_close(survey->signs);
}
