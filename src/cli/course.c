/*
 * The course of a replay, in the time of its events.
 */
#include "cli/course.h"

#include <stdlib.h>
#include <strings.h>

#include "cli/agenda.h"

#define HELD_KEYS 8

/* A request that is not decided yet. */
struct held {
    struct held *next;
    size_t event;
    uint64_t end_ns; /* of the hold: what the agenda says of another time is past */
    uint32_t key_count;
    uint64_t key[HELD_KEYS]; /* where it counts failures, the key's home; more than fit: asked with every outcome */
};

struct run {
    const struct course *of;
    struct agenda agenda;
    struct held *held, **held_end; /* in the order in which they came */
};

/* A request that is asked at `now`. */
struct asking {
    const struct event *event;
    size_t index;
    uint64_t now_ns;
    uint64_t arrived_ns; /* it was held, and came then; 0: it comes now */
    struct drossel_decision decision;
};

static bool ask(struct run *run, struct asking *asking)
{
    const struct course *of = run->of;
    struct drossel_request request;
    event_request(asking->event, of->door, &request);
    request.now_ns = asking->now_ns;
    request.arrived_ns = asking->arrived_ns;
    if (of->tally != NULL && !tally_before(of->tally, of->limiter, &request))
        return false;
    if (limiter_check(of->limiter, &request, &asking->decision) != DROSSEL_OK)
        return false;
    return of->tally == NULL || asking->arrived_ns > 0 || tally_arrived(of->tally, asking->event, &asking->decision);
}

static bool find_answer_header(void *context, struct drossel_text name, struct drossel_text *value)
{
    const struct event *event = context;
    for (uint32_t i = 0; i < event->answer_header_count; i++) {
        struct drossel_text other = event->answer_headers[i].name;
        if (other.size != name.size || strncasecmp(other.data, name.data, name.size) != 0)
            continue;
        *value = event->answer_headers[i].value;
        return true;
    }
    return false;
}

/* When and what the outcome of a request that went through will be.  False if it never arrives. */
static bool find_outcome(const struct run *run, const struct asking *asking, struct agenda_item *item)
{
    const struct policy *policy = limiter_policy(run->of->limiter);
    struct event event = *asking->event; /* a copy, as looking a header up takes no const */
    *item = (struct agenda_item){ asking->now_ns, AGENDA_OUTCOME, DROSSEL_OTHER, asking->index, NULL };
    if (verdict_redirects(policy, &asking->decision))
        return true; /* the application never saw it */
    if (event.status == 0)
        return false;
    if (event.settle_ns > item->at_ns)
        item->at_ns = event.settle_ns;
    item->outcome = limiter_outcome(policy, event.status, find_answer_header, &event);
    return true;
}

static bool note_outcome(struct run *run, const struct asking *asking)
{
    struct agenda_item item;
    if (asking->decision.ticket.count == 0 || !find_outcome(run, asking, &item))
        return true;
    item.ticket = malloc(sizeof *item.ticket);
    if (item.ticket == NULL)
        return false;
    *item.ticket = asking->decision.ticket;
    if (agenda_add(&run->agenda, &item))
        return true;
    free(item.ticket);
    return false;
}

static bool conclude(struct run *run, const struct asking *asking)
{
    struct verdict verdict = { asking->index, asking->event, &asking->decision, asking->arrived_ns > 0,
                               asking->now_ns - asking->event->t_ns };
    if (run->of->tally != NULL && !tally_decided(run->of->tally, &asking->decision))
        return false;
    if (run->of->verdicts != NULL && !verdicts_add(run->of->verdicts, &verdict))
        return false;
    return note_outcome(run, asking);
}

/* ---- held ---- */

static bool note_end(struct run *run, const struct asking *asking, struct held *held)
{
    uint64_t end_ns = asking->now_ns + asking->decision.hold_ns;
    if (end_ns == held->end_ns)
        return true;
    held->end_ns = end_ns;
    return agenda_add(&run->agenda, &(struct agenda_item){ end_ns, AGENDA_HOLD_END, 0, asking->index, NULL });
}

static void note_key(struct held *held, uint64_t home)
{
    if (held->key_count < HELD_KEYS)
        held->key[held->key_count] = home;
    held->key_count++;
}

/* Only outcomes of charges to these keys may let it through or refuse it: with many held at once, to ask everybody with every
 * outcome takes minutes. */
static void note_keys(const struct run *run, const struct asking *asking, struct held *held)
{
    struct limiter *limiter = run->of->limiter;
    const struct policy *policy = limiter_policy(limiter);
    struct drossel_request request;
    struct limiter_explained said;
    event_request(asking->event, run->of->door, &request);
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        if (!policy->limits[i].failures)
            continue;
        limiter_explain(limiter, &request, i, &said);
        for (uint32_t rate = 0; rate < said.rate_count; rate++)
            note_key(held, table_key_mix(said.key_hash, said.rate[rate]->seed).home);
    }
}

static bool hold(struct run *run, const struct asking *asking)
{
    struct held *held = calloc(1, sizeof *held);
    if (held == NULL)
        return false;
    held->event = asking->index;
    note_keys(run, asking, held);
    *run->held_end = held;
    run->held_end = &held->next;
    return note_end(run, asking, held);
}

static void let_go(struct run *run, struct held **place)
{
    struct held *gone = *place;
    *place = gone->next;
    if (gone->next == NULL)
        run->held_end = place;
    free(gone);
}

/* Has the outcome of these charges to do with it? */
static bool is_touched(const struct held *held, const struct drossel_ticket *ticket)
{
    if (held->key_count > HELD_KEYS)
        return true;
    for (uint32_t i = 0; i < ticket->count; i++)
        for (uint32_t key = 0; key < held->key_count; key++)
            if (held->key[key] == ticket->charge[i].home)
                return true;
    return false;
}

/* Asks one of those who are held.  Sets whether he still is.  At the end of his hold he is decided only for the `last`
 * time: of the outcomes that arrive at that very moment all come first, so until then a nanosecond is left. */
static bool ask_again(struct run *run, struct held *held, uint64_t now_ns, bool last, bool *stays)
{
    bool is_end = held->end_ns == now_ns && !last;
    struct asking asking = { .event = events_at(run->of->events, held->event), .index = held->event, .now_ns = now_ns };
    asking.arrived_ns = asking.event->t_ns + is_end;
    if (!ask(run, &asking))
        return false;
    *stays = asking.decision.verdict == DROSSEL_HOLD;
    if (!*stays)
        return conclude(run, &asking);
    return is_end || note_end(run, &asking, held);
}

/* With an outcome known, in the order in which they came. */
static bool ask_all(struct run *run, const struct drossel_ticket *ticket, uint64_t now_ns)
{
    for (struct held **place = &run->held; *place != NULL;) {
        bool stays = true;
        if (is_touched(*place, ticket) && !ask_again(run, *place, now_ns, false, &stays))
            return false;
        if (stays)
            place = &(*place)->next;
        else
            let_go(run, place);
    }
    return true;
}

static bool end_hold(struct run *run, size_t event, uint64_t now_ns)
{
    struct held **place = &run->held;
    bool stays;
    while (*place != NULL && (*place)->event != event)
        place = &(*place)->next;
    if (*place == NULL || (*place)->end_ns != now_ns)
        return true;
    if (!ask_again(run, *place, now_ns, true, &stays))
        return false;
    if (!stays)
        let_go(run, place);
    return true;
}

/* ---- in the order of time ---- */

static bool arrive(struct run *run, size_t index)
{
    struct asking asking = { .event = events_at(run->of->events, index), .index = index };
    asking.now_ns = asking.event->t_ns;
    if (!ask(run, &asking))
        return false;
    return asking.decision.verdict == DROSSEL_HOLD ? hold(run, &asking) : conclude(run, &asking);
}

static bool carry_out(struct run *run, struct agenda_item *item)
{
    if (item->kind == AGENDA_HOLD_END)
        return end_hold(run, item->event, item->at_ns);
    limiter_settle(limiter_table(run->of->limiter), item->ticket, item->outcome, item->at_ns);
    bool good = ask_all(run, item->ticket, item->at_ns);
    free(item->ticket);
    return good;
}

static bool go_on(struct run *run)
{
    const struct agenda_item *due;
    size_t next = 0, count = events_count(run->of->events);
    while ((due = agenda_first(&run->agenda)) != NULL || next < count) {
        if (due == NULL || (next < count && events_at(run->of->events, next)->t_ns < due->at_ns)) {
            if (!arrive(run, next++))
                return false;
            continue;
        }
        struct agenda_item item = agenda_take(&run->agenda);
        if (!carry_out(run, &item))
            return false;
    }
    return true;
}

bool course_run(const struct course *course)
{
    struct run run = { .of = course, .held_end = &run.held };
    bool good = go_on(&run);
    agenda_release(&run.agenda);
    while (run.held != NULL)
        let_go(&run, &run.held);
    return good;
}
