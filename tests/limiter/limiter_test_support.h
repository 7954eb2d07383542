/* What the limiter's tests share: a policy from text, a private table whose clock the test holds, requests in short. */
#ifndef LIMITER_TEST_SUPPORT_H
#define LIMITER_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drossel.h"
#include "limiter.h"

#define SECOND UINT64_C(1000000000)
#define NOW (UINT64_C(1800000000) * SECOND)

/* A policy's file, made by put_policy and taken away by remove_policy. */
struct policy_file {
    char path[64];
};

static inline void put_policy(struct policy_file *file, const char *text)
{
    FILE *out = fopen(file->path, "w");
    assert_non_null(out);
    assert_int_equal(fputs("version: 1\n", out) < 0 || fputs(text, out) < 0, 0);
    assert_int_equal(fclose(out), 0);
}

static inline struct policy_file make_policy(const char *text)
{
    struct policy_file file = { "/tmp/drossel-limiter-XXXXXX" };
    int fd = mkstemp(file.path);
    assert_true(fd >= 0);
    close(fd);
    put_policy(&file, text);
    return file;
}

static inline struct drossel *open_file(const struct policy_file *file)
{
    struct drossel *limiter = NULL;
    struct drossel_error why = { "" };
    struct drossel_options options = { .private_table = true, .private_start_ns = NOW, .table_keys = 4096 };
    if (drossel_open(&limiter, file->path, &options, &why) != DROSSEL_OK)
        fail_msg("%s", why.text);
    return limiter;
}

/* The policy `text` (without its version line), on a private table. */
static inline struct drossel *open_policy(const char *text)
{
    struct policy_file file = make_policy(text);
    struct drossel *limiter = open_file(&file);
    unlink(file.path);
    return limiter;
}

/* The same below the public header, for what only doors and the command use. */
struct inner {
    struct policy *policy;
    struct table *table;
    struct limiter *limiter;
};

static inline struct inner open_inner(const char *text)
{
    struct policy_file file = make_policy(text);
    char *mistakes = NULL, error[512] = "";
    struct table_options options = {
        .keys = 4096, .names = true, .owner = (uid_t)-1, .group = (gid_t)-1, .start_ns = NOW
    };
    struct inner inner = { .policy = policy_open(file.path, &mistakes, NULL) };
    unlink(file.path);
    if (inner.policy == NULL)
        fail_msg("%s", mistakes);
    inner.table = table_open(&options, error, sizeof error);
    assert_non_null(inner.table);
    inner.limiter = limiter_open(inner.policy, inner.table, error, sizeof error);
    if (inner.limiter == NULL)
        fail_msg("%s", error);
    return inner;
}

static inline void close_inner(struct inner *inner)
{
    limiter_close(inner->limiter);
    table_close(inner->table);
    policy_close(inner->policy);
}

static inline struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, text == NULL ? 0 : strlen(text) };
}

static inline struct drossel_address address_of(const char *text)
{
    struct drossel_address address;
    assert_int_equal(drossel_address_parse(text, strlen(text), &address), DROSSEL_OK);
    return address;
}

/* GET `path` from `address` after `t` seconds. */
static inline struct drossel_request request_of(const char *address, const char *path, double t)
{
    struct drossel_request request = { .now_ns = NOW + (uint64_t)(t * 1e9), .method = DROSSEL_TEXT("GET") };
    request.path = text_of(path);
    request.address = address_of(address);
    return request;
}

static inline struct drossel_decision decide(struct drossel *limiter, const struct drossel_request *request)
{
    struct drossel_decision decision;
    memset(&decision, 0xa5, sizeof decision); /* what is not set shows */
    assert_int_equal(drossel_check(limiter, request, &decision), DROSSEL_OK);
    return decision;
}

/* One GET / from 192.0.2.1 after `t` seconds. */
static inline struct drossel_decision get(struct drossel *limiter, double t)
{
    struct drossel_request request = request_of("192.0.2.1", "/", t);
    return decide(limiter, &request);
}

/* How many of `tries` requests are admitted. */
static inline unsigned admitted_of(struct drossel *limiter, const struct drossel_request *request, unsigned tries)
{
    unsigned admitted = 0;
    for (unsigned i = 0; i < tries; i++)
        admitted += decide(limiter, request).verdict < DROSSEL_REFUSE;
    return admitted;
}

#endif
