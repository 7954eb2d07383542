/*
 * The sequences of tests/vectors/limiter.jsonl: what other limiters' own tests expect, wherever their algorithm is ours.
 *
 * A row is mapped by its fields, never by its id.  Rows of other algorithms, and those marked as a mistake of theirs, are
 * left out and counted; a row of an algorithm of ours that cannot be mapped fails the test.
 */
#include "trial.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#define KEYS_MAX 16
#define LIMITS_MAX 4

struct row {
    json_t *json;
    struct engine_limit limits[LIMITS_MAX];
    unsigned limit_count;
    const char *refused; /* why the limit does not compile */
    double scale;        /* of all times, for those finer than 1 ms */
    uint64_t start_ns;
    const char *keys[KEYS_MAX];
    struct engine_state states[KEYS_MAX][LIMITS_MAX];
    uint64_t marks[KEYS_MAX][LIMITS_MAX];
    bool touched[KEYS_MAX];
};

struct kind {
    const char *algo;
    uint8_t algorithm;
    unsigned flags;
    bool by_count; /* rate in count and period; else in limit and window_s */
};

static const struct kind kinds[] = {
    { "gcra", ENGINE_BUCKET, 0, true },
    { "token_bucket", ENGINE_BUCKET, 0, true },
    { "leaky_bucket", ENGINE_BUCKET, 0, false },
    { "leaky_bucket_delay", ENGINE_LEAKY, 0, true },
    { "fixed_window_first_hit", ENGINE_FIXED, ENGINE_FROM_FIRST, false },
    { "fixed_window_epoch", ENGINE_FIXED, 0, false },
    { "calendar_minute", ENGINE_FIXED, 0, false },
    { "sliding_log", ENGINE_SLIDING, 0, false },
    { "sliding_window_log", ENGINE_SLIDING, 0, false },
    { "sliding_window_exact", ENGINE_SLIDING, 0, false },
};

static const char *text(json_t *json, const char *name)
{
    const char *value = json_string_value(json_object_get(json, name));
    return value == NULL ? "" : value;
}

static bool has(json_t *json, const char *name)
{
    json_t *value = json_object_get(json, name);
    return value != NULL && !json_is_null(value);
}

static double number(json_t *json, const char *name, double otherwise)
{
    return has(json, name) ? json_number_value(json_object_get(json, name)) : otherwise;
}

static bool is_set(json_t *json, const char *name)
{
    return json_is_true(json_object_get(json, name));
}

static const struct kind *kind_of(json_t *json)
{
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(text(json, "algo"), kinds[i].algo) == 0)
            return &kinds[i];
    return NULL;
}

static uint64_t to_ns(const struct row *row, double seconds)
{
    return (uint64_t)llround(seconds * row->scale * 1e9);
}

static struct engine_spec spec_of(struct row *row, const struct kind *kind, double count, double period)
{
    json_t *json = row->json;
    while (period > 0 && period * row->scale < 1e-3)
        row->scale *= 10;
    struct engine_spec spec = { .count = (uint64_t)count,
                                .period_ns = to_ns(row, period),
                                .algorithm = kind->algorithm,
                                .flags = (uint16_t)kind->flags,
                                .factor_milli = 1000,
                                .block_ns = to_ns(row, number(json, "block_s", 0)) };
    bool convention = has(json, "burst_convention") || strcmp(kind->algo, "token_bucket") == 0;
    spec.burst = (uint64_t)number(json, "limit", number(json, "burst", 0) + (convention ? 0 : 1));
    if (has(json, "limits"))
        spec.burst = spec.count;
    if (kind->algorithm == ENGINE_LEAKY)
        spec.burst = (uint64_t)number(json, "burst", 0);
    if (is_set(json, "counts_denied"))
        spec.flags |= ENGINE_COUNT_REFUSED;
    if (strstr(text(json, "note"), "opened at t=0") != NULL)
        spec.flags &= (uint16_t)~ENGINE_FROM_FIRST;
    return spec;
}

static bool map_limits(struct row *row, const struct kind *kind)
{
    json_t *list = json_object_get(row->json, "limits");
    size_t count = list == NULL ? 1 : json_array_size(list);
    if (count > LIMITS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        json_t *pair = json_array_get(list, i);
        double n = number(row->json, kind->by_count ? "count" : "limit", -1);
        double period = number(row->json, kind->by_count ? "period" : "window_s", -1);
        if (pair != NULL) {
            n = json_number_value(json_array_get(pair, 0));
            period = json_number_value(json_array_get(pair, 1));
        }
        if (n < 0 || period < 0)
            return false;
        struct engine_spec spec = spec_of(row, kind, n, period);
        row->refused = engine_compile(&spec, &row->limits[i]);
        if (row->refused != NULL)
            return true;
        row->limit_count++;
    }
    uint64_t period_ns = row->limits[0].spec.period_ns;
    row->start_ns =
        has(row->json, "t0_epoch_s") ? to_ns(row, number(row->json, "t0_epoch_s", 0)) : START / period_ns * period_ns;
    return true;
}

static unsigned key_of(struct row *row, json_t *step)
{
    const char *key = strstr(text(row->json, "note"), "share_threshold") != NULL ? "" : text(step, "key");
    unsigned i = 0;
    while (i + 1 < KEYS_MAX && row->keys[i] != NULL && strcmp(row->keys[i], key) != 0)
        i++;
    if (row->keys[i] != NULL)
        return i;
    row->keys[i] = key;
    for (unsigned j = 0; j < row->limit_count; j++) {
        double missing =
            (double)row->limits[j].capacity - number(row->json, "initial_tokens", (double)row->limits[j].capacity);
        if (missing > 0)
            request(&row->states[i][j], &row->limits[j], (uint64_t)missing, row->start_ns);
    }
    return i;
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("%s, step %u: %s", text(row->json, "id"), number_of_step, #condition);                            \
    } while (0)

static void check_wait(struct row *row, json_t *step, unsigned number_of_step, const struct engine_verdict *verdict)
{
    double tolerance = has(row->json, "wire") ? 1 : 1e-6;
    tolerance = number(step, "tolerance_s", number(row->json, "tolerance_s", tolerance)) * row->scale;
    double wait = verdict->wait_ns == ENGINE_NEVER ? INFINITY : (double)verdict->wait_ns / 1e9;
    double reset = (double)verdict->reset_ns / 1e9;
    if (has(step, "expect_retry_after")) {
        double expected = number(step, "expect_retry_after", 0);
        if (verdict->allowed && expected > 0) /* the time to the window's end, told with every answer */
            CHECK(fabs(reset - expected * row->scale) <= tolerance);
        else if (verdict->allowed)
            CHECK(wait == 0);
        else if (expected < 0)
            CHECK(verdict->wait_ns == ENGINE_NEVER);
        else
            CHECK(fabs(wait - expected * row->scale) <= tolerance);
    }
    CHECK(wait >= number(step, "expect_retry_after_min", 0) * row->scale);
    CHECK(wait <= number(step, "expect_retry_after_max", INFINITY) * row->scale);
    if (is_set(step, "never"))
        CHECK(verdict->wait_ns == ENGINE_NEVER);
    if (strcmp(text(row->json, "algo"), "leaky_bucket") == 0) /* theirs counts whole units */
        reset = (double)verdict->used * (double)row->limits[0].unit_ns / 1e9;
    if (has(step, "expect_reset_after"))
        CHECK(fabs(reset - number(step, "expect_reset_after", 0) * row->scale) <= tolerance);
    if (has(step, "expect_delay_s"))
        CHECK(fabs((double)verdict->delay_ns / 1e9 - number(step, "expect_delay_s", 0) * row->scale) <= tolerance);
}

static void check_step(struct row *row, json_t *step, unsigned number_of_step, const struct engine_verdict verdicts[])
{
    bool allowed = true;
    uint64_t remaining = UINT64_MAX;
    json_t *descriptors = json_object_get(step, "expect_descriptors");
    for (unsigned j = 0; j < row->limit_count; j++) {
        json_t *pair = json_array_get(descriptors, j);
        allowed = allowed && verdicts[j].allowed;
        remaining = verdicts[j].remaining < remaining ? verdicts[j].remaining : remaining;
        if (pair != NULL) {
            CHECK(verdicts[j].allowed == json_is_true(json_array_get(pair, 0)));
            CHECK((json_int_t)verdicts[j].remaining == json_integer_value(json_array_get(pair, 1)));
        }
    }
    if (has(step, "expect_allowed") && !is_set(row->json, "shadow"))
        CHECK(allowed == is_set(step, "expect_allowed"));
    if (has(step, "expect_remaining"))
        CHECK((double)remaining == number(step, "expect_remaining", 0));
    CHECK((double)remaining <= number(step, "expect_remaining_max", INFINITY));
    if (has(step, "expect_consumed"))
        CHECK((double)verdicts[0].used == number(step, "expect_consumed", 0));
    if (row->limit_count == 1)
        check_wait(row, step, number_of_step, &verdicts[0]);
}

/* Steps that are no requests; false if it is one. */
static bool run_operation(struct row *row, json_t *step, unsigned key, uint64_t now_ns, double cost)
{
    const char *operation = text(step, "op");
    bool refunds = strcmp(operation, "refund") == 0 || strcmp(operation, "reward") == 0 || cost < 0;
    bool asks = strcmp(operation, "get") == 0 || strcmp(operation, "peek") == 0 || is_set(step, "dry_run");
    bool resets =
        strcmp(operation, "reset") == 0 || strcmp(operation, "delete") == 0 || is_set(step, "reset_remaining");
    bool blocks = strcmp(operation, "block") == 0;
    if (*operation != '\0' && !refunds && !asks && !resets && !blocks)
        fail_msg("%s: unknown operation %s", text(row->json, "id"), operation);
    for (unsigned j = 0; j < row->limit_count; j++) {
        struct engine_state *state = &row->states[key][j];
        const struct engine_limit *limit = &row->limits[j];
        engine_settle_clock(state, limit, now_ns);
        if (refunds)
            engine_refund(state, limit, (uint64_t)fabs(cost), row->marks[key][j], now_ns);
        if (resets)
            memset(state, 0, sizeof *state);
        if (blocks)
            engine_block(state, to_ns(row, number(step, "block_s", 0)), now_ns);
        if (is_set(step, "prefill"))
            row->marks[key][j] =
                request(state, limit, cost < (double)limit->capacity ? (uint64_t)cost : limit->capacity, now_ns).mark;
    }
    return refunds || asks || resets || blocks || is_set(step, "prefill");
}

/* All limits are charged or none, unless the row tells each of them apart. */
static void run_request(struct row *row, json_t *step, unsigned key, uint64_t now_ns, struct engine_verdict verdicts[])
{
    bool all = true, apart = has(step, "expect_descriptors");
    uint64_t cost = (uint64_t)number(step, "cost", 1);
    for (unsigned j = 0; j < row->limit_count; j++) {
        engine_settle_clock(&row->states[key][j], &row->limits[j], now_ns);
        all = all && ask(&row->states[key][j], &row->limits[j], cost, now_ns).allowed;
    }
    for (unsigned j = 0; j < row->limit_count; j++) {
        struct engine_state *state = &row->states[key][j];
        verdicts[j] = ask(state, &row->limits[j], cost, now_ns);
        if (!all && !apart && verdicts[j].allowed)
            continue;
        verdicts[j] = request(state, &row->limits[j], cost, now_ns);
        if (verdicts[j].allowed)
            row->marks[key][j] = verdicts[j].mark;
        if (is_set(step, "drain")) {
            request(state, &row->limits[j], verdicts[j].remaining, now_ns);
            verdicts[j].remaining = ask(state, &row->limits[j], 0, now_ns).remaining;
        }
    }
}

static void run_step(struct row *row, json_t *step, unsigned number_of_step)
{
    unsigned key = key_of(row, step);
    double cost = number(step, "cost", 1), offset_ns = number(step, "t_ms", 0) * 1e6 * row->scale;
    uint64_t now_ns =
        offset_ns < 0 ? row->start_ns - (uint64_t)llround(-offset_ns) : row->start_ns + (uint64_t)llround(offset_ns);
    struct engine_verdict verdicts[LIMITS_MAX] = { 0 };
    bool mistaken = has(step, "expect_error") && !json_is_false(json_object_get(step, "expect_error"));
    if (mistaken && cost < 0) /* cannot be said: a cost has no sign */
        return;
    if (run_operation(row, step, key, now_ns, cost)) {
        for (unsigned j = 0; j < row->limit_count; j++)
            verdicts[j] =
                ask(&row->states[key][j], &row->limits[j], is_set(step, "dry_run") ? (uint64_t)cost : 0, now_ns);
    } else {
        run_request(row, step, key, now_ns, verdicts);
    }
    if (mistaken)
        CHECK(!verdicts[0].allowed);
    else
        check_step(row, step, number_of_step, verdicts);
}

enum fate { RAN, OTHER_ALGORITHM, THEIR_MISTAKE, NO_LIMIT, NO_SUCH_TIME, FATES };

static enum fate run_row(json_t *json)
{
    const struct kind *kind = kind_of(json);
    struct row row = { .json = json, .scale = 1 };
    if (kind == NULL)
        return OTHER_ALGORITHM;
    if (has(json, "quirk"))
        return THEIR_MISTAKE;
    if (!has(json, "limits") && !has(json, "limit") && !has(json, "count"))
        return NO_LIMIT;
    if (!map_limits(&row, kind))
        fail_msg("%s: a row of %s that could not be mapped", text(json, "id"), kind->algo);
    size_t i;
    json_t *step, *steps = json_object_get(json, "steps");
    if (row.refused != NULL) { /* right if they refuse it, too, or give a window without length a sense of its own */
        bool mistaken = has(json_array_get(steps, 0), "expect_error");
        if (!mistaken && number(json, kind->by_count ? "period" : "window_s", 0) > 0)
            fail_msg("%s: %s", text(json, "id"), row.refused);
        return mistaken ? RAN : NO_SUCH_TIME;
    }
    assert_true(json_array_size(steps) > 0);
    json_array_foreach(steps, i, step) run_step(&row, step, (unsigned)i);
    return RAN;
}

static void sequences_of_other_limiters_get_the_same_answers(void **unused)
{
    (void)unused;
    static const char *const fates[FATES] = { "ran", "of an algorithm that is not ours",
                                              "marked as a mistake of theirs", "without any limit",
                                              "with a window of no length, which we refuse" };
    char path[4096], *line = NULL;
    size_t room = 0;
    unsigned count[FATES] = { 0 };
    const char *folder = getenv("DROSSEL_VECTORS");
    snprintf(path, sizeof path, "%s/limiter.jsonl", folder == NULL ? "tests/vectors" : folder);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s cannot be read; set DROSSEL_VECTORS to the folder of the vectors", path);
    while (getline(&line, &room, file) > 0) {
        json_error_t error;
        json_t *json = json_loads(line, 0, &error);
        assert_non_null(json);
        count[run_row(json)]++;
        json_decref(json);
    }
    free(line);
    fclose(file);
    for (unsigned i = 0; i < FATES; i++)
        print_message("# %u rows %s\n", count[i], fates[i]);
    assert_true(count[RAN] > 0 && count[RAN] > count[OTHER_ALGORITHM]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sequences_of_other_limiters_get_the_same_answers) };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
