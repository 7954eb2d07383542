/* What the table's and the store's tests share: a table in a folder of its own, a limit, a key. */
#ifndef TABLE_TEST_SUPPORT_H
#define TABLE_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"
#include "table/table.h"

#define SECOND UINT64_C(1000000000)
#define NOW (UINT64_C(1800000000) * SECOND)

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static inline struct table *open_private_table(uint64_t keys)
{
    char error[512] = "";
    struct table_options options = { .keys = keys, .names = true, .owner = (uid_t)-1, .group = (gid_t)-1, .start_ns = NOW };
    struct table *table = table_open(&options, error, sizeof error);
    if (table == NULL)
        fail_msg("%s", error);
    return table;
}

/* Registers `count per period` (sliding) with a block of `block_ns` and returns its index. */
static inline uint16_t register_limit(struct table *table, const char *name, struct engine_spec spec)
{
    struct table_limit limit = { .spec = spec, .seed = 1 };
    if (limit.spec.factor_milli == 0)
        limit.spec.factor_milli = 1000;
    if (limit.spec.undelayed == 0)
        limit.spec.undelayed = UINT64_MAX;
    snprintf(limit.name, sizeof limit.name, "%s", name);
    snprintf(limit.subject, sizeof limit.subject, "address");
    int index = table_limit_register(table, &limit);
    assert_true(index >= 0);
    assert_non_null(table_engine_at(table, (uint32_t)index));
    return (uint16_t)index;
}

/* A key that stands for subject number `n`. */
static inline struct table_key key_of(uint64_t n)
{
    struct table_key key = { n * UINT64_C(0x9e3779b97f4a7c15) + 1, n * UINT64_C(0xc2b2ae3d27d4eb4f) + 7 };
    return table_key_beside(key, 42);
}

/* Charges one key; returns whether it was admitted. */
static inline bool charge_one(struct table *table, struct table_key key, uint16_t limit, uint64_t now_ns,
                              struct engine_verdict *verdict)
{
    struct store_charge charge = { .key = key, .limit = table_engine_at(table, limit), .cost = 1, .limit_id = limit };
    struct table_hold hold;
    struct store_batch batch = { .charge = &charge, .hold = &hold, .count = 1, .now_ns = now_ns };
    bool admitted = store_table_charge(table, &batch);
    if (verdict != NULL)
        *verdict = charge.verdict;
    return admitted;
}

#endif
