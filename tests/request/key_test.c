/* Subjects' hashes: SipHash as OpenSSL has it, and no two subjects with one message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#include "request/key.h"

static const uint8_t secret[KEY_SECRET_BYTES] = { 7, 1, 4, 9, 200, 3, 77, 0, 255, 31, 90, 2, 6, 128, 12, 54 };

static uint64_t by_openssl(uint8_t kind, const void *data, size_t size)
{
    uint64_t hash;
    uint8_t key[KEY_SECRET_BYTES];
    unsigned c_rounds = 1, d_rounds = 3;
    size_t bytes = sizeof hash;
    memcpy(key, secret, sizeof key);
    key[0] ^= kind;
    const OSSL_PARAM parameters[] = { OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_C_ROUNDS, &c_rounds),
                                      OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_D_ROUNDS, &d_rounds),
                                      OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &bytes),
                                      OSSL_PARAM_construct_end() };
    EVP_MAC *siphash = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_SIPHASH, NULL);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(siphash);
    assert_non_null(context);
    assert_int_equal(EVP_MAC_init(context, key, sizeof key, parameters), 1);
    assert_int_equal(EVP_MAC_update(context, data, size), 1);
    assert_int_equal(EVP_MAC_final(context, (unsigned char *)&hash, &bytes, sizeof hash), 1);
    assert_int_equal(bytes, sizeof hash);
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(siphash);
    return hash;
}

static void a_part_is_hashed_as_openssl_does_it_at_every_length(void **state)
{
    (void)state;
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t size = 0; size < 270; size++) {
        uint64_t ours = key_part_hash(secret, (uint8_t)size, bytes + size % 8, size);
        uint64_t openssl = by_openssl((uint8_t)size, bytes + size % 8, size);
        assert_memory_equal(&ours, &openssl, sizeof ours);
    }
}

static void an_address_is_hashed_as_its_family_and_its_bytes(void **state)
{
    (void)state;
    static const struct {
        struct drossel_address address;
        size_t size;
    } cases[] = {
        { { DROSSEL_IPV4, { 203, 0, 113, 7 } }, 5 },
        { { DROSSEL_IPV6, { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } }, 17 },
        { { DROSSEL_UNIX, { 0 } }, 17 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t ours = key_address_hash(secret, 3, &cases[i].address);
        uint64_t openssl = by_openssl(3, &cases[i].address, cases[i].size);
        assert_memory_equal(&ours, &openssl, sizeof ours);
    }
}

static void a_name_and_its_value_do_not_run_into_each_other(void **state)
{
    (void)state;
    static const char text[] = "x-api-keyx-api-keyx-api-key";
    uint64_t seen[sizeof text];
    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct drossel_text name = { text, cut }, value = { text + cut, sizeof text - 1 - cut };
        if (cut == sizeof text - 1)
            value = (struct drossel_text){ NULL, 0 };
        seen[cut] = key_pair_hash(secret, 5, name, value);
        for (size_t other = 0; other < cut; other++)
            assert_memory_not_equal(&seen[cut], &seen[other], sizeof seen[cut]);
    }
}

static void the_order_and_the_kinds_of_joined_parts_count(void **state)
{
    (void)state;
    uint64_t a = key_part_hash(secret, 1, "ab", 2), b = key_part_hash(secret, 1, "c", 1);
    uint64_t ab[2] = { a, b }, ba[2] = { b, a };
    uint8_t kinds[2] = { 1, 2 }, others[2] = { 2, 1 };
    uint64_t first = key_join(ab, kinds, 2), turned = key_join(ba, kinds, 2);
    uint64_t swapped = key_join(ab, others, 2);
    assert_memory_not_equal(&first, &turned, sizeof first);
    assert_memory_not_equal(&first, &swapped, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_hashed_as_openssl_does_it_at_every_length),
        cmocka_unit_test(an_address_is_hashed_as_its_family_and_its_bytes),
        cmocka_unit_test(a_name_and_its_value_do_not_run_into_each_other),
        cmocka_unit_test(the_order_and_the_kinds_of_joined_parts_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
