/* Stamps of all kinds, in and out of their ranges. */
#include "told.h"

#define COUNT(table) (sizeof table / sizeof *table)

struct stamp_case {
    const char *text;
    uint64_t t_ns, resolution_ns; /* resolution 0: no stamp */
    size_t size;                  /* that it takes; 0: all */
};

typedef bool stamp_reader(struct drossel_text text, struct log_stamp *stamp);

static void assert_stamps(stamp_reader *read, const struct stamp_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct log_stamp stamp = { 0 };
        size_t size = strlen(cases[i].text);
        bool found = read((struct drossel_text){ cases[i].text, size }, &stamp);
        if (found != (cases[i].resolution_ns != 0))
            fail_msg("%s: %s", cases[i].text, found ? "taken for a stamp" : "not taken for a stamp");
        if (!found)
            continue;
        if (stamp.t_ns != cases[i].t_ns || stamp.resolution_ns != cases[i].resolution_ns ||
            stamp.size != (cases[i].size == 0 ? size : cases[i].size))
            fail_msg("%s: %llu, to %llu ns, %zu bytes", cases[i].text, (unsigned long long)stamp.t_ns,
                     (unsigned long long)stamp.resolution_ns, stamp.size);
    }
}

#define S UINT64_C(1000000000)

static const struct stamp_case clf[] = {
    { "10/Oct/2000:13:55:36 -0700", 971211336 * S, S, 0 },
    { "10/Oct/2000:13:55:36 -0700] \"GET", 971211336 * S, S, 26 },
    { "10/Oct/2000:13:55:36 +0000", 971186136 * S, S, 0 },
    { "10/Oct/2000:13:55:36", 971186136 * S, S, 0 },
    { "10/Oct/2000:13:55:36]", 971186136 * S, S, 20 },
    { "10/Oct/2000:13:55:36 +02:00", 971178936 * S, S, 0 },
    { "10/Oct/2000:13:55:36.123 -0700", 971211336 * S + 123000000, 1000000, 0 },
    { "10/Oct/2000:13:55:36.123456789", 971186136 * S + 123456789, 1, 0 },
    { "10/Oct/2000:13:55:36.1234567891", 971186136 * S + 123456789, 1, 0 },
    { "01/Jan/1970:00:00:00 +0000", 0, S, 0 },
    { "01/Jan/1970:00:00:00 -0100", 3600 * S, S, 0 },
    /* the hour that summer time has twice: the zone tells them apart */
    { "29/Oct/2023:02:30:00 +0200", 1698539400 * S, S, 0 },
    { "29/Oct/2023:02:30:00 +0100", 1698543000 * S, S, 0 },
    { "29/Feb/2024:23:59:59 +0000", 1709251199 * S, S, 0 },
    { "31/Dec/2016:23:59:60 +0000", 1483228800 * S, S, 0 }, /* a leap second is the second after it */
    { "01/Jan/1970:00:00:00 +0100", 0, 0, 0 },              /* before 1970 */
    { "10/Okt/2000:13:55:36 -0700", 0, 0, 0 },
    { "10/oct/2000:13:55:36 -0700", 0, 0, 0 },
    { "32/Oct/2000:13:55:36 -0700", 0, 0, 0 },
    { "00/Oct/2000:13:55:36 -0700", 0, 0, 0 },
    { "10/Oct/2000:25:55:36 -0700", 0, 0, 0 },
    { "10/Oct/2000:13:60:36 -0700", 0, 0, 0 },
    { "10/Oct/2000:13:55:61 -0700", 0, 0, 0 },
    { "10/Oct/9999:13:55:36 -0700", 0, 0, 0 },
    { "1O/Oct/2000:13:55:36 -0700", 0, 0, 0 },
    { "10/Oct/2000:13:55:3", 0, 0, 0 },
    { "06/10/2021:11:19:31 -0000", 0, 0, 0 },
    { "", 0, 0, 0 },
};

static void stamps_of_the_common_log_format_are_read(void **state)
{
    (void)state;
    assert_stamps(log_stamp_clf, clf, COUNT(clf));
}

static void the_cached_reader_agrees_whatever_it_read_before(void **state)
{
    (void)state;
    struct log_stamp_cache cache = { .minute_ns = 0 };
    for (size_t i = 0; i < COUNT(clf) * COUNT(clf); i++) {
        const char *text[2] = { clf[i / COUNT(clf)].text, clf[i % COUNT(clf)].text };
        for (int j = 0; j < 2; j++) {
            char line[80];
            struct log_stamp plain = { 0 }, cached = { 0 };
            snprintf(line, sizeof line, "%s]", text[j]);
            struct drossel_text whole = { line, strlen(line) };
            assert_int_equal(log_stamp_clf(whole, &plain), log_stamp_clf_cached(&cache, whole, &cached));
            assert_memory_equal(&plain, &cached, sizeof plain);
        }
    }
}

static void an_empty_cache_knows_no_minute(void **state)
{
    (void)state;
    struct log_stamp_cache cache = { .zoned = false };
    struct log_stamp stamp;
    static const char zeros[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                "05]       ";
    assert_false(log_stamp_clf_cached(&cache, (struct drossel_text){ zeros, sizeof zeros - 1 }, &stamp));
}

/* Zones, fractions and leap seconds of one minute, each behind each. */
static void a_cached_minute_keeps_its_zone_to_itself(void **state)
{
    (void)state;
    static const char *const tails[] = { "36 -0700", "36 +0000",    "37",       "60 -0700", "60",
                                         "36.5",     "36.25 -0700", "37 -0700", "38 +01",   "39 +01:00",
                                         "39 Z",     "39.125 Z",    "1x",       "39 +0100" };
    enum { TAILS = sizeof tails / sizeof *tails };
    struct log_stamp_cache cache = { .zoned = false };
    for (size_t i = 0; i < TAILS * TAILS * TAILS; i++) {
        const size_t which[] = { i % TAILS, i / TAILS % TAILS, i / TAILS / TAILS };
        for (size_t j = 0; j < 3; j++) {
            char line[80];
            struct log_stamp plain = { 0 }, cached = { 0 };
            snprintf(line, sizeof line, "10/Oct/2000:13:55:%s]", tails[which[j]]);
            struct drossel_text whole = { line, strlen(line) };
            assert_int_equal(log_stamp_clf(whole, &plain), log_stamp_clf_cached(&cache, whole, &cached));
            assert_memory_equal(&plain, &cached, sizeof plain);
        }
    }
}

static void the_seconds_of_a_cached_minute_are_all_right(void **state)
{
    (void)state;
    struct log_stamp_cache cache = { .minute_ns = 0 };
    for (int second = 0; second < 100; second++) {
        char line[80];
        struct log_stamp plain = { 0 }, cached = { 0 };
        snprintf(line, sizeof line, "10/Oct/2000:13:55:%02d -0700]", second);
        struct drossel_text whole = { line, strlen(line) };
        assert_int_equal(log_stamp_clf(whole, &plain), log_stamp_clf_cached(&cache, whole, &cached));
        assert_int_equal(plain.t_ns, cached.t_ns);
        assert_int_equal(second <= 60, plain.t_ns != 0);
    }
}

static void stamps_of_iso_8601_are_read(void **state)
{
    (void)state;
    static const struct stamp_case cases[] = {
        { "2015-09-06T05:58:05+09:00", 1441486685 * S, S, 0 },
        { "2015-09-06T05:58:05+0900", 1441486685 * S, S, 0 },
        { "2015-09-06T05:58:05+09", 1441486685 * S, S, 0 },
        { "2015-09-05T20:58:05Z", 1441486685 * S, S, 0 },
        { "2015-09-05t20:58:05z", 1441486685 * S, S, 0 },
        { "2015-09-05 20:58:05", 1441486685 * S, S, 0 },
        { "2015-09-05 20:58:05 host", 1441486685 * S, S, 19 },
        { "2015-09-05 20:58:05 +0000 x", 1441486685 * S, S, 25 },
        { "2015/09/05 20:58:05.5", 1441486685 * S + 500000000, 100000000, 0 },
        { "2015-09-05T20:58:05,123Z", 1441486685 * S + 123000000, 1000000, 0 },
        { "2015-09-05T20:58:05.123456Z", 1441486685 * S + 123456000, 1000, 0 },
        { "2015-09-05T20:58:05-", 1441486685 * S, S, 19 },
        { "2015-09-05T20:58", 0, 0, 0 },
        { "2015-13-05T20:58:05Z", 0, 0, 0 },
        { "1969-12-31T23:59:59Z", 0, 0, 0 },
        { "2015-09/05T20:58:05Z", 0, 0, 0 },
    };
    assert_stamps(log_stamp_iso, cases, COUNT(cases));
}

static void seconds_since_1970_are_read_whatever_their_unit(void **state)
{
    (void)state;
    static const struct stamp_case cases[] = {
        { "1700000000", 1700000000 * S, S, 0 },
        { "1700000000.5", 1700000000 * S + 500000000, 100000000, 0 },
        { "1700000000.123 x", 1700000000 * S + 123000000, 1000000, 14 },
        { "1700000000123", 1700000000 * S + 123000000, 1000000, 0 },
        { "1700000000123456", 1700000000 * S + 123456000, 1000, 0 },
        { "1700000000123456789", 1700000000 * S + 123456789, 1, 0 },
        { "1700000000.1234567899", 1700000000 * S + 123456789, 1, 0 },
        /* as Java and others write them */
        { "1.7E9", 1700000000 * S, S, 0 },
        { "1.700000000123E9", 1700000000 * S + 123000000, 1000000, 0 },
        { "1.700000000123E12", 1700000000 * S + 123000000, 1000000, 0 },
        { "1.7000000001234565e+12", 1700000000 * S + 123456500, 100, 0 },
        { "17.00000000E8 x", 1700000000 * S, S, 13 },
        { "1.7E99", S + 700000000, 100000000, 3 },
        { "1.7E", S + 700000000, 100000000, 3 },
        { "0", 0, S, 0 },
        { "9000000000", UINT64_C(9000000000) * S, S, 0 },
        { "99999999999999999999999999", 0, 0, 0 },
        { "-1", 0, 0, 0 },
        { "x", 0, 0, 0 },
    };
    assert_stamps(log_stamp_epoch, cases, COUNT(cases));
}

static void no_stamp_is_read_beyond_its_text(void **state)
{
    (void)state;
    /* In memory of exactly its size: a sanitizer sees a byte too many. */
    static stamp_reader *const readers[] = { log_stamp_clf, log_stamp_iso, log_stamp_epoch };
    static const char *const texts[] = { "10/Oct/2000:13:55:36.123 -0700]", "2015-09-06T05:58:05.123 +09:00",
                                         "1700000000.123" };
    for (size_t i = 0; i < 3; i++) {
        for (size_t size = 0; size <= strlen(texts[i]); size++) {
            char *copy = malloc(size + 1);
            struct log_stamp stamp;
            struct log_stamp_cache cache = { .minute_ns = 0 };
            memcpy(copy, texts[i], size);
            char *exact = realloc(copy, size == 0 ? 1 : size);
            if (readers[i]((struct drossel_text){ exact, size }, &stamp))
                assert_true(stamp.size <= size);
            if (i == 0)
                assert_int_equal(log_stamp_clf_cached(&cache, (struct drossel_text){ exact, size }, &stamp),
                                 size >= 20);
            free(exact);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_of_the_common_log_format_are_read),
        cmocka_unit_test(the_cached_reader_agrees_whatever_it_read_before),
        cmocka_unit_test(an_empty_cache_knows_no_minute),
        cmocka_unit_test(a_cached_minute_keeps_its_zone_to_itself),
        cmocka_unit_test(the_seconds_of_a_cached_minute_are_all_right),
        cmocka_unit_test(stamps_of_iso_8601_are_read),
        cmocka_unit_test(seconds_since_1970_are_read_whatever_their_unit),
        cmocka_unit_test(no_stamp_is_read_beyond_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
