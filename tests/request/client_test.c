/* The walk through forwarding headers: forms, malformed lines, bounds, reasons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "request/client.h"

/* The proxies of all these tests: 10.0.0.0/8, and the peer is 10.0.0.1. */
static struct netset *proxies;

static int open_proxies(void **state)
{
    (void)state;
    struct drossel_address address;
    unsigned bits;
    proxies = netset_open();
    if (netset_parse("10.0.0.0/8", 10, &address, &bits) != NULL)
        return -1;
    return netset_add(proxies, &address, bits) && netset_seal(proxies) ? 0 : -1;
}

static int close_proxies(void **state)
{
    (void)state;
    netset_close(proxies);
    return 0;
}

static struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, strlen(text) };
}

static struct client recover(struct client_rules rules, const char *name, const char *const *lines, size_t count)
{
    static struct drossel_header headers[1024];
    struct drossel_request request = { .headers = headers, .header_count = count };
    assert_int_equal(drossel_address_parse("10.0.0.1", 8, &request.peer), DROSSEL_OK);
    for (size_t i = 0; i < count; i++)
        headers[i] = (struct drossel_header){ text_of(name), text_of(lines[i]) };
    rules.trusted = proxies;
    return client_recover(&rules, &request);
}

struct line_case {
    const char *line, *address;
    enum client_reason reason;
};

static void assert_cases(enum client_source source, const char *name, const struct line_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char got[DROSSEL_ADDRESS_TEXT];
        struct client_rules rules = { .source = source, .recursive = true, .header = text_of(name) };
        struct client client = recover(rules, name, &cases[i].line, 1);
        drossel_address_format(&client.address, got);
        if (strcmp(got, cases[i].address) != 0 || client.reason != cases[i].reason)
            fail_msg("%s -> %s (%d), expected %s (%d)", cases[i].line, got, client.reason, cases[i].address,
                     cases[i].reason);
        assert_true(client.peer_trusted);
    }
}

static void elements_of_a_list_are_walked_from_the_right(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        { "192.0.2.1:8080", "192.0.2.1", CLIENT_FROM_HEADER },
        { "192.0.2.1:65536", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "192.0.2.1:", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "192.0.2.1:x", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "[2001:db8::7]:443", "2001:db8::7", CLIENT_FROM_HEADER },
        { "[2001:db8::7]443", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "[2001:db8::7]:0", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "[192.0.2.1]", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "[]", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "[", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "2001:db8::7:443", "2001:db8::7:443", CLIENT_FROM_HEADER },
        { "[::ffff:192.0.2.1]:80", "192.0.2.1", CLIENT_FROM_HEADER },
        { "::ffff:10.0.0.9", "10.0.0.9", CLIENT_ALL_TRUSTED },
        { "192.0.2.1, ::ffff:10.0.0.9", "192.0.2.1", CLIENT_FROM_HEADER },
        { "192.0.2.1,10.0.0.2", "192.0.2.1", CLIENT_FROM_HEADER },
        { "192.0.2.1,,10.0.0.2", "192.0.2.1", CLIENT_FROM_HEADER },
        { "192.0.2.1 ,\t , 10.0.0.2 , \t", "192.0.2.1", CLIENT_FROM_HEADER },
        { ", 10.0.0.2", "10.0.0.2", CLIENT_STOPPED_AT_GARBAGE },
        { "unix", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "unix:", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "unknown, 10.0.0.2", "10.0.0.2", CLIENT_STOPPED_AT_GARBAGE },
        { " \t ", "10.0.0.1", CLIENT_NO_HEADER },
        { "", "10.0.0.1", CLIENT_NO_HEADER },
        { ",", "10.0.0.1", CLIENT_NO_HEADER },
        { "10.0.0.3, 10.0.0.2", "10.0.0.3", CLIENT_ALL_TRUSTED },
        { "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, 192.0.2.1",
          "192.0.2.1", CLIENT_FROM_HEADER },
    };
    assert_cases(CLIENT_X_FORWARDED_FOR, "X-Forwarded-For", cases, sizeof cases / sizeof *cases);
    assert_cases(CLIENT_HEADER, "x-real-ip", cases, sizeof cases / sizeof *cases);
}

static void the_grammar_of_forwarded_is_kept(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        { "for=192.0.2.43", "192.0.2.43", CLIENT_FROM_HEADER },
        { "FOR=192.0.2.43;Proto=https;by=_x", "192.0.2.43", CLIENT_FROM_HEADER },
        { "for=\"192.0.2.43\"", "192.0.2.43", CLIENT_FROM_HEADER },
        { "for=\"192.0.2\\.43\"", "192.0.2.43", CLIENT_FROM_HEADER },
        { "for=\"[2001:db8::7]\"", "2001:db8::7", CLIENT_FROM_HEADER },
        { "for=\"[2001:db8::7]:4711\"", "2001:db8::7", CLIENT_FROM_HEADER },
        { "for=\"[2001:db8::7]:_gazonk\"", "2001:db8::7", CLIENT_FROM_HEADER },
        { "for=\"[::ffff:192.0.2.43]\"", "192.0.2.43", CLIENT_FROM_HEADER },
        { "for=[2001:db8::7]", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"2001:db8::7\"", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"[192.0.2.43]\"", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=192.0.2.43:47011", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"192.0.2.43:0\"", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"192.0.2.43:_\"", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=192.0.2.43;for=192.0.2.44", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=192.0.2.43;proto=a;PROTO=b", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for = 192.0.2.43", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"\"", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=192.0.2.43 for=192.0.2.44", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"192.0.2.43\"x", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"192.0.2.43\\", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=192.0.2.1, for=\"10.0.0.2", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=unix", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=192.0.2.43;", "192.0.2.43", CLIENT_FROM_HEADER },
        { ";;for=192.0.2.43", "192.0.2.43", CLIENT_FROM_HEADER },
        { "for=192.0.2.43, , for=10.0.0.2,", "192.0.2.43", CLIENT_FROM_HEADER },
        { "for=192.0.2.43\t;\tproto=https\t,\tfor=10.0.0.2", "192.0.2.43", CLIENT_FROM_HEADER },
        { "for=192.0.2.43, proto=https", "10.0.0.1", CLIENT_STOPPED_AT_GARBAGE },
        { "for=192.0.2.43, for=unknown, for=10.0.0.2", "10.0.0.2", CLIENT_STOPPED_AT_GARBAGE },
        { "for=\"_a,for=192.0.2.43\", for=10.0.0.2", "10.0.0.2", CLIENT_STOPPED_AT_GARBAGE },
        { "by=\"for=192.0.2.43\";for=198.51.100.1", "198.51.100.1", CLIENT_FROM_HEADER },
        { "a=1;b=1;c=1;d=1;e=1;f=1;g=1;h=1;i=1;j=1;k=1;l=1;m=1;n=1;o=1;p=1;for=192.0.2.43", "10.0.0.1",
          CLIENT_STOPPED_AT_GARBAGE },
        { "", "10.0.0.1", CLIENT_NO_HEADER },
        { " , ", "10.0.0.1", CLIENT_NO_HEADER },
    };
    assert_cases(CLIENT_FORWARDED, "Forwarded", cases, sizeof cases / sizeof *cases);
}

static void only_the_first_line_of_another_header_counts(void **state)
{
    (void)state;
    const char *const lines[] = { "198.51.100.9", "192.0.2.1" };
    char got[DROSSEL_ADDRESS_TEXT];
    struct client_rules rules = { .source = CLIENT_HEADER, .header = text_of("cf-connecting-ip"), .recursive = true };
    struct client client = recover(rules, "CF-Connecting-IP", lines, 2);
    drossel_address_format(&client.address, got);
    assert_string_equal(got, "198.51.100.9");
    rules.single = true;
    client = recover(rules, "CF-Connecting-IP", lines, 2);
    drossel_address_format(&client.address, got);
    assert_string_equal(got, "10.0.0.1");
    assert_int_equal(client.reason, CLIENT_STOPPED_AT_GARBAGE);
}

static void a_list_header_named_in_any_case_is_still_a_list(void **state)
{
    (void)state;
    const char *const lines[] = { "198.51.100.9", "192.0.2.1" };
    const char *const forwarded[] = { "for=198.51.100.9", "for=192.0.2.1" };
    char got[DROSSEL_ADDRESS_TEXT];
    struct client_rules rules = { .source = CLIENT_HEADER, .header = text_of("X-FORWARDED-for"), .recursive = true };
    struct client client = recover(rules, "x-forwarded-for", lines, 2);
    drossel_address_format(&client.address, got);
    assert_string_equal(got, "192.0.2.1");
    rules.header = text_of("FORWARDED");
    client = recover(rules, "forwarded", forwarded, 2);
    drossel_address_format(&client.address, got);
    assert_string_equal(got, "192.0.2.1");
}

static void the_peer_stands_without_a_header_to_read(void **state)
{
    (void)state;
    const char *line = "192.0.2.1";
    struct client client = recover((struct client_rules){ .source = CLIENT_PEER }, "x-forwarded-for", &line, 1);
    assert_int_equal(client.reason, CLIENT_IS_PEER);
    client = recover((struct client_rules){ .source = CLIENT_PROXY_PROTOCOL }, "x-forwarded-for", &line, 1);
    assert_int_equal(client.reason, CLIENT_IS_PEER);
    client = recover((struct client_rules){ .source = CLIENT_X_FORWARDED_FOR, .recursive = true }, "x-other", &line, 1);
    assert_int_equal(client.reason, CLIENT_NO_HEADER);
    assert_int_equal(client.address.bytes[0], 10);
    struct drossel_request request = { .peer.family = DROSSEL_UNIX };
    struct client_rules rules = { .source = CLIENT_X_FORWARDED_FOR, .trusted = proxies };
    client = client_recover(&rules, &request);
    assert_int_equal(client.reason, CLIENT_PEER_UNTRUSTED);
    assert_false(client.peer_trusted);
}

static void a_header_of_any_length_is_walked_within_bounds(void **state)
{
    (void)state;
    static char line[200000];
    const char *const only = line;
    struct client_rules rules = { .source = CLIENT_X_FORWARDED_FOR, .recursive = true };
    size_t size = (size_t)snprintf(line, sizeof line, "192.0.2.1");
    for (int i = 0; i < 300; i++)
        size += (size_t)snprintf(line + size, sizeof line - size, ", 10.0.0.2");
    struct client client = recover(rules, "x-forwarded-for", &only, 1);
    assert_int_equal(client.reason, CLIENT_STOPPED_AT_GARBAGE);
    assert_int_equal(client.address.bytes[3], 2);

    memset(line, ' ', 100000);
    memcpy(line + 100000, "10.0.0.3", 9);
    client = recover(rules, "x-forwarded-for", &only, 1);
    assert_int_equal(client.address.bytes[3], 3);
    assert_int_equal(client.reason, CLIENT_STOPPED_AT_GARBAGE);

    rules.source = CLIENT_FORWARDED;
    size = (size_t)snprintf(line, sizeof line, "for=192.0.2.1");
    for (int i = 0; i < 300; i++)
        size += (size_t)snprintf(line + size, sizeof line - size, ",for=10.0.0.2");
    client = recover(rules, "forwarded", &only, 1);
    assert_int_equal(client.reason, CLIENT_STOPPED_AT_GARBAGE);
    assert_int_equal(client.address.bytes[3], 2);
}

static void more_lines_than_any_chain_has_leave_the_peer(void **state)
{
    (void)state;
    const char *lines[1000];
    for (size_t i = 0; i < 1000; i++)
        lines[i] = "192.0.2.1";
    struct client_rules rules = { .source = CLIENT_X_FORWARDED_FOR, .recursive = true };
    assert_int_equal(recover(rules, "x-forwarded-for", lines, 128).reason, CLIENT_FROM_HEADER);
    struct client client = recover(rules, "x-forwarded-for", lines, 1000);
    assert_int_equal(client.reason, CLIENT_STOPPED_AT_GARBAGE);
    assert_int_equal(client.address.bytes[0], 10);
}

static void a_key_of_ipv6_is_its_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        unsigned prefix;
        const char *key;
    } cases[] = {
        { "2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::" },
        { "2001:db8:1:2fff::", 56, "2001:db8:1:2f00::" },
        { "2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6" },
        { "2001:db8:1:2:3:4:5:7", 127, "2001:db8:1:2:3:4:5:6" },
        { "ffff::", 1, "8000::" },
        { "203.0.113.7", 8, "203.0.113.7" },
        { "unix", 64, "unix" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drossel_address address;
        char text[DROSSEL_ADDRESS_TEXT];
        assert_int_equal(drossel_address_parse(cases[i].address, strlen(cases[i].address), &address), DROSSEL_OK);
        struct drossel_address key = client_key(&address, cases[i].prefix);
        drossel_address_format(&key, text);
        assert_string_equal(text, cases[i].key);
    }
}

static void private_addresses_are_no_visitors(void **state)
{
    (void)state;
    static const char *const private[] = { "10.1.2.3",    "127.0.0.1",   "172.16.0.1", "172.31.255.255",
                                           "192.168.1.1", "169.254.1.1", "100.64.0.1", "100.127.255.255",
                                           "::1",         "fd00::1",     "fc00::1",    "fe80::1",
                                           "unix" };
    static const char *const public[] = { "11.0.0.1",    "172.15.0.1",  "172.32.0.1",  "192.169.0.1",
                                          "100.63.0.1",  "100.128.0.1", "203.0.113.7", "::2",
                                          "2001:db8::1", "fe00::1",     "fec0::1" };
    struct drossel_address address;
    for (size_t i = 0; i < sizeof private / sizeof *private; i++) {
        assert_int_equal(drossel_address_parse(private[i], strlen(private[i]), &address), DROSSEL_OK);
        assert_true(client_is_private(&address));
    }
    for (size_t i = 0; i < sizeof public / sizeof *public; i++) {
        assert_int_equal(drossel_address_parse(public[i], strlen(public[i]), &address), DROSSEL_OK);
        assert_false(client_is_private(&address));
    }
}

static bool find_nothing_but_x(const struct drossel_request *request, struct drossel_text name, unsigned nth,
                               struct drossel_text *value)
{
    *value = text_of(request->context);
    return name.size == 1 && name.data[0] == 'x' && nth == 0;
}

static void headers_are_found_in_the_array_or_by_the_callback(void **state)
{
    (void)state;
    const struct drossel_header headers[] = {
        { DROSSEL_TEXT("X"), DROSSEL_TEXT("1") },
        { DROSSEL_TEXT("xx"), DROSSEL_TEXT("2") },
        { DROSSEL_TEXT("x"), DROSSEL_TEXT("3") },
    };
    char context[] = "from elsewhere";
    struct drossel_request request = { .headers = headers, .header_count = 3, .context = context };
    struct drossel_text value, name = DROSSEL_TEXT("x");
    assert_true(request_header(&request, name, 0, &value));
    assert_int_equal(value.data[0], '1');
    assert_true(request_header(&request, name, 1, &value));
    assert_int_equal(value.data[0], '3');
    assert_false(request_header(&request, name, 2, &value));
    request.find_header = find_nothing_but_x;
    assert_true(request_header(&request, name, 0, &value));
    assert_ptr_equal(value.data, context);
    assert_false(request_header(&request, name, 1, &value));
}

static void every_reason_is_told_in_words(void **state)
{
    (void)state;
    for (int reason = CLIENT_IS_PEER; reason <= CLIENT_STOPPED_AT_GARBAGE; reason++)
        assert_true(strlen(client_reason_text((enum client_reason)reason)) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_a_list_are_walked_from_the_right),
        cmocka_unit_test(the_grammar_of_forwarded_is_kept),
        cmocka_unit_test(only_the_first_line_of_another_header_counts),
        cmocka_unit_test(a_list_header_named_in_any_case_is_still_a_list),
        cmocka_unit_test(the_peer_stands_without_a_header_to_read),
        cmocka_unit_test(a_header_of_any_length_is_walked_within_bounds),
        cmocka_unit_test(more_lines_than_any_chain_has_leave_the_peer),
        cmocka_unit_test(a_key_of_ipv6_is_its_prefix),
        cmocka_unit_test(private_addresses_are_no_visitors),
        cmocka_unit_test(headers_are_found_in_the_array_or_by_the_callback),
        cmocka_unit_test(every_reason_is_told_in_words),
    };
    return cmocka_run_group_tests_name("client", tests, open_proxies, close_proxies);
}
