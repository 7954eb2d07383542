/* `limits:`, each key of a limit.  What the keys mean together is in rates.c and in check_limits.c. */
#include "policy/reading.h"

#include <string.h>

#define NS_PER_HOUR (UINT64_C(3600) * 1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define HOLD_DEFAULT_NS UINT64_C(2000000000)
#define LOCATION_MAX 2048

/* ---- allow and its shape ---- */

static void read_allow_item(struct reading *reading, const struct node *node, void *into)
{
    struct limit_draft *draft = into;
    struct rate_text rate;
    if (!read_rate(reading, node, &rate) || !accept_unit(reading, draft, &rate)) {
        draft->broken = true;
        return;
    }
    draft->limit->failures = rate.unit == UNIT_FAILURES;
    if (rate.unit == UNIT_ACCOUNTS)
        draft->limit->distinct = POLICY_DISTINCT_ACCOUNTS;
    if (rate.unit == UNIT_ADDRESSES)
        draft->limit->distinct = POLICY_DISTINCT_ADDRESSES;
    for (uint32_t i = 0; i < draft->rate_count; i++)
        if (draft->rate[i].count == rate.count && draft->rate[i].period_ns == rate.period_ns) {
            mistake(reading, node, "the rate \"%s\" stands here twice; leave one out",
                    quotable(reading->arena, node->text));
            draft->broken = true;
            return;
        }
    if (draft->rate_count < POLICY_RATES_OF_LIMIT_MAX) {
        draft->rate[draft->rate_count++] = rate;
        return;
    }
    if (!draft->crowded)
        mistake(reading, node, "more than %d rates; write a second limit for the others", POLICY_RATES_OF_LIMIT_MAX);
    draft->broken = draft->crowded = true;
}

static void read_allow(struct reading *reading, const struct node *key, void *into)
{
    struct limit_draft *draft = into;
    read_items(reading, key->value, read_allow_item, draft);
    draft->broken = draft->broken || draft->rate_count == 0;
}

static void read_algorithm(struct reading *reading, const struct node *key, void *into)
{
    static const char *const names[] = { "sliding", "fixed", "bucket", "leaky", NULL };
    struct limit_draft *draft = into;
    int choice = read_choice(reading, key->value, names);
    if (choice >= 0)
        draft->spec.algorithm = (uint8_t)choice;
    draft->unshaped = draft->unshaped || choice < 0;
    draft->broken = draft->broken || draft->unshaped;
}

static void read_from(struct reading *reading, const struct node *key, void *into)
{
    static const char *const names[] = { "first", "clock", NULL };
    struct limit_draft *draft = into;
    if (read_choice(reading, key->value, names) == 0)
        draft->spec.flags |= ENGINE_FROM_FIRST;
}

static void read_burst(struct reading *reading, const struct node *key, void *into)
{
    struct limit_draft *draft = into;
    if (!read_number(reading, key->value, 0, ENGINE_COUNT_MAX, &draft->spec.burst))
        draft->broken = draft->unshaped = true;
}

static void read_delay(struct reading *reading, const struct node *key, void *into)
{
    struct limit_draft *draft = into;
    const struct node *value = key->value;
    uint64_t number;
    if (value->kind == NODE_SCALAR && text_is(value->text, "all")) {
        draft->spec.undelayed = UINT64_MAX;
    } else if (value->kind == NODE_SCALAR && parse_number(value->text, &number) && number <= ENGINE_COUNT_MAX) {
        draft->spec.undelayed = number;
    } else {
        mistake(reading, value, "%s; write how many of the burst pass undelayed, or all",
                value->kind == NODE_SCALAR && !node_is_null(value)
                    ? arena_format(reading->arena, "\"%s\"", quotable(reading->arena, value->text))
                    : node_kind_name(value));
        draft->broken = true;
    }
}

/* ---- what happens ---- */

static void read_action(struct reading *reading, const struct node *key, void *into)
{
    static const char *const names[] = { "refuse", "drop", "delay", "challenge", "mark", NULL };
    struct limit_draft *draft = into;
    int choice = read_choice(reading, key->value, names);
    if (choice >= 0)
        draft->limit->action = (enum policy_action)choice;
}

static void read_dry_run(struct reading *reading, const struct node *key, void *into)
{
    read_flag(reading, key->value, &((struct limit_draft *)into)->limit->dry_run);
}

static void read_door(struct reading *reading, const struct node *node, void *into)
{
    static const char *const names[] = { "library", "nginx", "haproxy", "redis", "php", "envoy", "forward-auth", NULL };
    int door = read_choice(reading, node, names);
    if (door >= 0)
        ((struct limit_draft *)into)->limit->doors |= UINT32_C(1) << door;
    else
        ((struct limit_draft *)into)->broken = true;
}

static void read_only(struct reading *reading, const struct node *key, void *into)
{
    ((struct limit_draft *)into)->limit->doors = 0;
    if (key->value->kind != NODE_LIST || key->value->first != NULL)
        read_items(reading, key->value, read_door, into);
}

static void read_cost_map(struct reading *reading, const struct node *map, struct policy_limit *limit)
{
    struct policy_cost *costs = arena_array(reading->arena, map->count + 1, sizeof(*costs));
    for (const struct node *key = map->first; key != NULL; key = key->next) {
        uint64_t cost;
        int class = find_class(reading, key, key->text);
        if (read_number(reading, key->value, 0, ENGINE_COUNT_MAX, &cost) && class >= 0)
            costs[limit->class_cost_count++] = (struct policy_cost){ (uint32_t) class, cost };
    }
    limit->class_cost = costs;
}

static void read_cost(struct reading *reading, const struct node *key, void *into)
{
    struct policy_limit *limit = ((struct limit_draft *)into)->limit;
    if (key->value->kind == NODE_MAP && key->value->first != NULL)
        read_cost_map(reading, key->value, limit);
    else if (key->value->kind != NODE_SCALAR)
        mistake(reading, key->value, "%s; write a number, or classes with their numbers, as { api: 1, export: 20 }",
                key->value->kind == NODE_MAP ? "an empty map" : "a list");
    else
        read_number(reading, key->value, 0, ENGINE_COUNT_MAX, &limit->cost);
}

static void read_extend(struct reading *reading, const struct node *key, void *into)
{
    struct limit_draft *draft = into;
    bool yes = false;
    if (read_flag(reading, key->value, &yes) && yes)
        draft->spec.flags |= ENGINE_EXTEND;
}

static void read_count_refused(struct reading *reading, const struct node *key, void *into)
{
    struct limit_draft *draft = into;
    bool yes = false;
    if (read_flag(reading, key->value, &yes) && yes)
        draft->spec.flags |= ENGINE_COUNT_REFUSED;
}

/* ---- failures and challenges ---- */

static void read_hold(struct reading *reading, const struct node *key, void *into)
{
    struct policy_limit *limit = ((struct limit_draft *)into)->limit;
    if (key->value->kind == NODE_SCALAR && text_is(key->value->text, "0"))
        limit->hold_ns = 0; /* the one time that needs no unit */
    else
        read_duration(reading, key->value, 0, &limit->hold_ns);
}

static void read_reset_on(struct reading *reading, const struct node *key, void *into)
{
    static const char *const names[] = { "success", NULL };
    if (read_choice(reading, key->value, names) >= 0)
        ((struct limit_draft *)into)->limit->reset_on_success = true;
}

/* Fit for the field Location as it is: a path, or a whole address with a host. */
static bool is_location(struct drossel_text text)
{
    static const struct drossel_text begins[] = { DROSSEL_TEXT("http://"), DROSSEL_TEXT("https://") };
    bool good = text.data[0] == '/';
    for (size_t i = 0; i < 2; i++)
        good = good || (text_begins(text, begins[i]) && text.size > begins[i].size && text.data[begins[i].size] != '/');
    for (size_t i = 0; i < text.size; i++)
        good = good && text.data[i] > ' ' && text.data[i] < 0x7F;
    return good && text.size <= LOCATION_MAX;
}

static void read_challenge_to(struct reading *reading, const struct node *key, void *into)
{
    struct drossel_text text;
    if (!read_text(reading, key->value, "where a challenged client is sent, as /verify", &text))
        return;
    if (!is_location(text))
        mistake(reading, key->value,
                "\"%s\" is no place to send a client to; write a path, as /verify, or an address with https:// or "
                "http://, of up to %d characters without spaces",
                quotable(reading->arena, text), LOCATION_MAX);
    else
        ((struct limit_draft *)into)->limit->challenge_to = text.data;
}

/* ---- stores and answers ---- */

static void read_limit_store(struct reading *reading, const struct node *key, void *into)
{
    read_store(reading, key->value, &((struct limit_draft *)into)->store);
}

static void read_limit_deadline(struct reading *reading, const struct node *key, void *into)
{
    read_duration(reading, key->value, NS_PER_MS, &((struct limit_draft *)into)->limit->deadline_ns);
}

static void read_limit_outage(struct reading *reading, const struct node *key, void *into)
{
    read_outage(reading, key->value, &((struct limit_draft *)into)->limit->on_outage);
}

static void read_limit_answer(struct reading *reading, const struct node *key, void *into)
{
    struct http_answer_rules *rules = arena_alloc(reading->arena, sizeof(*rules));
    *rules = reading->policy->answer;
    read_answer(reading, key, rules);
    ((struct limit_draft *)into)->limit->answer = rules;
}

static void read_consistency(struct reading *reading, const struct node *key, void *into)
{
    static const char *const names[] = { "exact", "synced", NULL };
    (void)into;
    if (read_choice(reading, key->value, names) == 1)
        not_yet(reading, key->value, "\"synced\"", "use `consistency: exact`, or leave it out");
}

static void read_overrides_key(struct reading *reading, const struct node *key, void *into)
{
    (void)reading;
    (void)key;
    (void)into; /* read by read_overrides, when the limit's own rates are known */
}

static const struct key_row limit_rows[LIMIT_KEYS + 1] = {
    [KEY_FOR] = { "for", read_for },
    [KEY_BY] = { "by", read_by },
    [KEY_ALLOW] = { "allow", read_allow },
    [KEY_ALGORITHM] = { "algorithm", read_algorithm },
    [KEY_FROM] = { "from", read_from },
    [KEY_BURST] = { "burst", read_burst },
    [KEY_DELAY] = { "delay", read_delay },
    [KEY_ACTION] = { "action", read_action },
    [KEY_DRY_RUN] = { "dry_run", read_dry_run },
    [KEY_ONLY] = { "only", read_only },
    [KEY_COST] = { "cost", read_cost },
    [KEY_BLOCK] = { "block", read_block },
    [KEY_BAN] = { "ban", read_ban },
    [KEY_EXTEND] = { "extend", read_extend },
    [KEY_COUNT_REFUSED] = { "count_refused", read_count_refused },
    [KEY_HOLD] = { "hold", read_hold },
    [KEY_RESET_ON] = { "reset_on", read_reset_on },
    [KEY_STORE] = { "store", read_limit_store },
    [KEY_DEADLINE] = { "deadline", read_limit_deadline },
    [KEY_ON_OUTAGE] = { "on_outage", read_limit_outage },
    [KEY_ANSWER] = { "answer", read_limit_answer },
    [KEY_CONSISTENCY] = { "consistency", read_consistency },
    [KEY_OVERRIDES] = { "overrides", read_overrides_key },
    [KEY_CHALLENGE_TO] = { "challenge_to", read_challenge_to },
};

static void prepare(struct reading *reading, const struct node *key, struct limit_draft *draft,
                    struct policy_limit *limit)
{
    *limit = (struct policy_limit){ .name = key->text.data,
                                    .line = key->place.line,
                                    .column = key->place.column,
                                    .doors = UINT32_MAX,
                                    .cost = 1,
                                    .hold_ns = HOLD_DEFAULT_NS,
                                    .answer = &reading->policy->answer,
                                    .on_outage = reading->on_outage,
                                    .deadline_ns = reading->deadline_ns };
    *draft = (struct limit_draft){ .name = key, .limit = limit, .store = reading->store };
    draft->spec.factor_milli = 1000;
    draft->spec.block_max_ns = 0;
    draft->spec.forgive_ns = 24 * NS_PER_HOUR;
    draft->spec.undelayed = UINT64_MAX;
}

/* Where each key of the limit stands, misspelt ones too. */
static void place_keys(const struct node *map, struct limit_draft *draft)
{
    for (unsigned i = 0; i < LIMIT_KEYS; i++) {
        const struct node *at = node_find(map, limit_rows[i].name);
        draft->at[i] = at == NULL ? NULL : at->value;
    }
}

static void read_limit(struct reading *reading, const struct node *key, struct limit_draft *draft)
{
    if (!is_name(key->text)) {
        mistake(reading, key, "\"%s\" is no name for a limit; write 1 to %d of A-Z a-z 0-9 . _ -",
                quotable(reading->arena, key->text), POLICY_NAME_MAX);
        draft->broken = true;
    }
    if (node_is_null(key->value) || (key->value->kind == NODE_MAP && key->value->first == NULL)) {
        mistake(reading, key, "limit \"%s\" says nothing; write at least { by: address, allow: 50 per 10s }",
                quotable(reading->arena, key->text));
        draft->broken = true;
        return;
    }
    if (!read_keys(reading, key->value, limit_rows, draft)) {
        draft->broken = true;
        return;
    }
    place_keys(key->value, draft);
    if (draft->at[KEY_BY] == NULL)
        mistake(reading, key, "limit \"%s\" has no `by`; write whom it counts, as by: address",
                quotable(reading->arena, key->text));
    if (draft->at[KEY_ALLOW] == NULL)
        mistake(reading, key, "limit \"%s\" has no `allow`; write how many, as allow: 50 per 10s",
                quotable(reading->arena, key->text));
    draft->unkeyed = draft->unkeyed || draft->at[KEY_BY] == NULL;
    draft->broken = draft->broken || draft->unkeyed || draft->at[KEY_ALLOW] == NULL;
    compile_limit(reading, draft);
    read_overrides(reading, draft);
}

void read_limits(struct reading *reading, const struct node *key, void *into)
{
    struct policy *policy = into;
    const struct node *map = key->value;
    if (node_is_null(map))
        return;
    if (map->kind != NODE_MAP) {
        mistake(reading, map, "%s; write a map of names, as { page: { by: address, allow: 50 per 10s } }",
                node_kind_name(map));
        return;
    }
    if (map->count > POLICY_RATES_MAX) {
        mistake(reading, key, "%zu limits; at most %d are possible", map->count, POLICY_RATES_MAX);
        return;
    }
    struct policy_limit *limits = arena_array(reading->arena, map->count + 1, sizeof(*limits));
    reading->drafts = arena_array(reading->arena, map->count + 1, sizeof(*reading->drafts));
    policy->limits = limits;
    for (const struct node *one = map->first; one != NULL; one = one->next, reading->draft_count++) {
        struct limit_draft *draft = &reading->drafts[reading->draft_count];
        prepare(reading, one, draft, &limits[reading->draft_count]);
        read_limit(reading, one, draft);
    }
    policy->limit_count = reading->draft_count;
    check_rate_names(reading);
}
