/*
 * The decisions of a replay, one a line, in the order of the events.
 */
#include "cli/verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "cli/seconds.h"

#define FOUND 302     /* RFC 9110 section 15.4.3: a challenge that is answered with an address */
#define SEE_OTHER 303 /* section 15.4.4: the same, where the method is to become GET */

#define AHEAD_LEAST 16

struct verdicts {
    const struct policy *policy;
    FILE *out;
    uint64_t next; /* the event whose line is to be written next */
    char **ahead;  /* by event, modulo `cap`: a line that waits for those before it */
    size_t cap;    /* power of two */
};

struct verdicts *verdicts_open(FILE *out, const struct policy *policy)
{
    struct verdicts *verdicts = calloc(1, sizeof *verdicts);
    if (verdicts == NULL)
        return NULL;
    *verdicts = (struct verdicts){ policy, out, 0, calloc(AHEAD_LEAST, sizeof *verdicts->ahead), AHEAD_LEAST };
    if (verdicts->ahead != NULL)
        return verdicts;
    free(verdicts);
    return NULL;
}

void verdicts_close(struct verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->cap; i++)
        free(verdicts->ahead[i]);
    free(verdicts->ahead);
    free(verdicts);
}

static char **place_of(struct verdicts *verdicts, uint64_t index)
{
    return &verdicts->ahead[index & (verdicts->cap - 1)];
}

/* Room for the line of this event beside those that wait already. */
static bool make_room(struct verdicts *verdicts, uint64_t index)
{
    size_t cap = verdicts->cap;
    while (index - verdicts->next >= cap)
        cap *= 2;
    if (cap == verdicts->cap)
        return true;
    char **grown = calloc(cap, sizeof *grown);
    if (grown == NULL)
        return false;
    for (uint64_t i = verdicts->next; i < verdicts->next + verdicts->cap; i++)
        grown[i & (cap - 1)] = *place_of(verdicts, i);
    free(verdicts->ahead);
    verdicts->ahead = grown;
    verdicts->cap = cap;
    return true;
}

bool verdict_redirects(const struct policy *policy, const struct drossel_decision *decision)
{
    return decision->verdict == DROSSEL_CHALLENGE && decision->limit < policy->limit_count &&
           policy->limits[decision->limit].challenge_to != NULL;
}

static bool is_safe(struct drossel_text method)
{
    return (method.size == 3 && memcmp(method.data, "GET", 3) == 0) ||
           (method.size == 4 && memcmp(method.data, "HEAD", 4) == 0);
}

/* What the client would have got: the application's answer if the request gets there. */
static unsigned status_of(const struct policy *policy, const struct verdict *verdict)
{
    if (verdict->decision->verdict == DROSSEL_DROP)
        return 0;
    if (verdict->decision->verdict == DROSSEL_REFUSE)
        return verdict->decision->status;
    if (verdict_redirects(policy, verdict->decision))
        return is_safe(verdict->event->method) ? FOUND : SEE_OTHER;
    return verdict->event->status != 0 ? verdict->event->status : 200;
}

static void print_names(FILE *out, const struct drossel_decision *decision)
{
    uint32_t count = decision->dry_run_count < DROSSEL_DRY_RUNS ? decision->dry_run_count : DROSSEL_DRY_RUNS;
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "%s\"%s\"", i > 0 ? "," : "", decision->dry_run[i]);
}

/* Limits' names need no escapes: letters, digits and `._-`. */
static void print(FILE *out, const struct policy *policy, const struct verdict *verdict)
{
    const struct drossel_decision *decision = verdict->decision;
    char wait[SECONDS_TEXT] = "null", delay[SECONDS_TEXT], held[SECONDS_TEXT], time[EVENT_TIME_TEXT];
    if (decision->wait_ns != DROSSEL_NEVER)
        seconds_format(decision->wait_ns, wait);
    seconds_format(decision->delay_ns, delay);
    seconds_format(verdict->held_ns, held);
    fprintf(out, "{\"t\":%s,\"verdict\":\"%s\",", event_time(verdict->event, time),
            drossel_verdict_name(decision->verdict));
    if (decision->limit_name != NULL)
        fprintf(out, "\"limit\":\"%s\",\"remaining\":%llu,", decision->limit_name,
                (unsigned long long)decision->remaining);
    else
        fputs("\"limit\":null,\"remaining\":null,", out);
    fprintf(out, "\"retry_after\":%s,\"delay\":%s,\"dry_run\":[", wait, delay);
    print_names(out, decision);
    fprintf(out, "],\"status\":%u%s%s}\n", status_of(policy, verdict), verdict->was_held ? ",\"held\":" : "",
            verdict->was_held ? held : "");
}

static bool keep(struct verdicts *verdicts, const struct verdict *verdict)
{
    char *line = NULL;
    size_t size = 0;
    if (!make_room(verdicts, verdict->index))
        return false;
    FILE *memory = open_memstream(&line, &size);
    if (memory == NULL)
        return false;
    print(memory, verdicts->policy, verdict);
    bool good = fclose(memory) == 0;
    *place_of(verdicts, verdict->index) = line;
    return good;
}

bool verdicts_add(struct verdicts *verdicts, const struct verdict *verdict)
{
    if (verdict->index != verdicts->next)
        return keep(verdicts, verdict);
    print(verdicts->out, verdicts->policy, verdict);
    for (verdicts->next++; *place_of(verdicts, verdicts->next) != NULL; verdicts->next++) {
        char **place = place_of(verdicts, verdicts->next);
        fputs(*place, verdicts->out);
        free(*place);
        *place = NULL;
    }
    return true;
}
