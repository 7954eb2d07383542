/*
 * Limits that follow from a log.
 */
#include "cli/suggest_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    propose_tell_number(added, gap, least);
    propose_tell_hits(added);
    propose_tell_missed(added, gap, least);
    return added;
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
            propose_tell_slow(longer, shorter);
    }
    if (requests[TRAFFIC_STATIC] > 0)
        apply(findings, &files, files.least);
    if (requests[TRAFFIC_API] >= TRAFFIC_SOME) {
        struct proposal *calls = apply(findings, &api, api.least);
        if (calls != NULL)
            prose_add(&calls->reason,
                      " Programs are welcome at an API: give partners who need more a number of their own "
                      "with `overrides`.");
    }
    if (requests[TRAFFIC_EXPENSIVE] >= TRAFFIC_SOME)
        apply(findings, &expensive, expensive.least);
    if (paths_logins(findings->paths, findings->signs, &(const struct path *){ NULL }, 1) > 0)
        findings_propose_logins(findings);
}
