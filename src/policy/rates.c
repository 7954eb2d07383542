/* What the keys of a limit mean together: its engine's spec, and each rate compiled, named and seeded. */
#include <string.h>

#include "policy/reading.h"

/* Kept by the table across reloads: of the limit's name and the rate's place, not of its numbers. */
static uint64_t seed_of(struct drossel_text name, uint32_t place)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ (unsigned char)name.data[i]) * UINT64_C(0x100000001b3);
    hash = (hash ^ ((uint64_t)place << 8)) * UINT64_C(0x100000001b3);
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

struct engine_spec spec_of_rate(const struct limit_draft *draft, const struct rate_text *rate)
{
    struct engine_spec spec = draft->spec;
    bool leaky = spec.algorithm == ENGINE_LEAKY, delays = draft->limit->action == POLICY_DELAY;
    spec.count = rate->count;
    spec.period_ns = rate->period_ns;
    if (spec.algorithm == ENGINE_BUCKET && draft->at[KEY_BURST] == NULL)
        spec.burst = rate->count;
    if (spec.algorithm == ENGINE_SLIDING || spec.algorithm == ENGINE_FIXED)
        spec.burst = 0;
    if (!leaky)
        spec.undelayed = 0;
    else if (delays && draft->at[KEY_DELAY] == NULL)
        spec.undelayed = 0; /* who asks for delay as the action wants the burst to be delayed */
    if (delays && !leaky)
        spec.flags |= ENGINE_QUEUE;
    if (draft->limit->distinct != POLICY_NOT_DISTINCT)
        spec.algorithm = ENGINE_DISTINCT;
    if (draft->limit->failures)
        spec.flags |= ENGINE_REFUNDABLE;
    if (spec.algorithm != ENGINE_FIXED)
        spec.flags = (uint16_t)(spec.flags & ~ENGINE_FROM_FIRST);
    return spec;
}

/* Beyond it no layout of a sliding window with refunds admits all that is sent evenly; see engine/sliding_layout.c. */
#define STEADY_FAILURES_MAX 1071

static void check_refunds(struct reading *reading, const struct rate_text *rate, const struct engine_spec *spec)
{
    if (spec->algorithm == ENGINE_SLIDING && spec->flags & ENGINE_REFUNDABLE && spec->count > STEADY_FAILURES_MAX)
        warning(reading, rate->node,
                "of more than %d failures only the strict window is kept: who fails evenly may be refused a little "
                "before %llu; write algorithm: bucket, or a lower number",
                STEADY_FAILURES_MAX, (unsigned long long)rate->count);
}

/* What is counted: 0 requests, 1 failures, 2 different accounts, 3 different addresses. */
static unsigned counted_by_unit(enum rate_unit unit)
{
    return unit == UNIT_FAILURES ? 1 : unit == UNIT_ACCOUNTS ? 2 : unit == UNIT_ADDRESSES ? 3 : 0;
}

static unsigned counted_by_limit(const struct policy_limit *limit)
{
    return limit->distinct == POLICY_NOT_DISTINCT ? limit->failures : 1 + (unsigned)limit->distinct;
}

static const char *counted_name(unsigned counted)
{
    static const char *const names[] = { "requests", "failures", "accounts", "addresses" };
    return names[counted];
}

bool accept_unit(struct reading *reading, const struct limit_draft *draft, const struct rate_text *rate)
{
    const char *text = quotable(reading->arena, rate->node->text);
    const char *this_one = counted_name(counted_by_unit(rate->unit)),
               *first = counted_name(counted_by_limit(draft->limit));
    char period[32];
    if (draft->rate_count == 0 || this_one == first)
        return true;
    policy_duration_format(rate->period_ns, period, sizeof(period));
    mistake(reading, rate->node,
            "rate \"%s\" counts %s, and the limit's first one %s; write `%llu %s%sper %s`, or a second limit", text,
            this_one, first, (unsigned long long)rate->count, counted_by_limit(draft->limit) == 0 ? "" : first,
            counted_by_limit(draft->limit) == 0 ? "" : " ", period);
    return false;
}

/* False after telling a mistake. */
static bool compile_rate(struct reading *reading, const struct limit_draft *draft, const struct rate_text *rate,
                         struct engine_limit *compiled)
{
    struct engine_spec spec = spec_of_rate(draft, rate);
    const char *wrong = engine_compile(&spec, compiled);
    if (wrong != NULL)
        mistake(reading, rate->node, "rate \"%s\": %s", quotable(reading->arena, rate->node->text), wrong);
    return wrong == NULL;
}

uint32_t add_rate(struct reading *reading, const struct limit_draft *draft, const struct rate_text *rate,
                  uint32_t place, const char *name)
{
    struct engine_limit compiled;
    if (!compile_rate(reading, draft, rate, &compiled))
        return UINT32_MAX;
    if (reading->rates.count >= POLICY_RATES_MAX) {
        if (reading->rates.count == POLICY_RATES_MAX)
            mistake(reading, rate->node,
                    "more than %d rates in all limits and overrides together; let keys share rates", POLICY_RATES_MAX);
        return UINT32_MAX;
    }
    check_refunds(reading, rate, &compiled.spec);
    struct policy_rate *one = arena_push(reading->arena, &reading->rates, sizeof(*one));
    *one = (struct policy_rate){ .engine = compiled,
                                 .name = name,
                                 .seed = seed_of(draft->name->text, place),
                                 .limit = (uint32_t)(draft - reading->drafts) };
    return (uint32_t)reading->rates.count - 1;
}

/* `page`; `page-10s` where there are several rates; `page-10s-50` where several have the same time. */
static const char *rate_name(struct reading *reading, const struct limit_draft *draft, uint32_t place)
{
    const char *name = draft->name->text.data;
    char period[32];
    bool same = false;
    if (draft->rate_count == 1)
        return name;
    policy_duration_format(draft->rate[place].period_ns, period, sizeof(period));
    for (uint32_t i = 0; i < draft->rate_count; i++)
        same = same || (i != place && draft->rate[i].period_ns == draft->rate[place].period_ns);
    if (same)
        return arena_format(reading->arena, "%s-%s-%llu", name, period, (unsigned long long)draft->rate[place].count);
    return arena_format(reading->arena, "%s-%s", name, period);
}

/* False if the file's word for the action was refused. */
static bool action_is_known(const struct limit_draft *draft)
{
    const struct node *node = draft->at[KEY_ACTION];
    return node == NULL || draft->limit->action != POLICY_REFUSE ||
           (node->kind == NODE_SCALAR && text_is(node->text, "refuse"));
}

/* The same for the algorithm.  Of a misspelt one nobody can say what goes with it. */
static bool algorithm_is_known(const struct limit_draft *draft)
{
    const struct node *node = draft->at[KEY_ALGORITHM];
    return node == NULL || draft->spec.algorithm != ENGINE_SLIDING ||
           (node->kind == NODE_SCALAR && text_is(node->text, "sliding"));
}

/* Keys that mean nothing without another, or nothing together. */
static void check_companions(struct reading *reading, struct limit_draft *draft)
{
    const struct engine_spec *spec = &draft->spec;
    bool failures = draft->limit->failures, rated = draft->rate_count > 0;
    bool distinct = draft->limit->distinct != POLICY_NOT_DISTINCT;
    enum policy_action action = draft->limit->action;
    bool known = algorithm_is_known(draft);
    bool windowed = spec->algorithm == ENGINE_SLIDING || spec->algorithm == ENGINE_FIXED;
    bool blocks = draft->at[KEY_BLOCK] != NULL || draft->at[KEY_BAN] != NULL;
    const struct {
        bool wrong;
        enum limit_key key;
        const char *text;
    } rules[] = {
        { known && windowed, KEY_BURST, "`burst` without a bucket; write algorithm: bucket or leaky, or leave it out" },
        { known && spec->algorithm != ENGINE_FIXED, KEY_FROM,
          "`from` without a fixed window; write algorithm: fixed, or leave it out" },
        { known && spec->algorithm != ENGINE_LEAKY, KEY_DELAY,
          "`delay` without a leaky bucket; write algorithm: leaky, or action: delay, or leave it out" },
        { !blocks, KEY_EXTEND, "`extend` without `block` or `ban`; write how long the block is, or leave it out" },
        { rated && !failures, KEY_HOLD,
          "`hold` on a limit that counts no failures; write allow: N failures per T, or leave it out" },
        { rated && !failures, KEY_RESET_ON,
          "`reset_on` on a limit that counts no failures; write allow: N failures per T, or leave it out" },
        { distinct && known && spec->algorithm != ENGINE_SLIDING, KEY_ALGORITHM,
          "`algorithm` on a limit that counts different ones, which has its own; leave it out" },
        { distinct, KEY_COST, "`cost` on a limit that counts different ones; leave it out" },
        { distinct && action == POLICY_DELAY, KEY_ACTION,
          "`action: delay` on a limit that counts different ones: waiting makes none known; write refuse or "
          "challenge" },
        { failures && action == POLICY_DELAY, KEY_ACTION,
          "`action: delay` on a limit that counts failures, which cannot be put off; write refuse or challenge" },
        { action != POLICY_CHALLENGE && action_is_known(draft), KEY_CHALLENGE_TO,
          "`challenge_to` without `action: challenge`; write that, too, or leave it out" },
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (draft->at[rules[i].key] == NULL || !rules[i].wrong)
            continue;
        mistake(reading, draft->at[rules[i].key], "%s", rules[i].text);
        draft->broken = true;
    }
}

static bool has_part(const struct policy_subject *subject, enum policy_part_kind kind)
{
    for (unsigned i = 0; i < subject->part_count; i++)
        if (subject->part[i].kind == kind)
            return true;
    return false;
}

/* May an account that the limit needs, in its key or to count it, stand in the request's body? */
static bool needs_body(const struct reading *reading, const struct policy_limit *limit)
{
    const struct policy *policy = reading->policy;
    const struct policy_subject *subject = (const struct policy_subject *)reading->subjects.items + limit->subject;
    bool body = false;
    for (uint32_t i = 0; i < policy->account_from_count; i++)
        body = body || policy->account_from[i].kind == POLICY_FROM_FORM ||
               policy->account_from[i].kind == POLICY_FROM_JSON;
    return body && (limit->distinct == POLICY_DISTINCT_ACCOUNTS || has_part(subject, POLICY_BY_ACCOUNT));
}

/* One account has no different accounts. */
static void check_distinct(struct reading *reading, struct limit_draft *draft)
{
    const struct policy_limit *limit = draft->limit;
    bool accounts = limit->distinct == POLICY_DISTINCT_ACCOUNTS;
    const struct policy_subject *subject = (const struct policy_subject *)reading->subjects.items + limit->subject;
    if (limit->distinct == POLICY_NOT_DISTINCT || draft->unkeyed ||
        !has_part(subject, accounts ? POLICY_BY_ACCOUNT : POLICY_BY_ADDRESS))
        return;
    mistake(reading, draft->rate[0].node,
            accounts ? "different accounts of a key that is one account; write by: address"
                     : "different addresses of a key that is one address; write by: account");
    draft->broken = true;
}

/* Of a limit that has other mistakes. */
static void tell_rates(struct reading *reading, const struct limit_draft *draft)
{
    struct engine_limit compiled;
    for (uint32_t place = 0; place < draft->rate_count && !draft->unshaped; place++)
        (void)compile_rate(reading, draft, &draft->rate[place], &compiled);
}

void compile_limit(struct reading *reading, struct limit_draft *draft)
{
    struct policy_limit *limit = draft->limit;
    check_companions(reading, draft);
    check_distinct(reading, draft);
    if (!limit->failures)
        limit->hold_ns = 0;
    if (draft->broken) {
        tell_rates(reading, draft);
        return;
    }
    limit->needs_body = needs_body(reading, limit);
    limit->first_rate = (uint32_t)reading->rates.count;
    for (uint32_t place = 0; place < draft->rate_count; place++) {
        if (add_rate(reading, draft, &draft->rate[place], place, rate_name(reading, draft, place)) == UINT32_MAX)
            draft->broken = true;
        else
            limit->rate_count++;
    }
}

/* `page-10s` may be a rate of `page` or a limit of its own, but not both: logs and the table know rates by name. */
void check_rate_names(struct reading *reading)
{
    struct words names = { .folded = false };
    const struct policy_rate *rates = reading->rates.items;
    for (uint32_t i = 0; i < reading->draft_count; i++) {
        const struct limit_draft *draft = &reading->drafts[i];
        for (uint32_t k = 0; k < draft->limit->rate_count; k++) {
            const char *name = rates[draft->limit->first_rate + k].name;
            struct drossel_text text = { name, strlen(name) };
            const struct word *other = words_find(&names, text);
            if (other != NULL) {
                const struct limit_draft *first = &reading->drafts[((const uint32_t *)other->numbers.items)[0]];
                mistake(reading, draft->name,
                        "a rate of this limit is called \"%s\", as one of the limit at line %u is; "
                        "rename one of the two limits",
                        name, first->name->place.line);
                break;
            }
            words_add(reading->arena, &names, text, i);
        }
    }
}
