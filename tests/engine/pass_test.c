/* A judgement and a charge at once come to the same as one after the other. */
#include "trial.h"

#include "engine/algorithm.h"
#include "engine/stamps.h"

struct stream {
    struct engine_limit limit;
    uint64_t seed, now_ns;
    uint64_t passed, left; /* how often engine_pass said yes, and left it to the others */
};

static void assert_same(const struct stream *stream, const struct engine_state *one, const struct engine_state *other,
                        const struct engine_verdict *said, const struct engine_verdict *wanted)
{
    bool same = one->time_ns == other->time_ns && one->tally == other->tally && one->strikes == other->strikes &&
                one->block_end_ns == other->block_end_ns && memcmp(one->log, other->log, sizeof one->log) == 0;
    same = same && said->allowed == wanted->allowed && said->used == wanted->used && said->mark == wanted->mark &&
           said->remaining == wanted->remaining && said->reset_ns == wanted->reset_ns &&
           said->more_ns == wanted->more_ns && said->delay_ns == 0 && said->wait_ns == 0 && !said->blocked;
    if (!same)
        fail_msg("N %lu per %lu ns differ at %lu: used %lu and %lu, more %lu and %lu, reset %lu and %lu",
                 (unsigned long)stream->limit.spec.count, (unsigned long)stream->limit.spec.period_ns,
                 (unsigned long)stream->now_ns, (unsigned long)said->used, (unsigned long)wanted->used,
                 (unsigned long)said->more_ns, (unsigned long)wanted->more_ns, (unsigned long)said->reset_ns,
                 (unsigned long)wanted->reset_ns);
}

/* Is it one of those that engine_pass is for, and does it pass? */
static bool pass(struct engine_state *state, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                 struct engine_verdict *verdict)
{
    bool is_meant = limit->is_plain && cost > 0 && state->block_end_ns <= now_ns && state->time_ns <= now_ns;
    return is_meant && engine_pass(state, limit, cost, now_ns, verdict);
}

/* One request, both ways. */
static void ask_both(struct stream *stream, struct engine_state *state, uint64_t cost)
{
    struct engine_state passed = *state;
    struct engine_verdict said, wanted;
    engine_settle_clock(&passed, &stream->limit, stream->now_ns);
    const struct engine_state before = passed;
    bool yes = pass(&passed, &stream->limit, cost, stream->now_ns, &said);
    wanted = request(state, &stream->limit, cost, stream->now_ns);
    if (yes) {
        assert_same(stream, &passed, state, &said, &wanted);
        stream->passed++;
    } else {
        assert_memory_equal(&passed, &before, sizeof passed);
        stream->left++;
    }
}

static void run(struct stream *stream, unsigned requests)
{
    struct engine_state state;
    memset(&state, 0, sizeof state);
    uint64_t even_ns = stream->limit.spec.period_ns / (stream->limit.spec.count + 1) + 1;
    for (unsigned i = 0; i < requests; i++) {
        switch (random_below(&stream->seed, 12)) {
        case 0: /* a pause, sometimes longer than the window */
            stream->now_ns += random_below(&stream->seed, stream->limit.spec.period_ns + even_ns);
            break;
        case 1: /* the clock steps back */
            stream->now_ns -= random_below(&stream->seed, even_ns);
            break;
        case 2: /* at the very same time */
            break;
        default:
            stream->now_ns += random_below(&stream->seed, 2 * even_ns);
        }
        bool odd = random_below(&stream->seed, 20) == 0;
        ask_both(stream, &state, odd ? random_below(&stream->seed, stream->limit.spec.count + 3) : 1);
    }
}

static void passing_comes_to_the_same_as_judging_and_charging(void **unused)
{
    static const unsigned flags[] = { 0, 0, 0, ENGINE_COUNT_REFUSED, ENGINE_EXTEND, ENGINE_REFUNDABLE, ENGINE_QUEUE };
    (void)unused;
    struct stream stream = { .seed = 41, .now_ns = START };
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t count = 1 + random_below(&stream.seed, i % 3 == 0 ? 20 : i % 3 == 1 ? 300 : 100000);
        uint64_t period_ns = MS + random_below(&stream.seed, i % 2 == 0 ? 20 * SECOND : 40 * DAY);
        struct engine_spec spec = { .count = count, .period_ns = period_ns, .algorithm = ENGINE_SLIDING };
        spec.flags = (uint16_t)flags[random_below(&stream.seed, sizeof flags / sizeof flags[0])];
        if (random_below(&stream.seed, 3) == 0) {
            spec.block_ns = period_ns;
            spec.factor_milli = 1000;
        }
        if (engine_compile(&spec, &stream.limit) == NULL)
            run(&stream, 400);
    }
    assert_true(stream.passed > 300000); /* neither way is idle here */
    assert_true(stream.left > 100000);
}

/* One charge given back, both ways where there is a choice. */
static void refund_both(struct stream *stream, struct engine_state *state, uint64_t cost, uint64_t mark)
{
    struct engine_state given = *state;
    struct engine_tally tally = { given.block_end_ns, given.time_ns, given.tally };
    uint64_t back = sliding_refund(state, &stream->limit, cost, mark, stream->now_ns);
    if (!engine_is_open(given.log[3]) || given.time_ns > stream->now_ns) {
        stream->left++;
        return;
    }
    stream->passed++;
    uint64_t back_open = engine_refund_tally(tally, &stream->limit, cost, mark, stream->now_ns);
    given.tally -= (uint32_t)back_open;
    if (back_open != back || memcmp(&given, state, sizeof given) != 0)
        fail_msg("N %lu per %lu ns: %lu and %lu given back at %lu of %lu", (unsigned long)stream->limit.spec.count,
                 (unsigned long)stream->limit.spec.period_ns, (unsigned long)back_open, (unsigned long)back,
                 (unsigned long)stream->now_ns, (unsigned long)mark);
}

/* Requests and refunds by turns; some marks are of charges that have left, or never were. */
static void run_refunds(struct stream *stream, unsigned requests)
{
    struct engine_state state;
    memset(&state, 0, sizeof state);
    uint64_t marks[8] = { 0 }, period_ns = stream->limit.spec.period_ns, count = stream->limit.spec.count;
    for (unsigned i = 0; i < requests; i++) {
        stream->now_ns += random_below(&stream->seed, 8) == 0 ? random_below(&stream->seed, 2 * period_ns)
                                                              : random_below(&stream->seed, period_ns / count + 2);
        if (random_below(&stream->seed, 50) == 0)
            stream->now_ns -= random_below(&stream->seed, period_ns / 4 + 1);
        uint64_t *mark = &marks[random_below(&stream->seed, 8)], cost = 1 + random_below(&stream->seed, 3);
        engine_settle_clock(&state, &stream->limit, stream->now_ns);
        if (random_below(&stream->seed, 2) == 0) {
            refund_both(stream, &state, cost, *mark - (random_below(&stream->seed, 20) == 0));
            continue;
        }
        struct engine_verdict verdict = request(&state, &stream->limit, cost, stream->now_ns);
        if (verdict.allowed)
            *mark = verdict.mark;
    }
}

static void giving_back_to_an_open_stamp_comes_to_the_same(void **unused)
{
    (void)unused;
    struct stream stream = { .seed = 47, .now_ns = START };
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t count = 1 + random_below(&stream.seed, i % 3 == 0 ? 20 : i % 3 == 1 ? 300 : 100000);
        struct engine_spec spec = { .count = count, .period_ns = MS + random_below(&stream.seed, 40 * SECOND) };
        spec.flags = (uint16_t)(i % 2 == 0 ? ENGINE_REFUNDABLE : 0);
        if (engine_compile(&spec, &stream.limit) == NULL)
            run_refunds(&stream, 200);
    }
    assert_true(stream.passed > 20000); /* neither way is idle here */
    assert_true(stream.left > 20000);
}

static void only_a_plain_sliding_window_is_passed(void **unused)
{
    (void)unused;
    for (uint8_t algorithm = ENGINE_SLIDING; algorithm <= ENGINE_DISTINCT; algorithm++)
        for (unsigned count = 0; count < 2; count++) {
            struct engine_spec spec = { .count = count, .period_ns = SECOND, .burst = 1, .algorithm = algorithm };
            struct engine_state state = { 0 };
            struct engine_limit limit;
            struct engine_verdict verdict;
            if (engine_compile(&spec, &limit) != NULL)
                continue;
            bool yes = pass(&state, &limit, 1, START, &verdict);
            assert_int_equal(yes, algorithm == ENGINE_SLIDING && count == 1);
        }
}

static void the_grid_is_a_division_rounded_up(void **unused)
{
    (void)unused;
    uint64_t seed = 43;
    for (unsigned i = 0; i < 400000; i++) {
        struct engine_limit limit =
            sliding_limit(1 + random_below(&seed, 200000), MS + random_below(&seed, 366 * DAY), 0);
        uint64_t quantum_ns = limit.quantum_ns, time_ns = random_next(&seed) >> random_below(&seed, 64);
        if (i % 2 == 0) /* next to a place, where rounding would show */
            time_ns = time_ns / quantum_ns * quantum_ns + random_below(&seed, 3) - 1;
        uint64_t wanted = time_ns / quantum_ns + (time_ns % quantum_ns != 0);
        if (grid_of(&limit, time_ns) != wanted)
            fail_msg("%lu on a grid of %lu: %lu, not %lu", (unsigned long)time_ns, (unsigned long)quantum_ns,
                     (unsigned long)grid_of(&limit, time_ns), (unsigned long)wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passing_comes_to_the_same_as_judging_and_charging),
        cmocka_unit_test(giving_back_to_an_open_stamp_comes_to_the_same),
        cmocka_unit_test(only_a_plain_sliding_window_is_passed),
        cmocka_unit_test(the_grid_is_a_division_rounded_up),
    };
    return cmocka_run_group_tests_name("engine pass", tests, NULL, NULL);
}
