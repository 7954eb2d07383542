/*
 * Limits that follow from a log, with their reasons.
 */
#include "cli/suggest_findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 1.5        /* above the busiest person: half as much again */
#define MARGIN_LEAST 1.15 /* if more would let machines through; the engine refuses nobody up to 15/16 of a number */
#define WORTH 5           /* a lower number is worth it if it hits so many machines */
#define WORTH_OF 4        /* where the wanted one hits so many */
#define NAME_SHOWN 48

uint64_t propose_round_up(uint64_t number)
{
    static const uint64_t step[] = { 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90 };
    uint64_t scale = 1;
    if (number <= 10)
        return number > 0 ? number : 1;
    for (;;) {
        for (size_t i = 0; i < sizeof step / sizeof *step; i++)
            if (step[i] * scale >= number)
                return step[i] * scale;
        if (scale > UINT64_MAX / 1000)
            return number;
        scale *= 10;
    }
}

static size_t exceeding(const uint64_t *machine, size_t count, uint64_t number)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += machine[i] > number;
    return found;
}

uint64_t propose_number(uint64_t people, uint64_t least, const uint64_t *machine, size_t count)
{
    uint64_t wanted = (uint64_t)ceil((double)people * MARGIN), lowest = (uint64_t)ceil((double)people * MARGIN_LEAST);
    uint64_t top = propose_round_up(wanted > least ? wanted : least);
    uint64_t start = propose_round_up(lowest > least ? lowest : least), best = start;
    size_t most = exceeding(machine, count, start);
    if (most * WORTH_OF < exceeding(machine, count, top) * WORTH)
        return top;
    for (uint64_t number = start; number <= top; number = propose_round_up(number + 1))
        if (exceeding(machine, count, number) == most)
            best = number;
    return best;
}

static int by_peak(const void *left, const void *right)
{
    const struct hit *a = left, *b = right;
    return a->peak != b->peak ? (a->peak < b->peak) - (a->peak > b->peak) : strcmp(a->client->name, b->client->name);
}

static bool find_hits(const struct profile *profile, struct proposal *proposal)
{
    size_t count = 0;
    for (uint32_t i = 0; i < profile->count; i++)
        count += client_peak(profile->client[i], proposal->kind, proposal->window) > proposal->number;
    if (count == 0)
        return true;
    proposal->hit = calloc(count, sizeof *proposal->hit);
    if (proposal->hit == NULL)
        return false;
    for (uint32_t i = 0; i < profile->count; i++) {
        const struct client *client = profile->client[i];
        uint64_t peak = client_peak(client, proposal->kind, proposal->window);
        if (peak <= proposal->number)
            continue;
        proposal->hit[proposal->hits++] = (struct hit){ client, peak };
        proposal->hits_of[client->kind]++;
    }
    qsort(proposal->hit, proposal->hits, sizeof *proposal->hit, by_peak);
    return true;
}

struct proposal *propose(struct findings *findings, const struct proposal *proposal)
{
    if (findings->proposals == PROPOSALS_MOST)
        return NULL;
    struct proposal *added = &findings->proposal[findings->proposals++];
    *added = *proposal;
    if (added->window >= 0 && !find_hits(findings->profile, added))
        findings->is_short = true;
    return added;
}

static const char *requests_name(enum traffic kind)
{
    static const char *const name[TRAFFIC_KINDS] = { "requests",          "page requests", "requests for static files",
                                                     "login attempts",    "failed logins", "API calls",
                                                     "expensive requests" };
    return name[kind];
}

static const char *window_name(int window)
{
    static const char *const name[PEAK_WINDOWS] = { "10 s", "1 min", "10 min" };
    return name[window];
}

/* What is left above the busiest person. */
static void tell_margin(struct prose *reason, uint64_t number, uint64_t people)
{
    char text[PROSE_COUNT];
    double part = (double)number / (double)people;
    prose_add(reason, "%s leaves ", prose_count(number, text));
    if (part >= 4)
        prose_add(reason, "plenty of room above that");
    else if (part >= 1.85)
        prose_add(reason, part < 2.3 ? "as much again" : "more than as much again");
    else if (part >= 1.43 && part <= 1.62)
        prose_add(reason, "half as much again");
    else
        prose_add(reason, "%.0f%% above that", (part - 1) * 100);
}

static void tell_number(struct prose *reason, const struct proposal *proposal, const struct gap *gap, uint64_t least)
{
    char count[PROSE_COUNT], name[NAME_SHOWN], number[PROSE_COUNT];
    if (gap->person == NULL) {
        prose_add(reason, "Nobody who may be a person made %s, so that %s is only a usual number.",
                  requests_name(proposal->kind), prose_count(proposal->number, number));
        return;
    }
    prose_add(reason, "The busiest client that %s a person (%s) made %s %s in %s; ",
              gap->person->kind == CLIENT_PERSON ? "looks like" : "may be",
              prose_plain(gap->person->name, gap->person->name_size, name, sizeof name),
              prose_count(gap->people, count), requests_name(proposal->kind), window_name(proposal->window));
    if ((double)gap->people * MARGIN <= (double)least)
        prose_add(reason, "a number below %s would be no less true of this log, but meets people on a busier day.",
                  prose_count(least, number));
    else
        tell_margin(reason, proposal->number, gap->people);
    if ((double)gap->people * MARGIN > (double)least)
        prose_add(reason, ".");
    if (gap->people_next * 3 < gap->people && gap->people > least)
        prose_add(reason, " It stands alone: the next one made %s; look at it, and if it is no person, %s would do.",
                  prose_count(gap->people_next, count),
                  prose_count(propose_number(gap->people_next, least, NULL, 0), number));
}

static void tell_kinds(struct prose *reason, const struct proposal *proposal)
{
    char count[PROSE_COUNT];
    const char *comma = "";
    if (proposal->hits == 1) {
        const struct hit *hit = &proposal->hit[0];
        char name[NAME_SHOWN];
        prose_add(reason, ": %s (%s)", prose_plain(hit->client->name, hit->client->name_size, name, sizeof name),
                  hit->client->kind == CLIENT_BOT ? "a bot by its own name" : hit->client->why);
        return;
    }
    static const char *const verb[CLIENT_KINDS] = { "look like people", "may be people", "behave like machines",
                                                    "call themselves bots" };
    for (int kind = CLIENT_KINDS - 1; kind >= 0; kind--) {
        if (proposal->hits_of[kind] == 0)
            continue;
        if (proposal->hits_of[kind] == proposal->hits)
            prose_add(reason, ", all of which %s", verb[kind]);
        else
            prose_add(reason, "%s%s %s", *comma != '\0' ? comma : ": ", prose_count(proposal->hits_of[kind], count),
                      verb[kind]);
        comma = ", ";
    }
}

void propose_tell_hits(struct proposal *proposal)
{
    char count[PROSE_COUNT];
    if (proposal->hits == 0) {
        prose_add(&proposal->reason, " Nobody exceeded it in this log.");
        return;
    }
    prose_add(&proposal->reason, " %s %s exceeded it", prose_count(proposal->hits, count),
              proposal->hits == 1 ? "client" : "clients");
    tell_kinds(&proposal->reason, proposal);
    prose_add(&proposal->reason, ".");
}

/* Machines that this limit lets through as they are no faster than people. */
static void tell_missed(struct proposal *proposal, const struct gap *gap)
{
    char count[PROSE_COUNT], people[PROSE_COUNT];
    if (gap->machine_most > gap->people && gap->machine_most <= proposal->number)
        prose_add(
            &proposal->reason,
            " No limit tells machines from people here: the busiest machine made %s, too close to the people's %s.",
            prose_count(gap->machine_most, count), prose_count(gap->people, people));
}

/* How a number is found for one kind of traffic. */
struct rule {
    const char *name, *what, *more;
    enum traffic kind;
    int window;
    uint64_t least; /* no number below this is proposed */
};

static struct proposal *apply(struct findings *findings, const struct rule *rule, uint64_t least)
{
    const struct profile *profile = findings->profile;
    const struct gap *gap = &findings->gap[rule->kind][rule->window];
    uint64_t *machine = calloc((size_t)profile->count + 1, sizeof *machine);
    size_t count = 0;
    for (uint32_t i = 0; machine != NULL && i < profile->count; i++)
        if (profile->client[i]->kind > CLIENT_UNCLEAR)
            machine[count++] = client_peak(profile->client[i], rule->kind, rule->window);
    struct proposal proposal = { .name = rule->name,
                                 .what = rule->what,
                                 .by = "address",
                                 .more = rule->more,
                                 .kind = rule->kind,
                                 .window = rule->window };
    proposal.number = propose_number(gap->people, least, machine, count);
    free(machine);
    snprintf(proposal.allow, sizeof proposal.allow, "%llu per %s", (unsigned long long)proposal.number,
             peak_window_name[rule->window]);
    struct proposal *added = propose(findings, &proposal);
    if (added == NULL)
        return NULL;
    tell_number(&added->reason, added, gap, least);
    propose_tell_hits(added);
    tell_missed(added, gap);
    return added;
}

/* Who exceeds the long window without ever having exceeded the short one. */
static void tell_slow(const struct proposal *shorter, struct proposal *longer)
{
    size_t slow = 0;
    char count[PROSE_COUNT];
    for (size_t i = 0; i < longer->hits; i++)
        slow += client_peak(longer->hit[i].client, shorter->kind, shorter->window) <= shorter->number;
    prose_add(&longer->reason, " It is for those who stay just below %s for hours", shorter->allow);
    if (slow > 0)
        prose_add(&longer->reason, ": %s of them never exceeded that.", prose_count(slow, count));
    else
        prose_add(&longer->reason, "; this log has none that it would catch alone.");
}

static const struct rule page = { "page", "not static", NULL, TRAFFIC_PAGE, PEAK_10S, 20 };
static const struct rule page_long = { "page-long", "not static", NULL, TRAFFIC_PAGE, PEAK_10MIN, 100 };
static const struct rule files = { "static", "static", NULL, TRAFFIC_STATIC, PEAK_10S, 100 };
static const struct rule api = { "api", "api", NULL, TRAFFIC_API, PEAK_1MIN, 60 };
static const struct rule expensive = { "expensive", "expensive", NULL, TRAFFIC_EXPENSIVE, PEAK_1MIN, 10 };

void findings_propose(struct findings *findings)
{
    const uint64_t *requests = findings->profile->requests;
    if (requests[TRAFFIC_PAGE] > 0) {
        struct proposal *shorter = apply(findings, &page, page.least);
        uint64_t least = shorter->number * 10 > page_long.least ? shorter->number * 10 : page_long.least;
        struct proposal *longer = apply(findings, &page_long, least);
        if (longer != NULL)
            tell_slow(shorter, longer);
    }
    if (requests[TRAFFIC_STATIC] > 0)
        apply(findings, &files, files.least);
    if (requests[TRAFFIC_API] > 0) {
        struct proposal *calls = apply(findings, &api, api.least);
        if (calls != NULL)
            prose_add(&calls->reason,
                      " Programs are welcome at an API: give partners who need more a number of their own "
                      "with `overrides`.");
    }
    if (requests[TRAFFIC_EXPENSIVE] > 0)
        apply(findings, &expensive, expensive.least);
    if (requests[TRAFFIC_LOGIN] > 0)
        findings_propose_logins(findings);
}
