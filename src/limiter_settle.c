/*
 * Charges whose outcome is open: held requests, tickets, and what becomes of a charge when the outcome is known.
 *
 * A limit that counts failures takes its charge when the request arrives.  With each such charge goes a second one, on a key of
 * its own, that counts how many of the key's charges are open; settling gives that one back in any case, and the charge itself
 * unless the outcome was a failure.  A request that would exceed the limit only because of open charges is held.
 *
 * A ticket is settled once.  One that may be copied has a slot of its own in the table, and who frees that slot settles.  If the slot
 * is lost to others meanwhile, the charges stay, which is the strict side.  So does a process that dies before it settles.
 */
#include "limiter_private.h"

#include <string.h>
#include <strings.h>

#define OPEN_SEED UINT64_C(0x6f70656e206f7574) /* "open out" */
#define TICKET_SEED UINT64_C(0x7469636b6574)   /* "ticket" */

/* At home beside the key itself: both are charged and settled together, and finding one more line's page costs more than all that is
 * done there. */
struct table_key limiter_open_key(struct table_key key)
{
    struct table_key open = table_key_beside(key, OPEN_SEED);
    open.home = key.home ^ 1;
    return open;
}

void limiter_hold(const struct limiter *limiter, const struct store_batch *batch, const uint32_t *rate,
                  const struct drossel_request *request, struct drossel_decision *decision)
{
    const struct policy *policy = limiter->policy;
    uint64_t arrived_ns = request->arrived_ns > 0 ? request->arrived_ns : request->now_ns;
    decision->verdict = DROSSEL_HOLD;
    decision->hold_ns = UINT64_MAX;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct store_charge *charge = &batch->charge[i];
        if (!charge->held || !charge->may_hold)
            continue;
        const struct policy_rate *of = &policy->rates[rate[i]];
        uint64_t held_ns = request->now_ns - arrived_ns;
        uint64_t hold_ns = policy->limits[of->limit].hold_ns;
        uint64_t left_ns = hold_ns > held_ns ? hold_ns - held_ns : 0;
        if (left_ns >= decision->hold_ns)
            continue;
        decision->hold_ns = left_ns;
        decision->limit = of->limit;
        decision->limit_name = policy->limits[of->limit].name;
        decision->used = charge->verdict.used;
    }
}

/* ---- tickets ---- */

/* A key that no other ticket has: from the time, a ticket of the guards' generator, and the first key charged. */
static struct table_key ticket_key(const struct table *table, const struct drossel_ticket *ticket, uint64_t now_ns)
{
    struct table_key key = { ticket->charge[0].home ^ now_ns,
                             ticket->charge[0].tag ^ (uint64_t)table_ticket(table) << 32 ^ table_ticket(table) };
    return table_key_beside(key, TICKET_SEED);
}

/* Gives a ticket's key a slot.  False if its neighbourhood has none to give. */
static bool list(struct table *table, struct table_key key, uint64_t now_ns)
{
    const struct engine_limit *limit = table_engine_at(table, TABLE_LIMIT_TICKET);
    struct table_hold hold;
    struct engine_verdict verdict;
    while (table_insert_waiting(table, key, TABLE_LIMIT_TICKET, now_ns, &hold)) {
        engine_charge(&hold.state, limit, 1, now_ns, &verdict);
        if (table_put(table, &hold, key, TABLE_LIMIT_TICKET))
            return true;
    }
    return false;
}

void limiter_list_ticket(struct table *table, struct drossel_ticket *ticket, uint64_t now_ns)
{
    if (ticket->count == 0)
        return;
    struct table_key key = ticket_key(table, ticket, now_ns);
    ticket->home = key.home;
    ticket->tag = key.tag;
    ticket->is_listed = list(table, key, now_ns);
}

void limiter_ticket(const struct limiter *limiter, const struct store_batch *batch, const uint32_t *rate,
                    struct drossel_ticket *ticket)
{
    const struct policy *policy = limiter->policy;
    ticket->is_listed = false;
    ticket->home = ticket->tag = 0;
    for (uint32_t i = 0; i < batch->count && ticket->count < DROSSEL_TICKET_CHARGES; i++) {
        const struct store_charge *charge = &batch->charge[i];
        if (charge->open_counter == 0 || !charge->verdict.allowed)
            continue;
        uint32_t n = ticket->count++;
        ticket->charge[n].home = charge->key.home;
        ticket->charge[n].tag = charge->key.tag;
        ticket->charge[n].mark = charge->verdict.mark;
        ticket->charge[n].open_mark = batch->charge[charge->open_counter - 1].verdict.mark;
        ticket->charge[n].cost = charge->cost;
        ticket->charge[n].limit = charge->limit_id;
        /* A body that names several accounts must not clear the one that it did not log in to. */
        ticket->charge[n].resets =
            policy->limits[policy->rates[rate[i]].limit].reset_on_success && (charge->subject & SUBJECT_SEVERAL) == 0;
    }
}

/* Frees a key's slot.  False if it has none. */
static bool forget(struct table *table, struct table_key key, uint64_t now_ns)
{
    struct table_entry entry = { .slot = table_find(table, key), .tag = key.tag };
    return entry.slot != TABLE_NO_SLOT && table_forget(table, &entry, now_ns);
}

void limiter_fetch_ticket(const struct table *table, const struct drossel_ticket *ticket)
{
    for (uint32_t i = 0; i < ticket->count && i < DROSSEL_TICKET_CHARGES; i++)
        table_prefetch_pair(table, (struct table_key){ ticket->charge[i].home, ticket->charge[i].tag });
}

void limiter_settle(struct table *table, const struct drossel_ticket *ticket, enum drossel_outcome outcome,
                    uint64_t now_ns)
{
    const struct table_key own = { ticket->home, ticket->tag };
    if (ticket->count == 0 || ticket->count > DROSSEL_TICKET_CHARGES)
        return;
    if (ticket->count > 1) /* they come from memory side by side */
        limiter_fetch_ticket(table, ticket);
    if (ticket->is_listed && !forget(table, own, now_ns))
        return;
    for (uint32_t i = 0; i < ticket->count; i++) {
        struct store_settlement of = { .key = { ticket->charge[i].home, ticket->charge[i].tag },
                                       .limit_id = ticket->charge[i].limit,
                                       .clears = outcome == DROSSEL_SUCCESS && ticket->charge[i].resets,
                                       .cost = ticket->charge[i].cost,
                                       .mark = ticket->charge[i].mark };
        if (outcome != DROSSEL_FAILURE)
            (void)store_table_settle(table, &of, now_ns);
        /* After the charge itself: a request that is asked again in between is held once more, not let through. */
        of.key = limiter_open_key(of.key);
        of.limit_id = TABLE_LIMIT_OPEN;
        of.clears = false;
        of.mark = ticket->charge[i].open_mark;
        (void)store_table_settle(table, &of, now_ns);
    }
}

/* A slot that was freed would be given to the key afresh by its next charge, and a ticket from before would find that one in its place: of a
 * limit of failures the key is cleared instead, as by a success. */
bool limiter_forget(struct table *table, const struct table_entry *entry, uint64_t now_ns)
{
    const struct engine_limit *limit = table_engine_at(table, entry->limit);
    const struct store_settlement of = { .key = table_entry_key(table, entry),
                                         .limit_id = entry->limit,
                                         .clears = true };
    if (limit == NULL || (limit->spec.flags & ENGINE_REFUNDABLE) == 0)
        return table_forget(table, entry, now_ns);
    if (table_find(table, of.key) == TABLE_NO_SLOT)
        return false;
    (void)store_table_settle(table, &of, now_ns);
    return true;
}

/* ---- outcomes ---- */

static bool is_outcome(const struct policy_outcome *rule, unsigned status,
                       bool (*find_header)(void *context, struct drossel_text name, struct drossel_text *value),
                       void *context)
{
    struct drossel_text value;
    if (likely(rule->header.size == 0))
        return likely(status < 1024) && (rule->status[status / 64] >> (status % 64) & 1) != 0;
    return find_header(context, rule->header, &value) && value.size == rule->value.size &&
           strncasecmp(value.data, rule->value.data, value.size) == 0;
}

enum drossel_outcome
limiter_outcome(const struct policy *policy, unsigned status,
                bool (*find_header)(void *context, struct drossel_text name, struct drossel_text *value), void *context)
{
    unsigned planned = POLICY_OUTCOME_BY_HEADER;
    if (likely(status < 4 * sizeof policy->outcome_of_status))
        planned = policy->outcome_of_status[status / 4] >> (2 * (status % 4)) & 3;
    if (likely(planned != POLICY_OUTCOME_BY_HEADER))
        return (enum drossel_outcome)planned;
    if (is_outcome(&policy->failure, status, find_header, context))
        return DROSSEL_FAILURE;
    return is_outcome(&policy->success, status, find_header, context) ? DROSSEL_SUCCESS : DROSSEL_OTHER;
}
