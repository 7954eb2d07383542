/*
 * Two policies side by side.
 */
#include "cli/replay_compare.h"

#include <stdlib.h>
#include <string.h>

#include "cli/replay_paper.h"
#include "cli/tally_parts.h"
#include "request/client.h"

#define LISTED 10
#define NAME_WIDTH 28
#define KEY_WIDTH 40

struct compare_pending {
    uint64_t index;
    int which;
    bool is_hit;
};

static void count(struct replay_compare *compare, bool one, bool other)
{
    compare->both += one && other;
    compare->only[0] += one && !other;
    compare->only[1] += other && !one;
}

static bool pend(struct replay_compare *compare, uint64_t index, int which, bool is_hit)
{
    if (compare->pending_count == compare->pending_cap) {
        size_t cap = compare->pending_cap > 0 ? compare->pending_cap * 2 : 16;
        struct compare_pending *grown = realloc(compare->pending, cap * sizeof *grown);
        if (grown == NULL)
            return false;
        compare->pending = grown;
        compare->pending_cap = cap;
    }
    compare->pending[compare->pending_count++] = (struct compare_pending){ index, which, is_hit };
    return true;
}

/* Each event is decided once by each side, in most cases directly one after the other. */
static bool hear(void *context, uint64_t index, const struct event *event, const struct drossel_decision *decision)
{
    const struct compare_ear *ear = context;
    struct replay_compare *compare = ear->compare;
    bool is_hit = decision->verdict >= DROSSEL_REFUSE || decision->dry_run_verdict >= DROSSEL_REFUSE;
    (void)event;
    for (size_t i = compare->pending_count; i > 0; i--) {
        struct compare_pending *other = &compare->pending[i - 1];
        if (other->index != index || other->which == ear->which)
            continue;
        count(compare, ear->which == 0 ? is_hit : other->is_hit, ear->which == 0 ? other->is_hit : is_hit);
        *other = compare->pending[--compare->pending_count];
        return true;
    }
    return pend(compare, index, ear->which, is_hit);
}

void compare_begin(struct replay_compare *compare, struct replay_side *one, struct replay_side *other)
{
    compare_release(compare);
    *compare = (struct replay_compare){ .side = { one, other } };
    for (int i = 0; i < 2; i++)
        compare->ear[i] = (struct compare_ear){ compare, i };
    one->course.listener = other->course.listener = hear;
    one->course.context = &compare->ear[0];
    other->course.context = &compare->ear[1];
}

void compare_release(struct replay_compare *compare)
{
    free(compare->pending);
    *compare = (struct replay_compare){ 0 };
}

/* ---- clients ---- */

/* Those that one side hits and the other does not, most refused first. */
struct difference {
    uint64_t count;
    size_t listed;
    const struct watch_client *client[LISTED];
};

static const struct tally *tally_of(const struct replay_compare *compare, int which)
{
    return compare->side[which]->course.tally;
}

static bool is_hit_by(const struct tally *tally, const struct watch_client *client)
{
    struct drossel_address counted = client_key(&client->real, tally->policy->ipv6_prefix);
    const struct census_entry *same = census_look(&tally->watch.clients, &counted, sizeof counted);
    return same != NULL && same->refused > 0;
}

static void list(struct difference *difference, const struct watch_client *client)
{
    size_t at = difference->listed < LISTED ? difference->listed++ : difference->listed;
    difference->count++;
    for (; at > 0 && difference->client[at - 1]->of.refused < client->of.refused; at--)
        if (at < LISTED)
            difference->client[at] = difference->client[at - 1];
    if (at < LISTED)
        difference->client[at] = client;
}

/* Sets whom `which` hits alone; returns how many both do. */
static uint64_t differ(const struct replay_compare *compare, int which, struct difference *difference)
{
    const struct census *clients = &tally_of(compare, which)->watch.clients;
    uint64_t both = 0;
    *difference = (struct difference){ 0 };
    for (size_t i = 0; i < clients->count; i++) {
        const struct watch_client *client = (const struct watch_client *)(const void *)clients->entry[i];
        if (client->of.refused == 0)
            continue;
        if (is_hit_by(tally_of(compare, 1 - which), client))
            both++;
        else
            list(difference, client);
    }
    return both;
}

/* ---- limits, by name ---- */

static const struct tally_limit *limit_named(const struct tally *tally, const char *name)
{
    for (uint32_t i = 0; i < tally->policy->limit_count; i++)
        if (strcmp(tally->policy->limits[i].name, name) == 0)
            return &tally->limit[i];
    return NULL;
}

/* Calls for each limit of either, those of the first one first. */
static void each_limit(const struct replay_compare *compare,
                       void (*take)(void *context, const char *name, const struct tally_limit *const limit[2]),
                       void *context)
{
    for (int which = 0; which < 2; which++) {
        const struct tally *tally = tally_of(compare, which), *other = tally_of(compare, 1 - which);
        for (uint32_t i = 0; i < tally->policy->limit_count; i++) {
            const char *name = tally->policy->limits[i].name;
            const struct tally_limit *pair[2] = { NULL, NULL };
            pair[which] = &tally->limit[i];
            pair[1 - which] = limit_named(other, name);
            if (which == 0 || pair[0] == NULL)
                take(context, name, pair);
        }
    }
}

/* ---- JSON ---- */

static json_t *pair_json(const struct tally_limit *const limit[2], size_t offset)
{
    json_t *pair = json_array();
    for (int i = 0; i < 2; i++) {
        uint64_t value = 0;
        if (limit[i] != NULL)
            memcpy(&value, (const char *)limit[i] + offset, sizeof value);
        json_array_append_new(pair, limit[i] != NULL ? json_integer((json_int_t)value) : json_null());
    }
    return pair;
}

static void add_limit(void *context, const char *name, const struct tally_limit *const limit[2])
{
    json_object_set_new(context, name,
                        json_pack("{s:o, s:o, s:o, s:o, s:o}", "requests",
                                  pair_json(limit, offsetof(struct tally_limit, requests)), "refused",
                                  pair_json(limit, offsetof(struct tally_limit, refused)), "clients_refused",
                                  pair_json(limit, offsetof(struct tally_limit, clients_refused)), "delayed",
                                  pair_json(limit, offsetof(struct tally_limit, delayed)), "challenged",
                                  pair_json(limit, offsetof(struct tally_limit, challenged))));
}

static json_t *difference_json(const struct tally *tally, const struct difference *difference)
{
    json_t *clients = json_array();
    char name[TALLY_LABEL];
    for (size_t i = 0; i < difference->listed; i++) {
        const struct watch_client *client = difference->client[i];
        watch_name(&tally->watch, &client->address, name, sizeof name);
        json_array_append_new(clients,
                              json_pack("{s:s, s:I, s:I}", "key", name, "requests", (json_int_t)client->of.requests,
                                        "refused", (json_int_t)client->of.refused));
    }
    return json_pack("{s:I, s:o}", "clients", (json_int_t)difference->count, "examples", clients);
}

json_t *compare_json(const struct replay_compare *compare, const struct tally_input *input)
{
    struct difference mine, other;
    json_t *limits = json_object();
    uint64_t both = differ(compare, 0, &mine);
    (void)differ(compare, 1, &other);
    each_limit(compare, add_limit, limits);
    return json_pack("{s:[s,s], s:o, s:{s:I, s:I, s:I}, s:{s:I, s:o, s:o}, s:o}", "policies", compare->side[0]->path,
                     compare->side[1]->path, "limits", limits, "requests", "both", (json_int_t)compare->both,
                     "only_first", (json_int_t)compare->only[0], "only_second", (json_int_t)compare->only[1], "clients",
                     "both", (json_int_t)both, "only_first", difference_json(tally_of(compare, 0), &mine),
                     "only_second", difference_json(tally_of(compare, 1), &other), "second",
                     tally_json(tally_of(compare, 1), input));
}

/* ---- for people ---- */

static const char *number_or_dash(const struct tally_limit *limit, uint64_t number, char out[PAPER_NUMBER])
{
    if (limit == NULL)
        return "-";
    return paper_number(number, out);
}

static void print_limit(void *context, const char *name, const struct tally_limit *const limit[2])
{
    const struct paper *paper = context;
    char number[4][PAPER_NUMBER];
    int used = paper_cut(paper, name, strlen(name), NAME_WIDTH);
    fprintf(paper->out, "%*s%12s %12s %12s %12s\n", NAME_WIDTH - used, "",
            number_or_dash(limit[0], limit[0] != NULL ? limit[0]->refused : 0, number[0]),
            number_or_dash(limit[1], limit[1] != NULL ? limit[1]->refused : 0, number[1]),
            number_or_dash(limit[0], limit[0] != NULL ? limit[0]->clients_refused : 0, number[2]),
            number_or_dash(limit[1], limit[1] != NULL ? limit[1]->clients_refused : 0, number[3]));
}

static void print_difference(const struct replay_compare *compare, int which, const struct difference *difference,
                             const struct paper *paper)
{
    const struct tally *tally = tally_of(compare, which);
    char name[TALLY_LABEL], number[2][PAPER_NUMBER], title[32];
    if (difference->count == 0)
        return;
    snprintf(title, sizeof title, "hit only by %s", which == 0 ? "A" : "B");
    fprintf(paper->out, "\n  %-*s%16s %16s\n", KEY_WIDTH, title, "requests", "refused");
    for (size_t i = 0; i < difference->listed; i++) {
        const struct watch_client *client = difference->client[i];
        watch_name(&tally->watch, &client->address, name, sizeof name);
        fputs("  ", paper->out);
        int used = paper_cut(paper, name, strlen(name), KEY_WIDTH);
        fprintf(paper->out, "%*s%16s %16s\n", KEY_WIDTH - used, "", paper_number(client->of.requests, number[0]),
                paper_number(client->of.refused, number[1]));
    }
    if (difference->count > difference->listed)
        fprintf(paper->out, "  ... and %s more\n", paper_number(difference->count - difference->listed, number[0]));
}

void compare_print(const struct replay_compare *compare, FILE *out)
{
    struct paper paper = paper_on(out);
    struct difference difference[2];
    char number[3][PAPER_NUMBER];
    uint64_t both = differ(compare, 0, &difference[0]);
    (void)differ(compare, 1, &difference[1]);
    fprintf(out, "\nA  %s\nB  %s\n\n%-*s%12s %12s %12s %12s\n", compare->side[0]->path, compare->side[1]->path,
            NAME_WIDTH, "refused, or would be", "A", "B", "clients A", "clients B");
    each_limit(compare, print_limit, &paper);
    fprintf(out, "\n%-*s%12s %12s %12s\n", NAME_WIDTH, "hit", "by both", "only A", "only B");
    fprintf(out, "%-*s%12s %12s %12s\n", NAME_WIDTH, "requests", paper_number(compare->both, number[0]),
            paper_number(compare->only[0], number[1]), paper_number(compare->only[1], number[2]));
    fprintf(out, "%-*s%12s %12s %12s\n", NAME_WIDTH, "clients", paper_number(both, number[0]),
            paper_number(difference[0].count, number[1]), paper_number(difference[1].count, number[2]));
    for (int which = 0; which < 2; which++)
        print_difference(compare, which, &difference[which], &paper);
}
