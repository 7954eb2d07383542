/* What a request is by its path, what paths teach, and who is a proxy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/suggest_paths.h"
#include "cli/suggest_proxy.h"

static struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, strlen(text) };
}

static struct log_record record_of(const char *method, const char *target, uint16_t status)
{
    return (struct log_record){
        .method = text_of(method), .target = text_of(target), .status = status, .duration_ns = LOG_NO_DURATION
    };
}

static struct log_record line_of(const char *request)
{
    return (struct log_record){ .request = text_of(request), .duration_ns = LOG_NO_DURATION };
}

static void the_end_of_the_last_part_of_a_path_makes_a_static_file(void **state)
{
    static const struct {
        const char *request;
        bool is_static;
    } row[] = {
        { "GET /a.css HTTP/1.1", true },
        { "GET /A.CSS HTTP/1.1", true },
        { "GET /a.css", true },
        { "GET /a.css?v=7 HTTP/1.1", true },
        { "GET /a?f=.css HTTP/1.1", false },
        { "GET /a.css#x HTTP/1.1", true },
        { "GET /a.css/ HTTP/1.1", false },
        { "GET /css HTTP/1.1", false },
        { "GET /x.y/css HTTP/1.1", false },
        { "GET .js HTTP/1.1", true },
        { "GET /robots.txt HTTP/1.1", false },
        { "GET /a.tar.gz HTTP/1.1", true },
        { "GET http://h/a.png HTTP/1.1", true },
        { "GET http://h.css HTTP/1.1", false },
        { "GET http://h/a?b=http://c/d.css HTTP/1.1", false },
        { "-", false },
        { "", false },
        { "GET", false },
        { "\x16\x03\x01", false },
        { "GET  /a.css", false },
        { "GET /a.woff2 HTTP/2", true },
        { "GET /a.woff22 HTTP/2", false },
        { "GET /a. HTTP/2", false },
        { "x y.css z", true },
    };
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct log_record record = line_of(row[r].request);
        if (traffic_is_static(traffic_path_of(&record)) != row[r].is_static)
            fail_msg("%s", row[r].request);
    }
}

static void a_page_is_also_what_its_name_says(void **state)
{
    static const struct {
        const char *method, *target;
        uint16_t status;
        unsigned kinds; /* beside page */
    } row[] = {
        { "POST", "/login", 200, TRAFFIC_BIT(TRAFFIC_LOGIN) },
        { "POST", "/login", 401, TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_FAILURE) },
        { "POST", "/login", 429, TRAFFIC_BIT(TRAFFIC_LOGIN) },
        { "GET", "/login", 200, 0 },
        { "POST", "/de/Sign-In/", 403, TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_FAILURE) },
        { "POST", "/wp-login.php", 200, TRAFFIC_BIT(TRAFFIC_LOGIN) },
        { "POST", "/xmlrpc.php", 200, TRAFFIC_BIT(TRAFFIC_LOGIN) },
        { "POST", "/oauth/token", 400, TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_FAILURE) },
        { "POST", "/api/user/authenticate", 422,
          TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_FAILURE) | TRAFFIC_BIT(TRAFFIC_API) },
        { "POST", "/users/sessions", 201, TRAFFIC_BIT(TRAFFIC_LOGIN) },
        { "POST", "/loginsight", 200, 0 },
        { "POST", "/blog/login-problems", 200, 0 },
        { "GET", "/v1/items", 200, TRAFFIC_BIT(TRAFFIC_API) },
        { "GET", "/vacation", 200, 0 },
        { "POST", "/graphql", 200, TRAFFIC_BIT(TRAFFIC_API) },
        { "GET", "/data/list.json", 200, TRAFFIC_BIT(TRAFFIC_API) },
        { "GET", "/search?q=x", 200, TRAFFIC_BIT(TRAFFIC_EXPENSIVE) },
        { "GET", "/shop/search/", 200, TRAFFIC_BIT(TRAFFIC_EXPENSIVE) },
        { "GET", "/researching", 200, 0 },
        { "GET", "/export.csv", 200, TRAFFIC_BIT(TRAFFIC_EXPENSIVE) },
        { "GET", "/", 200, 0 },
    };
    struct traffic_signs *signs = traffic_open();
    (void)state;
    assert_non_null(signs);
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct log_record record = record_of(row[r].method, row[r].target, row[r].status);
        unsigned kinds = traffic_of(signs, &record, traffic_path_of(&record));
        if (kinds != (row[r].kinds | TRAFFIC_BIT(TRAFFIC_ALL) | TRAFFIC_BIT(TRAFFIC_PAGE)))
            fail_msg("%s %s %u: %x", row[r].method, row[r].target, row[r].status, kinds);
    }
    traffic_close(signs);
}

static void a_path_is_cut_before_what_names_one_thing(void **state)
{
    static const char *const row[][2] = {
        { "/", "/" },
        { "/search", "/search" },
        { "/p/123", "/p/" },
        { "/shop/item/8812", "/shop/item/" },
        { "/shop/item/list", "/shop/item/" },
        { "/api/v1/users", "/api/v1/" },
        { "/a/6f9619ff-8b86-d011-b42d-00c04fc964ff/x", "/a/" },
        { "/2026/01/05/title", "/" },
        { "/blog/a-very-long-title-of-a-page", "/blog/" },
        { "/export/report.csv", "/export/report.csv" },
        { "/a/", "/a/" },
    };
    bool is_whole;
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct drossel_text text = paths_beginning(text_of(row[r][0]), &is_whole);
        if (text.size != strlen(row[r][1]) || memcmp(text.data, row[r][1], text.size) != 0)
            fail_msg("%s: %.*s", row[r][0], (int)text.size, text.data);
    }
}

static void arrive(struct paths *paths, const struct log_record *record, int times)
{
    for (int i = 0; i < times; i++)
        paths_arrive(paths, record, traffic_path_of(record), false);
}

static void slow_paths_and_secret_logins_are_learned(void **state)
{
    struct paths *paths = paths_open();
    struct traffic_signs *signs = traffic_open();
    struct log_record quick = record_of("GET", "/p/1", 200), slow = record_of("GET", "/stock/list", 200);
    struct log_record some = record_of("POST", "/verify-pin", 401), hostile = record_of("POST", "/x\"\n- y", 401);
    (void)state;
    quick.duration_ns = 20000000;
    slow.duration_ns = 1900000000;
    arrive(paths, &quick, 500);
    arrive(paths, &slow, 30);
    struct log_record lonely = record_of("POST", "/scanned", 401);
    static const char *const client[] = { "192.0.2.1", "192.0.2.2" };
    arrive(paths, &lonely, 30);
    for (int i = 0; i < 30; i++) {
        some.client = hostile.client = text_of(client[i % 2]);
        arrive(paths, &some, 1);
        arrive(paths, &hostile, 1);
    }
    some.status = 200;
    arrive(paths, &some, 60);
    unsigned kinds = paths_teach(paths, signs);
    assert_int_equal(kinds, TRAFFIC_BIT(TRAFFIC_EXPENSIVE) | TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_FAILURE));
    assert_int_equal(signs->learned_costly.count, 1);
    assert_string_equal(signs->learned_costly.item[0].text, "/stock/list");
    assert_int_equal(signs->learned_login.count, 1); /* none that cannot stand in a policy, or is of one client */
    assert_string_equal(signs->learned_login.item[0].text, "/verify-pin");
    assert_true((traffic_of(signs, &slow, traffic_path_of(&slow)) & TRAFFIC_BIT(TRAFFIC_EXPENSIVE)) != 0);
    assert_true((traffic_of(signs, &some, traffic_path_of(&some)) & TRAFFIC_BIT(TRAFFIC_LOGIN)) != 0);
    struct log_record named = record_of("GET", "/search", 200);
    assert_true((traffic_of(signs, &named, traffic_path_of(&named)) & TRAFFIC_BIT(TRAFFIC_EXPENSIVE)) == 0);
    paths_close(paths);
    traffic_close(signs);
}

static void paths_that_a_cache_rarely_answers_are_learned(void **state)
{
    struct paths *paths = paths_open();
    struct traffic_signs *signs = traffic_open();
    struct log_record cached = record_of("GET", "/p/1", 200), rare = record_of("GET", "/basket", 200);
    (void)state;
    cached.cache = LOG_CACHE_HIT;
    rare.cache = LOG_CACHE_MISS;
    arrive(paths, &cached, 100);
    arrive(paths, &rare, 19);
    paths_teach(paths, signs);
    assert_int_equal(signs->learned_costly.count, 0);
    arrive(paths, &rare, 1);
    assert_int_equal(paths_teach(paths, signs), TRAFFIC_BIT(TRAFFIC_EXPENSIVE));
    assert_int_equal(signs->learned_costly.count, 1);
    assert_string_equal(signs->learned_costly.item[0].text, "/basket");
    paths_close(paths);
    traffic_close(signs);
}

static void the_slowest_paths_are_learned_first_and_no_more_than_fit(void **state)
{
    struct paths *paths = paths_open();
    struct traffic_signs *signs = traffic_open();
    char target[32];
    struct log_record quick = record_of("GET", "/p/1", 200);
    (void)state;
    quick.duration_ns = 1000000;
    arrive(paths, &quick, 5000);
    for (int i = 0; i < TRAFFIC_LEARNED_MOST + 4; i++) {
        snprintf(target, sizeof target, "/slow%c", 'a' + i);
        struct log_record slow = record_of("GET", target, 200);
        slow.duration_ns = (uint64_t)(i + 1) * 300000000;
        arrive(paths, &slow, 30);
    }
    paths_teach(paths, signs);
    assert_int_equal(signs->learned_costly.count, TRAFFIC_LEARNED_MOST);
    assert_string_equal(signs->learned_costly.item[0].text, "/slowt");
    paths_close(paths);
    traffic_close(signs);
}

static void paths_beyond_the_most_are_counted_and_not_kept(void **state)
{
    struct paths *paths = paths_open();
    char target[32];
    (void)state;
    for (int i = 0; i < PATHS_MOST + 100; i++) {
        snprintf(target, sizeof target, "/x%dq", i);
        struct log_record record = record_of("POST", target, 401);
        arrive(paths, &record, 1);
    }
    assert_int_equal(paths->count, PATHS_MOST);
    assert_int_equal(paths->left_out, 100);
    paths_close(paths);
}

static void the_client_is_the_first_from_the_right_that_is_no_proxy(void **state)
{
    static const struct {
        const char *client, *forwarded, *found;
        bool is_hidden;
    } row[] = {
        { "10.0.0.1", "203.0.113.7", "203.0.113.7", false },
        { "10.0.0.1", "6.6.6.6, 203.0.113.7", "203.0.113.7", false },
        { "::1", "203.0.113.7, 10.0.0.1", "203.0.113.7", false },
        { "unix:", "2001:db8::7", "2001:db8::7", false },
        { "10.0.0.1", "203.0.113.7, 10.0.0.9", "10.0.0.9", true }, /* a proxy that is not known yet */
        { "10.0.0.1", "192.168.0.2", "192.168.0.2", false },       /* somebody of the house */
        { "10.0.0.1", "192.168.0.2, 10.0.0.1", "192.168.0.2", false },
        { "10.0.0.9", "203.0.113.7", "10.0.0.9", false },
        { "198.51.100.1", "203.0.113.7", "198.51.100.1", false },
        { "lb.example", "203.0.113.7", "lb.example", false },
        { "10.0.0.1", "", "10.0.0.1", false },
        { "10.0.0.1", "nonsense", "10.0.0.1", false },
        { "10.0.0.1", "203.0.113.7, nonsense", "10.0.0.1", false },
        { "10.0.0.1", ",", "10.0.0.1", false },
    };
    static const char *const trusted[] = { "10.0.0.1", "::1", "unix" };
    struct proxies proxies = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof trusted / sizeof *trusted; i++) {
        struct drossel_address address;
        assert_int_equal(drossel_address_parse(trusted[i], strlen(trusted[i]), &address), DROSSEL_OK);
        proxies_trust(&proxies, &address);
        proxies_trust(&proxies, &address);
    }
    assert_true(proxies_seal(&proxies));
    assert_string_equal(proxies.list, "10.0.0.1, ::1, unix");
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct log_record record = { .client = text_of(row[r].client), .forwarded = text_of(row[r].forwarded) };
        uint64_t hidden = proxies.hidden;
        struct drossel_text found = proxies_client(&proxies, &record);
        if (found.size != strlen(row[r].found) || memcmp(found.data, row[r].found, found.size) != 0)
            fail_msg("%s %s: %.*s", row[r].client, row[r].forwarded, (int)found.size, found.data);
        assert_int_equal(proxies.hidden - hidden, row[r].is_hidden);
    }
    assert_false(proxies_are_more(&proxies));
    proxies_release(&proxies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_last_part_of_a_path_makes_a_static_file),
        cmocka_unit_test(a_page_is_also_what_its_name_says),
        cmocka_unit_test(a_path_is_cut_before_what_names_one_thing),
        cmocka_unit_test(slow_paths_and_secret_logins_are_learned),
        cmocka_unit_test(paths_that_a_cache_rarely_answers_are_learned),
        cmocka_unit_test(the_slowest_paths_are_learned_first_and_no_more_than_fit),
        cmocka_unit_test(paths_beyond_the_most_are_counted_and_not_kept),
        cmocka_unit_test(the_client_is_the_first_from_the_right_that_is_no_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
