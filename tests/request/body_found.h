/*
 * Finds accounts in a body and compares them with what is expected, in one line of text: `a|b` for values, then `!` if the
 * body is malformed, `+` if there are too many.  A NUL in a value is written as `\0`.
 */
#ifndef DROSSEL_TESTS_BODY_FOUND_H
#define DROSSEL_TESTS_BODY_FOUND_H

#include "request/body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct body_wanted {
    enum body_source_kind kind;
    struct drossel_text name;
};

static inline struct body_sources body_sources_of(const struct body_wanted *wanted, size_t count)
{
    struct body_sources sources = { 0 };
    for (size_t i = 0; i < count; i++)
        assert_true(body_sources_add(&sources, wanted[i].kind, wanted[i].name));
    return sources;
}

static inline size_t body_find(const struct body *body, const struct body_wanted *wanted, size_t count,
                               struct body_found *found)
{
    struct body_sources sources = body_sources_of(wanted, count);
    return body_accounts(body, &sources, found);
}

static const struct body_wanted body_form_email[] = { { BODY_FORM, DROSSEL_TEXT("email") } };
static const struct body_wanted body_json_email[] = { { BODY_JSON, DROSSEL_TEXT("email") } };

struct body_case {
    const char *type;
    struct drossel_text bytes;
    const char *expected;
};

static inline void body_describe(const struct body_found *found, char *out, size_t cap)
{
    size_t size = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (i > 0 && size + 1 < cap)
            out[size++] = '|';
        for (size_t j = 0; j < found->value[i].text.size && size + 3 < cap; j++) {
            char c = found->value[i].text.data[j];
            if (c == '\0')
                out[size++] = '\\';
            out[size++] = c == '\0' ? '0' : c;
        }
    }
    snprintf(out + size, cap - size, "%s%s", found->malformed ? "!" : "", found->too_many ? "+" : "");
}

/* The body is read from memory of its exact size, so that one byte too many is seen. */
static inline void body_assert(const struct body_case *test, const struct body_wanted *sources, size_t source_count)
{
    static char buffer[BODY_BUFFER_BYTES], described[2 * BODY_BUFFER_BYTES];
    char *bytes = malloc(test->bytes.size + 1);
    assert_non_null(bytes);
    char *copy = bytes + 1; /* of size 0 too */
    memcpy(copy, test->bytes.data, test->bytes.size);
    struct drossel_text type = { test->type, test->type == NULL ? 0 : strlen(test->type) };
    struct body body = { .content_types = &type,
                         .content_type_count = test->type != NULL,
                         .bytes = { copy, test->bytes.size } };
    struct body_found found;
    body_found_init(&found, buffer, sizeof buffer);
    size_t count = body_find(&body, sources, source_count, &found);
    free(bytes); /* values are in the buffer, not in the body */
    assert_int_equal(count, found.count);
    body_describe(&found, described, sizeof described);
    if (strcmp(described, test->expected) != 0)
        fail_msg("%s: %.*s\nfound %s, expected %s", test->type == NULL ? "(no type)" : test->type,
                 (int)test->bytes.size, test->bytes.data, described, test->expected);
}

#define BODY_ASSERT_ALL(table, sources)                                                                                \
    for (size_t body_i = 0; body_i < sizeof(table) / sizeof *(table); body_i++)                                        \
    body_assert(&(table)[body_i], sources, sizeof(sources) / sizeof *(sources))

#endif
