/*
 * drossel replay: what a policy would have done to recorded requests.  A table of its own, the requests' own time.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/door.h"
#include "cli/replay_compare.h"
#include "cli/replay_input.h"
#include "cli/replay_side.h"

#define KEYS_LEAST (UINT64_C(1) << 16)
#define KEYS_UNKNOWN (UINT64_C(1) << 22) /* where nothing can be done twice, and nobody knows how many will come */
#define KEYS_EVENTS (UINT64_C(1) << 23)
#define KEYS_MOST (UINT64_C(1) << 27)
#define KEYS_SPARE UINT64_C(8) /* slots for each key that may come, so that hardly a neighbourhood is ever full */
#define KEYS_GROW 16
#define LOOK_EACH 4096 /* events between two looks at the table */
#define TOP 10

struct replay_values {
    const char *policy, *compare, *format, *map, *order, *decisions, *refused, *door, *top;
    bool json;
};

static const struct cli_option options[] = {
    { "policy", CLI_TEXT, offsetof(struct replay_values, policy), "FILE", "the policy to try" },
    { "compare", CLI_TEXT, offsetof(struct replay_values, compare), "FILE",
      "another one, to see who is hit by only one" },
    { "format", CLI_TEXT, offsetof(struct replay_values, format), "NAME",
      "of the files: a name, or a log_format; default: recognised" },
    { "map", CLI_TEXT, offsetof(struct replay_values, map), "LIST", "names in a JSON log: time=ts,client=ip,..." },
    { "order", CLI_TEXT, offsetof(struct replay_values, order), "ORDER",
      "time (default), or file: as the lines stand" },
    { "decisions", CLI_TEXT, offsetof(struct replay_values, decisions), "FILE",
      "write one decision a line, - for standard output" },
    { "refused", CLI_TEXT, offsetof(struct replay_values, refused), "FILE",
      "write the lines that are refused, or would be but for a dry run" },
    { "json", CLI_FLAG, offsetof(struct replay_values, json), NULL, "print the report as one JSON object" },
    { "top", CLI_TEXT, offsetof(struct replay_values, top), "N",
      "keys of each limit in the JSON (default 10), or all" },
    { "door", CLI_TEXT, offsetof(struct replay_values, door), "NAME", "where requests arrive (default nginx)" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* A replay under way. */
struct replay {
    struct replay_side side[2];
    int sides;
    struct replay_input *input;
    struct replay_compare compare;
    struct progress progress;
    enum drossel_door door;
    enum logs_order order;
    size_t top;
    bool is_partial; /* it was interrupted */
};

enum pass { PASS_DONE, PASS_CROWDED, PASS_FAILED };

/* ---- one pass over the input ---- */

static bool is_crowded(const struct replay *replay)
{
    for (int i = 0; i < replay->sides; i++)
        if (side_lost(&replay->side[i]) > 0)
            return true;
    return false;
}

static bool take(struct replay *replay, const struct event *event)
{
    for (int i = 0; i < replay->sides; i++)
        if (!course_take(&replay->side[i].course, event))
            return false;
    return true;
}

static bool end(struct replay *replay)
{
    for (int i = 0; i < replay->sides; i++)
        if (!course_end(&replay->side[i].course))
            return false;
    return true;
}

/* Where a limit counts failures no event may be at 0. */
static uint64_t shift_of(struct replay *replay)
{
    uint64_t shift_ns = 0;
    if (replay_input_first(replay->input) != 0)
        return 0;
    for (int i = 0; i < replay->sides; i++) {
        uint64_t other_ns = side_shift(&replay->side[i]);
        shift_ns = other_ns > shift_ns ? other_ns : shift_ns;
    }
    return shift_ns;
}

static enum pass go(struct replay *replay, bool may_grow)
{
    const struct event *event;
    uint64_t shift_ns = shift_of(replay);
    for (uint64_t count = 1; (event = replay_input_next(replay->input, shift_ns)) != NULL; count++) {
        if (!take(replay, event)) {
            cli_complain("no memory to decide all requests");
            return PASS_FAILED;
        }
        if (may_grow && count % LOOK_EACH == 0 && is_crowded(replay))
            return PASS_CROWDED;
    }
    if (!end(replay)) {
        cli_complain("no memory to decide all requests");
        return PASS_FAILED;
    }
    return may_grow && !progress_interrupted() && is_crowded(replay) ? PASS_CROWDED : PASS_DONE;
}

static bool begin(struct replay *replay, uint64_t keys)
{
    for (int i = 0; i < replay->sides; i++)
        if (!side_begin(&replay->side[i], keys, replay->door, replay_input_names(replay->input)))
            return false;
    if (replay->sides == 2)
        compare_begin(&replay->compare, &replay->side[0], &replay->side[1]);
    return true;
}

/* ---- as large a table as it takes ---- */

static bool can_rewind(FILE *out)
{
    struct stat about;
    return out == NULL || (fstat(fileno(out), &about) == 0 && S_ISREG(about.st_mode));
}

static bool wipe(FILE *out)
{
    return out == NULL || (fflush(out) == 0 && ftruncate(fileno(out), 0) == 0 && fseek(out, 0, SEEK_SET) == 0);
}

/* Each event may make a key for each rate; where failures are counted one for its open outcomes as well, and a ticket. */
static uint64_t keys_of(const struct replay *replay, bool may_grow)
{
    uint64_t events = replay_input_most(replay->input), most = 1;
    for (int i = 0; i < replay->sides; i++) {
        const struct policy *policy = replay->side[i].policy;
        uint64_t rates = policy->rate_count > 0 ? policy->rate_count : 1;
        uint64_t each = (policy->has_failures ? 2 * rates + 1 : rates) * KEYS_SPARE;
        most = each > most ? each : most;
    }
    uint64_t enough = events > KEYS_EVENTS / most ? KEYS_EVENTS : events * most;
    if (events == UINT64_MAX)
        enough = may_grow ? KEYS_LEAST : KEYS_UNKNOWN;
    return enough < KEYS_LEAST ? KEYS_LEAST : enough;
}

/* A key that had to make room for another may have been let off: then all begins anew with a larger table, which is soon known
 * and costs little, and keeps a log of few keys within the processor's cache. */
static bool start_over(struct replay *replay)
{
    struct replay_side *side = &replay->side[0];
    for (int i = 0; i < replay->sides; i++)
        side_drop(&replay->side[i]);
    if (wipe(side->decisions) && wipe(side->refused))
        return replay_input_rewind(replay->input);
    cli_complain("a file of decisions or of refused lines cannot be written anew: %s", strerror(errno));
    return false;
}

static void warn_of_lost(const struct replay *replay)
{
    uint64_t lost = side_lost(&replay->side[0]);
    if (lost > 0)
        cli_complain("%llu keys had to make room for others: so many keys at once are more than a replay holds; "
                     "split the log by client for an exact answer",
                     (unsigned long long)lost);
}

static bool run_all(struct replay *replay)
{
    bool may_grow = replay_input_can_rewind(replay->input) && can_rewind(replay->side[0].decisions) &&
                    can_rewind(replay->side[0].refused);
    uint64_t keys = keys_of(replay, may_grow);
    enum pass pass = PASS_FAILED;
    while (begin(replay, keys)) {
        pass = go(replay, may_grow && keys < KEYS_MOST);
        if (pass != PASS_CROWDED || !start_over(replay))
            break;
        keys *= KEYS_GROW;
    }
    progress_end(&replay->progress);
    replay->is_partial = progress_interrupted();
    if (pass == PASS_DONE)
        warn_of_lost(replay);
    return pass == PASS_DONE;
}

/* ---- the report ---- */

static json_t *report_json(const struct replay *replay, const struct tally_input *told)
{
    json_t *object = tally_json(replay->side[0].course.tally, told);
    if (object != NULL && replay->sides == 2)
        json_object_set_new(object, "compare", compare_json(&replay->compare, told));
    return object;
}

static bool report(struct replay *replay, bool as_json)
{
    struct tally_input told = { .top = replay->top, .is_partial = replay->is_partial };
    replay_input_tell(replay->input, &told);
    for (int i = 0; i < replay->sides; i++)
        tally_conclude(replay->side[i].course.tally, &told);
    if (!as_json) {
        tally_print(replay->side[0].course.tally, &told, stdout);
        if (replay->sides == 2)
            compare_print(&replay->compare, stdout);
        return true;
    }
    json_t *object = report_json(replay, &told);
    bool good = object != NULL && json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) == 0;
    json_decref(object);
    fputc('\n', stdout);
    if (!good)
        cli_complain("the report could not be written");
    return good;
}

/* ---- from the command line ---- */

static bool open_out(FILE **out, const char *path)
{
    if (path == NULL)
        return true;
    *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (*out == NULL)
        cli_complain("%s: %s", path, strerror(errno));
    return *out != NULL;
}

static bool close_out(FILE *out, const char *path)
{
    if (out == NULL)
        return true;
    bool good = fflush(out) == 0 && ferror(out) == 0;
    if (out != stdout)
        good &= fclose(out) == 0;
    if (!good)
        cli_complain("%s: it could not be written: %s", path, strerror(errno));
    return good;
}

static bool open_sides(struct replay *replay, const struct replay_values *values)
{
    bool is_told = values->json || values->decisions == NULL || values->compare != NULL || values->refused != NULL;
    const char *path[2] = { values->policy, values->compare };
    replay->sides = values->compare != NULL ? 2 : 1;
    bool good = true;
    for (int i = 0; i < replay->sides; i++) {
        replay->side[i].has_tally = is_told;
        good &= side_open(&replay->side[i], path[i]);
    }
    return good && open_out(&replay->side[0].decisions, values->decisions) &&
           open_out(&replay->side[0].refused, values->refused);
}

static int replay_files(struct replay *replay, const struct replay_values *values, char **path, int count)
{
    struct replay_input_options input = {
        .format = values->format, .map = values->map, .order = replay->order, .progress = &replay->progress
    };
    bool is_told = values->json || values->compare != NULL || (values->decisions == NULL && values->refused == NULL);
    progress_begin(&replay->progress);
    replay->input = replay_input_open(path, count, &input);
    if (replay->input == NULL || !run_all(replay))
        return CLI_FAILED;
    bool good = (!is_told || report(replay, values->json));
    good &= replay_input_is_whole(replay->input);
    if (replay->is_partial)
        return CLI_INTERRUPTED;
    return good ? CLI_DONE : CLI_FAILED;
}

static int run_with(struct replay *replay, const struct replay_values *values, char **path, int count)
{
    int code = open_sides(replay, values) ? replay_files(replay, values, path, count) : CLI_FAILED;
    if (!close_out(replay->side[0].decisions, values->decisions) ||
        !close_out(replay->side[0].refused, values->refused))
        code = CLI_FAILED;
    compare_release(&replay->compare);
    for (int i = 0; i < 2; i++)
        side_close(&replay->side[i]);
    if (replay->input != NULL)
        replay_input_close(replay->input);
    return code;
}

static bool parse_order(const char *text, enum logs_order *order)
{
    *order = text != NULL && strcmp(text, "file") == 0 ? LOGS_AS_FILED : LOGS_BY_TIME;
    return text == NULL || *order == LOGS_AS_FILED || strcmp(text, "time") == 0;
}

static bool parse_top(const char *text, size_t *top)
{
    char *rest;
    *top = TOP;
    if (text == NULL)
        return true;
    if (strcmp(text, "all") == 0) {
        *top = SIZE_MAX;
        return true;
    }
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *top = (size_t)strtoull(text, &rest, 10);
    return errno == 0 && *rest == '\0';
}

static bool is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* A slip in the order of the words must not cost a log. */
static bool would_overwrite(const struct replay_values *values, char **log, int count)
{
    char *policies[] = { (char *)(uintptr_t)values->policy, (char *)(uintptr_t)values->compare };
    return cli_overwrites(&cli_replay, "decisions", values->decisions, log, count) ||
           cli_overwrites(&cli_replay, "refused", values->refused, log, count) ||
           cli_overwrites(&cli_replay, "decisions", values->decisions, policies, 2) ||
           cli_overwrites(&cli_replay, "refused", values->refused, policies, 2);
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
    if (values.json && is_stdout(values.decisions))
        return cli_misuse(&cli_replay, "--json and --decisions - both want standard output; give --decisions a file");
    if (is_stdout(values.refused) && (values.json || is_stdout(values.decisions)))
        return cli_misuse(&cli_replay, "--refused - and another both want standard output; give --refused a file");
    if (would_overwrite(&values, operand, count))
        return CLI_USAGE;
    if (values.decisions != NULL && values.refused != NULL && strcmp(values.decisions, values.refused) == 0)
        return cli_misuse(&cli_replay, "--decisions and --refused both want %s; name two files", values.refused);
    if (!parse_order(values.order, &replay.order))
        return cli_misuse(&cli_replay, "there is no order %s; there are time and file", values.order);
    if (!parse_top(values.top, &replay.top))
        return cli_misuse(&cli_replay, "--top %s is no number; write one, or all", values.top);
    if (!door_parse(values.door, &replay.door))
        return cli_misuse(&cli_replay, "there is no door %s; there are %s", values.door, door_names());
    return run_with(&replay, &values, operand, count);
}

const struct cli_command cli_replay = { "replay",  "LOG...", "what a policy would have done to recorded requests",
                                        options,   1,        -1,
                                        run_replay };
