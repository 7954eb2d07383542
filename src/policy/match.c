/*
 * Is a request in a class?
 *
 * A pattern is matched without an allocation: what PCRE2 asks for comes from a buffer on the stack.  A pattern that gives
 * up (match limit, stack) counts as hit: a path made to exhaust it shall not slip past the limit.
 */
#include <string.h>

#include "policy/classes.h"
#include "request/client.h"

#define MATCH_LIMIT 100000                /* steps of a backtracking pattern: some 100 us */
#define SCRATCH_BYTES ((size_t)48 * 1024) /* PCRE2 10.42 takes 20 KiB for its frames when there is no JIT */

struct scratch {
    size_t used;
    _Alignas(16) unsigned char bytes[SCRATCH_BYTES];
};

static void *scratch_take(PCRE2_SIZE size, void *into)
{
    struct scratch *scratch = into;
    if (size > SCRATCH_BYTES - scratch->used)
        return NULL;
    void *memory = scratch->bytes + scratch->used;
    size_t rounded = (size + 15) & ~(size_t)15;
    scratch->used += rounded > SCRATCH_BYTES - scratch->used ? SCRATCH_BYTES - scratch->used : rounded;
    return memory;
}

static void scratch_leave(void *memory, void *into)
{
    (void)memory;
    (void)into;
}

static bool pattern_hits(const struct condition *condition, struct drossel_text path)
{
    struct scratch scratch;
    scratch.used = 0;
    pcre2_general_context *general = pcre2_general_context_create(scratch_take, scratch_leave, &scratch);
    pcre2_match_context *context = pcre2_match_context_create(general);
    pcre2_match_data *data = pcre2_match_data_create(1, general);
    if (context == NULL || data == NULL)
        return true;
    pcre2_set_match_limit(context, MATCH_LIMIT);
    for (uint32_t i = 0; i < condition->count; i++) {
        PCRE2_SPTR subject = (PCRE2_SPTR)(path.data != NULL ? path.data : "");
        if (pcre2_match(condition->patterns[i], subject, path.size, 0, 0, data, context) != PCRE2_ERROR_NOMATCH)
            return true;
    }
    return false;
}

static bool equal(struct drossel_text a, struct drossel_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* `stored` is in lower case already. */
static bool equal_folded(struct drossel_text stored, const char *data)
{
    for (size_t i = 0; i < stored.size; i++) {
        char byte = (char)(data[i] >= 'A' && data[i] <= 'Z' ? data[i] + ('a' - 'A') : data[i]);
        if (byte != stored.data[i])
            return false;
    }
    return true;
}

static bool value_fits(enum condition_kind kind, struct drossel_text value, const struct policy_facts *facts)
{
    struct drossel_text path = facts->path;
    switch (kind) {
    case CONDITION_METHOD:
        return equal(value, facts->method);
    case CONDITION_PATH:
        return equal(value, path);
    case CONDITION_PATH_BEGINS:
        return path.size >= value.size && memcmp(path.data, value.data, value.size) == 0;
    case CONDITION_PATH_ENDS:
        return path.size >= value.size && equal_folded(value, path.data + path.size - value.size);
    case CONDITION_HOST:
        return facts->host.size == value.size && equal_folded(value, facts->host.data);
    default:
        return false;
    }
}

static bool header_fits(const struct condition *condition, const struct drossel_request *request)
{
    struct drossel_text line;
    bool present = request != NULL && request_header(request, condition->header, 0, &line);
    if (condition->test != HEADER_IS_ONE_OF)
        return present == (condition->test == HEADER_PRESENT);
    for (unsigned nth = 0; present; present = request_header(request, condition->header, ++nth, &line))
        for (uint32_t i = 0; i < condition->count; i++)
            if (equal(condition->values[i], line))
                return true;
    return false;
}

bool condition_holds(const struct condition *condition, const struct policy_facts *facts)
{
    if (condition->kind == CONDITION_PATH_MATCHES)
        return pattern_hits(condition, facts->path);
    if (condition->kind == CONDITION_HEADER)
        return header_fits(condition, facts->request);
    for (uint32_t i = 0; i < condition->count; i++)
        if (value_fits(condition->kind, condition->values[i], facts))
            return true;
    return false;
}

/* Patterns come last: the reader keeps the conditions sorted by what they cost. */
bool class_holds(const struct class *class, const struct policy_facts *facts)
{
    for (uint32_t i = 0; i < class->condition_count; i++)
        if (!condition_holds(&class->conditions[i], facts))
            return false;
    return true;
}
