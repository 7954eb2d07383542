/* The short ways of charging and settling a key come to what the engine makes of its state. */
#include "../table/table_test_support.h"

struct trial {
    struct table *table;
    const struct engine_limit *limit;
    uint16_t limit_id;
    uint64_t seed, now_ns, mark[4];
    unsigned passed, left, missed, given_back, cleared;
};

static uint64_t below(struct trial *trial, uint64_t end)
{
    trial->seed = trial->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (trial->seed >> 33) % end;
}

static struct engine_state look(struct trial *trial)
{
    struct engine_state state;
    (void)table_look(trial->table, key_of(1), trial->limit_id, trial->now_ns, &state);
    return state;
}

/* What lies in the log behind the closed stamps means nothing. */
static void assert_comes_to(struct trial *trial, const struct engine_state *wanted, const char *what)
{
    struct engine_state state = look(trial);
    bool is_same = state.block_end_ns == wanted->block_end_ns && state.time_ns == wanted->time_ns &&
                   state.tally == wanted->tally && state.strikes == wanted->strikes;
    for (unsigned i = 0; i < 4; i++)
        is_same = is_same && (state.log[i] == wanted->log[i] || engine_is_open(wanted->log[3]));
    if (!is_same || engine_is_open(state.log[3]) != engine_is_open(wanted->log[3]))
        fail_msg("%s: tally %u at %lu, block %lu instead of %u at %lu, block %lu", what, state.tally,
                 (unsigned long)state.time_ns, (unsigned long)state.block_end_ns, wanted->tally,
                 (unsigned long)wanted->time_ns, (unsigned long)wanted->block_end_ns);
}

static void pass(struct trial *trial)
{
    struct engine_state before = look(trial), wanted = before;
    struct engine_verdict verdict;
    struct store_pass pass = {
        .key = key_of(1), .limit = trial->limit, .cost = below(trial, 4), .limit_id = trial->limit_id
    };
    bool is_plain = pass.cost > 0 && before.time_ns <= trial->now_ns && before.block_end_ns <= trial->now_ns;
    bool fits = table_find(trial->table, key_of(1)) != TABLE_NO_SLOT && is_plain &&
                engine_pass(&wanted, trial->limit, pass.cost, trial->now_ns, &verdict);
    bool is_one = below(trial, 2) == 0;
    bool passes = is_one ? store_table_pass_one(trial->table, &pass, trial->now_ns)
                         : store_table_pass(trial->table, &pass, 1, trial->now_ns);
    if (passes) {
        assert_true(fits);
        assert_int_equal(pass.used, verdict.used);
        assert_int_equal(pass.remaining, verdict.remaining);
        assert_int_equal(pass.more_ns, verdict.more_ns);
        trial->mark[below(trial, 4)] = trial->now_ns;
        trial->passed++;
    } else {
        trial->left++;
        trial->missed += fits;
    }
    assert_comes_to(trial, passes ? &wanted : &before, "charged");
}

static void settle(struct trial *trial)
{
    struct engine_state wanted = look(trial);
    struct store_settlement of = { .key = key_of(1),
                                   .limit_id = trial->limit_id,
                                   .clears = below(trial, 10) == 0,
                                   .cost = 1 + below(trial, 3),
                                   .mark = trial->mark[below(trial, 4)] - (below(trial, 10) == 0) };
    uint64_t back = 0;
    if (of.clears)
        engine_clear(&wanted, trial->limit, trial->now_ns);
    else
        back = engine_refund(&wanted, trial->limit, of.cost, of.mark, trial->now_ns);
    bool has_slot = table_find(trial->table, key_of(1)) != TABLE_NO_SLOT;
    assert_int_equal(store_table_settle(trial->table, &of, trial->now_ns), has_slot ? back : 0);
    if (!has_slot)
        return;
    trial->cleared += of.clears;
    trial->given_back += back > 0;
    assert_comes_to(trial, &wanted, of.clears ? "cleared" : "given back");
}

/* Refused requests begin blocks; some last into the next charges. */
static void charge(struct trial *trial)
{
    struct engine_verdict verdict;
    if (charge_one(trial->table, key_of(1), trial->limit_id, trial->now_ns, &verdict))
        trial->mark[below(trial, 4)] = verdict.mark;
}

static void step(struct trial *trial)
{
    static void (*const steps[])(struct trial *) = { pass, pass, pass, settle, settle, charge };
    uint64_t even_ns = trial->limit->spec.period_ns / trial->limit->spec.count;
    trial->now_ns += below(trial, 30) == 0 ? 2 * trial->limit->spec.period_ns : below(trial, 2 * even_ns + 1);
    if (below(trial, 50) == 0)
        trial->now_ns -= below(trial, trial->limit->spec.period_ns / 4); /* the clock stepped back */
    steps[below(trial, sizeof steps / sizeof steps[0])](trial);
}

static void the_short_ways_come_to_what_the_engine_says(void **state)
{
    (void)state;
    static const unsigned counts[] = { 1, 2, 5, 16, 17, 50, 300, 100000 };
    struct trial trial = { .table = open_private_table(64), .seed = 7 };
    for (unsigned round = 0; round < 200; round++) {
        char name[16];
        struct engine_spec spec = { .count = counts[round % 8], .period_ns = (1 + below(&trial, 1000)) * SECOND / 10 };
        spec.flags = below(&trial, 2) == 0 ? ENGINE_REFUNDABLE : 0;
        spec.block_ns = below(&trial, 2) == 0 ? spec.period_ns : 0;
        spec.factor_milli = 1000;
        snprintf(name, sizeof name, "limit %u", round);
        trial.limit_id = register_limit(trial.table, name, spec);
        trial.limit = table_engine_at(trial.table, trial.limit_id);
        trial.now_ns = NOW + round * 1000000 * SECOND;
        for (unsigned i = 0; i < 1000; i++)
            step(&trial);
    }
    /* none of them is idle here */
    assert_true(trial.passed > 20000);
    assert_true(trial.left > 5000);
    assert_true(trial.missed < trial.passed / 100); /* where the clock stepped back behind a block */
    assert_true(trial.given_back > 5000);
    assert_true(trial.cleared > 2000);
    table_close(trial.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_ways_come_to_what_the_engine_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
