/*
 * Lookup of the classes and limits of a request, and of exemptions.  No allocation, no locks.
 *
 * With a thousand limits it is the lines of memory that cost: what a list is found by is often all that there is to check, and
 * then a bit of its number says so, and the class or limit itself is not read.
 */
#include "policy/index.h"

#include <string.h>

/* Found in its list, the class holds: it has no other condition.  The limit applies: it has no other class, and all doors. */
#define CERTAIN UINT32_C(0x80000000)

/* ---- building ---- */

/* Cheap conditions first. */
static void sort_conditions(struct class *class)
{
    for (uint32_t i = 1; i < class->condition_count; i++) {
        struct condition one = class->conditions[i];
        uint32_t at = i;
        for (; at > 0 && class->conditions[at - 1].kind > one.kind; at--)
            class->conditions[at] = class->conditions[at - 1];
        class->conditions[at] = one;
    }
}

/* The condition that the class is filed under: the one that the fewest requests fulfil. */
static const struct condition *pivot_of(const struct class *class)
{
    static const enum condition_kind order[] = { CONDITION_PATH, CONDITION_PATH_BEGINS, CONDITION_PATH_ENDS,
                                                 CONDITION_HOST, CONDITION_METHOD };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        for (uint32_t k = 0; k < class->condition_count; k++)
            if (class->conditions[k].kind == order[i])
                return &class->conditions[k];
    return NULL;
}

static void file_class(struct policy_arena *arena, struct policy_index *index, uint32_t number)
{
    const struct condition *pivot = pivot_of(&index->classes[number]);
    if (pivot == NULL)
        *(uint32_t *)arena_push(arena, &index->unfiled, sizeof(uint32_t)) = number;
    else if (index->classes[number].condition_count == 1)
        number |= CERTAIN;
    for (uint32_t i = 0; pivot != NULL && i < pivot->count; i++) {
        struct drossel_text value = pivot->values[i];
        if (pivot->kind == CONDITION_PATH)
            words_add(arena, &index->paths, value, number);
        else if (pivot->kind == CONDITION_PATH_BEGINS)
            affixes_add(arena, &index->begins, value, number);
        else if (pivot->kind == CONDITION_PATH_ENDS)
            affixes_add(arena, &index->ends, value, number);
        else if (pivot->kind == CONDITION_HOST)
            words_add(arena, &index->hosts, value, number);
        else
            words_add(arena, &index->methods, value, number);
    }
}

static void file_exempt(const struct reading *reading, struct policy_index *index)
{
    const struct entry *paths = reading->exempt_paths.items, *methods = reading->exempt_methods.items;
    for (size_t i = 0; i < reading->exempt_paths.count; i++)
        affixes_add(reading->arena, &index->exempt_paths, paths[i].text, 0);
    affixes_seal(reading->arena, &index->exempt_paths);
    for (size_t i = 0; i < reading->exempt_methods.count; i++)
        words_add(reading->arena, &index->exempt_methods, methods[i].text, 0);
    index->exempt_addresses = reading->exempt_addresses;
    index->trusted_text = reading->trusted_text;
    index->address_from_text = reading->address_from_text;
}

struct policy_index *index_build(const struct reading *reading)
{
    struct policy_index *index = arena_alloc(reading->arena, sizeof(*index));
    index->classes = reading->classes;
    index->class_count = reading->class_count;
    index->hosts.folded = true;
    index->ends.backwards = true;
    index->limits_of = arena_array(reading->arena, (size_t)reading->class_count + 1, sizeof(*index->limits_of));
    for (uint32_t i = 0; i < index->class_count; i++) {
        sort_conditions(&index->classes[i]);
        file_class(reading->arena, index, i);
    }
    affixes_seal(reading->arena, &index->begins);
    affixes_seal(reading->arena, &index->ends);
    for (uint32_t i = 0; i < reading->draft_count; i++) {
        const struct policy_limit *limit = reading->drafts[i].limit;
        struct arena_list *list = limit->positive_count > 0 ? &index->limits_of[limit->positive[0]] : &index->always;
        bool certain = limit->positive_count <= 1 && limit->negative_count == 0 && limit->doors == UINT32_MAX;
        *(uint32_t *)arena_push(reading->arena, list, sizeof(uint32_t)) = certain ? i | CERTAIN : i;
    }
    file_exempt(reading, index);
    return index;
}

/* ---- classes of a request ---- */

struct search {
    const struct policy_index *index;
    const struct policy_facts *facts;
    struct policy_class_set *classes;
    uint32_t looked_at;
};

static void look_at(struct search *search, const struct arena_list *numbers)
{
    const uint32_t *list = numbers->items;
    for (size_t i = 0; i < numbers->count; i++) {
        uint32_t number = list[i] & ~CERTAIN;
        if (policy_in_class(search->classes, number))
            continue;
        search->looked_at++;
        if ((list[i] & CERTAIN) != 0 || class_holds(&search->index->classes[number], search->facts))
            search->classes->bits[number / 64] |= UINT64_C(1) << (number % 64);
    }
}

static void look_up_word(struct search *search, const struct words *words, struct drossel_text text)
{
    const struct word *word = words_find(words, text);
    if (word != NULL)
        look_at(search, &word->numbers);
}

static void look_up_affix(struct search *search, const struct affixes *affixes, struct drossel_text path)
{
    uint32_t found = affixes_find(affixes, path);
    for (; found != WORDS_NONE; found = affixes->sorted[found].parent)
        look_at(search, &affixes->sorted[found].numbers);
}

uint32_t index_classes(const struct policy_index *index, const struct policy_facts *facts,
                       struct policy_class_set *classes)
{
    struct search search = { .index = index, .facts = facts, .classes = classes };
    if (index->class_count == 0)
        return 0;
    memset(classes->bits, 0, ((size_t)index->class_count + 63) / 64 * sizeof(classes->bits[0]));
    look_up_word(&search, &index->paths, facts->path);
    look_up_affix(&search, &index->begins, facts->path);
    look_up_affix(&search, &index->ends, facts->path);
    look_up_word(&search, &index->hosts, facts->host);
    look_up_word(&search, &index->methods, facts->method);
    look_at(&search, &index->unfiled);
    return search.looked_at;
}

/* ---- limits of a request ---- */

/* Limits found, one bit each; `used` says which words are set, so that 512 bytes need not be zeroed for each request. */
struct found {
    uint64_t used;
    uint64_t bits[POLICY_LIMITS_MAX / 64];
};

bool policy_limit_is_for(const struct policy_limit *limit, const struct policy_class_set *classes)
{
    for (uint32_t i = 0; i < limit->positive_count; i++)
        if (!policy_in_class(classes, limit->positive[i]))
            return false;
    for (uint32_t i = 0; i < limit->negative_count; i++)
        if (policy_in_class(classes, limit->negative[i]))
            return false;
    return true;
}

static bool limit_matches(const struct policy_limit *limit, const struct policy_class_set *classes,
                          enum drossel_door door)
{
    return (limit->doors >> door & 1) != 0 && policy_limit_is_for(limit, classes);
}

static void find_limits(const struct policy *policy, const struct arena_list *list, enum drossel_door door,
                        const struct policy_class_set *classes, struct found *found)
{
    const uint32_t *numbers = list->items;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t number = numbers[i] & ~CERTAIN;
        if ((numbers[i] & CERTAIN) == 0 && !limit_matches(&policy->limits[number], classes, door))
            continue;
        uint32_t word = number / 64;
        if ((found->used >> word & 1) == 0)
            found->bits[word] = 0;
        found->used |= UINT64_C(1) << word;
        found->bits[word] |= UINT64_C(1) << (number % 64);
    }
}

static uint32_t list_found(const struct found *found, uint32_t *limits, uint32_t cap)
{
    uint32_t count = 0;
    for (uint64_t used = found->used; used != 0; used &= used - 1) {
        uint32_t word = (uint32_t)__builtin_ctzll(used);
        for (uint64_t bits = found->bits[word]; bits != 0; bits &= bits - 1) {
            if (count < cap)
                limits[count] = word * 64 + (uint32_t)__builtin_ctzll(bits);
            count++;
        }
    }
    return count;
}

/* Without classes all limits apply, at the doors that they name. */
static uint32_t match_all(const struct policy *policy, enum drossel_door door, uint32_t *limits, uint32_t cap)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        if ((policy->limits[i].doors >> door & 1) == 0)
            continue;
        if (count < cap)
            limits[count] = i;
        count++;
    }
    return count;
}

/* Apart from policy_match, which without classes needs no room for what is found. */
__attribute__((noinline)) static uint32_t match_classes(const struct policy *policy, const struct policy_facts *facts,
                                                        struct policy_class_set *classes, uint32_t *limits,
                                                        uint32_t cap)
{
    const struct policy_index *index = policy->index;
    struct found found;
    found.used = 0;
    index_classes(index, facts, classes);
    find_limits(policy, &index->always, facts->door, classes, &found);
    for (uint32_t word = 0; word * 64 < index->class_count; word++)
        for (uint64_t bits = classes->bits[word]; bits != 0; bits &= bits - 1)
            find_limits(policy, &index->limits_of[word * 64 + (uint32_t)__builtin_ctzll(bits)], facts->door, classes,
                        &found);
    return list_found(&found, limits, cap);
}

uint32_t policy_match(const struct policy *policy, const struct policy_facts *facts, struct policy_class_set *classes,
                      uint32_t *limits, uint32_t cap)
{
    if (policy->index->class_count == 0)
        return match_all(policy, facts->door, limits, cap);
    return match_classes(policy, facts, classes, limits, cap);
}

uint64_t policy_cost_of(const struct policy_limit *limit, const struct policy_class_set *classes)
{
    for (uint32_t i = 0; i < limit->class_cost_count; i++)
        if (policy_in_class(classes, limit->class_cost[i].class_index))
            return limit->class_cost[i].cost;
    return limit->cost;
}

/* ---- exemptions ---- */

bool policy_has_exemptions(const struct policy *policy)
{
    const struct policy_index *index = policy->index;
    return index->exempt_addresses != NULL || index->exempt_paths.count > 0 || index->exempt_methods.slot_count > 0;
}

enum policy_exemption policy_exempt(const struct policy *policy, const struct drossel_address *client,
                                    const struct policy_facts *facts)
{
    const struct policy_index *index = policy->index;
    if (index->exempt_addresses != NULL && client != NULL && netset_has(index->exempt_addresses, client))
        return POLICY_EXEMPT_ADDRESS;
    if (index->exempt_paths.count > 0 && affixes_find(&index->exempt_paths, facts->path) != WORDS_NONE)
        return POLICY_EXEMPT_PATH;
    if (index->exempt_methods.slot_count > 0 && words_find(&index->exempt_methods, facts->method) != NULL)
        return POLICY_EXEMPT_METHOD;
    return POLICY_NOT_EXEMPT;
}
