/*
 * What becomes of a charge once its outcome is known: it is given back, or its key starts afresh.
 */
#include "store/store.h"

#include "hint.h"

static __attribute__((noinline)) uint64_t settle_copy(struct table *table, const struct engine_limit *limit,
                                                      const struct store_settlement *of, uint64_t now_ns)
{
    struct table_hold hold;
    while (table_take_waiting(table, of->key, of->limit_id, now_ns, &hold)) {
        uint64_t back = 0;
        if (of->clears)
            engine_clear(&hold.state, limit, now_ns);
        else
            back = engine_refund(&hold.state, limit, of->cost, of->mark, now_ns);
        if (table_put(table, &hold, of->key, of->limit_id))
            return back;
    }
    return 0;
}

/* Does it to a slot of which nothing but its tally matters.  False, and nothing is held, if there is more to it. */
static inline bool settle_tally(struct table *table, const struct engine_limit *limit,
                                const struct store_settlement *of, uint64_t now_ns, uint64_t *back)
{
    uint32_t ticket = table_ticket(table);
    struct slot *slot = table_take_guard(table, of->key, now_ns, ticket);
    *back = 0;
    if (unlikely(slot == NULL))
        return false;
    if (unlikely(!table_is_plain(slot, of->key, of->limit_id, now_ns) || !table_is_open(slot))) {
        table_give_back(slot, ticket);
        return false;
    }
    if (of->clears)
        return table_put_cleared(slot, ticket, now_ns);
    struct engine_tally tally = table_tally(slot);
    *back = engine_refund_tally(tally, limit, of->cost, of->mark, now_ns);
    tally.tally -= (uint32_t)*back;
    return table_put_tally(slot, ticket, tally);
}

/* Not inlined: called twice for each charge, and what is called first for a request has to come from memory. */
on_the_way kept_apart uint64_t store_table_settle(struct table *table, const struct store_settlement *of,
                                                  uint64_t now_ns)
{
    const struct engine_limit *limit = table_engine_at(table, of->limit_id);
    uint64_t back;
    if (unlikely(limit == NULL))
        return 0;
    if (likely(limit->is_plain) && likely(settle_tally(table, limit, of, now_ns, &back)))
        return of->clears ? 0 : back;
    return settle_copy(table, limit, of, now_ns);
}
