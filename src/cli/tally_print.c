/*
 * What a replay came to, for people: what it means first, numbers aligned, nothing wider than 80 columns.
 */
#include "cli/tally_parts.h"

#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/replay_paper.h"

#define COLUMNS 60
#define BUSIEST 5
#define KEY_WIDTH 34
#define NAME_WIDTH 19
#define PLACE_WIDTH 26
#define PLACE_BYTES 80
#define TEXT_BYTES 256

/* A line that begins with what it is about; what is longer than the paper is broken. */
__attribute__((format(printf, 3, 4))) static void say(const struct paper *paper, const char *about, const char *format,
                                                      ...)
{
    char text[2 * TEXT_BYTES], line[3 * TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(paper->out, "  %-11s", about);
    snprintf(line, sizeof line, "%s", text);
    const char *at = line;
    while (strlen(at) > PAPER_WIDTH - 13) {
        size_t cut = PAPER_WIDTH - 13;
        while (cut > 0 && at[cut] != ' ')
            cut--;
        if (cut == 0)
            break;
        fprintf(paper->out, "%.*s\n%13s", (int)cut, at, "");
        at += cut + 1;
    }
    fprintf(paper->out, "%s\n", at);
}

static const char *plural(uint64_t count, const char *one, char *out, size_t cap)
{
    char number[PAPER_NUMBER];
    snprintf(out, cap, "%s %s%s", paper_number(count, number), one, count == 1 ? "" : "s");
    return out;
}

/* ---- the head ---- */

static void print_counts(const struct tally *tally, const struct tally_input *input, const struct paper *paper)
{
    char number[7][PAPER_NUMBER], text[TEXT_BYTES];
    int used = snprintf(text, sizeof text, "%s requests of %s clients, %s unparsed, %s held, %s exempt, %s banned",
                        paper_number(tally->requests, number[0]), paper_number(tally->watch.clients.count, number[1]),
                        paper_number(input->unparsed, number[2]), paper_number(tally->held, number[3]),
                        paper_number(tally->exempt, number[4]), paper_number(tally->banned, number[5]));
    if (tally->untrusted > 0)
        snprintf(text + used, sizeof text - (size_t)used, ", %s untrusted", paper_number(tally->untrusted, number[6]));
    paper_wrap(paper, text, 2);
}

static void print_span(const struct tally *tally, const struct paper *paper)
{
    char json[2][EVENT_TIME_TEXT], first[EVENT_TIME_TEXT], last[EVENT_TIME_TEXT], span[64];
    if (!tally->first.is_set)
        return;
    const char *from = tally_time(&tally->first, json[0]), *to = tally_time(&tally->last, json[1]);
    paper_time(from, first, sizeof first);
    paper_time(to, last, sizeof last);
    uint64_t ns = tally->last.told_ns - tally->first.told_ns;
    bool is_utc = strchr(from, 'Z') != NULL &&
                  strchr(to, 'Z') != NULL; /* an event may have a zone of its own, or seconds as a number */
    fprintf(paper->out, "from %s to %s%s: %s\n", first, last, is_utc ? " UTC" : "",
            cli_wait_format(ns, span, sizeof span));
}

static void print_bad(const struct tally_input *input, const struct paper *paper)
{
    for (size_t i = 0; i < input->bad_count; i++) {
        fputs("  unparsed  ", paper->out);
        paper_cut(paper, input->bad[i], strlen(input->bad[i]), PAPER_WIDTH - 12);
        fputc('\n', paper->out);
    }
}

static void print_timeline(const struct tally *tally, size_t row, const char *about, const struct paper *paper)
{
    uint64_t column[COLUMNS], step_ns = 0, most = 0;
    char span[64], number[PAPER_NUMBER];
    size_t count = timeline_columns(&tally->timeline, row, column, COLUMNS, &step_ns);
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        most = column[i] > most ? column[i] : most;
    fprintf(paper->out, "  %-11s|", about);
    paper_bars(paper, column, count);
    fprintf(paper->out, "|\n  %-11s %s a column, at most %s\n", "", cli_wait_format(step_ns, span, sizeof span),
            paper_number(most, number));
}

/* All limits at a glance. */
static void print_overview(const struct tally *tally, const struct paper *paper)
{
    char number[6][PAPER_NUMBER];
    if (tally->policy->limit_count == 0)
        return;
    fprintf(paper->out, "%-*s%10s %9s %8s %8s %8s %8s\n", NAME_WIDTH, "limit", "requests", "refused", "clients",
            "blocked", "held", "peak");
    for (uint32_t i = 0; i < tally->policy->limit_count; i++) {
        const struct tally_limit *limit = &tally->limit[i];
        const struct policy_limit *policy = &tally->policy->limits[i];
        int used = paper_cut(paper, policy->name, strlen(policy->name), NAME_WIDTH - 2);
        fprintf(paper->out, "%*s%10s %9s %8s %8s %8s %8s%s\n", NAME_WIDTH - used, "",
                paper_number(limit->requests, number[0]), paper_number(limit->refused, number[1]),
                paper_number(limit->clients_refused, number[2]), paper_number(limit->blocked, number[3]),
                paper_number(limit->held, number[4]), paper_number(limit->peak, number[5]),
                policy->dry_run ? " dry" : "");
    }
    fputc('\n', paper->out);
}

static void print_head(const struct tally *tally, const struct tally_input *input, const struct paper *paper)
{
    if (input->is_partial)
        fputs("INTERRUPTED: this is the report of what was read so far.\n\n", paper->out);
    print_counts(tally, input, paper);
    print_span(tally, paper);
    print_overview(tally, paper);
    print_bad(input, paper);
    print_timeline(tally, 0, "requests", paper);
}

static void print_warnings(const struct tally *tally, const struct paper *paper)
{
    size_t index;
    json_t *warning;
    json_array_foreach(tally->warnings, index, warning)
    {
        fputc('\n', paper->out);
        paper_wrap(paper, json_string_value(warning), 2);
    }
}

/* ---- a limit ---- */

static const char *algorithm(const struct engine_spec *spec)
{
    switch (spec->algorithm) {
    case ENGINE_FIXED:
        return ", fixed";
    case ENGINE_BUCKET:
        return ", bucket";
    case ENGINE_LEAKY:
        return ", leaky";
    default:
        return "";
    }
}

/* `50 per 10s, 120 per 10m by address`. */
static void describe(const struct policy *policy, const struct policy_limit *limit, char *out, size_t cap)
{
    char period[32];
    size_t used = 0;
    for (uint32_t i = limit->first_rate; i < limit->first_rate + limit->rate_count && used < cap; i++) {
        const struct engine_spec *spec = &policy->rates[i].engine.spec;
        policy_duration_format(spec->period_ns, period, sizeof period);
        used += (size_t)snprintf(out + used, cap - used, "%s%llu%s per %s%s", used > 0 ? ", " : "",
                                 (unsigned long long)spec->count,
                                 limit->failures                                ? " failures"
                                 : limit->distinct == POLICY_DISTINCT_ACCOUNTS  ? " accounts"
                                 : limit->distinct == POLICY_DISTINCT_ADDRESSES ? " addresses"
                                                                                : "",
                                 period, algorithm(spec));
    }
    if (used < cap)
        snprintf(out + used, cap - used, " by %s", policy->subjects[limit->subject].text.data);
}

static void print_title(const struct tally *tally, const struct policy_limit *policy, const struct paper *paper)
{
    char what[TEXT_BYTES];
    static const char dry[] = "DRY RUN";
    describe(tally->policy, policy, what, sizeof what);
    fputc('\n', paper->out);
    int used = fprintf(paper->out, "%s: ", policy->name);
    int room = PAPER_WIDTH - used - (policy->dry_run ? (int)sizeof dry : 0);
    used += paper_cut(paper, what, strlen(what), room > 0 ? room : 0);
    if (policy->dry_run)
        fprintf(paper->out, "%*s", PAPER_WIDTH - used > 0 ? PAPER_WIDTH - used : 0, dry);
    fputc('\n', paper->out);
}

static void print_idle(const struct tally *tally, const struct tally_limit *limit, const struct policy_limit *policy,
                       const struct paper *paper)
{
    const struct engine_spec *spec = &tally->policy->rates[policy->first_rate].engine.spec;
    char period[32], peak[PAPER_NUMBER], count[PAPER_NUMBER];
    policy_duration_format(spec->period_ns, period, sizeof period);
    if (limit->requests == 0)
        say(paper, "refused", "nobody: it never matched");
    else if (policy->failures)
        say(paper, "refused", "nobody: %s of them failed, and no key more than %s times in %s",
            paper_number(limit->failures, peak), paper_number(spec->count, count), period);
    else if (policy->distinct != POLICY_NOT_DISTINCT) /* the peak is one of requests */
        say(paper, "refused", "nobody: no key had more than %s different %s in %s", paper_number(spec->count, count),
            policy->distinct == POLICY_DISTINCT_ACCOUNTS ? "accounts" : "addresses", period);
    else if (limit->peak > spec->count)
        say(paper, "refused",
            "nobody: the busiest key came to %s in %s, %s are allowed; others refused the rest, or a burst has room "
            "for it",
            paper_number(limit->peak, peak), period, paper_number(spec->count, count));
    else
        say(paper, "refused", "nobody: the busiest key came to %s in %s, %s are allowed",
            paper_number(limit->peak, peak), period, paper_number(spec->count, count));
}

/* What a limit does to a request, as a dry run would have. */
static const char *would(const struct policy_limit *policy, const char *done)
{
    static char text[64];
    snprintf(text, sizeof text, "%s%s", policy->dry_run ? "would have been " : "", done);
    return text;
}

static void print_refused(const struct tally_limit *limit, const struct policy_limit *policy, const struct paper *paper)
{
    char number[64], clients[64], signed_in[PAPER_NUMBER], successful[PAPER_NUMBER];
    double part = 100.0 * (double)limit->refused / (double)limit->requests;
    say(paper, "refused", "%s (%.2g%%) of %s%s", plural(limit->refused, "request", number, sizeof number), part,
        plural(limit->clients_refused, "client", clients, sizeof clients), policy->dry_run ? " would have been" : "");
    say(paper, "of these", "%s signed in, %s had a good answer (2xx, 3xx)", paper_number(limit->signed_in, signed_in),
        paper_number(limit->successful, successful));
}

static void print_others(const struct tally_limit *limit, const struct policy_limit *policy, const struct paper *paper)
{
    const struct {
        uint64_t count;
        const char *what;
    } other[] = { { limit->delayed, "delayed" },
                  { limit->challenged, "challenged" },
                  { limit->marked, "marked" },
                  { limit->held, "held" },
                  { limit->blocked, "blocked" } };
    char number[PAPER_NUMBER];
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].count > 0)
            say(paper, other[i].what, "%s %s%s", paper_number(other[i].count, number),
                strcmp(other[i].what, "blocked") == 0 ? "met a running block" : would(policy, other[i].what), "");
}

static void print_times(const struct tally *tally, const struct tally_limit *limit, const struct paper *paper)
{
    char json[EVENT_TIME_TEXT], first[EVENT_TIME_TEXT], last[EVENT_TIME_TEXT], wait[64], label[TALLY_LABEL];
    paper_time(tally_time(&limit->first, json), first, sizeof first);
    paper_time(tally_time(&limit->last, json), last, sizeof last);
    say(paper, "from", "%s to %s", first, last);
    if (limit->lockout_key == NULL)
        return;
    fprintf(paper->out, "  %-11s%s, ", "locked out", cli_wait_format(limit->lockout_ns, wait, sizeof wait));
    const char *key = tally_label(tally, limit->lockout_key, label);
    fputs("at the longest: ", paper->out);
    paper_cut(paper, key, strlen(key), KEY_WIDTH);
    fputc('\n', paper->out);
}

static void print_key(const struct tally *tally, const struct tally_key *key, const struct paper *paper)
{
    char label[TALLY_LABEL], number[3][PAPER_NUMBER], wait[64] = "-";
    const char *text = tally_label(tally, key, label);
    fputs("  ", paper->out);
    int used = paper_cut(paper, text, strlen(text), KEY_WIDTH);
    if (key->is_locked_for_ever)
        snprintf(wait, sizeof wait, "for ever");
    else if (key->lockout_ns > 0)
        cli_wait_format(key->lockout_ns, wait, sizeof wait);
    fprintf(paper->out, "%*s%10s %10s %8s %12s\n", KEY_WIDTH - used, "", paper_number(key->of.requests, number[0]),
            paper_number(key->of.refused, number[1]), paper_number(key->of.peak, number[2]), wait);
}

/* Those refused most, then those with the highest peak: what a number for `allow` is read off. */
static int by_peak(void *context, const struct census_entry *left, const struct census_entry *right)
{
    (void)context;
    if (left->refused == right->refused && left->peak != right->peak)
        return left->peak > right->peak ? -1 : 1;
    return census_by_refused(left, right);
}

static void print_keys(const struct tally *tally, const struct tally_limit *limit, const struct policy_limit *policy,
                       const struct paper *paper)
{
    const struct census_entry *top[BUSIEST];
    char period[32], peak[64];
    size_t count =
        census_first(&limit->keys, top, limit->keys.count < BUSIEST ? limit->keys.count : BUSIEST, by_peak, NULL);
    if (count == 0)
        return;
    policy_duration_format(tally->policy->rates[policy->first_rate].engine.spec.period_ns, period, sizeof period);
    snprintf(peak, sizeof peak, "in %s", period);
    fprintf(paper->out, "  %-*s%10s %10s %8s %12s\n", KEY_WIDTH, "busiest keys", "requests", "refused", peak,
            "locked out");
    for (size_t i = 0; i < count; i++)
        print_key(tally, (const struct tally_key *)(const void *)top[i], paper);
}

/* FILE:LINE, of a long name the end. */
static void place_of(const struct tally_example *example, char place[PLACE_BYTES])
{
    char line[32];
    const char *name = strrchr(example->file, '/');
    name = name != NULL ? name + 1 : example->file;
    size_t room = PLACE_WIDTH - (size_t)snprintf(line, sizeof line, ":%llu", (unsigned long long)example->line);
    size_t size = strlen(name), cut = size > room ? size - room + 1 : 0;
    snprintf(place, PLACE_BYTES, "%s%.*s%s", cut > 0 ? "~" : "", PLACE_WIDTH, name + cut, line);
}

/* FILE:LINE time key request status, within one line. */
static void print_example(const struct tally *tally, const struct tally_example *example, const struct paper *paper)
{
    char place[PLACE_BYTES], json[EVENT_TIME_TEXT], time[EVENT_TIME_TEXT], label[TALLY_LABEL], line[2 * TEXT_BYTES];
    place_of(example, place);
    paper_time(tally_time(&example->time, json), time, sizeof time);
    const char *clock = strlen(time) > 11 && time[10] == ' ' ? time + 11 : time;
    snprintf(line, sizeof line, "%.20s %.40s %.300s", clock, tally_label(tally, example->key, label), example->request);
    fputs("  ", paper->out);
    int used = paper_cut(paper, place, strlen(place), PLACE_WIDTH);
    fprintf(paper->out, "%*s", used < PLACE_WIDTH ? PLACE_WIDTH - used + 1 : 1, "");
    used = paper_cut(paper, line, strlen(line), PAPER_WIDTH - PLACE_WIDTH - 7);
    fprintf(paper->out, "%*s %3u\n", PAPER_WIDTH - PLACE_WIDTH - 7 - used, "", example->status);
}

static void print_limit(const struct tally *tally, uint32_t index, const struct paper *paper)
{
    const struct tally_limit *limit = &tally->limit[index];
    const struct policy_limit *policy = &tally->policy->limits[index];
    char requests[64], clients[64];
    print_title(tally, policy, paper);
    say(paper, "matched", "%s of %s", plural(limit->requests, "request", requests, sizeof requests),
        plural(limit->by_address ? limit->keys.count : limit->clients.count, "client", clients, sizeof clients));
    if (limit->refused > 0)
        print_refused(limit, policy, paper);
    else if (limit->hits == 0)
        print_idle(tally, limit, policy, paper);
    print_others(limit, policy, paper);
    if (limit->hits > 0) {
        print_times(tally, limit, paper);
        print_timeline(tally, 1 + index, "", paper);
    }
    print_keys(tally, limit, policy, paper);
    if (limit->example_count > 0)
        fputs("  examples\n", paper->out);
    for (size_t i = 0; i < limit->example_count; i++)
        print_example(tally, &limit->example[i], paper);
}

void tally_print(const struct tally *tally, const struct tally_input *input, FILE *out)
{
    struct paper paper = paper_on(out);
    print_head(tally, input, &paper);
    print_warnings(tally, &paper);
    for (uint32_t i = 0; i < tally->policy->limit_count; i++)
        print_limit(tally, i, &paper);
}
