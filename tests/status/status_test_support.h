/* What the tests of the status share: a policy on a private table, and what is gathered of it. */
#ifndef STATUS_TEST_SUPPORT_H
#define STATUS_TEST_SUPPORT_H

#include "../limiter/limiter_test_support.h"

#include "status/status.h"

#define BYTES 65536
#define RATES 64

struct told {
    struct status_look look;
    struct status_rate rates[RATES];
    struct status status;
    char text[BYTES + 1];
    struct http_writer writer;
};

static inline void gather(const struct inner *inner, struct told *told)
{
    struct status_source source = { .policy = inner->policy,
                                    .table = inner->table,
                                    .look = &told->look,
                                    .unix_now_ms = UINT64_C(1800000000050),
                                    .loaded_unix_s = 1799999999,
                                    .warnings = 2,
                                    .store_errors = 3 };
    assert_true(status_rate_count(inner->policy) <= RATES);
    status_gather(&source, told->rates, &told->status);
}

/* Gathers it and tells it. */
static inline const char *tell(const struct inner *inner, void (*format)(const struct status *, struct http_writer *),
                               struct told *told)
{
    gather(inner, told);
    told->writer = (struct http_writer){ .data = told->text, .cap = BYTES };
    format(&told->status, &told->writer);
    assert_false(told->writer.full);
    told->text[told->writer.size] = '\0';
    return told->text;
}

static inline void ask_times(const struct inner *inner, const char *path, unsigned times)
{
    struct drossel_request request = request_of("192.0.2.1", path, 0);
    struct drossel_decision decision;
    for (unsigned i = 0; i < times; i++)
        assert_int_equal(limiter_check(inner->limiter, &request, &decision), DROSSEL_OK);
}

#endif
