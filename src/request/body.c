/* Accounts named in a request's body: which parser reads it, and what they find. */
#include "request/body.h"
#include "hint.h"
#include "request/form.h"
#include "request/json_body.h"
#include "request/multipart.h"
#include "request/parameter.h"

#include <string.h>
#include <strings.h>

/* ---- values ---- */

static kept_apart bool is_known(const struct body_found *found, uint32_t source, struct drossel_text text)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct body_value *value = &found->value[i];
        if (value->source == source && value->text.size == text.size &&
            memcmp(value->text.data, text.data, text.size) == 0)
            return true;
    }
    return false;
}

void body_keep(const struct body_search *search, uint32_t source, size_t size)
{
    struct body_found *found = search->found;
    struct drossel_text text = { found->buffer + found->used, size };
    if (size == 0)
        return;
    if (unlikely(size > found->cap - found->used)) {
        found->too_many = true;
        return;
    }
    if (found->count > 0 && is_known(found, source, text))
        return;
    if (found->count == BODY_VALUES_MAX) {
        found->too_many = true;
        return;
    }
    found->value[found->count++] = (struct body_value){ source, text };
    found->used += size;
}

void body_doubt_letters(const struct body_search *search, size_t from)
{
    for (size_t i = from; i < search->found->used; i++)
        search->found->malformed |= (unsigned char)search->found->buffer[i] >= 0x80;
}

void body_copy(const struct body_search *search, uint32_t source, struct drossel_text value)
{
    size_t cap;
    char *room = body_room(search, &cap);
    if (value.size > 0 && value.size <= cap)
        memcpy(room, value.data, value.size);
    body_keep(search, source, value.size);
}

/* ---- types ---- */

enum parser { PARSER_FORM = 1, PARSER_MULTIPART = 2, PARSER_JSON = 4, PARSER_UNKNOWN = 8 };

/* What the Content-Type lines say. */
struct types {
    unsigned parsers; /* bits of enum parser */
    size_t count;     /* media types: more than one is read in different ways */
    size_t boundary_size;
    bool faulty;
    bool bytes;                            /* letters beyond ASCII are decoded by a charset that we do not know */
    char boundary[MULTIPART_BOUNDARY_MAX]; /* set as far as its size says */
};

static bool begins(struct drossel_text text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && strncasecmp(text.data, prefix, size) == 0;
}

static bool ends(struct drossel_text text, const char *suffix)
{
    size_t size = strlen(suffix);
    return text.size >= size && strncasecmp(text.data + text.size - size, suffix, size) == 0;
}

static enum parser parser_for(struct drossel_text type)
{
    if (parameter_is(type, "application/x-www-form-urlencoded"))
        return PARSER_FORM;
    if (begins(type, "multipart/"))
        return PARSER_MULTIPART;
    return ends(type, "/json") || ends(type, "+json") ? PARSER_JSON : PARSER_UNKNOWN;
}

/* Only such boundaries are found by everybody (RFC 2046 section 5.1.1, less the characters that need care). */
static bool is_plain_boundary(const char *boundary, size_t size)
{
    static const char marks[] = "-_.+=()/:?";
    for (size_t i = 0; i < size; i++) {
        char c = boundary[i], letter = (char)(c | 0x20);
        if (!(c >= '0' && c <= '9') && !(letter >= 'a' && letter <= 'z') && memchr(marks, c, sizeof marks - 1) == NULL)
            return false;
    }
    return size > 0 && size <= 70;
}

/* Do all find the same boundary?  PHP takes the first `boundary` in small letters, else the first at all, in whatever name or value
 * (`my-boundary=a; boundary=b`); Rack takes the last one before a `=`. */
static bool is_boundary_clear(struct drossel_text type)
{
    static const char name[] = "boundary";
    const size_t size = sizeof name - 1;
    bool is_first_small = false, any = false;
    for (size_t at = 1; at + size <= type.size; at++) {
        if (strncasecmp(type.data + at, name, size) != 0)
            continue;
        bool small = memcmp(type.data + at, name, size) == 0,
             named = at + size < type.size && type.data[at + size] == '=';
        bool apart = memchr("; \t", type.data[at - 1], 3) != NULL;
        if (any ? named || (small && !is_first_small) : !named || !apart)
            return false;
        is_first_small |= small;
        any = true;
    }
    return any;
}

static void take_boundary(struct types *types, struct drossel_text value)
{
    types->faulty |= types->boundary_size > 0;
    size_t size = parameter_unquote(value, types->boundary, sizeof types->boundary, &types->faulty);
    types->boundary_size = size <= sizeof types->boundary ? size : 0;
    types->faulty |= !is_plain_boundary(types->boundary, types->boundary_size);
}

static void take_charset(struct types *types, enum parameter_charset charset)
{
    types->faulty |= charset == PARAMETER_CHARSET_OTHER;
    types->bytes |= charset == PARAMETER_CHARSET_BYTES;
}

/* One media type with its parameters. */
static void take_type(struct types *types, struct drossel_text text)
{
    size_t size = 0;
    struct drossel_text name, value;
    while (size < text.size && text.data[size] != ';' && text.data[size] != ' ' && text.data[size] != '\t')
        size++;
    enum parser parser = parser_for((struct drossel_text){ text.data, size });
    types->parsers |= parser;
    types->count++;
    types->faulty |= parser == PARSER_MULTIPART && !is_boundary_clear(text);
    while (parameter_next(&text, &name, &value)) {
        types->faulty |= !parameter_is_plain(name, value);
        if (parameter_is(name, "charset"))
            take_charset(types, parameter_charset(value));
        else if (parser == PARSER_MULTIPART && parameter_is(name, "boundary"))
            take_boundary(types, value);
        else if (begins(name, "boundary*"))
            types->faulty = true;
    }
}

/* The size of what stands before the next comma that is not in quotes. */
static size_t size_before_comma(struct drossel_text text)
{
    bool quoted = false;
    size_t i;
    if (memchr(text.data, ',', text.size) == NULL) /* nearly always */
        return text.size;
    for (i = 0; i < text.size && (quoted || text.data[i] != ','); i++) {
        quoted ^= text.data[i] == '"';
        i += quoted && text.data[i] == '\\' && i + 1 < text.size;
    }
    return i;
}

static bool is_exactly(struct drossel_text text, const char *wanted, size_t size)
{
    return text.size == size && memcmp(text.data, wanted, size) == 0;
}

/* The parser for a line as nearly all clients write it, or 0: it is to be read with care. */
static unsigned usual_parser(struct drossel_text line)
{
    static const char form[] = "application/x-www-form-urlencoded", json[] = "application/json";
    if (is_exactly(line, form, sizeof form - 1))
        return PARSER_FORM;
    return is_exactly(line, json, sizeof json - 1) ? PARSER_JSON : 0;
}

/* A line of Content-Type; proxies join several with commas. */
static void take_line(struct types *types, struct drossel_text line)
{
    unsigned usual = usual_parser(line);
    types->parsers |= usual;
    types->count += usual != 0;
    while (line.size > 0 && usual == 0) {
        size_t size = size_before_comma(line);
        struct drossel_text type = parameter_trim((struct drossel_text){ line.data, size });
        if (type.size > 0)
            take_type(types, type);
        size += size < line.size;
        line.data += size;
        line.size -= size;
    }
}

/* ---- the body ---- */

static bool begins_json(char c)
{
    return c == '{' || c == '[';
}

/* Among the first four bytes, which are looked at in one go. */
static inline bool begins_with_nul(struct drossel_text body)
{
    uint32_t word;
    if (body.size < sizeof word)
        return memchr(body.data, '\0', body.size) != NULL;
    memcpy(&word, body.data, sizeof word);
    return ((word - UINT32_C(0x01010101)) & ~word & UINT32_C(0x80808080)) != 0;
}

/* May it be JSON in UTF-16 or UTF-32, which some libraries detect (RFC 4627 allowed them)?  Then it begins with a byte order
 * mark, or has both a NUL and a bracket or space among its first bytes. */
static bool is_wide(struct drossel_text body)
{
    size_t size = body.size < 4 ? body.size : 4;
    if (size >= 2 && (memcmp(body.data, "\xff\xfe", 2) == 0 || memcmp(body.data, "\xfe\xff", 2) == 0))
        return true;
    if (size == 4 && memcmp(body.data, "\0\0\xfe\xff", 4) == 0)
        return true;
    bool any = false;
    for (size_t i = 0; i < size && begins_with_nul(body); i++)
        any |= begins_json(body.data[i]) || parameter_is_space(body.data[i]);
    return any;
}

/* Neither JSON nor white space or a comment before it, in whatever encoding: so begins nearly every form. */
static bool begins_as_form(struct drossel_text body)
{
    unsigned char c = (unsigned char)body.data[0];
    return c > ' ' && c < 0x7f && c != '/' && !begins_json((char)c) && !begins_with_nul(body);
}

/* Does it begin like a JSON object or array, or a comment before one? */
static bool looks_like_json(struct drossel_text body)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t at = body.size >= sizeof mark - 1 && memcmp(body.data, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
    while (at < body.size && parameter_is_space(body.data[at]))
        at++;
    if (at == body.size || body.data[at] != '/')
        return at < body.size && begins_json(body.data[at]);
    return at + 1 < body.size && (body.data[at + 1] == '*' || body.data[at + 1] == '/');
}

static void search_json(const struct body_search *search, struct drossel_text body, const struct types *types)
{
    if (!search->sources->has_json)
        return;
    if (is_wide(body))
        search->found->malformed = true;
    if ((types->parsers & PARSER_JSON) != 0 || looks_like_json(body))
        json_values(body, search);
}

static void search_forms(const struct body_search *search, struct drossel_text body, const struct types *types)
{
    if (!search->sources->has_forms)
        return;
    if ((types->parsers & PARSER_MULTIPART) != 0)
        multipart_fields(body, (struct drossel_text){ types->boundary, types->boundary_size }, search);
    if ((types->parsers & PARSER_FORM) != 0 || types->count == 0) {
        form_fields(body, search);
    } else if ((types->parsers & PARSER_UNKNOWN) != 0) { /* it need not be a form: faults tell nothing */
        bool malformed = search->found->malformed;
        form_fields(body, search);
        search->found->malformed = malformed;
    }
}

/* Whatever its type lines say. */
static __attribute__((noinline)) void search_any(const struct body_search *search, const struct body *body)
{
    struct types types; /* field by field: what the boundary needs is never cleared */
    types.parsers = 0;
    types.count = types.boundary_size = 0;
    types.faulty = types.bytes = false;
    for (size_t i = 0; i < body->content_type_count; i++)
        take_line(&types, body->content_types[i]);
    struct drossel_text encoding = body->content_encoding;
    bool encoded = encoding.size > 0 && !parameter_is(parameter_trim(encoding), "identity");
    search->found->malformed |= body->truncated || encoded || types.faulty || types.count > 1;
    if (body->bytes.size == 0)
        return;
    search_json(search, body->bytes, &types);
    search_forms(search, body->bytes, &types);
    if (types.bytes)
        body_doubt_letters(search, 0);
}

/* The same of a body as nearly all are: a form or JSON that says so, and begins like it.  False if it is anything else. */
static inline bool search_usual(const struct body_search *search, const struct body *body)
{
    if (body->content_type_count != 1 || body->content_encoding.size > 0 || body->truncated || body->bytes.size == 0)
        return false;
    unsigned parser = usual_parser(body->content_types[0]);
    if (parser == PARSER_FORM && begins_as_form(body->bytes)) {
        if (search->sources->has_forms)
            form_fields(body->bytes, search);
        return true;
    }
    if (parser != PARSER_JSON || *body->bytes.data != '{' || begins_with_nul(body->bytes))
        return false;
    if (search->sources->has_json)
        json_values(body->bytes, search);
    return true;
}

size_t body_accounts(const struct body *body, const struct body_sources *sources, struct body_found *found)
{
    struct body_search search = { sources, found };
    if (!search_usual(&search, body))
        search_any(&search, body);
    return found->count;
}
