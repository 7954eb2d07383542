/*
 * drossel replay: what a policy would have done to recorded requests.  A table of its own, the events' own time.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/door.h"
#include "cli/events.h"
#include "cli/seconds.h"
#include "cli/tally.h"
#include "limiter.h"

#define KEYS_LEAST (UINT64_C(1) << 16)
#define KEYS_MOST (UINT64_C(1) << 23)
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

static void print_names(FILE *out, const struct drossel_decision *decision)
{
    uint32_t count = decision->dry_run_count < DROSSEL_DRY_RUNS ? decision->dry_run_count : DROSSEL_DRY_RUNS;
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "%s\"%s\"", i > 0 ? "," : "", decision->dry_run[i]);
}

/* What the client would have got: the application's answer if the request gets there. */
static unsigned status_of(const struct event *event, const struct drossel_decision *decision)
{
    if (decision->verdict == DROSSEL_DROP)
        return 0;
    if (decision->verdict == DROSSEL_REFUSE)
        return decision->status;
    return event->status != 0 ? event->status : 200;
}

/* Limits' names need no escapes: letters, digits and `._-`. */
static void print_decision(FILE *out, const struct event *event, const struct drossel_decision *decision)
{
    char wait[SECONDS_TEXT] = "null", delay[SECONDS_TEXT];
    if (decision->wait_ns != DROSSEL_NEVER)
        seconds_format(decision->wait_ns, wait);
    seconds_format(decision->delay_ns, delay);
    fprintf(out, "{\"t\":%s,\"verdict\":\"%s\",", event->t_text, drossel_verdict_name(decision->verdict));
    if (decision->limit_name != NULL)
        fprintf(out, "\"limit\":\"%s\",\"remaining\":%llu,", decision->limit_name,
                (unsigned long long)decision->remaining);
    else
        fputs("\"limit\":null,\"remaining\":null,", out);
    fprintf(out, "\"retry_after\":%s,\"delay\":%s,\"dry_run\":[", wait, delay);
    print_names(out, decision);
    fprintf(out, "],\"status\":%u}\n", status_of(event, decision));
}

static bool decide(struct replay *replay, struct limiter *limiter, const struct event *event)
{
    struct drossel_request request;
    struct drossel_decision decision;
    event_request(event, replay->door, &request);
    if (replay->tally != NULL && !tally_before(replay->tally, limiter, &request))
        return false;
    if (limiter_check(limiter, &request, &decision) != DROSSEL_OK)
        return false;
    if (replay->tally != NULL && !tally_after(replay->tally, event, &decision))
        return false;
    if (replay->decisions != NULL)
        print_decision(replay->decisions, event, &decision);
    return true;
}

static bool decide_all(struct replay *replay, struct table *table)
{
    char error[1024] = "";
    struct limiter *limiter = limiter_open(replay->policy, table, error, sizeof error);
    if (limiter == NULL) {
        cli_complain("%s", error);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < events_count(replay->events) && good; i++)
        good = decide(replay, limiter, events_at(replay->events, i));
    if (!good)
        cli_complain("no memory to decide all events");
    limiter_close(limiter);
    return good;
}

/* Each event may make a key for each limit. */
static uint64_t keys_wanted(const struct replay *replay)
{
    uint64_t each = (replay->policy->rate_count > 0 ? replay->policy->rate_count : 1) * KEYS_SPARE;
    uint64_t events = events_count(replay->events);
    uint64_t keys = events > KEYS_MOST / each ? KEYS_MOST : events * each;
    return keys < KEYS_LEAST ? KEYS_LEAST : keys;
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
    struct table_options private = { .keys = keys_wanted(replay), .group = (gid_t)-1, .owner = (uid_t)-1 };
    struct table *table = events_sort(replay->events) ? table_open(&private, error, sizeof error) : NULL;
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
