/* Parameters of Content-Type and Content-Disposition. */
#include "request/parameter.h"

#include <string.h>
#include <strings.h>

struct drossel_text parameter_trim(struct drossel_text text)
{
    while (text.size > 0 && parameter_is_space(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && parameter_is_space(text.data[text.size - 1]))
        text.size--;
    return text;
}

bool parameter_is(struct drossel_text text, const char *name)
{
    size_t size = strlen(name);
    return text.size == size && (size == 0 || strncasecmp(text.data, name, size) == 0);
}

/* The size of what stands before the next `;` that is not in quotes. */
static size_t size_before_semicolon(struct drossel_text text)
{
    char quote = '\0';
    if (text.size == 0 || memchr(text.data, ';', text.size) == NULL) /* nearly always */
        return text.size;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (quote == '\0' && c == ';')
            return i;
        if (quote == '\0' && (c == '"' || c == '\''))
            quote = c;
        else if (quote != '\0' && c == '\\')
            i++;
        else if (c == quote)
            quote = '\0';
    }
    return text.size;
}

static void drop(struct drossel_text *text, size_t size)
{
    text->data += size;
    text->size -= size;
}

bool parameter_next(struct drossel_text *rest, struct drossel_text *name, struct drossel_text *value)
{
    drop(rest, size_before_semicolon(*rest));
    if (rest->size == 0)
        return false;
    drop(rest, 1);
    struct drossel_text whole = { rest->data, size_before_semicolon(*rest) };
    const char *equals = whole.size == 0 ? NULL : memchr(whole.data, '=', whole.size);
    size_t name_size = equals == NULL ? whole.size : (size_t)(equals - whole.data);
    *name = parameter_trim((struct drossel_text){ whole.data, name_size });
    *value = (struct drossel_text){ whole.data, 0 };
    if (equals != NULL)
        *value = parameter_trim((struct drossel_text){ equals + 1, whole.size - name_size - 1 });
    return true;
}

size_t parameter_unquote(struct drossel_text value, char *out, size_t cap, bool *faulty)
{
    size_t size = 0, at = 0;
    char quote = value.size > 0 && (value.data[0] == '"' || value.data[0] == '\'') ? value.data[0] : '\0';
    for (at = quote != '\0'; at < value.size; at++) {
        char c = value.data[at];
        if (quote != '\0' && c == quote)
            break;
        if (quote != '\0' && c == '\\' && at + 1 < value.size)
            c = value.data[++at];
        if (size < cap)
            out[size] = c;
        size++;
    }
    *faulty |= quote != '\0' && at + 1 != value.size;
    return size;
}

static bool contains(struct drossel_text text, char c)
{
    return text.size > 0 && memchr(text.data, c, text.size) != NULL;
}

static bool has_quotes(struct drossel_text text)
{
    return contains(text, '"') || contains(text, '\'');
}

bool parameter_is_plain(struct drossel_text name, struct drossel_text value)
{
    bool faulty = false;
    if (has_quotes(name) || (value.size > 0 && value.data != name.data + name.size + 1))
        return false;
    if (value.size == 0 || value.data[0] != '"')
        return !has_quotes(value) && (value.size == 0 || value.data[0] != '=');
    parameter_unquote(value, NULL, 0, &faulty);
    if (contains(value, ';') && (contains(value, '=') || memmem(value.data, value.size, "\\\"", 2) != NULL))
        return false;
    return !faulty;
}

enum parameter_charset parameter_charset(struct drossel_text value)
{
    static const struct {
        const char *begin;
        enum parameter_charset charset;
        bool open; /* more follows */
    } known[] = {
        { "utf-8", PARAMETER_CHARSET_UTF8, false },     { "utf8", PARAMETER_CHARSET_UTF8, false },
        { "us-ascii", PARAMETER_CHARSET_UTF8, false },  { "ascii", PARAMETER_CHARSET_UTF8, false },
        { "iso-8859-", PARAMETER_CHARSET_BYTES, true }, { "windows-125", PARAMETER_CHARSET_BYTES, true },
    };
    char name[16];
    bool faulty = false;
    size_t size = parameter_unquote(value, name, sizeof name, &faulty);
    if (faulty || size > sizeof name)
        return PARAMETER_CHARSET_OTHER;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t begin = strlen(known[i].begin);
        if ((known[i].open ? size > begin : size == begin) && strncasecmp(name, known[i].begin, begin) == 0)
            return known[i].charset;
    }
    return size == 0 ? PARAMETER_CHARSET_UTF8 : PARAMETER_CHARSET_OTHER;
}
