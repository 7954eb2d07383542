/*
 * Guards whose holder does not free them: alive and kept off the processor, alive in another container, dead.
 *
 * A holder is single-stepped (ptrace) to where some of his stores are made and others not.  Of who waits for him each sleep is
 * counted, so that how patient he is is told without a clock.
 */
#include "table_test_support.h"

#include "table/layout.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STEPS_MAX 1000000
#define CHARGES 50
#define NUMBER(ticket) ((ticket) & ((UINT32_C(1) << OWNER_NUMBER_BITS) - 1))
/* A sleep of 50 us counts for that at least, and for 100 us at most, and a few turns are no sleeps: so many are more than the
 * patience with the dead ... */
#define SLEEPS_OF_THE_IMPATIENT (TABLE_GUARD_PATIENCE_NS / 50000 + 20)
/* ... and so few are less than that with the living. */
#define SLEEPS_OF_THE_PATIENT (TABLE_LIVING_PATIENCE_NS / 100000 - 20)
_Static_assert(SLEEPS_OF_THE_IMPATIENT * 10 < SLEEPS_OF_THE_PATIENT, "the two can be told apart");

static char folder[64];
static struct table *table;
static uint16_t limit;
static _Atomic uint32_t *shared; /* with children: a ticket */

static struct table *open_file_table(const char *name)
{
    char path[128], error[512] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct table_options options = { .path = path, .keys = 64, .owner = (uid_t)-1, .group = (gid_t)-1 };
    struct table *opened = table_open(&options, error, sizeof error);
    if (opened == NULL)
        fail_msg("%s", error);
    return opened;
}

static void use_table(struct table *opened)
{
    struct engine_spec spec = { .count = 1000, .period_ns = 10 * SECOND };
    table = opened;
    limit = register_limit(table, "page", spec);
}

static uint64_t used(struct table_key key)
{
    struct engine_state state;
    assert_true(table_look(table, key, limit, NOW, &state));
    return engine_used(&state, table_engine_at(table, limit), NOW);
}

static uint64_t taken_over(void)
{
    struct table_counts counts;
    table_counts(table, &counts);
    return counts.taken_over;
}

/* ---- processes that charge under a tracer ---- */

/* A child that is stopped before the first of its charges. */
static pid_t start_traced(struct table_key key, unsigned charges)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)table_ticket(table);
        (void)table_engine_at(table, limit);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(3);
        raise(SIGSTOP);
        for (unsigned i = 0; i < charges; i++)
            charge_one(table, key, limit, NOW, NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status))
        skip(); /* not allowed to trace here */
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD);
    return child;
}

static void expect_end(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool is_alike(const struct engine_state *a, const struct engine_state *b)
{
    return a->time_ns == b->time_ns && a->tally == b->tally && memcmp(a->log, b->log, sizeof a->log) == 0;
}

/* Steps until the first of the state's words is another one.  True if the guard is held then. */
static bool step_among_stores(pid_t child, const struct slot *slot)
{
    struct engine_state before, now;
    int status;
    slot_read(slot, &before);
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child ||
            !WIFSTOPPED(status))
            return false;
        slot_read(slot, &now);
        if (!is_alike(&before, &now))
            return slot->guard != 0;
    }
    return false;
}

/* Lets it go on until it has slept `most` times or ended.  Returns how often it slept; `*ended` tells the rest. */
static uint64_t count_sleeps(pid_t child, uint64_t most, bool *ended)
{
    uint64_t sleeps = 0;
    int status;
    *ended = false;
    while (sleeps < most) {
        struct __ptrace_syscall_info info;
        if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child)
            fail_msg("the waiter cannot be traced");
        *ended = !WIFSTOPPED(status);
        if (*ended)
            break;
        if (ptrace((enum __ptrace_request)PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0 &&
            info.op == PTRACE_SYSCALL_INFO_ENTRY &&
            (info.entry.nr == SYS_clock_nanosleep || info.entry.nr == SYS_nanosleep))
            sleeps++;
    }
    return sleeps;
}

/* ---- the living ---- */

static void expect_exact_around_a_stop(void)
{
    struct table_key key = key_of(1);
    bool ended;
    charge_one(table, key, limit, NOW, NULL);
    pid_t holder = start_traced(key, 1);
    assert_true(step_among_stores(holder, &table->slots[table_find(table, key)]));
    pid_t waiter = start_traced(key, CHARGES);
    (void)count_sleeps(waiter, SLEEPS_OF_THE_IMPATIENT, &ended);
    ptrace(PTRACE_DETACH, holder, NULL, NULL);
    expect_end(holder);
    if (!ended) {
        ptrace(PTRACE_DETACH, waiter, NULL, NULL);
        expect_end(waiter);
    }
    assert_int_equal(used(key), 1 + 1 + CHARGES);
    assert_false(ended);
    assert_int_equal(taken_over(), 0);
    table_close(table);
}

static void a_holder_stopped_among_his_stores_costs_nobody_a_charge(void **state)
{
    (void)state;
    use_table(open_private_table(64));
    expect_exact_around_a_stop();
}

static void so_it_is_in_a_file(void **state)
{
    (void)state;
    use_table(open_file_table("stopped"));
    expect_exact_around_a_stop();
}

static void a_holder_who_stands_still_for_too_long_loses_his_guard(void **state)
{
    (void)state;
    struct table_key key = key_of(1);
    bool ended;
    use_table(open_private_table(64));
    charge_one(table, key, limit, NOW, NULL);
    pid_t holder = start_traced(key, 1);
    assert_true(step_among_stores(holder, &table->slots[table_find(table, key)]));
    pid_t waiter = start_traced(key, CHARGES);
    assert_in_range(count_sleeps(waiter, UINT64_MAX, &ended), SLEEPS_OF_THE_PATIENT, SLEEPS_OF_THE_PATIENT * 3);
    assert_int_equal(taken_over(), 1);
    ptrace(PTRACE_DETACH, holder, NULL, NULL);
    expect_end(holder);
    assert_null(table_validate(table, NOW));
    assert_in_range(used(key), 1, 1 + 1 + CHARGES + 1); /* a miscount, but a valid state */
    table_close(table);
}

/* ---- the dead ---- */

static void a_killed_holder_is_not_waited_for_as_the_living_are(void **state)
{
    (void)state;
    struct table_key key = key_of(1);
    siginfo_t info;
    bool ended;
    use_table(open_file_table("killed"));
    charge_one(table, key, limit, NOW, NULL);
    pid_t holder = start_traced(key, 1);
    assert_true(step_among_stores(holder, &table->slots[table_find(table, key)]));
    kill(holder, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT),
                     0); /* dead, and nobody has asked after it */
    pid_t waiter = start_traced(key, CHARGES);
    uint64_t sleeps = count_sleeps(waiter, UINT64_MAX, &ended);
    assert_in_range(sleeps, TABLE_GUARD_PATIENCE_NS / 100000 - 20, SLEEPS_OF_THE_IMPATIENT);
    assert_int_equal(taken_over(), 1);
    waitpid(holder, NULL, 0);
    table_close(table);
}

/* ---- who is known to live ---- */

/* A child that tells a ticket of its own and then waits to be killed.  With a name it has opened that table once more, and closed it. */
static pid_t start_ticket_holder(const struct table *of, const char *reopened)
{
    *shared = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        uint32_t ticket = table_ticket(of);
        if (reopened != NULL)
            table_close(open_file_table(reopened));
        *shared = ticket;
        for (;;)
            pause();
    }
    while (*shared == 0)
        sched_yield();
    return child;
}

static void a_process_is_known_to_live_until_it_is_killed(void **state)
{
    (void)state;
    struct table *const tables[] = { open_private_table(64), open_file_table("known") };
    siginfo_t info;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        assert_true(owner_lives(tables[i], table_ticket(tables[i])));
        pid_t child = start_ticket_holder(tables[i], NULL);
        assert_int_not_equal(NUMBER(*shared), NUMBER(table_ticket(tables[i])));
        assert_true(owner_lives(tables[i], *shared));
        kill(child, SIGKILL);
        assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
        assert_false(owner_lives(tables[i], *shared));
        waitpid(child, NULL, 0);
    }
    table_close(tables[0]);
    table_close(tables[1]);
}

static void who_closes_one_of_two_handles_is_still_known_to_live(void **state)
{
    (void)state;
    struct table *file = open_file_table("closed");
    pid_t child = start_ticket_holder(file, "closed");
    assert_true(owner_lives(file, *shared));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(owner_lives(file, *shared));
    table_close(file);
}

static void a_process_of_another_container_is_known_to_live(void **state)
{
    (void)state;
    struct table *file = open_file_table("container");
    pid_t outer = fork();
    if (outer == 0) {
        /* Its children are in a pid namespace of their own, where the first one is process 1. */
        if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
            _exit(2);
        pid_t inner = start_ticket_holder(file, NULL);
        raise(SIGSTOP); /* the parent asks, and lets us go on */
        kill(inner, SIGKILL);
        waitpid(inner, NULL, 0);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(outer, &status, WUNTRACED), outer);
    if (!WIFSTOPPED(status)) {
        table_close(file);
        skip(); /* not allowed to make namespaces here */
    }
    bool known = owner_lives(file, *shared);
    kill(outer, SIGCONT);
    expect_end(outer);
    assert_true(known);
    assert_false(owner_lives(file, *shared));
    table_close(file);
}

static void a_process_takes_another_number_where_its_own_is_taken(void **state)
{
    (void)state;
    struct table *one = open_file_table("one");
    table_close(open_file_table("two"));
    char path[128];
    snprintf(path, sizeof path, "%s/two", folder);
    uint32_t before = table_ticket(one);
    *shared = 0;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct flock lock = { .l_type = F_WRLCK, .l_start = OWNER_LOCKS + (off_t)NUMBER(before), .l_len = 1 };
        if (fcntl(open(path, O_RDWR | O_CLOEXEC), F_SETLK, &lock) != 0)
            _exit(1);
        *shared = 1;
        for (;;)
            pause();
    }
    while (*shared == 0 && waitpid(child, NULL, WNOHANG) == 0)
        sched_yield();
    struct table *two = open_file_table("two");
    uint32_t after = table_ticket(one);
    assert_int_not_equal(NUMBER(after), NUMBER(before));
    pid_t asking = fork();
    if (asking == 0)
        _exit(!(owner_lives(one, after) && owner_lives(two, after) && owner_lives(one, before)));
    expect_end(asking);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    table_close(one);
    table_close(two);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/drossel-guard-XXXXXX");
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return mkdtemp(folder) == NULL || shared == MAP_FAILED;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "stopped", "closed", "killed", "known", "container", "one", "two" };
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_stopped_among_his_stores_costs_nobody_a_charge),
        cmocka_unit_test(so_it_is_in_a_file),
        cmocka_unit_test(a_holder_who_stands_still_for_too_long_loses_his_guard),
        cmocka_unit_test(a_killed_holder_is_not_waited_for_as_the_living_are),
        cmocka_unit_test(a_process_is_known_to_live_until_it_is_killed),
        cmocka_unit_test(who_closes_one_of_two_handles_is_still_known_to_live),
        cmocka_unit_test(a_process_of_another_container_is_known_to_live),
        cmocka_unit_test(a_process_takes_another_number_where_its_own_is_taken),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
