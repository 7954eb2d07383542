/* Passing: what a door lets go on without a decision is what would be decided, charged to the same keys and counted alike. */
#include "limiter_test_support.h"

#include "table/stats.h"

#define MS (SECOND / 1000)

static uint64_t seed;

static unsigned below(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

/* What a door does: first passing, then a decision. */
struct door {
    struct inner inner;
    struct limiter_memory *memory;
    unsigned passed, decided;
};

static struct door open_door(const char *policy)
{
    bool has_path;
    struct door door = { .inner = open_inner(policy) };
    door.memory = limiter_memory_open(door.inner.limiter);
    assert_non_null(door.memory);
    assert_true(limiter_passes(door.inner.limiter, &has_path));
    return door;
}

static void close_door(struct door *door)
{
    limiter_memory_close(door->memory);
    close_inner(&door->inner);
}

/* As doors tell it: who is at the other end of the connection. */
static struct drossel_request peer_asks(const char *peer, const char *path, uint64_t now_ns)
{
    return (struct drossel_request){
        .now_ns = now_ns, .method = DROSSEL_TEXT("GET"), .path = text_of(path), .peer = address_of(peer)
    };
}

struct answer {
    enum drossel_verdict verdict;
    const char *limit;
    uint64_t remaining;
};

static struct answer decided(struct inner *inner, struct limiter_memory *memory, const struct drossel_request *request)
{
    struct drossel_decision decision;
    assert_int_equal(limiter_check_remembering(inner->limiter, memory, request, &decision), DROSSEL_OK);
    return (struct answer){ decision.verdict, decision.limit_name, decision.remaining };
}

static struct answer ask(struct door *door, const struct drossel_request *request)
{
    struct limiter_passing passing = { .client = &request->peer, .path = request->path, .now_ns = request->now_ns };
    if (limiter_pass(door->memory, &passing)) {
        door->passed++;
        return (struct answer){ DROSSEL_ALLOW, passing.limit_name, passing.limit_name ? passing.remaining : 0 };
    }
    door->decided++;
    return decided(&door->inner, door->memory, request);
}

static bool is_same_name(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

static uint64_t count_of(const struct inner *inner, uint32_t limit, enum table_verdict verdict)
{
    struct table_limit_stats stats;
    return table_stats_limit(inner->table, limit, &stats) ? stats.count[verdict] + stats.dry_run[verdict] : 0;
}

static void run(const char *policy)
{
    static const char *const clients[] = { "192.0.2.1", "198.51.100.77", "2001:db8::1", "2001:db8:0:1::2", "unix" };
    static const char *const paths[] = { "/", "/a", "/abc", "/api/x", "/long/path/with/more/than/two/words", "/api/y" };
    struct door door = open_door(policy);
    struct inner other = open_inner(policy);
    uint64_t now_ns = NOW;
    unsigned refused = 0;
    for (unsigned i = 0; i < 6000; i++) {
        now_ns += below(60) == 0 ? below(9000) * MS : below(60) * MS;
        struct drossel_request request = peer_asks(clients[below(5)], paths[below(6)], now_ns);
        struct answer one = ask(&door, &request), same = decided(&other, NULL, &request);
        if (one.verdict != same.verdict || one.remaining != same.remaining || !is_same_name(one.limit, same.limit))
            fail_msg("%srequest %u: %s, %s leaves %llu, instead of %s, %s leaves %llu", policy, i,
                     drossel_verdict_name(one.verdict), one.limit, (unsigned long long)one.remaining,
                     drossel_verdict_name(same.verdict), same.limit, (unsigned long long)same.remaining);
        refused += one.verdict >= DROSSEL_REFUSE;
    }
    if (door.passed < 300 || door.decided < 100)
        fail_msg("%s%u passed, %u were decided", policy, door.passed, door.decided);
    assert_true(refused > 100 || strstr(policy, "dry_run") != NULL);
    for (uint32_t limit = TABLE_LIMIT_FIRST; limit < table_limit_count(other.table); limit++)
        for (unsigned verdict = 0; verdict < TABLE_VERDICTS; verdict++)
            assert_int_equal(count_of(&door.inner, limit, verdict), count_of(&other, limit, verdict));
    assert_int_equal(count_of(&door.inner, TABLE_LIMIT_REQUEST, TABLE_PASSED), door.passed);
    close_door(&door);
    close_inner(&other);
}

static void requests_pass_that_would_be_allowed_and_no_others(void **state)
{
    (void)state;
    static const char *const policies[] = {
        "limits: { a: { by: address, allow: 20 per 10s } }\n",
        "limits: { a: { by: address, allow: 40 per 10s, cost: 3 } }\n",
        "limits: { a: { by: site, allow: 100 per 10s } }\n",
        "limits: { a: { by: path, allow: 20 per 10s } }\n",
        "limits: { a: { by: [address, path], allow: 5 per 10s } }\n",
        "limits: { a: { by: [path, address], allow: 5 per 10s }, b: { by: address, allow: 30 per 20s } }\n",
        "limits: { a: { by: address, allow: [10 per 2s, 20 per 10s] }, b: { by: path, allow: 25 per 10s, block: 2s } "
        "}\n",
        "limits: { a: { by: address, allow: 20 per 10s }, b: { by: path, allow: 3 per 10s, dry_run: true } }\n",
        "limits: { a: { by: address, allow: 20 per 10s, dry_run: true } }\n",
        "client: { ipv6_prefix: 32 }\nlimits: { a: { by: address, allow: 20 per 10s, ban: 3s } }\n",
        "limits: { a: { by: address, allow: 15 per 10s }, b: { by: path, allow: 30 per 10s }, c: { by: [address, "
        "path], "
        "allow: 4 per 5s }, d: { by: site, allow: 70 per 10s } }\n",
    };
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        seed = i + 1;
        run(policies[i]);
    }
}

static void what_needs_more_than_address_and_path_does_not_pass(void **state)
{
    (void)state;
    static const char *const policies[] = {
        "limits: { a: { by: header.x-team, allow: 20 per 10s } }\n",
        "client: { token_from: [header.x-key] }\nlimits: { a: { by: token, allow: 20 per 10s } }\n",
        "client: { trusted: [127.0.0.1], address_from: x-real-ip }\nlimits: { a: { by: address, allow: 20 per 10s } "
        "}\n",
        "exempt: { addresses: [10.0.0.0/8] }\nlimits: { a: { by: address, allow: 20 per 10s } }\n",
        "classes: { api: { path_begins: /api/ } }\nlimits: { a: { for: api, by: address, allow: 20 per 10s } }\n",
        "limits: { a: { by: address, allow: 20 per 10s, only: [library] } }\n",
        "limits: { a: { by: address, allow: 20 per 10s, overrides: { 192.0.2.1: 4 per 10s } } }\n",
        "limits: { a: { by: address, allow: 20 per 10s, algorithm: bucket } }\n",
        "limits: { a: { by: address, allow: 20 per 10s }, b: { by: address, allow: 5 failures per 10s } }\n",
        "limits: { a: { by: address, allow: [1 per 1s, 1 per 2s, 1 per 3s, 1 per 4s, 1 per 5s] }, b: { by: path, "
        "allow: [1 "
        "per 1s, 1 per 2s, 1 per 3s, 1 per 4s] } }\n",
    };
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        bool has_path;
        struct inner inner = open_inner(policies[i]);
        if (limiter_passes(inner.limiter, &has_path))
            fail_msg("passes: %s", policies[i]);
        close_inner(&inner);
    }
}

static void the_path_is_asked_for_only_where_it_counts(void **state)
{
    (void)state;
    bool has_path;
    struct inner without =
        open_inner("limits: { a: { by: address, allow: 2 per 1s }, b: { by: site, allow: 9 per 1s } }\n");
    struct inner with =
        open_inner("limits: { a: { by: address, allow: 2 per 1s }, b: { by: path, allow: 9 per 1s } }\n");
    assert_true(limiter_passes(without.limiter, &has_path));
    assert_false(has_path);
    assert_true(limiter_passes(with.limiter, &has_path));
    assert_true(has_path);
    close_inner(&without);
    close_inner(&with);
}

/* Nothing is charged, and the decision has its say. */
static void nobody_passes_while_anybody_is_banned(void **state)
{
    (void)state;
    struct door door = open_door("limits: { a: { by: address, allow: 5 per 10s } }\n");
    struct drossel_request request = peer_asks("192.0.2.1", "/", NOW);
    struct drossel_address other;
    assert_int_equal(drossel_address_parse("192.0.2.2", 9, &other), DROSSEL_OK);
    (void)ask(&door, &request);
    (void)ask(&door, &request);
    assert_int_equal(door.passed, 1);
    assert_true(limiter_ban(door.inner.table, &other, 64, SECOND, NOW));
    assert_int_equal(ask(&door, &request).remaining, 2);
    assert_int_equal(door.passed, 1);
    request.now_ns = NOW + 2 * SECOND;
    assert_int_equal(ask(&door, &request).remaining, 1);
    assert_int_equal(door.passed, 2);
    close_door(&door);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_pass_that_would_be_allowed_and_no_others),
        cmocka_unit_test(what_needs_more_than_address_and_path_does_not_pass),
        cmocka_unit_test(the_path_is_asked_for_only_where_it_counts),
        cmocka_unit_test(nobody_passes_while_anybody_is_banned),
    };
    return cmocka_run_group_tests_name("limiter pass", tests, NULL, NULL);
}
