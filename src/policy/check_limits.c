/* Warnings about limits: numbers that do not mean what they seem to, and limits that can never fire. */
#include <stdio.h>
#include <string.h>

#include "policy/reading.h"
#include "policy/speech.h"

/* ---- numbers ---- */

static void check_leaky(struct reading *reading, const struct limit_draft *draft, const struct rate_text *rate)
{
    uint64_t burst = draft->spec.burst;
    if (draft->spec.algorithm != ENGINE_LEAKY || rate->count == 0)
        return;
    char period[SPEECH_BYTES], interval[SPEECH_BYTES];
    policy_duration_format(rate->period_ns, period, sizeof(period));
    say_interval(rate->period_ns, rate->count, interval);
    if (rate->count > burst + 1)
        warning(reading, rate->node,
                "%llu per %s with burst %llu admits %llu at once, then one each %s; write burst: %llu to admit %llu at "
                "once, or "
                "algorithm: sliding",
                (unsigned long long)rate->count, period, (unsigned long long)burst, (unsigned long long)burst + 1,
                interval, (unsigned long long)rate->count - 1, (unsigned long long)rate->count);
    if (burst == 0)
        warning(reading, rate->node,
                "a leaky bucket without burst refuses every second request that comes within %s; write "
                "burst: 1 or more",
                interval);
}

static void check_block(struct reading *reading, const struct limit_draft *draft)
{
    const struct node *node = draft->at[KEY_BAN] != NULL ? draft->at[KEY_BAN] : draft->at[KEY_BLOCK];
    uint64_t window_ns = 0;
    for (uint32_t i = 0; i < draft->rate_count; i++)
        window_ns = draft->rate[i].period_ns > window_ns ? draft->rate[i].period_ns : window_ns;
    if (node == NULL || draft->spec.block_ns >= window_ns)
        return;
    char block[SPEECH_BYTES], window[SPEECH_BYTES];
    policy_duration_format(draft->spec.block_ns, block, sizeof(block));
    policy_duration_format(window_ns, window, sizeof(window));
    warning(reading, node,
            "a block of %s is shorter than its window of %s, and the counter starts afresh after it: waiting %s "
            "gives the whole quota again; write at least %s",
            block, window, block, window);
}

static uint64_t capacity_of(const struct limit_draft *draft, const struct rate_text *rate)
{
    struct engine_spec spec = spec_of_rate(draft, rate);
    if (spec.algorithm == ENGINE_BUCKET)
        return spec.burst;
    return spec.algorithm == ENGINE_LEAKY ? spec.burst + 1 : spec.count;
}

static void check_cost(struct reading *reading, const struct limit_draft *draft)
{
    const struct policy_limit *limit = draft->limit;
    uint64_t most = limit->cost;
    for (uint32_t i = 0; i < limit->class_cost_count; i++)
        most = limit->class_cost[i].cost > most ? limit->class_cost[i].cost : most;
    for (uint32_t i = 0; i < draft->rate_count && draft->at[KEY_COST] != NULL; i++) {
        uint64_t capacity = capacity_of(draft, &draft->rate[i]);
        if (draft->rate[i].count == 0 || most <= capacity)
            continue;
        warning(reading, draft->at[KEY_COST],
                "a request that costs %llu is never admitted, as at most %llu can be spent at "
                "once; write a lower cost, or allow more",
                (unsigned long long)most, (unsigned long long)capacity);
        return;
    }
}

/* ---- keys ---- */

static const struct policy_subject *subject_of(const struct reading *reading, const struct policy_limit *limit)
{
    return (const struct policy_subject *)reading->subjects.items + limit->subject;
}

static bool has_kind(const struct policy_subject *subject, enum policy_part_kind kind)
{
    for (unsigned i = 0; i < subject->part_count; i++)
        if (subject->part[i].kind == kind)
            return true;
    return false;
}

static void check_key(struct reading *reading, const struct limit_draft *draft)
{
    const uint32_t named = UINT32_C(1) << DROSSEL_DOOR_PHP | UINT32_C(1) << DROSSEL_DOOR_LIBRARY;
    const struct policy_subject *subject = subject_of(reading, draft->limit);
    const struct node *by = draft->at[KEY_BY];
    bool of_accounts = draft->limit->distinct == POLICY_DISTINCT_ACCOUNTS;
    if ((draft->limit->doors & ~named) != 0 && (of_accounts || has_kind(subject, POLICY_BY_ACCOUNT)) &&
        reading->policy->account_from_count == 0)
        warning(reading, of_accounts ? draft->rate[0].node : by,
                "no server knows an account, so that this limit never applies there; write client.account_from, or "
                "only: [php, library], whose callers name it themselves");
    if ((draft->limit->doors & ~named) != 0 && has_kind(subject, POLICY_BY_TOKEN) &&
        reading->policy->token_from_count == 0)
        warning(reading, by,
                "no server knows a token, so that this limit never applies there; write client.token_from, or only: "
                "[php, library], whose callers name it themselves");
    if (draft->at[KEY_RESET_ON] != NULL && subject->part_count == 1 && subject->part[0].kind == POLICY_BY_ADDRESS)
        warning(reading, draft->at[KEY_RESET_ON],
                "whoever has one right password clears the failures of all accounts tried from "
                "his address; add account to `by`, or leave `reset_on` out");
}

/* A path that requests go to as challenge_to says: not the query string behind it. */
static struct drossel_text path_of(const char *location)
{
    return (struct drossel_text){ location, strcspn(location, "?#") };
}

static bool is_exempt_path(const struct reading *reading, struct drossel_text path)
{
    const struct entry *paths = reading->exempt_paths.items;
    for (size_t i = 0; i < reading->exempt_paths.count; i++)
        if (text_begins(path, paths[i].text))
            return true;
    return false;
}

/* Would the redirected request be challenged, too?  Its method is GET; its host and headers are unknown. */
static void check_challenge(struct reading *reading, const struct limit_draft *draft)
{
    const struct policy_limit *limit = draft->limit;
    const struct drossel_request request = { .method = DROSSEL_TEXT("GET") };
    if (limit->challenge_to == NULL || limit->challenge_to[0] != '/')
        return;
    struct policy_facts facts = { .method = request.method, .path = path_of(limit->challenge_to), .request = &request };
    bool counted = !is_exempt_path(reading, facts.path);
    for (uint32_t i = 0; i < limit->positive_count; i++)
        counted = counted && class_holds(&reading->classes[limit->positive[i]], &facts);
    for (uint32_t i = 0; i < limit->negative_count; i++)
        counted = counted && !class_holds(&reading->classes[limit->negative[i]], &facts);
    if (counted)
        warning(reading, draft->at[KEY_CHALLENGE_TO],
                "\"%s\" is counted by this limit, too, so that whoever is sent there is sent there again; leave it out "
                "by `for`, or make it exempt",
                quotable(reading->arena, (struct drossel_text){ limit->challenge_to, strlen(limit->challenge_to) }));
}

static void check_outage(struct reading *reading, const struct limit_draft *draft)
{
    if (draft->limit->on_outage == POLICY_CLOSED && draft->store != STORE_TABLE && draft->store != STORE_REDIS_CLUSTER)
        warning(reading, draft->name,
                "limit \"%s\" refuses everybody while its store is down, and that store is one node; "
                "use redis+cluster://, or on_outage: local",
                draft->name->text.data);
}

/* ---- limits that never fire ---- */

static const char *class_name(const struct reading *reading, uint32_t class)
{
    return reading->classes[class].name;
}

static bool check_contradiction(struct reading *reading, const struct limit_draft *draft)
{
    const struct policy_limit *limit = draft->limit;
    for (uint32_t i = 0; i < limit->positive_count; i++)
        for (uint32_t k = 0; k < limit->negative_count; k++)
            if (limit->positive[i] == limit->negative[k]) {
                warning(reading, draft->at[KEY_FOR],
                        "the limit can never fire: no request is in \"%s\" and not in it; leave one "
                        "of the two out",
                        class_name(reading, limit->positive[i]));
                return true;
            }
    for (uint32_t i = 0; i < limit->positive_count; i++) {
        const struct class *a = &reading->classes[limit->positive[i]];
        if (a->impossible) {
            warning(reading, draft->at[KEY_FOR],
                    "the limit can never fire: no request can be counted in class \"%s\", see line "
                    "%u; mend that class",
                    a->name, a->place.line);
            return true;
        }
        for (uint32_t k = 0; k < limit->positive_count; k++) {
            const struct class *b = &reading->classes[limit->positive[k]];
            if (i == k || a->broken || b->broken || !classes_exclude(a, b))
                continue;
            warning(reading, draft->at[KEY_FOR],
                    "the limit can never fire: no request is in both \"%s\" and \"%s\", and all "
                    "classes of `for` must hold; write two limits",
                    a->name, b->name);
            return true;
        }
    }
    return false;
}

static bool costs_nothing(const struct limit_draft *draft)
{
    const struct policy_limit *limit = draft->limit;
    bool nothing = limit->cost == 0;
    for (uint32_t i = 0; i < limit->class_cost_count; i++)
        nothing = nothing && limit->class_cost[i].cost == 0;
    for (uint32_t i = 0; i < draft->rate_count; i++)
        nothing = nothing && draft->rate[i].count > 0; /* N of 0 refuses what costs nothing, too */
    return nothing;
}

static bool is_in(uint32_t number, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == number)
            return true;
    return false;
}

static bool is_subset(const uint32_t *few, uint32_t few_count, const uint32_t *many, uint32_t many_count)
{
    for (uint32_t i = 0; i < few_count; i++)
        if (!is_in(few[i], many, many_count))
            return false;
    return true;
}

/* Have all requests of one key of `b` one key of `a`, too?  `site` is the key without parts. */
static bool key_is_wider(const struct policy_subject *a, const struct policy_subject *b)
{
    for (unsigned i = 0; i < a->part_count; i++) {
        bool found = a->part[i].kind == POLICY_BY_SITE;
        for (unsigned k = 0; k < b->part_count && !found; k++)
            found = a->part[i].kind == b->part[k].kind && text_equal(a->part[i].header, b->part[k].header);
        if (!found)
            return false;
    }
    return true;
}

/* Does whatever `b` counts have to get past `a` first? */
static bool stands_before(const struct reading *reading, const struct limit_draft *a, const struct limit_draft *b)
{
    const struct policy_limit *first = a->limit, *then = b->limit;
    if (a->broken || first->dry_run || first->overrides != NULL || first->action > POLICY_DROP || a->store != b->store)
        return false;
    if (first->distinct != POLICY_NOT_DISTINCT)
        return false;
    if (first->failures && (!then->failures || first->reset_on_success))
        return false; /* successes pass without end, or give the whole quota again */
    if (first->cost != then->cost || first->class_cost_count + then->class_cost_count > 0)
        return false;
    return (first->doors & then->doors) == then->doors &&
           is_subset(first->positive, first->positive_count, then->positive, then->positive_count) &&
           is_subset(first->negative, first->negative_count, then->negative, then->negative_count) &&
           key_is_wider(subject_of(reading, first), subject_of(reading, then));
}

/* The most that the rate of `a` lets through in any time of `window_ns`; UINT64_MAX if nothing is certain. */
static uint64_t most_through(const struct limit_draft *a, const struct rate_text *rate, uint64_t window_ns)
{
    struct engine_spec spec = spec_of_rate(a, rate);
    uint64_t windows = window_ns / rate->period_ns + (window_ns % rate->period_ns != 0 ? 1 : 0);
    uint64_t at_once = capacity_of(a, rate);
    if (spec.block_ns != 0 && spec.block_ns < rate->period_ns)
        return UINT64_MAX; /* the counter starts afresh after a block */
    if (spec.algorithm == ENGINE_SLIDING)
        return rate->count * windows; /* below 2^27 * 2^35 */
    if (spec.algorithm == ENGINE_FIXED)
        return rate->count * (windows + 1);
    return at_once + rate->count * windows;
}

static bool is_shadowed(struct reading *reading, const struct limit_draft *draft, uint32_t place,
                        const struct limit_draft *other)
{
    const struct rate_text *rate = &draft->rate[place];
    for (uint32_t i = 0; i < other->rate_count; i++) {
        const struct rate_text *before = &other->rate[i];
        uint64_t most = before == rate ? UINT64_MAX : most_through(other, before, rate->period_ns);
        if (most >= rate->count)
            continue;
        char window[SPEECH_BYTES];
        policy_duration_format(rate->period_ns, window, sizeof(window));
        warning(reading, rate->node,
                "the %s can never fire: %s of \"%s\" lets at most %llu through in %s; allow less "
                "than that here, or leave it out",
                draft->rate_count > 1 ? "rate" : "limit", quotable(reading->arena, before->node->text),
                other->limit->name, (unsigned long long)most, window);
        return true;
    }
    return false;
}

static void check_shadows(struct reading *reading, const struct limit_draft *draft)
{
    bool windowed = draft->spec.algorithm == ENGINE_SLIDING || draft->spec.algorithm == ENGINE_FIXED;
    if (!windowed || draft->limit->distinct != POLICY_NOT_DISTINCT || (draft->spec.flags & ENGINE_COUNT_REFUSED) != 0 ||
        draft->limit->overrides != NULL)
        return;
    for (uint32_t i = 0; i < draft->rate_count; i++)
        for (uint32_t k = 0; k < reading->draft_count; k++)
            if (stands_before(reading, &reading->drafts[k], draft) &&
                is_shadowed(reading, draft, i, &reading->drafts[k]))
                break;
}

static void check_limit(struct reading *reading, const struct limit_draft *draft)
{
    for (uint32_t i = 0; i < draft->rate_count; i++)
        check_leaky(reading, draft, &draft->rate[i]);
    check_block(reading, draft);
    check_cost(reading, draft);
    check_key(reading, draft);
    check_outage(reading, draft);
    check_challenge(reading, draft);
    if (check_contradiction(reading, draft))
        return;
    if (draft->limit->doors == 0)
        warning(reading, draft->at[KEY_ONLY],
                "the limit can never fire: `only` names no door; name one, as nginx, or leave "
                "`only` out");
    else if (costs_nothing(draft))
        warning(reading, draft->at[KEY_COST],
                "the limit can never fire: its requests cost nothing; write a cost of 1 or more");
    else
        check_shadows(reading, draft);
}

void check_limits(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->draft_count; i++)
        if (!reading->drafts[i].broken)
            check_limit(reading, &reading->drafts[i]);
}
