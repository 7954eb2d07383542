/*
 * drossel replay: what a policy would have done to recorded requests.  A table of its own, the events' own time.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/course.h"
#include "cli/door.h"
#include "cli/events.h"
#include "cli/tally.h"
#include "cli/verdicts.h"
#include "limiter.h"

#define KEYS_LEAST (UINT64_C(1) << 16)
#define KEYS_MOST (UINT64_C(1) << 23)
#define SHIFT_MOST_NS (UINT64_C(1) << 61)
#define KEYS_SPARE UINT64_C(8) /* slots for each key that may come, so that hardly a neighbourhood is ever full */

struct replay_values {
    const char *policy, *format, *decisions, *door;
    bool json;
};

static const struct cli_option options[] = {
    { "policy", CLI_TEXT, offsetof(struct replay_values, policy), "FILE", "the policy to try" },
    { "format", CLI_TEXT, offsetof(struct replay_values, format), "NAME", "of the files: events (default)" },
    { "decisions", CLI_TEXT, offsetof(struct replay_values, decisions), "FILE",
      "write one decision a line, - for standard output" },
    { "json", CLI_FLAG, offsetof(struct replay_values, json), NULL, "print the summary as one JSON object" },
    { "door", CLI_TEXT, offsetof(struct replay_values, door), "NAME", "where requests arrive (default nginx)" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* A replay under way. */
struct replay {
    const struct policy *policy;
    struct events *events;
    enum drossel_door door;
    FILE *decisions;     /* NULL: not wanted */
    struct tally *tally; /* NULL: not wanted */
};

static bool decide_all(struct replay *replay, struct table *table)
{
    char error[1024] = "";
    struct course course = { limiter_open(replay->policy, table, error, sizeof error), replay->events, replay->door,
                             NULL, replay->tally };
    if (course.limiter == NULL) {
        cli_complain("%s", error);
        return false;
    }
    if (replay->decisions != NULL)
        course.verdicts = verdicts_open(replay->decisions, replay->policy, events_count(replay->events));
    bool good = (replay->decisions == NULL || course.verdicts != NULL) && course_run(&course);
    if (!good)
        cli_complain("no memory to decide all events");
    if (course.verdicts != NULL)
        verdicts_close(course.verdicts);
    limiter_close(course.limiter);
    return good;
}

/* Each event may make a key for each rate; where failures are counted one for its open outcomes as well, and a ticket. */
static uint64_t keys_wanted(const struct replay *replay)
{
    uint64_t rates = replay->policy->rate_count > 0 ? replay->policy->rate_count : 1;
    uint64_t each = (replay->policy->has_failures ? 2 * rates + 1 : rates) * KEYS_SPARE;
    uint64_t events = events_count(replay->events);
    uint64_t keys = events > KEYS_MOST / each ? KEYS_MOST : events * each;
    return keys < KEYS_LEAST ? KEYS_LEAST : keys;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A time that changes no window when all events are put off by it: all windows on the clock begin in it as at 0.  If there
 * is none to be had, the least. */
static uint64_t whole_windows(const struct policy *policy)
{
    uint64_t whole_ns = 1000000000;
    for (uint32_t i = 0; i < policy->rate_count; i++) {
        const struct engine_spec *spec = &policy->rates[i].engine.spec;
        if (spec->algorithm != ENGINE_FIXED || (spec->flags & ENGINE_FROM_FIRST) != 0)
            continue;
        uint64_t times = spec->period_ns / common_divisor(whole_ns, spec->period_ns);
        if (times > SHIFT_MOST_NS / whole_ns)
            return 1;
        whole_ns *= times;
    }
    return whole_ns;
}

/* Whoever is held is asked again with the time when he came, and 0 is none. */
static bool sort_events(struct replay *replay)
{
    if (!events_sort(replay->events))
        return false;
    if (!replay->policy->has_failures || events_count(replay->events) == 0 || events_at(replay->events, 0)->t_ns > 0)
        return true;
    events_shift(replay->events, whole_windows(replay->policy));
    return true;
}

static void warn_of_evictions(const struct table *table)
{
    struct table_counts counts;
    table_counts(table, &counts);
    uint64_t lost = counts.evicted_live + counts.evicted_full + counts.evicted_blocked;
    if (lost > 0)
        cli_complain("%llu keys had to make room for others: so many keys at once are more than a replay holds; "
                     "split the events by client for an exact answer",
                     (unsigned long long)lost);
}

static bool run_events(struct replay *replay)
{
    char error[1024] = "";
    struct table_options private = {
        .keys = keys_wanted(replay), .no_stats = true, .group = (gid_t)-1, .owner = (uid_t)-1
    };
    struct table *table = sort_events(replay) ? table_open(&private, error, sizeof error) : NULL;
    if (table == NULL) {
        cli_complain("%s", *error != '\0' ? error : "no memory for so many events");
        return false;
    }
    bool good = decide_all(replay, table);
    warn_of_evictions(table);
    table_close(table);
    return good;
}

static bool read_all(struct replay *replay, char **path, int count)
{
    replay->events = events_open();
    for (int i = 0; i < count && replay->events != NULL; i++)
        if (!events_read(replay->events, path[i]))
            return false;
    return replay->events != NULL;
}

static bool print_summary(const struct replay *replay, bool as_json)
{
    size_t unparsed = events_unparsed(replay->events);
    tally_conclude(replay->tally);
    if (!as_json) {
        tally_print(replay->tally, unparsed, stdout);
        return true;
    }
    json_t *object = tally_json(replay->tally, unparsed);
    if (object == NULL || json_dumpf(object, stdout, JSON_INDENT(2)) != 0) {
        cli_complain("the summary could not be written");
        return false;
    }
    putchar('\n');
    json_decref(object);
    return true;
}

static bool replay_all(struct replay *replay, const struct replay_values *values, char **path, int count)
{
    if (!read_all(replay, path, count) || !run_events(replay))
        return false;
    if (replay->tally != NULL && !print_summary(replay, values->json))
        return false;
    if (replay->decisions != NULL && (fflush(replay->decisions) != 0 || ferror(replay->decisions))) {
        cli_complain("%s: the decisions could not be written: %s", values->decisions, strerror(errno));
        return false;
    }
    return events_unparsed(replay->events) == 0;
}

static bool open_decisions(struct replay *replay, const char *path)
{
    if (path == NULL)
        return true;
    replay->decisions = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (replay->decisions == NULL)
        cli_complain("%s: %s", path, strerror(errno));
    return replay->decisions != NULL;
}

static int with_policy(struct replay *replay, const struct replay_values *values, char **path, int count)
{
    char *mistakes = NULL, *warnings = NULL;
    bool good = false;
    struct policy *policy = policy_open(values->policy, &mistakes, &warnings);
    replay->policy = policy;
    if (policy == NULL)
        cli_print_lines(stderr, mistakes != NULL ? mistakes : "the policy cannot be opened");
    else if (open_decisions(replay, values->decisions)) {
        bool summary = values->json || values->decisions == NULL;
        replay->tally = summary ? tally_open(policy) : NULL;
        if (replay->tally != NULL)
            tally_warn(replay->tally, warnings);
        good = (!summary || replay->tally != NULL) && replay_all(replay, values, path, count);
    }
    if (replay->tally != NULL)
        tally_close(replay->tally);
    if (replay->events != NULL)
        events_close(replay->events);
    if (replay->decisions != NULL && replay->decisions != stdout)
        fclose(replay->decisions);
    if (policy != NULL)
        policy_close(policy);
    free(mistakes);
    free(warnings);
    return good ? CLI_DONE : CLI_FAILED;
}

static int run_replay(int argc, char **argv)
{
    struct replay_values values = { 0 };
    struct replay replay = { 0 };
    char **operand;
    int count, code;
    if (!cli_parse(&cli_replay, argc, argv, &values, &operand, &count, &code))
        return code;
    if (values.policy == NULL)
        return cli_misuse(&cli_replay, "--policy FILE is missing");
    if (values.format != NULL && strcmp(values.format, "events") != 0)
        return cli_misuse(&cli_replay, "there is no format %s; only `events` is there now", values.format);
    if (values.json && values.decisions != NULL && strcmp(values.decisions, "-") == 0)
        return cli_misuse(&cli_replay, "--json and --decisions - both want standard output; give --decisions a file");
    if (!door_parse(values.door, &replay.door))
        return cli_misuse(&cli_replay, "there is no door %s; there are %s", values.door, door_names());
    return with_policy(&replay, &values, operand, count);
}

const struct cli_command cli_replay = { "replay",  "EVENTS...", "what a policy would have done to recorded requests",
                                        options,   1,           -1,
                                        run_replay };
