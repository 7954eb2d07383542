/* Where accounts may stand in bodies: worked out once for a policy, not for each body. */
#include "request/body.h"

static uint16_t count_keys(struct drossel_text path)
{
    size_t count = 1;
    for (size_t i = 0; i < path.size; i++)
        count += path.data[i] == '.';
    return (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
}

/* Without regard to case.  As PHP reads names, `_` may be written as other characters, and what begins a name may stand for nothing; an escape may be
 * any letter. */
static uint32_t form_letters(struct drossel_text name)
{
    static const char others[] = { ' ', '[', ']', '%', '+' };
    uint32_t letters = 0;
    for (size_t i = 0; i < sizeof others; i++)
        letters |= UINT32_C(1) << (others[i] & 31);
    char first = name.size == 0 ? ' ' : *name.data;
    return first == '_' ? UINT32_MAX : letters | UINT32_C(1) << (first & 31);
}

/* Beyond ASCII a letter has cases that are written in other bytes. */
static uint32_t json_letters(struct drossel_text name)
{
    bool is_usual = name.size > 0 && (unsigned char)*name.data < 0x80;
    return is_usual ? UINT32_C(1) << (*name.data & 31) : UINT32_MAX;
}

bool body_sources_add(struct body_sources *sources, enum body_source_kind kind, struct drossel_text name)
{
    if (sources->count == BODY_SOURCES_MAX)
        return false;
    uint16_t keys = kind == BODY_JSON ? count_keys(name) : 0;
    if (kind == BODY_FORM)
        sources->form_letters |= form_letters(name);
    else if (keys == 1)
        sources->json_letters |= json_letters(name);
    if (keys > sources->deepest)
        sources->deepest = keys;
    sources->has_forms |= kind == BODY_FORM;
    sources->has_json |= kind == BODY_JSON;
    sources->source[sources->count++] = (struct body_source){ (uint16_t)kind, keys, name };
    return true;
}
