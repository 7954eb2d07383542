/* Logs that a test opens, and what comes of them. */
#ifndef DROSSEL_TEST_LOGS_OPENED_H
#define DROSSEL_TEST_LOGS_OPENED_H

#include "files.h"

#include "logs/logs.h"

#define S UINT64_C(1000000000)
#define LINE(second, target)                                                                                           \
    "192.0.2.1 - - [10/Oct/2000:13:55:" second " +0000] \"GET " target " HTTP/1.1\" 200 1 \"-\" \"UA\"\n"

static inline struct logs *open_logs(const char *const *path, size_t count, const struct logs_options *options)
{
    char error[2000];
    struct logs *logs = logs_open(path, count, options, error, sizeof error);
    if (logs == NULL)
        fail_msg("%s", error);
    return logs;
}

/* Reads all, and expects the targets in this order, separated by blanks. */
static inline void assert_targets(struct logs *logs, const char *expected)
{
    char told[4000] = "";
    struct log_record record;
    while (logs_next(logs, &record)) {
        size_t used = strlen(told);
        snprintf(told + used, sizeof told - used, "%s%.*s", used == 0 ? "" : " ", (int)record.target.size,
                 record.target.data);
    }
    assert_string_equal(told, expected);
    assert_false(logs_next(logs, &record)); /* and no more */
}

#endif
