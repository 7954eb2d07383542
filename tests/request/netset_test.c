/* Sets of networks, against a model that asks every network in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "request/netset.h"

static uint64_t seed = 7;

static uint32_t random_bits(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

static void add(struct netset *set, const char *text)
{
    struct drossel_address address;
    unsigned bits;
    assert_null(netset_parse(text, strlen(text), &address, &bits));
    assert_true(netset_add(set, &address, bits));
}

static bool has(const struct netset *set, const char *text)
{
    struct drossel_address address;
    assert_int_equal(drossel_address_parse(text, strlen(text), &address), DROSSEL_OK);
    return netset_has(set, &address);
}

static void networks_of_both_families_are_told_apart(void **state)
{
    (void)state;
    struct netset *set = netset_open();
    add(set, "10.0.0.0/8");
    add(set, "192.0.2.1");
    add(set, "255.255.255.255");
    add(set, "2001:db8::/32");
    add(set, "::ffff:198.51.100.0/120");
    assert_true(netset_seal(set));
    static const char *const in[] = { "10.0.0.0",        "10.255.255.255", "192.0.2.1",
                                      "255.255.255.255", "2001:db8::",     "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                                      "198.51.100.77",   "::ffff:10.1.2.3" };
    static const char *const out[] = { "9.255.255.255", "11.0.0.0",        "192.0.2.0", "192.0.2.2",    "0.0.0.0",
                                       "2001:db9::",    "2001:db7:ffff::", "::",        "198.51.101.0", "unix" };
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_true(has(set, in[i]));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_false(has(set, out[i]));
    assert_false(netset_is_everything(set));
    assert_int_equal(netset_size(set), 5);
    netset_close(set);
}

static void unix_is_matched_by_unix_alone(void **state)
{
    (void)state;
    struct netset *set = netset_open();
    add(set, "127.0.0.0/8");
    add(set, "::1");
    assert_true(netset_seal(set));
    assert_false(has(set, "unix"));
    netset_close(set);
    set = netset_open();
    add(set, "unix");
    assert_true(netset_seal(set));
    assert_true(has(set, "unix"));
    assert_false(has(set, "127.0.0.1"));
    netset_close(set);
}

static void an_empty_set_and_no_set_have_nothing(void **state)
{
    (void)state;
    struct netset *set = netset_open();
    assert_true(netset_seal(set));
    assert_int_equal(netset_size(set), 0);
    assert_false(has(set, "0.0.0.0"));
    assert_false(has(set, "::"));
    assert_false(has(NULL, "10.0.0.1"));
    netset_close(set);
    netset_close(NULL);
}

static void touching_halves_are_everything(void **state)
{
    (void)state;
    static const char *const pairs[][2] = { { "0.0.0.0/1", "128.0.0.0/1" },
                                            { "::/1", "8000::/1" },
                                            { "0.0.0.0/0", "10.0.0.0/8" } };
    for (size_t i = 0; i < 3; i++) {
        struct netset *set = netset_open();
        add(set, pairs[i][1]);
        add(set, pairs[i][0]);
        assert_true(netset_seal(set));
        assert_true(netset_is_everything(set));
        assert_int_equal(netset_size(set), 1);
        netset_close(set);
    }
}

#define NETWORKS 3000

struct network {
    struct drossel_address address;
    unsigned bits;
};

static struct network random_network(unsigned family)
{
    struct network network = { .address.family = (uint8_t)family };
    unsigned size = family == DROSSEL_IPV4 ? 4 : 16;
    for (unsigned i = 0; i < size; i++)
        network.address.bytes[i] = (uint8_t)random_bits();
    if (random_bits() % 2 == 0)
        network.address.bytes[0] = 10; /* many in one place, so that they nest, touch and overlap */
    if (random_bits() % 2 == 0)
        network.address.bytes[1] = (uint8_t)(random_bits() % 3);
    network.bits = 8 + random_bits() % (size * 8 - 7);
    for (unsigned i = 0; i < size * 8; i++)
        if (i >= network.bits)
            network.address.bytes[i / 8] &= (uint8_t) ~(0x80u >> (i % 8));
    return network;
}

static bool covers(const struct network *network, const struct drossel_address *address)
{
    if (network->address.family != address->family)
        return false;
    for (unsigned i = 0; i < network->bits; i++)
        if (((network->address.bytes[i / 8] ^ address->bytes[i / 8]) & (0x80u >> (i % 8))) != 0)
            return false;
    return true;
}

static void a_slow_model_agrees(void **state)
{
    (void)state;
    static struct network network[NETWORKS];
    static const size_t sizes[] = { 1, 10, 63, 64, 65, 700, NETWORKS };
    for (size_t round = 0; round < sizeof sizes / sizeof *sizes; round++) {
        struct netset *set = netset_open();
        size_t hits = 0, count = sizes[round];
        for (size_t i = 0; i < count; i++) {
            network[i] = random_network(random_bits() % 2 == 0 ? DROSSEL_IPV4 : DROSSEL_IPV6);
            network[i].bits += count > 100 && network[i].bits < 20 ? 12 : 0;
            for (unsigned bit = 0; bit < 32 && network[i].address.family == DROSSEL_IPV4; bit++)
                if (bit >= network[i].bits)
                    network[i].address.bytes[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
            assert_true(netset_add(set, &network[i].address, network[i].bits));
        }
        assert_true(netset_seal(set));
        for (int probe = 0; probe < 4000; probe++) {
            struct drossel_address address = probe % 2 == 0
                                                 ? network[random_bits() % count].address
                                                 : random_network(probe % 4 == 1 ? DROSSEL_IPV4 : DROSSEL_IPV6).address;
            unsigned last = address.family == DROSSEL_IPV4 ? 3 : 15;
            address.bytes[random_bits() % (last + 1)] += (uint8_t)(random_bits() % 3 - 1);
            bool expected = false;
            for (size_t i = 0; i < count && !expected; i++)
                expected = covers(&network[i], &address);
            hits += expected;
            assert_int_equal(netset_has(set, &address), expected);
        }
        assert_true(hits > 100 && hits < 3990);
        netset_close(set);
    }
}

/* The index cuts the address space at every /16: ranges that end on a cut, begin on one, or reach over some. */
static void the_cuts_of_the_index_lose_nothing(void **state)
{
    (void)state;
    struct netset *set = netset_open();
    for (unsigned i = 0; i < 100; i++) {
        struct drossel_address first = { DROSSEL_IPV4, { 1, (uint8_t)(2 * i), 0, 0 } },
                               last = { DROSSEL_IPV4, { 1, (uint8_t)(2 * i), 255, 255 } };
        assert_true(netset_add(set, &first, 32) && netset_add(set, &last, 32));
    }
    add(set, "2.0.255.0/24");
    add(set, "2.1.0.0/24");
    add(set, "8.0.0.0/6");
    add(set, "255.255.255.255");
    assert_true(netset_seal(set));
    for (unsigned i = 0; i < 200; i++) {
        struct drossel_address address = { DROSSEL_IPV4, { 1, (uint8_t)i, 0, 0 } };
        assert_int_equal(netset_has(set, &address), i % 2 == 0);
        address.bytes[3] = 1;
        assert_false(netset_has(set, &address));
        memset(address.bytes + 2, 255, 2);
        assert_int_equal(netset_has(set, &address), i % 2 == 0);
    }
    static const char *const in[] = { "2.0.255.0", "2.0.255.255", "2.1.0.0",        "2.1.0.255",
                                      "8.0.0.0",   "9.9.9.9",     "11.255.255.255", "255.255.255.255" };
    static const char *const out[] = { "2.0.254.255", "2.1.1.0",         "7.255.255.255",
                                       "12.0.0.0",    "255.255.255.254", "0.0.0.0" };
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_true(has(set, in[i]));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_false(has(set, out[i]));
    netset_close(set);
}

static void mistakes_say_what_would_be_right(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "10.0.0.1/8", "beyond its prefix" },
        { "2001:db8::1/32", "beyond its prefix" },
        { "::ffff:10.0.0.0/95", "beyond its prefix" },
        { "10.0.0.0/33", "/0 to /32" },
        { "2001:db8::/129", "/0 to /128" },
        { "10.0.0.0/", "prefix length" },
        { "10.0.0.0/08", "prefix length" },
        { "10.0.0.0/+8", "prefix length" },
        { "10.0.0.0/8/8", "prefix length" },
        { "::/1000", "prefix length" },
        { "10.0.0/8", "not an address" },
        { "example.com", "not an address" },
        { "", "not an address" },
        { "/8", "not an address" },
        { "unix/8", "no prefix" },
        { "::ffff:10.0.0.0/129", "prefix length" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel_address address;
        unsigned bits;
        const char *why = netset_parse(table[i][0], strlen(table[i][0]), &address, &bits);
        if (why == NULL || strstr(why, table[i][1]) == NULL)
            fail_msg("%s: %s", table[i][0], why == NULL ? "accepted" : why);
    }
}

static void a_network_with_host_bits_is_still_told(void **state)
{
    (void)state;
    struct drossel_address address;
    unsigned bits = 0;
    assert_non_null(netset_parse("10.1.2.3/8", 10, &address, &bits));
    assert_int_equal(bits, 8);
    assert_int_equal(address.bytes[3], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_of_both_families_are_told_apart),
        cmocka_unit_test(unix_is_matched_by_unix_alone),
        cmocka_unit_test(an_empty_set_and_no_set_have_nothing),
        cmocka_unit_test(touching_halves_are_everything),
        cmocka_unit_test(a_slow_model_agrees),
        cmocka_unit_test(the_cuts_of_the_index_lose_nothing),
        cmocka_unit_test(mistakes_say_what_would_be_right),
        cmocka_unit_test(a_network_with_host_bits_is_still_told),
    };
    return cmocka_run_group_tests_name("netset", tests, NULL, NULL);
}
