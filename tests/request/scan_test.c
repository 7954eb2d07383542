/* One byte is found in memory of its exact size, however long it is and wherever the byte stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "request/scan.h"

#define MOST 80

/* Bytes that differ from the wanted one by a bit, and it at the places that are bits of `marks`. */
static char *make(size_t size, uint64_t marks)
{
    char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[1 + i] = i < 64 && (marks >> i & 1) != 0 ? '&' : (char)('&' ^ 1 << i % 8);
    return bytes;
}

static const char *next_of(const char *at, const char *end)
{
    while (at < end && *at != '&')
        at++;
    return at;
}

static size_t behind_last(const char *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] != '&')
        size--;
    return size;
}

static void check(size_t size, uint64_t marks)
{
    char *room = make(size, marks), *bytes = room + 1;
    for (size_t from = 0; from <= size; from++) {
        assert_ptr_equal(scan_find(bytes, bytes + from, bytes + size, '&'), next_of(bytes + from, bytes + size));
        assert_ptr_equal(scan_find(bytes + from, bytes + from, bytes + size, '&'), next_of(bytes + from, bytes + size));
    }
    assert_int_equal(scan_behind_last(bytes, size, '&'), behind_last(bytes, size));
    free(room);
}

static void a_byte_is_found_wherever_it_stands(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (size_t size = 0; size <= MOST; size++) {
        check(size, 0);
        for (unsigned at = 0; at < 64; at++)
            check(size, UINT64_C(1) << at);
        for (unsigned i = 0; i < 20; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            check(size, seed & seed << 17);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_is_found_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
