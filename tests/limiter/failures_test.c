/* Limits that count failures: charged on arrival, held in doubt, settled once (P4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drossel.h"

#define SECOND UINT64_C(1000000000)
#define NOW (UINT64_C(1800000000) * SECOND)

static struct drossel *open_policy(const char *text)
{
    char path[] = "/tmp/drossel-failures-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct drossel_options options = { .private_table = true, .table_keys = 4096, .private_start_ns = NOW };
    struct drossel_error why = { "" };
    struct drossel *limiter = NULL;
    if (drossel_open(&limiter, path, &options, &why) != DROSSEL_OK)
        fail_msg("%s", why.text);
    unlink(path);
    return limiter;
}

static struct drossel_decision ask(struct drossel *limiter, const char *address, const char *account, uint64_t now_ns,
                                   uint64_t arrived_ns)
{
    struct drossel_request request = {
        .now_ns = now_ns, .arrived_ns = arrived_ns, .method = DROSSEL_TEXT("POST"), .path = DROSSEL_TEXT("/login")
    };
    struct drossel_decision decision;
    assert_int_equal(drossel_address_parse(address, strlen(address), &request.address), DROSSEL_OK);
    if (account != NULL)
        request.account = (struct drossel_text){ account, strlen(account) };
    assert_int_equal(drossel_check(limiter, &request, &decision), DROSSEL_OK);
    return decision;
}

static void settle(struct drossel *limiter, const struct drossel_decision *decision, enum drossel_outcome outcome,
                   uint64_t now_ns)
{
    assert_int_equal(drossel_settle(limiter, &decision->ticket, outcome, now_ns), DROSSEL_OK);
}

static const char by_address[] =
    "version: 1\nlimits:\n  login: { by: address, allow: 5 failures per 20s, block: 60s }\n";

/* P4 */
static void a_hundred_parallel_guesses_get_five_through(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(by_address);
    struct drossel_decision through[5];
    for (int i = 0; i < 100; i++) {
        struct drossel_decision decision = ask(limiter, "203.0.113.7", NULL, NOW, 0);
        assert_int_equal(decision.verdict, i < 5 ? DROSSEL_ALLOW : DROSSEL_HOLD);
        if (i < 5)
            through[i] = decision;
        else
            assert_int_equal(decision.hold_ns, 2 * SECOND);
    }
    for (int i = 0; i < 5; i++)
        settle(limiter, &through[i], DROSSEL_FAILURE, NOW + SECOND);
    struct drossel_decision decision = ask(limiter, "203.0.113.7", NULL, NOW + SECOND, NOW);
    assert_int_equal(decision.verdict, DROSSEL_REFUSE);
    assert_true(decision.started_block);
    assert_int_equal(decision.wait_ns, 60 * SECOND);
    drossel_close(limiter);
}

/* P4 */
static void ten_of_an_office_with_right_passwords_all_get_in(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(by_address);
    struct drossel_decision decision[10];
    for (int i = 0; i < 10; i++)
        decision[i] = ask(limiter, "203.0.113.7", NULL, NOW, 0);
    for (int i = 0; i < 5; i++)
        settle(limiter, &decision[i], DROSSEL_SUCCESS, NOW + SECOND / 10);
    for (int i = 5; i < 10; i++) {
        assert_int_equal(decision[i].verdict, DROSSEL_HOLD);
        decision[i] = ask(limiter, "203.0.113.7", NULL, NOW + SECOND / 10, NOW);
        assert_int_equal(decision[i].verdict, DROSSEL_ALLOW);
        settle(limiter, &decision[i], DROSSEL_OTHER, NOW + SECOND / 5);
    }
    assert_int_equal(ask(limiter, "203.0.113.7", NULL, NOW + SECOND / 2, 0).remaining, 4);
    drossel_close(limiter);
}

static void when_the_hold_is_over_it_is_refused_without_a_block(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(by_address);
    for (int i = 0; i < 5; i++)
        ask(limiter, "203.0.113.7", NULL, NOW, 0);
    assert_int_equal(ask(limiter, "203.0.113.7", NULL, NOW + 2 * SECOND - 1, NOW).verdict, DROSSEL_HOLD);
    struct drossel_decision decision = ask(limiter, "203.0.113.7", NULL, NOW + 2 * SECOND, NOW);
    assert_int_equal(decision.verdict, DROSSEL_REFUSE);
    assert_false(decision.started_block);
    assert_int_equal(decision.wait_ns, 18 * SECOND);
    drossel_close(limiter);
}

static void settling_twice_and_from_a_copy_is_harmless(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(by_address);
    struct drossel_decision first = ask(limiter, "203.0.113.7", NULL, NOW, 0);
    for (int i = 0; i < 3; i++) {
        struct drossel_decision other = ask(limiter, "203.0.113.7", NULL, NOW, 0);
        settle(limiter, &other, DROSSEL_FAILURE, NOW + 1);
    }
    struct drossel_decision copy = first;
    settle(limiter, &first, DROSSEL_SUCCESS, NOW + 1);
    for (int i = 0; i < 3; i++)
        settle(limiter, &copy, DROSSEL_SUCCESS, NOW + 2);
    struct drossel_decision decision = ask(limiter, "203.0.113.7", NULL, NOW + 3, 0);
    assert_int_equal(decision.remaining, 1); /* three failures and this one */
    drossel_close(limiter);
}

static void a_refund_reaches_its_window_and_no_later_one(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("version: 1\nlimits:\n  login: { by: address, allow: 5 failures per 20s, "
                                          "algorithm: fixed, from: first }\n");
    struct drossel_decision early = ask(limiter, "203.0.113.7", NULL, NOW, 0);
    struct drossel_decision half = ask(limiter, "203.0.113.7", NULL, NOW, 0);
    settle(limiter, &half, DROSSEL_SUCCESS, NOW + 10 * SECOND);
    assert_int_equal(ask(limiter, "203.0.113.7", NULL, NOW + 10 * SECOND, 0).remaining, 3);
    assert_int_equal(ask(limiter, "203.0.113.7", NULL, NOW + 21 * SECOND, 0).remaining, 4);
    settle(limiter, &early, DROSSEL_SUCCESS, NOW + 22 * SECOND);
    assert_int_equal(ask(limiter, "203.0.113.7", NULL, NOW + 22 * SECOND, 0).remaining, 3);
    drossel_close(limiter);
}

static void success_clears_the_account_and_never_the_address(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(
        "version: 1\nlimits:\n"
        "  pair: { by: [account, address], allow: 5 failures per 900s, reset_on: success, only: [library] }\n"
        "  address: { by: address, allow: 10 failures per 900s }\n");
    for (int i = 0; i < 4; i++) {
        struct drossel_decision decision = ask(limiter, "203.0.113.7", "victim@a.example", NOW, 0);
        settle(limiter, &decision, DROSSEL_FAILURE, NOW + 1);
    }
    struct drossel_decision own = ask(limiter, "203.0.113.7", "own@a.example", NOW, 0);
    settle(limiter, &own, DROSSEL_SUCCESS, NOW + 1);
    struct drossel_decision decision = ask(limiter, "203.0.113.7", "victim@a.example", NOW + 2, 0);
    assert_int_equal(decision.verdict, DROSSEL_ALLOW);
    assert_int_equal(decision.remaining, 0); /* the victim's pair: its own success washed nothing */
    settle(limiter, &decision, DROSSEL_SUCCESS, NOW + 3);
    decision = ask(limiter, "203.0.113.7", "victim@a.example", NOW + 4, 0);
    assert_int_equal(decision.remaining, 4); /* cleared */
    assert_string_equal(decision.limit_name, "pair");
    for (uint32_t i = 0; i < decision.quota_count; i++)
        if (strcmp(decision.quota[i].name, "address") == 0)
            assert_int_equal(decision.quota[i].remaining, 5);
    drossel_close(limiter);
}

/* Outcomes that never came are counted as open for longer than a short window lasts.  So what exceeds it may be held for nothing; it is
 * refused all the same, after `hold` at the latest, and let through at no time. */
static void charges_without_an_outcome_that_left_a_short_window_let_nobody_through(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("version: 1\nlimits:\n  login: { by: address, allow: 5 failures per 10s, hold: 2s }\n");
    uint64_t later_ns = NOW + 12 * SECOND;
    for (int i = 0; i < 5; i++) /* never answered */
        assert_int_equal(ask(limiter, "203.0.113.7", NULL, NOW, 0).verdict, DROSSEL_ALLOW);
    for (int i = 0; i < 5; i++) {
        struct drossel_decision failed = ask(limiter, "203.0.113.7", NULL, later_ns, 0);
        assert_int_equal(failed.verdict, DROSSEL_ALLOW);
        settle(limiter, &failed, DROSSEL_FAILURE, later_ns);
    }
    struct drossel_decision held = ask(limiter, "203.0.113.7", NULL, later_ns, 0);
    assert_true(held.verdict == DROSSEL_REFUSE || (held.verdict == DROSSEL_HOLD && held.hold_ns <= 2 * SECOND));
    assert_int_equal(ask(limiter, "203.0.113.7", NULL, later_ns + 2 * SECOND, later_ns).verdict, DROSSEL_REFUSE);
    drossel_close(limiter);
}

static struct drossel_decision ask_all(struct drossel *limiter, const char *const *accounts, size_t count,
                                       bool unreadable)
{
    struct drossel_text texts[20];
    struct drossel_request request = { .now_ns = NOW,
                                       .method = DROSSEL_TEXT("POST"),
                                       .path = DROSSEL_TEXT("/login"),
                                       .accounts = texts,
                                       .account_count = count,
                                       .is_account_unreadable = unreadable };
    struct drossel_decision decision;
    for (size_t i = 0; i < count; i++)
        texts[i] = (struct drossel_text){ accounts[i], strlen(accounts[i]) };
    assert_int_equal(drossel_address_parse("203.0.113.7", 11, &request.address), DROSSEL_OK);
    assert_int_equal(drossel_check(limiter, &request, &decision), DROSSEL_OK);
    return decision;
}

static const char by_body[] = "version: 1\nclient: { account_from: [form.email, json.email] }\nlimits:\n"
                              "  login: { by: account, allow: 5 failures per 900s, reset_on: success }\n";

static void spellings_that_log_in_to_one_account_are_one_key(void **state)
{
    (void)state;
    static const char *const spellings[] = { "bob@a.example", " Bob@A.Example ", "BOB@a.example.",
                                             "\xef\xbc\xa2ob@a.example", "bob@a.example" };
    struct drossel *limiter = open_policy(by_body);
    for (size_t i = 0; i < 5; i++) {
        struct drossel_decision decision = ask_all(limiter, &spellings[i], 1, false);
        assert_int_equal(decision.remaining, 4 - i);
        settle(limiter, &decision, DROSSEL_FAILURE, NOW);
    }
    assert_int_equal(ask_all(limiter, spellings, 1, false).verdict, DROSSEL_REFUSE);
    drossel_close(limiter);
}

static void every_account_of_a_body_is_charged_once_and_none_is_cleared(void **state)
{
    (void)state;
    static const char *const names[] = { "a@x.example", "A@X.example", "b@x.example", "", "  " };
    struct drossel *limiter = open_policy(by_body);
    struct drossel_decision decision = ask_all(limiter, names, 5, false);
    assert_int_equal(decision.ticket.count, 2);
    settle(limiter, &decision, DROSSEL_FAILURE, NOW);
    decision = ask_all(limiter, names, 5, false);
    assert_int_equal(decision.remaining, 3);
    settle(limiter, &decision, DROSSEL_SUCCESS, NOW); /* gives its own charges back, and clears nobody's */
    assert_int_equal(ask_all(limiter, &names[0], 1, false).remaining, 3);
    assert_int_equal(ask_all(limiter, &names[2], 1, false).remaining, 3);
    drossel_close(limiter);
}

static void unreadable_bodies_of_an_address_share_one_account(void **state)
{
    (void)state;
    static const char *const name[] = { "a@x.example" };
    struct drossel *limiter = open_policy(by_body);
    for (int i = 0; i < 5; i++) {
        struct drossel_decision decision = ask_all(limiter, NULL, 0, true);
        assert_int_equal(decision.verdict, DROSSEL_ALLOW);
        settle(limiter, &decision, DROSSEL_FAILURE, NOW);
    }
    assert_int_equal(ask_all(limiter, NULL, 0, true).verdict, DROSSEL_REFUSE);
    assert_int_equal(ask_all(limiter, name, 1, true).verdict, DROSSEL_REFUSE);
    assert_int_equal(ask_all(limiter, name, 1, false).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

#define HEADERS_MAX 20

/* Asks with these lines of one header. */
static struct drossel_decision ask_with(struct drossel *limiter, const char *name, const char *const *lines,
                                        size_t count)
{
    struct drossel_header headers[HEADERS_MAX];
    struct drossel_request request = { .now_ns = NOW,
                                       .method = DROSSEL_TEXT("POST"),
                                       .path = DROSSEL_TEXT("/login"),
                                       .headers = headers,
                                       .header_count = count };
    struct drossel_decision decision;
    for (size_t i = 0; i < count; i++)
        headers[i] = (struct drossel_header){ { name, strlen(name) }, { lines[i], strlen(lines[i]) } };
    assert_int_equal(drossel_address_parse("203.0.113.7", 11, &request.address), DROSSEL_OK);
    assert_int_equal(drossel_check(limiter, &request, &decision), DROSSEL_OK);
    return decision;
}

static const char by_headers[] = "version: 1\nclient: { account_from: [header.X-User, cookie.user, basic] }\nlimits:\n"
                                 "  login: { by: account, allow: 5 failures per 900s, reset_on: success }\n";

static void each_name_in_headers_and_cookies_is_charged_and_none_is_cleared(void **state)
{
    (void)state;
    static const struct {
        const char *name, *lines[3];
        size_t count;
        const char *one, *other;
    } table[] = {
        { "X-User", { "a@x.example", "", "b@x.example" }, 3, "a@x.example", "b@x.example" },
        { "Cookie", { "user=a@x.example", "c=d; user=b@x.example" }, 2, "user=a@x.example", "user=b@x.example" },
        { "Cookie", { "user=; user=a@x.example;user=\"b@x.example\"" }, 1, "user=a@x.example", "user=b@x.example" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct drossel *limiter = open_policy(by_headers);
        struct drossel_decision decision = ask_with(limiter, table[i].name, table[i].lines, table[i].count);
        assert_int_equal(decision.ticket.count, 2);
        settle(limiter, &decision, DROSSEL_FAILURE, NOW);
        decision = ask_with(limiter, table[i].name, table[i].lines, table[i].count);
        settle(limiter, &decision, DROSSEL_SUCCESS, NOW);
        assert_int_equal(ask_with(limiter, table[i].name, &table[i].one, 1).remaining, 3);
        assert_int_equal(ask_with(limiter, table[i].name, &table[i].other, 1).remaining, 3);
        drossel_close(limiter);
    }
}

static void more_names_than_there_is_room_for_are_one_account_of_the_address(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(by_headers);
    for (int round = 0; round < 6; round++) {
        char names[HEADERS_MAX][16];
        const char *lines[HEADERS_MAX];
        for (int i = 0; i < HEADERS_MAX; i++) {
            snprintf(names[i], sizeof names[i], "%d-%d@x", i == HEADERS_MAX - 1 ? 0 : round, i);
            lines[i] = names[i];
        }
        struct drossel_decision decision = ask_with(limiter, "X-User", lines, HEADERS_MAX);
        assert_int_equal(decision.verdict == DROSSEL_ALLOW, round < 5); /* then held: a ticket has not room for all */
        settle(limiter, &decision, DROSSEL_FAILURE, NOW);
    }
    drossel_close(limiter);
}

static void credentials_that_others_may_read_and_we_cannot_are_one_account_of_the_address(void **state)
{
    (void)state;
    static const char *const odd[] = { "Basic Y*m9iOng=", "basic Ym9iOng=!", "Basic\tYm9i-ng=" };
    static char longest[2048] = "Basic ";
    const char *lines[] = { odd[0], odd[1], odd[2], longest };
    struct drossel *limiter = open_policy(by_headers);
    memset(longest + 6, 'A', sizeof longest - 7);
    for (size_t i = 0; i < 5; i++) {
        struct drossel_decision decision = ask_with(limiter, "Authorization", &lines[i % 4], 1);
        assert_int_equal(decision.verdict, DROSSEL_ALLOW);
        settle(limiter, &decision, DROSSEL_FAILURE, NOW);
        const char *own = lines[(i + 1) % 4]; /* an attacker's own account clears nothing */
        decision = ask_with(limiter, "Authorization", &own, 1);
        settle(limiter, &decision, DROSSEL_SUCCESS, NOW);
    }
    const char *none[] = { "Bearer abc", "Basic", "Basic Ym9iOng=", "Digest x" };
    assert_int_equal(ask_with(limiter, "Authorization", lines, 1).verdict, DROSSEL_REFUSE);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(ask_with(limiter, "Authorization", &none[i], 1).verdict, DROSSEL_ALLOW);
    drossel_close(limiter);
}

/* P4 */
static void a_challenge_waits_for_the_answers_before_it(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("version: 1\nlimits:\n  spray: { by: site, allow: 2 failures per 60s, action: challenge }\n");
    struct drossel_decision one = ask(limiter, "203.0.113.1", NULL, NOW, 0),
                            two = ask(limiter, "203.0.113.2", NULL, NOW, 0);
    for (int i = 0; i < 100; i++) {
        struct drossel_decision held = ask(limiter, "203.0.113.3", NULL, NOW, 0);
        assert_int_equal(held.verdict, DROSSEL_HOLD);
        assert_int_equal(held.hold_ns, 2 * SECOND);
        assert_string_equal(held.limit_name, "spray");
    }
    settle(limiter, &one, DROSSEL_SUCCESS, NOW + 1);
    struct drossel_decision three = ask(limiter, "203.0.113.3", NULL, NOW + 1, NOW);
    assert_int_equal(three.verdict, DROSSEL_ALLOW);
    settle(limiter, &two, DROSSEL_FAILURE, NOW + 2);
    settle(limiter, &three, DROSSEL_FAILURE, NOW + 2);
    assert_int_equal(ask(limiter, "203.0.113.4", NULL, NOW + 2, NOW).verdict, DROSSEL_CHALLENGE);
    drossel_close(limiter);
}

static void where_nothing_is_to_be_waited_for_a_challenge_in_doubt_is_spoken_out(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint64_t now_ns;
        enum drossel_verdict verdict;
    } cases[] = {
        { "action: challenge, hold: 0", NOW, DROSSEL_CHALLENGE },
        { "action: challenge", NOW + 2 * SECOND, DROSSEL_CHALLENGE },
        { "action: challenge", NOW + 2 * SECOND - 1, DROSSEL_HOLD },
        { "action: challenge, dry_run: true", NOW, DROSSEL_ALLOW },
        { "action: mark", NOW, DROSSEL_ALLOW },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "version: 1\nlimits:\n  a: { by: site, allow: 1 failures per 60s, %s }\n",
                 cases[i].keys);
        struct drossel *limiter = open_policy(text);
        assert_int_equal(ask(limiter, "203.0.113.1", NULL, NOW, 0).verdict, DROSSEL_ALLOW);
        assert_int_equal(ask(limiter, "203.0.113.2", NULL, cases[i].now_ns, NOW).verdict, cases[i].verdict);
        drossel_close(limiter);
    }
}

static void outcomes_are_told_by_status_or_by_a_header(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(by_address);
    const int failures[] = { 400, 401, 403, 422 }, successes[] = { 200, 201, 204, 302, 303 },
              others[] = { 0, 301, 404, 429, 500, 9999 };
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        assert_int_equal(drossel_outcome_of(limiter, failures[i], NULL, 0), DROSSEL_FAILURE);
    for (size_t i = 0; i < sizeof successes / sizeof successes[0]; i++)
        assert_int_equal(drossel_outcome_of(limiter, successes[i], NULL, 0), DROSSEL_SUCCESS);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(drossel_outcome_of(limiter, others[i], NULL, 0), DROSSEL_OTHER);
    drossel_close(limiter);
    limiter = open_policy("version: 1\noutcomes: { failure: { header.X-Drossel-Outcome: failure } }\n"
                          "limits:\n  login: { by: address, allow: 5 failures per 20s }\n");
    const struct drossel_header said = { DROSSEL_TEXT("x-drossel-outcome"), DROSSEL_TEXT("Failure") };
    assert_int_equal(drossel_outcome_of(limiter, 200, &said, 1), DROSSEL_FAILURE);
    assert_int_equal(drossel_outcome_of(limiter, 200, NULL, 0), DROSSEL_SUCCESS);
    drossel_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_parallel_guesses_get_five_through),
        cmocka_unit_test(ten_of_an_office_with_right_passwords_all_get_in),
        cmocka_unit_test(when_the_hold_is_over_it_is_refused_without_a_block),
        cmocka_unit_test(settling_twice_and_from_a_copy_is_harmless),
        cmocka_unit_test(a_refund_reaches_its_window_and_no_later_one),
        cmocka_unit_test(success_clears_the_account_and_never_the_address),
        cmocka_unit_test(charges_without_an_outcome_that_left_a_short_window_let_nobody_through),
        cmocka_unit_test(spellings_that_log_in_to_one_account_are_one_key),
        cmocka_unit_test(every_account_of_a_body_is_charged_once_and_none_is_cleared),
        cmocka_unit_test(unreadable_bodies_of_an_address_share_one_account),
        cmocka_unit_test(each_name_in_headers_and_cookies_is_charged_and_none_is_cleared),
        cmocka_unit_test(more_names_than_there_is_room_for_are_one_account_of_the_address),
        cmocka_unit_test(credentials_that_others_may_read_and_we_cannot_are_one_account_of_the_address),
        cmocka_unit_test(a_challenge_waits_for_the_answers_before_it),
        cmocka_unit_test(where_nothing_is_to_be_waited_for_a_challenge_in_doubt_is_spoken_out),
        cmocka_unit_test(outcomes_are_told_by_status_or_by_a_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
