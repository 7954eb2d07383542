/*
 * Accounts in bodies, on any bytes: the first line of the input is Content-Type, the rest the body.
 *
 * Beyond surviving: values lie in the buffer, one after the other, are not empty and no two of them the same; and reading
 * goes on after whatever comes first: a field that follows is found.
 */
#include "request/body.h"

#include <stdlib.h>
#include <string.h>

static struct body_sources sources;

static void check(bool right)
{
    if (!right)
        abort();
}

static void check_found(const struct body_found *found)
{
    const char *at = found->buffer;
    check(found->count <= BODY_VALUES_MAX);
    for (size_t i = 0; i < found->count; i++) {
        const struct body_value *value = &found->value[i];
        check(value->source < sources.count && value->text.data == at && value->text.size > 0);
        at += value->text.size;
        for (size_t j = 0; j < i; j++)
            check(found->value[j].source != value->source || found->value[j].text.size != value->text.size ||
                  memcmp(found->value[j].text.data, value->text.data, value->text.size) != 0);
    }
    check(at == found->buffer + found->used && found->used <= found->cap);
}

static void search(struct drossel_text type, struct drossel_text bytes, struct body_found *found)
{
    struct body body = { .content_types = &type, .content_type_count = type.size > 0, .bytes = bytes };
    found->used = found->count = 0;
    check(body_accounts(&body, &sources, found) == found->count);
    check_found(found);
}

static bool holds(const struct body_found *found, const char *value)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->value[i].text.size == strlen(value) && memcmp(found->value[i].text.data, value, strlen(value)) == 0)
            return true;
    return found->too_many;
}

/* The same body with a field after it. */
static void try_after(struct drossel_text type, struct drossel_text bytes, const char *field)
{
    char buffer[BODY_BUFFER_BYTES];
    struct body_found found;
    size_t size = strlen(field);
    char *longer = malloc(bytes.size + size);
    check(longer != NULL);
    memcpy(longer, bytes.data, bytes.size);
    memcpy(longer + bytes.size, field, size);
    body_found_init(&found, buffer, sizeof buffer);
    search(type, (struct drossel_text){ longer, bytes.size + size }, &found);
    check(holds(&found, "a later one"));
    free(longer);
}

static void add(enum body_source_kind kind, const char *name)
{
    check(body_sources_add(&sources, kind, (struct drossel_text){ name, strlen(name) }));
}

static void want(void)
{
    add(BODY_FORM, "email");
    add(BODY_JSON, "email");
    add(BODY_JSON, "a.b");
    add(BODY_FORM, "a_b");
    add(BODY_JSON, "a.b.c");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (sources.count == 0)
        want();
    const char *line = size == 0 ? NULL : memchr(data, '\n', size);
    if (line == NULL)
        return 0;
    struct drossel_text type = { (const char *)data, (size_t)(line - (const char *)data) };
    struct drossel_text bytes = { line + 1, size - type.size - 1 };
    for (size_t cap = 0; cap <= 64; cap += 32) {
        struct body_found found;
        char *buffer = malloc(cap);
        body_found_init(&found, buffer, cap);
        search(type, bytes, &found);
        free(buffer);
    }
    try_after((struct drossel_text)DROSSEL_TEXT("application/x-www-form-urlencoded"), bytes, "&email=a+later%20one");
    try_after((struct drossel_text)DROSSEL_TEXT("multipart/form-data; boundary=b"), bytes,
              "\r\n--b\r\nContent-Disposition: form-data; name=email\r\n\r\na later one\r\n--b--\r\n");
    return 0;
}
