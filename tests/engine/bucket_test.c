/* Token and leaky bucket against exact arithmetic in units of 1/N ns. */
#include "trial.h"

struct model {
    wide level; /* in 1/N ns; one unit is T of them, and N of them drain in a nanosecond */
    uint64_t at_ns;
};

static wide ceil_by(wide parts, uint64_t n)
{
    return (parts + n - 1) / n;
}

static void model_drain(struct model *model, uint64_t n, uint64_t now_ns)
{
    wide drained = (wide)(now_ns - model->at_ns) * n;
    model->level = model->level > drained ? model->level - drained : 0;
    model->at_ns = now_ns;
}

static void assert_model(struct model *model, const struct engine_limit *limit, uint64_t cost, uint64_t now_ns,
                         const struct engine_verdict *verdict)
{
    uint64_t n = limit->spec.count, period_ns = limit->spec.period_ns;
    bool queued = (limit->spec.flags & ENGINE_QUEUE) != 0;
    wide depth = (wide)limit->capacity * period_ns, most = depth + (queued ? (wide)period_ns * n : 0);
    model_drain(model, n, now_ns);
    wide after = model->level + (wide)cost * period_ns;
    bool fits = cost == 0 || (cost <= limit->capacity && after <= most);
    assert_int_equal(verdict->allowed, fits);
    if (fits)
        model->level = after;
    else
        assert_int_equal(verdict->wait_ns, cost > limit->capacity ? ENGINE_NEVER : (uint64_t)ceil_by(after - most, n));
    wide room = depth > model->level ? (depth - model->level) / period_ns : 0;
    assert_int_equal(verdict->remaining, (uint64_t)room);
    assert_int_equal(verdict->reset_ns, (uint64_t)ceil_by(model->level, n));
    wide missing = model->level + (room + 1) * period_ns - depth;
    assert_int_equal(verdict->more_ns, model->level == 0 ? 0 : (uint64_t)ceil_by(missing, n));
    wide free = depth;
    if (limit->spec.algorithm == ENGINE_LEAKY && limit->spec.undelayed < limit->spec.burst)
        free = (wide)(limit->spec.undelayed + 1) * period_ns;
    bool delays = fits && cost > 0 && model->level > free && (queued || free < depth);
    assert_int_equal(verdict->delay_ns, delays ? (uint64_t)ceil_by(model->level - free, n) : 0);
}

static struct engine_spec random_spec(uint64_t *seed)
{
    static const uint64_t counts[] = { 1, 2, 3, 5, 7, 10, 30, 97, 100, 1000, 65537, 10000000 };
    static const uint64_t periods[] = { MS, SECOND, 10 * SECOND, 60 * SECOND, 3600 * SECOND, DAY, 30 * DAY, 1000003 };
    struct engine_spec spec = { .count = counts[random_below(seed, 12)], .period_ns = periods[random_below(seed, 8)] };
    spec.burst =
        random_below(seed, 2) ? spec.count : 1 + random_below(seed, 3 * spec.count > 100 ? 100 : 3 * spec.count);
    spec.algorithm = random_below(seed, 2) ? ENGINE_BUCKET : ENGINE_LEAKY;
    if (spec.algorithm == ENGINE_LEAKY) {
        spec.burst -= random_below(seed, 2);
        spec.undelayed = random_below(seed, 2) ? UINT64_MAX : random_below(seed, spec.burst + 1);
    }
    spec.flags = random_below(seed, 4) == 0 ? ENGINE_QUEUE : 0;
    return spec;
}

static void buckets_agree_with_exact_arithmetic(void **unused)
{
    (void)unused;
    uint64_t seed = 11;
    for (unsigned round = 0; round < 1000; round++) {
        struct engine_limit limit = limit_of(random_spec(&seed));
        struct engine_state state = { 0 };
        struct model model = { 0, START };
        uint64_t now_ns = START, unit_ns = limit.spec.period_ns / limit.spec.count;
        for (unsigned i = 0; i < 1000; i++) {
            uint64_t most_ns = random_below(&seed, 10) ? 2 * unit_ns + 2 : 2 * limit.depth_ns + 2;
            now_ns += random_below(&seed, 3) ? random_below(&seed, most_ns) : 0;
            uint64_t cost = random_below(&seed, 3) ? 1 : random_below(&seed, limit.capacity + 2);
            struct engine_verdict verdict = request(&state, &limit, cost, now_ns);
            assert_model(&model, &limit, cost, now_ns, &verdict);
            if (i % 8 == 0)
                assert_honest(&state, &limit, cost, now_ns, &verdict);
        }
    }
}

/* nginx's ngx_http_limit_req_lookup, with its thousandths and milliseconds made exact: excess in 1/N ns. */
static void a_leaky_bucket_is_nginx_limit_req(void **unused)
{
    (void)unused;
    uint64_t seed = 12;
    for (unsigned round = 0; round < 200; round++) {
        uint64_t n = 1 + random_below(&seed, 20), period_ns = 60 * SECOND, burst = random_below(&seed, 12);
        uint64_t undelayed = round % 3 == 0 ? UINT64_MAX : random_below(&seed, burst + 1);
        struct engine_limit limit = limit_of((struct engine_spec){
            .count = n, .period_ns = period_ns, .burst = burst, .undelayed = undelayed, .algorithm = ENGINE_LEAKY });
        struct engine_state state = { 0 };
        uint64_t now_ns = START, last_ns = 0;
        wide excess = 0;
        for (unsigned i = 0; i < 500; i++) {
            now_ns += random_below(&seed, 2) ? random_below(&seed, 3 * period_ns / n) : 0;
            wide drained = (wide)(now_ns - last_ns) * n, found = last_ns == 0 ? 0 : excess + period_ns;
            found = last_ns == 0 || found < drained ? 0 : found - drained;
            bool passes = found <= (wide)burst * period_ns;
            struct engine_verdict verdict = request(&state, &limit, 1, now_ns);
            assert_int_equal(verdict.allowed, passes);
            if (!passes)
                continue;
            bool delayed = undelayed != UINT64_MAX && found > (wide)undelayed * period_ns;
            assert_int_equal(verdict.delay_ns, delayed ? (uint64_t)ceil_by(found - (wide)undelayed * period_ns, n) : 0);
            excess = found;
            last_ns = now_ns;
        }
    }
}

static void refusals_that_count_fill_the_bucket(void **unused)
{
    (void)unused;
    struct engine_limit limit = limit_of((struct engine_spec){
        .count = 5, .period_ns = 10 * SECOND, .burst = 5, .flags = ENGINE_COUNT_REFUSED, .algorithm = ENGINE_BUCKET });
    struct engine_state state = { 0 };
    assert_true(request(&state, &limit, 5, START).allowed);
    for (unsigned i = 1; i < 50; i++) {
        struct engine_verdict verdict = request(&state, &limit, 1, START + i * SECOND);
        assert_false(verdict.allowed);
        assert_int_equal(verdict.wait_ns, 2 * SECOND);
        assert_honest(&state, &limit, 1, START + i * SECOND, &verdict);
    }
    assert_true(request(&state, &limit, 1, START + 51 * SECOND).allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_agree_with_exact_arithmetic),
        cmocka_unit_test(a_leaky_bucket_is_nginx_limit_req),
        cmocka_unit_test(refusals_that_count_fill_the_bucket),
    };
    return cmocka_run_group_tests_name("bucket", tests, NULL, NULL);
}
