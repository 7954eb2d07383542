/*
 * What a log comes to: kinds, spreads and gaps.
 */
#include "cli/suggest_findings.h"

#include <stdlib.h>
#include <string.h>

/* Peaks of one kind of client in one kind of traffic; returns how many. */
static size_t gather(const struct findings *findings, enum traffic traffic, int window, enum client_kind kind,
                     uint64_t *value)
{
    size_t count = 0;
    for (uint32_t i = 0; i < findings->profile->count; i++) {
        const struct client *client = findings->profile->client[i];
        if (client->kind == kind && client->peak[traffic] != NULL)
            value[count++] = client->peak[traffic]->most[window];
    }
    return count;
}

static void spread_one(struct findings *findings, enum traffic traffic, int window, uint64_t *value)
{
    size_t all = 0;
    for (int kind = 0; kind < CLIENT_KINDS; kind++) {
        size_t count = gather(findings, traffic, window, (enum client_kind)kind, value + all);
        spread_of(value + all, count, &findings->spread[traffic][window][kind]);
        findings->clients_of[traffic][kind] = count;
        all += count;
    }
    spread_of(value, all, &findings->everyone[traffic][window]);
}

static void spread_all(struct findings *findings, uint64_t *value)
{
    for (int traffic = 0; traffic < TRAFFIC_KINDS; traffic++)
        for (int window = 0; window < PEAK_WINDOWS; window++)
            spread_one(findings, (enum traffic)traffic, window, value);
}

static void note_human(struct gap *gap, const struct client *client, uint64_t peak)
{
    if (peak <= gap->people) {
        gap->people_next = peak > gap->people_next ? peak : gap->people_next;
        return;
    }
    gap->people_next = gap->people;
    gap->people = peak;
    gap->person = client;
}

static void find_gap(const struct profile *profile, enum traffic traffic, int window, struct gap *gap)
{
    for (uint32_t i = 0; i < profile->count; i++)
        if (profile->client[i]->kind <= CLIENT_UNCLEAR)
            note_human(gap, profile->client[i], client_peak(profile->client[i], traffic, window));
    for (uint32_t i = 0; i < profile->count; i++) {
        uint64_t peak = client_peak(profile->client[i], traffic, window);
        if (profile->client[i]->kind <= CLIENT_UNCLEAR || peak == 0)
            continue;
        gap->machines++;
        gap->machine_most = peak > gap->machine_most ? peak : gap->machine_most;
        if (peak <= gap->people)
            continue;
        gap->machines_above++;
        if (gap->machine == 0 || peak < gap->machine)
            gap->machine = peak;
    }
}

static int by_peak(const void *left, const void *right)
{
    const struct client *a = *(const struct client *const *)left, *b = *(const struct client *const *)right;
    uint64_t x = client_peak(a, TRAFFIC_ALL, PEAK_10S), y = client_peak(b, TRAFFIC_ALL, PEAK_10S);
    if (x != y)
        return (x < y) - (x > y);
    x = client_total(a, TRAFFIC_ALL);
    y = client_total(b, TRAFFIC_ALL);
    return x != y ? (x < y) - (x > y) : strcmp(a->name, b->name);
}

static bool order(struct findings *findings)
{
    const struct profile *profile = findings->profile;
    findings->busiest = calloc((size_t)profile->count + 1, sizeof *findings->busiest);
    if (findings->busiest == NULL)
        return false;
    for (uint32_t i = 0; i < profile->count; i++)
        findings->busiest[i] = profile->client[i];
    if (profile->count > 1)
        qsort(findings->busiest, profile->count, sizeof(const struct client *), by_peak);
    return true;
}

struct findings *findings_open(const struct profile *profile, const struct paths *paths, const struct logs_facts *facts)
{
    struct findings *findings = calloc(1, sizeof *findings);
    uint64_t *value = calloc((size_t)profile->count + 1, sizeof *value);
    if (findings == NULL || value == NULL) {
        free(findings);
        free(value);
        return NULL;
    }
    findings->profile = profile;
    findings->paths = paths;
    findings->signs = profile->signs;
    findings->facts = facts;
    findings->person = person_signs_of(profile);
    for (uint32_t i = 0; i < profile->count; i++) {
        person_judge(profile->client[i], &findings->person);
        findings->clients[profile->client[i]->kind]++;
    }
    spread_all(findings, value);
    for (int traffic = 0; traffic < TRAFFIC_KINDS; traffic++)
        for (int window = 0; window < PEAK_WINDOWS; window++)
            find_gap(profile, (enum traffic)traffic, window, &findings->gap[traffic][window]);
    free(value);
    if (order(findings))
        return findings;
    findings_close(findings);
    return NULL;
}

void findings_close(struct findings *findings)
{
    for (size_t i = 0; i < findings->proposals; i++) {
        free(findings->proposal[i].reason.text);
        free(findings->proposal[i].hit);
    }
    for (size_t i = 0; i < findings->warnings; i++)
        free(findings->warning[i].text);
    free(findings->busiest);
    free(findings);
}
