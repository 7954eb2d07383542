/* Memory on a request's way: none for up to 64 charges; without any for more, an error that charges nothing. */
#include "limiter_test_support.h"

/* The linker puts these in the place of malloc and its kin (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static unsigned taken;    /* allocations since the last reset */
static unsigned fails_at; /* that one fails; 0: none */

static bool is_refused(void)
{
    return ++taken == fails_at;
}

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __real_calloc(count, size);
}

static struct drossel *open_many(unsigned count)
{
    static char policy[20000];
    size_t size = (size_t)sprintf(policy, "limits:\n");
    for (unsigned i = 0; i < count; i++)
        size += (size_t)sprintf(policy + size, "  l%u: { by: address, allow: 5 per 60s, ban: 10s }\n", i);
    return open_policy(policy);
}

static void up_to_64_charges_take_no_memory_alone_or_in_a_batch(void **state)
{
    (void)state;
    static const unsigned counts[] = { 1, 8, 9, 64 };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct drossel *limiter = open_many(counts[c]);
        struct drossel_request requests[12];
        struct drossel_decision decisions[12];
        for (unsigned i = 0; i < 12; i++)
            requests[i] = request_of("192.0.2.1", "/", i);
        taken = 0;
        assert_int_equal(drossel_check_batch(limiter, requests, 12, decisions), DROSSEL_OK);
        assert_int_equal(decisions[11].verdict, DROSSEL_REFUSE);
        requests[0].now_ns += 100 * SECOND;
        assert_int_equal(drossel_check(limiter, &requests[0], &decisions[0]), DROSSEL_OK);
        assert_int_equal(decisions[0].verdict, DROSSEL_ALLOW);
        assert_int_equal(taken, 0);
        drossel_close(limiter);
    }
}

static void without_memory_nothing_is_charged_and_the_decision_untouched(void **state)
{
    (void)state;
    struct drossel *limiter = open_many(65);
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    struct drossel_decision decision, before;
    memset(&before, 0x5a, sizeof before);
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        decision = before;
        taken = 0;
        fails_at = n;
        enum drossel_result result = drossel_check(limiter, &request, &decision);
        fails_at = 0;
        if (result == DROSSEL_OK)
            break;
        failures++;
        assert_int_equal(result, DROSSEL_NO_MEMORY);
        assert_memory_equal(&decision, &before, sizeof decision);
    }
    assert_int_equal(failures, 4);
    assert_int_equal(decision.used, 1); /* the only one that was charged */
    drossel_close(limiter);
}

static void opening_without_memory_fails_with_a_sentence_and_leaks_nothing(void **state)
{
    (void)state;
    struct policy_file file = make_policy("limits:\n  a: { by: address, allow: 5 per 60s }\n");
    struct drossel_options options = { .private_table = true };
    unsigned failures = 0;
    for (unsigned n = 1; n < 1000; n++) {
        struct drossel *limiter = NULL;
        struct drossel_error why = { "" };
        taken = 0;
        fails_at = n;
        enum drossel_result result = drossel_open(&limiter, file.path, &options, &why);
        fails_at = 0;
        drossel_close(limiter);
        if (taken < n)
            break;
        failures += result != DROSSEL_OK;
        assert_true((result == DROSSEL_OK) == (limiter != NULL));
        assert_true(result == DROSSEL_OK || why.text[0] != '\0');
    }
    assert_true(failures > 3);
    unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_64_charges_take_no_memory_alone_or_in_a_batch),
        cmocka_unit_test(without_memory_nothing_is_charged_and_the_decision_untouched),
        cmocka_unit_test(opening_without_memory_fails_with_a_sentence_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
