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

static struct drossel_text unquote(struct drossel_text value)
{
    if (value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"') {
        value.data++;
        value.size -= 2;
    }
    return value;
}

/* `value` of a pair `name=value`; false if the pair has another name. */
static bool pair_value(struct drossel_text pair, struct drossel_text name, struct drossel_text *value)
{
    if (pair.size <= name.size || memcmp(pair.data, name.data, name.size) != 0 || pair.data[name.size] != '=')
        return false;
    *value = unquote((struct drossel_text){ pair.data + name.size + 1, pair.size - name.size - 1 });
    return true;
}

/* The same of a pair whose name is one that an application may take for it. */
static bool pair_value_of_any(struct drossel_text pair, struct drossel_text name, struct drossel_text *value)
{
    const char *equals = pair.size == 0 ? NULL : memchr(pair.data, '=', pair.size), *end = pair.data + pair.size;
    if (equals == NULL || form_name_compare(trim(pair.data, equals), name) != FORM_NAME_SAME)
        return false;
    *value = unquote(trim(equals + 1, end));
    return true;
}

bool credential_cookie(struct drossel_text line, struct drossel_text name, struct drossel_text *value)
{
    const char *at = line.data;
    size_t left = line.size;
    while (left > 0 && name.size > 0) {
        const char *end = memchr(at, ';', left);
        size_t size = end == NULL ? left : (size_t)(end - at);
        struct drossel_text found;
        if (pair_value(trim(at, at + size), name, &found)) {
            if (found.size == 0)
                return false;
            *value = found;
            return true;
        }
        left -= size;
        at += size;
        if (left > 0) {
            left--;
            at++;
        }
    }
    return false;
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
        if (pair_value_of_any(pair, name, &found) && found.size > 0) {
            *value = found;
            return true;
        }
    }
    return false;
}

static int octal_value(struct drossel_text text, size_t at)
{
    int value = 0;
    if (text.size - at < 3)
        return -1;
    for (size_t i = at; i < at + 3; i++) {
        if (text.data[i] < '0' || text.data[i] > '7')
            return -1;
        value = value * 8 + (text.data[i] - '0');
    }
    return value < 256 ? value : -1;
}

size_t credential_cookie_decode(struct drossel_text value, char *out, size_t cap)
{
    bool ignored = false;
    size_t size = form_decode(value, false, out, cap, &ignored), kept = 0;
    const struct drossel_text text = { out, size };
    if (size > cap)
        return size;
    for (size_t at = 0; at < size; at++) {
        int octal = out[at] == '\\' ? octal_value(text, at + 1) : -1;
        at += out[at] == '\\' && octal < 0 && at + 1 < size;
        out[kept++] = octal < 0 ? out[at] : (char)octal;
        at += octal < 0 ? 0 : 3;
    }
    return kept;
}

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
