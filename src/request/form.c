/* Fields of application/x-www-form-urlencoded. */
#include "request/form.h"

#include <string.h>

size_t form_decode(struct drossel_text text, bool plus, char *out, size_t cap, bool *faulty)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '+' && plus) {
            c = ' ';
        } else if (c == '%') {
            int high = text.size - i > 2 ? body_hex(text.data[i + 1]) : -1;
            int low = high < 0 ? -1 : body_hex(text.data[i + 2]);
            if (low < 0) {
                *faulty = true;
            } else {
                c = (char)(high * 16 + low);
                i += 2;
            }
        }
        if (size < cap)
            out[size] = c;
        size++;
    }
    return size;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_same(char c, char wanted)
{
    return lower(c) == lower(wanted) || (wanted == '_' && (c == '.' || c == ' ' || c == '['));
}

enum form_name form_name_compare(struct drossel_text name, struct drossel_text wanted)
{
    while (name.size > 0 && *name.data == ' ') {
        name.data++;
        name.size--;
    }
    if (name.size < wanted.size || wanted.size == 0)
        return FORM_NAME_OTHER;
    for (size_t i = 0; i < wanted.size; i++)
        if (!is_same(name.data[i], wanted.data[i]))
            return FORM_NAME_OTHER;
    if (name.size == wanted.size || name.data[wanted.size] == '\0')
        return FORM_NAME_SAME;
    return name.data[wanted.size] == '[' ? FORM_NAME_ARRAY : FORM_NAME_OTHER;
}

static void keep_value(struct drossel_text value, uint32_t source, const struct body_search *search)
{
    size_t cap;
    char *room = body_room(search, &cap);
    body_keep(search, source, form_decode(value, true, room, cap, &search->found->malformed));
}

/* Names seldom are. */
static bool is_encoded(struct drossel_text name)
{
    return name.size > 0 && (memchr(name.data, '%', name.size) != NULL || memchr(name.data, '+', name.size) != NULL);
}

static void read_pair(struct drossel_text pair, const struct body_search *search)
{
    const char *equals = memchr(pair.data, '=', pair.size);
    struct drossel_text name = { pair.data, equals == NULL ? pair.size : (size_t)(equals - pair.data) };
    struct drossel_text value = { pair.data + name.size, 0 };
    if (equals != NULL)
        value = (struct drossel_text){ equals + 1, pair.size - name.size - 1 };
    char decoded[BODY_NAME_MAX];
    if (is_encoded(name)) {
        size_t size = form_decode(name, true, decoded, sizeof decoded, &search->found->malformed);
        name = (struct drossel_text){ decoded, size < sizeof decoded ? size : sizeof decoded };
    } else if (name.size > sizeof decoded) {
        name.size = sizeof decoded;
    }
    for (uint32_t i = 0; i < search->source_count; i++) {
        if (search->sources[i].kind != BODY_FORM)
            continue;
        enum form_name is = form_name_compare(name, search->sources[i].name);
        if (is == FORM_NAME_SAME)
            keep_value(value, i, search);
        search->found->malformed |= is == FORM_NAME_ARRAY;
    }
}

/* The size of what stands before the next separator.  Each byte is looked at once, however many separators there are. */
static size_t pair_size(const char *at, size_t left, bool semicolons)
{
    if (!semicolons) {
        const char *end = memchr(at, '&', left);
        return end == NULL ? left : (size_t)(end - at);
    }
    size_t size = 0;
    while (size < left && at[size] != '&' && at[size] != ';')
        size++;
    return size;
}

static void read_pairs(struct drossel_text body, bool semicolons, const struct body_search *search)
{
    const char *at = body.data;
    size_t left = body.size;
    while (left > 0) {
        size_t size = pair_size(at, left, semicolons);
        if (size > 0)
            read_pair((struct drossel_text){ at, size }, search);
        size += size < left;
        at += size;
        left -= size;
    }
}

void form_fields(struct drossel_text body, const struct body_search *search)
{
    if (body.size == 0)
        return;
    read_pairs(body, false, search);
    if (memchr(body.data, ';', body.size) != NULL)
        read_pairs(body, true, search);
}
