/* Policies written by a test into a folder of its own, and opened from there, so that places read `p.yaml:LINE:COLUMN`. */
#ifndef DROSSEL_TESTS_POLICY_OPENED_H
#define DROSSEL_TESTS_POLICY_OPENED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/policy.h"

struct opened {
    struct policy *policy;
    char *mistakes, *warnings;
};

static inline int enter_folder(void **state)
{
    static char folder[] = "/tmp/drossel-policy-XXXXXX";
    *state = folder;
    return mkdtemp(folder) == NULL || chdir(folder) != 0 ? -1 : 0;
}

static inline int leave_folder(void **state)
{
    static const char *const files[] = { "p.yaml", "a.lst", "b.lst", "o.lst", "secret" };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        unlink(files[i]);
    return chdir("/") != 0 || rmdir(*state) != 0 ? -1 : 0;
}

static inline void write_bytes(const char *name, const char *data, size_t size)
{
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static inline void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

static inline struct opened open_file(const char *path)
{
    struct opened opened = { NULL, NULL, NULL };
    opened.policy = policy_open(path, &opened.mistakes, &opened.warnings);
    assert_true((opened.policy == NULL) == (opened.mistakes != NULL));
    return opened;
}

static inline struct opened open_text(const char *text)
{
    write_text("p.yaml", text);
    return open_file("p.yaml");
}

static inline struct policy *open_good(const char *text)
{
    struct opened opened = open_text(text);
    if (opened.mistakes != NULL)
        print_error("%s", opened.mistakes);
    assert_non_null(opened.policy);
    free(opened.warnings);
    return opened.policy;
}

static inline void close_opened(struct opened *opened)
{
    policy_close(opened->policy);
    free(opened->mistakes);
    free(opened->warnings);
}

#endif
