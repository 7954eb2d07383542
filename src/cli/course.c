/*
 * The course of a replay, in the time of its events.
 */
#include "cli/course.h"

#include <stdlib.h>
#include <strings.h>

#define HELD_KEYS 8

/* A request that is not decided yet. */
struct held {
    struct held *next;
    struct event *event;
    uint64_t index;
    uint64_t end_ns; /* of the hold: what the agenda says of another time is past */
    uint32_t key_count;
    uint64_t key[HELD_KEYS]; /* where it counts failures, the key's home; more than fit: asked with every outcome */
};

/* A request that is asked at `now`. */
struct asking {
    const struct event *event;
    uint64_t index;
    uint64_t now_ns;
    uint64_t arrived_ns; /* it was held, and came then; 0: it comes now */
    struct drossel_decision decision;
};

static bool ask(struct course *course, struct asking *asking)
{
    struct drossel_request request;
    event_request(asking->event, limiter_policy(course->limiter), course->door, &request);
    request.now_ns = asking->now_ns;
    request.arrived_ns = asking->arrived_ns;
    if (course->tally == NULL)
        return limiter_check(course->limiter, &request, &asking->decision) == DROSSEL_OK;
    if (limiter_check_told(course->limiter, &request, &asking->decision, &course->told) != DROSSEL_OK)
        return false;
    return asking->arrived_ns > 0 ||
           tally_arrived(course->tally, asking->event, &request, &asking->decision, &course->told);
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
static bool find_outcome(const struct course *course, const struct asking *asking, struct agenda_item *item)
{
    const struct policy *policy = limiter_policy(course->limiter);
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

static bool ask_all(struct course *course, const struct drossel_ticket *ticket, uint64_t now_ns);

/* An outcome that is known at once, of a request that comes now: nothing else can be due before it. */
static bool settle_at_once(struct course *course, const struct asking *asking, const struct agenda_item *item)
{
    const struct drossel_ticket *ticket = &asking->decision.ticket;
    limiter_settle(limiter_table(course->limiter), ticket, item->outcome, item->at_ns);
    return course->held == NULL || ask_all(course, ticket, item->at_ns);
}

static bool note_outcome(struct course *course, const struct asking *asking)
{
    struct agenda_item item;
    if (asking->decision.ticket.count == 0 || !find_outcome(course, asking, &item))
        return true;
    if (asking->arrived_ns == 0 && item.at_ns == asking->now_ns)
        return settle_at_once(course, asking, &item);
    item.ticket = malloc(sizeof *item.ticket);
    if (item.ticket == NULL)
        return false;
    *item.ticket = asking->decision.ticket;
    if (agenda_add(&course->agenda, &item))
        return true;
    free(item.ticket);
    return false;
}

static bool conclude(struct course *course, const struct asking *asking)
{
    struct verdict verdict = { asking->index, asking->event, &asking->decision, asking->arrived_ns > 0,
                               asking->now_ns - asking->event->t_ns };
    if (course->tally != NULL && !tally_decided(course->tally, asking->event, &asking->decision, &course->told))
        return false;
    if (course->verdicts != NULL && !verdicts_add(course->verdicts, &verdict))
        return false;
    if (course->listener != NULL && !course->listener(course->context, asking->index, asking->event, &asking->decision))
        return false;
    return note_outcome(course, asking);
}

/* ---- held ---- */

/* The index is that of the event: of holds that end at the same time the earlier is asked first. */
static bool note_end(struct course *course, const struct asking *asking, struct held *held)
{
    uint64_t end_ns = asking->now_ns + asking->decision.hold_ns;
    if (end_ns == held->end_ns)
        return true;
    held->end_ns = end_ns;
    return agenda_add(&course->agenda, &(struct agenda_item){ end_ns, AGENDA_HOLD_END, 0, asking->index, NULL });
}

static void note_key(struct held *held, uint64_t home)
{
    if (held->key_count < HELD_KEYS)
        held->key[held->key_count] = home;
    held->key_count++;
}

/* Only outcomes of charges to these keys may let it through or refuse it: with many held at once, to ask everybody with every
 * outcome takes minutes. */
static void note_keys(const struct course *course, const struct asking *asking, struct held *held)
{
    struct limiter *limiter = course->limiter;
    const struct policy *policy = limiter_policy(limiter);
    struct drossel_request request;
    struct limiter_explained said;
    event_request(asking->event, limiter_policy(course->limiter), course->door, &request);
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        if (!policy->limits[i].failures)
            continue;
        limiter_explain(limiter, &request, i, &said);
        for (uint32_t rate = 0; rate < said.rate_count; rate++)
            note_key(held, table_key_mix(said.key_hash, said.rate[rate]->seed).home);
    }
}

static bool hold(struct course *course, const struct asking *asking)
{
    struct held *held = calloc(1, sizeof *held);
    if (held == NULL)
        return false;
    held->event = event_copy(asking->event);
    held->index = asking->index;
    if (held->event == NULL) {
        free(held);
        return false;
    }
    note_keys(course, asking, held);
    *course->held_end = held;
    course->held_end = &held->next;
    return note_end(course, asking, held);
}

static void let_go(struct course *course, struct held **place)
{
    struct held *gone = *place;
    *place = gone->next;
    if (gone->next == NULL)
        course->held_end = place;
    free(gone->event);
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
static bool ask_again(struct course *course, struct held *held, uint64_t now_ns, bool last, bool *stays)
{
    bool is_end = held->end_ns == now_ns && !last;
    struct asking asking = { .event = held->event, .index = held->index, .now_ns = now_ns };
    asking.arrived_ns = asking.event->t_ns + is_end;
    if (!ask(course, &asking))
        return false;
    *stays = asking.decision.verdict == DROSSEL_HOLD;
    if (!*stays)
        return conclude(course, &asking);
    return is_end || note_end(course, &asking, held);
}

/* With an outcome known, in the order in which they came. */
static bool ask_all(struct course *course, const struct drossel_ticket *ticket, uint64_t now_ns)
{
    for (struct held **place = &course->held; *place != NULL;) {
        bool stays = true;
        if (is_touched(*place, ticket) && !ask_again(course, *place, now_ns, false, &stays))
            return false;
        if (stays)
            place = &(*place)->next;
        else
            let_go(course, place);
    }
    return true;
}

static bool end_hold(struct course *course, uint64_t index, uint64_t now_ns)
{
    struct held **place = &course->held;
    bool stays;
    while (*place != NULL && (*place)->index != index)
        place = &(*place)->next;
    if (*place == NULL || (*place)->end_ns != now_ns)
        return true;
    if (!ask_again(course, *place, now_ns, true, &stays))
        return false;
    if (!stays)
        let_go(course, place);
    return true;
}

/* ---- in the order of time ---- */

static bool arrive(struct course *course, const struct event *event)
{
    struct asking asking; /* field by field: the decision is large, and is set by whoever decides */
    asking.event = event;
    asking.index = course->count++;
    asking.now_ns = event->t_ns;
    asking.arrived_ns = 0;
    if (!ask(course, &asking))
        return false;
    return asking.decision.verdict == DROSSEL_HOLD ? hold(course, &asking) : conclude(course, &asking);
}

static bool carry_out(struct course *course, struct agenda_item *item)
{
    if (item->kind == AGENDA_HOLD_END)
        return end_hold(course, item->event, item->at_ns);
    limiter_settle(limiter_table(course->limiter), item->ticket, item->outcome, item->at_ns);
    bool good = ask_all(course, item->ticket, item->at_ns);
    free(item->ticket);
    return good;
}

static bool go_on_until(struct course *course, uint64_t t_ns)
{
    const struct agenda_item *due;
    while ((due = agenda_first(&course->agenda)) != NULL && due->at_ns <= t_ns) {
        struct agenda_item item = agenda_take(&course->agenda);
        if (!carry_out(course, &item))
            return false;
    }
    return true;
}

bool course_take(struct course *course, const struct event *event)
{
    if (course->held_end == NULL)
        course->held_end = &course->held;
    return (course->agenda.count == 0 || go_on_until(course, event->t_ns)) && arrive(course, event);
}

bool course_end(struct course *course)
{
    return go_on_until(course, UINT64_MAX);
}

void course_release(struct course *course)
{
    agenda_release(&course->agenda);
    while (course->held != NULL)
        let_go(course, &course->held);
    free(course->told.charge);
    course->told = (struct limiter_told){ 0 };
}
