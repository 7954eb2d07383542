/* Accounts in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "body_found.h"
#include "request/json_body.h"

#include <jansson.h>

#define JSON "application/json"

static void every_value_of_a_key_is_found(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob" },
        { JSON, DROSSEL_TEXT(" { \"a\" : [ 1 , { } ] , \"email\" : \"bob\" } \r\n\t"), "bob" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\",\"email\":\"eve\"}"), "bob|eve" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\",\"email\":\"bob\"}"), "bob" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\"}"), "" },
        { JSON, DROSSEL_TEXT("{\"email\":null}"), "" },
        { JSON, DROSSEL_TEXT("{\"a\":{\"email\":\"bob\"}}"), "" },
        { JSON, DROSSEL_TEXT("[{\"email\":\"bob\"}]"), "" },
        { JSON, DROSSEL_TEXT("[\"email\",\"bob\"]"), "" },
        { JSON, DROSSEL_TEXT("{\"a\":\"email\",\"b\":\"\\\"email\\\":\"}"), "" },
        { JSON, DROSSEL_TEXT("{\"a\":{\"b\":{}},\"email\":\"bob\"}"), "bob" },
        { JSON, DROSSEL_TEXT("\"email\""), "" },
        { JSON, DROSSEL_TEXT("{}"), "" },
        { JSON, DROSSEL_TEXT(" "), "" },
        { JSON, DROSSEL_TEXT(""), "" },
        { JSON, DROSSEL_TEXT("\xef\xbb\xbf{\"email\":\"bob\"}"), "bob" },
    };
    BODY_ASSERT_ALL(table, body_json_email);
}

static void a_path_leads_through_objects(void **state)
{
    (void)state;
    static const struct body_wanted path[] = { { BODY_JSON, DROSSEL_TEXT("data.user.id") },
                                               { BODY_JSON, DROSSEL_TEXT("data.user") } };
    static const struct body_case table[] = {
        { JSON, DROSSEL_TEXT("{\"data\":{\"user\":{\"id\":\"bob\"}}}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"data\":{\"user\":\"bob\"}}"), "bob" },
        { JSON, DROSSEL_TEXT("{\"data\":{\"x\":{\"id\":\"bob\"}},\"user\":\"eve\"}"), "" },
        { JSON, DROSSEL_TEXT("{\"data\":[{\"user\":\"bob\"}]}"), "" },
        { JSON, DROSSEL_TEXT("{\"x\":{\"user\":\"bob\"},\"data\":{\"a\":{},\"user\":\"eve\"}}"), "eve" },
        { JSON, DROSSEL_TEXT("{\"data\":{\"user\":\"bob\"},\"data\":{\"user\":\"eve\"}}"), "bob|eve" },
        { JSON, DROSSEL_TEXT("{\"data\":{\"a\":{\"b\":{}},\"user\":\"bob\"},\"data\":1}"), "bob" },
        { JSON, DROSSEL_TEXT("{\"data\":{\"user\":\"bob\"},\"y\":{\"user\":\"eve\"}}"), "bob" },
    };
    BODY_ASSERT_ALL(table, path);
    static const struct body_case deep[] = {
        { JSON, DROSSEL_TEXT("{\"data\":{\"user\":{\"a\":1,\"id\":\"bob\",\"b\":[{\"id\":\"eve\"}]},\"id\":\"joe\"}}"),
          "bob" },
        { JSON, DROSSEL_TEXT("{\"user\":{\"id\":\"bob\"}}"), "" },
    };
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++)
        body_assert(&deep[i], path, 1);
}

static void text_is_decoded(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { JSON, DROSSEL_TEXT("{\"\\u0065mail\":\"bob\"}"), "bob" },
        { JSON, DROSSEL_TEXT("{\"Email\":\"bob\",\"EMA\\u0049L\":\"eve\"}"), "bob|eve" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"), "\"\\/\b\f\n\r\t" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\u00e9\\u20AC\\ud83d\\uDE00\"}"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        { JSON, DROSSEL_TEXT("{\"email\":\"b\\u0000b\"}"), "b\\0b" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\u0062ob\",\"email\":\"bob\"}"), "bob" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\ud83d\"}"), "\xed\xa0\xbd!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\ude00x\"}"), "\xed\xb8\x80x!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\ud83d\\u0041\"}"),
          "\xed\xa0\xbd"
          "A!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\u12\"}"), "u12!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\u12g4\"}"), "u12g4!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"\\x\"}"), "x!" },
    };
    BODY_ASSERT_ALL(table, body_json_email);
    static const struct body_wanted password_k[] = { { BODY_JSON, DROSSEL_TEXT("userk") } };
    static const struct body_case folded[] = {
        { JSON,
          DROSSEL_TEXT("{\"u\xc5\xbf"
                       "er\xe2\x84\xaa\":\"bob\",\"U\\u017FERK\":\"eve\"}"),
          "bob|eve" },
    };
    BODY_ASSERT_ALL(folded, password_k);
}

static void an_integer_has_one_text(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { JSON, DROSSEL_TEXT("{\"email\":5}"), "5" },
        { JSON, DROSSEL_TEXT("{\"email\":5.000,\"email\":5e0,\"email\":0.5E+1,\"email\":500e-2,\"email\":\"5\"}"),
          "5" },
        { JSON, DROSSEL_TEXT("{\"email\":-120,\"email\":-1.20e2}"), "-120" },
        { JSON, DROSSEL_TEXT("{\"email\":0,\"email\":-0,\"email\":0e9,\"email\":0.00}"), "0" },
        { JSON, DROSSEL_TEXT("{\"email\":900719925474099e1}"), "9007199254740990" },
        { JSON, DROSSEL_TEXT("{\"email\":1e19}"), "10000000000000000000" },
        { JSON, DROSSEL_TEXT("{\"email\":1e20}"), "1e20!" },
        { JSON, DROSSEL_TEXT("{\"email\":1e999999999999999999999}"), "1e999999999999999999999!" },
        { JSON, DROSSEL_TEXT("{\"email\":1e-999999999999999999999}"), "1e-999999999999999999999|0|1!" },
        { JSON, DROSSEL_TEXT("{\"email\":05}"), "05!" },
        { JSON, DROSSEL_TEXT("{\"email\":+5}"), "+5!" },
        { JSON, DROSSEL_TEXT("{\"email\":5.}"), "5.!" },
        { JSON, DROSSEL_TEXT("{\"email\":-}"), "-!" },
        { JSON, DROSSEL_TEXT("{\"email\":5e}"), "5e!" },
        { JSON, DROSSEL_TEXT("{\"email\":0x5}"), "0x5!" },
        { JSON, DROSSEL_TEXT("{\"email\":NaN}"), "NaN!" },
        { JSON, DROSSEL_TEXT("5"), "" },
        { JSON, DROSSEL_TEXT("{\"x\":0.5e-7}"), "" },
    };
    BODY_ASSERT_ALL(table, body_json_email);
}

/* JavaScript reads doubles, PHP and Python integers, Jackson cuts off: each of them meets its own account under every spelling. */
static void a_number_counts_as_each_application_reads_it(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { JSON, DROSSEL_TEXT("{\"email\":9007199254740991}"), "9007199254740991" },
        { JSON, DROSSEL_TEXT("{\"email\":9007199254740992}"), "9007199254740992" },
        { JSON, DROSSEL_TEXT("{\"email\":9007199254740993}"), "9007199254740993|9007199254740992" },
        { JSON, DROSSEL_TEXT("{\"email\":9007199254740995}"), "9007199254740995|9007199254740996" },
        { JSON, DROSSEL_TEXT("{\"email\":-9007199254740993}"), "-9007199254740993|-9007199254740992" },
        { JSON, DROSSEL_TEXT("{\"email\":1152921504606846977}"), "1152921504606846977|1152921504606847000" },
        { JSON, DROSSEL_TEXT("{\"email\":1152921504606846976}"), "1152921504606846976|1152921504606847000" },
        { JSON, DROSSEL_TEXT("{\"email\":1152921504606847000}"), "1152921504606847000" },
        { JSON, DROSSEL_TEXT("{\"email\":18446744073709551615}"), "18446744073709551615|18446744073709552000" },
        { JSON, DROSSEL_TEXT("{\"email\":99999999999999999999}"), "99999999999999999999|100000000000000000000" },
        { JSON, DROSSEL_TEXT("{\"email\":1234567890123456789e1}"), "12345678901234567890|12345678901234567000" },
        { JSON, DROSSEL_TEXT("{\"email\":5.0000000000000000001}"), "5.0000000000000000001|5|6!" },
        { JSON, DROSSEL_TEXT("{\"email\":4.9999999999999999999}"), "4.9999999999999999999|4|5!" },
        { JSON, DROSSEL_TEXT("{\"email\":5.0000000000000000000000000000000000000000000000001}"),
          "5.0000000000000000000000000000000000000000000000001|5|6!" },
        { JSON, DROSSEL_TEXT("{\"email\":5.0000000000000000000000000000000000000000000000000}"), "5" },
        { JSON, DROSSEL_TEXT("{\"email\":57e-1}"), "57e-1|5|6!" },
        { JSON, DROSSEL_TEXT("{\"email\":0.5}"), "0.5|0|1!" },
        { JSON, DROSSEL_TEXT("{\"email\":-0.5}"), "-0.5|0|-1!" },
        { JSON, DROSSEL_TEXT("{\"email\":5e-9}"), "5e-9|0|1!" },
        { JSON, DROSSEL_TEXT("{\"email\":9007199254740993.5}"),
          "9007199254740993.5|9007199254740993|9007199254740992|9007199254740994!" },
    };
    BODY_ASSERT_ALL(table, body_json_email);
}

/* The last text that is kept of an integer. */
static void last_text(uint64_t value, char out[32])
{
    static char buffer[BODY_BUFFER_BYTES];
    char body[64];
    struct body_found found;
    struct body_sources sources = body_sources_of(body_json_email, 1);
    const struct body_search search = { &sources, &found };
    body_found_init(&found, buffer, sizeof buffer);
    snprintf(body, sizeof body, "{\"email\":%llu}", (unsigned long long)value);
    json_values((struct drossel_text){ body, strlen(body) }, &search);
    assert_true(found.count >= 1 && found.count <= 2 && !found.malformed);
    snprintf(out, 32, "%.*s", (int)found.value[found.count - 1].text.size, found.value[found.count - 1].text.data);
}

/* With the C library as the model. */
static void neighbours_that_are_one_double_share_a_text(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252, shared = 0;
    for (int i = 0; i < 20000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t one = seed >> (i % 11), other = one ^ (seed % 1000 + 1);
        char text[32], text_of_other[32];
        last_text(one, text);
        last_text(other, text_of_other);
        bool is_shared = strcmp(text, text_of_other) == 0;
        assert_int_equal(is_shared, (double)one == (double)other);
        assert_true(strtod(text, NULL) == (double)one);
        shared += is_shared;
    }
    assert_true(shared > 100);
}

static void another_kind_of_value_is_malformed(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { JSON, DROSSEL_TEXT("{\"email\":true}"), "!" },
        { JSON, DROSSEL_TEXT("{\"email\":{\"$gt\":\"\"}}"), "!" },
        { JSON, DROSSEL_TEXT("{\"email\":[\"bob\"]}"), "!" },
        { JSON, DROSSEL_TEXT("{\"a\":true,\"b\":{},\"c\":[false]}"), "" },
    };
    BODY_ASSERT_ALL(table, body_json_email);
}

static void faults_hide_nothing_and_are_told(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { JSON, DROSSEL_TEXT("{\"a\":1,}"), "!" },
        { JSON, DROSSEL_TEXT("{,\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"a\":1,,\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"a\" 1 \"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"a\":1 \"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"a\":,\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"a\"::1,\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"a\":[1,2},\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\"}}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\"}]"), "bob!" },
        { JSON, DROSSEL_TEXT("]{\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\""), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\\"), "bob\\!" },
        { JSON, DROSSEL_TEXT("{\"email\":"), "!" },
        { JSON, DROSSEL_TEXT("{\"email"), "!" },
        { JSON, DROSSEL_TEXT("{"), "!" },
        { JSON, DROSSEL_TEXT("["), "!" },
        { JSON, DROSSEL_TEXT("}"), "!" },
        { JSON, DROSSEL_TEXT(","), "!" },
        { JSON, DROSSEL_TEXT(":"), "!" },
        { JSON, DROSSEL_TEXT("[1,]"), "!" },
        { JSON, DROSSEL_TEXT("[\"a\":1]"), "!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\"}{\"email\":\"eve\"}"), "bob|eve!" },
        { JSON, DROSSEL_TEXT("{}\0{\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"b\0b\"}"), "b\\0b!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"b\nb\"}"), "b\nb!" },
        { JSON, DROSSEL_TEXT("{'email':'bob'}"), "bob!" },
        { JSON, DROSSEL_TEXT("{email:\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{/*\"*/\"email\"//:\n:/**/\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("/* x */ {\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\"}/*"), "bob!" },
        { JSON, DROSSEL_TEXT("{\"email\":\"bob\"}/"), "bob!" },
        { JSON, DROSSEL_TEXT("\xef\xbb\xbf\xef\xbb\xbf{\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("\xff\xfe{\0\"\0e\0"), "!" },
        { JSON, DROSSEL_TEXT("\0{\0\"\0e"), "!" },
        { "text/plain", DROSSEL_TEXT("\xfe\xff\0{\0}"), "!" },
        { "text/plain", DROSSEL_TEXT("\0\0\xfe\xff\0\0\0{\0\0\0}"), "!" },
        { "text/plain", DROSSEL_TEXT(" \0{\0}\0"), "!" },
        { "application/grpc", DROSSEL_TEXT("\0\0\0\0\5hello"), "" },
    };
    BODY_ASSERT_ALL(table, body_json_email);
}

static void what_looks_like_json_is_json(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { "APPLICATION/JSON;charset=UTF-8", DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob" },
        { "text/json", DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob" },
        { "application/vnd.api+json", DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob" },
        { "application/x-www-form-urlencoded", DROSSEL_TEXT("\r\n{\"email\":\"bob\"}"), "bob" },
        { "text/plain", DROSSEL_TEXT("\xef\xbb\xbf {\"email\":\"bob\"}"), "bob" },
        { "text/plain", DROSSEL_TEXT("email=bob"), "" },
        { NULL, DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob" },
        { JSON "; charset=utf-16", DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob!" },
        { JSON "; charset='utf-8'", DROSSEL_TEXT("{\"email\":\"bob\"}"), "bob!" },
        { JSON, DROSSEL_TEXT("email=bob"), "!" },
    };
    BODY_ASSERT_ALL(table, body_json_email);
}

static void no_depth_hides_a_key(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    static char body[3 * DEPTH + 64];
    for (int mixed = 0; mixed < 2; mixed++) {
        size_t size = (size_t)sprintf(body, "{\"a\":");
        for (int i = 0; i < DEPTH; i++)
            body[size++] = '[';
        if (mixed)
            size += (size_t)sprintf(body + size, "{\"email\":\"eve\",\"x\":[1,\"y\"]},2");
        for (int i = 0; i < DEPTH; i++)
            body[size++] = ']';
        size += (size_t)sprintf(body + size, ",\"email\":\"bob\"}");
        struct body_case test = { JSON, { body, size }, "bob" };
        body_assert(&test, body_json_email, 1);
        test = (struct body_case){ JSON, { body, DEPTH }, "!" };
        body_assert(&test, body_json_email, 1);
    }
}

static void the_last_of_many_keys_is_found(void **state)
{
    (void)state;
    static char body[300000];
    size_t size = (size_t)sprintf(body, "{");
    for (int i = 0; i < 10000; i++)
        size += (size_t)snprintf(body + size, sizeof body - size, "\"f%d\":\"%d\",", i, i);
    size += (size_t)snprintf(body + size, sizeof body - size, "\"email\":\"bob\"}");
    struct body_case test = { JSON, { body, size }, "bob" };
    body_assert(&test, body_json_email, 1);
}

static size_t random_json(uint64_t *seed, char *out)
{
    static const char *const tokens[] = { "{",    "}",         "[",           "]",           ",",
                                          ":",    "\"email\"", "\"a\":",      "\"b\"",       "7",
                                          "null", " ",         "{\"email\":", ",\"email\":", "\"c\"}" };
    size_t size = 0;
    for (int i = 0; i < 10; i++) {
        *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const char *token = tokens[(*seed >> 40) % (sizeof tokens / sizeof *tokens)];
        memcpy(out + size, token, strlen(token));
        size += strlen(token);
        if ((*seed >> 33) % 8 == 0)
            break;
    }
    return size;
}

static bool finds(const struct body_found *found, const char *text)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->value[i].text.size == strlen(text) && memcmp(found->value[i].text.data, text, strlen(text)) == 0)
            return true;
    return false;
}

/* What Jansson refuses is malformed, what it accepts is not, and the value that it keeps is among those found. */
static void a_library_agrees_on_what_is_json(void **state)
{
    (void)state;
    static const struct body_wanted nowhere = { BODY_JSON, DROSSEL_TEXT("none") };
    static const struct drossel_text type = DROSSEL_TEXT(JSON);
    uint64_t seed = 5;
    unsigned accepted = 0, found_values = 0;
    for (int i = 0; i < 300000; i++) {
        char bytes[128] = "", buffer[128];
        struct body body = { .content_types = &type,
                             .content_type_count = 1,
                             .bytes = { bytes, random_json(&seed, bytes) } };
        struct body_found found;
        json_t *model = json_loadb(bytes, body.bytes.size, JSON_DECODE_ANY, NULL);
        body_found_init(&found, buffer, sizeof buffer);
        body_find(&body, &nowhere, 1, &found);
        bool blank = strspn(bytes, " ") >= body.bytes.size;
        if (!blank && found.malformed != (model == NULL))
            fail_msg("%.*s: %s", (int)body.bytes.size, bytes, found.malformed ? "malformed" : "not malformed");
        body_find(&body, body_json_email, 1, &found);
        const char *kept = json_string_value(json_object_get(model, "email"));
        if (kept != NULL && !finds(&found, kept))
            fail_msg("%.*s: not found", (int)body.bytes.size, bytes);
        accepted += model != NULL;
        found_values += kept != NULL;
        json_decref(model);
    }
    assert_true(accepted > 1000 && found_values > 50);
}

static unsigned random_of(uint64_t *seed, unsigned n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*seed >> 33) % n;
}

static void describe_json(const char *bytes, size_t size, char *out, size_t cap)
{
    static char buffer[BODY_BUFFER_BYTES];
    static const struct body_wanted wanted[] = { { BODY_JSON, DROSSEL_TEXT("email") },
                                                 { BODY_JSON, DROSSEL_TEXT("user.email") } };
    struct body_sources sources = body_sources_of(wanted, 2);
    char *copy = malloc(size); /* of its exact size, so that one byte too many is seen */
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    struct body_found found;
    body_found_init(&found, buffer, sizeof buffer);
    struct body_search search = { &sources, &found };
    json_values((struct drossel_text){ copy, size }, &search);
    free(copy);
    body_describe(&found, out, cap);
}

/* Behind a member that is a number an object is read token by token: the same must come of it. */
static void members_are_found_alike_with_and_without_the_grammar(void **state)
{
    (void)state;
    static const char *const pieces[] = { "\"email\"",
                                          "\"email\":",
                                          "\"email\":\"bob\",",
                                          "\"Email\" : \"eve\" ,",
                                          "\"password\":\"correct horse battery\",",
                                          ":",
                                          ",",
                                          "}",
                                          "{",
                                          "[",
                                          "]",
                                          " ",
                                          "\"",
                                          "\\",
                                          "\"a\\\"b\"",
                                          "null",
                                          "1",
                                          "/* */",
                                          "'x'",
                                          "\x01",
                                          "\"\\u0065mail\":",
                                          "\"user\":",
                                          "\"x\",",
                                          "\"\":\"\",",
                                          "\"k\xe2\x84\xaa\":" };
    static char ours[2 * BODY_BUFFER_BYTES], wanted[2 * BODY_BUFFER_BYTES];
    uint64_t seed = 9;
    unsigned found = 0, faulty = 0;
    for (unsigned round = 0; round < 60000; round++) {
        char body[1024] = "{\"zz\":0,", alone[1024] = "{";
        strcat(body, "\"a\":\"b\","); /* what begins otherwise is no plain member, and no comparison */
        strcat(alone, "\"a\":\"b\",");
        for (unsigned n = 1 + random_of(&seed, 10); n > 0; n--) {
            const char *piece = pieces[random_of(&seed, sizeof pieces / sizeof *pieces)];
            strcat(body, piece);
            strcat(alone, piece);
        }
        if (random_of(&seed, 2) == 0) {
            strcat(body, "\"last\":\"one\"}");
            strcat(alone, "\"last\":\"one\"}");
        }
        describe_json(alone, strlen(alone), ours, sizeof ours);
        describe_json(body, strlen(body), wanted, sizeof wanted);
        if (strcmp(ours, wanted) != 0)
            fail_msg("%s\nfound %s, expected %s", alone, ours, wanted);
        found += *ours != '!' && *ours != '\0';
        faulty += strchr(ours, '!') != NULL;
    }
    assert_true(found > 5000 && faulty > 5000 && faulty < 59900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_a_key_is_found),
        cmocka_unit_test(a_path_leads_through_objects),
        cmocka_unit_test(text_is_decoded),
        cmocka_unit_test(an_integer_has_one_text),
        cmocka_unit_test(a_number_counts_as_each_application_reads_it),
        cmocka_unit_test(neighbours_that_are_one_double_share_a_text),
        cmocka_unit_test(another_kind_of_value_is_malformed),
        cmocka_unit_test(faults_hide_nothing_and_are_told),
        cmocka_unit_test(what_looks_like_json_is_json),
        cmocka_unit_test(no_depth_hides_a_key),
        cmocka_unit_test(the_last_of_many_keys_is_found),
        cmocka_unit_test(a_library_agrees_on_what_is_json),
        cmocka_unit_test(members_are_found_alike_with_and_without_the_grammar),
    };
    return cmocka_run_group_tests_name("json body", tests, NULL, NULL);
}
