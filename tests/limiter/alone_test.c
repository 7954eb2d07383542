/* A policy with one limit is decided as the same limit is beside a class, which takes it off the shortest way. */
#include "limiter_test_support.h"

#define REQUESTS 20000

static const char *const limits[] = {
    "limits: { page: { by: address, allow: 20 per 10s } }\n",
    "limits: { page: { by: address, allow: 5 per 2s, block: { for: 7s, factor: 2, max: 1m } } }\n",
    "limits: { page: { by: address, allow: 100 per 1m, cost: 3, count_refused: true } }\n",
    "limits: { page: { by: address, allow: 3 per 1s, ban: 9s } }\n",
    "limits: { page: { by: address, allow: 4 per 5s, only: [nginx] } }\n",
};

struct both {
    struct drossel *alone, *general;
    uint64_t seed, now_ns;
    unsigned admitted, refused;
};

static uint64_t next(struct both *both)
{
    both->seed = both->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return both->seed >> 33;
}

static struct drossel_request any_request(struct both *both)
{
    static const char *const addresses[] = { "192.0.2.1",     "192.0.2.2",     "2001:db8::1", "2001:db8::2",
                                             "2001:db8:1::1", "203.0.113.200", "192.0.2.3",   "198.51.100.7" };
    struct drossel_request request = request_of(addresses[next(both) % 8], "/", 0);
    both->now_ns += next(both) % (SECOND / 10);
    if (next(both) % 300 == 0)
        both->now_ns += next(both) % (30 * SECOND);
    request.now_ns = both->now_ns;
    request.door = next(both) % 9 == 0 ? DROSSEL_DOOR_REDIS : DROSSEL_DOOR_NGINX;
    if (next(both) % 20 == 0)
        request.extra_cost = next(both) % 2 == 0 ? DROSSEL_ASK : 2;
    if (next(both) % 10 == 0) { /* told by the connection */
        request.peer = request.address;
        request.address.family = DROSSEL_NONE;
    }
    return request;
}

static void assert_alike(const struct drossel_decision *a, const struct drossel_decision *b)
{
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->limit, b->limit);
    assert_int_equal(a->limit_name == NULL, b->limit_name == NULL);
    assert_int_equal(a->remaining, b->remaining);
    assert_int_equal(a->used, b->used);
    assert_int_equal(a->wait_ns, b->wait_ns);
    assert_int_equal(a->delay_ns, b->delay_ns);
    assert_int_equal(a->hold_ns, b->hold_ns);
    assert_memory_equal(&a->client, &b->client, sizeof a->client);
    assert_int_equal(a->signed_in | a->exempt << 1 | a->banned << 2 | a->blocked << 3 | a->started_block << 4,
                     b->signed_in | b->exempt << 1 | b->banned << 2 | b->blocked << 3 | b->started_block << 4);
    assert_int_equal(a->untrusted | a->missing_forward << 1, b->untrusted | b->missing_forward << 1);
    assert_int_equal(a->dry_run_count, b->dry_run_count);
    assert_int_equal(a->ticket.count, b->ticket.count);
    assert_int_equal(a->quota_count, b->quota_count);
    for (uint32_t i = 0; i < a->quota_count; i++) {
        assert_string_equal(a->quota[i].name, b->quota[i].name);
        assert_int_equal(a->quota[i].count, b->quota[i].count);
        assert_int_equal(a->quota[i].window_ns, b->quota[i].window_ns);
        assert_int_equal(a->quota[i].remaining, b->quota[i].remaining);
        assert_int_equal(a->quota[i].more_ns, b->quota[i].more_ns);
        assert_int_equal(a->quota[i].violated, b->quota[i].violated);
    }
}

static struct both open_both(const char *limit, uint64_t seed)
{
    char text[1024];
    snprintf(text, sizeof text, "classes: { other: { path: /other/ } }\n%s", limit);
    return (struct both){ .alone = open_policy(limit), .general = open_policy(text), .seed = seed, .now_ns = NOW };
}

static void close_both(struct both *both)
{
    drossel_close(both->alone);
    drossel_close(both->general);
}

static void both_ways_decide_alike(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct both both = open_both(limits[i], i);
        for (unsigned n = 0; n < REQUESTS; n++) {
            struct drossel_request request = any_request(&both);
            struct drossel_decision alone = decide(both.alone, &request), general = decide(both.general, &request);
            assert_alike(&alone, &general);
            both.admitted += alone.verdict < DROSSEL_REFUSE;
            both.refused += alone.verdict >= DROSSEL_REFUSE;
        }
        assert_true(both.admitted > REQUESTS / 50);
        assert_true(both.refused > REQUESTS / 50);
        close_both(&both);
    }
}

static void both_ways_decide_alike_in_batches(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct both both = open_both(limits[i], 100 + i);
        for (unsigned n = 0; n < REQUESTS; n += 40) {
            struct drossel_request requests[40];
            struct drossel_decision alone[40];
            for (unsigned k = 0; k < 40; k++)
                requests[k] = any_request(&both);
            memset(alone, 0xa5, sizeof alone);
            assert_int_equal(drossel_check_batch(both.alone, requests, 40, alone), DROSSEL_OK);
            for (unsigned k = 0; k < 40; k++) {
                struct drossel_decision general = decide(both.general, &requests[k]);
                assert_alike(&alone[k], &general);
            }
        }
        close_both(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_decide_alike),
        cmocka_unit_test(both_ways_decide_alike_in_batches),
    };
    return cmocka_run_group_tests_name("limiter alone", tests, NULL, NULL);
}
