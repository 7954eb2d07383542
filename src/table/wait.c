/*
 * Waiting for a guard that somebody else holds, and taking it over from the dead.
 *
 * Who waits holds no guard himself, so that nobody waits in a circle.  How long, and for whom, is told in table.h.
 */
#include "table/layout.h"

#include <sched.h>
#include <time.h>

static uint64_t steady_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void take_over(struct table *table, struct slot *slot, uint32_t dead, uint64_t now_ns)
{
    uint32_t ticket = table_ticket(table), expected = dead;
    if (!atomic_compare_exchange_strong_explicit(&slot->guard, &expected, ticket, memory_order_acquire,
                                                 memory_order_relaxed))
        return;
    uint64_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);
    const struct engine_limit *limit = key == 0 ? NULL : table_engine_at(table, (uint16_t)key);
    if (limit != NULL) {
        struct engine_state state;
        slot_read(slot, &state);
        engine_repair(&state, limit, now_ns);
        slot_write(slot, &state);
    }
    atomic_fetch_add_explicit(&table_header(table)->taken_over, 1, memory_order_relaxed);
    table_give_back(slot, ticket);
}

static bool is_unchanged(const struct slot *slot, uint32_t seen)
{
    return atomic_load_explicit(&slot->guard, memory_order_relaxed) == seen;
}

/* Lets others run: at first by a yield, for a holder who waits for this very processor; then by a sleep, because only an idle
 * processor takes over a holder who waits for another one. */
static void step_aside(unsigned turn)
{
    const struct timespec moment = { .tv_nsec = 50000 };
    if (turn < 16)
        sched_yield();
    else
        nanosleep(&moment, NULL);
}

/* TABLE_GUARD_PATIENCE_NS is ten thousand times what a holder needs who is on a processor.  Is he still there after it, he is
 * dead, or alive and kept from it: who is taken over alive, among his last few stores, makes them over those of the others. */
static bool is_waited_for(const struct table *table, uint32_t ticket, uint64_t waited_ns, uint64_t *patience_ns)
{
    if (waited_ns < *patience_ns)
        return true;
    *patience_ns = waited_ns + TABLE_ASK_NS;
    return waited_ns < TABLE_LIVING_PATIENCE_NS && owner_lives(table, ticket);
}

/* On a busy machine the holder may be off the processor in the middle of his work; but then so are we: each turn counts for
 * no more than TABLE_TURN_NS, however long we were kept waiting for it. */
void table_wait(struct table *table, const struct table_hold *busy, uint64_t now_ns)
{
    struct slot *slot = &table->slots[busy->slot];
    uint32_t seen = atomic_load_explicit(&slot->guard, memory_order_relaxed);
    if (seen == 0)
        return;
    for (unsigned pauses = 1; pauses <= 64; pauses *= 2) { /* looking takes the line from the one who writes to it */
        for (unsigned i = 0; i < pauses; i++)
            pause_briefly();
        if (!is_unchanged(slot, seen))
            return;
    }
    uint64_t waited_ns = 0, before_ns = steady_ns(), patience_ns = TABLE_GUARD_PATIENCE_NS;
    for (unsigned turn = 0; is_waited_for(table, seen, waited_ns, &patience_ns); turn++) {
        step_aside(turn);
        if (!is_unchanged(slot, seen))
            return;
        uint64_t after_ns = steady_ns();
        waited_ns += after_ns - before_ns < TABLE_TURN_NS ? after_ns - before_ns : TABLE_TURN_NS;
        before_ns = after_ns;
    }
    take_over(table, slot, seen, now_ns);
}

bool table_take_waiting(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                        struct table_hold *hold)
{
    enum table_taking taking;
    while ((taking = table_take(table, key, limit, now_ns, table_ticket(table), hold)) == TABLE_BUSY)
        table_wait(table, hold, now_ns);
    return taking == TABLE_TAKEN;
}

bool table_insert_waiting(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                          struct table_hold *hold)
{
    enum table_taking taking;
    while ((taking = table_insert(table, key, limit, now_ns, table_ticket(table), hold)) == TABLE_BUSY)
        table_wait(table, hold, now_ns);
    return taking == TABLE_TAKEN;
}
