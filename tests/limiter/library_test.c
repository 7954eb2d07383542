/* The public handle: opened, reloaded, shared by threads and forks, lost, closed; and its answers. */
#include "limiter_test_support.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void arguments_that_are_missing_are_invalid_and_crash_nobody(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 5 per 60s }\n");
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    struct drossel_decision decision;
    struct drossel_answer answer;
    drossel_close(NULL);
    assert_int_equal(drossel_open(NULL, "x", NULL, NULL), DROSSEL_INVALID);
    struct drossel_error why = { "" }, why_not = { "" };
    assert_int_equal(drossel_open(&limiter, NULL, NULL, NULL), DROSSEL_INVALID);
    assert_int_equal(drossel_open(&limiter, NULL, NULL, &why), DROSSEL_INVALID);
    assert_non_null(strstr(why.text, "policy"));
    assert_int_equal(drossel_reload(NULL, NULL), DROSSEL_INVALID);
    assert_int_equal(drossel_reload(NULL, &why_not), DROSSEL_INVALID);
    assert_non_null(strstr(why_not.text, "no limiter"));
    assert_int_equal(drossel_check(NULL, &request, &decision), DROSSEL_INVALID);
    assert_int_equal(drossel_check(limiter, NULL, &decision), DROSSEL_INVALID);
    assert_int_equal(drossel_check(limiter, &request, NULL), DROSSEL_INVALID);
    assert_int_equal(drossel_check_batch(limiter, NULL, 1, &decision), DROSSEL_INVALID);
    assert_int_equal(drossel_check_batch(limiter, &request, 1, NULL), DROSSEL_INVALID);
    assert_int_equal(drossel_check_batch(limiter, NULL, 0, NULL), DROSSEL_OK);
    assert_int_equal(drossel_now(NULL), 0);
    assert_false(drossel_is_lost(NULL));
    request.door = (enum drossel_door)64;
    assert_int_equal(drossel_check(limiter, &request, &decision), DROSSEL_INVALID);
    assert_int_equal(drossel_check_batch(limiter, &request, 1, &decision), DROSSEL_INVALID);
    request.door = DROSSEL_DOOR_LIBRARY;
    assert_int_equal(drossel_check(limiter, &request, &decision), DROSSEL_OK);
    assert_int_equal(decision.used, 1);
    assert_int_equal(drossel_answer_format(limiter, &decision, (struct drossel_text){ 0 }, 0, &answer),
                     DROSSEL_INVALID);
    drossel_close(limiter);
}

/* As drossel_check on each in turn: those before it are decided and charged, those behind it untouched. */
static void a_request_that_is_invalid_ends_a_batch_at_its_place(void **state)
{
    (void)state;
    static const char *const policies[] = { "limits:\n  a: { by: address, allow: 5 per 60s }\n",
                                            "limits:\n  a: { by: [address, path], allow: 5 per 60s }\n" };
    for (size_t p = 0; p < 2; p++) {
        struct drossel *limiter = open_policy(policies[p]);
        struct drossel_request requests[4];
        struct drossel_decision decisions[4];
        for (unsigned i = 0; i < 4; i++)
            requests[i] = request_of("192.0.2.1", "/", 0);
        requests[2].door = (enum drossel_door)64;
        memset(decisions, 0x55, sizeof decisions);
        assert_int_equal(drossel_check_batch(limiter, requests, 4, decisions), DROSSEL_INVALID);
        assert_int_equal(decisions[1].used, 2);
        assert_int_equal(decisions[2].used, UINT64_C(0x5555555555555555));
        assert_int_equal(decisions[3].used, UINT64_C(0x5555555555555555));
        assert_int_equal(get(limiter, 0).used, 3);
        drossel_close(limiter);
    }
}

static void an_answer_without_header_fields_is_told_by_its_status(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("outcomes: { failure: { header.X-Outcome: failure } }\n"
                                          "limits:\n  a: { by: address, allow: 5 failures per 60s }\n");
    struct drossel_header field = { DROSSEL_TEXT("x-outcome"), DROSSEL_TEXT("Failure") };
    assert_int_equal(drossel_outcome_of(limiter, 200, &field, 1), DROSSEL_FAILURE);
    assert_int_equal(drossel_outcome_of(limiter, 200, NULL, 0), DROSSEL_SUCCESS);
    assert_int_equal(drossel_outcome_of(limiter, 200, NULL, 1), DROSSEL_SUCCESS);
    drossel_close(limiter);
}

static void a_policy_with_mistakes_is_not_opened_and_all_are_told(void **state)
{
    (void)state;
    struct policy_file file =
        make_policy("limits:\n  a: { by: adress, allow: 5 per 60s }\n  b: { by: address, alow: 1 per 1s }\n");
    struct drossel *limiter = (struct drossel *)&file;
    struct drossel_error why;
    assert_int_equal(drossel_open(&limiter, file.path, NULL, &why), DROSSEL_POLICY);
    assert_ptr_equal(limiter, &file);
    assert_non_null(strstr(why.text, ":3:12: "));
    assert_non_null(strstr(why.text, "\n/tmp/drossel-limiter-"));
    assert_true(why.text[strlen(why.text) - 1] != '\n');
    assert_int_equal(drossel_open(&limiter, file.path, NULL, NULL), DROSSEL_POLICY);
    assert_int_equal(drossel_open(&limiter, "/nowhere/policy.yaml", NULL, &why), DROSSEL_POLICY);
    put_policy(&file, "limits:\n  a: { by: address, allow: 5 per 60s }\n");
    struct drossel_options options = { .table_path = "/nowhere/table" };
    assert_int_equal(drossel_open(&limiter, file.path, &options, &why), DROSSEL_TABLE);
    assert_non_null(strstr(why.text, "/nowhere/table: "));
    unlink(file.path);
}

static void a_reload_keeps_the_counters_under_changed_numbers(void **state)
{
    (void)state;
    struct policy_file file =
        make_policy("limits:\n  a: { by: address, allow: 5 per 60s }\n  b: { by: site, allow: 90 per 60s }\n");
    struct drossel *limiter = open_file(&file);
    for (unsigned i = 0; i < 4; i++)
        (void)get(limiter, 0);
    put_policy(&file, "limits:\n  b: { by: site, allow: 80 per 60s }\n  new: { by: address, allow: 70 per 60s }\n"
                      "  a: { by: address, allow: 9 per 60s }\n");
    assert_int_equal(drossel_reload(limiter, NULL), DROSSEL_OK);
    struct drossel_decision decision = get(limiter, 1);
    assert_string_equal(decision.limit_name, "a");
    assert_int_equal(decision.used, 5);
    assert_int_equal(decision.remaining, 4);
    assert_int_equal(decision.quota[0].remaining, 75);
    assert_int_equal(decision.quota[1].remaining, 69);
    put_policy(&file, "limits:\n  a: { by: address, allow: 3 per 60s }\n");
    assert_int_equal(drossel_reload(limiter, NULL), DROSSEL_OK);
    assert_int_equal(get(limiter, 2).verdict, DROSSEL_REFUSE);
    unlink(file.path);
    drossel_close(limiter);
}

static void a_broken_reload_keeps_the_old_policy(void **state)
{
    (void)state;
    struct policy_file file = make_policy("limits:\n  a: { by: address, allow: 3 per 60s }\n");
    struct drossel *limiter = open_file(&file);
    struct drossel_error why;
    (void)get(limiter, 0);
    put_policy(&file, "limits:\n  a: { by: address, allow: many }\n");
    assert_int_equal(drossel_reload(limiter, &why), DROSSEL_POLICY);
    assert_non_null(strstr(why.text, ":3:28: "));
    assert_int_equal(get(limiter, 0).remaining, 1);
    unlink(file.path);
    assert_int_equal(drossel_reload(limiter, &why), DROSSEL_POLICY);
    assert_int_equal(get(limiter, 0).remaining, 0);
    assert_int_equal(get(limiter, 0).verdict, DROSSEL_REFUSE);
    drossel_close(limiter);
}

static void many_reloads_leave_counters_and_memory_in_order(void **state)
{
    (void)state;
    struct policy_file file = make_policy("limits:\n  a: { by: address, allow: 1000 per 60s }\n");
    struct drossel *limiter = open_file(&file);
    for (unsigned i = 0; i < 50; i++) {
        char policy[100];
        snprintf(policy, sizeof policy, "limits:\n  a: { by: address, allow: %u per 60s }\n", 1000 + i % 2);
        put_policy(&file, policy);
        assert_int_equal(drossel_reload(limiter, NULL), DROSSEL_OK);
        assert_int_equal(get(limiter, 0).used, i + 1);
    }
    unlink(file.path);
    drossel_close(limiter);
}

static void the_clock_starts_where_the_options_say_and_goes_on(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 1 per 60s }\n");
    uint64_t one = drossel_now(limiter), two = drossel_now(limiter);
    assert_true(one >= NOW && two >= one && two < NOW + 600 * SECOND);
    drossel_close(limiter);
}

/* ---- shared ---- */

static void a_fork_counts_with_its_parent(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 100 per 60s }\n");
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    (void)decide(limiter, &request);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct drossel_decision decision;
        int admitted = 0;
        for (int i = 0; i < 60; i++)
            admitted += drossel_check(limiter, &request, &decision) == DROSSEL_OK && decision.verdict == DROSSEL_ALLOW;
        _exit(admitted);
    }
    int status;
    unsigned here = admitted_of(limiter, &request, 60);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(here + (unsigned)WEXITSTATUS(status), 99);
    drossel_close(limiter);
}

struct worker {
    pthread_t thread;
    struct drossel *limiter;
    unsigned number, admitted;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    char own[32];
    snprintf(own, sizeof own, "198.51.100.%u", worker->number);
    for (unsigned i = 0; i < 2000; i++) {
        struct drossel_request request = { .now_ns = NOW + i, .path = DROSSEL_TEXT("/") };
        struct drossel_decision decision;
        const char *address = i % 2 == 0 ? "192.0.2.1" : own;
        if (drossel_address_parse(address, strlen(address), &request.address) == DROSSEL_OK &&
            drossel_check(worker->limiter, &request, &decision) == DROSSEL_OK && i % 2 == 0)
            worker->admitted += decision.verdict == DROSSEL_ALLOW;
    }
    return NULL;
}

static void four_threads_on_one_handle_admit_exactly_what_is_allowed(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("limits:\n  a: { by: address, allow: 777 per 60s }\n"
                                          "  site: { by: site, allow: 90000 per 60s }\n"
                                          "  t: { by: address, allow: 5 per 60s, block: 10s, dry_run: true }\n");
    struct worker workers[4];
    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){ .limiter = limiter, .number = i };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    unsigned admitted = 0;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        admitted += workers[i].admitted;
    }
    assert_int_equal(admitted, 777);
    struct drossel_decision decision = get(limiter, 1);
    assert_int_equal(decision.verdict, DROSSEL_REFUSE);
    assert_int_equal(90000 - decision.quota[1].remaining, 5 * 777);
    drossel_close(limiter);
}

static void two_handles_on_one_file_share_their_counts(void **state)
{
    (void)state;
    struct policy_file file = make_policy("limits:\n  a: { by: address, allow: 5 per 60s }\n");
    char table[80];
    snprintf(table, sizeof table, "%s.table", file.path);
    struct drossel_options options = { .table_path = table, .table_keys = 64 };
    struct drossel *one, *two;
    assert_int_equal(drossel_open(&one, file.path, &options, NULL), DROSSEL_OK);
    assert_int_equal(drossel_open(&two, file.path, &options, NULL), DROSSEL_OK);
    (void)get(one, 0);
    assert_int_equal(get(two, 0).used, 2);
    drossel_close(one);
    assert_int_equal(get(two, 0).used, 3);
    drossel_close(two);
    assert_int_equal(drossel_open(&one, file.path, &options, NULL), DROSSEL_OK);
    assert_int_equal(get(one, 0).used, 4);
    drossel_close(one);
    unlink(table);
    unlink(file.path);
}

static void a_table_cut_off_under_us_is_told_and_opened_anew_by_a_reload(void **state)
{
    (void)state;
    struct policy_file file = make_policy("limits:\n  a: { by: address, allow: 2 per 60s }\n");
    char table[80];
    snprintf(table, sizeof table, "%s.table", file.path);
    struct drossel_options options = { .table_path = table, .table_keys = 64 };
    struct drossel *limiter;
    struct drossel_error why;
    assert_int_equal(drossel_open(&limiter, file.path, &options, NULL), DROSSEL_OK);
    (void)get(limiter, 0);
    assert_false(drossel_is_lost(limiter));
    assert_int_equal(truncate(table, 0), 0);
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    assert_int_equal(admitted_of(limiter, &request, 9), 2); /* from nothing, alone */
    assert_true(drossel_is_lost(limiter));
    assert_int_equal(drossel_reload(limiter, &why), DROSSEL_TABLE);
    assert_non_null(strstr(why.text, table));
    assert_int_equal(get(limiter, 0).verdict, DROSSEL_REFUSE);
    assert_int_equal(unlink(table), 0);
    assert_int_equal(drossel_reload(limiter, &why), DROSSEL_OK);
    assert_false(drossel_is_lost(limiter));
    assert_int_equal(admitted_of(limiter, &request, 9), 2);
    drossel_close(limiter);
    unlink(table);
    unlink(file.path);
}

/* ---- answers ---- */

static const struct drossel_text *find_field(const struct drossel_answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->header_count; i++)
        if (answer->header[i].name.size == strlen(name) &&
            strncasecmp(answer->header[i].name.data, name, strlen(name)) == 0)
            return &answer->header[i].value;
    return NULL;
}

static void a_refusal_is_answered_as_the_limit_says_within_the_answers_own_memory(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy("answer: { reveal: everyone, jitter: 0% }\nlimits:\n"
                                          "  a: { by: address, allow: 1 per 60s, answer: { status: 503, body: json,"
                                          " json: '{\"again\":${retry_after},\"by\":\"${limit}\"}' } }\n");
    (void)get(limiter, 0);
    struct drossel_decision decision = get(limiter, 0.5);
    struct drossel_answer *answer = malloc(sizeof *answer);
    memset(answer, 0x5a, sizeof *answer);
    assert_int_equal(drossel_answer_format(limiter, &decision, (struct drossel_text){ 0 }, 1800000000, answer),
                     DROSSEL_OK);
    assert_int_equal(answer->status, 503);
    assert_int_equal(answer->retry_after_s, 60);
    assert_string_equal(answer->content_type, "application/json");
    assert_int_equal(answer->body.size, strlen("{\"again\":60,\"by\":\"a\"}"));
    assert_memory_equal(answer->body.data, "{\"again\":60,\"by\":\"a\"}", answer->body.size);
    const struct drossel_text *retry = find_field(answer, "Retry-After"), *quota = find_field(answer, "RateLimit");
    assert_non_null(retry);
    assert_memory_equal(retry->data, "60", retry->size);
    assert_non_null(quota);
    assert_memory_equal(quota->data, "\"a\";r=0;t=60", quota->size);
    assert_non_null(find_field(answer, "Cache-Control"));
    assert_true(quota->data >= answer->buffer && quota->data + quota->size <= answer->buffer + sizeof answer->buffer);
    free(answer);
    drossel_close(limiter);
}

static void an_answer_follows_the_accept_field_and_a_ban_the_files_rules(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("answer: { status: 430 }\nlimits:\n"
                    "  a: { by: address, allow: 1 per 60s, ban: 60s, answer: { status: 431 } }\n");
    static const struct drossel_text html = DROSSEL_TEXT("text/html"), text = DROSSEL_TEXT("text/plain");
    struct drossel_answer answer;
    (void)get(limiter, 0);
    struct drossel_decision refused = get(limiter, 0), banned = get(limiter, 1);
    assert_int_equal(drossel_answer_format(limiter, &refused, html, 0, &answer), DROSSEL_OK);
    assert_int_equal(answer.status, 431);
    assert_int_equal(refused.status, 431);
    assert_non_null(strstr(answer.content_type, "text/html"));
    assert_null(find_field(&answer, "RateLimit")); /* nobody is signed in */
    assert_int_equal(drossel_answer_format(limiter, &banned, text, 0, &answer), DROSSEL_OK);
    assert_int_equal(answer.status, 430);
    assert_int_equal(banned.status, 430);
    assert_non_null(strstr(answer.content_type, "text/plain"));
    assert_true(answer.retry_after_s >= 59);
    drossel_close(limiter);
}

static void quotas_are_revealed_to_who_brought_a_token(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("client: { token_from: [header.X-Key] }\nlimits:\n  a: { by: address, allow: 1 per 60s }\n");
    struct drossel_header header = { DROSSEL_TEXT("X-Key"), DROSSEL_TEXT("k") };
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    struct drossel_answer answer;
    (void)decide(limiter, &request);
    for (unsigned signed_in = 0; signed_in < 2; signed_in++) {
        request.headers = &header;
        request.header_count = signed_in;
        struct drossel_decision decision = decide(limiter, &request);
        assert_int_equal(decision.signed_in, signed_in);
        assert_int_equal(drossel_answer_format(limiter, &decision, (struct drossel_text){ 0 }, 0, &answer), DROSSEL_OK);
        assert_int_equal(find_field(&answer, "RateLimit") != NULL, signed_in);
    }
    drossel_close(limiter);
}

static void how_an_account_has_fared_is_not_told_for_a_made_up_token(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("client: { token_from: [header.X-Key] }\nlimits:\n  a: { by: address, allow: 1 per 60s }\n"
                    "  login: { by: account, allow: 9 failures per 60s }\n");
    struct drossel_header header = { DROSSEL_TEXT("X-Key"), DROSSEL_TEXT("k") };
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    struct drossel_answer answer;
    request.headers = &header;
    request.header_count = 1;
    request.account = (struct drossel_text)DROSSEL_TEXT("alice");
    (void)decide(limiter, &request);
    struct drossel_decision decision = decide(limiter, &request);
    assert_int_equal(decision.verdict, DROSSEL_REFUSE);
    assert_int_equal(decision.quota_count, 2);
    assert_int_equal(drossel_answer_format(limiter, &decision, (struct drossel_text){ 0 }, 0, &answer), DROSSEL_OK);
    const struct drossel_text *field = find_field(&answer, "RateLimit");
    assert_non_null(field);
    assert_null(memmem(field->data, field->size, "login", 5));
    drossel_close(limiter);
}

static void verdicts_have_names(void **state)
{
    (void)state;
    static const char *const names[] = { "allow", "mark", "delay", "challenge", "refuse", "drop", "hold" };
    for (unsigned i = 0; i < 7; i++)
        assert_string_equal(drossel_verdict_name((enum drossel_verdict)i), names[i]);
    assert_string_equal(drossel_verdict_name((enum drossel_verdict)7), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: cmocka takes SIGBUS for itself with each test, and a table only once in a process */
        cmocka_unit_test(a_table_cut_off_under_us_is_told_and_opened_anew_by_a_reload),
        cmocka_unit_test(arguments_that_are_missing_are_invalid_and_crash_nobody),
        cmocka_unit_test(a_request_that_is_invalid_ends_a_batch_at_its_place),
        cmocka_unit_test(an_answer_without_header_fields_is_told_by_its_status),
        cmocka_unit_test(a_policy_with_mistakes_is_not_opened_and_all_are_told),
        cmocka_unit_test(a_reload_keeps_the_counters_under_changed_numbers),
        cmocka_unit_test(a_broken_reload_keeps_the_old_policy),
        cmocka_unit_test(many_reloads_leave_counters_and_memory_in_order),
        cmocka_unit_test(the_clock_starts_where_the_options_say_and_goes_on),
        cmocka_unit_test(a_fork_counts_with_its_parent),
        cmocka_unit_test(four_threads_on_one_handle_admit_exactly_what_is_allowed),
        cmocka_unit_test(two_handles_on_one_file_share_their_counts),
        cmocka_unit_test(a_refusal_is_answered_as_the_limit_says_within_the_answers_own_memory),
        cmocka_unit_test(an_answer_follows_the_accept_field_and_a_ban_the_files_rules),
        cmocka_unit_test(quotas_are_revealed_to_who_brought_a_token),
        cmocka_unit_test(how_an_account_has_fared_is_not_told_for_a_made_up_token),
        cmocka_unit_test(verdicts_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
