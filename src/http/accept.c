/*
 * What a client would rather read: its Accept field against the types that we have.
 *
 * For each of our types the most specific range that matches gives the weight.  Ranges with a malformed weight are left
 * out; parameters other than `q` are not compared, since our types have none.  Work is bounded by the first BYTES_MAX bytes.
 */
#include "http/answer.h"

#include <string.h>
#include <strings.h>

#define BYTES_MAX 4096

struct candidate {
    const struct http_type *type;
    int weight;    /* thousandths; -1: nothing matched */
    int precision; /* of what matched: 1 any, 2 type, 3 type and subtype */
};

static struct drossel_text trimmed(const char *start, const char *end)
{
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (start < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct drossel_text){ start, (size_t)(end - start) };
}

static bool is_word(struct drossel_text text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

/* The first `separator` outside of quotes, or the end. */
static const char *find(const char *p, const char *end, char separator)
{
    bool quoted = false;
    for (; p < end; p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (quoted && *p == '\\' && p + 1 < end)
            p++;
        else if (!quoted && *p == separator)
            return p;
    }
    return end;
}

/* `0`, `0.8`, `1.000` in thousandths; -1 for anything else. */
static int parse_weight(struct drossel_text text)
{
    int weight = 0, place = 1000;
    if (text.size == 0 || text.size > 5 || (text.size > 1 && text.data[1] != '.'))
        return -1;
    for (size_t i = 0; i < text.size; i++) {
        if (i == 1)
            continue;
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        weight += (text.data[i] - '0') * place;
        place /= 10;
    }
    return weight > 1000 ? -1 : weight;
}

/* The weight among the parameters at `p`; 1000 without one. */
static int weight_of(const char *p, const char *end)
{
    while (p < end) {
        const char *stop = find(p, end, ';');
        struct drossel_text parameter = trimmed(p, stop);
        if (parameter.size >= 2 && (parameter.data[0] | 0x20) == 'q' && parameter.data[1] == '=')
            return parse_weight((struct drossel_text){ parameter.data + 2, parameter.size - 2 });
        p = stop < end ? stop + 1 : end;
    }
    return 1000;
}

static int precision_of(const struct candidate *candidate, struct drossel_text type, struct drossel_text subtype)
{
    if (is_word(type, "*"))
        return is_word(subtype, "*") ? 1 : 0;
    if (!is_word(type, candidate->type->type))
        return 0;
    if (is_word(subtype, "*"))
        return 2;
    return is_word(subtype, candidate->type->subtype) ? 3 : 0;
}

static void apply_range(struct candidate *candidates, size_t count, const char *start, const char *end)
{
    const char *parameters = find(start, end, ';');
    struct drossel_text range = trimmed(start, parameters);
    const char *slash = range.size == 0 ? NULL : memchr(range.data, '/', range.size);
    int weight = weight_of(parameters < end ? parameters + 1 : end, end);
    if (slash == NULL || weight < 0)
        return;
    struct drossel_text type = { range.data, (size_t)(slash - range.data) };
    struct drossel_text subtype = { slash + 1, range.size - type.size - 1 };
    for (size_t i = 0; i < count; i++) {
        int precision = precision_of(&candidates[i], type, subtype);
        if (precision > candidates[i].precision) {
            candidates[i].precision = precision;
            candidates[i].weight = weight;
        }
    }
}

static void apply_field(struct candidate *candidates, size_t count, struct drossel_text accept)
{
    const char *p = accept.data, *end = p + (accept.size > BYTES_MAX ? BYTES_MAX : accept.size);
    while (p < end) {
        const char *stop = find(p, end, ',');
        apply_range(candidates, count, p, stop);
        p = stop < end ? stop + 1 : end;
    }
}

size_t http_accept_best(struct drossel_text accept, const struct http_type *types, size_t count)
{
    struct candidate candidates[HTTP_TYPES_MAX];
    if (accept.size == 0 || count == 0 || count > HTTP_TYPES_MAX)
        return 0;
    for (size_t i = 0; i < count; i++)
        candidates[i] = (struct candidate){ &types[i], -1, 0 };
    apply_field(candidates, count, accept);
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        const struct candidate *other = &candidates[i];
        if (other->weight > candidates[best].weight ||
            (other->weight == candidates[best].weight && other->precision > candidates[best].precision))
            best = i;
    }
    return candidates[best].weight > 0 ? best : 0;
}

enum http_body http_accept_choose(struct drossel_text accept)
{
    static const struct http_type types[] = {
        { "application", "problem+json" }, { "application", "json" }, { "text", "html" }, { "text", "plain" }
    };
    static const enum http_body bodies[] = { HTTP_BODY_PROBLEM, HTTP_BODY_PROBLEM, HTTP_BODY_HTML, HTTP_BODY_TEXT };
    return bodies[http_accept_best(accept, types, sizeof types / sizeof *types)];
}
