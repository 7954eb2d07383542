/*
 * What a replay came to: whom the limits hit, once each event is decided.
 */
#include "cli/tally_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plain.h"

/* Examples of different keys are kept before those of one: it takes the place of the first that is of a key seen before. */
static bool note_example(struct tally_limit *limit, const struct tally_key *key, const struct event *event)
{
    bool is_new = key->hits <= 1;
    size_t at = limit->example_count;
    if (at == TALLY_EXAMPLES) {
        at = limit->example_keys;
        if (!is_new || at == TALLY_EXAMPLES)
            return true;
        free(limit->example[TALLY_EXAMPLES - 1].text);
        free(limit->example[TALLY_EXAMPLES - 1].request);
        limit->example_count--;
    }
    at = is_new ? limit->example_keys : limit->example_count;
    memmove(&limit->example[at + 1], &limit->example[at], (limit->example_count - at) * sizeof limit->example[0]);
    struct tally_example *example = &limit->example[at];
    size_t size = event->raw.size < TALLY_EXAMPLE_BYTES ? event->raw.size : TALLY_EXAMPLE_BYTES;
    *example = (struct tally_example){
        .file = event->file, .line = event->line, .key = key, .text_size = size, .status = event->status
    };
    limit->example_count++;
    limit->example_keys += is_new;
    tally_set_time(&example->time, event);
    example->text = malloc(size + 1);
    if (asprintf(&example->request, "%.*s %.*s", (int)event->method.size, event->method.data,
                 event->target.size < TALLY_EXAMPLE_BYTES ? (int)event->target.size : TALLY_EXAMPLE_BYTES,
                 event->target.data != NULL ? event->target.data : "") < 0)
        example->request = NULL;
    if (example->text != NULL && size > 0)
        memcpy(example->text, event->raw.data, size);
    return example->text != NULL && example->request != NULL;
}

static void note_lockout(struct tally_limit *limit, struct tally_key *key, uint64_t now_ns, uint64_t wait_ns)
{
    if (key->locked_since_ns == 0)
        key->locked_since_ns = now_ns;
    if (wait_ns == DROSSEL_NEVER) {
        key->is_locked_for_ever = true;
        return;
    }
    uint64_t lasts_ns = now_ns - key->locked_since_ns + wait_ns;
    if (lasts_ns > key->lockout_ns)
        key->lockout_ns = lasts_ns;
    if (lasts_ns > limit->lockout_ns) {
        limit->lockout_ns = lasts_ns;
        limit->lockout_key = key;
    }
}

/* It exceeds the limit.  Sets whether the request is refused by it, or would be. */
static bool hit(struct tally *tally, const struct tally_touch *touch, const struct event *event,
                const struct limiter_told *told)
{
    struct tally_limit *limit = &tally->limit[touch->limit];
    enum policy_action action = tally->policy->limits[touch->limit].action;
    timeline_count(&tally->timeline, 1 + touch->limit);
    tally_set_time(&limit->last, event);
    if (limit->hits++ == 0)
        limit->first = limit->last;
    touch->key->hits++;
    limit->challenged += action == POLICY_CHALLENGE;
    limit->marked += action == POLICY_MARK;
    if (action == POLICY_CHALLENGE || action == POLICY_MARK)
        return note_example(limit, touch->key, event);
    limit->refused++;
    touch->key->of.refused++;
    limit->signed_in += event->signed_in || told->signed_in;
    limit->successful += event->status >= 200 && event->status < 400;
    note_lockout(limit, touch->key, event->t_ns, touch->wait_ns);
    return note_example(limit, touch->key, event);
}

static bool is_refusing(const struct tally *tally, const struct tally_touch *touch)
{
    enum policy_action action = tally->policy->limits[touch->limit].action;
    return touch->violated && action != POLICY_CHALLENGE && action != POLICY_MARK;
}

static bool decide_by(struct tally *tally, const struct tally_touch *touch, const struct event *event,
                      const struct limiter_told *told, const struct watch_client *client)
{
    struct tally_limit *limit = &tally->limit[touch->limit];
    limit->blocked += touch->in_block;
    limit->delayed += touch->delays;
    if (!touch->violated) {
        touch->key->locked_since_ns = 0;
        return true;
    }
    if (!hit(tally, touch, event, told))
        return false;
    if (!is_refusing(tally, touch))
        return true;
    struct census_entry *who = tally_client_of(limit, touch, client);
    if (who == NULL)
        return false;
    if (!limit->by_address)
        who->refused++;
    limit->clients_refused += who->refused == 1;
    return true;
}

/* As it stands, but on a terminal, which would obey it.  An error is found when the file is closed. */
static bool write_refused(const struct tally *tally, struct drossel_text raw)
{
    char *plain = tally->is_terminal ? malloc(raw.size + 1) : NULL;
    if (tally->is_terminal && plain == NULL)
        return false;
    if (plain != NULL && raw.size > 0) {
        memcpy(plain, raw.data, raw.size);
        plain_bytes(plain, raw.size, false);
        raw.data = plain;
    }
    fwrite(raw.data, 1, raw.size, tally->refused_to);
    putc('\n', tally->refused_to);
    free(plain);
    return true;
}

static bool note_refused(struct tally *tally, const struct event *event, struct watch_client *client)
{
    watch_refused(&tally->watch, event, client);
    return tally->refused_to == NULL || write_refused(tally, event->raw);
}

bool tally_decided(struct tally *tally, const struct event *event, const struct drossel_decision *decision,
                   const struct limiter_told *told)
{
    tally->exempt += decision->exempt;
    tally->banned += decision->banned;
    tally->untrusted += decision->untrusted;
    if (decision->exempt)
        return true;
    if (tally->looked_at != event && !tally_look_at(tally, event, told)) /* it was held */
        return false;
    struct watch_client *client = tally_client(tally, decision);
    if (client == NULL)
        return false;
    bool is_refused = decision->verdict == DROSSEL_REFUSE || decision->verdict == DROSSEL_DROP;
    bool is_asked = !decision->banned && !decision->untrusted; /* were the limits? */
    for (uint32_t i = 0; i < tally->touch_count && is_asked; i++) {
        if (!decide_by(tally, &tally->touch[i], event, told, client))
            return false;
        is_refused |= is_refusing(tally, &tally->touch[i]);
    }
    return !is_refused || note_refused(tally, event, client);
}
