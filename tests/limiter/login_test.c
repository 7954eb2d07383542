/*
 * Logins are decided on the shortest way (a policy of one limit), on the short way (the same beside a class), by a door that lets them pass, and
 * on the general way alike: the same decisions, tickets and counts over random requests and outcomes.
 */
#include "limiter_test_support.h"

#include "limiter_private.h"
#include "table/stats.h"

#define REQUESTS 6000
#define OPEN_MAX 32
#define WAYS 4
enum { SHORTEST, SHORT, DOOR, GENERAL };

static const char *const policies[] = {
    "limits: { login: { by: [account, address], allow: 5 failures per 20s, block: 30s, reset_on: success } }\n",
    "limits: { login: { by: [address, account], allow: 3 failures per 10s, hold: 500ms } }\n",
    "limits: { login: { by: account, allow: 30 failures per 8s, block: { for: 2s, factor: 3, max: 30s }, cost: 2 } }\n",
    "limits: { login: { by: account, allow: 40 failures per 60s, reset_on: success, hold: 0 } }\n",
    "limits: { login: { by: [account, address], allow: 4 failures per 20s, ban: 5s, reset_on: success } }\n",
};

/* No shortest way: several limits, and whoever is not counted for good. */
static const char *const several[] = {
    "limits:\n  near: { by: [account, address], allow: 4 failures per 20s, block: 10s, reset_on: success }\n"
    "  from: { by: address, allow: 30 failures per 60s }\n  slow: { by: account, allow: 9 failures per 40s, action: "
    "challenge }\n",
    "limits:\n  near: { by: [account, address], allow: [3 failures per 5s, 6 failures per 60s], reset_on: success }\n"
    "  page: { by: address, allow: 400 per 20s }\n  trial: { by: site, allow: 8 failures per 4s, dry_run: true }\n",
};

struct open_login {
    struct drossel_ticket ticket[WAYS];
};

struct trial {
    struct inner inner[WAYS];
    struct limiter_told told;
    uint64_t seed, now_ns, held_ns;
    struct drossel_request held; /* asked again, if held_ns */
    struct open_login open[OPEN_MAX];
    unsigned opened, verdicts[DROSSEL_HOLD + 1], shortest, passed;
};

static unsigned below(struct trial *trial, unsigned n)
{
    trial->seed = trial->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(trial->seed >> 33) % n;
}

static struct drossel_request any_login(struct trial *trial)
{
    static const struct drossel_text accounts[] = { DROSSEL_TEXT("ann@shop.example"),
                                                    DROSSEL_TEXT("Ann@SHOP.example."),
                                                    DROSSEL_TEXT("bob"),
                                                    DROSSEL_TEXT(" bob"),
                                                    DROSSEL_TEXT("\xc3\x84nne@x.example"),
                                                    DROSSEL_TEXT("  ") };
    static const char *const addresses[] = { "192.0.2.1", "2001:db8::1", "2001:db8::2" };
    struct drossel_request request = request_of(addresses[below(trial, 3)], "/login", 0);
    request.now_ns = trial->now_ns;
    request.accounts = &accounts[below(trial, 5)];
    request.account_count = below(trial, 25) == 0 ? below(trial, 3) : 1;
    request.is_account_unreadable = below(trial, 40) == 0;
    if (below(trial, 30) == 0)
        request.account = accounts[5 - below(trial, 2) * 3];
    if (below(trial, 30) == 0)
        request.extra_cost = below(trial, 2) == 0 ? DROSSEL_ASK : 2;
    if (below(trial, 10) == 0) { /* told by the connection */
        request.peer = request.address;
        request.address.family = DROSSEL_NONE;
    }
    return request;
}

static void assert_same_tickets(const struct drossel_ticket *a, const struct drossel_ticket *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        assert_int_equal(a->charge[i].mark, b->charge[i].mark);
        assert_int_equal(a->charge[i].open_mark, b->charge[i].open_mark);
        assert_int_equal(a->charge[i].cost, b->charge[i].cost);
        assert_int_equal(a->charge[i].limit, b->charge[i].limit);
        assert_int_equal(a->charge[i].resets, b->charge[i].resets);
    }
    if (a->count > 0)
        assert_false(a->is_listed || b->is_listed);
}

static void assert_same(const struct drossel_decision *a, const struct drossel_decision *b)
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
    assert_int_equal(a->dry_run_count, b->dry_run_count);
    assert_int_equal(a->dry_run_verdict, b->dry_run_verdict);
    assert_int_equal(a->quota_count, b->quota_count);
    for (uint32_t i = 0; i < a->quota_count; i++) {
        assert_string_equal(a->quota[i].name, b->quota[i].name);
        assert_int_equal(a->quota[i].count, b->quota[i].count);
        assert_int_equal(a->quota[i].window_ns, b->quota[i].window_ns);
        assert_int_equal(a->quota[i].remaining, b->quota[i].remaining);
        assert_int_equal(a->quota[i].more_ns, b->quota[i].more_ns);
        assert_int_equal(a->quota[i].violated, b->quota[i].violated);
        assert_int_equal(a->quota[i].counts_failures, b->quota[i].counts_failures);
    }
    assert_same_tickets(&a->ticket, &b->ticket);
}

/* The hash that is told is that of the key that is charged. */
static void assert_ticket_is_of_the_key(const struct drossel_decision *decision)
{
    if (decision->ticket.count == 1)
        assert_int_equal(decision->ticket.charge[0].home, decision->subject_hash);
}

/* Of a login that passes no more is told than this. */
static bool pass(struct trial *trial, const struct drossel_request *request, const struct drossel_decision *wanted,
                 struct drossel_decision *decision)
{
    struct limiter *limiter = trial->inner[DOOR].limiter;
    if (!limiter_passes_logins(limiter) || request->extra_cost != 0 || request->account.size > 0 ||
        request->account_count != 1 || request->is_account_unreadable)
        return false;
    *decision = *wanted;
    decision->ticket.count = 0;
    const struct drossel_address *client = request->address.family != 0 ? &request->address : &request->peer;
    struct limiter_passing_login login = { .now_ns = request->now_ns, .ticket = &decision->ticket };
    struct limiter_memory *memory = limiter_memory_open(limiter);
    bool passes =
        limiter_find_login(memory, client, request->accounts, &login.key) && limiter_pass_login(memory, &login);
    limiter_memory_close(memory);
    if (!passes)
        return false;
    decision->verdict = DROSSEL_ALLOW;
    decision->remaining = login.remaining;
    decision->subject_hash = decision->ticket.charge[0].home;
    trial->passed++;
    return true;
}

/* One request on all ways; keeps it open, or to be asked again. */
static void ask(struct trial *trial, const struct drossel_request *request)
{
    struct drossel_decision decision[WAYS];
    memset(decision, 0xa5, sizeof decision); /* what is not set shows */
    struct limiter *shortest = trial->inner[SHORTEST].limiter;
    if (shortest->login.rate != NULL && limiter_check_login(shortest, request, &decision[SHORTEST]))
        trial->shortest++;
    else
        assert_int_equal(limiter_check(shortest, request, &decision[SHORTEST]), DROSSEL_OK);
    assert_int_equal(limiter_check(trial->inner[SHORT].limiter, request, &decision[SHORT]), DROSSEL_OK);
    assert_int_equal(limiter_check_told(trial->inner[GENERAL].limiter, request, &decision[GENERAL], &trial->told),
                     DROSSEL_OK);
    if (!pass(trial, request, &decision[GENERAL], &decision[DOOR]))
        assert_int_equal(limiter_check(trial->inner[DOOR].limiter, request, &decision[DOOR]), DROSSEL_OK);
    for (unsigned way = 0; way < GENERAL; way++) {
        assert_same(&decision[way], &decision[GENERAL]);
        if (shortest->login.rate != NULL)
            assert_ticket_is_of_the_key(&decision[way]);
    }
    trial->verdicts[decision[GENERAL].verdict]++;
    trial->held_ns = decision[GENERAL].verdict == DROSSEL_HOLD ? decision[GENERAL].hold_ns : 0;
    trial->held = *request;
    if (decision[GENERAL].ticket.count == 0)
        return;
    struct open_login *open =
        &trial->open[trial->opened++ % OPEN_MAX]; /* one that was there before never has an answer */
    for (unsigned way = 0; way < WAYS; way++)
        open->ticket[way] = decision[way].ticket;
}

static void settle_any(struct trial *trial)
{
    static const enum drossel_outcome outcomes[] = { DROSSEL_OTHER, DROSSEL_FAILURE, DROSSEL_FAILURE, DROSSEL_SUCCESS };
    struct open_login *open = &trial->open[below(trial, OPEN_MAX)];
    enum drossel_outcome outcome = outcomes[below(trial, 4)];
    for (unsigned way = 0; way < WAYS; way++) {
        limiter_settle(trial->inner[way].table, &open->ticket[way], outcome, trial->now_ns);
        open->ticket[way].count = 0;
    }
}

static void assert_same_counts(const struct trial *trial)
{
    for (uint32_t limit = TABLE_LIMIT_FIRST; limit < table_limit_count(trial->inner[GENERAL].table); limit++) {
        struct table_limit_stats wanted, found;
        (void)table_stats_limit(trial->inner[GENERAL].table, limit, &wanted);
        for (unsigned way = 0; way < GENERAL; way++) {
            (void)table_stats_limit(trial->inner[way].table, limit, &found);
            assert_memory_equal(found.count, wanted.count, sizeof found.count);
            assert_memory_equal(found.dry_run, wanted.dry_run, sizeof found.dry_run);
        }
    }
}

static void open_trial(struct trial *trial, const char *limits, uint64_t seed)
{
    char text[2][1024];
    static const char from[] = "client: { account_from: [form.email, json.email] }\n";
    snprintf(text[0], sizeof text[0], "%s%s", from, limits);
    snprintf(text[1], sizeof text[1], "%sclasses: { other: { path: /other/ } }\n%s", from, limits);
    memset(trial, 0, sizeof *trial);
    trial->seed = seed;
    trial->now_ns = NOW;
    for (unsigned way = 0; way < WAYS; way++)
        trial->inner[way] = open_inner(text[way == SHORT]);
    assert_null(trial->inner[SHORT].limiter->login.rate);
}

static void close_trial(struct trial *trial)
{
    for (unsigned way = 0; way < WAYS; way++) {
        const char *wrong =
            table_validate(trial->inner[way].table, trial->now_ns + SECOND); /* it may have stepped back */
        if (wrong != NULL)
            fail_msg("way %u: %s", way, wrong);
        close_inner(&trial->inner[way]);
    }
    free(trial->told.charge);
}

static void run(struct trial *trial)
{
    for (unsigned n = 0; n < REQUESTS; n++) {
        trial->now_ns += below(trial, 8) == 0 ? below(trial, 4) * SECOND : below(trial, 60) * SECOND / 1000;
        if (below(trial, 50) == 0)
            trial->now_ns -= SECOND / 100; /* the clock steps back */
        while (below(trial, 4) > 0)
            settle_any(trial);
        struct drossel_request request = any_login(trial);
        if (trial->held_ns > 0 && below(trial, 3) > 0) {
            request = trial->held;
            request.arrived_ns = request.arrived_ns > 0 ? request.arrived_ns : request.now_ns;
            request.now_ns = trial->now_ns;
        }
        ask(trial, &request);
    }
    assert_same_counts(trial);
    assert_true(trial->verdicts[DROSSEL_ALLOW] > REQUESTS / 20);
}

static void a_login_is_decided_alike_on_all_ways(void **unused)
{
    (void)unused;
    unsigned shortest = 0, passed = 0, held = 0, refused = 0;
    for (unsigned i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct trial trial;
        open_trial(&trial, policies[i], i);
        assert_non_null(trial.inner[SHORTEST].limiter->login.rate);
        run(&trial);
        shortest += trial.shortest;
        passed += trial.passed;
        held += trial.verdicts[DROSSEL_HOLD];
        refused += trial.verdicts[DROSSEL_REFUSE];
        close_trial(&trial);
    }
    assert_true(shortest > REQUESTS && passed > REQUESTS / 2 && held > REQUESTS / 20 &&
                refused > REQUESTS / 20); /* no way is idle */
}

static void several_limits_of_failures_decide_alike_on_the_short_way(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < sizeof several / sizeof several[0]; i++) {
        struct trial trial;
        open_trial(&trial, several[i], 50 + i);
        assert_null(trial.inner[SHORTEST].limiter->login.rate);
        assert_false(limiter_passes_logins(trial.inner[DOOR].limiter));
        run(&trial);
        assert_true(trial.verdicts[DROSSEL_HOLD] > 0 && trial.verdicts[DROSSEL_REFUSE] > 0);
        close_trial(&trial);
    }
}

/* A key with a slot and room, and an account, are all it takes; without any of them the others decide. */
static void the_shortest_way_takes_what_it_is_for(void **unused)
{
    (void)unused;
    struct trial trial;
    open_trial(&trial, policies[0], 0);
    const struct limiter *limiter = trial.inner[SHORTEST].limiter;
    static const struct drossel_text accounts[] = { DROSSEL_TEXT("ann"), DROSSEL_TEXT("bob") };
    struct drossel_request request = request_of("192.0.2.1", "/login", 0);
    struct drossel_decision decision;
    request.accounts = accounts;
    request.account_count = 1;
    assert_false(limiter_check_login(limiter, &request, &decision)); /* no slot */
    assert_int_equal(limiter_check(trial.inner[SHORTEST].limiter, &request, &decision), DROSSEL_OK);
    assert_true(limiter_check_login(limiter, &request, &decision));
    assert_int_equal(decision.remaining, 3);
    request.account_count = 2;
    assert_false(limiter_check_login(limiter, &request, &decision));
    request.account_count = 0;
    assert_false(limiter_check_login(limiter, &request, &decision));
    request.account_count = 1;
    request.is_account_unreadable = true;
    assert_false(limiter_check_login(limiter, &request, &decision));
    request.is_account_unreadable = false;
    request.extra_cost = DROSSEL_ASK;
    assert_false(limiter_check_login(limiter, &request, &decision));
    request.extra_cost = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_true(limiter_check_login(limiter, &request, &decision));
    assert_false(limiter_check_login(limiter, &request, &decision)); /* no room: it is held */
    assert_true(limiter_ban(trial.inner[SHORTEST].table, &request.address, 64, SECOND, NOW));
    request.now_ns += 30 * SECOND;
    trial.now_ns = request.now_ns;
    assert_true(limiter_check_login(limiter, &request, &decision)); /* the ban is over, and so is the window */
    close_trial(&trial);
}

static void only_a_policy_of_one_limit_of_failures_by_account_has_a_shortest_way(void **unused)
{
    (void)unused;
    static const char *const others[] = {
        "limits: { login: { by: address, allow: 5 failures per 20s } }\n",
        "limits: { login: { by: [account, path], allow: 5 failures per 20s } }\n",
        "limits: { login: { by: [account, address], allow: 5 per 20s } }\n",
        "limits: { login: { by: account, allow: [5 failures per 20s, 9 failures per 1h] } }\n",
        "limits: { login: { by: account, allow: 5 failures per 20s, dry_run: true } }\n",
        "limits: { login: { by: account, allow: 5 failures per 20s, algorithm: fixed } }\n",
        "limits: { login: { by: account, allow: 5 failures per 20s, overrides: { bob: unlimited } } }\n",
        "limits: { login: { by: account, allow: 5 failures per 20s, only: [nginx] } }\n",
        "exempt: { methods: [OPTIONS] }\nlimits: { login: { by: account, allow: 5 failures per 20s } }\n",
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct trial trial;
        open_trial(&trial, others[i], 0);
        if (trial.inner[SHORTEST].limiter->login.rate != NULL)
            fail_msg("a shortest way: %s", others[i]);
        close_trial(&trial);
    }
    struct inner headers = open_inner("client: { account_from: [header.X-User, form.email] }\n"
                                      "limits: { login: { by: account, allow: 5 failures per 20s } }\n");
    assert_null(headers.limiter->login.rate);
    close_inner(&headers);
}

/* Its charges would never be given back. */
static void no_limit_of_failures_is_passed_without_a_decision(void **unused)
{
    (void)unused;
    bool has_path;
    struct inner requests = open_inner("limits: { page: { by: address, allow: 5 per 20s } }\n");
    struct inner failures = open_inner("limits: { page: { by: address, allow: 5 failures per 20s } }\n");
    assert_true(limiter_passes(requests.limiter, &has_path));
    assert_false(limiter_passes(failures.limiter, &has_path));
    close_inner(&requests);
    close_inner(&failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_login_is_decided_alike_on_all_ways),
        cmocka_unit_test(several_limits_of_failures_decide_alike_on_the_short_way),
        cmocka_unit_test(the_shortest_way_takes_what_it_is_for),
        cmocka_unit_test(only_a_policy_of_one_limit_of_failures_by_account_has_a_shortest_way),
        cmocka_unit_test(no_limit_of_failures_is_passed_without_a_decision),
    };
    return cmocka_run_group_tests_name("limiter login", tests, NULL, NULL);
}
