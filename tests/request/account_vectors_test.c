/* The vectors of account.json: names as they are counted, and the digests of names and addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../vector_file.h"
#include "request/account.h"
#include "request/client.h"

#include <sodium.h>

static struct vector_file file;

static struct drossel_text vector_bytes(const json_t *vector, const char *key)
{
    const json_t *text = json_object_get(vector, key);
    return (struct drossel_text){ json_string_value(text), json_string_length(text) };
}

static size_t unhex(struct drossel_text hex, void *out, size_t cap)
{
    size_t size;
    assert_int_equal(sodium_hex2bin(out, cap, hex.data, hex.size, NULL, &size, NULL), 0);
    return size;
}

static void assert_digest(const json_t *vector, const char *class, struct drossel_text message)
{
    uint8_t secret[64], digest[ACCOUNT_DIGEST_BYTES];
    char hex[2 * ACCOUNT_DIGEST_BYTES + 1];
    size_t secret_size = unhex(vector_bytes(file.root, "hmac_key_hex"), secret, sizeof secret);
    account_digest(secret, secret_size, class, message, digest);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    assert_string_equal(hex, vector_text(vector, "key"));
}

static enum account_class class_of(const json_t *vector)
{
    for (enum account_class class = ACCOUNT_USER; class <= ACCOUNT_RAW; class ++)
        if (strcmp(account_class_name(class), vector_text(vector, "cls")) == 0)
            return class;
    fail_msg("no class %s", vector_text(vector, "cls"));
    return ACCOUNT_RAW;
}

/* What account_fold makes of it without being told the class: `mailbox` is never guessed. */
static void assert_guess(struct drossel_text input, enum account_class class, struct drossel_text folded)
{
    char out[ACCOUNT_MAX];
    enum account_class guessed;
    size_t size = account_fold(input, out, sizeof out, &guessed);
    if (class == ACCOUNT_MAILBOX)
        return;
    assert_int_equal(guessed, class);
    assert_int_equal(size, folded.size);
    assert_memory_equal(out, folded.data, size);
}

static void name_vector(void **state)
{
    const json_t *vector = *state;
    char out[ACCOUNT_MAX];
    size_t size;
    struct drossel_text input = vector_bytes(vector, "input");
    bool folded = account_fold_as(class_of(vector), input, out, sizeof out, &size);
    if (json_is_null(json_object_get(vector, "normalized"))) {
        assert_false(folded);
        enum account_class guessed;
        account_fold(input, out, sizeof out, &guessed);
        assert_int_equal(guessed, ACCOUNT_USER);
        return;
    }
    assert_true(folded);
    struct drossel_text expected = vector_bytes(vector, "normalized");
    if (size != expected.size || memcmp(out, expected.data, size) != 0)
        fail_msg("%.*s, expected %.*s", (int)size, out, (int)expected.size, expected.data);
    assert_digest(vector, vector_text(vector, "cls"), (struct drossel_text){ out, size });
    if (strcmp(vector_text(vector, "cls"), "user") != 0 || memchr(out, '@', size) == NULL)
        assert_guess(input, class_of(vector), expected);
}

static void raw_vector(void **state)
{
    const json_t *vector = *state;
    char input[256], out[ACCOUNT_MAX];
    enum account_class class;
    struct drossel_text raw = { input, unhex(vector_bytes(vector, "input_hex"), input, sizeof input) };
    size_t size = account_fold(raw, out, sizeof out, &class);
    assert_int_equal(class, ACCOUNT_RAW);
    assert_digest(vector, account_class_name(class), (struct drossel_text){ out, size });
}

static void address_vector(void **state)
{
    const json_t *vector = *state;
    uint8_t message[16];
    struct drossel_address address;
    struct drossel_text input = vector_bytes(vector, "input");
    uint8_t prefix = (uint8_t)json_integer_value(json_object_get(vector, "prefix6"));
    size_t size = unhex(vector_bytes(vector, "message_hex"), message, sizeof message);
    assert_int_equal(drossel_address_parse(input.data, input.size, &address), DROSSEL_OK);
    struct drossel_address key = client_key(&address, prefix);
    assert_int_equal(size, key.family == DROSSEL_IPV4 ? 4 : prefix / 8);
    assert_memory_equal(message, key.bytes, size);
    assert_digest(vector, vector_text(vector, "cls"), (struct drossel_text){ (const char *)key.bytes, size });
}

int main(void)
{
    vector_file_load(&file, "account.json");
    vector_file_add(&file, "accounts", NULL, name_vector);
    vector_file_add(&file, "raw", NULL, raw_vector);
    vector_file_add(&file, "addresses", NULL, address_vector);
    return vector_file_run(&file, "account vectors");
}
