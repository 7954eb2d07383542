/* Many at once: exactly N are admitted, with threads and with processes. */
#include "../table/table_test_support.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>

#define WORKERS 8

struct job {
    struct table *table;
    uint16_t limit[3];
    unsigned keys, limits, tries;
    uint64_t admitted;
};

/* Tries `tries` times to charge, each time all limits of one of `keys` subjects. */
static void work(struct job *job)
{
    for (unsigned n = 0; n < job->tries; n++) {
        struct store_charge charge[3];
        struct table_hold hold[3];
        for (unsigned i = 0; i < job->limits; i++)
            charge[i] = (struct store_charge){ .key = key_of(100 * (i + 1) + n % job->keys),
                                               .cost = 1,
                                               .limit = table_engine_at(job->table, job->limit[i]),
                                               .limit_id = job->limit[i] };
        struct store_batch batch = { .charge = charge, .hold = hold, .count = job->limits, .now_ns = NOW + n };
        job->admitted += store_table_charge(job->table, &batch);
    }
}

static struct job make_job(unsigned keys, unsigned limits, uint64_t count, unsigned tries)
{
    struct job job = { .table = open_private_table(1024), .keys = keys, .limits = limits, .tries = tries };
    for (unsigned i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "l%u", i);
        /* The others are wider: one alone decides, and what it refuses must cost them nothing. */
        struct engine_spec spec = { .count = count * (i + 1), .period_ns = 3600 * SECOND };
        job.limit[i] = register_limit(job.table, name, spec);
    }
    return job;
}

static void *thread(void *argument)
{
    work(argument);
    return NULL;
}

static void expect_exactly(const struct job *job, uint64_t admitted, uint64_t count)
{
    assert_int_equal(admitted, count * job->keys);
    struct table_entry entry;
    uint64_t slots = 0;
    for (uint64_t slot = 0; table_next(job->table, &slot, &entry); slots++)
        assert_int_equal(engine_used(&entry.state, table_engine_at(job->table, entry.limit), NOW + job->tries), count);
    assert_int_equal(slots, job->keys * job->limits);
    assert_null(table_validate(job->table, NOW + job->tries));
    table_close(job->table);
}

static void run_threads(unsigned keys, unsigned limits, uint64_t count, unsigned tries)
{
    struct job job = make_job(keys, limits, count, tries), jobs[WORKERS];
    pthread_t threads[WORKERS];
    uint64_t admitted = 0;
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = job;
        assert_int_equal(pthread_create(&threads[i], NULL, thread, &jobs[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        admitted += jobs[i].admitted;
    }
    expect_exactly(&job, admitted, count);
}

static void run_processes(unsigned keys, unsigned limits, uint64_t count, unsigned tries)
{
    struct job job = make_job(keys, limits, count, tries);
    uint64_t *results = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child[WORKERS];
    uint64_t admitted = 0;
    for (int i = 0; i < WORKERS; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(&job);
            results[i] = job.admitted;
            _exit(0);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        int status;
        waitpid(child[i], &status, 0);
        assert_int_equal(status, 0);
        admitted += results[i];
    }
    munmap(results, 4096);
    expect_exactly(&job, admitted, count);
}

#define ROUNDS (SANITIZED ? 2 : 20)
#define TRIES (SANITIZED ? 2000 : 20000)

static void eight_threads_on_one_key_admit_exactly_n(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        run_threads(1, 1, round % 2 == 0 ? 70 : 5000, TRIES);
}

static void eight_threads_on_three_limits_of_five_keys_admit_exactly_n(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS / 2; round++)
        run_threads(5, 3, round % 2 == 0 ? 16 : 300, TRIES);
}

static void eight_processes_on_one_key_admit_exactly_n(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        run_processes(1, 1, round % 2 == 0 ? 70 : 5000, TRIES);
}

static void eight_processes_on_three_limits_of_five_keys_admit_exactly_n(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS / 2; round++)
        run_processes(5, 3, round % 2 == 0 ? 16 : 300, TRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_on_one_key_admit_exactly_n),
        cmocka_unit_test(eight_threads_on_three_limits_of_five_keys_admit_exactly_n),
        cmocka_unit_test(eight_processes_on_one_key_admit_exactly_n),
        cmocka_unit_test(eight_processes_on_three_limits_of_five_keys_admit_exactly_n),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
