/*
 * What a door remembers of its refusals, so that a flood of them costs it little.
 *
 * A refusal that wrote nothing is the same again until its wait is over, if the same client asks for the same: nobody else's request
 * shortens its wait, and when a key is reset by hand, nothing from before counts (table_forgotten).  What may be otherwise in between (another limit
 * that has run full and has a longer wait, what is left of others) comes through after LIMITER_MEMORY_NS.  Each refusal is counted as if it had
 * been judged.
 *
 * Only limits whose keys are made of address, path and site are remembered, and no failures, whose charges may be given back.
 */
#include "limiter_private.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_ENTRIES 256 /* a power of two; a client and path have one place, where the last one stays */
#define MEMORY_PATH 96
#define MEMORY_METHOD 8

/* What one rate had to say. */
struct said {
    struct table_key key;
    uint32_t rate;
    enum table_verdict verdict;
    bool is_blocked, is_counted;
};

struct remembered {
    uint64_t from_ns, until_ns; /* until 0: nothing */
    uint64_t forgotten;         /* table_forgotten before it was judged */
    const struct limiter *by;
    struct drossel_address client; /* as it is, not as it is counted: exemptions and overrides look at all of it */
    uint8_t method_size, path_size;
    char method[MEMORY_METHOD], path[MEMORY_PATH];
    uint32_t limit_count, said_count;
    uint32_t limit[SHORT_RATES];
    struct said said[SHORT_RATES];
    struct drossel_decision decision;
};

/* The entries have pages of their own, which are touched in a flood only. */
struct limiter_memory *limiter_memory_open(const struct limiter *limiter)
{
    struct limiter_memory *memory = aligned_alloc(_Alignof(struct limiter_memory), sizeof *memory);
    struct remembered *entry = calloc(MEMORY_ENTRIES, sizeof *entry);
    if (memory != NULL && entry != NULL) {
        *memory = (struct limiter_memory){ .entry = entry, .pass = limiter->pass, .login = limiter->login };
        return memory;
    }
    free(memory);
    free(entry);
    return NULL;
}

void limiter_memory_close(struct limiter_memory *memory)
{
    if (memory != NULL)
        free(memory->entry);
    free(memory);
}

/* No more than a place: who shares one only forgets sooner. */
static struct remembered *place_of(struct limiter_memory *memory, const struct subject_finder *finder)
{
    uint64_t head, tail, path = finder->request->path.size;
    memcpy(&head, finder->client.bytes, sizeof head);
    memcpy(&tail, finder->client.bytes + 8, sizeof tail);
    for (size_t i = 0; i < finder->request->path.size && i < MEMORY_PATH; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        size_t left = finder->request->path.size - i;
        memcpy(&word, finder->request->path.data + i, left < sizeof word ? left : sizeof word);
        path = path * UINT64_C(0xff51afd7ed558ccd) + word;
    }
    uint64_t mixed = (head ^ tail * UINT64_C(0xc2b2ae3d27d4eb4f) ^ path) * UINT64_C(0x9e3779b97f4a7c15);
    return &memory->entry[mixed >> 56];
}
_Static_assert(MEMORY_ENTRIES == 256, "the place is 8 bits of the product");

static bool is_text(struct drossel_text text, const char *known, size_t size)
{
    return text.size == size && (size == 0 || memcmp(text.data, known, size) == 0);
}

static bool is_of(const struct remembered *entry, const struct limiter *limiter, const struct subject_finder *finder,
                  const struct matched *matched)
{
    const struct drossel_request *request = finder->request;
    uint64_t now_ns = request->now_ns;
    return now_ns >= entry->from_ns && now_ns < entry->until_ns && entry->by == limiter &&
           entry->forgotten == table_forgotten(limiter->table) &&
           memcmp(&entry->client, &finder->client, sizeof entry->client) == 0 &&
           is_text(request->path, entry->path, entry->path_size) &&
           is_text(request->method, entry->method, entry->method_size) && matched->count == entry->limit_count &&
           memcmp(matched->limit, entry->limit, matched->count * sizeof entry->limit[0]) == 0;
}

struct naming_again {
    struct subject_finder *finder;
    uint32_t subject;
};

static size_t name_again(void *context, char *out, size_t cap)
{
    const struct naming_again *naming = context;
    return subject_format(naming->finder, naming->subject, out, cap);
}

static void count_again(const struct limiter *limiter, struct subject_finder *finder, const struct said *said)
{
    const struct rate_plan *rate = &limiter->rates[said->rate];
    struct naming_again naming = { finder, limiter->policy->limits[rate->limit].subject };
    table_stats_count(limiter->table, rate->limit_id, said->verdict, rate->dry_run);
    if (said->verdict == TABLE_PASSED)
        return;
    if (said->is_blocked)
        table_stats_count(limiter->table, rate->limit_id, TABLE_BY_BLOCK, rate->dry_run);
    struct table_offence offence = { .key = said->key,
                                     .limit = rate->limit_id,
                                     .is_dry_run = rate->dry_run,
                                     .verdict = said->verdict,
                                     .now_ns = finder->request->now_ns,
                                     .name = name_again,
                                     .context = &naming };
    table_stats_offend(limiter->table, &offence);
}

static uint64_t later(uint64_t wait_ns, uint64_t by_ns)
{
    if (wait_ns == DROSSEL_NEVER)
        return wait_ns;
    return wait_ns > by_ns ? wait_ns - by_ns : 0;
}

/* Not inlined: it would lie in the middle of the way of those who pass. */
__attribute__((noinline)) bool limiter_recall(struct limiter_memory *memory, const struct limiter *limiter,
                                              struct subject_finder *finder, const struct matched *matched,
                                              struct drossel_decision *decision)
{
    const struct remembered *entry = place_of(memory, finder);
    if (!is_of(entry, limiter, finder, matched))
        return false;
    uint64_t past_ns = finder->request->now_ns - entry->from_ns;
    memcpy(decision, &entry->decision, offsetof(struct drossel_decision, quota));
    memcpy(decision->quota, entry->decision.quota, entry->decision.quota_count * sizeof decision->quota[0]);
    decision->hold_ns = 0;
    decision->ticket.count = 0;
    decision->signed_in = subject_signed_in(finder);
    decision->wait_ns = later(decision->wait_ns, past_ns);
    decision->dry_run_wait_ns = later(decision->dry_run_wait_ns, past_ns);
    for (uint32_t i = 0; i < decision->quota_count; i++)
        decision->quota[i].more_ns = later(decision->quota[i].more_ns, past_ns);
    for (uint32_t i = 0; i < entry->said_count; i++)
        if (entry->said[i].is_counted)
            count_again(limiter, finder, &entry->said[i]);
    return true;
}

/* Will the same be said again, with nothing written meanwhile? */
static bool is_repeatable(const struct limiter *limiter, const struct subject_finder *finder,
                          const struct matched *matched, const struct charges *charges,
                          const struct drossel_decision *decision)
{
    const struct drossel_request *request = finder->request;
    if (decision->verdict < DROSSEL_REFUSE || decision->verdict == DROSSEL_HOLD || decision->banned ||
        request->extra_cost != 0 || request->arrived_ns > 0 || request->path.size > MEMORY_PATH ||
        request->method.size > MEMORY_METHOD || matched->count > SHORT_RATES || charges->count > SHORT_RATES)
        return false;
    for (uint32_t i = 0; i < matched->count; i++)
        if (!limiter->limits[matched->limit[i]].is_repeatable)
            return false;
    for (uint32_t i = 0; i < charges->count; i++) {
        const struct engine_verdict *verdict = &charges->charge[i].verdict;
        if (!charges->charge[i].judged || verdict->allowed)
            continue;
        if (verdict->started_block || engine_exceed_writes(charges->charge[i].limit, verdict))
            return false;
    }
    return true;
}

/* Until what any of the rates had to say becomes another: its wait is over, or one more charge has left its window. */
static uint64_t holds_for(const struct charges *charges)
{
    uint64_t least_ns = LIMITER_MEMORY_NS;
    for (uint32_t i = 0; i < charges->count; i++) {
        const struct engine_verdict *verdict = &charges->charge[i].verdict;
        if (!charges->charge[i].judged)
            continue;
        if (!verdict->allowed && verdict->wait_ns < least_ns)
            least_ns = verdict->wait_ns;
        if (verdict->more_ns > 0 && verdict->more_ns < least_ns)
            least_ns = verdict->more_ns;
    }
    return least_ns;
}

static void keep_said(const struct limiter *limiter, const struct charges *charges, struct remembered *entry)
{
    entry->said_count = charges->count;
    for (uint32_t i = 0; i < charges->count; i++) {
        const struct store_charge *charge = &charges->charge[i];
        const struct policy_limit *limit = &limiter->policy->limits[limiter->rates[charges->rate[i]].limit];
        entry->said[i] = (struct said){ .key = charge->key,
                                        .rate = charges->rate[i],
                                        .verdict = (enum table_verdict)limiter_verdict_of(limit, charge),
                                        .is_blocked = charge->verdict.blocked,
                                        .is_counted = charge->judged && charge->cost > 0 };
    }
}

static uint8_t keep_text(struct drossel_text text, char *out)
{
    if (text.size > 0)
        memcpy(out, text.data, text.size);
    return (uint8_t)text.size;
}

void limiter_remember(struct limiter_memory *memory, uint64_t forgotten, const struct limiter *limiter,
                      const struct subject_finder *finder, const struct matched *matched, const struct charges *charges,
                      const struct drossel_decision *decision)
{
    if (!is_repeatable(limiter, finder, matched, charges, decision))
        return;
    struct remembered *entry = place_of(memory, finder);
    const struct drossel_request *request = finder->request;
    entry->by = limiter;
    entry->forgotten = forgotten;
    entry->from_ns = memory->newest_ns = request->now_ns;
    entry->until_ns = request->now_ns + holds_for(charges);
    entry->client = finder->client;
    entry->path_size = keep_text(request->path, entry->path);
    entry->method_size = keep_text(request->method, entry->method);
    entry->limit_count = matched->count;
    memcpy(entry->limit, matched->limit, matched->count * sizeof entry->limit[0]);
    keep_said(limiter, charges, entry);
    entry->decision = *decision;
}
