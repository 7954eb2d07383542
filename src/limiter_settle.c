/*
 * Charges whose outcome is open: held requests, tickets, and what becomes of a charge when the outcome is known.
 *
 * A limit that counts failures takes its charge when the request arrives.  With each such charge goes a second one, on a key of
 * its own, that counts how many of the key's charges are open; settling gives that one back in any case, and the charge itself
 * unless the outcome was a failure.  A request that would exceed the limit only because of open charges is held.
 *
 * A ticket is settled once: it has a slot of its own in the table, and who frees that slot settles.  If the slot is lost
 * to others meanwhile, the charges stay, which is the strict side.  So does a process that dies before it settles.
 */
#include "limiter_private.h"

#include <string.h>
#include <strings.h>

#define OPEN_SEED UINT64_C(0x6f70656e206f7574) /* "open out" */
#define TICKET_SEED UINT64_C(0x7469636b6574)   /* "ticket" */

struct table_key limiter_open_key(struct table_key key)
{
    return table_key_beside(key, OPEN_SEED);
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
        if (!charge->held || charge->advisory)
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

/* A key that no other ticket has: from the time, a ticket of the guards' generator, and the key charged. */
static struct table_key ticket_key(const struct store_charge *charge, uint64_t now_ns)
{
    struct table_key key = { charge->key.home ^ now_ns,
                             charge->key.tag ^ (uint64_t)table_ticket() << 32 ^ table_ticket() };
    return table_key_beside(key, TICKET_SEED);
}

/* Gives the ticket a slot.  False if its neighbourhood has none to give. */
static bool list_ticket(struct table *table, struct table_key key, uint64_t now_ns)
{
    const struct engine_limit *limit = table_engine_at(table, TABLE_LIMIT_TICKET);
    struct table_hold hold;
    struct engine_verdict verdict;
    for (;;) {
        switch (table_insert(table, key, TABLE_LIMIT_TICKET, now_ns, table_ticket(), &hold)) {
        case TABLE_ABSENT:
            return false;
        case TABLE_BUSY:
            table_wait(table, &hold, now_ns);
            break;
        case TABLE_TAKEN:
            engine_charge(&hold.state, limit, 1, now_ns, &verdict);
            if (table_put(table, &hold, key, TABLE_LIMIT_TICKET))
                return true;
            break;
        }
    }
}

void limiter_ticket(const struct limiter *limiter, const struct store_batch *batch, const uint32_t *rate,
                    struct drossel_ticket *ticket)
{
    const struct policy *policy = limiter->policy;
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
        if (n > 0)
            continue;
        struct table_key key = ticket_key(charge, batch->now_ns);
        ticket->home = key.home;
        ticket->tag = key.tag;
    }
    if (ticket->count > 0)
        ticket->is_listed = list_ticket(limiter->table, (struct table_key){ ticket->home, ticket->tag }, batch->now_ns);
}

/* Frees a key's slot.  False if it has none. */
static bool forget(struct table *table, struct table_key key, uint64_t now_ns)
{
    struct table_entry entry = { .slot = table_find(table, key), .tag = key.tag };
    return entry.slot != TABLE_NO_SLOT && table_forget(table, &entry, now_ns);
}

static void give_back(struct table *table, struct table_key key, uint16_t limit, uint64_t cost, uint64_t mark,
                      uint64_t now_ns)
{
    struct store_charge charge = {
        .key = key, .limit = table_engine_at(table, limit), .cost = cost, .limit_id = limit
    };
    if (charge.limit != NULL)
        (void)store_table_refund(table, &charge, mark, now_ns);
}

void limiter_settle(struct table *table, const struct drossel_ticket *ticket, enum drossel_outcome outcome,
                    uint64_t now_ns)
{
    const struct table_key own = { ticket->home, ticket->tag };
    if (ticket->count == 0 || ticket->count > DROSSEL_TICKET_CHARGES)
        return;
    if (ticket->is_listed && !forget(table, own, now_ns))
        return;
    for (uint32_t i = 0; i < ticket->count; i++) {
        const struct table_key key = { ticket->charge[i].home, ticket->charge[i].tag };
        if (outcome == DROSSEL_SUCCESS && ticket->charge[i].resets)
            (void)forget(table, key, now_ns);
        else if (outcome != DROSSEL_FAILURE)
            give_back(table, key, ticket->charge[i].limit, ticket->charge[i].cost, ticket->charge[i].mark, now_ns);
        /* After the charge itself: a request that is asked again in between is held once more, not let through. */
        give_back(table, limiter_open_key(key), TABLE_LIMIT_OPEN, ticket->charge[i].cost, ticket->charge[i].open_mark,
                  now_ns);
    }
}

/* ---- outcomes ---- */

static bool is_outcome(const struct policy_outcome *rule, unsigned status,
                       bool (*find_header)(void *context, struct drossel_text name, struct drossel_text *value),
                       void *context)
{
    struct drossel_text value;
    if (rule->header.size == 0)
        return status < 1024 && (rule->status[status / 64] >> (status % 64) & 1) != 0;
    return find_header(context, rule->header, &value) && value.size == rule->value.size &&
           strncasecmp(value.data, rule->value.data, value.size) == 0;
}

enum drossel_outcome
limiter_outcome(const struct policy *policy, unsigned status,
                bool (*find_header)(void *context, struct drossel_text name, struct drossel_text *value), void *context)
{
    if (is_outcome(&policy->failure, status, find_header, context))
        return DROSSEL_FAILURE;
    return is_outcome(&policy->success, status, find_header, context) ? DROSSEL_SUCCESS : DROSSEL_OTHER;
}
