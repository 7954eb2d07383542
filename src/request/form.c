/* Fields of application/x-www-form-urlencoded. */
#include "request/form.h"

#include <string.h>

/* What a byte of a pair is.  A table, since nearly every byte of a body is asked. */
enum { ESCAPE = 1, EQUALS = 2 };
static const uint8_t kinds[256] = { ['%'] = ESCAPE, ['+'] = ESCAPE, ['='] = EQUALS };

static unsigned kind_of(char c)
{
    return kinds[(unsigned char)c];
}

/* How many bytes stand for themselves. */
static size_t plain_size(const char *at, size_t left)
{
    size_t size = 0;
    while (size < left && (kind_of(at[size]) & ESCAPE) == 0)
        size++;
    return size;
}

/* The byte that an escape stands for; *size is that of the escape, 1 if it is none. */
static char unescape(const char *at, size_t left, bool plus, size_t *size, bool *faulty)
{
    *size = 1;
    if (*at == '+')
        return plus ? ' ' : '+';
    int high = left > 2 ? body_hex(at[1]) : -1;
    int low = high < 0 ? -1 : body_hex(at[2]);
    if (low < 0) {
        *faulty = true;
        return *at;
    }
    *size = 3;
    return (char)(high * 16 + low);
}

size_t form_decode(struct drossel_text text, bool plus, char *out, size_t cap, bool *faulty)
{
    size_t size = 0, taken;
    for (size_t i = 0; i < text.size; i += taken) {
        taken = plain_size(text.data + i, text.size - i);
        if (taken > 0) {
            if (size < cap)
                memcpy(out + size, text.data + i, taken < cap - size ? taken : cap - size);
            size += taken;
            continue;
        }
        char c = unescape(text.data + i, text.size - i, plus, &taken, faulty);
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

/* Takes the name off a pair.  Names are short: one walk takes less than a search for each of the three that it looks for. */
static struct drossel_text take_name(struct drossel_text *pair, bool *is_encoded)
{
    struct drossel_text name = { pair->data, 0 };
    unsigned seen = 0;
    while (name.size < pair->size && (kind_of(name.data[name.size]) & EQUALS) == 0)
        seen |= kind_of(name.data[name.size++]);
    *is_encoded = seen != 0;
    size_t taken = name.size + (name.size < pair->size);
    pair->data += taken;
    pair->size -= taken;
    return name;
}

static void read_pair(struct drossel_text pair, const struct body_search *search)
{
    char decoded[BODY_NAME_MAX];
    bool is_encoded;
    struct drossel_text name = take_name(&pair, &is_encoded);
    if (is_encoded) {
        size_t size = form_decode(name, true, decoded, sizeof decoded, &search->found->malformed);
        name = (struct drossel_text){ decoded, size < sizeof decoded ? size : sizeof decoded };
    } else if (name.size > sizeof decoded) {
        name.size = sizeof decoded;
    }
    for (uint32_t i = 0; i < search->source_count; i++) {
        if (search->sources[i].kind != BODY_FORM || name.size < search->sources[i].name.size)
            continue;
        enum form_name is = form_name_compare(name, search->sources[i].name);
        if (is == FORM_NAME_SAME)
            keep_value(pair, i, search);
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
