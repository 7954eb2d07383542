/* Account names: what is one account, what is not, and bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "request/account.h"

#include <locale.h>
#include <sodium.h>

static struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, strlen(text) };
}

static void assert_text(const char *what, struct drossel_text text, const char *expected)
{
    if (text.size != strlen(expected) || memcmp(text.data, expected, text.size) != 0)
        fail_msg("%s: \"%.*s\", expected \"%s\"", what, (int)text.size, text.data, expected);
}

static const struct {
    const char *raw, *folded;
    enum account_class class;
} names[] = {
    { "", "", ACCOUNT_USER },
    { " \t\r\n", "", ACCOUNT_USER },
    { "\xe2\x80\x83\xe3\x80\x80", "", ACCOUNT_USER },
    { "\xc2\x85"
      "bob\xe2\x80\xa8",
      "bob", ACCOUNT_USER },
    { "\xe1\x9a\x80"
      "bob\xe2\x81\x9f",
      "bob", ACCOUNT_USER },
    { "\xe2\x80\x8b"
      "bob",
      "\xe2\x80\x8b"
      "bob",
      ACCOUNT_USER },
    { "BOB.", "bob.", ACCOUNT_USER },
    { "@example.com", "@example.com", ACCOUNT_USER },
    { "BOB@.", "bob@.", ACCOUNT_USER },
    { "@", "@", ACCOUNT_USER },
    { "bob@a", "bob@a", ACCOUNT_EMAIL },
    { "a@B@C", "a@b@c", ACCOUNT_EMAIL },
    { "bob@example.com..", "bob@example.com.", ACCOUNT_EMAIL },
    { "bob\xef\xbc\xa0"
      "EXAMPLE\xef\xbc\x8e"
      "com",
      "bob@example.com", ACCOUNT_EMAIL },
    { "Bob@M\xc3\x9cLLER.de", "bob@m\xc3\xbcller.de", ACCOUNT_EMAIL },
    { "bob @example.com", "bob @example.com", ACCOUNT_EMAIL },
    { "B.o.B+x@Gmail.com", "b.o.b+x@gmail.com", ACCOUNT_EMAIL },
    { "\xce\xa3\xce\xa4\xce\xa3", "\xcf\x83\xcf\x84\xcf\x83", ACCOUNT_USER },
    { "\xcf\x83\xcf\x84\xcf\x82", "\xcf\x83\xcf\x84\xcf\x83", ACCOUNT_USER },
    { "\xef\xbd\xb6\xef\xbe\x9e", "\xe3\x82\xac", ACCOUNT_USER },
    { "\xef\xac\x81", "fi", ACCOUNT_USER },
    { "\xe2\x91\xa0", "\xe2\x91\xa0", ACCOUNT_USER },
    { "Bob\xff", "Bob\xff", ACCOUNT_RAW },
    { " Bob\xc3", " Bob\xc3", ACCOUNT_RAW },
    { "Bob\xc0\xaf", "Bob\xc0\xaf", ACCOUNT_RAW },
    { "Bob\xed\xa0\x80", "Bob\xed\xa0\x80", ACCOUNT_RAW },
};

static void one_account_has_one_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char out[ACCOUNT_MAX];
        enum account_class class;
        size_t size = account_fold(text_of(names[i].raw), out, sizeof out, &class);
        assert_text(names[i].raw, (struct drossel_text){ out, size }, names[i].folded);
        assert_int_equal(class, names[i].class);
    }
}

static void only_capitals_of_ascii_change_wherever_they_stand(void **state)
{
    (void)state;
    char raw[40], folded[sizeof raw], expected[sizeof raw];
    enum account_class class;
    for (size_t size = 1; size <= sizeof raw; size++)
        for (size_t at = 0; at < size; at++)
            for (int c = '!'; c < 0x7f; c++) { /* nothing of it is taken off an end */
                memset(raw, 'Z', size);
                memset(expected, 'z', size);
                raw[at] = (char)c;
                expected[at] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
                size_t folded_size = account_fold((struct drossel_text){ raw, size }, folded, sizeof folded, &class);
                assert_int_equal(folded_size, size);
                assert_memory_equal(folded, expected, size);
            }
}

static void a_locale_changes_no_name(void **state)
{
    (void)state;
    char out[ACCOUNT_MAX];
    enum account_class class;
    setlocale(LC_ALL, "tr_TR.UTF-8"); /* with or without it being installed */
    setenv("LC_ALL", "tr_TR.UTF-8", 1);
    assert_text("ASCII", (struct drossel_text){ out, account_fold(text_of("TITI"), out, sizeof out, &class) }, "titi");
    size_t size = account_fold(text_of("TITI\xc3\x89"), out, sizeof out, &class);
    assert_text("Turkish", (struct drossel_text){ out, size }, "titi\xc3\xa9");
    setlocale(LC_ALL, "C");
}

static void a_mailbox_follows_the_rules_of_its_provider(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "B.o.b+x+y@gmail.com", "bob@gmail.com" },
        { "bob@googlemail.com.", "bob@gmail.com" },
        { ".b.@GMAIL.com", "b@gmail.com" },
        { "+x@gmail.com", "+x@gmail.com" },
        { "...@googlemail.com", "...@googlemail.com" },
        { ".+x@googlemail.com", ".+x@googlemail.com" },
        { "b.o.b@notgmail.com", "b.o.b@notgmail.com" },
        { "b.o.b@mail.gmail.com", "b.o.b@mail.gmail.com" },
        { "b.o.b@example.com.", "b.o.b@example.com" },
        { "bob", NULL },
        { "@gmail.com", NULL },
        { "bob@", NULL },
        { "b\xff@gmail.com", NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char out[ACCOUNT_MAX];
        size_t size;
        bool is = account_fold_as(ACCOUNT_MAILBOX, text_of(table[i][0]), out, sizeof out, &size);
        if (is != (table[i][1] != NULL))
            fail_msg("%s: %s", table[i][0], is ? "a mailbox" : "no mailbox");
        if (is)
            assert_text(table[i][0], (struct drossel_text){ out, size }, table[i][1]);
    }
}

static void what_an_application_trims_is_trimmed(void **state)
{
    (void)state;
    static const struct {
        struct drossel_text raw;
        const char *trimmed;
    } table[] = {
        { DROSSEL_TEXT("bob"), "bob" },
        { DROSSEL_TEXT("bob\0\0"), "bob" },
        { DROSSEL_TEXT("\0 \0bob \0 "), "bob" },
        { DROSSEL_TEXT("\x01\x1f"
                       "b\x01"
                       "b\x1c"),
          "b\x01"
          "b" },
        { DROSSEL_TEXT("\xef\xbb\xbf"
                       "bob\xef\xbb\xbf\xc2\xa0"),
          "bob" },
        { DROSSEL_TEXT("\xe2\x80\x8b"
                       "bob"),
          "\xe2\x80\x8b"
          "bob" },
        { DROSSEL_TEXT(" bob\xff "), "bob\xff" },
        { DROSSEL_TEXT(" \xff"), "\xff" },
        { DROSSEL_TEXT("\0\0"), "" },
        { DROSSEL_TEXT(""), "" },
        { { NULL, 0 }, "" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_text(table[i].trimmed, account_trim(table[i].raw), table[i].trimmed);
}

static void a_long_name_is_cut_and_never_free(void **state)
{
    (void)state;
    enum { LONG = 1000000 };
    char *raw = malloc(LONG), first[ACCOUNT_MAX + 1], second[ACCOUNT_MAX];
    enum account_class class;
    assert_non_null(raw);
    memset(raw, 'A', LONG);
    first[ACCOUNT_MAX] = '!';
    assert_int_equal(account_fold((struct drossel_text){ raw, LONG }, first, ACCOUNT_MAX, &class), ACCOUNT_MAX);
    assert_int_equal(first[ACCOUNT_MAX], '!');
    raw[LONG - 1] = 'b';
    assert_int_equal(account_fold((struct drossel_text){ raw, LONG }, second, sizeof second, &class), ACCOUNT_MAX);
    assert_memory_equal(first, second, ACCOUNT_MAX);

    memset(raw, ' ', LONG);
    memcpy(raw + LONG / 2, "\xc3\x89va@x.", 7);
    size_t size = account_fold((struct drossel_text){ raw, LONG }, first, ACCOUNT_MAX, &class);
    assert_text("white space", (struct drossel_text){ first, size }, "\xc3\xa9va@x");
    free(raw);
}

static void a_cut_falls_between_characters(void **state)
{
    (void)state;
    char out[8] = "!!!!!!!";
    enum account_class class;
    assert_int_equal(account_fold(text_of("\xc3\x89\xc3\x89\xc3\x89"), out, 5, &class), 4);
    assert_memory_equal(out, "\xc3\xa9\xc3\xa9!!!", 7);
    assert_int_equal(account_fold(text_of("ab  cd"), out, 4, &class), 2);
    assert_int_equal(account_fold(text_of("\xc3\x89"), out, 1, &class), 0);
    assert_int_equal(account_fold(text_of("\xff\xff\xff"), out, 2, &class), 2);
    assert_int_equal(account_fold(text_of("abc"), out, 0, &class), 0);
}

/* The digest is of the bytes that the contract names, by an implementation that takes them in one piece. */
static void a_digest_is_of_label_class_and_message(void **state)
{
    (void)state;
    static const unsigned char whole[] = "rl1\0user\0bob";
    unsigned char expected[32];
    uint8_t digest[ACCOUNT_DIGEST_BYTES];
    crypto_hash_sha256(expected, whole, sizeof whole - 1);
    account_digest(NULL, 0, "user", text_of("bob"), digest);
    assert_memory_equal(digest, expected, sizeof digest);

    unsigned char key[crypto_auth_hmacsha256_KEYBYTES] = "Jefe"; /* a short key is padded with zeros (RFC 2104) */
    crypto_auth_hmacsha256(expected, whole, sizeof whole - 1, key);
    account_digest("Jefe", 4, "user", text_of("bob"), digest);
    assert_memory_equal(digest, expected, sizeof digest);
    account_digest("Jefe", 4, "email", text_of("bob"), digest);
    assert_memory_not_equal(digest, expected, sizeof digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_account_has_one_name),
        cmocka_unit_test(only_capitals_of_ascii_change_wherever_they_stand),
        cmocka_unit_test(a_locale_changes_no_name),
        cmocka_unit_test(a_mailbox_follows_the_rules_of_its_provider),
        cmocka_unit_test(what_an_application_trims_is_trimmed),
        cmocka_unit_test(a_long_name_is_cut_and_never_free),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(a_digest_is_of_label_class_and_message),
    };
    return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
