/* The warning that all visitors share one key: when it comes, and when it must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "request/proxywatch.h"

static struct drossel_address address(const char *text)
{
    struct drossel_address parsed;
    assert_int_equal(drossel_address_parse(text, strlen(text), &parsed), DROSSEL_OK);
    return parsed;
}

/* Sends `count` requests of one client, with `values` different forwarding headers in turn.  Returns at which request it
 * was told, counted from 1, or 0. */
static unsigned send(struct proxywatch *watch, const struct client_rules *rules, const char *client, unsigned count,
                     unsigned values)
{
    struct drossel_address from = address(client);
    unsigned told = 0;
    for (unsigned i = 0; i < count; i++) {
        char text[32];
        int size = snprintf(text, sizeof(text), "203.0.113.%u", i % values);
        if (proxywatch_observe(watch, rules, &from, proxywatch_hash(text, (size_t)size)) && told == 0)
            told = i + 1;
    }
    return told;
}

static void varying_visitors_behind_a_private_address_are_told_once(void **state)
{
    (void)state;
    static const char *const private[] = { "127.0.0.1", "10.0.0.7", "172.17.0.1", "192.168.1.1",
                                           "::1",       "fd00::1",  "unix" };
    for (size_t i = 0; i < sizeof(private) / sizeof(*private); i++) {
        struct proxywatch watch = { 0 };
        struct client_rules rules = { 0 };
        assert_int_equal(send(&watch, &rules, private[i], 200, 100), PROXYWATCH_REQUESTS);
        assert_true(watch.done);
        assert_int_equal(send(&watch, &rules, private[i], 200, 100), 0);
    }
}

static void a_trusted_public_address_is_a_suspect_too(void **state)
{
    (void)state;
    struct drossel_address edge = address("198.51.100.7");
    struct netset *trusted = netset_open();
    assert_non_null(trusted);
    assert_true(netset_add(trusted, &edge, 32) && netset_seal(trusted));
    struct client_rules rules = { .trusted = trusted };
    struct proxywatch watch = { 0 };
    assert_int_equal(send(&watch, &rules, "198.51.100.8", 1000, 200), 0);
    assert_int_equal(send(&watch, &rules, "198.51.100.7", 1000, 200), PROXYWATCH_REQUESTS);
    netset_close(trusted);
}

static void one_visitor_with_a_steady_header_is_no_sign(void **state)
{
    (void)state;
    struct proxywatch watch = { 0 };
    struct client_rules rules = { 0 };
    assert_int_equal(send(&watch, &rules, "127.0.0.1", 100000, 1), 0);
    assert_int_equal(send(&watch, &rules, "127.0.0.1", 100000, PROXYWATCH_VALUES / 2), 0);
}

static void public_visitors_are_no_sign(void **state)
{
    (void)state;
    struct proxywatch watch = { 0 };
    struct client_rules rules = { 0 };
    assert_int_equal(send(&watch, &rules, "203.0.113.9", 10000, 200), 0);
}

static void recovered_visitors_outweigh_the_requests_of_the_proxy_itself(void **state)
{
    (void)state;
    struct proxywatch watch = { 0 };
    struct client_rules rules = { 0 };
    for (unsigned i = 0; i < 500; i++) {
        assert_int_equal(send(&watch, &rules, "127.0.0.1", 1, 1), 0);
        assert_int_equal(send(&watch, &rules, "203.0.113.9", 3, 3), 0);
    }
    assert_false(watch.done);
}

static void some_direct_visitors_do_not_hide_it(void **state)
{
    (void)state;
    struct proxywatch watch = { 0 };
    struct client_rules rules = { 0 };
    unsigned told = 0;
    for (unsigned i = 0; i < 100 && told == 0; i++) {
        told = send(&watch, &rules, "127.0.0.1", 5, 200);
        struct drossel_address from = address("127.0.0.1");
        if (proxywatch_observe(&watch, &rules, &from, proxywatch_hash((const char *)&i, sizeof(i))))
            told = 1;
        assert_int_equal(send(&watch, &rules, "203.0.113.9", 1, 1), 0);
    }
    assert_int_not_equal(told, 0);
}

static void it_is_calm_while_visitors_have_addresses_of_their_own(void **state)
{
    (void)state;
    struct proxywatch watch = { 0 };
    struct client_rules rules = { 0 };
    (void)send(&watch, &rules, "203.0.113.9", PROXYWATCH_CALM - 1, 3);
    assert_false(proxywatch_is_calm(&watch));
    (void)send(&watch, &rules, "127.0.0.1", 2, 1); /* the proxy's own requests */
    (void)send(&watch, &rules, "203.0.113.9", 2, 1);
    assert_true(proxywatch_is_calm(&watch));
    (void)send(&watch, &rules, "127.0.0.1", PROXYWATCH_REQUESTS / 2, 1);
    assert_false(proxywatch_is_calm(&watch));
    (void)send(&watch, &rules, "127.0.0.1", PROXYWATCH_REQUESTS, 100);
    assert_true(watch.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varying_visitors_behind_a_private_address_are_told_once),
        cmocka_unit_test(a_trusted_public_address_is_a_suspect_too),
        cmocka_unit_test(one_visitor_with_a_steady_header_is_no_sign),
        cmocka_unit_test(public_visitors_are_no_sign),
        cmocka_unit_test(recovered_visitors_outweigh_the_requests_of_the_proxy_itself),
        cmocka_unit_test(some_direct_visitors_do_not_hide_it),
        cmocka_unit_test(it_is_calm_while_visitors_have_addresses_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
