/* Whoever sends evenly at 15/16 of the rate is never refused. */
#include "trial.h"

static const uint64_t periods[] = { 10 * SECOND, 60 * SECOND, 3600 * SECOND + 7, DAY };

/* Sends `sent` requests at exactly s = 16 T / (15 N), rounded up; true if none was refused. */
static bool is_steady(const struct engine_limit *limit, uint64_t sent, uint64_t now_ns)
{
    uint64_t pause_ns =
        (uint64_t)(((wide)16 * limit->spec.period_ns + 15 * limit->spec.count - 1) / (15 * limit->spec.count));
    struct engine_state state = { 0 };
    for (uint64_t i = 0; i < sent; i++, now_ns += pause_ns)
        if (!request(&state, limit, 1, now_ns).allowed)
            return false;
    return true;
}

static void assert_steady(uint64_t count, uint64_t period_ns, uint64_t sent)
{
    struct engine_limit limit = sliding_limit(count, period_ns, 0);
    if (!is_steady(&limit, sent, START + count * 977))
        fail_msg("N %lu per %lu ns refuses a steady client", (unsigned long)count, (unsigned long)period_ns);
}

static void every_small_limit_admits_a_steady_client(void **unused)
{
    (void)unused;
    for (uint64_t count = 1; count <= 2000; count++)
        assert_steady(count, periods[count % 4], 3 * count + 20);
}

static void large_limits_admit_a_steady_client(void **unused)
{
    (void)unused;
    uint64_t seed = 3;
    for (unsigned i = 0; i < 30; i++)
        assert_steady(2001 + random_below(&seed, 60000), periods[i % 4], 150000);
    assert_steady(UINT64_C(500000) + random_below(&seed, 500000), SECOND, 2300000);
}

/* The same by the rule that the layout promises, for sizes where sending it all would take too long. */
static void the_layout_of_every_size_leaves_room_for_a_steady_client(void **unused)
{
    (void)unused;
    uint64_t seed = 4;
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t count = i < 100000 ? i + 1 : 1 + random_below(&seed, ENGINE_COUNT_MAX);
        uint64_t period_ns = MS + random_below(&seed, i % 2 ? 365 * DAY : 100 * SECOND);
        struct engine_limit limit = sliding_limit(count, period_ns, 0);
        wide sent = (wide)(period_ns + limit.quantum_ns) * 15 * count;
        wide met = (sent + (wide)16 * period_ns - 1) / ((wide)16 * period_ns);
        assert_true(met - 1 + limit.chunk - 1 + 1 <= count);
        assert_true((uint64_t)(limit.stamps + 1U) * limit.chunk >= count);
        assert_true((unsigned)limit.stamps * limit.stamp_bits <= 251);
        assert_true(limit.age_bits == limit.stamp_bits);
        assert_true(period_ns / limit.quantum_ns + 3 < UINT64_C(1) << limit.age_bits);
    }
}

/* With a count in each stamp fewer bits are left for its time: beyond this N a limit with refunds keeps P1 alone. */
#define REFUNDABLE_STEADY_MAX 1071

static void limits_with_refunds_admit_a_steady_client_up_to_a_known_size(void **unused)
{
    (void)unused;
    for (uint64_t count = 1; count <= REFUNDABLE_STEADY_MAX; count++) {
        struct engine_limit limit = sliding_limit(count, periods[count % 4], ENGINE_REFUNDABLE);
        if (!is_steady(&limit, 3 * count + 20, START + count))
            fail_msg("N %lu with refunds refuses a steady client", (unsigned long)count);
    }
    struct engine_limit limit = sliding_limit(REFUNDABLE_STEADY_MAX + 1, 10 * SECOND, ENGINE_REFUNDABLE);
    assert_false(is_steady(&limit, 4000, START));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_limit_admits_a_steady_client),
        cmocka_unit_test(large_limits_admit_a_steady_client),
        cmocka_unit_test(the_layout_of_every_size_leaves_room_for_a_steady_client),
        cmocka_unit_test(limits_with_refunds_admit_a_steady_client_up_to_a_known_size),
    };
    return cmocka_run_group_tests_name("steady", tests, NULL, NULL);
}
