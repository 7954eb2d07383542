/*
 * Slots: found, taken, inserted, put back.
 *
 * Proof of the promises, in short.
 *
 * One writer.  A slot's words are written only between a successful compare-and-swap of its guard from 0 (or from a dead
 * holder's ticket) to the own ticket, and the store of 0.  The tag is checked after the guard was taken, so that a slot that was
 * given to another key meanwhile is never written for the old one.
 *
 * One slot for a key.  A key is inserted only under the guard of its home slot, after all 8 places have been looked at
 * under that guard.  Two who insert the same key do it one after the other, and the second finds the first one's slot.  A key
 * leaves its slot only under that slot's guard.
 *
 * No waiting in a circle.  Nothing here waits but table_wait, and its caller holds no guard.
 *
 * The killed.  A slot is claimed in the order: key 0, state, key.  Killed in between, it is free.  A state is written word by
 * word; killed in between, some words are new and some old: engine_repair makes a valid state of any words.  A guard that
 * stays is taken over after TABLE_GUARD_PATIENCE_NS of the waiter's own turns by the one who needs it; nobody else ever waits for it.
 *
 * The living.  A guard is freed with a plain store, and the words are written with plain stores after a look at the guard: nothing
 * stops the stores of one who lost it in between.  So it is not taken from a process that lives, but for one that stands still for
 * TABLE_LIVING_PATIENCE_NS.
 */
#include "table/layout.h"

#include <string.h>

/* initial-exec: without it, a shared library finds it through a call, for each decision */
_Thread_local struct thread_own thread_own __attribute__((tls_model("initial-exec")));

inline uint32_t table_ticket(const struct table *table)
{
    uint32_t generation = atomic_load_explicit(&table->generation, memory_order_relaxed);
    uint32_t ticket =
        likely(thread_own.seeded_in == generation) ? thread_own.last_ticket : owner_first_ticket(generation);
    ticket += UINT32_C(0x9e3779b1) << OWNER_NUMBER_BITS; /* the number below stays, and is never 0 */
    thread_own.last_ticket = ticket;
    return ticket;
}

inline void slot_read(const struct slot *slot, struct engine_state *state)
{
    uint32_t meta = atomic_load_explicit(&slot->meta, memory_order_relaxed);
    state->block_end_ns = atomic_load_explicit(&slot->block_end_ns, memory_order_relaxed);
    state->time_ns = atomic_load_explicit(&slot->time_ns, memory_order_relaxed);
    state->log[0] = atomic_load_explicit(&slot->log[0], memory_order_relaxed); /* no loop: compilers keep it one */
    state->log[1] = atomic_load_explicit(&slot->log[1], memory_order_relaxed);
    state->log[2] = atomic_load_explicit(&slot->log[2], memory_order_relaxed);
    state->log[3] = atomic_load_explicit(&slot->log[3], memory_order_relaxed);
    state->tally = meta & SLOT_TALLY;
    state->strikes = (uint8_t)(meta >> SLOT_STRIKES);
}

inline void slot_write(struct slot *slot, const struct engine_state *state)
{
    uint32_t meta = (uint32_t)state->strikes << SLOT_STRIKES | (state->tally & SLOT_TALLY);
    atomic_store_explicit(&slot->block_end_ns, state->block_end_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->log[0], state->log[0], memory_order_relaxed);
    atomic_store_explicit(&slot->log[1], state->log[1], memory_order_relaxed);
    atomic_store_explicit(&slot->log[2], state->log[2], memory_order_relaxed);
    atomic_store_explicit(&slot->log[3], state->log[3], memory_order_relaxed);
    atomic_store_explicit(&slot->time_ns, state->time_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->meta, meta, memory_order_relaxed);
}

inline struct table_key table_key_beside(struct table_key key, uint64_t seed)
{
    struct table_key beside = { key.home ^ seed, (key.tag + seed) & TABLE_TAG_MASK };
    if (unlikely(beside.tag == 0))
        beside.tag = UINT64_C(1) << 16;
    return beside;
}

/* A subject's hash is secret and evenly spread already, and so is what it is combined with here: no more is needed to keep the keys
 * of different limits apart, and this stands between a request and its line of memory. */
inline struct table_key table_key_mix(uint64_t subject_hash, uint64_t seed)
{
    return table_key_beside((struct table_key){ subject_hash, subject_hash }, seed);
}

inline void table_prefetch(const struct table *table, struct table_key key)
{
    const struct slot *home = &table->slots[table_home(table, key)];
    __builtin_prefetch(home, 1, 3);
    __builtin_prefetch(home + 1, 1, 3); /* in a table half full every third key was displaced */
}

inline void table_prefetch_pair(const struct table *table, struct table_key key)
{
    uint64_t home = table_home(table, key);
    __builtin_prefetch(&table->slots[home], 1, 3);
    __builtin_prefetch(&table->slots[home ^ 1], 1, 3);
}

inline uint64_t table_find(const struct table *table, struct table_key key)
{
    uint64_t home = table_home(table, key);
    const struct slot *slot = &table->slots[home];
    for (unsigned i = 0; i < TABLE_NEIGHBOURS; i++) {
        uint64_t found = atomic_load_explicit(&slot[i].key, memory_order_relaxed);
        if (likely((found & TABLE_TAG_MASK) == key.tag))
            return home + i;
    }
    return TABLE_NO_SLOT;
}

static bool is_of(const struct slot *slot, struct table_key key)
{
    return (atomic_load_explicit(&slot->key, memory_order_relaxed) & TABLE_TAG_MASK) == key.tag;
}

inline uint64_t table_block_end(const struct table *table, uint64_t slot, struct table_key key)
{
    const struct slot *s = &table->slots[slot];
    uint64_t end_ns = atomic_load_explicit(&s->block_end_ns, memory_order_acquire);
    return is_of(s, key) ? end_ns : 0;
}

static bool guard_take(struct slot *slot, uint32_t ticket)
{
    uint32_t none = 0;
    /* acquire: what the last holder wrote is seen */
    return atomic_compare_exchange_strong_explicit(&slot->guard, &none, ticket, memory_order_acquire,
                                                   memory_order_relaxed);
}

inline bool table_is_ours(const struct slot *slot, uint32_t ticket)
{
    return atomic_load_explicit(&slot->guard, memory_order_relaxed) == ticket;
}

static bool put_back(struct slot *slot, uint32_t ticket)
{
    if (unlikely(!table_is_ours(slot, ticket)))
        return false;
    atomic_store_explicit(&slot->guard, 0, memory_order_release); /* what was written is seen by the next one */
    return true;
}

void table_give_back(struct slot *slot, uint32_t ticket)
{
    (void)put_back(slot, ticket);
}

/* The state was written under another limit, or has times ahead of now. */
SELDOM static void adapt_state(struct table *table, uint16_t written_by, uint16_t limit, uint64_t now_ns,
                               struct engine_state *state)
{
    const struct engine_limit *to = table_engine_at(table, limit);
    if (to == NULL)
        return;
    if (written_by != limit) {
        const struct engine_limit *from = table_engine_at(table, written_by);
        if (from != NULL)
            engine_convert(state, from, to, now_ns);
        else
            engine_repair(state, to, now_ns);
    }
    engine_settle_clock(state, to, now_ns);
}

/* The state in a held slot, as the limit `limit` needs it. */
static inline void copy_state(struct table *table, const struct slot *slot, uint16_t limit, uint64_t now_ns,
                              struct engine_state *state)
{
    slot_read(slot, state);
    uint16_t written_by = (uint16_t)atomic_load_explicit(&slot->key, memory_order_relaxed);
    if (likely(written_by == limit && state->time_ns <= now_ns && state->block_end_ns <= now_ns))
        return; /* nothing to convert or settle: almost always */
    adapt_state(table, written_by, limit, now_ns, state);
}

/* A copy that nobody was writing meanwhile: read twice alike, and the guard was free before and after. */
static bool read_undisturbed(const struct slot *slot, uint16_t limit, struct engine_state *state)
{
    struct engine_state again;
    if (atomic_load_explicit(&slot->guard, memory_order_acquire) != 0)
        return false;
    slot_read(slot, state);
    atomic_thread_fence(memory_order_acquire);
    slot_read(slot, &again);
    return atomic_load_explicit(&slot->guard, memory_order_relaxed) == 0 &&
           (uint16_t)atomic_load_explicit(&slot->key, memory_order_relaxed) == limit &&
           state->time_ns == again.time_ns && state->tally == again.tally && state->strikes == again.strikes &&
           state->block_end_ns == again.block_end_ns && memcmp(state->log, again.log, sizeof again.log) == 0;
}

bool table_look(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns, struct engine_state *state)
{
    uint64_t slot = table_find(table, key);
    *state = (struct engine_state){ 0 };
    if (slot == TABLE_NO_SLOT)
        return false;
    const struct engine_limit *to = table_engine_at(table, limit);
    if (to != NULL && read_undisturbed(&table->slots[slot], limit, state) && is_of(&table->slots[slot], key)) {
        engine_settle_clock(state, to, now_ns); /* else valid as it is */
        return true;
    }
    copy_state(table, &table->slots[slot], limit, now_ns, state);
    atomic_thread_fence(memory_order_acquire); /* was it the key's until all was read? */
    if (to == NULL || !is_of(&table->slots[slot], key)) {
        *state = (struct engine_state){ 0 };
        return false;
    }
    engine_repair(state, to, now_ns);
    return true;
}

inline enum table_taking table_take_found(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                                          uint32_t ticket, struct table_hold *hold)
{
    for (;;) {
        if (unlikely(hold->slot == TABLE_NO_SLOT))
            return TABLE_ABSENT;
        struct slot *slot = &table->slots[hold->slot];
        hold->ticket = ticket;
        hold->fresh = false;
        if (unlikely(!guard_take(slot, ticket)))
            return TABLE_BUSY;
        if (likely(is_of(slot, key))) {
            copy_state(table, slot, limit, now_ns, &hold->state);
            return TABLE_TAKEN;
        }
        table_give_back(slot, ticket); /* it was given to another key in between: look again */
        hold->slot = table_find(table, key);
    }
}

enum table_taking table_take(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                             uint32_t ticket, struct table_hold *hold)
{
    hold->slot = table_find(table, key);
    return table_take_found(table, key, limit, now_ns, ticket, hold);
}

/* ---- bit by bit ---- */

/* Of a blocked key the guard is not touched: others who ask for it in vain do not wait for its line. */
inline struct slot *table_take_guard(struct table *table, struct table_key key, uint64_t now_ns, uint32_t ticket)
{
    struct slot *slot = &table->slots[table_home(table, key)];
    for (unsigned i = 0; i < TABLE_NEIGHBOURS; i++, slot++) {
        if (unlikely(!is_of(slot, key)))
            continue;
        if (unlikely(atomic_load_explicit(&slot->block_end_ns, memory_order_relaxed) > now_ns ||
                     !guard_take(slot, ticket)))
            return NULL;
        if (likely(is_of(slot, key)))
            return slot;
        table_give_back(slot, ticket); /* it was given to another key in between */
        return NULL;
    }
    return NULL;
}

inline bool table_is_plain(const struct slot *slot, struct table_key key, uint16_t limit, uint64_t now_ns)
{
    return likely(atomic_load_explicit(&slot->key, memory_order_relaxed) == (key.tag | limit) &&
                  atomic_load_explicit(&slot->time_ns, memory_order_relaxed) <= now_ns &&
                  atomic_load_explicit(&slot->block_end_ns, memory_order_relaxed) <= now_ns);
}

inline bool table_is_open(const struct slot *slot)
{
    return engine_is_open(atomic_load_explicit(&slot->log[3], memory_order_relaxed));
}

inline struct engine_tally table_tally(const struct slot *slot)
{
    return (struct engine_tally){ .block_end_ns = atomic_load_explicit(&slot->block_end_ns, memory_order_relaxed),
                                  .time_ns = atomic_load_explicit(&slot->time_ns, memory_order_relaxed),
                                  .tally = atomic_load_explicit(&slot->meta, memory_order_relaxed) & SLOT_TALLY };
}

inline bool table_put_tally(struct slot *slot, uint32_t ticket, struct engine_tally tally)
{
    if (unlikely(atomic_load_explicit(&slot->guard, memory_order_acquire) != ticket))
        return false;
    uint32_t meta = atomic_load_explicit(&slot->meta, memory_order_relaxed) & ~SLOT_TALLY;
    atomic_store_explicit(&slot->time_ns, tally.time_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->meta, meta | (tally.tally & SLOT_TALLY), memory_order_relaxed);
    return put_back(slot, ticket);
}

inline bool table_put_cleared(struct slot *slot, uint32_t ticket, uint64_t now_ns)
{
    if (unlikely(atomic_load_explicit(&slot->guard, memory_order_acquire) != ticket))
        return false;
    atomic_store_explicit(&slot->block_end_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->time_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->meta, 0, memory_order_relaxed);
    return put_back(slot, ticket);
}

inline struct engine_state table_stamps(const struct slot *slot)
{
    return (struct engine_state){ .time_ns = atomic_load_explicit(&slot->time_ns, memory_order_relaxed),
                                  .log = { atomic_load_explicit(&slot->log[0], memory_order_relaxed),
                                           atomic_load_explicit(&slot->log[1], memory_order_relaxed),
                                           atomic_load_explicit(&slot->log[2], memory_order_relaxed),
                                           atomic_load_explicit(&slot->log[3], memory_order_relaxed) },
                                  .tally = atomic_load_explicit(&slot->meta, memory_order_relaxed) & SLOT_TALLY };
}

inline bool table_put_stamps(struct slot *slot, uint32_t ticket, const struct engine_state *state)
{
    if (unlikely(atomic_load_explicit(&slot->guard, memory_order_acquire) != ticket))
        return false;
    uint32_t meta = atomic_load_explicit(&slot->meta, memory_order_relaxed) & ~SLOT_TALLY;
    atomic_store_explicit(&slot->log[0], state->log[0], memory_order_relaxed);
    atomic_store_explicit(&slot->log[1], state->log[1], memory_order_relaxed);
    atomic_store_explicit(&slot->log[2], state->log[2], memory_order_relaxed);
    atomic_store_explicit(&slot->log[3], state->log[3], memory_order_relaxed);
    atomic_store_explicit(&slot->time_ns, state->time_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->meta, meta | (state->tally & SLOT_TALLY), memory_order_relaxed);
    return put_back(slot, ticket);
}

/* ---- insertion ---- */

static uint32_t worth_of(struct table *table, const struct slot *slot, uint64_t now_ns)
{
    uint64_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);
    const struct engine_limit *limit = key == 0 ? NULL : table_engine_at(table, (uint16_t)key);
    if (limit == NULL)
        return 0;
    struct engine_state state;
    slot_read(slot, &state);
    engine_settle_clock(&state, limit, now_ns);
    return engine_worth(&state, limit, now_ns);
}

/* Where an insertion takes place: under the guard of its home. */
struct place {
    uint64_t home;
    uint32_t ticket;
    bool home_is_used; /* the home slot itself is held for another key of the same request */
};

/* The slot whose loss changes least, among those that nobody holds.  Returns TABLE_NO_SLOT if all are held; `*busy` is then
 * one that somebody else holds, or TABLE_NO_SLOT. */
static uint64_t choose_victim(struct table *table, const struct place *place, uint64_t now_ns, uint64_t *busy)
{
    uint64_t home = place->home;
    uint64_t victim = TABLE_NO_SLOT;
    uint32_t least = UINT32_MAX;
    *busy = TABLE_NO_SLOT;
    for (uint64_t index = home; index < home + TABLE_NEIGHBOURS; index++) {
        struct slot *slot = &table->slots[index];
        uint32_t guard = atomic_load_explicit(&slot->guard, memory_order_relaxed);
        if (guard != 0 && !(index == home && !place->home_is_used)) {
            if (guard != place->ticket)
                *busy = index;
            continue;
        }
        if (atomic_load_explicit(&slot->key, memory_order_relaxed) == 0)
            return index;
        uint32_t worth = worth_of(table, slot, now_ns);
        if (worth < least) {
            least = worth;
            victim = index;
        }
    }
    return victim;
}

static void count_eviction(struct table *table, uint32_t worth)
{
    struct table_header *header = table_header(table);
    _Atomic uint64_t *counter = &header->evicted_live;
    if (worth == 0)
        counter = &header->evicted_expired;
    else if (worth >= ENGINE_WORTH_BLOCKED)
        counter = &header->evicted_blocked;
    else if (worth >= ENGINE_WORTH_FULL)
        counter = &header->evicted_full;
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Makes a held slot the key's, fresh. In this order: killed in between, the slot is free. */
static void claim(struct table *table, struct slot *slot, struct table_key key, uint16_t limit, struct table_hold *hold)
{
    static const struct engine_state fresh;
    atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* no reader sees the new words under the old key */
    slot_write(slot, &fresh);
    atomic_store_explicit(&slot->key, key.tag | limit, memory_order_release);
    atomic_fetch_add_explicit(&table_header(table)->inserted, 1, memory_order_relaxed);
    hold->state = fresh;
    hold->fresh = true;
}

/* Under the home's guard, the key being nowhere: finds a slot, takes its guard and claims it. */
static enum table_taking insert_under_home(struct table *table, const struct place *place, struct table_key key,
                                           uint16_t limit, uint64_t now_ns, struct table_hold *hold)
{
    uint64_t busy;
    for (unsigned attempt = 0; attempt < 2 * TABLE_NEIGHBOURS; attempt++) {
        uint64_t index = choose_victim(table, place, now_ns, &busy);
        if (index == TABLE_NO_SLOT) {
            hold->slot = busy;
            return busy == TABLE_NO_SLOT ? TABLE_ABSENT : TABLE_BUSY;
        }
        struct slot *slot = &table->slots[index];
        uint32_t seen = worth_of(table, slot, now_ns);
        if (index != place->home && !guard_take(slot, place->ticket))
            continue;
        uint32_t worth = worth_of(table, slot, now_ns);
        bool still_ours = table_is_ours(&table->slots[place->home], place->ticket);
        if (worth > seen || !still_ours) { /* charged or blocked in between: is it still the one? */
            if (index != place->home)
                table_give_back(slot, place->ticket);
            continue;
        }
        if (atomic_load_explicit(&slot->key, memory_order_relaxed) != 0)
            count_eviction(table, worth);
        claim(table, slot, key, limit, hold);
        hold->slot = index;
        return TABLE_TAKEN;
    }
    hold->slot = place->home;
    return TABLE_BUSY;
}

enum table_taking table_insert(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                               uint32_t ticket, struct table_hold *hold)
{
    uint64_t home = table_home(table, key);
    struct slot *slot = &table->slots[home];
    struct place place = { home, ticket, table_is_ours(slot, ticket) };
    *hold = (struct table_hold){ .slot = home, .ticket = ticket };
    if (!place.home_is_used && !guard_take(slot, ticket))
        return TABLE_BUSY;
    enum table_taking taking = TABLE_BUSY;
    uint64_t index = table_find(table, key);
    if (index == TABLE_NO_SLOT) {
        taking = insert_under_home(table, &place, key, limit, now_ns, hold);
    } else {
        hold->slot = index;
        if (index == home || guard_take(&table->slots[index], ticket)) {
            copy_state(table, &table->slots[index], limit, now_ns, &hold->state);
            taking = TABLE_TAKEN;
        }
    }
    if (!place.home_is_used && !(taking == TABLE_TAKEN && hold->slot == home))
        table_give_back(slot, ticket);
    return taking;
}

/* ---- back ---- */

bool table_holds(const struct table *table, const struct table_hold *hold)
{
    return table_is_ours(&table->slots[hold->slot], hold->ticket);
}

inline bool table_put(struct table *table, const struct table_hold *hold, struct table_key key, uint16_t limit)
{
    struct slot *slot = &table->slots[hold->slot];
    if (unlikely(atomic_load_explicit(&slot->guard, memory_order_acquire) != hold->ticket))
        return false;
    if (unlikely(atomic_load_explicit(&slot->key, memory_order_relaxed) != (key.tag | limit)))
        atomic_store_explicit(&slot->key, key.tag | limit, memory_order_relaxed);
    slot_write(slot, &hold->state);
    return put_back(slot, hold->ticket);
}

void table_drop(struct table *table, const struct table_hold *hold)
{
    table_give_back(&table->slots[hold->slot], hold->ticket);
}
