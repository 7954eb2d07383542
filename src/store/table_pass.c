/*
 * The short way: charges of keys that have a slot and room.
 *
 * Nearly all are of keys of which no stamp is closed; then two words of the slot are read and written under its guard, and nothing is
 * copied.  Whatever is not as expected is left to store_table_charge, with nothing changed.
 */
#include "store/store.h"

#include "hint.h"

/* Charges a held slot's tally, which is yet to be written.  False if there is more to it. */
static inline bool pass_tally(const struct slot *slot, uint64_t now_ns, struct store_pass *pass)
{
    if (unlikely(!table_is_open(slot, pass->key, pass->limit_id, now_ns)))
        return false;
    pass->used = engine_pass_tally(table_tally(slot), pass->limit, pass->cost, now_ns);
    pass->remaining = pass->limit->capacity - pass->used;
    pass->more_ns = pass->limit->period_ns;
    return likely(pass->used != 0);
}

static inline bool put_tally(struct slot *slot, uint64_t now_ns, uint32_t ticket, const struct store_pass *pass)
{
    return table_put_tally(slot, ticket, (struct engine_tally){ .time_ns = now_ns, .tally = (uint32_t)pass->used });
}

/* Charges a copy of all of its state.  False, and nothing is held, if there is not room.  Not inlined: of a limit of 50 a key that has closed a
 * stamp needs it, of a limit of thousands hardly any. */
static __attribute__((noinline)) bool pass_copy(struct table *table, const struct slot *slot, uint64_t now_ns,
                                                uint32_t ticket, struct store_pass *pass, struct table_hold *hold)
{
    struct engine_verdict verdict;
    table_copy(table, slot, pass->limit_id, now_ns, ticket, hold);
    if (!engine_pass(&hold->state, pass->limit, pass->cost, now_ns, &verdict)) {
        table_drop(table, hold);
        return false;
    }
    pass->remaining = verdict.remaining;
    pass->used = verdict.used;
    pass->more_ns = verdict.more_ns;
    return true;
}

static __attribute__((noinline)) bool pass_copy_of_one(struct table *table, const struct slot *slot, uint64_t now_ns,
                                                       uint32_t ticket, struct store_pass *pass)
{
    struct table_hold hold;
    return pass_copy(table, slot, now_ns, ticket, pass, &hold) && table_put(table, &hold, pass->key, pass->limit_id);
}

inline bool store_table_pass_one(struct table *table, struct store_pass *pass, uint64_t now_ns)
{
    uint32_t ticket = table_ticket(table);
    struct slot *slot = table_take_guard(table, pass->key, now_ns, ticket);
    if (unlikely(slot == NULL))
        return false;
    if (likely(pass_tally(slot, now_ns, pass)))
        return put_tally(slot, now_ns, ticket, pass);
    struct store_pass apart = *pass; /* so that the caller's may live in registers */
    bool passes = pass_copy_of_one(table, slot, now_ns, ticket, &apart);
    *pass = apart;
    return passes;
}

/* The guard of one of several was taken from us between looking and writing, and others are written already: it is charged alone. */
static __attribute__((noinline)) void pass_late(struct table *table, const struct store_pass *pass, uint64_t now_ns)
{
    struct store_charge charge = {
        .key = pass->key, .limit = pass->limit, .cost = pass->cost, .limit_id = pass->limit_id
    };
    struct table_hold hold;
    struct store_batch batch = { .charge = &charge, .hold = &hold, .count = 1, .now_ns = now_ns };
    (void)store_table_charge(table, &batch);
}

/* What is held for several charges. */
struct taken {
    struct slot *slot[STORE_PASS_MAX];
    uint32_t ticket, count;
};

static void give_all_back(const struct taken *taken)
{
    for (uint32_t i = 0; i < taken->count; i++)
        table_give_back(taken->slot[i], taken->ticket);
}

static inline bool holds_all(const struct taken *taken)
{
    for (uint32_t i = 0; i < taken->count; i++)
        if (unlikely(!table_is_ours(taken->slot[i], taken->ticket)))
            return false;
    return true;
}

/* Goes on from the first charge that is more than a tally; its slot is held.  Apart, because so many copies are a large frame. */
static __attribute__((noinline)) bool pass_mixed(struct table *table, struct store_pass *pass, uint32_t count,
                                                 uint64_t now_ns, struct taken *taken)
{
    struct table_hold hold[STORE_PASS_MAX]; /* set where a bit says so */
    uint32_t copies = 0;
    for (uint32_t i = taken->count; i < count; i = ++taken->count) {
        struct slot *slot = taken->slot[i];
        if (copies != 0) {
            slot = taken->slot[i] = table_take_guard(table, pass[i].key, now_ns, taken->ticket);
            if (slot != NULL && pass_tally(slot, now_ns, &pass[i]))
                continue;
        }
        if (slot == NULL || !pass_copy(table, slot, now_ns, taken->ticket, &pass[i], &hold[i]))
            break;
        copies |= UINT32_C(1) << i;
    }
    if (taken->count < count || !holds_all(taken)) {
        give_all_back(taken);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool is_put = (copies >> i & 1) != 0 ? table_put(table, &hold[i], pass[i].key, pass[i].limit_id)
                                             : put_tally(taken->slot[i], now_ns, taken->ticket, &pass[i]);
        if (!is_put)
            pass_late(table, &pass[i], now_ns);
    }
    return true;
}

/* Not inlined: of two charges compilers would write the code twice. */
__attribute__((noinline)) bool store_table_pass(struct table *table, struct store_pass *pass, uint32_t count,
                                                uint64_t now_ns)
{
    struct taken taken; /* not cleared */
    taken.ticket = table_ticket(table);
    for (taken.count = 0; taken.count < count; taken.count++) {
        uint32_t i = taken.count;
        taken.slot[i] = table_take_guard(table, pass[i].key, now_ns, taken.ticket);
        if (unlikely(taken.slot[i] == NULL))
            break;
        if (unlikely(!pass_tally(taken.slot[i], now_ns, &pass[i])))
            return pass_mixed(table, pass, count, now_ns, &taken);
    }
    if (unlikely(taken.count < count || !holds_all(&taken))) {
        give_all_back(&taken);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (unlikely(!put_tally(taken.slot[i], now_ns, taken.ticket, &pass[i])))
            pass_late(table, &pass[i], now_ns);
    return true;
}
