/* The queue of waiting lines against a plain sort, in memory and on disk. */
#include "told.h"

#include "logs/order.h"

#define COUNT 6000

static int compare(const void *left, const void *right)
{
    const struct log_ref *a = left, *b = right;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* `disorder`: how far a time may be off its place. */
static struct log_ref *make_refs(uint64_t disorder)
{
    uint64_t seed = 88172645463325252;
    struct log_ref *refs = calloc(COUNT, sizeof *refs);
    assert_non_null(refs);
    for (uint64_t i = 0; i < COUNT; i++)
        refs[i] = (struct log_ref){ i + next_random(&seed) % (disorder + 1), i, i * 100, i + 1 };
    return refs;
}

static void push(struct order *order, const struct log_ref *ref)
{
    if (!order_push(order, ref))
        fail_msg("%s", order_error(order));
}

static void pop_equal(struct order *order, const struct log_ref *expected)
{
    const struct log_ref *top = order_top(order);
    assert_non_null(top);
    assert_memory_equal(top, expected, sizeof *top);
    if (!order_pop(order))
        fail_msg("%s", order_error(order));
}

static void everything_at_once_comes_back_sorted(void **state)
{
    (void)state;
    static const uint64_t disorders[] = { 0, 3, 100, COUNT, UINT32_MAX },
                          memories[] = { 0, 1000, 20000, 200000, 64 << 20 };
    for (size_t d = 0; d < 5; d++) {
        struct log_ref *refs = make_refs(disorders[d]), *sorted = make_refs(disorders[d]);
        qsort(sorted, COUNT, sizeof *sorted, compare);
        for (size_t m = 0; m < 5; m++) {
            struct order *order = order_open(memories[m]);
            assert_non_null(order);
            for (size_t i = 0; i < COUNT; i++)
                push(order, &refs[i]);
            assert_true(order_most(order) * sizeof *refs <= (memories[m] < 1024 ? 1024 : memories[m]) / 2);
            assert_int_equal(order_runs(order) == 0, memories[m] / 2 >= COUNT * sizeof *refs);
            for (size_t i = 0; i < COUNT; i++)
                pop_equal(order, &sorted[i]);
            assert_null(order_top(order));
            order_close(order);
        }
        free(refs);
        free(sorted);
    }
}

static void what_comes_and_goes_all_the_time_comes_back_sorted(void **state)
{
    (void)state;
    struct log_ref *refs = make_refs(2000), *sorted = make_refs(2000);
    qsort(sorted, COUNT, sizeof *sorted, compare);
    struct order *order = order_open(4096);
    size_t given = 0;
    for (size_t i = 0; i < COUNT; i++) {
        push(order, &refs[i]);
        while (order_top(order) != NULL && order_top(order)->t_ns < i) /* nothing later can be earlier than i */
            pop_equal(order, &sorted[given++]);
    }
    assert_true(given > COUNT / 2);
    assert_true(order_runs(order) > 0);
    while (order_top(order) != NULL)
        pop_equal(order, &sorted[given++]);
    assert_int_equal(given, COUNT);
    order_close(order);
    free(refs);
    free(sorted);
}

static void a_little_disorder_needs_little_room(void **state)
{
    (void)state;
    struct log_ref *refs = make_refs(50);
    struct order *order = order_open(64 << 20);
    for (size_t i = 0; i < COUNT; i++) {
        push(order, &refs[i]);
        while (order_top(order) != NULL && order_top(order)->t_ns < i)
            assert_true(order_pop(order));
    }
    assert_true(order_most(order) <= 51);
    assert_int_equal(order_runs(order), 0);
    order_close(order);
    free(refs);
}

static void a_folder_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    struct order *order = order_open(1);
    struct log_ref ref = { .t_ns = 1 };
    bool good = true;
    for (size_t i = 0; i < 100 && good; i++)
        good = order_push(order, &ref);
    assert_false(good);
    assert_non_null(strstr(order_error(order), "/nowhere/at/all"));
    assert_non_null(strstr(order_error(order), "TMPDIR"));
    order_close(order);
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_at_once_comes_back_sorted),
        cmocka_unit_test(what_comes_and_goes_all_the_time_comes_back_sorted),
        cmocka_unit_test(a_little_disorder_needs_little_room),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
