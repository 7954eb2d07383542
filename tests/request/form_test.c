/* Accounts in urlencoded forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "body_found.h"
#include "request/form.h"

#define FORM "application/x-www-form-urlencoded"

static void every_value_of_a_field_is_found(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { FORM, DROSSEL_TEXT("email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("email=bob&password=x"), "bob" },
        { FORM, DROSSEL_TEXT("a=1&email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("email=bob&email=eve"), "bob|eve" },
        { FORM, DROSSEL_TEXT("email=bob&email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("&&email=bob&&"), "bob" },
        { FORM, DROSSEL_TEXT("email=a=b"), "a=b" },
        { FORM, DROSSEL_TEXT("email=bob%40x.example+y%2B1"), "bob@x.example y+1" },
        { FORM, DROSSEL_TEXT("email=%c3%A9"), "\xc3\xa9" },
        { FORM, DROSSEL_TEXT("email=bob%00x"), "bob\\0x" },
        { FORM, DROSSEL_TEXT("email=bob\0x"), "bob\\0x" },
        { FORM, DROSSEL_TEXT("email="), "" },
        { FORM, DROSSEL_TEXT("email"), "" },
        { FORM, DROSSEL_TEXT("xemail=bob&emailx=bob&e=email"), "" },
        { FORM, DROSSEL_TEXT("="), "" },
        { FORM, DROSSEL_TEXT("=bob"), "" },
        { FORM, DROSSEL_TEXT(""), "" },
        { FORM, DROSSEL_TEXT("\0"), "" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void no_spelling_of_the_name_hides_a_field(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { FORM, DROSSEL_TEXT("%65mail=bob"), "bob" },
        { FORM, DROSSEL_TEXT("%65%6D%61%69%6C=bob"), "bob" },
        { FORM, DROSSEL_TEXT("Email=bob&EMAIL=eve"), "bob|eve" },
        { FORM, DROSSEL_TEXT("+email=bob&%20%20email=eve& email=joe"), "bob|eve|joe" },
        { FORM, DROSSEL_TEXT("email%00x=bob"), "bob" },
        { FORM, DROSSEL_TEXT("x=1;email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("email=bob;x"), "bob;x|bob" },
        { FORM, DROSSEL_TEXT("email+=bob"), "" },
        { FORM, DROSSEL_TEXT("[email]=bob"), "bob" },
        { FORM, DROSSEL_TEXT("%5Bemail%5D=bob&]email=eve&[[+email=joe"), "bob|eve|joe" },
        { FORM, DROSSEL_TEXT("email]=bob&[email]x=eve"), "bob|eve" },
        { FORM, DROSSEL_TEXT("email]x]=&x[email]=bob&[x]email=bob&emai[l]=bob"), "" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
    static const struct body_wanted user_email[] = { { BODY_FORM, DROSSEL_TEXT("user_email") } };
    static const struct body_case php[] = {
        { FORM, DROSSEL_TEXT("user_email=a&user.email=b&user+email=c&user%5Bemail=d&user-email=e"), "a|b|c|d" },
    };
    BODY_ASSERT_ALL(php, user_email);
    static const struct body_wanted nested[] = { { BODY_FORM, DROSSEL_TEXT("user[email]") } };
    static const struct body_case rails[] = {
        { FORM, DROSSEL_TEXT("user[email]=a&[user][email]=b&user]][email=c&user%5Bemail%5Djunk=d&User[[Email]]]=e"),
          "a|b|c|d|e" },
        { FORM, DROSSEL_TEXT("user[email][]=a"), "!" },
        { FORM, DROSSEL_TEXT("[user]x[email]=a"), "!" },
        { FORM, DROSSEL_TEXT("user=a&user[]=b&useremail=c&user.email=d&user[email2]=e&user[mail]=f&x[user[email]]=g"),
          "" },
    };
    BODY_ASSERT_ALL(rails, nested);
}

static void what_is_read_in_different_ways_is_malformed(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { FORM, DROSSEL_TEXT("email[]=bob"), "!" },
        { FORM, DROSSEL_TEXT("email%5B%24gt%5D="), "!" },
        { FORM, DROSSEL_TEXT("[email][]=bob"), "!" },
        { FORM, DROSSEL_TEXT("[email]x=eve]=bob"), "eve]=bob!" },
        { FORM, DROSSEL_TEXT("[email]x=eve%5D=bob"), "eve]=bob!" },
        { FORM, DROSSEL_TEXT("?email=bob"), "bob!" },
        { FORM, DROSSEL_TEXT("?a=1&email=bob"), "bob!" },
        { FORM, DROSSEL_TEXT("?%65mail=bob;x=1"), "bob;x=1|bob!" },
        { FORM,
          DROSSEL_TEXT("\xef\xbb\xbf"
                       "email=bob"),
          "bob!" },
        { FORM, DROSSEL_TEXT("\xef\xbb\xbf?email=bob"), "bob!" },
        { NULL, DROSSEL_TEXT("?email=bob"), "bob!" },
        { "text/plain", DROSSEL_TEXT("?email=bob"), "bob" },
        { FORM, DROSSEL_TEXT("?"), "!" },
        { FORM,
          DROSSEL_TEXT("\xef\xbb"
                       "email=bob&email=eve"),
          "eve" },
        { FORM, DROSSEL_TEXT("??email=bob"), "!" },
        { FORM, DROSSEL_TEXT("a=?&?email=bob"), "" },
        { FORM, DROSSEL_TEXT("email=bob%"), "bob%!" },
        { FORM, DROSSEL_TEXT("email=bob%4"), "bob%4!" },
        { FORM, DROSSEL_TEXT("email=%zzbob"), "%zzbob!" },
        { FORM, DROSSEL_TEXT("%u0065mail=bob"), "!" },
        { FORM, DROSSEL_TEXT("email=bob&password=100%"), "bob" },
        { FORM "; charset=utf-16", DROSSEL_TEXT("email=bob"), "bob!" },
        { FORM "; charset=IBM037", DROSSEL_TEXT("email=bob"), "bob!" },
        { FORM "; charset=\"utf-7", DROSSEL_TEXT("email=bob"), "bob!" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void what_applications_pass_over_hides_no_name_however_long_it_is(void **state)
{
    (void)state;
    static const char *const passed[] = { " ", "+", "%20", "[", "]", "%5D" };
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        for (size_t count = BODY_NAME_MAX - 8; count < BODY_NAME_MAX + 8; count++) {
            char text[4 * BODY_NAME_MAX] = "";
            for (size_t j = 0; j < count; j++)
                strcat(text, passed[i]);
            strcat(text, "email=bob");
            bool cut = count + 5 > BODY_NAME_MAX;
            struct body_case test = { FORM, { text, strlen(text) }, cut ? "!" : "bob" };
            body_assert(&test, body_form_email, 1);
        }
    }
}

static void the_type_is_found_in_any_spelling(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { "APPLICATION/X-WWW-FORM-URLENCODED", DROSSEL_TEXT("email=bob"), "bob" },
        { FORM ";charset=UTF-8", DROSSEL_TEXT("email=bob"), "bob" },
        { FORM " ; charset=\"iso-8859-1\"", DROSSEL_TEXT("email=bob"), "bob" },
        { FORM ";charset=UTF-8", DROSSEL_TEXT("email=b%c3%b6b"),
          "b\xc3\xb6"
          "b" },
        { FORM ";charset=ISO-8859-1", DROSSEL_TEXT("email=b%f6b"),
          "b\xf6"
          "b!" },
        { FORM ";charset=windows-1252", DROSSEL_TEXT("x=%f6&email=bob"), "bob" },
        { "  " FORM "  ", DROSSEL_TEXT("email=bob"), "bob" },
        { FORM " x", DROSSEL_TEXT("email=bob"), "bob" },
        { NULL, DROSSEL_TEXT("email=bob"), "bob" },
        { "", DROSSEL_TEXT("email=bob"), "bob" },
        { "text/plain", DROSSEL_TEXT("email=bob"), "bob" },
        { "text/plain", DROSSEL_TEXT("100%&email=bob"), "bob" },
        { "application/json", DROSSEL_TEXT("email=bob"), "" },
        { FORM ", application/json", DROSSEL_TEXT("email=bob"), "bob!" },
        { "application/json, " FORM, DROSSEL_TEXT("email=bob"), "bob!" },
        { ",", DROSSEL_TEXT("email=bob"), "bob" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void the_last_of_many_fields_is_found(void **state)
{
    (void)state;
    static char body[200000];
    size_t size = 0;
    for (int i = 0; i < 10000; i++)
        size += (size_t)snprintf(body + size, sizeof body - size, "f%d=%d;&", i, i);
    size += (size_t)snprintf(body + size, sizeof body - size, "email=bob");
    struct body_case test = { FORM, { body, size }, "bob" };
    body_assert(&test, body_form_email, 1);

    memset(body, ';', sizeof body);
    memcpy(body + sizeof body - 9, "email=eve", 9);
    test = (struct body_case){ FORM, { body, sizeof body }, "eve" };
    body_assert(&test, body_form_email, 1);
}

/* ---- the same by a slow reader, which looks at one byte at a time ---- */

struct model {
    char text[4096];
    size_t size;
    bool faulty;
};

static int digit(int c)
{
    const char *digits = "0123456789abcdef", *at = c == 0 ? NULL : strchr(digits, c | 0x20);
    return at == NULL || (c & 0x80) != 0 || (c < '0') ? -1 : (int)(at - digits);
}

static void model_decode(struct model *model, const char *at, const char *end)
{
    model->size = 0;
    model->faulty = false;
    while (at < end) {
        int c = (unsigned char)*at++;
        if (c == '+') {
            c = ' ';
        } else if (c == '%' && end - at >= 2 && digit(at[0]) >= 0 && digit(at[1]) >= 0) {
            c = digit(at[0]) * 16 + digit(at[1]);
            at += 2;
        } else if (c == '%') {
            model->faulty = true;
        }
        model->text[model->size++] = (char)c;
    }
}

/* Of a name that begins with another letter than `email` may, nothing more is read: not even whether its escapes are right.  Letters are told
 * apart by five bits. */
static bool may_begin(char c)
{
    for (const char *others = "e []%+"; *others != '\0'; others++)
        if ((c & 31) == (*others & 31))
            return true;
    return false;
}

static void expect_pair(const char *at, const char *end, struct body_found *found)
{
    struct model name, value;
    const char *equals = at == end ? NULL : memchr(at, '=', (size_t)(end - at));
    model_decode(&name, at, equals == NULL ? end : equals);
    found->malformed |= name.faulty && may_begin(*at);
    enum form_name is =
        form_name_compare((struct drossel_text){ name.text, name.size < BODY_NAME_MAX ? name.size : BODY_NAME_MAX },
                          body_form_email[0].name);
    found->malformed |= is == FORM_NAME_ARRAY;
    if (is != FORM_NAME_SAME || equals == NULL)
        return;
    model_decode(&value, equals + 1, end);
    found->malformed |= value.faulty;
    for (size_t i = 0; i < found->count; i++)
        if (found->value[i].text.size == value.size && memcmp(found->value[i].text.data, value.text, value.size) == 0)
            return;
    if (value.size == 0)
        return;
    if (found->count == BODY_VALUES_MAX) {
        found->too_many = true;
        return;
    }
    char *kept = found->buffer + found->used;
    memcpy(kept, value.text, value.size);
    found->value[found->count++].text = (struct drossel_text){ kept, value.size };
    found->used += value.size;
}

static void expect(struct drossel_text body, struct body_found *found)
{
    const char *at = body.data, *end = at + body.size;
    if (body.size > 0 && *at == '?') {
        found->malformed = true;
        at++;
    }
    bool semicolons = memchr(body.data, ';', body.size) != NULL;
    for (int pass = 0; pass <= semicolons; pass++)
        for (const char *begin = at, *stop; begin <= end; begin = stop + 1) {
            for (stop = begin; stop < end && *stop != '&' && !(pass == 1 && *stop == ';');)
                stop++;
            expect_pair(begin, stop, found);
        }
}

static unsigned random_below(uint64_t *seed, unsigned n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*seed >> 33) % n;
}

/* Names and values begin and end anywhere within a block of sixteen bytes. */
static void a_reader_of_single_bytes_finds_the_same(void **state)
{
    (void)state;
    static const char *const pieces[] = { "email",
                                          "email=",
                                          "Email=",
                                          "%65mail=",
                                          "&email=",
                                          "&",
                                          "=",
                                          "%40",
                                          "%4",
                                          "%",
                                          "+",
                                          "bob",
                                          "a-long-name-of-some-field=",
                                          "a value that goes on for a while",
                                          ";",
                                          "x",
                                          "[",
                                          ".",
                                          "emai",
                                          "?",
                                          "%zz",
                                          "&password=correct+horse&" };
    static char buffers[2][BODY_BUFFER_BYTES], ours[2 * BODY_BUFFER_BYTES], theirs[2 * BODY_BUFFER_BYTES];
    uint64_t seed = 5;
    unsigned with_values = 0, malformed = 0;
    for (unsigned round = 0; round < 60000; round++) {
        char text[1024];
        size_t size = 0;
        for (unsigned n = 1 + random_below(&seed, 16); n > 0; n--) {
            const char *piece = pieces[random_below(&seed, sizeof pieces / sizeof *pieces)];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        char *body = malloc(size); /* of its exact size, so that one byte too many is seen */
        assert_non_null(body);
        memcpy(body, text, size);
        struct body_found found, expected;
        body_found_init(&found, buffers[0], sizeof buffers[0]);
        body_found_init(&expected, buffers[1], sizeof buffers[1]);
        struct body_sources sources = body_sources_of(body_form_email, 1);
        struct body_search search = { &sources, &found };
        form_fields((struct drossel_text){ body, size }, &search);
        expect((struct drossel_text){ body, size }, &expected);
        free(body);
        body_describe(&found, ours, sizeof ours);
        body_describe(&expected, theirs, sizeof theirs);
        if (strcmp(ours, theirs) != 0)
            fail_msg("%.*s\nfound %s, expected %s", (int)size, text, ours, theirs);
        with_values += found.count > 0;
        malformed += found.malformed;
    }
    assert_true(with_values > 10000 && malformed > 10000 && malformed < 55000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_a_field_is_found),
        cmocka_unit_test(no_spelling_of_the_name_hides_a_field),
        cmocka_unit_test(what_is_read_in_different_ways_is_malformed),
        cmocka_unit_test(what_applications_pass_over_hides_no_name_however_long_it_is),
        cmocka_unit_test(the_type_is_found_in_any_spelling),
        cmocka_unit_test(the_last_of_many_fields_is_found),
        cmocka_unit_test(a_reader_of_single_bytes_finds_the_same),
    };
    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
