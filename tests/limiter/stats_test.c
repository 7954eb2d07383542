/* What the limiter counts of each limit, and whom it notes. */
#include "limiter_test_support.h"

#include "table/stats.h"

/* The registry index of the limit of that name; the last one, if its numbers have changed. */
static uint32_t index_of(const struct inner *inner, const char *name)
{
    for (uint32_t i = table_limit_count(inner->table); i-- > 0;)
        if (strcmp(table_limit_at(inner->table, i)->name, name) == 0)
            return i;
    fail_msg("no limit %s", name);
    return 0;
}

static struct table_limit_stats stats_of(const struct inner *inner, const char *name)
{
    struct table_limit_stats stats;
    assert_true(table_stats_limit(inner->table, index_of(inner, name), &stats));
    return stats;
}

static enum drossel_verdict ask(const struct inner *inner, const struct drossel_request *request)
{
    struct drossel_decision decision;
    assert_int_equal(limiter_check(inner->limiter, request, &decision), DROSSEL_OK);
    return decision.verdict;
}

static void ask_times(const struct inner *inner, const char *path, unsigned times)
{
    struct drossel_request request = request_of("192.0.2.1", path, 1);
    for (unsigned i = 0; i < times; i++)
        ask(inner, &request);
}

/* The only offender of a limit. */
static struct table_offender offender_of(const struct inner *inner, const char *limit)
{
    struct table_offender offender, found = { 0 };
    unsigned count = 0;
    for (uint32_t at = 0; table_stats_next(inner->table, &at, &offender);)
        if (offender.limit == index_of(inner, limit)) {
            found = offender;
            count++;
        }
    assert_int_equal(count, 1);
    return found;
}

static void each_action_is_counted_as_what_it_did(void **state)
{
    (void)state;
    static const struct {
        const char *limit;
        uint64_t count
            [TABLE_TALLIES]; /* of ten requests; passed, marked, delayed, challenged, refused, dropped, by block, blocks */
        bool is_dry_run;
    } cases[] = {
        { "{ by: address, allow: 4 per 10s }", { 4, 0, 0, 0, 6 }, false },
        { "{ by: address, allow: 4 per 10s, action: drop }", { 4, 0, 0, 0, 0, 6 }, false },
        { "{ by: address, allow: 4 per 10s, action: challenge }", { 4, 0, 0, 6 }, false },
        { "{ by: address, allow: 4 per 10s, action: mark }", { 4, 6 }, false },
        { "{ by: address, allow: 4 per 10s, block: 1m }", { 4, 0, 0, 0, 6, 0, 5, 1 }, false },
        { "{ by: address, algorithm: leaky, allow: 1 per 1s, burst: 5, action: delay }", { 1, 0, 5, 0, 4 }, false },
        { "{ by: address, allow: 4 per 10s, dry_run: true }", { 4, 0, 0, 0, 6 }, true },
        { "{ by: address, allow: 4 per 10s, action: drop, dry_run: true }", { 4, 0, 0, 0, 0, 6 }, true },
        { "{ by: site, allow: 100 per 10s }", { 10 }, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "limits:\n  page: %s\n", cases[i].limit);
        struct inner inner = open_inner(text);
        ask_times(&inner, "/", 10);
        struct table_limit_stats stats = stats_of(&inner, "page");
        for (unsigned tally = 0; tally < TABLE_TALLIES; tally++) {
            uint64_t counted = cases[i].is_dry_run ? stats.dry_run[tally] : stats.count[tally];
            if (counted != cases[i].count[tally])
                fail_msg("%s: tally %u is %llu", cases[i].limit, tally, (unsigned long long)counted);
            assert_int_equal(cases[i].is_dry_run ? stats.count[tally] : stats.dry_run[tally], 0);
        }
        close_inner(&inner);
    }
}

static void each_of_several_limits_is_counted_by_its_own_verdict(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n"
                                    "  small: { by: address, allow: 3 per 10s }\n"
                                    "  large: { by: address, allow: [8 per 10s, 100 per 1m] }\n"
                                    "  trial: { by: address, allow: 2 per 10s, dry_run: true }\n");
    ask_times(&inner, "/", 10);
    struct table_limit_stats small = stats_of(&inner, "small"), trial = stats_of(&inner, "trial");
    assert_int_equal(small.count[TABLE_PASSED], 3);
    assert_int_equal(small.count[TABLE_REFUSED], 7);
    assert_int_equal(stats_of(&inner, "large-10s").count[TABLE_PASSED],
                     10); /* it had room: what was refused is not charged */
    assert_int_equal(stats_of(&inner, "large-1m").count[TABLE_PASSED], 10);
    assert_int_equal(trial.dry_run[TABLE_PASSED] + trial.dry_run[TABLE_REFUSED], 10);
    assert_int_equal(trial.count[TABLE_REFUSED], 0);
    close_inner(&inner);
}

static void a_question_counts_nothing(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  page: { by: address, allow: 1 per 10s }\n");
    struct drossel_request request = request_of("192.0.2.1", "/", 1);
    request.extra_cost = DROSSEL_ASK;
    for (unsigned i = 0; i < 5; i++)
        ask(&inner, &request);
    ask_times(&inner, "/", 2);
    for (unsigned i = 0; i < 5; i++)
        ask(&inner, &request);
    struct table_limit_stats stats = stats_of(&inner, "page");
    assert_int_equal(stats.count[TABLE_PASSED], 1);
    assert_int_equal(stats.count[TABLE_REFUSED], 1);
    close_inner(&inner);
}

static void a_banned_address_is_counted_and_noted_as_banned(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  page: { by: address, allow: 100 per 10s }\n");
    struct drossel_address address = address_of("2001:db8:1:2::9");
    assert_true(limiter_ban(inner.table, &address, 64, 60 * SECOND, NOW));
    struct drossel_request request = request_of("2001:db8:1:2::7", "/", 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ask(&inner, &request), DROSSEL_REFUSE);
    assert_int_equal(stats_of(&inner, "ban").count[TABLE_REFUSED], 3);
    assert_int_equal(stats_of(&inner, "ban").count[TABLE_BY_BLOCK], 3);
    assert_int_equal(stats_of(&inner, "page").count[TABLE_PASSED], 0);
    struct table_offender offender = offender_of(&inner, "ban");
    assert_string_equal(offender.name, "2001:db8:1:2::/64");
    assert_int_equal(offender.count[TABLE_REFUSED], 3);
    close_inner(&inner);
}

static void an_offender_is_noted_with_name_and_times_but_an_account_only_as_its_hash(void **state)
{
    (void)state;
    struct inner inner = open_inner("client: { account_from: [form.email] }\n"
                                    "limits:\n  login: { by: [address, account], allow: 1 per 10s, dry_run: true }\n");
    struct drossel_request request = request_of("192.0.2.1", "/", 1);
    request.account = text_of("jane@example.org");
    ask(&inner, &request);
    for (unsigned i = 0; i < 3; i++) {
        request.now_ns += SECOND;
        assert_int_equal(ask(&inner, &request), DROSSEL_ALLOW);
    }
    struct table_offender offender = offender_of(&inner, "login");
    assert_non_null(strstr(offender.name, "192.0.2.1"));
    assert_non_null(strchr(offender.name, '#'));
    assert_null(strstr(offender.name, "jane"));
    assert_true(offender.is_dry_run);
    assert_int_equal(offender.count[TABLE_REFUSED], 3);
    assert_int_equal(offender.first_ns, NOW + 2 * SECOND);
    assert_int_equal(offender.last_ns, NOW + 4 * SECOND);
    close_inner(&inner);
}

static void a_batch_is_counted_as_one_by_one(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  page: { by: address, allow: 4 per 10s, block: 1m }\n");
    struct drossel_request request[10];
    struct drossel_decision decision[10];
    for (unsigned i = 0; i < 10; i++)
        request[i] = request_of("192.0.2.1", "/", 1);
    assert_int_equal(limiter_check_batch(inner.limiter, request, 10, decision), DROSSEL_OK);
    struct table_limit_stats stats = stats_of(&inner, "page");
    assert_int_equal(stats.count[TABLE_PASSED], 4);
    assert_int_equal(stats.count[TABLE_REFUSED], 6);
    assert_int_equal(stats.count[TABLE_BY_BLOCK], 5);
    close_inner(&inner);
}

/* A hundred guesses at once: those that were held are counted once, when they are decided. */
static void a_held_request_is_counted_when_it_is_decided(void **state)
{
    (void)state;
    struct inner inner = open_inner("limits:\n  login: { by: address, allow: 2 failures per 10s, hold: 2s }\n");
    struct drossel_request request = request_of("192.0.2.1", "/", 1);
    ask_times(&inner, "/", 2);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(ask(&inner, &request), DROSSEL_HOLD);
    assert_int_equal(stats_of(&inner, "login").count[TABLE_PASSED], 2);
    assert_int_equal(stats_of(&inner, "login").count[TABLE_REFUSED], 0);
    request.arrived_ns = request.now_ns;
    request.now_ns += 3 * SECOND;
    assert_int_equal(ask(&inner, &request), DROSSEL_REFUSE);
    assert_int_equal(stats_of(&inner, "login").count[TABLE_REFUSED], 1);
    close_inner(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_action_is_counted_as_what_it_did),
        cmocka_unit_test(each_of_several_limits_is_counted_by_its_own_verdict),
        cmocka_unit_test(a_question_counts_nothing),
        cmocka_unit_test(a_banned_address_is_counted_and_noted_as_banned),
        cmocka_unit_test(an_offender_is_noted_with_name_and_times_but_an_account_only_as_its_hash),
        cmocka_unit_test(a_batch_is_counted_as_one_by_one),
        cmocka_unit_test(a_held_request_is_counted_when_it_is_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
