/* Plain members of a JSON body: what nearly all of them consist of, and quickly. */
#include "request/json_scan.h"
#include "hint.h"

/* A member of the outermost object whose value is a string: take_key and take_string in one. */
static void take_member(struct json_scan *scan, struct drossel_text key, struct drossel_text value, bool escapes)
{
    const struct body_sources *sources = scan->search->sources;
    for (uint32_t i = 0; i < sources->count; i++)
        if (sources->source[i].keys == 1 && json_is_same_key(key, sources->source[i].name))
            json_keep_string(scan, i, value, escapes);
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *after_spaces(const char *at, const char *end)
{
    while (at < end && unlikely((unsigned char)*at <= ' ') && is_space(*at))
        at++;
    return at;
}

/* The closing quote of the string at `at`; NULL if there is none, or a fault in it. */
static inline const char *string_end(const char *begin, const char *at, const char *end, bool *escapes)
{
    if (at == end || *at != '"')
        return NULL;
    for (at++;; at += 2) {
        at = json_run_end(begin, at, end, '"');
        if (unlikely(end - at < 2)) /* the object ends behind it */
            return NULL;
        if (likely(*at == '"'))
            return at;
        if (*at != '\\')
            return NULL;
        *escapes = true;
    }
}

struct drossel_text json_take_plain_members(struct json_scan *scan)
{
    struct drossel_text last = { NULL, 0 };
    const char *at = scan->at, *end = scan->end;
    const uint32_t letters = scan->search->sources->json_letters;
    scan->depth = scan->is_object[0] = 1;
    scan->expected = JSON_KEY_OR_END;
    do {
        bool escapes = false;
        const char *key = scan->at = after_spaces(at + 1, end), *key_end = string_end(scan->begin, key, end, &escapes);
        if (key_end == NULL || escapes)
            return last;
        const char *colon = after_spaces(key_end + 1, end);
        if (colon == end || *colon != ':')
            return last;
        const char *value = after_spaces(colon + 1, end), *value_end = string_end(scan->begin, value, end, &escapes);
        if (value_end == NULL)
            return last;
        at = after_spaces(value_end + 1, end);
        if (at == end || (*at != ',' && *at != '}'))
            return last;
        last = (struct drossel_text){ key + 1, (size_t)(key_end - key - 1) };
        if (unlikely((unsigned char)key[1] >= 0x80 || (letters >> (key[1] & 31) & 1) != 0))
            take_member(scan, last, (struct drossel_text){ value + 1, (size_t)(value_end - value - 1) }, escapes);
        scan->expected = JSON_KEY;
    } while (*at == ',');
    scan->at = at;
    scan->expected = JSON_AFTER;
    return last;
}
