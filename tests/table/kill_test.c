/*
 * P6: a writer killed with SIGKILL at each single instruction of an update.
 *
 * The writer is single-stepped (ptrace) for n instructions and then killed, for every n until the update is complete.  Other
 * writers go on meanwhile, on the same key and on others.  After each kill the key must be usable, the table valid, the
 * neighbours untouched, and the key no more permissive than a fresh one.
 */
#include "table_test_support.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define LIMIT 20
#define STEPS_MAX 20000     /* an update has about a thousand instructions, an insertion five times as many ... */
#define INSERTION_KILLS 300 /* ... over which so many kills are spread */

static struct table *table;
static uint16_t limit;
/* Shared with the children. */
static volatile struct {
    uint64_t rounds;   /* of the others */
    uint64_t complete; /* the stepped writer has come to its end */
    uint64_t now_ns;   /* one clock for all */
} * progress;

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
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint64_t n = 0;; n++) {
        charge_one(table, key_of(5000 + n % 50), limit, progress->now_ns, NULL);
        if (n % 64 == 0)
            charge_one(table, key_of(shared_key), limit, progress->now_ns, NULL);
        progress->rounds = n;
        if (n % 256 == 0)
            usleep(100); /* the single-stepped one needs a processor as well */
    }
}

/* Sets the clock of all, and waits until the other process goes by it: one who charges by a clock that lies a window behind would pull
 * the key's times back to it. */
static void set_clock(uint64_t now_ns)
{
    progress->now_ns = now_ns;
    for (uint64_t seen = progress->rounds; progress->rounds < seen + 2;)
        sched_yield();
}

/* What the stepped writer does. */
typedef void writing(struct table_key key, uint64_t now_ns);

static void charge(struct table_key key, uint64_t now_ns)
{
    charge_one(table, key, limit, now_ns, NULL);
}

#define SECOND_KEY key_of(4)

/* Two keys at once. */
static void pass_two(struct table_key key, uint64_t now_ns)
{
    const struct engine_limit *engine = table_engine_at(table, limit);
    struct store_pass pass[2] = { { .key = key, .limit = engine, .cost = 1, .limit_id = limit },
                                  { .key = SECOND_KEY, .limit = engine, .cost = 1, .limit_id = limit } };
    (void)store_table_pass(table, pass, 2, now_ns);
}

/* Lets a child write `key` for `steps` instructions, then kills it.  Returns how many it ran. */
static unsigned kill_after(writing *write, struct table_key key, uint64_t now_ns, unsigned steps)
{
    progress->complete = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)table_ticket(table);
        (void)table_engine_at(table, limit);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(3);
        raise(SIGSTOP);
        write(key, now_ns);
        progress->complete = 1;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status))
        skip(); /* not allowed to trace here */
    unsigned done = 0;
    while (done < steps && progress->complete == 0) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child)
            fail_msg("the writer cannot be stepped");
        done++;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return done;
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
    unsigned length = kill_after(charge, key_of(1), NOW, STEPS_MAX);
    assert_in_range(length, 100, STEPS_MAX - 1);
    progress->now_ns = NOW;
    pid_t other = start_other(1);
    for (unsigned steps = 1; steps <= length; steps++) {
        uint64_t now_ns = NOW + steps * 11 * SECOND; /* the window before has passed */
        set_clock(now_ns);
        for (int i = 0; i < 5; i++)
            charge_one(table, key_of(1), limit, now_ns, NULL);
        (void)kill_after(charge, key_of(1), now_ns, steps);
        check_after_kill(key_of(1), now_ns, &slowest_ms);
    }
    uint64_t seen = progress->rounds;
    while (progress->rounds == seen)
        usleep(100); /* the other one goes on */
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    assert_null(table_validate(table, progress->now_ns));
    struct engine_verdict verdict;
    assert_true(charge_one(table, key_of(2), limit, NOW, &verdict));
    assert_int_equal(verdict.used, 8);
    print_message("# %u kills during an update, longest wait %u ms\n", length, (unsigned)slowest_ms);
    assert_in_range(slowest_ms, 0, 1000); /* a guard that is never taken over would hang here for good */
}

static void two_keys_passed_at_once_and_killed_at_each_instruction_are_the_only_ones_harmed(void **state)
{
    (void)state;
    uint64_t slowest_ms = 0, now_ns = progress->now_ns + 100 * SECOND;
    for (int i = 0; i < 7; i++)
        charge_one(table, key_of(2), limit, now_ns, NULL);
    charge_one(table, key_of(1), limit, now_ns, NULL);
    charge_one(table, SECOND_KEY, limit, now_ns, NULL);
    unsigned length = kill_after(pass_two, key_of(1), now_ns, STEPS_MAX);
    assert_in_range(length, 100, STEPS_MAX - 1);
    struct engine_verdict verdict;
    assert_true(charge_one(table, key_of(1), limit, now_ns, &verdict));
    assert_int_equal(verdict.used, 3); /* it does what it is killed at */
    for (unsigned steps = 1; steps <= length; steps++) {
        uint64_t later_ns = now_ns + steps * 11 * SECOND; /* the window before has passed */
        for (int i = 0; i < 5; i++) {
            charge_one(table, key_of(1), limit, later_ns, NULL);
            charge_one(table, SECOND_KEY, limit, later_ns, NULL);
        }
        (void)kill_after(pass_two, key_of(1), later_ns, steps);
        check_after_kill(key_of(1), later_ns, &slowest_ms);
        check_after_kill(SECOND_KEY, later_ns, &slowest_ms);
        progress->now_ns = later_ns;
    }
    assert_null(table_validate(table, progress->now_ns));
    assert_true(charge_one(table, key_of(2), limit, now_ns, &verdict));
    assert_int_equal(verdict.used, 8);
    print_message("# %u kills of two keys passed, longest wait %u ms\n", length, (unsigned)slowest_ms);
    assert_in_range(slowest_ms, 0, 1000);
}

static void an_insertion_killed_at_any_instruction_harms_one_key_at_most(void **state)
{
    (void)state;
    uint64_t slowest_ms = 0, now_ns = progress->now_ns + 100 * SECOND;
    /* One home for all, so that, after the first eight, each insertion displaces one. */
    struct table_key key = { .home = 512 };
    for (uint64_t n = 0; n < 8; n++) {
        key.tag = key_of(200000 + n).tag;
        charge_one(table, key, limit, now_ns, NULL);
    }
    key.tag = key_of(99999).tag;
    unsigned kills = 0, length = kill_after(charge, key, now_ns, STEPS_MAX);
    assert_in_range(length, 100, STEPS_MAX - 1);
    for (unsigned steps = 1; steps <= length; steps += 1 + length / INSERTION_KILLS, kills++) {
        key.tag = key_of(100000 + steps).tag;
        (void)kill_after(charge, key, now_ns, steps);
        check_after_kill(key, now_ns, &slowest_ms);
        const char *wrong = table_validate(table, now_ns);
        if (wrong != NULL)
            fail_msg("after %u instructions: %s", steps, wrong);
    }
    print_message("# %u kills during an insertion, longest wait %u ms\n", kills, (unsigned)slowest_ms);
    assert_in_range(slowest_ms, 0, 1000);
}

/* Writers in a tight loop, killed wherever they are. */
static void two_thousand_writers_killed_at_random_leave_a_valid_table(void **state)
{
    (void)state;
    uint64_t slowest_ms = 0, now_ns = progress->now_ns + 200 * SECOND;
    progress->now_ns = now_ns;
    pid_t other = start_other(3);
    srandom(7);
    for (unsigned round = 0; round < 2000; round++) {
        now_ns += 11 * SECOND;
        progress->now_ns = now_ns;
        pid_t child = fork();
        if (child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
            for (uint64_t n = 0;; n++)
                charge_one(table, key_of(n % 4 == 0 ? 1 : 7000 + n % 3000), limit, now_ns, NULL);
        usleep((useconds_t)(random() % 300));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        check_after_kill(key_of(1), now_ns, &slowest_ms);
    }
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    const char *wrong = table_validate(table, now_ns);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    struct table_counts counts;
    table_counts(table, &counts);
    print_message("# longest wait %u ms, %u guards taken over\n", (unsigned)slowest_ms, (unsigned)counts.taken_over);
    assert_in_range(slowest_ms, 0, 1000);
    assert_true(counts.taken_over > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_killed_at_each_instruction_harms_one_key_at_most),
        cmocka_unit_test(two_keys_passed_at_once_and_killed_at_each_instruction_are_the_only_ones_harmed),
        cmocka_unit_test(an_insertion_killed_at_any_instruction_harms_one_key_at_most),
        cmocka_unit_test(two_thousand_writers_killed_at_random_leave_a_valid_table),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
