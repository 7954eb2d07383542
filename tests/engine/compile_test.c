/* What engine_compile accepts, and what it says to what it does not. */
#include "trial.h"

_Static_assert(sizeof(struct engine_spec) == 7 * 8 + 4 + 2 + 1 + 1, "a spec is kept in the table: no padding");
_Static_assert(offsetof(struct engine_spec, factor_milli) == 56, "a spec is kept in the table: its places are fixed");
_Static_assert(offsetof(struct engine_spec, reserved) == 63, "a spec is kept in the table: its places are fixed");
_Static_assert(sizeof(struct engine_state) == 56, "a state fits a slot without its tag");

static void every_mistake_is_told_and_leaves_the_limit_untouched(void **unused)
{
    (void)unused;
    const struct engine_spec good = { .count = 10, .period_ns = SECOND, .burst = 10, .factor_milli = 1000 };
    struct {
        struct engine_spec spec;
        const char *says;
    } cases[] = { { good, "unknown algorithm" },      { good, "a count beyond" },      { good, "a count beyond" },
                  { good, "a time below 1ms" },       { good, "a time beyond 366d" },  { good, "a block beyond 366d" },
                  { good, "a block beyond 366d" },    { good, "a block beyond 366d" }, { good, "a factor below 1" },
                  { good, "burst 0 admits nothing" }, { good, "a bucket so deep" } };
    cases[0].spec.algorithm = 5;
    cases[1].spec.count = ENGINE_COUNT_MAX + 1;
    cases[2].spec.burst = ENGINE_COUNT_MAX + 1;
    cases[3].spec.period_ns = MS - 1;
    cases[4].spec.period_ns = ENGINE_PERIOD_MAX_NS + 1;
    cases[5].spec.block_ns = ENGINE_PERIOD_MAX_NS + 1;
    cases[6].spec.block_max_ns = ENGINE_PERIOD_MAX_NS + 1;
    cases[7].spec.forgive_ns = ENGINE_PERIOD_MAX_NS + 1;
    cases[8].spec.block_ns = SECOND;
    cases[8].spec.factor_milli = 999;
    cases[9].spec.algorithm = ENGINE_BUCKET;
    cases[9].spec.burst = 0;
    cases[10].spec =
        (struct engine_spec){ .count = 1, .period_ns = 365 * DAY, .burst = 100, .algorithm = ENGINE_BUCKET };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct engine_limit limit, before;
        memset(&limit, 0x5a, sizeof limit);
        before = limit;
        const char *wrong = engine_compile(&cases[i].spec, &limit);
        assert_non_null(wrong);
        if (strncmp(wrong, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("case %u says: %s", i, wrong);
        assert_true(strstr(wrong, "write ") != NULL ||
                    strstr(wrong, "lower ") != NULL); /* every message names the remedy */
        assert_memory_equal(&limit, &before, sizeof limit);
    }
}

static void the_extremes_compile_and_count(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t count, period_ns;
    } cases[] = { { 1, 365 * DAY },  { 1, 366 * DAY },         { 10000000, SECOND },
                  { 100000000, MS }, { 100000000, 366 * DAY }, { 1, MS } };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned flags = 0; flags <= ENGINE_REFUNDABLE; flags += ENGINE_REFUNDABLE)
            for (uint8_t algorithm = 0; algorithm < 4; algorithm++) {
                struct engine_limit limit =
                    limit_of((struct engine_spec){ .count = cases[i].count,
                                                   .period_ns = cases[i].period_ns,
                                                   .burst = algorithm == ENGINE_LEAKY ? 0 : cases[i].count,
                                                   .flags = (uint16_t)flags,
                                                   .algorithm = algorithm });
                struct engine_state state = { 0 };
                for (uint64_t spent = 0; spent < limit.capacity;) {
                    uint64_t cost = limit.capacity - spent > 3 ? (limit.capacity - spent) / 2 : 1;
                    struct engine_verdict verdict = request(&state, &limit, cost, START + 1);
                    assert_true(verdict.allowed);
                    spent += cost;
                    assert_int_equal(verdict.remaining, limit.capacity - spent);
                    assert_honest(&state, &limit, cost, START + 1, &verdict);
                }
                struct engine_verdict verdict = request(&state, &limit, 1, START + 1);
                assert_false(verdict.allowed);
                assert_honest(&state, &limit, 1, START + 1, &verdict);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_told_and_leaves_the_limit_untouched),
        cmocka_unit_test(the_extremes_compile_and_count),
    };
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
