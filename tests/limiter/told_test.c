/* What each limit is told to have said is what limiter_explain says just before; and the decision is that of limiter_check. */
#include "limiter_test_support.h"

#define REQUESTS 4000
#define MANY 70 /* limits: more charges than there is room for on the stack */

static const char some[] =
    "exempt: { paths: [/free] }\n"
    "classes: { login: { path: /login } }\n"
    "limits:\n"
    "  page: { by: address, allow: 20 per 10s }\n"
    "  login: { for: login, by: [address, path], allow: 3 per 1m, ban: 5s }\n"
    "  bad: { for: login, by: address, allow: [3 failures per 10s, 9 failures per 1m], block: 7s }\n"
    "  wide: { by: header.X-Key, allow: [10 per 1s, 40 per 1m], dry_run: true }\n"
    "  big: { by: path, allow: 5 per 10s, action: challenge, overrides: { /page: 7 per 10s, /: unlimited } }\n";

static void make_request(struct drossel_request *request, unsigned i, uint64_t random)
{
    static const struct drossel_text paths[] = { DROSSEL_TEXT("/"), DROSSEL_TEXT("/login"), DROSSEL_TEXT("/free"),
                                                 DROSSEL_TEXT("/page") };
    static const struct drossel_header header = { DROSSEL_TEXT("x-key"), DROSSEL_TEXT("k1") };
    *request = (struct drossel_request){ .now_ns = NOW + i * SECOND / 20, .method = DROSSEL_TEXT("GET") };
    request->address = (struct drossel_address){ DROSSEL_IPV4, { 192, 0, 2, (uint8_t)(random >> 40 & 3) } };
    request->path = paths[random >> 50 & 3];
    request->headers = &header;
    request->header_count = random >> 60 & 1;
}

static const struct limiter_charge *charge_of(const struct limiter_told *told, const struct policy_rate *rate,
                                              const struct policy *policy)
{
    for (uint32_t i = 0; i < told->count; i++)
        if (&policy->rates[told->charge[i].rate] == rate)
            return &told->charge[i];
    return NULL;
}

/* Returns how many refusals there were. */
static unsigned compare_limit(const struct limiter_explained *said, const struct limiter_told *told,
                              const struct policy *policy)
{
    unsigned refused = 0;
    for (uint32_t i = 0; i < said->rate_count; i++) {
        const struct limiter_charge *charge = charge_of(told, said->rate[i], policy);
        struct table_key key = table_key_mix(said->key_hash, said->rate[i]->seed);
        assert_non_null(charge);
        assert_int_equal(charge->key.home, key.home);
        assert_int_equal(charge->key.tag, key.tag);
        if (!told->is_judged)
            continue;
        assert_int_equal(charge->verdict.allowed, said->verdict[i].allowed);
        assert_int_equal(charge->verdict.blocked && !charge->verdict.started_block, said->verdict[i].blocked);
        assert_int_equal(charge->waits, said->waits[i]);
        refused += !charge->verdict.allowed;
    }
    return refused;
}

static void compare(const char *text, uint32_t limits)
{
    struct inner inner = open_inner(text), other = open_inner(text);
    struct limiter_told told = { 0 };
    static struct limiter_explained said[MANY];
    struct drossel_request request;
    struct drossel_decision decision, plain;
    unsigned refused = 0, exempt = 0, banned = 0;
    uint64_t random = 5;
    for (unsigned i = 0; i < REQUESTS; i++, random = random * UINT64_C(6364136223846793005) + 1) {
        unsigned rates = 0;
        make_request(&request, i, random);
        for (uint32_t k = 0; k < limits; k++)
            limiter_explain(inner.limiter, &request, k, &said[k]);
        assert_int_equal(limiter_check_told(inner.limiter, &request, &decision, &told), DROSSEL_OK);
        assert_int_equal(limiter_check(other.limiter, &request, &plain), DROSSEL_OK);
        assert_int_equal(decision.verdict, plain.verdict);
        assert_int_equal(decision.limit, plain.limit);
        assert_int_equal(decision.wait_ns, plain.wait_ns);
        assert_int_equal(told.is_judged, !decision.exempt);
        exempt += decision.exempt;
        banned += decision.banned;
        if (limits == MANY && (decision.exempt || decision.banned))
            continue;
        for (uint32_t k = 0; k < limits; k++) {
            rates += said[k].why == LIMITER_APPLIES ? said[k].rate_count : 0;
            if (said[k].why == LIMITER_APPLIES)
                refused += compare_limit(&said[k], &told, inner.policy);
        }
        assert_int_equal(told.count, rates);
        limiter_settle(inner.table, &decision.ticket, i % 3 == 0 ? DROSSEL_OTHER : DROSSEL_FAILURE, request.now_ns);
        limiter_settle(other.table, &plain.ticket, i % 3 == 0 ? DROSSEL_OTHER : DROSSEL_FAILURE, request.now_ns);
    }
    assert_true(refused > 100 && exempt > 100 && banned > 100);
    free(told.charge);
    close_inner(&inner);
    close_inner(&other);
}

static void each_limit_is_told_to_have_said_what_it_says_when_it_is_asked(void **state)
{
    (void)state;
    compare(some, 5);
}

static void so_it_is_with_more_limits_than_there_is_room_for(void **state)
{
    char text[8000];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", some);
    (void)state;
    for (unsigned i = 5; i < MANY; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "  more%u: { by: path, allow: %u per 1h }\n", i, 900 + i);
    assert_true(used < sizeof text);
    compare(text, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit_is_told_to_have_said_what_it_says_when_it_is_asked),
        cmocka_unit_test(so_it_is_with_more_limits_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
