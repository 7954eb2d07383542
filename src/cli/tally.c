/*
 * What a replay came to.
 */
#include "cli/tally.h"

#include <stdlib.h>
#include <string.h>

#include "cli/census.h"
#include "cli/seconds.h"

#define TOP 10
#define LONE_LEAST 20 /* so many requests of one address, before it is suspicious */
#define WARNING_BYTES 512

struct tally_limit {
    struct census keys, clients;
    uint64_t requests, refused, held, delayed, challenged, marked, blocked, clients_refused;
    uint64_t peak;
    /* of the event under way: */
    struct census_entry *key; /* NULL: the limit does not apply */
    bool violated, waits, delays, in_block;
};

struct tally {
    const struct policy *policy;
    struct tally_limit *limit;
    struct census clients, forwarded;
    json_t *warnings;
    char *first, *last;            /* as JSON */
    struct drossel_address client; /* the last one */
    uint64_t requests, held, exempt, banned;
};

struct tally *tally_open(const struct policy *policy)
{
    struct tally *tally = calloc(1, sizeof *tally);
    if (tally == NULL)
        return NULL;
    tally->policy = policy;
    tally->limit = calloc(policy->limit_count + 1, sizeof *tally->limit);
    tally->warnings = json_array();
    if (tally->limit == NULL || tally->warnings == NULL) {
        tally_close(tally);
        return NULL;
    }
    return tally;
}

void tally_close(struct tally *tally)
{
    for (uint32_t i = 0; tally->limit != NULL && i < tally->policy->limit_count; i++) {
        census_release(&tally->limit[i].keys);
        census_release(&tally->limit[i].clients);
    }
    census_release(&tally->clients);
    census_release(&tally->forwarded);
    json_decref(tally->warnings);
    free(tally->limit);
    free(tally->first);
    free(tally->last);
    free(tally);
}

static bool before_limit(struct tally *tally, struct limiter *limiter, const struct drossel_request *request,
                         uint32_t index)
{
    struct tally_limit *limit = &tally->limit[index];
    struct limiter_explained said = { 0 };
    limiter_explain(limiter, request, index, &said);
    limit->key = NULL;
    limit->violated = limit->waits = limit->delays = limit->in_block = false;
    if (said.why != LIMITER_APPLIES)
        return true;
    limit->key = census_find(&limit->keys, said.key_hash, sizeof said.key_hash, said.key);
    for (uint32_t i = 0; i < said.rate_count; i++) {
        limit->violated |= !said.verdict[i].allowed && !said.waits[i];
        limit->waits |= said.waits[i];
        limit->in_block |= said.verdict[i].blocked;
        limit->delays |= said.verdict[i].allowed && said.verdict[i].delay_ns > 0;
    }
    return limit->key != NULL;
}

bool tally_before(struct tally *tally, struct limiter *limiter, const struct drossel_request *request)
{
    for (uint32_t i = 0; i < tally->policy->limit_count; i++)
        if (!before_limit(tally, limiter, request, i))
            return false;
    return true;
}

/* One request that a limit has to judge. */
static bool arrive_at(struct tally_limit *limit, const struct drossel_address *client, uint64_t t_ns,
                      uint64_t period_ns)
{
    if (census_find(&limit->clients, client, sizeof *client, "") == NULL || !census_arrive(limit->key, t_ns, period_ns))
        return false;
    limit->requests++;
    if (limit->key->peak > limit->peak)
        limit->peak = limit->key->peak;
    return true;
}

/* One request that a limit has judged. */
static bool decide_by(struct tally_limit *limit, const struct policy_limit *policy,
                      const struct drossel_address *client)
{
    struct census_entry *who = census_find(&limit->clients, client, sizeof *client, "");
    if (who == NULL)
        return false;
    limit->blocked += limit->in_block;
    limit->delayed += limit->delays;
    if (!limit->violated)
        return true;
    if (policy->action == POLICY_CHALLENGE) {
        limit->challenged++;
    } else if (policy->action == POLICY_MARK) {
        limit->marked++;
    } else {
        limit->refused++;
        limit->key->refused++;
        limit->clients_refused += who->refused++ == 0;
    }
    return true;
}

static bool keep(char **place, const char *text)
{
    free(*place);
    *place = strdup(text);
    return *place != NULL;
}

/* Remembers what the forwarding header says, for the warning about a proxy that nobody trusts. */
static bool note_forwarded(struct tally *tally, const struct event *event)
{
    if (tally->forwarded.count > 1)
        return true;
    for (uint32_t i = 0; i < event->header_count; i++) {
        struct drossel_text name = event->headers[i].name, value = event->headers[i].value;
        if (name.size == 15 && strncasecmp(name.data, "x-forwarded-for", 15) == 0 &&
            census_find(&tally->forwarded, value.data, value.size, "") == NULL)
            return false;
    }
    return true;
}

bool tally_arrived(struct tally *tally, const struct event *event, const struct drossel_decision *decision)
{
    struct drossel_address client = client_key(&decision->client, tally->policy->ipv6_prefix);
    bool is_held = decision->verdict == DROSSEL_HOLD;
    tally->requests++;
    tally->held += is_held;
    tally->client = decision->client;
    if (census_find(&tally->clients, &client, sizeof client, "") == NULL || !note_forwarded(tally, event) ||
        (tally->first == NULL && !keep(&tally->first, event->t_text)) || !keep(&tally->last, event->t_text))
        return false;
    for (uint32_t i = 0; i < tally->policy->limit_count && !decision->exempt; i++) {
        struct tally_limit *limit = &tally->limit[i];
        if (limit->key == NULL)
            continue;
        const struct policy_limit *policy = &tally->policy->limits[i];
        uint64_t period_ns = tally->policy->rates[policy->first_rate].engine.spec.period_ns;
        if (!arrive_at(limit, &client, event->t_ns, period_ns))
            return false;
        limit->held += is_held && limit->waits && !policy->dry_run && policy->action <= POLICY_DROP;
    }
    return true;
}

bool tally_decided(struct tally *tally, const struct drossel_decision *decision)
{
    struct drossel_address client = client_key(&decision->client, tally->policy->ipv6_prefix);
    tally->exempt += decision->exempt;
    tally->banned += decision->banned;
    if (decision->exempt || decision->banned || decision->untrusted) /* the limits were not asked */
        return true;
    for (uint32_t i = 0; i < tally->policy->limit_count; i++)
        if (tally->limit[i].key != NULL && !decide_by(&tally->limit[i], &tally->policy->limits[i], &client))
            return false;
    return true;
}

void tally_warn(struct tally *tally, const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t size = strcspn(text, "\n");
        if (size > 0)
            json_array_append_new(tally->warnings, json_stringn(text, size));
        text += size + (text[size] == '\n');
    }
}

void tally_conclude(struct tally *tally)
{
    char client[DROSSEL_ADDRESS_TEXT], text[WARNING_BYTES];
    if (tally->requests < LONE_LEAST || tally->clients.count != 1 || tally->forwarded.count < 2 ||
        !client_is_private(&tally->client))
        return;
    drossel_address_format(&tally->client, client);
    snprintf(text, sizeof text,
             "warning: all %llu requests seem to come from %s while their X-Forwarded-For differs: everybody shares "
             "one key; set "
             "`client: { trusted: [%s], address_from: X-Forwarded-For }` if that is your proxy",
             (unsigned long long)tally->requests, client, client);
    tally_warn(tally, text);
}

static json_t *top_json(const struct census *keys)
{
    const struct census_entry *top[TOP];
    json_t *list = json_array();
    size_t count = census_top(keys, top, TOP);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "key", top[i]->label, "requests",
                                              (json_int_t)top[i]->requests, "refused", (json_int_t)top[i]->refused,
                                              "peak", (json_int_t)top[i]->peak));
    return list;
}

static json_t *limit_json(const struct tally_limit *limit, const struct policy_limit *policy)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "requests",
                     (json_int_t)limit->requests, "clients", (json_int_t)limit->clients.count, "refused",
                     (json_int_t)limit->refused, "clients_refused", (json_int_t)limit->clients_refused, "held",
                     (json_int_t)limit->held, "delayed", (json_int_t)limit->delayed, "challenged",
                     (json_int_t)limit->challenged, "marked", (json_int_t)limit->marked, "blocked",
                     (json_int_t)limit->blocked, "peak", (json_int_t)limit->peak, "dry_run", policy->dry_run, "top",
                     top_json(&limit->keys));
}

static json_t *time_json(const char *text)
{
    return text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : json_null();
}

json_t *tally_json(const struct tally *tally, size_t unparsed)
{
    json_t *limits = json_object();
    for (uint32_t i = 0; i < tally->policy->limit_count; i++)
        json_object_set_new(limits, tally->policy->limits[i].name,
                            limit_json(&tally->limit[i], &tally->policy->limits[i]));
    return json_pack("{s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:O, s:o}", "requests", (json_int_t)tally->requests,
                     "unparsed", (json_int_t)unparsed, "first", time_json(tally->first), "last", time_json(tally->last),
                     "clients", (json_int_t)tally->clients.count, "held", (json_int_t)tally->held, "exempt",
                     (json_int_t)tally->exempt, "banned", (json_int_t)tally->banned, "warnings", tally->warnings,
                     "limits", limits);
}

static void print_limit(const struct tally_limit *limit, const struct policy_limit *policy, FILE *out)
{
    const struct census_entry *top[3];
    fprintf(out, "%-24s %9llu %8zu %8llu %8llu %6llu %8llu %10llu %8llu %6llu%s\n", policy->name,
            (unsigned long long)limit->requests, limit->clients.count, (unsigned long long)limit->refused,
            (unsigned long long)limit->clients_refused, (unsigned long long)limit->held,
            (unsigned long long)limit->delayed, (unsigned long long)limit->challenged,
            (unsigned long long)limit->blocked, (unsigned long long)limit->peak, policy->dry_run ? "  dry run" : "");
    size_t count = census_top(&limit->keys, top, 3);
    for (size_t i = 0; i < count && top[i]->refused > 0; i++)
        fprintf(out, "  %-22s %9llu %8s %8llu %8s %6s %8s %10s %8s %6llu\n", top[i]->label,
                (unsigned long long)top[i]->requests, "", (unsigned long long)top[i]->refused, "", "", "", "", "",
                (unsigned long long)top[i]->peak);
}

void tally_print(const struct tally *tally, size_t unparsed, FILE *out)
{
    size_t index;
    json_t *warning;
    json_array_foreach(tally->warnings, index, warning) fprintf(out, "%s\n", json_string_value(warning));
    fprintf(out, "%llu requests of %zu clients", (unsigned long long)tally->requests, tally->clients.count);
    if (tally->first != NULL)
        fprintf(out, " from %s to %s", tally->first, tally->last);
    fprintf(out, "; %zu unparsed, %llu held, %llu exempt, %llu refused by a ban\n", unparsed,
            (unsigned long long)tally->held, (unsigned long long)tally->exempt, (unsigned long long)tally->banned);
    if (tally->policy->limit_count == 0)
        return;
    fprintf(out, "\n%-24s %9s %8s %8s %8s %6s %8s %10s %8s %6s\n", "limit", "requests", "clients", "refused", "clients",
            "held", "delayed", "challenged", "blocked", "peak");
    for (uint32_t i = 0; i < tally->policy->limit_count; i++)
        print_limit(&tally->limit[i], &tally->policy->limits[i], out);
}
