/*
 * The short way: charges of keys that have a slot and room.
 *
 * Nearly all are of keys of which no stamp is closed; then two words of the slot are read and written under its guard.  With closed stamps
 * it is the log as well.  Whatever is not as expected is left to store_table_charge, with nothing changed.
 */
#include "store/store.h"

#include "hint.h"

static inline bool is_plain(const struct slot *slot, const struct store_pass *pass, uint64_t now_ns)
{
    return table_is_plain(slot, pass->key, pass->limit_id, now_ns);
}

/* Charges a held slot's tally, which is yet to be written.  False if there is more to it. */
static inline bool pass_tally(const struct slot *slot, uint64_t now_ns, struct store_pass *pass)
{
    if (unlikely(!table_is_open(slot)))
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

/* What a charge comes to, in two registers. */
struct stamped {
    uint64_t used; /* 0: there is not room */
    uint64_t more_ns;
};

static inline struct stamped charge_stamps(struct engine_state *state, const struct store_pass *pass, uint64_t now_ns)
{
    struct engine_verdict verdict;
    if (unlikely(pass->cost == 0 || !engine_pass(state, pass->limit, pass->cost, now_ns, &verdict)))
        return (struct stamped){ 0 };
    return (struct stamped){ verdict.used, verdict.more_ns };
}

static inline void tell(struct stamped stamped, struct store_pass *pass)
{
    pass->used = stamped.used;
    pass->remaining = pass->limit->capacity - stamped.used;
    pass->more_ns = stamped.more_ns;
}

/* Charges a held slot that has closed stamps, and frees it.  Not inlined: of a limit of 50 nearly each key has some, of a limit of thousands hardly
 * any. */
static own_way kept_apart struct stamped pass_stamps(struct slot *slot, const struct engine_limit *limit, uint64_t cost,
                                                     uint64_t now_ns, uint32_t ticket)
{
    struct store_pass pass = { .limit = limit, .cost = cost };
    struct engine_state state = table_stamps(slot);
    struct stamped stamped = charge_stamps(&state, &pass, now_ns);
    if (unlikely(stamped.used == 0))
        table_give_back(slot, ticket);
    else if (unlikely(!table_put_stamps(slot, ticket, &state)))
        stamped.used = 0;
    return stamped;
}

inline bool store_table_pass_one(struct table *table, struct store_pass *pass, uint64_t now_ns)
{
    uint32_t ticket = table_ticket(table);
    struct slot *slot = table_take_guard(table, pass->key, now_ns, ticket);
    if (unlikely(slot == NULL))
        return false;
    if (unlikely(!is_plain(slot, pass, now_ns))) {
        table_give_back(slot, ticket);
        return false;
    }
    if (likely(pass_tally(slot, now_ns, pass)))
        return put_tally(slot, now_ns, ticket, pass);
    tell(pass_stamps(slot, pass->limit, pass->cost, now_ns, ticket), pass);
    return pass->used != 0;
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

/* Returns false, for those who have failed then. */
static bool give_all_back(const struct taken *taken)
{
    for (uint32_t i = 0; i < taken->count; i++)
        table_give_back(taken->slot[i], taken->ticket);
    return false;
}

/* False: not all can be charged here. */
static inline bool take(struct table *table, const struct store_pass *pass, uint64_t now_ns, struct taken *taken)
{
    struct slot *slot = table_take_guard(table, pass->key, now_ns, taken->ticket);
    if (unlikely(slot == NULL))
        return false;
    taken->slot[taken->count++] = slot;
    return is_plain(slot, pass, now_ns);
}

static inline bool holds_all(const struct taken *taken)
{
    for (uint32_t i = 0; i < taken->count; i++)
        if (unlikely(!table_is_ours(taken->slot[i], taken->ticket)))
            return false;
    return true;
}

static bool put_mixed(struct slot *slot, uint64_t now_ns, uint32_t ticket, const struct store_pass *pass,
                      const struct engine_state *state)
{
    return state != NULL ? table_put_stamps(slot, ticket, state) : put_tally(slot, now_ns, ticket, pass);
}

/* Goes on from the charge taken last, which is more than a tally.  Apart, because so many states are a large frame. */
static kept_apart bool pass_mixed(struct table *table, struct store_pass *pass, uint32_t count, uint64_t now_ns,
                                  struct taken *taken)
{
    struct engine_state state[STORE_PASS_MAX]; /* set where a bit says so */
    uint32_t stamped = 0;
    for (uint32_t i = taken->count - 1;;) {
        if (!pass_tally(taken->slot[i], now_ns, &pass[i])) {
            state[i] = table_stamps(taken->slot[i]);
            tell(charge_stamps(&state[i], &pass[i], now_ns), &pass[i]);
            stamped |= UINT32_C(1) << i;
        }
        if (pass[i].used == 0)
            return give_all_back(taken);
        if (++i == count)
            break;
        if (!take(table, &pass[i], now_ns, taken))
            return give_all_back(taken);
    }
    if (!holds_all(taken))
        return give_all_back(taken);
    for (uint32_t i = 0; i < count; i++)
        if (!put_mixed(taken->slot[i], now_ns, taken->ticket, &pass[i], (stamped >> i & 1) != 0 ? &state[i] : NULL))
            pass_late(table, &pass[i], now_ns);
    return true;
}

/* Not inlined: of two charges compilers would write the code twice. */
on_the_way kept_apart bool store_table_pass(struct table *table, struct store_pass *pass, uint32_t count,
                                            uint64_t now_ns)
{
    struct taken taken; /* not cleared */
    taken.ticket = table_ticket(table);
    taken.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (unlikely(!take(table, &pass[i], now_ns, &taken)))
            return give_all_back(&taken);
        if (unlikely(!pass_tally(taken.slot[i], now_ns, &pass[i])))
            return pass_mixed(table, pass, count, now_ns, &taken);
    }
    if (unlikely(!holds_all(&taken)))
        return give_all_back(&taken);
    for (uint32_t i = 0; i < count; i++)
        if (unlikely(!put_tally(taken.slot[i], now_ns, taken.ticket, &pass[i])))
            pass_late(table, &pass[i], now_ns);
    return true;
}
