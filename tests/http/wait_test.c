/* How long a client waits, beyond the vectors: caches, bounds, rules, fields that contradict each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "drossel.h"

#define NOW 1796040000.0 /* Mon, 30 Nov 2026 12:00:00 GMT */

struct wait_case {
    int status;
    const char *headers[4]; /* `name: value` */
    unsigned attempt;
    const char *source;
    double min_s, max_s; /* a defer: not before min_s */
};

static struct drossel_wait wait_for(const struct wait_case *test, const struct drossel_wait_rules *rules)
{
    struct drossel_header headers[4];
    struct drossel_response response = {
        .status = test->status, .headers = headers, .now_s = NOW, .attempt = test->attempt
    };
    for (size_t i = 0; i < 4 && test->headers[i] != NULL; i++) {
        const char *colon = strchr(test->headers[i], ':');
        headers[response.header_count++] =
            (struct drossel_header){ { test->headers[i], (size_t)(colon - test->headers[i]) },
                                     { colon + 1, strlen(colon + 1) } };
    }
    return drossel_client_wait(&response, rules);
}

static void assert_cases(const struct wait_case *cases, size_t count, const struct drossel_wait_rules *rules)
{
    for (size_t i = 0; i < count; i++) {
        struct drossel_wait wait = wait_for(&cases[i], rules);
        bool defer = wait.action == DROSSEL_WAIT_DEFER;
        double min = defer ? wait.not_before_s : wait.min_s, max = defer ? wait.not_before_s : wait.max_s;
        if (strcmp(wait.source, cases[i].source) != 0 || min != cases[i].min_s || max != cases[i].max_s)
            fail_msg("case %zu: %s %f %f, expected %s %f %f", i, wait.source, min, max, cases[i].source, cases[i].min_s,
                     cases[i].max_s);
    }
}

static void a_response_is_read_as_a_whole(void **state)
{
    (void)state;
    static const struct wait_case cases[] = {
        { 429, { "Age: 5", "RateLimit: \"a\";r=0;t=30" }, 0, "backoff", 0, 1 },
        { 200, { "Age: 5", "RateLimit: \"a\";r=0;t=30" }, 0, "nothing", 0, 0 },
        { 429, { "Age: 0", "RateLimit: \"a\";r=0;t=30" }, 0, "ratelimit", 30, 33 },
        { 429, { "Age: x", "RateLimit: \"a\";r=0;t=30" }, 0, "ratelimit", 30, 33 },
        { 429, { "Age: 5", "Retry-After: 7" }, 0, "retry-after", 7, 8 },
        { 429, { "RateLimit: \"a\";r=0;t=30, \"b\";r=0;t=50, \"c\";r=9;t=90" }, 0, "ratelimit", 50, 55 },
        { 429, { "RateLimit: \"a\";r=0;t=30", "RateLimit: \"b\";r=0;t=50" }, 0, "ratelimit", 50, 55 },
        { 429, { "RateLimit: \"a\";r=0;t=-3, \"b\";r=0;t=5" }, 0, "ratelimit", 5, 6 },
        { 429, { "RateLimit: \"a\";a=0;w=30" }, 2, "backoff", 0, 4 },
        { 429, { "RateLimit: \"a\";r=0;t=600" }, 0, "ratelimit", 600, 630 },
        { 429, { "RateLimit: \"a\";r=0;t=601" }, 0, "ratelimit (capped: probe)", 600, 630 },
        { 503, { "Retry-After: 0", "RateLimit: \"a\";r=0;t=30" }, 1, "retry-after=0 -> backoff", 0, 2 },
        { 429, { "Retry-After: 9", "RateLimit: \"a\";r=0;t=30" }, 0, "retry-after", 9, 10 },
        { 404, { "Retry-After: 9" }, 0, "nothing", 0, 0 },
        { 404, { "RateLimit: \"a\";r=0;t=30" }, 0, "ratelimit", 30, 33 },
        { 500, { "Retry-After: 9" }, 0, "nothing", 0, 0 },
        { 429, { "Retry-After: 5, 6" }, 0, "backoff", 0, 1 },
        { 429, { "Retry-After: 5.5" }, 0, "backoff", 0, 1 },
        { 429, { "Retry-After: 5s" }, 0, "backoff", 0, 1 },
        { 429, { "Retry-After:" }, 0, "backoff", 0, 1 },
        { 429, { "Retry-After: 007" }, 0, "retry-after", 7, 8 },
        { 429, { "Retry-After:\t7\t" }, 0, "retry-after", 7, 8 },
        { 429, { "Retry-After: Monday, 30-Nov-26 12:00:40 GMT" }, 0, "retry-after", 40, 44 },
        { 429, { "Retry-After: Mon Nov 30 12:00:40 2026" }, 0, "retry-after", 40, 44 },
        { 429, { "Retry-After: Sunday, 06-Nov-94 08:49:37 GMT" }, 0, "retry-after=0 -> backoff", 0, 1 },
        { 429,
          { "Retry-After: Mon, 30 Nov 2026 12:00:40 GMT", "Date: Mon, 30 Nov 2026 12:00:30 GMT" },
          0,
          "retry-after",
          10,
          11 },
        { 429, { "Retry-After: Mon, 30 Nov 2026 12:00:40 GMT", "Retry-After: 5" }, 0, "retry-after", 40, 44 },
        { 429, { "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT" }, 0, "retry-after", 2147483647, 2147483647 },
        { 429, { NULL }, 4000000000u, "backoff", 0, 60 },
        { 429, { "X-RateLimit-Reset: 40" }, 0, "backoff", 0, 1 },
    };
    assert_cases(cases, sizeof cases / sizeof *cases, NULL);
}

static void legacy_fields_are_read_when_asked_for(void **state)
{
    (void)state;
    static const struct wait_case cases[] = {
        { 429, { "X-RateLimit-Reset: 40" }, 0, "x-ratelimit", 40, 44 },
        { 429, { "X-RateLimit-Remaining: 3", "X-RateLimit-Reset: 40" }, 0, "backoff", 0, 1 },
        { 429, { "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1796039990" }, 0, "backoff", 0, 1 },
        { 429,
          { "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1796043600" },
          0,
          "x-ratelimit (capped: probe)",
          600,
          630 },
        { 429, { "X-RateLimit-Reset: soon" }, 0, "backoff", 0, 1 },
        { 429, { "X-RateLimit-Reset: 40", "RateLimit: \"a\";r=0;t=30" }, 0, "ratelimit", 30, 33 },
        { 429, { "X-RateLimit-Reset: 40", "Retry-After: 3" }, 0, "retry-after", 3, 4 },
    };
    struct drossel_wait_rules rules = { .legacy_x_ratelimit = true };
    assert_cases(cases, sizeof cases / sizeof *cases, &rules);
}

static void rules_of_ones_own_are_kept(void **state)
{
    (void)state;
    static const struct wait_case cases[] = {
        { 429, { NULL }, 0, "backoff", 0, 0.5 },
        { 429, { NULL }, 3, "backoff", 0, 4 },
        { 429, { NULL }, 9, "backoff", 0, 10 },
        { 429, { "Retry-After: 20" }, 0, "retry-after", 20, 22 },
        { 429, { "Retry-After: 21" }, 0, "retry-after", 21, 21 },
        { 429, { "RateLimit: \"a\";a=0;w=21" }, 0, "ratelimit (capped: probe)", 20, 22 },
    };
    struct drossel_wait_rules rules = { .base_s = 0.5, .cap_s = 10, .max_sleep_s = 20, .draft_12 = true };
    assert_cases(cases, sizeof cases / sizeof *cases, &rules);
    assert_int_equal(drossel_client_wait(NULL, &rules).action, DROSSEL_WAIT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_is_read_as_a_whole),
        cmocka_unit_test(legacy_fields_are_read_when_asked_for),
        cmocka_unit_test(rules_of_ones_own_are_kept),
    };
    return cmocka_run_group_tests_name("client wait", tests, NULL, NULL);
}
