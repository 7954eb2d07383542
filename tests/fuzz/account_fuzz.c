/*
 * Account names, on any bytes.
 *
 * Beyond surviving: folding writes no more than its buffer holds; what is UTF-8 stays UTF-8; folding again changes
 * nothing, unless the name was cut, and but before the dot that a domain has lost; a short buffer gets a beginning of what
 * a long one gets.
 */
#include "request/account.h"

#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#define WHOLE ((size_t)ACCOUNT_INPUT_MAX * 9) /* three times in each of two steps */

static void check(bool right)
{
    if (!right)
        abort();
}

static bool is_utf8(const char *text, size_t size)
{
    return u8_check((const uint8_t *)text, size) == NULL;
}

static size_t fold(struct drossel_text raw, char **out, size_t cap, enum account_class *class)
{
    *out = malloc(cap + 1); /* on the heap, so that one byte too many is seen */
    check(*out != NULL);
    char *start = *out + 1;
    size_t size = account_fold(raw, start, cap, class);
    check(size <= cap);
    memmove(*out, start, size);
    return size;
}

/* A domain has lost its dot: what is before it now ends the name, and may be a dot or white space again. */
static bool has_new_end(struct drossel_text folded, enum account_class class)
{
    return class == ACCOUNT_EMAIL && (folded.data[folded.size - 1] == '.' || account_trim(folded).size < folded.size);
}

static void try_again(struct drossel_text folded, enum account_class class)
{
    char *twice;
    enum account_class again;
    if (folded.size == 0 || has_new_end(folded, class))
        return;
    size_t size = fold(folded, &twice, WHOLE, &again);
    check(again == class && size == folded.size && memcmp(folded.data, twice, size) == 0);
    free(twice);
}

static void try_fold(struct drossel_text raw, size_t cap)
{
    char *whole, *part;
    enum account_class class, same;
    size_t size = fold(raw, &whole, WHOLE, &class), part_size = fold(raw, &part, cap, &same);
    check(same == class && part_size <= size && memcmp(whole, part, part_size) == 0);
    check((class == ACCOUNT_RAW) == !is_utf8(raw.data, raw.size));
    if (class == ACCOUNT_RAW) {
        check(size == (raw.size < WHOLE ? raw.size : WHOLE) && memcmp(whole, raw.data, size) == 0);
    } else {
        check(is_utf8(whole, size) && is_utf8(part, part_size));
        if (raw.size <= ACCOUNT_INPUT_MAX)
            try_again((struct drossel_text){ whole, size }, class);
    }
    free(whole);
    free(part);
}

static void try_class(enum account_class class, struct drossel_text raw)
{
    static char out[WHOLE];
    size_t size = 0;
    if (!account_fold_as(class, raw, out, sizeof out, &size))
        return;
    check(size <= sizeof out && is_utf8(out, size));
    check(class == ACCOUNT_USER || memchr(out, '@', size) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t digest[ACCOUNT_DIGEST_BYTES];
    if (size == 0)
        return 0;
    struct drossel_text raw = { (const char *)data + 1, size - 1 };
    struct drossel_text trimmed = account_trim(raw);
    check(trimmed.size <= raw.size);
    check(account_trim(trimmed).size == trimmed.size);
    try_fold(raw, data[0]);
    for (enum account_class class = ACCOUNT_USER; class <= ACCOUNT_RAW; class ++)
        try_class(class, raw);
    account_digest(data, data[0] % (size + 1), "user", raw, digest);
    return 0;
}
