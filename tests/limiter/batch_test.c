/* A batch decides as its requests would be decided one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drossel.h"

#define REQUESTS 3000
#define SECOND_NS UINT64_C(1000000000)

static char policy_path[64];

/* `more` limits by path besides: with 12, a request has more charges than a batch has room for ahead. */
static void write_policy(unsigned more)
{
    static const char head[] = "version: 1\n"
                               "exempt: { paths: [/free] }\n"
                               "classes: { login: { path: /login } }\n"
                               "limits:\n"
                               "  page: { by: address, allow: 20 per 10s }\n"
                               "  login: { for: login, by: [address, path], allow: 3 per 1m, ban: 5s }\n"
                               "  wide: { by: header.X-Key, allow: [10 per 1s, 40 per 1m], dry_run: true }\n";
    strcpy(policy_path, "/tmp/drossel-batch-XXXXXX");
    int fd = mkstemp(policy_path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(file);
    fputs(head, file);
    for (unsigned i = 0; i < more; i++)
        fprintf(file, "  more%u: { by: path, allow: %u per 1h }\n", i, 600 + i);
    assert_int_equal(fclose(file), 0);
}

static struct drossel *open_private(void)
{
    static const struct drossel_options options = { .private_table = true,
                                                    .table_keys = 4096,
                                                    .private_start_ns = 1000 * SECOND_NS };
    struct drossel *limiter;
    struct drossel_error why;
    if (drossel_open(&limiter, policy_path, &options, &why) != DROSSEL_OK)
        fail_msg("%s", why.text);
    return limiter;
}

static void make_requests(struct drossel_request *requests)
{
    static const struct drossel_text paths[] = { DROSSEL_TEXT("/"), DROSSEL_TEXT("/login"), DROSSEL_TEXT("/free"),
                                                 DROSSEL_TEXT("/page") };
    static const struct drossel_header header = { DROSSEL_TEXT("x-key"), DROSSEL_TEXT("k1") };
    uint64_t random = 5;
    for (unsigned i = 0; i < REQUESTS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        requests[i] =
            (struct drossel_request){ .now_ns = 1000 * SECOND_NS + i * SECOND_NS / 50, .method = DROSSEL_TEXT("GET") };
        requests[i].address = (struct drossel_address){ DROSSEL_IPV4, { 192, 0, 2, (uint8_t)(random >> 40 & 7) } };
        requests[i].path = paths[random >> 50 & 3];
        if ((random >> 60 & 1) != 0) {
            requests[i].headers = &header;
            requests[i].header_count = 1;
        }
    }
}

static void assert_alike(const struct drossel_decision *a, const struct drossel_decision *b)
{
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->limit, b->limit);
    assert_int_equal(a->remaining, b->remaining);
    assert_int_equal(a->wait_ns, b->wait_ns);
    assert_int_equal(a->banned, b->banned);
    assert_int_equal(a->exempt, b->exempt);
    assert_int_equal(a->dry_run_count, b->dry_run_count);
    assert_int_equal(a->quota_count, b->quota_count);
}

static void compare(unsigned more)
{
    static struct drossel_request requests[REQUESTS];
    static struct drossel_decision batched[REQUESTS];
    write_policy(more);
    struct drossel *one = open_private(), *many = open_private();
    unlink(policy_path);
    unsigned seen[DROSSEL_DROP + 1] = { 0 }, banned = 0;
    make_requests(requests);
    for (unsigned i = 0, size = 0; i < REQUESTS; i += size) {
        size = i % 40 + 1 < REQUESTS - i ? i % 40 + 1 : REQUESTS - i;
        assert_int_equal(drossel_check_batch(many, requests + i, size, batched + i), DROSSEL_OK);
    }
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct drossel_decision alone;
        assert_int_equal(drossel_check(one, &requests[i], &alone), DROSSEL_OK);
        assert_alike(&alone, &batched[i]);
        seen[alone.verdict]++;
        banned += alone.banned;
    }
    assert_true(seen[DROSSEL_ALLOW] > 100 && seen[DROSSEL_REFUSE] > 100 && banned > 100);
    drossel_close(one);
    drossel_close(many);
}

static void a_batch_decides_as_one_request_after_the_other(void **state)
{
    (void)state;
    compare(0);
}

static void a_batch_of_requests_with_many_limits_does_so_too(void **state)
{
    (void)state;
    compare(12);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_batch_decides_as_one_request_after_the_other),
                                        cmocka_unit_test(a_batch_of_requests_with_many_limits_does_so_too) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
