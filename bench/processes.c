/*
 * Two processes on one table against one: decisions a second, together.
 *
 *     processes PAIRS
 *
 * Each process is forked from the one that opened the table, has a processor of its own, and decides for the same million
 * clients at random.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "world.h"

#define STEP_NS 1000
#define CLIENTS 1000000
#define ROUND_NS 300000000

static const char policy[] = "version: 1\ntable: { names: false }\nlimits:\n"
                             "  page: { by: address, allow: 5000 per 10s }\n";

/* Shared by all processes, one line each. */
struct tally {
    _Alignas(64) _Atomic uint64_t decided, failed;
};

static void decide(struct world *world, struct tally *tally, uint64_t random, uint64_t end_ns)
{
    struct drossel_request request = { .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/") };
    struct drossel_decision decision;
    uint64_t decided = 0, failed = 0;
    while (measure_now_ns() < end_ns) {
        for (unsigned i = 0; i < 256; i++, decided++) {
            world_address(&request, measure_below(&random, CLIENTS));
            request.now_ns = world->now_ns += STEP_NS;
            failed +=
                drossel_check(world->limiter, &request, &decision) != DROSSEL_OK || decision.verdict != DROSSEL_ALLOW;
        }
    }
    atomic_store(&tally->decided, decided);
    atomic_store(&tally->failed, failed);
}

/* Decisions a second of `count` processes, the first on `processor`. */
static double run(struct world *world, struct tally *tally, unsigned count, unsigned processor)
{
    static uint64_t random = 1;
    pid_t child[2];
    uint64_t start_ns = measure_now_ns() + 2000000, decided = 0;
    for (unsigned i = 0; i < count; i++) {
        random++;
        child[i] = fork();
        if (child[i] < 0)
            measure_fail("cannot fork");
        if (child[i] > 0)
            continue;
        measure_pin((processor + i) % 2);
        while (measure_now_ns() < start_ns)
            continue;
        decide(world, &tally[i], random << 32, start_ns + ROUND_NS);
        _exit(0);
    }
    for (unsigned i = 0; i < count; i++) {
        int status;
        if (waitpid(child[i], &status, 0) < 0 || status != 0 || atomic_load(&tally[i].failed) > 0)
            measure_fail("a process failed, or was refused: not what is to be measured");
        decided += atomic_load(&tally[i].decided);
    }
    world->now_ns += decided * STEP_NS;
    return (double)decided * 1e9 / ROUND_NS;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        measure_fail("usage: processes PAIRS");
    unsigned pairs = (unsigned)strtoul(argv[1], NULL, 10);
    struct world world;
    struct drossel_request request = { .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/") };
    struct tally *tally = mmap(NULL, 2 * sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED)
        measure_fail("no memory");
    world_open(&world, "processes", policy, 2 * CLIENTS);
    for (uint64_t client = 0; client < CLIENTS; client++) {
        world_address(&request, client);
        world.now_ns += STEP_NS;
        world_expect(&world, &request, DROSSEL_ALLOW, "filling the table");
    }
    for (unsigned i = 0; i < pairs; i++) {
        double two = run(&world, tally, 2, 0);
        measure_pair("processes", two, run(&world, tally, 1, i % 2));
    }
    world_close(&world);
    return 0;
}
