/* Who is a person, and how a profile counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/suggest_person.h"
#include "cli/suggest_prose.h"

#define BROWSER "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
#define SECOND UINT64_C(1000000000)

static struct traffic_signs *signs;
static struct profile *profile;
static uint64_t now_ns;

static int set_up(void **state)
{
    (void)state;
    now_ns = 1700000000 * SECOND;
    signs = traffic_open();
    profile = signs != NULL ? profile_open(signs) : NULL;
    return profile != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    profile_close(profile);
    traffic_close(signs);
    return 0;
}

/* `times` requests, every `gap_s` seconds. */
static void ask(const char *name, const char *method, const char *target, const char *agent, uint16_t status, int times,
                double gap_s)
{
    for (int i = 0; i < times; i++) {
        struct log_record record = { .t_ns = now_ns, .status = status, .duration_ns = LOG_NO_DURATION };
        record.method = (struct drossel_text){ method, strlen(method) };
        record.target = (struct drossel_text){ target, strlen(target) };
        record.agent = (struct drossel_text){ agent, strlen(agent) };
        assert_true(profile_arrive(profile, &record, (struct drossel_text){ name, strlen(name) }));
        now_ns += (uint64_t)(gap_s * 1e9);
    }
}

/* A person who gives the log its static files, and its agents. */
static void somebody(void)
{
    for (int i = 0; i < 12; i++) {
        ask("somebody", "GET", i % 2 == 0 ? "/a" : "/b", BROWSER, 200, 1, 3 + i % 5 * 2);
        ask("somebody", "GET", "/a.css", BROWSER, 200, 4, 0.2);
    }
}

static struct client *judge(const char *name)
{
    struct person_signs log = person_signs_of(profile);
    for (uint32_t i = 0; i < profile->count; i++)
        if (strcmp(profile->client[i]->name, name) == 0) {
            person_judge(profile->client[i], &log);
            return profile->client[i];
        }
    fail_msg("nobody is called %s", name);
    return NULL;
}

static void clients_are_what_they_say_or_behave_like(void **state)
{
    static const struct {
        const char *method, *target, *agent;
        uint16_t status;
        int times;
        double gap_s;
        enum client_kind kind;
    } row[] = {
        { "GET", "/a", "ExampleBot/1.0 (+https://bot.example/)", 200, 1, 1, CLIENT_BOT },
        { "GET", "/a", "curl/8.0", 200, 3, 1, CLIENT_BOT },
        { "GET", "/a", "Mozilla/5.0 (compatible; GOOGLEBOT/2.1)", 200, 3, 1, CLIENT_BOT },
        { "GET", "/a", "", 200, 5, 9, CLIENT_MACHINE }, /* others have agents */
        { "GET", "/a", "", 200, 4, 9, CLIENT_UNCLEAR },
        { "POST", "/login", BROWSER, 401, 3, 300, CLIENT_MACHINE }, /* nothing but wrong passwords */
        { "POST", "/login", BROWSER, 401, 2, 300, CLIENT_UNCLEAR },
        { "POST", "/login", BROWSER, 302, 9, 300, CLIENT_UNCLEAR },
        { "GET", "/a", BROWSER, 200, 21, 4, CLIENT_MACHINE },  /* like a clock */
        { "GET", "/a", BROWSER, 200, 19, 90, CLIENT_UNCLEAR }, /* pages without files, but few */
        { "GET", "/a", BROWSER, 200, 20, 90, CLIENT_MACHINE },
        { "GET", "/a", BROWSER, 200, 1, 1, CLIENT_UNCLEAR },
        { "GET", "/robots.txt", BROWSER, 200, 1, 1, CLIENT_MACHINE },
        { "GET", "/a", BROWSER, 200, 40, 0.01, CLIENT_MACHINE }, /* a pace that no hand has */
    };
    char name[16];
    (void)state;
    somebody();
    assert_int_equal(judge("somebody")->kind, CLIENT_PERSON);
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        snprintf(name, sizeof name, "row %zu", r);
        ask(name, row[r].method, row[r].target, row[r].agent, row[r].status, row[r].times, row[r].gap_s);
        struct client *client = judge(name);
        if (client->kind != row[r].kind)
            fail_msg("row %zu: %s, %s", r, client_kind_name[client->kind], client->why);
    }
}

static void a_browser_with_a_full_cache_is_no_machine(void **state)
{
    (void)state;
    somebody();
    for (int i = 0; i < 40; i++) {
        struct log_record record = { .t_ns = now_ns,
                                     .status = 200,
                                     .duration_ns = LOG_NO_DURATION,
                                     .method = DROSSEL_TEXT("GET"),
                                     .agent = DROSSEL_TEXT(BROWSER),
                                     .referer = DROSSEL_TEXT("https://www.example/a") };
        record.target = i % 2 == 0 ? (struct drossel_text)DROSSEL_TEXT("/a") : (struct drossel_text)DROSSEL_TEXT("/b");
        struct drossel_text name = DROSSEL_TEXT("reader");
        assert_true(profile_arrive(profile, &record, name));
        now_ns += (uint64_t)(1 + i % 7 * 5) * SECOND;
    }
    assert_int_equal(judge("reader")->kind, CLIENT_UNCLEAR);
}

static void a_log_without_static_files_makes_nobody_a_person_nor_a_machine_by_them(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++)
        ask("reader", "GET", i % 2 == 0 ? "/a" : "/b", BROWSER, 200, 1, 1 + i % 7 * 5);
    assert_int_equal(judge("reader")->kind, CLIENT_UNCLEAR);
}

static void a_log_without_agents_still_knows_people_by_their_static_files(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        ask("reader", "GET", "/a", "", 200, 1, 7);
        ask("reader", "GET", "/a.css", "", 200, 3, 0.1);
    }
    assert_int_equal(judge("reader")->kind, CLIENT_PERSON);
}

static void every_client_has_counts_and_peaks_of_his_own(void **state)
{
    char name[16];
    (void)state;
    for (int lap = 0; lap < 3; lap++)
        for (int i = 0; i < 2000; i++) {
            snprintf(name, sizeof name, "c%d", i);
            ask(name, "GET", lap == 0 ? "/a.css" : "/a", BROWSER, 200, 1 + i % 2, 0);
        }
    assert_int_equal(profile->count, 2000);
    for (uint32_t i = 0; i < 2000; i++) {
        const struct client *client = profile->client[i];
        assert_int_equal(client_total(client, TRAFFIC_ALL), 3 + 3 * (i % 2));
        assert_int_equal(client_total(client, TRAFFIC_STATIC), 1 + i % 2);
        assert_int_equal(client_peak(client, TRAFFIC_PAGE, PEAK_10S), 2 + 2 * (i % 2));
        assert_int_equal(client_total(client, TRAFFIC_LOGIN), 0);
    }
}

static void a_second_look_counts_only_what_it_is_asked_for(void **state)
{
    struct log_record record = { .t_ns = 5,
                                 .status = 401,
                                 .duration_ns = LOG_NO_DURATION,
                                 .method = DROSSEL_TEXT("POST"),
                                 .target = DROSSEL_TEXT("/login") };
    struct drossel_text name = DROSSEL_TEXT("c");
    unsigned kinds = TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_FAILURE);
    (void)state;
    assert_true(profile_arrive(profile, &record, name));
    profile_again(profile, kinds);
    assert_int_equal(client_total(profile->client[0], TRAFFIC_LOGIN), 0);
    assert_true(profile_arrive_again(profile, &record, name, kinds));
    assert_int_equal(client_total(profile->client[0], TRAFFIC_LOGIN), 1);
    assert_int_equal(client_total(profile->client[0], TRAFFIC_PAGE), 1);
    assert_int_equal(profile->requests[TRAFFIC_FAILURE], 1);
    assert_int_equal(profile->site_failures.total, 1);
}

static void texts_of_a_log_are_harmless_on_a_terminal(void **state)
{
    char out[12];
    (void)state;
    assert_string_equal(prose_plain("a\x1b[2J\x07", 6, out, sizeof out), "a?[2J?");
    assert_string_equal(prose_plain("a\nb\xe2\x80\xae", 6, out, sizeof out), "a?b???");
    assert_string_equal(prose_plain("12345678901", 11, out, sizeof out), "12345678901");
    assert_string_equal(prose_plain("123456789012", 12, out, sizeof out), "12345678...");
}

static void numbers_and_spans_are_as_a_person_writes_them(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } row[] = { { 0, "0 s" },       { 90, "90 s" },    { 178, "3.0 min" },
                { 2502, "42 min" }, { 9000, "2.5 h" }, { 475200, "5.5 days" } };
    char out[PROSE_COUNT];
    (void)state;
    assert_string_equal(prose_count(0, out), "0");
    assert_string_equal(prose_count(999, out), "999");
    assert_string_equal(prose_count(1234567, out), "1,234,567");
    for (size_t r = 0; r < sizeof row / sizeof *row; r++)
        assert_string_equal(prose_span(row[r].seconds * SECOND, out), row[r].text);
}

int main(void)
{
#define WITH_PROFILE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_PROFILE(clients_are_what_they_say_or_behave_like),
        WITH_PROFILE(a_browser_with_a_full_cache_is_no_machine),
        WITH_PROFILE(a_log_without_static_files_makes_nobody_a_person_nor_a_machine_by_them),
        WITH_PROFILE(a_log_without_agents_still_knows_people_by_their_static_files),
        WITH_PROFILE(every_client_has_counts_and_peaks_of_his_own),
        WITH_PROFILE(a_second_look_counts_only_what_it_is_asked_for),
        cmocka_unit_test(texts_of_a_log_are_harmless_on_a_terminal),
        cmocka_unit_test(numbers_and_spans_are_as_a_person_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
