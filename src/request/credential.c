/* Cookies, Basic and Bearer credentials of one header line. */
#include "request/credential.h"
#include "request/form.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

static struct drossel_text trim(const char *start, const char *end)
{
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (start < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct drossel_text){ start, (size_t)(end - start) };
}

/* ---- cookies ---- */

/* Is a cookie of this name the one that is wanted, as one application or another compares them? */
static bool is_cookie(struct drossel_text name, struct drossel_text wanted)
{
    char decoded[BODY_NAME_MAX];
    bool ignored = false;
    if (memchr(name.data, '%', name.size) != NULL) {
        size_t size = form_decode(name, false, decoded, sizeof decoded, &ignored);
        name = (struct drossel_text){ decoded, size < sizeof decoded ? size : sizeof decoded };
    }
    return form_name_compare(name, wanted) != FORM_NAME_OTHER;
}

/* `value` of a pair `name=value`; false if the pair has another name. */
static bool pair_value(struct drossel_text pair, struct drossel_text name, struct drossel_text *value)
{
    const char *equals = memchr(pair.data, '=', pair.size);
    if (equals == NULL || !is_cookie(trim(pair.data, equals), name))
        return false;
    *value = trim(equals + 1, pair.data + pair.size);
    if (value->size >= 2 && value->data[0] == '"' && value->data[value->size - 1] == '"') {
        value->data++;
        value->size -= 2;
    }
    return true;
}

bool credential_cookie_next(struct drossel_text *rest, struct drossel_text name, struct drossel_text *value)
{
    while (rest->size > 0 && name.size > 0) {
        const char *end = memchr(rest->data, ';', rest->size);
        size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
        struct drossel_text pair = trim(rest->data, rest->data + size), found;
        size += end != NULL;
        rest->data += size;
        rest->size -= size;
        if (pair_value(pair, name, &found) && found.size > 0) {
            *value = found;
            return true;
        }
    }
    return false;
}

bool credential_cookie_reads(struct drossel_text value, enum cookie_reading reading)
{
    static const char marks[] = { [COOKIE_ESCAPED] = '%', [COOKIE_PLUS] = '+', [COOKIE_QUOTED] = '\\' };
    return memchr(value.data, marks[reading], value.size) != NULL;
}

static bool is_octal(char c, char most)
{
    return c >= '0' && c <= most;
}

/* The byte that a backslash at `at` makes, and the size of what was read. */
static char unquote(const char *at, size_t left, size_t *size)
{
    if (left >= 4 && is_octal(at[1], '3') && is_octal(at[2], '7') && is_octal(at[3], '7')) {
        *size = 4;
        return (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
    }
    *size = 2;
    return at[1];
}

static char decode_byte(const char *at, size_t left, enum cookie_reading reading, size_t *size)
{
    *size = 1;
    if (*at == '\\' && left >= 2 && reading == COOKIE_QUOTED)
        return unquote(at, left, size);
    if (*at == '+' && reading == COOKIE_PLUS)
        return ' ';
    int high = *at == '%' && left >= 3 ? body_hex(at[1]) : -1, low = high < 0 ? -1 : body_hex(at[2]);
    if (low < 0)
        return *at;
    *size = 3;
    return (char)(high << 4 | low);
}

size_t credential_cookie_decode(struct drossel_text value, enum cookie_reading reading, char *out, size_t cap)
{
    size_t written = 0, size;
    for (size_t at = 0; at < value.size; at += size) {
        char c = decode_byte(value.data + at, value.size - at, reading, &size);
        if (written == 0 && (unsigned char)c <= ' ')
            continue;
        if (written < cap)
            out[written] = c;
        written++;
    }
    return written;
}

/* ---- Authorization ---- */

/* What follows the scheme; false for another scheme or nothing. */
static bool after_scheme(struct drossel_text line, const char *scheme, struct drossel_text *rest)
{
    size_t size = strlen(scheme);
    if (line.size == 0)
        return false;
    struct drossel_text whole = trim(line.data, line.data + line.size);
    if (whole.size <= size || strncasecmp(whole.data, scheme, size) != 0 ||
        (whole.data[size] != ' ' && whole.data[size] != '\t'))
        return false;
    *rest = trim(whole.data + size, whole.data + whole.size);
    return true;
}

bool credential_is_basic(struct drossel_text authorization)
{
    struct drossel_text rest;
    return after_scheme(authorization, "basic", &rest) && rest.size > 0;
}

bool credential_basic(struct drossel_text authorization, char buffer[CREDENTIAL_BASIC_MAX], struct drossel_text *user)
{
    struct drossel_text encoded;
    unsigned char *out = (unsigned char *)buffer;
    size_t size;
    if (!after_scheme(authorization, "basic", &encoded))
        return false;
    while (encoded.size > 0 && encoded.data[encoded.size - 1] == '=')
        encoded.size--;
    bool decoded = sodium_base642bin(out, CREDENTIAL_BASIC_MAX, encoded.data, encoded.size, NULL, &size, NULL,
                                     sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0;
    char *colon = decoded ? memchr(buffer, ':', size) : NULL;
    size_t length = colon == NULL ? 0 : (size_t)(colon - buffer);
    sodium_memzero(buffer + length, CREDENTIAL_BASIC_MAX - length);
    if (length == 0)
        return false;
    *user = (struct drossel_text){ buffer, length };
    return true;
}

bool credential_bearer(struct drossel_text authorization, struct drossel_text *token)
{
    struct drossel_text found;
    if (!after_scheme(authorization, "bearer", &found) || memchr(found.data, ' ', found.size) != NULL)
        return false;
    *token = found;
    return true;
}
