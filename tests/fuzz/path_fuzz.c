/*
 * Paths and credentials, on any bytes.
 *
 *     clang -g -O1 -D_GNU_SOURCE -std=c11 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc \
 *         tests/fuzz/path_fuzz.c src/request/credential.c -lsodium -o path_fuzz
 *
 * Beyond surviving: a name begins with `/`, is not longer than the path, and has no segment left to resolve; what a
 * credential's parser returns lies in its input or its buffer.
 */
#include "request/path.c"
#include "request/credential.h"

#include <stdlib.h>

static void check(bool right)
{
    if (!right)
        abort();
}

static void check_name(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] != '/')
            continue;
        const char *end = memchr(name + i + 1, '/', size - i - 1);
        size_t length = end == NULL ? size - i - 1 : (size_t)(end - name) - i - 1;
        check(length > 0 || i + 1 == size);
        check(!(length == 1 && name[i + 1] == '.'));
        check(!(length == 2 && name[i + 1] == '.' && name[i + 2] == '.'));
    }
}

static void try_path(struct drossel_text path)
{
    char *out = malloc(path.size + 1); /* on the heap, so that one byte too many is seen */
    check(out != NULL);
    size_t size = drossel_path_normalise(path, out, path.size == 0 ? 1 : path.size);
    check(size <= path.size);
    if (path.size > 0 && path.data[0] == '/') {
        check(size > 0 && out[0] == '/');
        check_name(out, size);
    }
    free(out);
}

static void check_within(struct drossel_text part, const char *start, size_t size)
{
    check(part.size > 0 && part.data >= start && part.data + part.size <= start + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drossel_text line = { (const char *)data, size }, found;
    char buffer[CREDENTIAL_BASIC_MAX];
    try_path(line);
    for (struct drossel_text rest = line;
         credential_cookie_next(&rest, (struct drossel_text)DROSSEL_TEXT("a"), &found);) {
        check_within(found, line.data, line.size);
        for (int reading = 0; reading < COOKIE_READINGS; reading++)
            check(credential_cookie_decode(found, (enum cookie_reading)reading, buffer, sizeof buffer) <= found.size);
    }
    if (credential_bearer(line, &found))
        check_within(found, line.data, line.size);
    if (credential_basic(line, buffer, &found))
        check_within(found, buffer, sizeof buffer);
    return 0;
}
