/* What `drossel top` knows, without a terminal: rates, the choice of keys, filter, order, one key by itself. */
#include "../table/table_test_support.h"

#include "cli/top_model.h"

#define LIMIT_COUNT 10

static struct top_model *open_model(uint64_t keys)
{
    struct top_model *model = top_model_open(open_private_table(keys));
    assert_non_null(model);
    return model;
}

static void close_model(struct top_model *model)
{
    struct table *table = model->table;
    top_model_close(model);
    table_close(table);
}

static uint16_t limit_named(struct top_model *model, const char *name)
{
    return register_limit(model->table, name, (struct engine_spec){ .count = LIMIT_COUNT, .period_ns = 60 * SECOND });
}

/* Charges key `n` of the limit `times` times, and calls it `name`. */
static void charge(struct top_model *model, uint16_t limit, uint64_t n, unsigned times, const char *name)
{
    struct table_key key = key_of(n);
    struct table_hold hold;
    for (unsigned i = 0; i < times; i++)
        (void)charge_one(model->table, key, limit, NOW, NULL);
    assert_int_equal(table_take(model->table, key, limit, NOW, table_ticket(model->table), &hold), TABLE_TAKEN);
    table_name_set(model->table, &hold, key, name, strlen(name));
    table_drop(model->table, &hold);
}

static void scan_all(struct top_model *model)
{
    while (!top_model_scan(model, 64, NOW))
        continue;
    top_model_sample(model, NOW + SECOND + model->sampled_ns % SECOND);
    top_model_arrange(model, NOW);
}

static void count(struct top_model *model, uint16_t limit, enum table_verdict verdict, bool is_dry_run, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        table_stats_count(model->table, limit, verdict, is_dry_run);
}

/* ---- rates ---- */

static void a_rate_is_what_came_since_the_sample_before(void **state)
{
    (void)state;
    struct top_model *model = open_model(64);
    uint16_t page = limit_named(model, "page"), login = limit_named(model, "login");
    count(model, page, TABLE_PASSED, false, 5000); /* long ago */
    top_model_sample(model, NOW);
    count(model, page, TABLE_PASSED, false, 30);
    count(model, page, TABLE_REFUSED, false, 6);
    count(model, page, TABLE_DROPPED, false, 4);
    count(model, login, TABLE_PASSED, true, 2);
    count(model, login, TABLE_REFUSED, true, 8);
    top_model_sample(model, NOW + 2 * SECOND);
    const struct top_rate *rate = &model->rate[1]; /* the ban is the first */
    assert_string_equal(model->limits->limit[1].name, "page");
    assert_float_equal(rate->passed, 15, 1e-9);
    assert_float_equal(rate->stopped, 5, 1e-9);
    assert_float_equal(model->rate[2].stopped, 4, 1e-9);
    assert_true(model->limits->limit[2].sum.is_dry_run);
    assert_false(model->limits->limit[1].sum.is_dry_run);
    assert_float_equal(model->total.passed, 16, 1e-9);
    assert_float_equal(model->total.stopped, 9, 1e-9);
    assert_float_equal(rate->history[TOP_HISTORY - 1], 20, 1e-3);
    assert_float_equal(rate->history_stopped[TOP_HISTORY - 1], 5, 1e-3);
    assert_float_equal(rate->history[TOP_HISTORY - 2], 0, 1e-9);
    top_model_sample(model, NOW + 2 * SECOND + SECOND / 10); /* a key was pressed: too soon for a rate */
    assert_float_equal(rate->passed, 15, 1e-9);
    top_model_sample(model, NOW + 3 * SECOND);
    assert_float_equal(rate->passed, 0, 1e-9);
    assert_float_equal(rate->history[TOP_HISTORY - 2], 20, 1e-3);
    close_model(model);
}

static void a_limit_that_comes_later_and_one_with_new_numbers_are_followed(void **state)
{
    (void)state;
    struct top_model *model = open_model(64);
    uint16_t page = limit_named(model, "page");
    count(model, page, TABLE_PASSED, false, 7);
    top_model_sample(model, NOW);
    uint16_t changed =
        register_limit(model->table, "page", (struct engine_spec){ .count = 99, .period_ns = 60 * SECOND });
    uint16_t fresh = limit_named(model, "fresh");
    assert_true(changed != page);
    count(model, changed, TABLE_PASSED, false, 3);
    count(model, fresh, TABLE_PASSED, false, 4);
    top_model_sample(model, NOW + SECOND);
    assert_int_equal(model->limits->count, 3); /* ban, page, fresh */
    assert_int_equal(model->limits->limit[1].limit->spec.count, 99);
    assert_int_equal(model->limits->limit[1].sum.count[TABLE_PASSED], 10);
    assert_float_equal(model->rate[1].passed, 3, 1e-9);
    assert_float_equal(model->rate[2].passed, 4, 1e-9);
    assert_ptr_equal(live_limits_at(model->limits, page), live_limits_at(model->limits, changed));
    assert_null(live_limits_at(model->limits, TABLE_LIMIT_OPEN));
    close_model(model);
}

/* A reload with other numbers gives the limit another entry in the registry: to a person it is the same limit. */
static void how_often_a_key_was_stopped_outlives_changed_numbers(void **state)
{
    (void)state;
    struct top_model *model = open_model(1024);
    uint16_t page = limit_named(model, "page"), other = limit_named(model, "other");
    uint16_t changed = register_limit(model->table, "page", (struct engine_spec){ .count = 99, .period_ns = SECOND });
    const uint16_t limits[] = { page, page, other, changed };
    for (uint64_t i = 0; i < 4; i++) {
        struct table_offence offence = {
            .key = key_of(1), .limit = limits[i], .verdict = TABLE_REFUSED, .now_ns = NOW + i
        };
        table_stats_offend(model->table, &offence);
    }
    charge(model, changed, 1, 2, "192.0.2.1");
    scan_all(model);
    assert_int_equal(model->key_count, 1);
    assert_int_equal(model->key[0].stopped, 3);
    assert_int_equal(model->key[0].last_ns, NOW + 3);
    close_model(model);
}

/* ---- the keys ---- */

static void keys_come_closest_to_their_limit_first(void **state)
{
    (void)state;
    struct top_model *model = open_model(1024);
    uint16_t page = limit_named(model, "page");
    charge(model, page, 1, 3, "192.0.2.1");
    charge(model, page, 2, 12, "192.0.2.2");
    charge(model, page, 3, 9, "192.0.2.3");
    scan_all(model);
    assert_int_equal(model->key_count, 3);
    assert_string_equal(model->key[0].live.entry.name, "192.0.2.2");
    assert_false(model->key[0].live.allowed);
    assert_int_equal(model->key[0].live.used, LIMIT_COUNT);
    assert_true(model->key[0].live.wait_ns > 0);
    assert_string_equal(model->key[1].live.entry.name, "192.0.2.3");
    assert_int_equal(model->key[1].live.remaining, 1);
    assert_string_equal(model->key[2].live.entry.name, "192.0.2.1");
    close_model(model);
}

static int descending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Of 5000 keys the 1000 worth most, in stretches of a few slots, as sorting all of them gives. */
static void the_choice_is_that_of_sorting_all(void **state)
{
    (void)state;
    static uint32_t worth[5000];
    struct top_model *model = open_model(16384);
    uint16_t page = limit_named(model, "page");
    struct table_entry entry;
    uint32_t count = 0;
    for (uint64_t n = 0; n < 5000; n++)
        for (uint64_t i = 0; i <= n * 7919 % 9; i++)
            (void)charge_one(model->table, key_of(n), page, NOW - n * 1000000, NULL);
    for (uint64_t slot = 0; table_next(model->table, &slot, &entry);)
        worth[count++] = live_key_worth(model->table, &entry, NOW);
    qsort(worth, count, sizeof worth[0], descending);
    unsigned steps = 0;
    while (!top_model_scan(model, 37, NOW))
        steps++;
    assert_true(steps > 16384 / 37 - 2);
    top_model_arrange(model, NOW);
    assert_int_equal(model->used, count);
    assert_int_equal(model->key_count, TOP_KEYS);
    for (uint32_t i = 0; i < TOP_KEYS; i++)
        assert_int_equal(model->key[i].worth, worth[i]);
    close_model(model);
}

static void a_stretch_is_bounded_and_the_first_pass_shows_what_it_has(void **state)
{
    (void)state;
    struct top_model *model = open_model(4096);
    uint16_t page = limit_named(model, "page");
    for (uint64_t n = 0; n < 2000; n++)
        (void)charge_one(model->table, key_of(n), page, NOW, NULL);
    assert_false(top_model_scan(model, 100, NOW));
    assert_in_range(model->scan_at, 100, 100);
    assert_true(model->scan_used <= 100);
    assert_true(top_model_progress(model) < 0.03);
    top_model_arrange(model, NOW);
    assert_int_equal(model->key_count, model->scan_used);
    assert_int_equal(model->scanned_ns, 0);
    close_model(model);
}

static void a_filter_takes_part_of_a_key_or_of_a_limit(void **state)
{
    (void)state;
    static const struct {
        const char *filter;
        uint32_t count;
    } cases[] = { { "", 4 }, { "192.0.2", 2 }, { "2001:DB8", 1 }, { "LOGIN", 2 }, { "page", 2 }, { "nobody", 0 } };
    struct top_model *model = open_model(1024);
    uint16_t page = limit_named(model, "page"), login = limit_named(model, "login");
    charge(model, page, 1, 3, "192.0.2.1");
    charge(model, page, 2, 4, "2001:db8::/64");
    charge(model, login, 3, 5, "192.0.2.1 #0123abcd");
    charge(model, login, 4, 5, "#76543210");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        top_model_filter(model, cases[i].filter);
        scan_all(model);
        assert_int_equal(model->key_count, cases[i].count);
    }
    close_model(model);
}

/* More keys at their limit than are kept: the filter finds one that is worth less than all of them. */
static void a_filter_finds_keys_that_are_not_among_those_worth_most(void **state)
{
    (void)state;
    struct top_model *model = open_model(16384);
    uint16_t page = limit_named(model, "page");
    for (uint64_t n = 10; n < 3000; n++)
        for (unsigned i = 0; i < LIMIT_COUNT; i++)
            (void)charge_one(model->table, key_of(n), page, NOW, NULL);
    charge(model, page, 1, 1, "203.0.113.77");
    scan_all(model);
    for (uint32_t i = 0; i < model->key_count; i++)
        assert_string_not_equal(model->key[i].live.entry.name, "203.0.113.77");
    top_model_filter(model, "113.77");
    scan_all(model);
    assert_int_equal(model->key_count, 1);
    close_model(model);
}

static void each_order_is_kept(void **state)
{
    (void)state;
    static const struct {
        enum top_order order;
        const char *first;
    } cases[] = { { TOP_CLOSEST, "b" }, { TOP_NAME, "a" }, { TOP_STOPPED, "c" },
                  { TOP_LATEST, "a" },  { TOP_USED, "b" }, { TOP_WAIT, "b" } };
    struct top_model *model = open_model(1024);
    uint16_t page = limit_named(model, "page");
    charge(model, page, 1, 2, "a");
    charge(model, page, 2, LIMIT_COUNT, "b");
    charge(model, page, 3, 3, "c");
    for (uint64_t n = 0; n < 7; n++) {
        struct table_offence offence = {
            .key = key_of(n < 6 ? 3 : 1), .limit = page, .verdict = TABLE_REFUSED, .now_ns = NOW + n
        };
        table_stats_offend(model->table, &offence);
    }
    scan_all(model);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        model->order = cases[i].order;
        top_model_arrange(model, NOW);
        assert_string_equal(model->key[0].live.entry.name, cases[i].first);
    }
    close_model(model);
}

static void a_key_is_found_in_all_its_limits(void **state)
{
    (void)state;
    struct top_key key[TOP_FOCUS];
    struct top_model *model = open_model(1024);
    uint16_t page = limit_named(model, "page"), api = limit_named(model, "api");
    charge(model, page, 1, 2, "192.0.2.1");
    charge(model, api, 2, 5, "192.0.2.1");
    charge(model, api, 3, 5, "192.0.2.11");
    scan_all(model);
    top_model_focus(model, "192.0.2.1");
    assert_int_equal(top_model_focused(model, NOW, key), 2); /* what is known already */
    charge(model, limit_named(model, "late"), 4, 1, "192.0.2.1");
    scan_all(model);
    assert_int_equal(top_model_focused(model, NOW, key), 3);
    assert_int_equal(key[0].live.entry.limit, api);
    top_model_focus(model, "");
    assert_int_equal(top_model_focused(model, NOW, key), 0);
    close_model(model);
}

static void a_key_that_is_gone_is_not_shown(void **state)
{
    (void)state;
    struct table_entry entry;
    struct top_model *model = open_model(1024);
    uint16_t page = limit_named(model, "page");
    charge(model, page, 1, 2, "192.0.2.1");
    charge(model, page, 2, 2, "192.0.2.2");
    scan_all(model);
    assert_int_equal(model->key_count, 2);
    uint64_t slot = 0;
    assert_true(table_next(model->table, &slot, &entry));
    assert_true(table_forget(model->table, &entry, NOW));
    top_model_arrange(model, NOW);
    assert_int_equal(model->key_count, 1);
    top_model_arrange(model, NOW + 3600 * SECOND); /* it has run out */
    assert_int_equal(model->key_count, 0);
    close_model(model);
}

static unsigned char *contents(const char *path, size_t size)
{
    unsigned char *bytes = malloc(size);
    FILE *file = fopen(path, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    return bytes;
}

static void looking_writes_nothing(void **state)
{
    (void)state;
    char path[] = "/tmp/drossel-top-XXXXXX", error[512] = "";
    struct top_key key[TOP_FOCUS];
    int fd = mkstemp(path); /* a name that nobody has: the table makes the file */
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    struct table_options options = {
        .path = path, .keys = 1024, .names = true, .owner = (uid_t)-1, .group = (gid_t)-1
    };
    struct top_model *model = top_model_open(table_open(&options, error, sizeof error));
    assert_non_null(model);
    uint16_t page = limit_named(model, "page");
    for (uint64_t n = 0; n < 300; n++)
        charge(model, page, n, 1 + (unsigned)(n % 12), "192.0.2.1");
    count(model, page, TABLE_REFUSED, true, 20);
    unsigned char *before = contents(path, table_bytes(model->table));
    scan_all(model);
    assert_int_equal(model->key_count, 300);
    top_model_focus(model, "192.0.2.1");
    top_model_filter(model, "192");
    scan_all(model);
    assert_true(top_model_focused(model, NOW, key) > 0);
    unsigned char *after = contents(path, table_bytes(model->table));
    assert_memory_equal(before, after, table_bytes(model->table));
    free(before);
    free(after);
    unlink(path);
    close_model(model);
}

static void names_of_clients_are_made_fit_for_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *name, *clean;
    } cases[] = {
        { "192.0.2.1", "192.0.2.1" },
        { "/caf\xc3\xa9", "/caf\xc3\xa9" },
        { "/\x1b[2Jx", "/?[2Jx" },
        { "/a\nb\tc\x7f", "/a?b?c?" },
        { "/\xff\xfe", "/??" },
        { "/\xc2\x9b"
          "31m",
          "/?31m" },
        { "/\xe2\x80\xaetxt", "/?txt" },
        { "", "" },
        { "/\xe2\x82", "/?" },
        { "/\xf0\x9f\x90\xa6", "/\xf0\x9f\x90\xa6" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[TABLE_NAME_BYTES + 1];
        snprintf(name, sizeof name, "%s", cases[i].name);
        live_name_clean(name);
        assert_string_equal(name, cases[i].clean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_what_came_since_the_sample_before),
        cmocka_unit_test(a_limit_that_comes_later_and_one_with_new_numbers_are_followed),
        cmocka_unit_test(how_often_a_key_was_stopped_outlives_changed_numbers),
        cmocka_unit_test(keys_come_closest_to_their_limit_first),
        cmocka_unit_test(the_choice_is_that_of_sorting_all),
        cmocka_unit_test(a_stretch_is_bounded_and_the_first_pass_shows_what_it_has),
        cmocka_unit_test(a_filter_takes_part_of_a_key_or_of_a_limit),
        cmocka_unit_test(a_filter_finds_keys_that_are_not_among_those_worth_most),
        cmocka_unit_test(each_order_is_kept),
        cmocka_unit_test(a_key_is_found_in_all_its_limits),
        cmocka_unit_test(a_key_that_is_gone_is_not_shown),
        cmocka_unit_test(looking_writes_nothing),
        cmocka_unit_test(names_of_clients_are_made_fit_for_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
