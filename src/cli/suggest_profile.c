/*
 * What a log says about each of its clients.
 */
#include "cli/suggest_profile.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_LEAST 256
#define GAP_MOST_NS UINT64_C(60000000000)

static uint64_t hash_of(const struct profile *profile, struct drossel_text text)
{
    uint64_t hash;
    unsigned char out[crypto_shorthash_BYTES];
    crypto_shorthash(out, (const unsigned char *)text.data, text.size, profile->secret);
    memcpy(&hash, out, sizeof hash);
    return hash;
}

struct profile *profile_open(const struct traffic_signs *signs)
{
    struct profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL)
        return NULL;
    profile->signs = signs;
    profile->agents = agents_open();
    randombytes_buf(profile->secret, sizeof profile->secret);
    if (profile->agents != NULL)
        return profile;
    profile_close(profile);
    return NULL;
}

static void forget(struct client *client, unsigned kinds)
{
    for (int i = 0; i < TRAFFIC_KINDS; i++)
        if (client->peak[i] != NULL && (kinds & TRAFFIC_BIT(i)) != 0) {
            peak_release(client->peak[i]);
            free(client->peak[i]);
            client->peak[i] = NULL;
        }
}

static void client_close(struct client *client)
{
    forget(client, ~0u);
    free(client->name);
    free(client);
}

void profile_close(struct profile *profile)
{
    for (uint32_t i = 0; i < profile->count; i++)
        client_close(profile->client[i]);
    if (profile->agents != NULL)
        agents_close(profile->agents);
    peak_release(&profile->site_failures);
    free(profile->client);
    free(profile->slot);
    free(profile);
}

static uint32_t slot_of(const struct profile *profile, struct drossel_text name)
{
    uint32_t at = (uint32_t)hash_of(profile, name) & (profile->slots - 1);
    while (profile->slot[at] != 0) {
        const struct client *client = profile->client[profile->slot[at] - 1];
        if (client->name_size == name.size && memcmp(client->name, name.data, name.size) == 0)
            break;
        at = (at + 1) & (profile->slots - 1);
    }
    return at;
}

static bool grow(struct profile *profile)
{
    uint32_t slots = profile->slots > 0 ? profile->slots * 2 : SLOTS_LEAST;
    uint32_t *slot = slots > 0 ? calloc(slots, sizeof *slot) : NULL;
    struct client **client = realloc(profile->client, sizeof(struct client *) * slots / 2);
    if (client != NULL)
        profile->client = client;
    if (slot == NULL || client == NULL) {
        free(slot);
        return false;
    }
    free(profile->slot);
    profile->slot = slot;
    profile->slots = slots;
    profile->cap = slots / 2;
    for (uint32_t i = 0; i < profile->count; i++)
        slot[slot_of(profile, (struct drossel_text){ client[i]->name, client[i]->name_size })] = i + 1;
    return true;
}

static struct client *client_open(struct drossel_text name, uint64_t t_ns)
{
    struct client *client = name.size < UINT32_MAX ? calloc(1, sizeof *client) : NULL;
    if (client == NULL)
        return NULL;
    client->name = calloc(1, name.size + 1);
    if (client->name == NULL) {
        free(client);
        return NULL;
    }
    memcpy(client->name, name.data, name.size);
    client->name_size = (uint32_t)name.size;
    client->first_ns = t_ns;
    return client;
}

static struct client *find(struct profile *profile, struct drossel_text name, uint64_t t_ns)
{
    if (profile->count == profile->cap && !grow(profile))
        return NULL;
    uint32_t at = slot_of(profile, name);
    if (profile->slot[at] != 0)
        return profile->client[profile->slot[at] - 1];
    struct client *client = client_open(name, t_ns);
    if (client == NULL)
        return NULL;
    profile->client[profile->count++] = client;
    profile->slot[at] = profile->count;
    return client;
}

/* Its quote is opened and never closed: the line was cut off, and perhaps the word that names a bot. */
static bool is_cut_off(const struct log_record *record)
{
    struct drossel_text agent = record->agent, raw = record->raw;
    return agent.size > 0 && raw.size > 0 && agent.data > raw.data && agent.data + agent.size == raw.data + raw.size &&
           agent.data[-1] == '"';
}

static void note_agent(struct profile *profile, struct client *client, struct drossel_text text)
{
    if (text.size == 0) {
        client->no_agent++;
        profile->no_agent++;
        return;
    }
    const struct agent *agent = agents_find(profile->agents, text);
    client->bot_lines += agent->is_bot;
    client->browser_lines += agent->is_browser;
    profile->bot_lines += agent->is_bot;
    if (client->agent == NULL)
        client->agent = agent->text;
    if (client->agent_count == CLIENT_AGENTS_KEPT)
        return;
    for (uint32_t i = 0; i < client->agent_count; i++)
        if (client->agent_number[i] == agent->number)
            return;
    client->agent_number[client->agent_count++] = agent->number;
}

/* Welford's way to a variance. */
static void note_gap(struct client *client, uint64_t t_ns)
{
    if (client->page_ns != 0 && t_ns - client->page_ns <= GAP_MOST_NS) {
        double gap_s = (double)(t_ns - client->page_ns) / 1e9, off = gap_s - client->gap_mean_s;
        client->gaps++;
        client->gap_mean_s += off / (double)client->gaps;
        client->gap_square += off * (gap_s - client->gap_mean_s);
    }
    client->page_ns = t_ns;
}

static void note_page(const struct profile *profile, struct client *client, const struct log_record *record,
                      struct drossel_text path)
{
    uint64_t hash = path.size > 0 ? hash_of(profile, path) : 1;
    client->referred += record->referer.size > 0;
    client->same += hash == client->path_hash;
    client->path_hash = hash;
    if (path.size == 11 && memcmp(path.data, "/robots.txt", 11) == 0)
        client->asked_robots = true;
    note_gap(client, record->t_ns);
}

static bool count(struct profile *profile, struct client *client, uint64_t t_ns, unsigned kinds)
{
    for (int i = 0; i < TRAFFIC_KINDS; i++) {
        if ((kinds & TRAFFIC_BIT(i)) == 0)
            continue;
        if (client->peak[i] == NULL && (client->peak[i] = calloc(1, sizeof *client->peak[i])) == NULL)
            return false;
        if (!peak_arrive(client->peak[i], t_ns))
            return false;
        profile->requests[i]++;
    }
    return (kinds & TRAFFIC_BIT(TRAFFIC_FAILURE)) == 0 || peak_arrive(&profile->site_failures, t_ns);
}

bool profile_arrive(struct profile *profile, const struct log_record *record, struct drossel_text name)
{
    struct client *client = find(profile, name, record->t_ns);
    if (client == NULL)
        return false;
    struct drossel_text path = traffic_path_of(record);
    unsigned kinds = traffic_of(profile->signs, record, path);
    note_agent(profile, client, is_cut_off(record) ? (struct drossel_text){ 0 } : record->agent);
    client->refused += record->status == 429;
    client->missed += record->status == 404 || record->status == 410;
    client->last_ns = record->t_ns;
    if ((kinds & TRAFFIC_BIT(TRAFFIC_PAGE)) != 0) {
        client->documents += (kinds & (TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_API))) == 0;
        note_page(profile, client, record, path);
    }
    if (profile->records++ == 0)
        profile->first_ns = record->t_ns;
    profile->last_ns = record->t_ns;
    return count(profile, client, record->t_ns, kinds);
}

void profile_again(struct profile *profile, unsigned kinds)
{
    for (uint32_t i = 0; i < profile->count; i++)
        forget(profile->client[i], kinds);
    for (int i = 0; i < TRAFFIC_KINDS; i++)
        if ((kinds & TRAFFIC_BIT(i)) != 0)
            profile->requests[i] = 0;
    if ((kinds & TRAFFIC_BIT(TRAFFIC_FAILURE)) != 0)
        peak_release(&profile->site_failures);
}

bool profile_arrive_again(struct profile *profile, const struct log_record *record, struct drossel_text name,
                          unsigned kinds)
{
    unsigned found = traffic_of(profile->signs, record, traffic_path_of(record)) & kinds;
    if (found == 0)
        return true;
    struct client *client = find(profile, name, record->t_ns);
    return client != NULL && count(profile, client, record->t_ns, found);
}

uint64_t client_total(const struct client *client, enum traffic kind)
{
    return client->peak[kind] != NULL ? client->peak[kind]->total : 0;
}

uint64_t client_peak(const struct client *client, enum traffic kind, int window)
{
    return client->peak[kind] != NULL ? client->peak[kind]->most[window] : 0;
}
