/*
 * `overrides`: other rates for named keys, in a map or in a list file of lines `KEY RATE` or `KEY unlimited`.
 *
 * A key that is an address or a network is found by address: networks are sorted by their first address, each knows the
 * next larger one around it, and the narrowest that holds the address wins.  It is not found by its text: a token that reads
 * like an address that is let through must not be. Other keys are found by their text, and accounts by the name that they are
 * counted by: each spelling is the same key, so that none must be a way around its limit.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/reading.h"
#include "request/account.h"

struct network {
    struct drossel_address address;
    unsigned bits;
    uint32_t parent; /* the narrowest other network around this one; WORDS_NONE */
    uint32_t override;
    struct place place;
};

struct policy_overrides {
    struct words by_text, by_account; /* the second: as account_counted tells it */
    struct network *networks;
    uint32_t network_count;
    const struct policy_override *all;
    uint32_t count; /* of different ones */
    uint32_t key_count;
};

struct override_reading {
    struct limit_draft *draft;
    struct policy_overrides *overrides;
    struct arena_list networks, all;
    struct rate_text rate[POLICY_RATES_OF_LIMIT_MAX]; /* of the key being read */
    uint32_t rate_count;
    bool unlimited, wrong;
};

/* ---- lookup ---- */

static bool holds(const struct network *network, const struct drossel_address *address)
{
    if (network->address.family != address->family)
        return false;
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(network->address.bytes, address->bytes, whole) != 0)
        return false;
    return rest == 0 || (network->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

static int by_address(const struct drossel_address *a, const struct drossel_address *b)
{
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static const struct network *find_network(const struct policy_overrides *overrides,
                                          const struct drossel_address *address)
{
    uint32_t low = 0, high = overrides->network_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (by_address(&overrides->networks[middle].address, address) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    uint32_t found = low == 0 ? WORDS_NONE : low - 1;
    while (found != WORDS_NONE && !holds(&overrides->networks[found], address))
        found = overrides->networks[found].parent;
    return found == WORDS_NONE ? NULL : &overrides->networks[found];
}

static const struct policy_override *find_text(const struct policy_overrides *overrides, const struct words *words,
                                               struct drossel_text text)
{
    const struct word *word = text.size == 0 ? NULL : words_find(words, text);
    return word == NULL ? NULL : &overrides->all[((const uint32_t *)word->numbers.items)[0]];
}

const struct policy_override *policy_override_find(const struct policy_overrides *overrides, struct drossel_text text,
                                                   const struct drossel_address *address)
{
    if (overrides == NULL)
        return NULL;
    if (address != NULL) {
        const struct network *network = find_network(overrides, address);
        if (network != NULL)
            return &overrides->all[network->override];
    }
    return find_text(overrides, &overrides->by_text, text);
}

const struct policy_override *policy_override_of_account(const struct policy_overrides *overrides,
                                                         struct drossel_text account)
{
    char counted[1 + ACCOUNT_MAX];
    if (overrides == NULL || overrides->by_account.list.count == 0)
        return NULL;
    size_t size = account_counted(account, counted);
    return find_text(overrides, &overrides->by_account, (struct drossel_text){ counted, size });
}

uint32_t overrides_count(const struct policy_overrides *overrides)
{
    return overrides == NULL ? 0 : overrides->key_count;
}

/* ---- reading ---- */

static void read_override_rate(struct reading *reading, const struct node *node, void *into)
{
    struct override_reading *state = into;
    if (node->kind == NODE_SCALAR && text_is(node->text, "unlimited")) {
        state->unlimited = true;
        return;
    }
    if (state->rate_count == POLICY_RATES_OF_LIMIT_MAX) {
        mistake(reading, node, "more than %d rates; write fewer", POLICY_RATES_OF_LIMIT_MAX);
        state->wrong = true;
    } else if (read_rate(reading, node, &state->rate[state->rate_count])) {
        if (accept_unit(reading, state->draft, &state->rate[state->rate_count]))
            state->rate_count++;
        else
            state->wrong = true;
    } else {
        state->wrong = true;
    }
}

/* Do the rates just read equal those of an override that is there?  Then both share them, and the table's registry. */
static bool same_rates(struct reading *reading, const struct override_reading *state,
                       const struct policy_override *other)
{
    if (other->unlimited != state->unlimited || other->rate_count != state->rate_count)
        return false;
    const struct policy_rate *rates = (const struct policy_rate *)reading->rates.items + other->first_rate;
    for (uint32_t i = 0; i < state->rate_count; i++)
        if (rates[i].engine.spec.count != state->rate[i].count ||
            rates[i].engine.spec.period_ns != state->rate[i].period_ns)
            return false;
    return true;
}

static const char *override_rate_name(struct reading *reading, const struct override_reading *state, uint32_t place)
{
    const struct policy_limit *limit = state->draft->limit;
    const struct policy_rate *rates = reading->rates.items;
    char period[32];
    if (place < limit->rate_count)
        return rates[limit->first_rate + place].name;
    policy_duration_format(state->rate[place].period_ns, period, sizeof(period));
    return arena_format(reading->arena, "%s-%s-%u", limit->name, period, place + 1);
}

/* The index of an override with the rates just read, or WORDS_NONE after a mistake. */
static uint32_t intern_override(struct reading *reading, struct override_reading *state)
{
    const struct policy_override *all = state->all.items;
    for (size_t i = 0; i < state->all.count; i++)
        if (same_rates(reading, state, &all[i]))
            return (uint32_t)i;
    struct policy_override one = { .unlimited = state->unlimited,
                                   .first_rate = (uint32_t)reading->rates.count,
                                   .rate_count = state->rate_count };
    for (uint32_t place = 0; place < state->rate_count; place++)
        if (add_rate(reading, state->draft, &state->rate[place], place, override_rate_name(reading, state, place)) ==
            UINT32_MAX)
            return WORDS_NONE;
    *(struct policy_override *)arena_push(reading->arena, &state->all, sizeof(one)) = one;
    return (uint32_t)state->all.count - 1;
}

static bool has_part(const struct reading *reading, const struct limit_draft *draft, bool address)
{
    const struct policy_subject *subject =
        (const struct policy_subject *)reading->subjects.items + draft->limit->subject;
    for (unsigned i = 0; i < subject->part_count; i++)
        if (subject->part[i].kind != POLICY_BY_SITE && (subject->part[i].kind == POLICY_BY_ADDRESS) == address)
            return true;
    return false;
}

static bool has_account(const struct reading *reading, const struct limit_draft *draft)
{
    const struct policy_subject *subject =
        (const struct policy_subject *)reading->subjects.items + draft->limit->subject;
    for (unsigned i = 0; i < subject->part_count; i++)
        if (subject->part[i].kind == POLICY_BY_ACCOUNT)
            return true;
    return false;
}

/* Keeps a key that may be an account.  False after a mistake. */
static bool add_account(struct reading *reading, const struct node *key, struct words *by_account, uint32_t index)
{
    char counted[1 + ACCOUNT_MAX];
    size_t size = account_counted(key->text, counted);
    struct drossel_text text = arena_text(reading->arena, counted, size);
    if (words_find(by_account, text) != NULL) {
        mistake(reading, key, "\"%s\" is an account that is overridden above in another spelling; leave one out",
                quotable(reading->arena, key->text));
        return false;
    }
    words_add(reading->arena, by_account, text, index);
    return true;
}

/* Keeps one key's override, found by its address if it is one, else by its text. */
static void add_key(struct reading *reading, const struct node *key, struct override_reading *state, uint32_t index)
{
    struct drossel_address address;
    unsigned bits;
    bool told = false, by_address_too = has_part(reading, state->draft, true), is_address = false;
    if (by_address_too)
        is_address = read_network(reading, key, &address, &bits, &told);
    if (told)
        return;
    if (by_address_too ? !is_address && !has_part(reading, state->draft, false)
                       : !has_part(reading, state->draft, false))
        warning(reading, key, "override of \"%s\" never applies: no part of this limit's key can be it; %s",
                quotable(reading->arena, key->text),
                by_address_too ? "write an address or a network" : "leave it out, or choose another `by`");
    if (words_find(&state->overrides->by_text, key->text) != NULL) {
        mistake(reading, key, "\"%s\" is overridden twice; leave one out", quotable(reading->arena, key->text));
        return;
    }
    if (!is_address && has_account(reading, state->draft) &&
        !add_account(reading, key, &state->overrides->by_account, index))
        return;
    state->overrides->key_count++;
    if (!is_address) {
        words_add(reading->arena, &state->overrides->by_text, key->text, index);
        return;
    }
    struct network *network = arena_push(reading->arena, &state->networks, sizeof(*network));
    *network = (struct network){
        .address = address, .bits = bits, .parent = WORDS_NONE, .override = index, .place = key->place
    };
}

/* Reads the override of one key. */
static void read_override(struct reading *reading, const struct node *key, const struct node *value,
                          struct override_reading *state)
{
    state->rate_count = 0;
    state->unlimited = state->wrong = false;
    read_items(reading, value, read_override_rate, state);
    if (state->unlimited && state->rate_count > 0)
        mistake(reading, value, "unlimited and a rate together; write one of them");
    else if (!state->wrong && (state->unlimited || state->rate_count > 0)) {
        uint32_t index = state->draft->unshaped ? 0 : intern_override(reading, state);
        if (index != WORDS_NONE && !state->draft->unkeyed)
            add_key(reading, key, state, index);
    }
}

/* `KEY RATE` */
static void read_override_line(struct reading *reading, const struct node *line, void *into)
{
    struct drossel_text text = line->text;
    size_t end = 0, start;
    while (end < text.size && text.data[end] != ' ' && text.data[end] != '\t')
        end++;
    for (start = end; start < text.size && (text.data[start] == ' ' || text.data[start] == '\t');)
        start++;
    if (start == text.size) {
        mistake(reading, line,
                "\"%s\" has no rate; write KEY and a rate a line, as `partner-key 500 per 10s`, or `KEY "
                "unlimited`",
                quotable(reading->arena, text));
        return;
    }
    struct node *nodes = arena_array(reading->arena, 2, sizeof(*nodes));
    nodes[0].place = nodes[1].place = line->place;
    nodes[1].place.column += (unsigned)start;
    nodes[0].text = arena_text(reading->arena, text.data, end);
    nodes[1].text = arena_text(reading->arena, text.data + start, text.size - start);
    read_override(reading, &nodes[0], &nodes[1], into);
}

static int by_first_address(const void *left, const void *right)
{
    const struct network *a = left, *b = right;
    int order = by_address(&a->address, &b->address);
    return order != 0 ? order : (a->bits > b->bits) - (a->bits < b->bits);
}

static void seal(struct reading *reading, struct override_reading *state)
{
    struct policy_overrides *overrides = state->overrides;
    overrides->networks = state->networks.items;
    overrides->network_count = (uint32_t)state->networks.count;
    overrides->all = state->all.items;
    overrides->count = (uint32_t)state->all.count;
    if (overrides->network_count > 1)
        qsort(overrides->networks, overrides->network_count, sizeof(struct network), by_first_address);
    for (uint32_t i = 1; i < overrides->network_count; i++) {
        struct network *one = &overrides->networks[i];
        uint32_t parent = i - 1;
        if (by_first_address(one, one - 1) == 0)
            mistake_at(reading, &one->place, "this network is overridden twice, also at line %u; leave one out",
                       one[-1].place.line);
        while (parent != WORDS_NONE && !holds(&overrides->networks[parent], &one->address))
            parent = overrides->networks[parent].parent;
        one->parent = parent;
    }
}

void read_overrides(struct reading *reading, struct limit_draft *draft)
{
    const struct node *value = draft->at[KEY_OVERRIDES];
    if (value == NULL)
        return;
    struct override_reading state = { .draft = draft };
    state.overrides = arena_alloc(reading->arena, sizeof(*state.overrides));
    if (value->kind == NODE_MAP) {
        for (const struct node *key = value->first; key != NULL; key = key->next)
            if (key->text.size == 0)
                mistake(reading, key,
                        "an empty key; write an address, a network, an account, a token or a header's value");
            else
                read_override(reading, key, key->value, &state);
    } else {
        struct drossel_text name;
        const char *why;
        if (read_text(reading, value, "a map of keys and rates, or the name of a list file", &name) &&
            !read_list_file(reading, name, &why, read_override_line, &state))
            mistake(reading, value,
                    "list file \"%s\" cannot be read (%s); write a map of keys and rates, or the name of a "
                    "file that is there, relative to the policy",
                    quotable(reading->arena, name), why);
    }
    seal(reading, &state);
    draft->limit->overrides = state.overrides->key_count > 0 ? state.overrides : NULL;
}
