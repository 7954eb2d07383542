/*
 * How many different things a key has tried: accounts from one address, addresses for one account.
 *
 * The state holds up to 20 entries of equal width, each a fingerprint of the thing and the place of its last use on a grid of
 * time, modulo 2^age_bits - 1; a place of 0 is an empty entry.  A thing that is there costs nothing and stays young; a
 * new one is admitted while fewer than N are in the window.
 *
 * Errors, all on the side of admitting.  A new thing whose fingerprint is that of a known one passes for it: of those beyond the
 * limit 3 in 100 at N = 20, where a fingerprint has 10 bits, none to speak of at N = 10.  Places are rounded down,
 * so that an entry leaves up to one step, T/12 at N = 20, early.  So no thing is refused while fewer than N different ones
 * were in the window.
 *
 * The cost of a charge is here the thing itself: a hash of it, never 0; 0 asks.
 */
#include "engine/algorithm.h"

#define DISTINCT_MAX 20
#define STATE_BITS 280
#define ENTRY_BITS_MAX 32

static uint64_t low_bits(unsigned bits)
{
    return (UINT64_C(1) << bits) - 1;
}

const char *distinct_compile(struct engine_limit *limit)
{
    uint64_t count = limit->spec.count;
    if (count > DISTINCT_MAX)
        return "a key can tell no more than 20 different ones apart; write 20 or fewer, or count failures";
    unsigned bits = count == 0 ? ENTRY_BITS_MAX : (unsigned)(STATE_BITS / count);
    bits = bits < ENTRY_BITS_MAX ? bits : ENTRY_BITS_MAX;
    limit->stamps = (uint8_t)count;
    limit->stamp_bits = (uint8_t)bits;
    limit->age_bits = (uint8_t)(bits / 3 < 8 ? bits / 3 : 8);
    limit->quantum_ns = limit->spec.period_ns / (low_bits(limit->age_bits) - 3) + 1;
    limit->chunk = 1;
    return NULL;
}

/* The entries lie one after the other in the log's four words and the tally's 24 bits. */
static uint64_t word_at(const struct engine_state *state, unsigned word)
{
    return word < 4 ? state->log[word] : state->tally;
}

static void word_set(struct engine_state *state, unsigned word, uint64_t value)
{
    if (word < 4)
        state->log[word] = value;
    else
        state->tally = (uint32_t)value & ENGINE_TALLY_MAX;
}

static uint64_t entry_at(const struct engine_state *state, const struct engine_limit *limit, unsigned i)
{
    unsigned bit = i * limit->stamp_bits, word = bit / 64, shift = bit % 64;
    uint64_t value = word_at(state, word) >> shift;
    if (shift + limit->stamp_bits > 64)
        value |= word_at(state, word + 1) << (64 - shift);
    return value & low_bits(limit->stamp_bits);
}

static void entry_set(struct engine_state *state, const struct engine_limit *limit, unsigned i, uint64_t entry)
{
    unsigned bit = i * limit->stamp_bits, word = bit / 64, shift = bit % 64;
    uint64_t mask = low_bits(limit->stamp_bits);
    word_set(state, word, (word_at(state, word) & ~(mask << shift)) | entry << shift);
    if (shift + limit->stamp_bits > 64)
        word_set(state, word + 1, (word_at(state, word + 1) & ~(mask >> (64 - shift))) | entry >> (64 - shift));
}

static uint64_t fingerprint(const struct engine_limit *limit, uint64_t thing)
{
    return thing * UINT64_C(0x9e3779b97f4a7c15) >> (64 - (limit->stamp_bits - limit->age_bits));
}

static uint64_t place_at(const struct engine_limit *limit, uint64_t time_ns)
{
    return time_ns / limit->quantum_ns % low_bits(limit->age_bits) + 1;
}

/* When an entry leaves the window; 0 if it is empty.  The state's time is that of the last charge: none is younger. */
static uint64_t expiry_of(const struct engine_state *state, const struct engine_limit *limit, uint64_t entry)
{
    uint64_t place = entry & low_bits(limit->age_bits), cycle = low_bits(limit->age_bits);
    if (place == 0)
        return 0;
    uint64_t newest = state->time_ns / limit->quantum_ns;
    uint64_t behind = (newest % cycle + 1 + cycle - place) % cycle;
    return engine_add(engine_minus(newest, behind) * limit->quantum_ns, limit->spec.period_ns);
}

struct seen {
    unsigned live; /* entries in the window */
    unsigned at;   /* of the thing, if it is known; else of a free entry, or `stamps` */
    bool is_known;
    uint64_t first_expiry_ns, last_expiry_ns;
};

static struct seen look(const struct engine_state *state, const struct engine_limit *limit, uint64_t thing,
                        uint64_t at_ns)
{
    struct seen seen = { .at = limit->stamps, .first_expiry_ns = UINT64_MAX };
    for (unsigned i = 0; i < limit->stamps; i++) {
        uint64_t entry = entry_at(state, limit, i), expiry_ns = expiry_of(state, limit, entry);
        if (expiry_ns <= at_ns) {
            if (!seen.is_known)
                seen.at = i;
            continue;
        }
        seen.live++;
        seen.first_expiry_ns = engine_min(seen.first_expiry_ns, expiry_ns);
        seen.last_expiry_ns = engine_max(seen.last_expiry_ns, expiry_ns);
        if (thing != 0 && entry >> limit->age_bits == fingerprint(limit, thing)) {
            seen.is_known = true;
            seen.at = i;
        }
    }
    return seen;
}

void distinct_judge(const struct engine_state *state, const struct engine_limit *limit, uint64_t thing, uint64_t now_ns,
                    struct engine_verdict *verdict)
{
    uint64_t at_ns = engine_max(now_ns, state->time_ns);
    struct seen seen = look(state, limit, thing, at_ns);
    bool is_new = thing != 0 && !seen.is_known;
    verdict->allowed = !is_new || seen.live < limit->spec.count;
    verdict->used = seen.live + (verdict->allowed && is_new);
    verdict->remaining = engine_minus(limit->spec.count, verdict->used);
    verdict->more_ns = seen.live > 0 ? seen.first_expiry_ns - now_ns : 0;
    verdict->reset_ns = seen.live > 0 ? seen.last_expiry_ns - now_ns : 0;
    if (verdict->allowed && thing != 0)
        verdict->reset_ns = engine_add(at_ns, limit->spec.period_ns) - now_ns;
    if (!verdict->allowed)
        verdict->wait_ns = verdict->more_ns;
}

void distinct_charge(struct engine_state *state, const struct engine_limit *limit, uint64_t thing, uint64_t now_ns)
{
    uint64_t at_ns = engine_max(now_ns, state->time_ns);
    struct seen seen = look(state, limit, thing, at_ns);
    for (unsigned i = 0; i < limit->stamps; i++) /* before the time moves on: places are relative to it */
        if (expiry_of(state, limit, entry_at(state, limit, i)) <= at_ns)
            entry_set(state, limit, i, 0);
    state->time_ns = at_ns;
    if (seen.at < limit->stamps)
        entry_set(state, limit, seen.at, fingerprint(limit, thing) << limit->age_bits | place_at(limit, at_ns));
}

void distinct_pull(struct engine_state *state, const struct engine_limit *limit, uint64_t now_ns)
{
    for (unsigned i = 0; i < limit->stamps; i++) {
        uint64_t entry = entry_at(state, limit, i), ages = low_bits(limit->age_bits);
        if ((entry & ages) != 0)
            entry_set(state, limit, i, (entry & ~ages) | place_at(limit, now_ns));
    }
    state->time_ns = now_ns;
}
