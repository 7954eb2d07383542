/* Paths come out as nginx has them in $uri. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "drossel.h"

static void assert_path(const char *path, const char *expected)
{
    char out[512];
    memset(out, '!', sizeof out);
    size_t size = strlen(path);
    size_t written = drossel_path_normalise((struct drossel_text){ path, size }, out, size);
    if (written != strlen(expected) || memcmp(out, expected, written) != 0)
        fail_msg("%s -> %.*s, expected %s", path, (int)written, out, expected);
    for (size_t i = size; i < sizeof out; i++)
        assert_int_equal(out[i], '!');
}

static void one_page_has_one_name(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "/", "/" },
        { "/login", "/login" },
        { "/login?x=1", "/login" },
        { "/login#f", "/login" },
        { "/?", "/" },
        { "//login", "/login" },
        { "/a//b///c", "/a/b/c" },
        { "/a/", "/a/" },
        { "/a//", "/a/" },
        { "/./login", "/login" },
        { "/a/./b", "/a/b" },
        { "/a/.", "/a/" },
        { "/.", "/" },
        { "/./", "/" },
        { "/a/../login", "/login" },
        { "/a/b/..", "/a/" },
        { "/a/b/../", "/a/" },
        { "/a/b/../../c", "/c" },
        { "/a/..", "/" },
        { "/a/.b", "/a/.b" },
        { "/a/..b", "/a/..b" },
        { "/a/...", "/a/..." },
        { "/a/b.", "/a/b." },
        { "/a/b..", "/a/b.." },
        { "/a/b../c", "/a/b../c" },
        { "/a/../?x", "/" },
        { "/a/..?x", "/" },
        { "/a/.?x", "/a/" },
        { "/a/..#x", "/" },
        { "/%6Cogin", "/login" },
        { "/%6cogin", "/login" },
        { "/%2e%2E/login", "/login" },
        { "/a/%2e./login", "/login" },
        { "/a%2flogin", "/a/login" },
        { "/a%2F%2Flogin", "/a/login" },
        { "%2Flogin", "%2Flogin" },
        { "/a%3Fb", "/a?b" },
        { "/a%3Fb?c", "/a?b" },
        { "/a%23b#c", "/a#b" },
        { "/%2541", "/%41" },
        { "/a%20b", "/a b" },
        { "/a+b", "/a+b" },
        { "/caf%C3%A9", "/caf\xc3\xa9" },
        { "/A", "/A" },
        { "/a%3Bb;c", "/a;b;c" },
        { "/a%3F/../b", "/b" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_path(table[i][0], table[i][1]);
}

static void what_nginx_refuses_still_has_a_name(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "/%", "/%" },
        { "/%4", "/%4" },
        { "/%zz", "/%zz" },
        { "/%4g", "/%4g" },
        { "/%%41", "/%A" },
        { "/a%00b", "/a%00b" },
        { "/..", "/" },
        { "/../login", "/login" },
        { "/../../../login", "/login" },
        { "/a/../../login", "/login" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_path(table[i][0], table[i][1]);
}

static void other_forms_of_the_target_are_taken(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "http://shop.example/a/../login?x", "/login" },
        { "HTTPS://[::1]:8443/login", "/login" },
        { "http://shop.example", "/" },
        { "http://shop.example?x", "/" },
        { "http://shop.example/", "/" },
        { "http:///login", "/login" },
        { "*", "*" },
        { "login?x", "login" },
        { "a:b", "a:b" },
        { "?x", "" },
        { "://x", "://x" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_path(table[i][0], table[i][1]);
}

static void a_nul_byte_is_a_byte(void **state)
{
    (void)state;
    char out[8];
    assert_int_equal(drossel_path_normalise((struct drossel_text){ "/a\0/./b", 7 }, out, sizeof out), 5);
    assert_memory_equal(out, "/a\0/b", 5);
}

static void nothing_is_written_beyond_the_buffer(void **state)
{
    (void)state;
    char out[8] = "zzzzzzz";
    assert_int_equal(drossel_path_normalise((struct drossel_text)DROSSEL_TEXT("/abcdefgh"), out, 4), 4);
    assert_memory_equal(out, "/abczzz", 7);
    assert_int_equal(drossel_path_normalise((struct drossel_text)DROSSEL_TEXT("abcdefgh"), out, 4), 4);
    assert_memory_equal(out, "abcdzzz", 7);
    assert_int_equal(drossel_path_normalise((struct drossel_text)DROSSEL_TEXT("/abc"), out, 0), 0);
}

/* A name has no empty, `.` or `..` segment, so that normalising it as a plain path changes nothing. */
static void a_name_has_no_segment_left_to_resolve(void **state)
{
    (void)state;
    static const char alphabet[] = "/../%2e2F?ab#";
    uint64_t seed = 3;
    for (int i = 0; i < 100000; i++) {
        char path[16] = "/", out[17] = "";
        for (size_t j = 1; j < sizeof path; j++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            path[j] = alphabet[(seed >> 40) % (sizeof alphabet - 1)];
        }
        size_t size = drossel_path_normalise((struct drossel_text){ path, sizeof path }, out, sizeof path);
        assert_true(size > 0 && size <= sizeof path && out[0] == '/');
        for (size_t j = 0; j + 1 < size; j++) {
            if (out[j] != '/')
                continue;
            size_t length = strcspn(out + j + 1, "/");
            if (length > size - j - 1)
                length = size - j - 1;
            assert_false(length == 0);
            assert_false(length == 1 && out[j + 1] == '.');
            assert_false(length == 2 && out[j + 1] == '.' && out[j + 2] == '.');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_page_has_one_name),
        cmocka_unit_test(what_nginx_refuses_still_has_a_name),
        cmocka_unit_test(other_forms_of_the_target_are_taken),
        cmocka_unit_test(a_nul_byte_is_a_byte),
        cmocka_unit_test(nothing_is_written_beyond_the_buffer),
        cmocka_unit_test(a_name_has_no_segment_left_to_resolve),
    };
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
