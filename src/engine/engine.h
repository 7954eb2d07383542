/*
 * The engine: what a limit says to a key.  Pure functions of (state, limit, cost, now).
 *
 * No I/O, no clock, no allocation, no globals, no locks.  A check in the build proves it (`nm -u`).
 * A state is plain memory of the caller: whoever holds it decides about sharing.  A zeroed state is a fresh key.
 *
 * Units: nanoseconds of one monotonic clock that counts from about the Unix epoch; arithmetic saturates.
 *
 * Guarantees
 *  - sliding: no window (t-T, t] holds more than N charges; sending evenly at 15/16 of N/T is never refused.
 *  - `wait_ns` is exact for the state: judged again at now + wait_ns with nothing charged meanwhile, the same cost is
 *    admitted; judged 1 ns earlier, it is not.
 *  - A clock that steps back grants nothing, and costs at most one window.
 *  - engine_repair turns any 56 bytes into a valid state that is at most one window (one more with a queue, and one block)
 *    stricter than fresh; a valid state stays as it is.
 *
 * The order of calls for one request on one key:
 *     engine_settle_clock, engine_judge, then engine_charge (admitted) or engine_exceed (refused, and the limit blocks
 *     or counts refusals), later perhaps engine_refund.
 */
#ifndef DROSSEL_ENGINE_H
#define DROSSEL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENGINE_NEVER UINT64_MAX            /* a wait that does not end */
#define ENGINE_COUNT_MAX UINT64_C(100000000)     /* the largest N and burst */
#define ENGINE_PERIOD_MAX_NS (UINT64_C(366) * 86400 * 1000000000)   /* the longest T, block, forgive */

enum engine_algorithm {
    ENGINE_SLIDING = 0,
    ENGINE_FIXED = 1,
    ENGINE_BUCKET = 2,
    ENGINE_LEAKY = 3,
    ENGINE_DISTINCT = 4          /* N different things in T; the `cost` of a charge is then a hash of the thing, 0 asks */
};

enum engine_flag {
    ENGINE_FROM_FIRST = 1,       /* fixed: the window starts with the key's first request */
    ENGINE_EXTEND = 2,           /* a refused request during a block starts the block anew */
    ENGINE_COUNT_REFUSED = 4,    /* refused requests count too */
    ENGINE_REFUNDABLE = 8,       /* charges may be given back: sliding then keeps a count with each stamp */
    ENGINE_QUEUE = 16,           /* action delay: what does not fit now is charged to the time when it will */
    ENGINE_BAN = 32              /* the block is told to others as a ban of the address */
};

/* What the operator wrote, nothing derived.  Plain data without pointers or padding: it is kept in the table, so
 * that a state can be read by the limit that wrote it even after the policy has changed. */
struct engine_spec {
    uint64_t count;              /* N, 0 to ENGINE_COUNT_MAX; 0 refuses everyone */
    uint64_t period_ns;          /* T, 1 ms to ENGINE_PERIOD_MAX_NS */
    uint64_t burst;              /* bucket: capacity (1..); leaky: how many beyond the rate (0..) */
    uint64_t undelayed;          /* leaky: how many of the burst pass undelayed; UINT64_MAX: all */
    uint64_t block_ns;           /* 0: no block */
    uint64_t block_max_ns;       /* growth ends here */
    uint64_t forgive_ns;         /* strikes are forgotten when nothing happened for so long after a block's end */
    uint32_t factor_milli;       /* growth with each strike in thousandths; 1000: none */
    uint16_t flags;              /* enum engine_flag */
    uint8_t algorithm;           /* enum engine_algorithm */
    uint8_t reserved;            /* zero */
};

/* A compiled limit.  Immutable after engine_compile; may be shared by any number of threads.  All that a sliding window with room needs lies in
 * the first 64 bytes, and in 24 of them as long as no stamp of it is closed. */
struct engine_limit {
    uint32_t chunk;              /* sliding: charges to a stamp */
    uint8_t stamps;              /* sliding: closed stamps kept, 0 to 30 */
    uint8_t stamp_bits;          /* sliding: bits of one */
    uint8_t count_bits;          /* sliding: of these, those that count charges */
    bool is_plain;               /* is engine_pass for it? */
    uint64_t capacity;           /* bucket: burst; leaky: burst + 1; else N */
    uint64_t period_ns;          /* the spec's */
    uint64_t quantum_ns;         /* sliding: grid of the stamps' times */
    uint64_t quantum_inverse;    /* sliding: to divide by it with a multiplication, see stamps.h */
    uint64_t stamp_mask, age_mask;   /* sliding: so many ones */
    uint8_t quantum_shift;       /* sliding: see stamps.h */
    uint8_t age_bits;            /* sliding: bits of a stamp that are its time */
    struct engine_spec spec;
    uint64_t unit_ns;            /* bucket, leaky: T/N, whole nanoseconds ... */
    uint64_t unit_rest;          /* ... and the rest, in 1/N ns */
    uint64_t depth_ns;           /* bucket, leaky: capacity * T/N, whole nanoseconds ... */
    uint64_t depth_rest;         /* ... and the rest */
};

_Static_assert(offsetof(struct engine_limit, quantum_ns) == 24 && offsetof(struct engine_limit, spec) == 64, "one line of memory");

/* A key's state.  Zeroed: fresh.  Same layout as the shared slot, without tag and guard. */
struct engine_state {
    uint64_t block_end_ns;       /* refused before this time; kept afterwards for forgiveness */
    uint64_t time_ns;            /* sliding: newest charge; fixed: window's start; bucket, leaky: when it is empty again */
    uint64_t log[4];             /* sliding: stamps; fixed: hits in [0]; bucket, leaky: 1/N ns in [0] */
    uint32_t tally;              /* sliding: charges in the newest stamp; 24 bits */
    uint8_t strikes;             /* blocks so far, saturating, and ENGINE_BLOCKED_BY_HAND */
};

#define ENGINE_BLOCKED_BY_HAND UINT8_C(128)      /* in strikes: the policy's longest block does not bind this block's end */

struct engine_verdict {
    bool allowed;
    bool blocked;                /* by a running block */
    bool started_block;          /* set by engine_exceed */
    uint8_t kept;                /* for engine_charge: what engine_judge found; sliding: closed stamps in the window */
    uint64_t remaining;          /* admitted at once after this request */
    uint64_t used;               /* charged in the window, this request included if admitted */
    uint64_t wait_ns;            /* refused: exact time until this cost is admitted; ENGINE_NEVER; else 0 */
    uint64_t delay_ns;           /* admitted, but to be held back so long */
    uint64_t reset_ns;           /* until the key is back at its full quota */
    uint64_t more_ns;            /* until one more than `remaining` is admitted; 0 at full quota */
    uint64_t mark;               /* after engine_charge: what engine_refund needs to know where the charge went */
};

/* Checks a spec and derives the rest.  Returns NULL, or what is wrong and what would be right (static text);
 * `limit` is untouched then. */
const char *engine_compile(const struct engine_spec *spec, struct engine_limit *limit);

/* Makes a state usable at `now` when the clock stepped back: if its times are more than a window ahead, they are pulled
 * to now, keeping what was counted.  Returns whether it changed something.  Cheap: two comparisons. */
bool engine_settle_clock(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);

/* Would `cost` be admitted?  Changes nothing.  Cost 0 asks: allowed unless blocked or N is 0. */
void engine_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                  struct engine_verdict *verdict);

/* Charges a cost that engine_judge admitted, in this `verdict`, for the same state at the same `now`; sets verdict->mark. */
void engine_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                   struct engine_verdict *verdict);

/* engine_judge and engine_charge at once, for what nearly all requests are: of a limit that is_plain, a cost above 0, and a state that has no block and
 * no times ahead of now.  False, and nothing is changed, if there is no room, or it takes more than a few steps to find out; then those two tell. */
bool engine_pass(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                 struct engine_verdict *verdict);

/* Is all that a limit that is_plain counts here in time_ns and tally, no stamp being closed?  The last word of the log tells. */
#define ENGINE_CLOSED_SHIFT 59       /* from this bit on it is the number of closed stamps */
static inline bool engine_is_open(uint64_t last_of_log)
{
    return last_of_log >> ENGINE_CLOSED_SHIFT == 0;
}

/* Then no more than this has to be looked at; members as in struct engine_state. */
struct engine_tally {
    uint64_t block_end_ns;
    uint64_t time_ns;
    uint32_t tally;
};
/* engine_pass of it: returns verdict.used; 0, as it returns false.  What is then to be written is now_ns, and this as the tally. */
uint64_t engine_pass_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns);
/* engine_refund of it: returns the same, which is then to be taken from the tally. */
uint64_t engine_refund_tally(struct engine_tally tally, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                             uint64_t now_ns);

/* Is there anything to write when this limit refuses?  (It blocks, or counts refusals.) */
bool engine_exceed_writes(const struct engine_limit *limit, const struct engine_verdict *verdict);

/* A refusal that engine_judge spoke out takes effect: starts a block (strikes, growth, counter afresh), extends a running
 * one, or counts the refused request (not with a queue: it refuses only when a whole window is queued).  Updates the
 * verdict's wait. */
void engine_exceed(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                   struct engine_verdict *verdict);

/* Gives `cost` of the charge `mark` back to the window or bucket that it came from, never more than is left of it there: what
 * remains still stands for every charge that is kept.  Returns how much was given back; 0 if that window has passed, or a
 * block came between.  A sliding limit above 16 gives all that is there only if it is ENGINE_REFUNDABLE. */
uint64_t engine_refund(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t mark,
                       uint64_t now_ns);

/* Forgets what was counted, and a running block, as if the key were fresh; but charges made before are no longer given back, so that a late
 * refund of one of them takes nothing from those that are made from here on. */
void engine_clear(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);

/* Blocks the key until now + for_ns by hand, without a strike. */
void engine_block(struct engine_state *state, uint64_t for_ns, uint64_t now_ns);

/* Charges in the window at `now`, without judging. */
uint64_t engine_used(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);

/* What would be lost if the state were forgotten.  0: nothing.  Below ENGINE_WORTH_FULL: parts of the quota used.
 * From there: at its limit.  From ENGINE_WORTH_BLOCKED: blocked, more the longer.  For the choice of a victim. */
#define ENGINE_WORTH_FULL UINT32_C(0x40000000)
#define ENGINE_WORTH_BLOCKED UINT32_C(0x80000000)
uint32_t engine_worth(const struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);

/* Makes any bytes a valid state for this limit. */
void engine_repair(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns);

/* Rewrites a state of limit `from` for limit `to` (the policy's numbers changed): what was counted stays counted, as far
 * as it still lies in the new window, and a running block lasts as it was told. */
void engine_convert(struct engine_state *state, const struct engine_limit *from, const struct engine_limit *to,
                    uint64_t now_ns);

#endif
