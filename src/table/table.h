/*
 * The shared table: one slot of one cache line for each key, in a file that every process maps.
 *
 *     file:   | header 4 KiB | registry of limits, 1 MiB | statistics, 2.5 MiB, a hole but for what is used |
 *             | slots, 64 B each | names, 64 B each (optional) |
 *
 *     slot:   0  tag|limit     48 bits of the key's hash, 16 bits registry index.  0: free
 *             8  guard         0: free, else the ticket of who is writing
 *            12  strikes|tally engine state
 *            16  block_end     engine state; alone decides whether the key is blocked
 *            24  time          engine state
 *            32  log[4]        engine state
 *
 * A key lives in one of the 8 slots from its home on (linear; there are 7 more slots than the capacity, so that nothing
 * wraps).  The home is taken from one half of the 128-bit hash, the tag from the other.
 *
 * Who writes what.  A slot's words are written only by the holder of its guard, but for `block_end` of a block by hand
 * or extended, which are written under the guard too.  Readers that hold no guard read tag, block_end, tag.
 * The registry is append-only, under the file lock.  The header's clock words: see clock.c.
 *
 * Time to live of a guard.  The guard is taken by compare-and-swap with a ticket that is new for each taking, and freed with
 * one store.  Who finds the same ticket for TABLE_GUARD_PATIENCE_NS asks whether the process that took it lives (owner.c).  From the
 * dead he takes the guard over by compare-and-swap and has the state repaired.  The living, who are only kept off the processor, he
 * waits for; taken over, they might wake up among their last few stores and make them over those of the others.
 *
 * What a process killed at any instruction leaves: at worst a held guard and a half-written slot of one key.  The next
 * one who wants the key waits TABLE_GUARD_PATIENCE_NS, takes over, repairs.  Nobody else waits at all.
 *
 * What a process leaves that was stopped (SIGSTOP, a debugger, a frozen container) while it held a guard: the same, but the next one
 * who wants the key waits TABLE_LIVING_PATIENCE_NS.  When it goes on it notices that the guard is no longer its own, and starts
 * anew: it works on a copy, and looks at the guard before it writes.  Only if it was stopped between that look and the end of its few
 * stores does it mix its words with the others'.  The state stays valid then; that one key may miscount once.
 *
 * Not guaranteed: that a key keeps its count when its neighbourhood is full of keys that matter more.
 */
#ifndef DROSSEL_TABLE_TABLE_H
#define DROSSEL_TABLE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/engine.h"

#define TABLE_NEIGHBOURS 8
#define TABLE_LIMITS_MAX 4096
#define TABLE_NAME_BYTES 56              /* readable name of a key, without NUL */
#define TABLE_LIMIT_NAME_BYTES 72
#define TABLE_SUBJECT_BYTES 72
#define TABLE_GUARD_PATIENCE_NS 4000000  /* with the dead: 4 ms, counted in the waiter's own turns: longer on a busy machine */
#define TABLE_TURN_NS 100000             /* the most that one turn counts */
#define TABLE_ASK_NS 1000000             /* after that it is asked so often whether the holder lives */
#define TABLE_LIVING_PATIENCE_NS 500000000   /* with the living, counted likewise: 20 times what was seen on a machine with 16
                                                busy threads for each processor */
#define TABLE_SECRET_BYTES 16            /* SipHash key */
#define TABLE_KEYS_MIN 64
#define TABLE_KEYS_MAX (UINT64_C(1) << 32)

struct table;

/* What a limit of the registry is.  Index 0 is the ban of an address. */
struct table_limit {
    char name[TABLE_LIMIT_NAME_BYTES];         /* of the rate: policy_rate.name */
    char subject[TABLE_SUBJECT_BYTES];         /* policy_subject.text, cut off */
    uint64_t seed;                             /* mixed into the subject's hash: the key's identity */
    struct engine_spec spec;
    uint16_t ipv6_prefix;
};
#define TABLE_LIMIT_BAN 0        /* the ban of an address */
#define TABLE_LIMIT_OPEN 1       /* charges of a key whose outcome is open */
#define TABLE_LIMIT_TICKET 2     /* a ticket that is not settled yet */
#define TABLE_LIMIT_FIRST 3      /* from here on: of policies */

struct table_options {
    const char *path;            /* NULL: private, in memory shared with forks only */
    uint64_t keys;               /* slots; rounded up to a power of two */
    bool names;
    bool no_stats;               /* made without statistics (stats.h) */
    bool existing_only;          /* do not make it: for tools that look */
    bool any_size;               /* take an existing table with its own size: for tools that look */
    gid_t group;                 /* (gid_t)-1: as it comes; else the file's group when it is made */
    uid_t owner;                 /* (uid_t)-1: as it comes */
    uint64_t start_ns;           /* private: what its clock counts from; 0: the wall clock */
    /* for tests: NULL is this machine's */
    const char *boot_id;
    int64_t (*boot_clock)(void); /* ns since boot, suspend included */
    int64_t (*wall_clock)(void); /* ns since the Unix epoch */
};

/* Opens or makes a table.  NULL on failure, with a message in `error` that names the file, what was found and the
 * remedy.  The table is the caller's to table_close. Never follows a symbolic link at the path's last part. */
struct table *table_open(const struct table_options *options, char *error, size_t error_size);
void table_close(struct table *table);

/* The default path of this user: /dev/shm/drossel for root, else drossel in $XDG_RUNTIME_DIR or /run/user/UID, if
 * that folder is the user's own, else /dev/shm/drossel-UID.  Returns its length, 0 if it does not fit. */
size_t table_default_path(char *out, size_t cap);

const char *table_path(const struct table *table);     /* "" for a private one */
uint64_t table_keys(const struct table *table);        /* power of two */
bool table_has_names(const struct table *table);
size_t table_bytes(const struct table *table);
const uint8_t *table_secret(const struct table *table);

/* The table's clock: monotonic, counts through suspend, restart and reboot, near Unix time when the table was made. */
uint64_t table_now(const struct table *table);

/* Was the file shrunk under us?  Then all of it was replaced by empty memory of this process, so that nobody crashes;
 * counting goes on, alone, until the table is opened anew. */
bool table_is_lost(const struct table *table);

/* Registers a limit, or finds the equal one.  Returns its index, or -1 when the registry is full. */
int table_limit_register(struct table *table, const struct table_limit *limit);
/* Number of registered limits; entries below it never change. */
uint32_t table_limit_count(const struct table *table);
const struct table_limit *table_limit_at(const struct table *table, uint32_t index);   /* NULL beyond the count */
const struct engine_limit *table_engine_at(struct table *table, uint32_t index);       /* compiled; NULL if unusable */

/* What identifies a key: where it lives, and 48 bits to know it by.  From a subject's hash and the limit's seed: within one limit different
 * hashes are different keys. */
struct table_key { uint64_t home, tag; };
struct table_key table_key_mix(uint64_t subject_hash, uint64_t seed);
/* Another key that goes with this one. */
struct table_key table_key_beside(struct table_key key, uint64_t seed);

/* Fetches a key's home line ahead. */
void table_prefetch(const struct table *table, struct table_key key);
/* The same of two keys whose homes differ in the last bit. */
void table_prefetch_pair(const struct table *table, struct table_key key);

/* The key's slot, or TABLE_NO_SLOT.  Without a lock; what it says may be past at once. */
#define TABLE_NO_SLOT UINT64_MAX
uint64_t table_find(const struct table *table, struct table_key key);

/* A copy of the key's state as table_take would give it, without its guard: valid whatever others write meanwhile, though
 * perhaps of two moments.  False, and `state` fresh, if the key has no slot.  No write. */
bool table_look(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns, struct engine_state *state);

/* The end of the key's block as it stands in that slot, or 0 if the slot is no longer the key's.  One read, no write. */
uint64_t table_block_end(const struct table *table, uint64_t slot, struct table_key key);

/* ---- slots held: one, or several at once under one ticket ---- */

struct table_hold {              /* a slot held by us; lives on the caller's stack */
    uint64_t slot;               /* index; after TABLE_BUSY: the slot whose guard is in the way */
    uint32_t ticket;
    bool fresh;                  /* nothing was there: `state` is zero */
    struct engine_state state;   /* a copy to work on */
};

enum table_taking {
    TABLE_TAKEN,
    TABLE_ABSENT,                /* the key has no slot (table_take), or none can be had (table_insert: all of the
                                    neighbourhood is held under this very ticket) */
    TABLE_BUSY                   /* somebody else holds a guard that is needed: table_wait, without holding any */
};

/* A new ticket, never 0: under which guards are taken.  The number of this process (owner.c), which no other one that lives and shares a
 * table has, and 18 bits that are the thread's own count from a random beginning: unique enough among its threads. */
uint32_t table_ticket(const struct table *table);

/* Takes the guard of the key's slot and copies its state, converted to `limit` (registry index) if it was written under other
 * numbers, and settled for a clock that stepped back.  Never waits. */
enum table_taking table_take(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns, uint32_t ticket,
                             struct table_hold *hold);

/* As table_take, where the caller has looked already: hold->slot is what table_find said. */
enum table_taking table_take_found(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                                   uint32_t ticket, struct table_hold *hold);

/* The same bit by bit, of a limit that is_plain; by its address, a slot stays in a register.  The slot of table_find that is not blocked, with its
 * guard taken; NULL, and nothing is held, if that is not to be had at once. */
struct slot;
struct slot *table_take_guard(struct table *table, struct table_key key, uint64_t now_ns, uint32_t ticket);
/* Is there nothing but what is counted?  Not if it was written under another limit, is blocked, or has times ahead of now. */
bool table_is_plain(const struct slot *slot, struct table_key key, uint16_t limit, uint64_t now_ns);
/* Then: is all of that in its tally (engine_is_open)? */
bool table_is_open(const struct slot *slot);
struct engine_tally table_tally(const struct slot *slot);
struct engine_state table_stamps(const struct slot *slot);    /* its block and strikes are 0 */
/* As table_holds, table_put and table_drop; the block and the strikes stay as they are. */
bool table_is_ours(const struct slot *slot, uint32_t ticket);
bool table_put_tally(struct slot *slot, uint32_t ticket, struct engine_tally tally);
bool table_put_stamps(struct slot *slot, uint32_t ticket, const struct engine_state *state);
void table_give_back(struct slot *slot, uint32_t ticket);
bool table_put_cleared(struct slot *slot, uint32_t ticket, uint64_t now_ns);  /* what engine_clear makes of it */

/* As table_take, but gives an absent key a slot: a free one, else that of the key whose loss changes least.  The slot is the
 * key's from then on, fresh.  Never waits. */
enum table_taking table_insert(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                               uint32_t ticket, struct table_hold *hold);

/* After TABLE_BUSY: waits until the guard in the way was freed or has changed hands; takes it from the dead, and from those who
 * stand still for too long, repairs the slot and frees it.  The caller holds no guard meanwhile, so nobody waits in a circle. */
void table_wait(struct table *table, const struct table_hold *busy, uint64_t now_ns);

/* table_take and table_insert by those who hold no guard, and wait.  False: TABLE_ABSENT. */
bool table_take_waiting(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns, struct table_hold *hold);
bool table_insert_waiting(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns, struct table_hold *hold);

/* Does the hold still own its guard? */
bool table_holds(const struct table *table, const struct table_hold *hold);

/* Writes the copy back and frees the guard.  False if the guard had been taken from us: nothing was written, or, if it
 * happened within the few stores of the writing itself, something that the next reader repairs. */
bool table_put(struct table *table, const struct table_hold *hold, struct table_key key, uint16_t limit);

/* Frees the guard without writing. */
void table_drop(struct table *table, const struct table_hold *hold);

/* Sets the readable name of a held slot (only where the table has names; cut to TABLE_NAME_BYTES).  The lower 16 bits of the key's tag, which are no part of
 * it, may say by which rules it was named. */
void table_name_set(struct table *table, const struct table_hold *hold, struct table_key key, const char *name, size_t size);
/* Has the slot this key's name still, by the same rules, from when it was the key's before?  Then it need not be made anew. */
bool table_name_is_set(const struct table *table, const struct table_hold *hold, struct table_key key);

/* ---- for looking at it ---- */

struct table_entry {
    uint64_t slot;
    uint16_t limit;
    struct engine_state state;
    uint64_t tag;                /* of the key */
    char name[TABLE_NAME_BYTES + 1];     /* "" without */
};
/* Reads the next used slot at or after `*slot` without a lock (a consistent copy or none); false at the end. */
bool table_next(const struct table *table, uint64_t *slot, struct table_entry *entry);
/* The same before slot `end` only: for those who look through a large table bit by bit.  False leaves `*slot` at the end. */
bool table_next_before(const struct table *table, uint64_t *slot, uint64_t end, struct table_entry *entry);

/* The entry's key, by which its slot is found as long as it holds it; not its true home, which nobody knows. */
struct table_key table_entry_key(const struct table *table, const struct table_entry *entry);

/* Frees the slot if it still holds this entry's key.  Waits for a writer.  True if it was freed. */
bool table_forget(struct table *table, const struct table_entry *entry, uint64_t now_ns);

/* Counters, summed over all processes since the table was made. */
struct table_counts { uint64_t inserted, evicted_expired, evicted_live, evicted_full, evicted_blocked, taken_over; };
void table_counts(const struct table *table, struct table_counts *counts);

/* How many times table_forget was called: what was remembered of keys while it was lower may hold no longer. */
uint64_t table_forgotten(const struct table *table);

/* Latest end of any ban: while now is beyond it nobody needs to look for bans. */
uint64_t table_bans_until(const struct table *table);
void table_bans_extend(struct table *table, uint64_t until_ns);

/* Are all invariants met?  For tests and `drossel show`.  Returns NULL or what is wrong (static text). */
const char *table_validate(struct table *table, uint64_t now_ns);

#endif
