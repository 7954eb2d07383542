/* A policy opened while the n-th allocation fails, for each n: refused with a message, nothing lost. */
#include "opened.h"

#include <limits.h>
#include <malloc.h>

/* glibc's own, behind the malloc of this program. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static long until_failure = -1; /* allocations that still succeed; negative: all */
static long alive;              /* blocks not freed */
static volatile bool counting;  /* gcc thinks that free reads nothing */
static volatile bool told;      /* memory was freed with the secret in it */

#define SECRET "0a1b2c3d4e5f6789"

static bool fails(void)
{
    return counting && until_failure >= 0 && until_failure-- <= 0;
}

void *malloc(size_t size)
{
    void *memory = fails() ? NULL : __libc_malloc(size);
    if (counting && memory != NULL)
        memset(memory, 0, malloc_usable_size(memory)); /* what was here before is not the policy's to wipe */
    alive += counting && memory != NULL;
    return memory;
}

void *calloc(size_t count, size_t size)
{
    void *memory = fails() ? NULL : __libc_calloc(count, size);
    alive += counting && memory != NULL;
    return memory;
}

void *realloc(void *old, size_t size)
{
    void *memory = fails() ? NULL : __libc_realloc(old, size);
    alive += counting && memory != NULL && old == NULL;
    return memory;
}

void free(void *memory)
{
    alive -= counting && memory != NULL;
    if (counting && memory != NULL)
        told = told || memmem(memory, malloc_usable_size(memory), SECRET, strlen(SECRET)) != NULL;
    __libc_free(memory);
}

static const char *const yaml =
    "version: 1\nclient: { trusted: 127.0.0.1, address_from: X-Real-IP, token_from: bearer }\n"
    "exempt: { addresses: a.lst, paths: [/a, /b], methods: OPTIONS }\n"
    "classes: { a: { path_matches: '^/a', host: x }, b: { path_begins: [/q, /r] }, c: { path_ends: .x }, d: { path: q "
    "} }\n"
    "answer: { json: '{}' }\nsecret_file: secret\n"
    "outcomes: { failure: { status: 401 }, success: { header.X-Outcome: success } }\n"
    "limits: { l: { for: [a, not b], by: [token, address], allow: [5 per 1s, 50 per 1m], block: 1h, overrides: o.lst "
    "},\n"
    "  m: { by: site, allow: 1 per 1s, answer: { status: 503 }, cost: { c: 2 } },\n"
    "  n: { by: site, allow: 2000 failures per 1h, hold: 1s, reset_on: success, action: challenge, challenge_to: /v } "
    "}\n";

/* Does everything happen as it should when the allocation number `failing` fails?  False: there is no such one. */
static bool survives(long failing, const char *text)
{
    write_text("p.yaml", text);
    char *mistakes, *warnings;
    alive = 0;
    until_failure = failing;
    counting = true;
    struct policy *policy = policy_open("p.yaml", &mistakes, &warnings);
    bool failed = until_failure < 0;
    until_failure = -1;
    const char *wrong = NULL;
    if (failed && policy == NULL && mistakes == NULL)
        wrong = "refused without a message";
    policy_close(policy);
    free(mistakes);
    free(warnings);
    counting = false;
    if (alive != 0)
        wrong = "lost memory";
    if (wrong != NULL)
        print_error("allocation %ld: %s (%ld)\n", failing, wrong, alive);
    assert_null(wrong);
    return failed;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    write_text("a.lst", "10.0.0.0/8\n192.0.2.1\n");
    write_text("secret", SECRET);
    write_text("o.lst", "k 5 per 1s\n10.0.0.1 unlimited\n");
    long n = 0;
    while (survives(n, yaml))
        n++;
    assert_in_range(n, 20, 100000);
    for (n = 0; survives(n, "version: 2\nlimits: { a: { by: x } }\n"); n++)
        continue;
    assert_in_range(n, 5, 100000);
}

static void no_memory_is_given_back_with_the_secret_in_it(void **state)
{
    (void)state;
    static const char *const texts[] = { "version: 1\nsecret_file: secret\n",
                                         "version: 1\nsecret_file: secret\nlimits: { a: { by: x } }\n" };
    for (size_t i = 0; i < 2; i++) {
        told = false;
        write_text("secret", SECRET);
        assert_false(survives(LONG_MAX, texts[i]));
        assert_false(told);
        write_text("secret", SECRET "\n");
        for (long n = 0; survives(n, texts[i]); n++)
            continue;
        assert_false(told);
    }
    char *volatile unwiped = strdup(SECRET);
    counting = true;
    free(unwiped);
    counting = false;
    assert_true(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_allocation_may_fail),
                                        cmocka_unit_test(no_memory_is_given_back_with_the_secret_in_it) };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
