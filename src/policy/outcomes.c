/* `outcomes:`: which answers of the application are failures, and which are successes. */
#include <string.h>
#include <strings.h>

#include "policy/reading.h"

static const uint16_t failure_statuses[] = { 400, 401, 403, 422 };
static const uint16_t success_statuses[] = { 200, 201, 204, 302, 303 };

/* One outcome while it is read. */
struct outcome_draft {
    struct policy_outcome *outcome;
    const struct outcome_draft *other; /* read before, if the file names it; else NULL */
    const struct node *statuses;       /* the key; NULL: not there */
    const struct node *header;         /* the key; NULL: not there */
};

struct outcomes_draft {
    struct outcome_draft failure, success;
};

static bool has_status(const struct policy_outcome *outcome, uint64_t status)
{
    return (outcome->status[status / 64] >> (status % 64) & 1) != 0;
}

static void set_statuses(struct policy_outcome *outcome, const uint16_t *statuses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        outcome->status[statuses[i] / 64] |= UINT64_C(1) << (statuses[i] % 64);
}

void set_default_outcomes(struct policy *policy)
{
    set_statuses(&policy->failure, failure_statuses, sizeof(failure_statuses) / sizeof(failure_statuses[0]));
    set_statuses(&policy->success, success_statuses, sizeof(success_statuses) / sizeof(success_statuses[0]));
}

static void read_status(struct reading *reading, const struct node *item, void *into)
{
    struct outcome_draft *draft = into;
    uint64_t status;
    if (!read_number(reading, item, 100, 599, &status))
        return;
    if (has_status(draft->outcome, status))
        warning(reading, item, "status %llu stands here twice; once is enough", (unsigned long long)status);
    if (draft->other != NULL && draft->other->statuses != NULL && has_status(draft->other->outcome, status))
        mistake(reading, item,
                "status %llu is a failure, too, by line %u; an answer is one of the two, leave it out here or there",
                (unsigned long long)status, draft->other->statuses->place.line);
    draft->outcome->status[status / 64] |= UINT64_C(1) << (status % 64);
}

static void read_statuses(struct reading *reading, const struct node *key, void *into)
{
    struct outcome_draft *draft = into;
    draft->statuses = key;
    read_items(reading, key->value, read_status, draft);
}

static bool same_header(const struct policy_outcome *a, const struct policy_outcome *b)
{
    return text_equal(a->header, b->header) && a->value.size == b->value.size &&
           strncasecmp(a->value.data, b->value.data, a->value.size) == 0;
}

static void read_outcome_header(struct reading *reading, const struct node *key, void *into)
{
    struct outcome_draft *draft = into;
    struct drossel_text name = { key->text.data + strlen("header."), key->text.size - strlen("header.") }, value;
    if (draft->header != NULL) {
        mistake(reading, key, "a second header; one header tells an outcome, leave the other out");
        return;
    }
    draft->header = key;
    bool good = is_token(name);
    if (!good)
        mistake(reading, key, "\"%s\" is no header's name; write one, as X-Drossel-Outcome",
                quotable(reading->arena, name));
    if (!read_text(reading, key->value, "the header's value, as failure", &value) || !good)
        return;
    draft->outcome->header = arena_text_lower(reading->arena, name);
    draft->outcome->value = value;
    if (draft->other != NULL && draft->other->header != NULL && same_header(draft->outcome, draft->other->outcome))
        mistake(reading, key, "this header and value are a failure, too, by line %u; write another value for a success",
                draft->other->header->place.line);
}

/* Reads over the default, which counts for nothing as soon as the file says anything. */
static void read_outcome(struct reading *reading, const struct node *key, struct outcome_draft *draft)
{
    static const struct key_row rows[] = { { "status", read_statuses },
                                           { "header.", read_outcome_header },
                                           { NULL, NULL } };
    struct policy_outcome before = *draft->outcome;
    if (node_is_null(key->value) || (key->value->kind == NODE_MAP && key->value->first == NULL)) {
        mistake(reading, key->value, "%s; write { status: [401, 403] } or { header.NAME: VALUE }",
                node_is_null(key->value) ? "nothing" : "an empty map");
        return;
    }
    *draft->outcome = (struct policy_outcome){ .header = { "", 0 } };
    read_keys(reading, key->value, rows, draft);
    if (draft->statuses != NULL && draft->header != NULL)
        mistake(reading, draft->header, "a header besides `status`; an outcome is told by one of them, leave one out");
    if (draft->statuses == NULL && draft->header == NULL)
        *draft->outcome = before; /* its keys were all unknown, and told */
}

static void read_failure(struct reading *reading, const struct node *key, void *into)
{
    read_outcome(reading, key, &((struct outcomes_draft *)into)->failure);
}

static void read_success(struct reading *reading, const struct node *key, void *into)
{
    struct outcomes_draft *draft = into;
    draft->success.other = &draft->failure;
    read_outcome(reading, key, &draft->success);
}

/* Who names a status for one outcome takes it out of the other's default. */
static void yield_default(struct policy_outcome *by_default, const struct policy_outcome *named)
{
    for (size_t i = 0; i < sizeof(named->status) / sizeof(named->status[0]); i++)
        by_default->status[i] &= ~named->status[i];
}

void read_outcomes(struct reading *reading, const struct node *key, void *into)
{
    static const struct key_row rows[] = { { "failure", read_failure }, { "success", read_success }, { NULL, NULL } };
    struct policy *policy = into;
    struct outcomes_draft draft = { .failure.outcome = &policy->failure, .success.outcome = &policy->success };
    read_keys(reading, key->value, rows, &draft);
    if (draft.success.statuses == NULL && draft.success.header == NULL)
        yield_default(&policy->success, &policy->failure);
    else if (draft.failure.statuses == NULL && draft.failure.header == NULL)
        yield_default(&policy->failure, &policy->success);
}

void plan_outcomes(struct policy *policy)
{
    bool by_header = policy->failure.header.size > 0 || policy->success.header.size > 0;
    for (unsigned status = 0; status < 4 * sizeof policy->outcome_of_status; status++) {
        unsigned outcome = DROSSEL_OTHER;
        if (by_header)
            outcome = POLICY_OUTCOME_BY_HEADER;
        else if (has_status(&policy->failure, status))
            outcome = DROSSEL_FAILURE;
        else if (has_status(&policy->success, status))
            outcome = DROSSEL_SUCCESS;
        policy->outcome_of_status[status / 4] |= (uint8_t)(outcome << (2 * (status % 4)));
    }
}
