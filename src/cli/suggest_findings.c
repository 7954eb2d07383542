/*
 * What a log comes to: kinds, spreads and gaps.
 */
#include "cli/suggest_findings.h"

#include <stdlib.h>
#include <string.h>

static void count_kinds(struct findings *findings)
{
    for (uint32_t i = 0; i < findings->profile->count; i++) {
        const struct client *client = findings->profile->client[i];
        findings->clients[client->kind]++;
        for (int traffic = 0; traffic < TRAFFIC_KINDS; traffic++)
            findings->clients_of[traffic][client->kind] += client->peak[traffic] != NULL;
    }
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

static void note_machine(struct gap *gap, uint64_t peak)
{
    gap->machines++;
    gap->machine_most = peak > gap->machine_most ? peak : gap->machine_most;
    if (peak <= gap->people)
        return;
    gap->machines_above++;
    if (gap->machine == 0 || peak < gap->machine)
        gap->machine = peak;
}

/* One look at all clients, as they are many and lie apart: their peaks come into `value`, one kind of client after the other. */
static void look_at(struct findings *findings, enum traffic traffic, int window, uint64_t *value)
{
    struct gap *gap = &findings->gap[traffic][window];
    const uint64_t *count = findings->clients_of[traffic];
    uint64_t *next[CLIENT_KINDS] = { value };
    for (int kind = 1; kind < CLIENT_KINDS; kind++)
        next[kind] = next[kind - 1] + count[kind - 1];
    for (uint32_t i = 0; i < findings->profile->count; i++) {
        const struct client *client = findings->profile->client[i];
        uint64_t peak = client_peak(client, traffic, window);
        if (peak == 0)
            continue;
        *next[client->kind]++ = peak;
        if (client->kind <= CLIENT_UNCLEAR)
            note_human(gap, client, peak);
    }
}

static void spread_one(struct findings *findings, enum traffic traffic, int window, uint64_t *value)
{
    uint64_t *at = value;
    look_at(findings, traffic, window, value);
    for (int kind = 0; kind < CLIENT_KINDS; kind++) {
        uint64_t count = findings->clients_of[traffic][kind];
        for (uint64_t i = 0; i < count && kind > CLIENT_UNCLEAR; i++)
            note_machine(&findings->gap[traffic][window], at[i]);
        spread_of(at, count, &findings->spread[traffic][window][kind]);
        at += count;
    }
    spread_of(value, (size_t)(at - value), &findings->everyone[traffic][window]);
}

static void spread_all(struct findings *findings, uint64_t *value)
{
    for (int traffic = 0; traffic < TRAFFIC_KINDS; traffic++)
        for (int window = 0; window < PEAK_WINDOWS && findings->profile->requests[traffic] > 0; window++)
            spread_one(findings, (enum traffic)traffic, window, value);
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
    for (uint32_t i = 0; i < profile->count; i++)
        person_judge(profile->client[i], &findings->person);
    count_kinds(findings);
    spread_all(findings, value);
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
