/* Refusals that a door remembers: what is said again is what would be judged again, and what is not the same is judged. */
#include "limiter_test_support.h"

#include "store/store.h"
#include "table/stats.h"

#define MS (SECOND / 1000)

static uint64_t seed;

static unsigned below(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

static struct drossel_decision ask(struct inner *inner, struct limiter_memory *memory,
                                   const struct drossel_request *request)
{
    struct drossel_decision decision;
    assert_int_equal(limiter_check_remembering(inner->limiter, memory, request, &decision), DROSSEL_OK);
    return decision;
}

static bool is_told_alike(const struct drossel_decision *a, const struct drossel_decision *b)
{
    bool alike = a->verdict == b->verdict && a->status == b->status && a->blocked == b->blocked &&
                 a->started_block == b->started_block && a->limit == b->limit && a->remaining == b->remaining &&
                 a->used == b->used && a->wait_ns == b->wait_ns && a->quota_count == b->quota_count &&
                 a->signed_in == b->signed_in && a->dry_run_verdict == b->dry_run_verdict &&
                 a->dry_run_count == b->dry_run_count && a->dry_run_wait_ns == b->dry_run_wait_ns &&
                 memcmp(&a->client, &b->client, sizeof a->client) == 0;
    for (uint32_t i = 0; alike && i < a->quota_count; i++)
        alike = strcmp(a->quota[i].name, b->quota[i].name) == 0 && a->quota[i].violated == b->quota[i].violated &&
                a->quota[i].remaining == b->quota[i].remaining && a->quota[i].more_ns == b->quota[i].more_ns;
    return alike;
}

static uint64_t counted(const struct inner *inner, uint32_t limit, bool all)
{
    struct table_limit_stats stats;
    if (!table_stats_limit(inner->table, limit, &stats))
        return 0;
    uint64_t sum = stats.count[TABLE_REFUSED] + stats.dry_run[TABLE_REFUSED] + stats.count[TABLE_DROPPED];
    for (unsigned i = 0; all && i < TABLE_VERDICTS; i++)
        sum += i == TABLE_REFUSED || i == TABLE_DROPPED ? 0 : stats.count[i] + stats.dry_run[i];
    return sum;
}

/* A dense flood of a few clients, decided with memory and without.  What only a client's own requests change is told alike to the nanosecond;
 * where others have a say, the verdict is, and no wait is too long. */
static void flood(const char *policy, bool is_exact)
{
    struct inner with = open_inner(policy), without = open_inner(policy);
    struct limiter_memory *memory = limiter_memory_open(with.limiter);
    static const char *const clients[] = { "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2" };
    static const char *const paths[] = { "/", "/a", "/api/x", "/api/y" };
    static const char *const methods[] = { "GET", "POST" };
    uint64_t now_ns = NOW;
    unsigned refused = 0, allowed = 0;
    for (unsigned i = 0; i < 20000; i++) {
        struct drossel_request request = request_of(clients[below(4)], paths[below(4)], 0);
        now_ns += below(100) == 0 ? below(3000) * MS : below(2000) * MS / 1000;
        request.now_ns = now_ns;
        request.method = text_of(methods[below(8) == 0]);
        struct drossel_decision one = ask(&with, memory, &request), other = ask(&without, NULL, &request);
        bool alike = is_exact
                         ? is_told_alike(&one, &other)
                         : one.verdict == other.verdict && one.wait_ns <= other.wait_ns && one.status == other.status;
        if (!alike)
            fail_msg("%srequest %u: %s, wait %llu, instead of %s, wait %llu", policy, i,
                     drossel_verdict_name(one.verdict), (unsigned long long)one.wait_ns,
                     drossel_verdict_name(other.verdict), (unsigned long long)other.wait_ns);
        refused += one.verdict >= DROSSEL_REFUSE;
        allowed += one.verdict == DROSSEL_ALLOW;
    }
    assert_true(refused > 1000 && allowed > 100);
    for (uint32_t limit = 0; limit < table_limit_count(with.table); limit++)
        assert_int_equal(counted(&with, limit, true), counted(&without, limit, true));
    limiter_memory_close(memory);
    close_inner(&with);
    close_inner(&without);
}

static void a_flood_is_told_what_it_would_be_told_without_memory(void **state)
{
    (void)state;
    static const char *const policies[] = {
        "limits: { a: { by: address, allow: 50 per 10s } }\n",
        "limits: { a: { by: address, allow: [20 per 1s, 100 per 10s] }, b: { by: address, allow: 30 per 2s, dry_run: "
        "true } }\n",
        "limits: { a: { by: address, allow: 20 per 1s, block: 3s }, b: { by: address, allow: 90 per 5s, action: drop } "
        "}\n",
        "limits: { a: { by: address, allow: 20 per 1s, block: 2s, extend: true } }\n",
        "limits: { a: { by: address, allow: 20 per 1s, count_refused: true }, b: { by: address, allow: 300 per 10s } "
        "}\n",
        "limits: { a: { by: address, allow: 20 per 1s, ban: 2s } }\n",
        "limits: { a: { by: address, allow: 20 per 1s, algorithm: fixed }, b: { by: address, allow: 10 per 1s, "
        "algorithm: bucket } }\n",
        "limits: { a: { by: [address, path], allow: 20 per 2s } }\n",
        "limits: { a: { by: address, allow: 20 per 1s, overrides: { 192.0.2.2: 4 per 1s, \"2001:db8::/64\": 30 per 1s "
        "} } }\n",
        "classes: { api: { path_begins: /api/ }, write: { method: POST } }\n"
        "limits: { a: { for: api, by: address, allow: 20 per 1s, cost: { write: 5 } } }\n",
        "classes: { write: { method: POST } }\nexempt: { methods: [POST], addresses: [192.0.2.2, 2001:db8::2] }\n"
        "limits: { a: { by: address, allow: 20 per 1s }, b: { for: write, by: address, allow: 1 per 1s } }\n",
    };
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        seed = i + 1;
        flood(policies[i], true);
    }
}

static void others_change_only_what_is_told_beside_the_verdict(void **state)
{
    (void)state;
    seed = 99;
    flood("limits: { a: { by: address, allow: 20 per 1s }, b: { by: path, allow: 60 per 3s }, c: { by: site, allow: "
          "500 per 10s } }\n",
          false);
}

static void exhaust(struct inner *inner, struct limiter_memory *memory, const struct drossel_request *request)
{
    while (ask(inner, memory, request).verdict == DROSSEL_ALLOW)
        continue;
}

/* Exhausts the first limit for a client, lets it be refused and remembered, and clears the key behind the memory's back: who is refused
 * now is refused from memory. */
static void exhaust_and_clear(struct inner *inner, struct limiter_memory *memory, const struct drossel_request *request)
{
    exhaust(inner, memory, request);
    const struct policy_rate *rate = &inner->policy->rates[0];
    struct store_settlement of = { .limit_id = TABLE_LIMIT_FIRST, .clears = true };
    of.key = limiter_address_key(inner->table, &request->address, inner->policy->ipv6_prefix, rate->seed);
    (void)store_table_settle(inner->table, &of, request->now_ns);
}

static const char one_limit[] = "limits: { a: { by: address, allow: 3 per 1h } }\n";

static void what_was_done_by_hand_comes_through_at_once(void **state)
{
    (void)state;
    struct inner inner = open_inner(one_limit);
    struct limiter_memory *memory = limiter_memory_open(inner.limiter);
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    for (unsigned round = 0; round < 3; round++) {
        exhaust(&inner, memory, &request);
        struct table_entry entry;
        for (uint64_t slot = 0; table_next(inner.table, &slot, &entry);)
            (void)table_forget(inner.table, &entry, request.now_ns);
        assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_ALLOW);
    }
    limiter_memory_close(memory);
    close_inner(&inner);
}

static void nothing_is_remembered_for_longer_than_ten_milliseconds(void **state)
{
    (void)state;
    struct inner inner = open_inner(one_limit);
    struct limiter_memory *memory = limiter_memory_open(inner.limiter);
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    exhaust_and_clear(&inner, memory, &request);
    assert_int_equal(ask(&inner, NULL, &request).verdict, DROSSEL_ALLOW);
    request.now_ns = NOW + LIMITER_MEMORY_NS - 1;
    assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_REFUSE);
    request.now_ns = NOW + LIMITER_MEMORY_NS;
    assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_ALLOW);
    limiter_memory_close(memory);
    close_inner(&inner);
}

static void nothing_is_remembered_of_other_requests(void **state)
{
    (void)state;
    struct inner inner =
        open_inner("classes: { api: { path_begins: /api } }\nclient: { token_from: [header.X-Key] }\n"
                   "limits: { a: { by: address, allow: 3 per 1h }, b: { for: api, by: token, allow: 9 per 1h } }\n");
    struct inner after = open_inner(one_limit);
    struct limiter_memory *memory = limiter_memory_open(after.limiter);
    struct drossel_request first = request_of("192.0.2.1", "/", 0), request = first;
    exhaust_and_clear(&inner, memory, &first);
    assert_int_equal(ask(&inner, memory, &first).verdict, DROSSEL_REFUSE);
    request.path = text_of("/a");
    assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_ALLOW);
    request = first;
    request.method = text_of("HEAD");
    assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_ALLOW);
    request = first;
    request.address = address_of("192.0.2.2");
    assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_ALLOW);
    assert_int_equal(ask(&after, memory, &first).verdict, DROSSEL_ALLOW); /* a reload: another limiter */
    first.now_ns--;
    assert_int_equal(ask(&inner, memory, &first).verdict, DROSSEL_ALLOW); /* a clock that stepped back */
    limiter_memory_close(memory);
    close_inner(&inner);
    close_inner(&after);
}

static void a_request_without_method_and_path_is_remembered_too(void **state)
{
    (void)state;
    struct inner inner = open_inner(one_limit);
    struct limiter_memory *memory = limiter_memory_open(inner.limiter);
    struct drossel_request request = { .now_ns = NOW, .address = address_of("192.0.2.1") };
    exhaust_and_clear(&inner, memory, &request);
    assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_REFUSE);
    assert_int_equal(ask(&inner, NULL, &request).verdict, DROSSEL_ALLOW);
    limiter_memory_close(memory);
    close_inner(&inner);
}

static void who_shares_a_place_in_memory_is_not_taken_for_another(void **state)
{
    (void)state;
    struct inner inner = open_inner(one_limit);
    struct limiter_memory *memory = limiter_memory_open(inner.limiter);
    for (unsigned i = 0; i < 1000; i++) {
        char address[32];
        snprintf(address, sizeof address, "192.0.%u.%u", 2 + i / 250, i % 250);
        struct drossel_request request = request_of(address, "/", 0);
        for (unsigned turn = 0; turn < 5; turn++)
            assert_int_equal(ask(&inner, memory, &request).verdict, turn < 3 ? DROSSEL_ALLOW : DROSSEL_REFUSE);
    }
    limiter_memory_close(memory);
    close_inner(&inner);
}

static void a_refusal_is_said_again_until_its_wait_is_over_and_no_longer(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits: { a: { by: address, allow: 2 per 5ms } }\n");
    struct limiter_memory *memory = limiter_memory_open(inner.limiter);
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    while (ask(&inner, memory, &request).verdict == DROSSEL_ALLOW)
        continue;
    struct drossel_decision refused = ask(&inner, memory, &request);
    request.now_ns += refused.wait_ns - 1;
    assert_int_equal(ask(&inner, memory, &request).wait_ns, 1);
    request.now_ns++;
    assert_int_equal(ask(&inner, memory, &request).verdict, DROSSEL_ALLOW);
    limiter_memory_close(memory);
    close_inner(&inner);
}

static void each_refusal_is_counted_and_its_offender_named(void **state)
{
    (void)state;
    struct inner inner = open_inner(one_limit);
    struct limiter_memory *memory = limiter_memory_open(inner.limiter);
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    for (unsigned i = 0; i < 1003; i++) {
        request.now_ns += MS / 100;
        (void)ask(&inner, memory, &request);
    }
    struct table_limit_stats stats;
    assert_true(table_stats_limit(inner.table, TABLE_LIMIT_FIRST, &stats));
    assert_int_equal(stats.count[TABLE_PASSED], 3);
    assert_int_equal(stats.count[TABLE_REFUSED], 1000);
    struct table_offender offender;
    uint32_t at = 0;
    assert_true(table_stats_next(inner.table, &at, &offender));
    assert_int_equal(offender.count[TABLE_REFUSED], 1000);
    assert_string_equal(offender.name, "192.0.2.1");
    limiter_memory_close(memory);
    close_inner(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_is_told_what_it_would_be_told_without_memory),
        cmocka_unit_test(others_change_only_what_is_told_beside_the_verdict),
        cmocka_unit_test(what_was_done_by_hand_comes_through_at_once),
        cmocka_unit_test(nothing_is_remembered_for_longer_than_ten_milliseconds),
        cmocka_unit_test(nothing_is_remembered_of_other_requests),
        cmocka_unit_test(a_request_without_method_and_path_is_remembered_too),
        cmocka_unit_test(who_shares_a_place_in_memory_is_not_taken_for_another),
        cmocka_unit_test(a_refusal_is_said_again_until_its_wait_is_over_and_no_longer),
        cmocka_unit_test(each_refusal_is_counted_and_its_offender_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
