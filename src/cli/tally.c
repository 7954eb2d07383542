/*
 * What a replay came to: counting, on the way of each request.
 */
#include "cli/tally_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subject.h"

#define UNMATCHED_ALL 1000  /* of so many requests it is asked why a limit does not match ... */
#define UNMATCHED_EACH 1024 /* ... and of every such one after them */

struct tally *tally_open(const struct policy *policy, const struct names *names)
{
    struct tally *tally = calloc(1, sizeof *tally);
    if (tally == NULL)
        return NULL;
    tally->policy = policy;
    tally->watch = (struct watch){ .policy = policy, .names = names };
    tally->limit = calloc(policy->limit_count + 1, sizeof *tally->limit);
    tally->touch = calloc(policy->limit_count + 1, sizeof *tally->touch);
    tally->warnings = json_array();
    if (!timeline_init(&tally->timeline, 1 + policy->limit_count) || tally->limit == NULL || tally->touch == NULL ||
        tally->warnings == NULL) {
        tally_close(tally);
        return NULL;
    }
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        struct tally_limit *limit = &tally->limit[i];
        limit->keys.entry_size = sizeof(struct tally_key);
        limit->keys.is_hashed = true;
        limit->by_address = subject_is_address(policy, policy->limits[i].subject);
    }
    return tally;
}

static void release_limit(struct tally_limit *limit)
{
    census_release(&limit->keys);
    census_release(&limit->clients);
    for (size_t i = 0; i < limit->example_count; i++) {
        free(limit->example[i].text);
        free(limit->example[i].request);
    }
}

void tally_close(struct tally *tally)
{
    for (uint32_t i = 0; tally->limit != NULL && i < tally->policy->limit_count; i++)
        release_limit(&tally->limit[i]);
    watch_release(&tally->watch);
    timeline_release(&tally->timeline);
    json_decref(tally->warnings);
    free(tally->limit);
    free(tally->touch);
    free(tally);
}

void tally_attach(struct tally *tally, struct limiter *limiter)
{
    tally->limiter = limiter;
}

void tally_refused_to(struct tally *tally, FILE *out)
{
    tally->refused_to = out;
    tally->is_terminal = out != NULL && isatty(fileno(out)) != 0;
}

const char *tally_time(const struct tally_time *time, char out[EVENT_TIME_TEXT])
{
    if (!time->is_set)
        return "null";
    return time->text[0] != '\0' ? time->text : event_time(&(struct event){ .told_ns = time->told_ns }, out);
}

/* ---- names of keys ---- */

/* A stand-in address within a readable key, whose parts are separated by blanks, becomes the name that it stands for. */
static void show_name(const struct tally *tally, const struct drossel_address *client, char label[TALLY_LABEL])
{
    const char *name = names_text(tally->watch.names, client);
    char address[DROSSEL_ADDRESS_TEXT], whole[TALLY_LABEL];
    if (name == NULL)
        return;
    size_t size = drossel_address_format(client, address);
    char *at = strstr(label, address);
    if (at == NULL)
        return;
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - label), label, name, at + size);
    memcpy(label, whole, sizeof whole);
}

/* Keys by address are named when they are shown, all others at once, while their request is at hand. */
static bool name_key(struct tally *tally, const struct drossel_request *request, uint32_t index, struct tally_key *key,
                     const struct drossel_address *client)
{
    struct limiter_explained said;
    char label[TALLY_LABEL];
    limiter_explain(tally->limiter, request, index, &said);
    snprintf(label, sizeof label, "%s", said.key);
    show_name(tally, client, label);
    key->of.label = strdup(label);
    return key->of.label != NULL;
}

const char *tally_label(const struct tally *tally, const struct tally_key *key, char out[TALLY_LABEL])
{
    if (key->of.label != NULL)
        return key->of.label;
    out[0] = '\0';
    if (key->client != NULL)
        watch_name(&tally->watch, &key->client->address, out, TALLY_LABEL);
    return out;
}

/* ---- one event ---- */

bool tally_look_at(struct tally *tally, const struct event *event, const struct limiter_told *told)
{
    const struct policy *policy = tally->policy;
    struct tally_touch *touch = NULL;
    tally->touch_count = 0;
    tally->looked_at = event;
    for (uint32_t i = 0; i < told->count; i++) {
        const struct limiter_charge *charge = &told->charge[i];
        uint32_t index = policy->rates[charge->rate].limit;
        if (touch == NULL || touch->limit != index) {
            touch = &tally->touch[tally->touch_count++];
            *touch = (struct tally_touch){ .limit = index };
            touch->key = (struct tally_key *)(void *)census_find(&tally->limit[index].keys, &charge->key,
                                                                 sizeof charge->key, NULL);
            if (touch->key == NULL)
                return false;
        }
        if (!told->is_judged)
            continue;
        const struct engine_verdict *verdict = &charge->verdict;
        touch->waits |= charge->waits;
        touch->in_block |= verdict->blocked && !verdict->started_block;
        touch->delays |= verdict->allowed && verdict->delay_ns > 0;
        if (verdict->allowed || charge->waits)
            continue;
        touch->violated = true;
        if (verdict->wait_ns > touch->wait_ns)
            touch->wait_ns = verdict->wait_ns;
    }
    return true;
}

/* The client as a key by address knows it, or else as it is looked up. */
static struct watch_client *known_client(struct tally *tally, const struct drossel_decision *decision)
{
    for (uint32_t i = 0; i < tally->touch_count; i++)
        if (tally->touch[i].key->client != NULL)
            return tally->touch[i].key->client;
    struct drossel_address counted = client_key(&decision->client, tally->policy->ipv6_prefix);
    return watch_client(&tally->watch, &counted);
}

struct watch_client *tally_client(struct tally *tally, const struct drossel_decision *decision)
{
    struct watch_client *client = known_client(tally, decision);
    for (uint32_t i = 0; i < tally->touch_count && client != NULL; i++) /* a key may be new where another is known */
        if (tally->limit[tally->touch[i].limit].by_address)
            tally->touch[i].key->client = client;
    return client;
}

struct census_entry *tally_client_of(struct tally_limit *limit, const struct tally_touch *touch,
                                     const struct watch_client *client)
{
    return limit->by_address ? &touch->key->of : census_find(&limit->clients, &client, sizeof client, NULL);
}

static bool no_header(void *context, struct drossel_text name, struct drossel_text *value)
{
    (void)context, (void)name, (void)value;
    return false;
}

/* By its status: where the policy asks a header of the answer, a log does not tell. */
static bool is_failure(const struct policy *policy, const struct event *event)
{
    return event->status != 0 && limiter_outcome(policy, event->status, no_header, NULL) == DROSSEL_FAILURE;
}

/* One request that a limit has to judge. */
static bool arrive_at(struct tally *tally, const struct tally_touch *touch, const struct event *event,
                      const struct watch_client *client)
{
    struct tally_limit *limit = &tally->limit[touch->limit];
    const struct policy_limit *policy = &tally->policy->limits[touch->limit];
    uint64_t period_ns = tally->policy->rates[policy->first_rate].engine.spec.period_ns;
    if (!census_arrive(&touch->key->of, event->t_ns, period_ns) || tally_client_of(limit, touch, client) == NULL)
        return false;
    limit->requests++;
    if (touch->key->of.peak > limit->peak)
        limit->peak = touch->key->of.peak;
    if (policy->failures)
        limit->failures += is_failure(tally->policy, event);
    return true;
}

/* Why do limits that have never matched not match this one either? */
static void ask_unmatched(struct tally *tally, const struct drossel_request *request)
{
    struct limiter_explained said;
    if (tally->requests > UNMATCHED_ALL && tally->requests % UNMATCHED_EACH != 0)
        return;
    for (uint32_t i = 0; i < tally->policy->limit_count; i++) {
        struct tally_unmatched *unmatched = &tally->limit[i].unmatched;
        if (tally->limit[i].requests > 0)
            continue;
        limiter_explain(tally->limiter, request, i, &said);
        unmatched->asked++;
        unmatched->no_class += said.why == LIMITER_NO_CLASS;
        unmatched->other_door += said.why == LIMITER_OTHER_DOOR;
        unmatched->unlimited += said.why == LIMITER_UNLIMITED;
        unmatched->key_missing += said.why == LIMITER_KEY_MISSING;
        if (said.why == LIMITER_KEY_MISSING)
            unmatched->missing = said.missing;
    }
}

void tally_set_time(struct tally_time *time, const struct event *event)
{
    time->is_set = true;
    time->told_ns = event->told_ns;
    time->text[0] = '\0';
    if (event->t_text != NULL)
        snprintf(time->text, sizeof time->text, "%s", event->t_text);
}

static void note_time(struct tally *tally, const struct event *event)
{
    if (!tally->first.is_set)
        tally_set_time(&tally->first, event);
    tally_set_time(&tally->last, event);
    timeline_move(&tally->timeline, event->told_ns);
    timeline_count(&tally->timeline, 0);
}

static bool arrive_at_limits(struct tally *tally, const struct event *event, const struct drossel_request *request,
                             const struct drossel_decision *decision, struct watch_client *client)
{
    bool is_held = decision->verdict == DROSSEL_HOLD;
    for (uint32_t i = 0; i < tally->touch_count; i++) {
        struct tally_touch *touch = &tally->touch[i];
        const struct policy_limit *policy = &tally->policy->limits[touch->limit];
        struct tally_limit *limit = &tally->limit[touch->limit];
        if (!limit->by_address && touch->key->of.label == NULL &&
            !name_key(tally, request, touch->limit, touch->key, &decision->client))
            return false;
        if (!arrive_at(tally, touch, event, client))
            return false;
        limit->held += is_held && touch->waits && !policy->dry_run && policy->action != POLICY_MARK;
    }
    return true;
}

static bool counts_failures(const struct tally *tally)
{
    for (uint32_t i = 0; i < tally->touch_count; i++)
        if (tally->policy->limits[tally->touch[i].limit].failures)
            return true;
    return false;
}

bool tally_arrived(struct tally *tally, const struct event *event, const struct drossel_request *request,
                   const struct drossel_decision *decision, const struct limiter_told *told)
{
    tally->requests++;
    tally->held += decision->verdict == DROSSEL_HOLD;
    note_time(tally, event);
    if (!tally_look_at(tally, event, told))
        return false;
    struct watch_client *client = tally_client(tally, decision);
    bool is_login = tally->policy->has_failures && counts_failures(tally);
    if (client == NULL || !watch_arrived(&tally->watch, event, client, &decision->client, is_login))
        return false;
    if (tally->touch_count < tally->policy->limit_count)
        ask_unmatched(tally, request);
    return decision->exempt || arrive_at_limits(tally, event, request, decision, client);
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
