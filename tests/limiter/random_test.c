/* Random requests, seeded: a batch decides as one by one, explain foretells check, and waits are honest (P2). */
#include "limiter_test_support.h"

static const char policy_text[] =
    "client: { trusted: [10.0.0.0/8], address_from: X-Forwarded-For, token_from: [header.X-Key] }\n"
    "exempt: { paths: [/free/], methods: [OPTIONS] }\n"
    "classes:\n"
    "  login: { path: /login }\n"
    "  api: { path_begins: /api/ }\n"
    "limits:\n"
    "  page: { for: not api, by: address, allow: [6 per 10s, 20 per 100s] }\n"
    "  login: { for: login, by: address, allow: 3 per 20s, algorithm: fixed, from: first, block: 15s }\n"
    "  greedy: { for: login, by: [token, address], allow: 2 per 30s, ban: { for: 20s, factor: 2, max: 60s } }\n"
    "  api: { for: api, by: token, allow: 10 per 10s, algorithm: bucket, burst: 5, cost: 2, overrides: { k1: 3 per "
    "10s, k2: unlimited } }\n"
    "  slow: { by: address, allow: 4 per 5s, algorithm: leaky, burst: 6, delay: 2, action: delay }\n"
    "  trial: { by: header.X-Key, allow: 4 per 10s, dry_run: true }\n"
    "  count: { for: api, by: address, allow: 5 per 10s, count_refused: true }\n"
    "  odd: { by: [path, address], allow: 7 per 10s, action: challenge, block: 5s }\n"
    "  site: { by: site, allow: 200 per 10s, action: mark }\n";

static uint64_t seed;

static unsigned below(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

#define REQUESTS 4000

struct sample {
    struct drossel_request request[REQUESTS];
    struct drossel_header header[REQUESTS][2];
    struct drossel_decision one[REQUESTS], batch[REQUESTS];
};

static void draw(struct sample *sample)
{
    static const struct drossel_text paths[] = { DROSSEL_TEXT("/"), DROSSEL_TEXT("/login"), DROSSEL_TEXT("/api/a"),
                                                 DROSSEL_TEXT("/free/x") };
    static const struct drossel_text keys[] = { DROSSEL_TEXT("k1"), DROSSEL_TEXT("k2"), DROSSEL_TEXT("k3"), { "", 0 } };
    static const char *const addresses[] = { "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2" };
    uint64_t now_ns = NOW;
    for (unsigned i = 0; i < REQUESTS; i++) {
        const char *address = addresses[below(4)];
        struct drossel_request *request = &sample->request[i];
        sample->header[i][0] = (struct drossel_header){ DROSSEL_TEXT("X-Key"), keys[below(4)] };
        sample->header[i][1] = (struct drossel_header){ DROSSEL_TEXT("X-Forwarded-For"), text_of(address) };
        now_ns += below(20) == 0 ? below(20) * SECOND : below(150) * SECOND / 1000;
        *request = (struct drossel_request){ .now_ns = now_ns, .path = paths[below(4)], .headers = sample->header[i] };
        request->header_count = 2;
        request->method = text_of(below(20) == 0 ? "OPTIONS" : "GET");
        request->peer = address_of("10.0.0.1");
        request->extra_cost = below(10) == 0 ? DROSSEL_ASK : below(3);
    }
}

static bool is_same(const struct drossel_decision *a, const struct drossel_decision *b)
{
    bool same = a->verdict == b->verdict && a->status == b->status && a->exempt == b->exempt &&
                a->banned == b->banned && a->blocked == b->blocked && a->started_block == b->started_block &&
                a->signed_in == b->signed_in && a->limit == b->limit && a->remaining == b->remaining &&
                a->used == b->used && a->wait_ns == b->wait_ns && a->delay_ns == b->delay_ns &&
                a->dry_run_count == b->dry_run_count && a->quota_count == b->quota_count &&
                a->dry_run_verdict == b->dry_run_verdict && a->dry_run_wait_ns == b->dry_run_wait_ns &&
                memcmp(&a->client, &b->client, sizeof a->client) == 0;
    for (uint32_t i = 0; same && i < a->quota_count; i++)
        same = strcmp(a->quota[i].name, b->quota[i].name) == 0 && a->quota[i].remaining == b->quota[i].remaining &&
               a->quota[i].more_ns == b->quota[i].more_ns && a->quota[i].violated == b->quota[i].violated;
    return same;
}

static void a_batch_decides_as_one_by_one(void **state)
{
    (void)state;
    struct sample *sample = malloc(sizeof *sample);
    unsigned verdicts[DROSSEL_DROP + 1] = { 0 }, banned = 0;
    for (uint64_t round = 1; round <= 5; round++) {
        seed = round;
        draw(sample);
        struct drossel *single = open_policy(policy_text), *batched = open_policy(policy_text);
        for (unsigned i = 0; i < REQUESTS; i++)
            sample->one[i] = decide(single, &sample->request[i]);
        for (unsigned i = 0, count; i < REQUESTS; i += count) {
            count = 1 + below(40);
            count = count < REQUESTS - i ? count : REQUESTS - i;
            assert_int_equal(drossel_check_batch(batched, &sample->request[i], count, &sample->batch[i]), DROSSEL_OK);
        }
        for (unsigned i = 0; i < REQUESTS; i++) {
            if (!is_same(&sample->one[i], &sample->batch[i]))
                fail_msg("seed %u, request %u", (unsigned)round, i);
            verdicts[sample->one[i].verdict]++;
            banned += sample->one[i].banned;
        }
        drossel_close(single);
        drossel_close(batched);
    }
    /* all kinds were there */
    assert_true(verdicts[DROSSEL_ALLOW] > 0 && verdicts[DROSSEL_MARK] + verdicts[DROSSEL_DELAY] > 0);
    assert_true(verdicts[DROSSEL_CHALLENGE] > 0 && verdicts[DROSSEL_REFUSE] > 0 && banned > 0);
    free(sample);
}

/* What explain says of each limit just before, and whether check agrees; explain charges nothing. */
static void explain_foretells_check(void **state)
{
    (void)state;
    struct sample *sample = malloc(sizeof *sample);
    struct inner inner = open_inner(policy_text);
    unsigned refusals = 0;
    seed = 7;
    draw(sample);
    for (unsigned i = 0; i < REQUESTS; i++) {
        const struct drossel_request *request = &sample->request[i];
        bool refused = false;
        uint64_t longest_ns = 0;
        for (uint32_t limit = 0; limit < inner.policy->limit_count; limit++) {
            struct limiter_explained explained, again;
            limiter_explain(inner.limiter, request, limit, &explained);
            limiter_explain(inner.limiter, request, limit, &again);
            assert_memory_equal(explained.verdict, again.verdict, sizeof again.verdict);
            const struct policy_limit *of = &inner.policy->limits[limit];
            for (uint32_t rate = 0; explained.why == LIMITER_APPLIES && rate < explained.rate_count; rate++) {
                if (explained.verdict[rate].allowed || of->dry_run || of->action == POLICY_CHALLENGE ||
                    of->action == POLICY_MARK)
                    continue;
                refused = true;
                if (explained.verdict[rate].wait_ns > longest_ns)
                    longest_ns = explained.verdict[rate].wait_ns;
            }
        }
        struct drossel_decision decision;
        assert_int_equal(limiter_check(inner.limiter, request, &decision), DROSSEL_OK);
        if (decision.exempt || decision.banned)
            continue;
        assert_int_equal(decision.verdict == DROSSEL_REFUSE, refused);
        if (refused && !decision.started_block) /* a block that begins, or a refusal that counts, makes it longer */
            assert_true(decision.wait_ns >= longest_ns);
        refusals += refused;
    }
    assert_true(refusals > 100);
    assert_null(table_validate(inner.table, sample->request[REQUESTS - 1].now_ns));
    close_inner(&inner);
    free(sample);
}

/* P2: who is refused, and is alone, is refused until the wait is over and not a nanosecond longer. */
static void who_waits_as_told_is_admitted_and_never_before(void **state)
{
    (void)state;
    static const char alone[] = "limits:\n"
                                "  a: { by: address, allow: [6 per 10s, 20 per 100s] }\n"
                                "  b: { by: address, allow: 4 per 7s, algorithm: fixed, from: first, block: 5s }\n"
                                "  c: { by: address, allow: 5 per 9s, algorithm: bucket, burst: 3 }\n"
                                "  d: { by: site, allow: 9 per 31s, ban: 12s }\n";
    struct drossel *limiter = open_policy(alone);
    uint64_t now_ns = NOW;
    unsigned refusals = 0;
    seed = 11;
    for (unsigned i = 0; i < 5000; i++) {
        struct drossel_request request = request_of("192.0.2.1", "/", 0);
        request.now_ns = now_ns;
        struct drossel_decision decision = decide(limiter, &request);
        if (decision.verdict == DROSSEL_REFUSE && below(3) == 0) {
            refusals++;
            request.now_ns = now_ns + decision.wait_ns - 1;
            request.extra_cost = 1;
            assert_int_equal(decide(limiter, &request).verdict, DROSSEL_REFUSE);
            request.now_ns = now_ns += decision.wait_ns;
            if (decide(limiter, &request).verdict != DROSSEL_ALLOW)
                fail_msg("request %u by limit %s", i, decision.limit_name);
        }
        now_ns += below(4) == 0 ? below(5) * SECOND : below(900) * SECOND / 1000;
    }
    assert_true(refusals > 300);
    drossel_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_decides_as_one_by_one),
        cmocka_unit_test(explain_foretells_check),
        cmocka_unit_test(who_waits_as_told_is_admitted_and_never_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
