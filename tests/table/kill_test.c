/*
 * P6: a writer killed with SIGKILL at each single instruction of an update.
 *
 * The writer is single-stepped (ptrace) for n instructions and then killed, for every n until the update is complete.  Other
 * writers go on meanwhile, on the same key and on others.  After each kill the key must be usable, the table valid, the
 * neighbours untouched, and the key no more permissive than a fresh one.
 */
#include "table_test_support.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define LIMIT 20
#define STEPS_MAX 20000      /* an update has about a thousand instructions */

static struct table *table;
static uint16_t limit;
static volatile uint64_t *progress;      /* shared: rounds of the others */

static uint64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A process that goes on charging: its own keys, and now and then the one that is being written. */
static pid_t start_other(uint64_t shared_key)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    for (uint64_t n = 0;; n++) {
        charge_one(table, key_of(5000 + n % 50), limit, NOW, NULL);
        if (n % 64 == 0)
            charge_one(table, key_of(shared_key), limit, NOW, NULL);
        *progress = n;
    }
}

/* Runs one charge of `key` in a child for `steps` instructions, then kills it.  Returns how many it ran. */
static unsigned kill_after(struct table_key key, uint64_t now_ns, unsigned steps)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)table_ticket();
        (void)table_engine_at(table, limit);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(3);
        raise(SIGSTOP);
        charge_one(table, key, limit, now_ns, NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status))
        skip();                          /* not allowed to trace here */
    for (unsigned i = 0; i < steps; i++) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child || WIFEXITED(status))
            return i;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return steps;
}

/* Admits as many as fit; never more than a fresh key would. */
static unsigned drain(struct table_key key, uint64_t now_ns)
{
    unsigned admitted = 0;
    while (admitted <= LIMIT && charge_one(table, key, limit, now_ns, NULL))
        admitted++;
    return admitted;
}

static int open_table(void **state)
{
    (void)state;
    table = open_private_table(1024);
    struct engine_spec spec = { .count = LIMIT, .period_ns = 10 * SECOND };
    limit = register_limit(table, "page", spec);
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return progress == MAP_FAILED;
}

static int close_table(void **state)
{
    (void)state;
    table_close(table);
    return 0;
}

static void check_after_kill(struct table_key key, uint64_t now_ns, uint64_t *slowest_ms)
{
    uint64_t before_ms = clock_ms();
    charge_one(table, key, limit, now_ns, NULL);
    uint64_t waited_ms = clock_ms() - before_ms;
    if (waited_ms > *slowest_ms)
        *slowest_ms = waited_ms;
    assert_true(drain(key, now_ns) <= LIMIT);
    assert_false(charge_one(table, key, limit, now_ns, NULL));
}

static void an_update_killed_at_each_instruction_harms_one_key_at_most(void **state)
{
    (void)state;
    uint64_t slowest_ms = 0;
    for (int i = 0; i < 7; i++)
        charge_one(table, key_of(2), limit, NOW, NULL);
    charge_one(table, key_of(1), limit, NOW, NULL);
    unsigned length = kill_after(key_of(1), NOW, STEPS_MAX);
    assert_in_range(length, 100, STEPS_MAX - 1);
    pid_t other = start_other(1);
    for (unsigned steps = 1; steps <= length; steps++) {
        uint64_t now_ns = NOW + steps * 11 * SECOND;     /* the window before has passed */
        for (int i = 0; i < 5; i++)
            charge_one(table, key_of(1), limit, now_ns, NULL);
        (void)kill_after(key_of(1), now_ns, steps);
        check_after_kill(key_of(1), now_ns, &slowest_ms);
    }
    uint64_t seen = *progress;
    while (*progress == seen)
        usleep(100);                     /* the other one goes on */
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    charge_one(table, key_of(1), limit, NOW, NULL);
    assert_null(table_validate(table, NOW));
    struct engine_verdict verdict;
    assert_true(charge_one(table, key_of(2), limit, NOW, &verdict));
    assert_int_equal(verdict.used, 8);
    print_message("# %u kills during an update, longest wait %u ms\n", length, (unsigned)slowest_ms);
    assert_in_range(slowest_ms, 0, 1000);    /* a guard that is never taken over would hang here for good */
}

static void an_insertion_killed_at_each_instruction_harms_one_key_at_most(void **state)
{
    (void)state;
    uint64_t slowest_ms = 0;
    /* One home for all, so that, after the first eight, each insertion displaces one. */
    struct table_key key = { .home = 512 };
    for (uint64_t n = 0; n < 8; n++) {
        key.tag = key_of(200000 + n).tag;
        charge_one(table, key, limit, NOW, NULL);
    }
    key.tag = key_of(99999).tag;
    unsigned length = kill_after(key, NOW, STEPS_MAX);
    assert_in_range(length, 100, STEPS_MAX - 1);
    for (unsigned steps = 1; steps <= length; steps++) {
        key.tag = key_of(100000 + steps).tag;
        (void)kill_after(key, NOW, steps);
        check_after_kill(key, NOW, &slowest_ms);
        const char *wrong = table_validate(table, NOW);
        if (wrong != NULL)
            fail_msg("after %u instructions: %s", steps, wrong);
    }
    print_message("# %u kills during an insertion, longest wait %u ms\n", length, (unsigned)slowest_ms);
    assert_in_range(slowest_ms, 0, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_killed_at_each_instruction_harms_one_key_at_most),
        cmocka_unit_test(an_insertion_killed_at_each_instruction_harms_one_key_at_most),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
