/* Counts of keys, against a model that counts every window anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/census.h"

#define TIMES 3000
#define PERIOD UINT64_C(1000)

static uint32_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 8) % sides;
}

static uint64_t slow_peak(const uint64_t *time, size_t count)
{
    uint64_t peak = 0;
    for (size_t end = 0; end < count; end++) {
        uint64_t within = 0;
        for (size_t i = 0; i <= end; i++)
            within += time[end] - time[i] < PERIOD;
        peak = within > peak ? within : peak;
    }
    return peak;
}

static void a_peak_is_that_of_a_model_that_counts_each_window(void **state)
{
    static uint64_t time[TIMES];
    (void)state;
    for (uint32_t seed = 1; seed <= 6; seed++) {
        struct census census = { 0 };
        uint64_t now = 0;
        dice_state = seed;
        struct census_entry *entry = census_find(&census, "key", 3, "key");
        assert_non_null(entry);
        for (size_t i = 0; i < TIMES; i++) {
            now += dice(10) == 0 ? dice(3000) : dice(2 * seed);
            time[i] = now;
            assert_true(census_arrive(entry, now, PERIOD));
        }
        assert_int_equal(entry->peak, slow_peak(time, TIMES));
        assert_int_equal(entry->requests, TIMES);
        census_release(&census);
    }
}

static void every_key_has_one_entry_that_stays_where_it_is(void **state)
{
    struct census census = { 0 };
    char text[16];
    (void)state;
    struct census_entry *first = census_find(&census, "key 0", 5, "key 0");
    for (int lap = 0; lap < 2; lap++)
        for (int i = 0; i < 5000; i++) {
            int size = snprintf(text, sizeof text, "key %d", i);
            struct census_entry *entry = census_find(&census, text, (size_t)size, text);
            assert_non_null(entry);
            assert_string_equal(entry->label, text);
        }
    assert_int_equal(census.count, 5000);
    assert_ptr_not_equal(census_find(&census, "a\0b", 3, "?"), census_find(&census, "a\0c", 3, "?"));
    assert_ptr_equal(census_find(&census, "key 0", 5, "key 0"), first);
    assert_ptr_not_equal(census_find(&census, "key", 3, "key"), first);
    census_release(&census);
    assert_int_equal(census.count, 0);
}

static int by_refused_and_label(void *context, const struct census_entry *left, const struct census_entry *right)
{
    int order = census_by_refused(left, right);
    (void)context;
    return order != 0 ? order : strcmp(left->label, right->label);
}

static void the_top_is_the_most_refused_then_the_most_frequent(void **state)
{
    static const struct {
        const char *text;
        uint64_t requests, refused;
    } row[] = { { "e", 1, 0 }, { "b", 5, 2 }, { "a", 9, 2 }, { "d", 2, 0 }, { "c", 2, 0 } };
    struct census census = { 0 };
    const struct census_entry *top[8];
    char order[8] = "";
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct census_entry *entry = census_find(&census, row[i].text, 1, row[i].text);
        entry->requests = row[i].requests;
        entry->refused = row[i].refused;
    }
    size_t count = census_first(&census, top, 8, by_refused_and_label, NULL);
    for (size_t i = 0; i < count; i++)
        strcat(order, top[i]->label);
    assert_string_equal(order, "abcde");
    assert_int_equal(census_first(&census, top, 2, by_refused_and_label, NULL), 2);
    assert_string_equal(top[1]->label, "b");
    census_release(&census);
}

/* Larger entries, whose ids begin with a hash, as they are counted for each charge. */
static void entries_may_be_larger_and_ids_hashes(void **state)
{
    struct wide {
        struct census_entry of;
        uint64_t mine;
    };
    struct census census = { .entry_size = sizeof(struct wide), .is_hashed = true };
    (void)state;
    for (int lap = 0; lap < 2; lap++)
        for (uint64_t i = 0; i < 3000; i++) {
            uint64_t id[2] = { i / 3 * UINT64_C(0x9e3779b97f4a7c15), i };
            struct wide *wide = (struct wide *)(void *)census_find(&census, id, sizeof id, NULL);
            assert_non_null(wide);
            assert_int_equal(wide->mine, lap == 0 ? 0 : i);
            assert_null(wide->of.label);
            wide->mine = i;
            assert_ptr_equal(census_look(&census, id, sizeof id), &wide->of);
        }
    assert_int_equal(census.count, 3000);
    assert_null(census_look(&census, "0123456789abcdef", 16));
    census_release(&census);
    assert_int_equal(census.entry_size, sizeof(struct wide));
}

static int by_requests(void *context, const struct census_entry *left, const struct census_entry *right)
{
    ++*(int *)context;
    return left->requests > right->requests ? -1 : left->requests < right->requests;
}

static void the_first_of_an_order_are_the_same_however_many_are_wanted(void **state)
{
    struct census census = { 0 };
    const struct census_entry *all[500], *some[500];
    int compared = 0;
    (void)state;
    dice_state = 9;
    for (uint32_t i = 0; i < 500; i++)
        census_find(&census, &i, sizeof i, "key")->requests = (uint64_t)dice(1000) << 16 | i;
    assert_int_equal(census_first(&census, all, 500, by_requests, &compared), 500);
    for (size_t count = 0; count < 500; count += 33) {
        assert_int_equal(census_first(&census, some, count, by_requests, &compared), count);
        assert_memory_equal(some, all, count * sizeof *all);
    }
    assert_true(compared > 0);
    census_release(&census);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peak_is_that_of_a_model_that_counts_each_window),
        cmocka_unit_test(every_key_has_one_entry_that_stays_where_it_is),
        cmocka_unit_test(the_top_is_the_most_refused_then_the_most_frequent),
        cmocka_unit_test(entries_may_be_larger_and_ids_hashes),
        cmocka_unit_test(the_first_of_an_order_are_the_same_however_many_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
