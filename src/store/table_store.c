/*
 * Charging keys of this machine's table, all or nothing.
 *
 * All guards are taken before anything is judged, so that nothing is ever rolled back.  Nobody waits while he holds a guard:
 * if one is held by somebody else, all are given back, that one is waited for, and the work starts anew.  Keys that have no
 * slot are judged as fresh and get one only once the request is admitted: a refused request displaces nobody.
 *
 * A key whose block is running is refused by reading its slot: no guard, no write.
 */
#include "store/store.h"

#include "hint.h"

enum outcome { ADMITTED, REFUSED, HELD, AGAIN };

/* The way of a charge is compiled twice: for any number of keys, and for the one key that most requests have, where all its
 * loops fall away. */
#define INLINED static inline __attribute__((always_inline))

/* Not into that way: it would save registers for it. */
#define APART static __attribute__((noinline))

/* As the key's slot stands, which it leaves as it is. */
APART void judge_unguarded(struct table *table, struct store_batch *batch, uint32_t i, struct engine_state *state)
{
    struct store_charge *charge = &batch->charge[i];
    (void)table_look(table, charge->key, charge->limit_id, batch->now_ns, state);
    engine_judge(state, charge->limit, charge->cost, batch->now_ns, &charge->verdict);
    charge->judged = true;
}

/* If not, the guarded way tells. */
APART bool is_still_blocked(struct table *table, struct store_batch *batch, uint32_t i)
{
    struct engine_state state;
    judge_unguarded(table, batch, i, &state);
    return batch->charge[i].verdict.blocked;
}

/* Finds the keys' slots, and sets the verdicts of those whose block is running.  Returns whether one of them stops the
 * request. */
INLINED bool find_blocked(struct table *table, struct store_batch *batch, uint32_t count)
{
    bool stopped = false;
    for (uint32_t i = 0; i < count; i++) {
        struct store_charge *charge = &batch->charge[i];
        uint64_t slot = batch->hold[i].slot = table_find(table, charge->key);
        uint64_t end_ns = slot == TABLE_NO_SLOT ? 0 : table_block_end(table, slot, charge->key);
        charge->judged = end_ns > batch->now_ns && is_still_blocked(table, batch, i);
        stopped |= charge->judged && !charge->advisory;
    }
    return stopped;
}

/* Tells what one more request would find: of a refused request nothing is charged to the keys that had room for it. */
static void tell_uncharged(const struct engine_state *state, const struct store_batch *batch,
                           struct store_charge *charge)
{
    if (charge->verdict.allowed && charge->cost > 0 && !charge->told)
        engine_judge(state, charge->limit, 0, batch->now_ns, &charge->verdict);
}

/* The request is refused by a block; what would refuse it for longer has a say in how long it has to wait. */
APART void judge_beside_block(struct table *table, struct store_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        struct engine_state state;
        if (batch->charge[i].judged || batch->charge[i].advisory)
            continue;
        batch->charge[i].told = false;
        judge_unguarded(table, batch, i, &state);
        tell_uncharged(&state, batch, &batch->charge[i]);
    }
}

/* `extend`: a refused request during a block starts it anew. */
APART void extend_block(struct table *table, struct store_charge *charge, uint64_t now_ns)
{
    struct table_hold hold;
    while (table_take_waiting(table, charge->key, charge->limit_id, now_ns, &hold)) {
        struct engine_verdict verdict;
        engine_judge(&hold.state, charge->limit, charge->cost, now_ns, &verdict);
        if (!verdict.blocked) { /* lifted just now: this request was refused by it all the same */
            table_drop(table, &hold);
            return;
        }
        engine_exceed(&hold.state, charge->limit, charge->cost, now_ns, &verdict);
        charge->verdict = verdict;
        if (table_put(table, &hold, charge->key, charge->limit_id))
            return;
    }
}

static void extend_blocks(struct table *table, struct store_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        struct store_charge *charge = &batch->charge[i];
        if (charge->judged && charge->cost > 0 && engine_exceed_writes(charge->limit, &charge->verdict))
            extend_block(table, charge, batch->now_ns);
    }
}

static bool is_held(const struct table_hold *hold)
{
    return hold->ticket != 0;
}

APART void drop_all(struct table *table, struct store_batch *batch, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_held(&batch->hold[i]))
            table_drop(table, &batch->hold[i]);
}

/* Takes the guards of all keys that were found to have a slot; those without are fresh and not held. */
INLINED enum outcome take_all(struct table *table, struct store_batch *batch, uint32_t count, uint32_t ticket)
{
    for (uint32_t i = 0; i < count; i++) {
        struct store_charge *charge = &batch->charge[i];
        struct table_hold *hold = &batch->hold[i];
        switch (table_take_found(table, charge->key, charge->limit_id, batch->now_ns, ticket, hold)) {
        case TABLE_TAKEN:
            break;
        case TABLE_ABSENT:
            *hold = (struct table_hold){ .fresh = true };
            break;
        case TABLE_BUSY:
            drop_all(table, batch, i);
            table_wait(table, hold, batch->now_ns);
            return AGAIN;
        }
    }
    return ADMITTED;
}

/* Would the charge fit if all outcomes that are still open were no failures? */
static bool is_held_by_open(const struct store_batch *batch, const struct store_charge *charge)
{
    const struct engine_verdict *verdict = &charge->verdict;
    if (charge->open_counter == 0 || verdict->allowed || verdict->blocked || verdict->wait_ns == ENGINE_NEVER)
        return false;
    const struct store_charge *counter = &batch->charge[charge->open_counter - 1];
    uint64_t open = counter->verdict.used - (counter->verdict.allowed ? counter->cost : 0);
    uint64_t settled = verdict->used > open ? verdict->used - open : 0;
    return settled + charge->cost <= charge->limit->capacity;
}

/* Marks refusals that only charges with an open outcome cause.  Returns what that makes of the request. */
APART enum outcome find_held(const struct store_batch *batch)
{
    enum outcome outcome = ADMITTED;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct store_charge *charge = &batch->charge[i];
        charge->held = is_held_by_open(batch, charge);
        bool waits = charge->held && charge->may_hold;
        if (charge->verdict.allowed || (charge->advisory && !waits))
            continue;
        if (!waits)
            outcome = REFUSED;
        else if (outcome == ADMITTED)
            outcome = HELD;
    }
    return outcome;
}

/* An open outcome is counted only with the charge that it is the outcome of. */
INLINED bool is_idle(const struct store_batch *batch, const struct store_charge *charge)
{
    return charge->counts_open_of > 0 && !batch->charge[charge->counts_open_of - 1].verdict.allowed;
}

/* The request is refused already: a key that has room is judged once, as it will be told.  False if it has none, or may have. */
INLINED bool has_room(const struct store_batch *batch, uint32_t i)
{
    struct store_charge *charge = &batch->charge[i];
    if (!charge->limit->is_plain || batch->has_open)
        return false;
    engine_judge(&batch->hold[i].state, charge->limit, 0, batch->now_ns, &charge->verdict);
    charge->told = charge->verdict.allowed && charge->verdict.remaining >= charge->cost;
    return charge->told;
}

INLINED enum outcome judge_all(struct store_batch *batch, uint32_t count)
{
    enum outcome outcome = ADMITTED;
    for (uint32_t i = 0; i < count; i++) {
        struct store_charge *charge = &batch->charge[i];
        charge->judged = true;
        charge->held = charge->told = false;
        if (outcome == REFUSED && has_room(batch, i))
            continue;
        engine_judge(&batch->hold[i].state, charge->limit, charge->cost, batch->now_ns, &charge->verdict);
        if (!charge->verdict.allowed && !charge->advisory)
            outcome = REFUSED;
    }
    return batch->has_open ? find_held(batch) : outcome;
}

INLINED bool has_absent(const struct store_batch *batch, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_held(&batch->hold[i]))
            return true;
    return false;
}

/* A key that was cleared, or lost its slot for a while, mostly finds its name still there: to make one takes longer than all else. */
static void set_name(struct table *table, const struct store_batch *batch, uint32_t i)
{
    struct table_key key = batch->charge[i].key;
    key.tag |= batch->naming;
    if (batch->name == NULL || !table_has_names(table) || table_name_is_set(table, &batch->hold[i], key))
        return;
    char name[TABLE_NAME_BYTES];
    size_t size = batch->name(batch->context, &batch->charge[i], name, sizeof name);
    table_name_set(table, &batch->hold[i], key, name, size);
}

/* Gives the admitted keys that have none a slot.  AGAIN if somebody stood in the way, or had put the key there meanwhile
 * and with it the request no longer fits. */
APART enum outcome insert_absent(struct table *table, struct store_batch *batch, uint32_t ticket)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        struct store_charge *charge = &batch->charge[i];
        struct table_hold *hold = &batch->hold[i];
        if (is_held(hold) || !charge->verdict.allowed || charge->cost == 0 || is_idle(batch, charge))
            continue;
        enum table_taking taking = table_insert(table, charge->key, charge->limit_id, batch->now_ns, ticket, hold);
        if (taking == TABLE_ABSENT) { /* eight keys of this one request are neighbours: this one goes uncounted */
            *hold = (struct table_hold){ .fresh = true };
            continue;
        }
        struct table_hold busy = *hold;
        if (taking == TABLE_BUSY)
            hold->ticket = 0;
        else if (!hold->fresh)
            engine_judge(&hold->state, charge->limit, charge->cost, batch->now_ns, &charge->verdict);
        else
            set_name(table, batch, i);
        if (taking == TABLE_TAKEN && charge->verdict.allowed)
            continue;
        drop_all(table, batch, batch->count);
        if (taking == TABLE_BUSY)
            table_wait(table, &busy, batch->now_ns);
        return AGAIN;
    }
    return ADMITTED;
}

INLINED bool holds_all(const struct table *table, const struct store_batch *batch, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_held(&batch->hold[i]) && !table_holds(table, &batch->hold[i]))
            return false;
    return true;
}

/* Does what the verdict says to one held key, and writes it or lets it go.  False if the guard had been lost. */
INLINED bool settle_one(struct table *table, struct store_batch *batch, uint32_t i, bool admitted)
{
    struct store_charge *charge = &batch->charge[i];
    struct table_hold *hold = &batch->hold[i];
    if (admitted && charge->verdict.allowed && charge->cost > 0 && !is_idle(batch, charge))
        engine_charge(&hold->state, charge->limit, charge->cost, batch->now_ns, &charge->verdict);
    else if (charge->cost > 0 && !charge->held && engine_exceed_writes(charge->limit, &charge->verdict))
        engine_exceed(&hold->state, charge->limit, charge->cost, batch->now_ns, &charge->verdict);
    else {
        if (!admitted)
            tell_uncharged(&hold->state, batch, charge);
        if (is_held(hold))
            table_drop(table, hold);
        return true;
    }
    return !is_held(hold) || table_put(table, hold, charge->key, charge->limit_id);
}

/* The guard of one of several keys was taken from us between looking and writing: its charge is made up for, alone. */
APART void settle_late(struct table *table, struct store_batch *batch, uint32_t i, bool admitted)
{
    struct store_charge *charge = &batch->charge[i];
    struct table_hold *hold = &batch->hold[i];
    struct engine_verdict verdict;
    while (table_insert_waiting(table, charge->key, charge->limit_id, batch->now_ns, hold)) {
        engine_judge(&hold->state, charge->limit, charge->cost, batch->now_ns, &verdict);
        if (!admitted && verdict.allowed) { /* what refused the request still refuses it */
            table_drop(table, hold);
            return;
        }
        charge->verdict = verdict;
        charge->told = false;
        if (settle_one(table, batch, i, admitted))
            return;
    }
}

INLINED enum outcome try_charge(struct table *table, struct store_batch *batch, uint32_t count)
{
    uint32_t ticket = table_ticket(table);
    if (take_all(table, batch, count, ticket) == AGAIN)
        return AGAIN;
    enum outcome outcome = judge_all(batch, count);
    if (outcome == ADMITTED && has_absent(batch, count) && insert_absent(table, batch, ticket) == AGAIN)
        return AGAIN;
    if (outcome == HELD) {
        drop_all(table, batch, count);
        return HELD;
    }
    if (count > 1 && !holds_all(table, batch, count)) {
        drop_all(table, batch, count);
        return AGAIN;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (settle_one(table, batch, i, outcome == ADMITTED))
            continue;
        if (count == 1)
            return AGAIN;
        settle_late(table, batch, i, outcome == ADMITTED);
    }
    return outcome;
}

INLINED bool charge_all(struct table *table, struct store_batch *batch, uint32_t count)
{
    batch->is_held = false;
    if (find_blocked(table, batch, count)) {
        extend_blocks(table, batch);
        judge_beside_block(table, batch);
        return false;
    }
    enum outcome outcome = try_charge(table, batch, count);
    while (outcome == AGAIN) {
        for (uint32_t i = 0; i < count; i++)
            batch->hold[i].slot = table_find(table, batch->charge[i].key);
        outcome = try_charge(table, batch, count);
    }
    batch->is_held = outcome == HELD;
    return outcome == ADMITTED;
}

APART bool charge_one(struct table *table, struct store_batch *batch)
{
    return charge_all(table, batch, 1);
}

APART bool charge_several(struct table *table, struct store_batch *batch)
{
    return charge_all(table, batch, batch->count);
}

inline bool store_table_charge(struct table *table, struct store_batch *batch)
{
    return batch->count == 1 ? charge_one(table, batch) : charge_several(table, batch);
}

void store_table_judge(struct table *table, struct store_batch *batch)
{
    struct engine_state state;
    for (uint32_t i = 0; i < batch->count; i++)
        judge_unguarded(table, batch, i, &state);
}
