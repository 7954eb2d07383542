/*
 * One decision, alone and in a batch, against one dependent atomic add to a random cache line: what a cold key costs in any
 * design that keeps its counters in memory shared between processes.
 *
 *     decide NAME KEYS SLOTS PAIRS
 *
 * Ours: drossel_check of a request that is allowed, one limit by address, of one of KEYS clients at random, whose key is in
 * the table.  The other: an atomic addition to a random line of an array as large as the table's slots, in a shared mapping of
 * the same file system; each line's number depends on the value read from the one before.  Its pages are those that the kernel gives
 * to whoever does not care; a second array lies in large ones, as the table does, where they can be had.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure.h"
#include "world.h"

#define STEP_NS 1000 /* the clock moves by so much for each decision */
#define BATCH 32
#define DRAWN 1024 /* a multiple of BATCH */
#define LARGE_BYTES (UINT64_C(2) << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static const char policy[] = "version: 1\n"
                             "table: { names: false }\n"
                             "limits:\n"
                             "  page: { by: address, allow: 50 per 10s }\n";

struct line {
    _Alignas(64) _Atomic uint64_t word;
};

/* NULL: large pages were asked for, and cannot be had. */
static struct line *make_lines(uint64_t count, bool large)
{
    char path[300];
    snprintf(path, sizeof path, "%s/lines", world_folder());
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, (off_t)(count * sizeof(struct line))) != 0)
        measure_fail("%s: no room for %llu lines", path, (unsigned long long)count);
    unlink(path);
    uint64_t bytes = count * sizeof(struct line);
    unsigned char *room =
        mmap(NULL, bytes + LARGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *at = room + (LARGE_BYTES - (uintptr_t)room % LARGE_BYTES);
    if (room == MAP_FAILED ||
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
        measure_fail("no memory for %llu lines", (unsigned long long)count);
    close(fd);
    return large && madvise(at, bytes, MADV_COLLAPSE) != 0 ? NULL : (struct line *)(void *)at;
}

/* ns for one addition. */
static double add(struct line *lines, uint64_t count, uint64_t times)
{
    static uint64_t seed;
    uint64_t at = ++seed;
    uint64_t start_ns = measure_spent_ns();
    for (uint64_t i = 0; i < times; i++) {
        uint64_t read = atomic_fetch_add_explicit(&lines[at >> 24 & (count - 1)].word, i, memory_order_relaxed);
        at = (at + read) * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    return (double)(measure_spent_ns() - start_ns) / (double)times;
}

static void fill(struct world *world, uint64_t keys)
{
    struct drossel_request request = { .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/") };
    for (uint64_t i = 0; i < keys; i++) {
        world_address(&request, i);
        world->now_ns += STEP_NS;
        world_expect(world, &request, DROSSEL_ALLOW, "filling the table");
    }
}

/* So many clients are drawn before the clock is looked at: drawing them is no part of a decision. */
static void draw(uint32_t client[DRAWN], uint64_t *random, uint64_t keys)
{
    for (unsigned i = 0; i < DRAWN; i++)
        client[i] = (uint32_t)measure_below(random, keys);
}

static void expect_none(uint64_t refused)
{
    if (refused > 0)
        measure_fail("%llu decisions were not `allow`: not what is to be measured", (unsigned long long)refused);
}

/* ns for one decision. */
static double check(struct world *world, uint64_t keys, uint64_t times)
{
    static uint64_t random = 1;
    struct drossel_request request = { .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/") };
    struct drossel_decision decision;
    uint32_t client[DRAWN];
    uint64_t refused = 0, spent_ns = 0, done = 0;
    for (; done < times; done += DRAWN) {
        draw(client, &random, keys);
        uint64_t start_ns = measure_spent_ns();
        for (unsigned i = 0; i < DRAWN; i++) {
            world_address(&request, client[i]);
            request.now_ns = world->now_ns += STEP_NS;
            if (drossel_check(world->limiter, &request, &decision) != DROSSEL_OK || decision.verdict != DROSSEL_ALLOW)
                refused++;
        }
        spent_ns += measure_spent_ns() - start_ns;
    }
    expect_none(refused);
    return (double)spent_ns / (double)done;
}

static uint64_t check_one_batch(struct world *world, const uint32_t client[BATCH],
                                struct drossel_request request[BATCH], struct drossel_decision decision[BATCH])
{
    uint64_t refused = 0;
    for (unsigned i = 0; i < BATCH; i++) {
        world_address(&request[i], client[i]);
        request[i].now_ns = world->now_ns += STEP_NS;
    }
    if (drossel_check_batch(world->limiter, request, BATCH, decision) != DROSSEL_OK)
        measure_fail("a batch failed");
    for (unsigned i = 0; i < BATCH; i++)
        refused += decision[i].verdict != DROSSEL_ALLOW;
    return refused;
}

/* The same through drossel_check_batch. */
static double check_batch(struct world *world, uint64_t keys, uint64_t times)
{
    static uint64_t random = 2;
    static struct drossel_request request[BATCH];
    static struct drossel_decision decision[BATCH];
    uint32_t client[DRAWN];
    uint64_t refused = 0, spent_ns = 0, done = 0;
    for (unsigned i = 0; i < BATCH; i++)
        request[i] = (struct drossel_request){ .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/") };
    for (; done < times; done += DRAWN) {
        draw(client, &random, keys);
        uint64_t start_ns = measure_spent_ns();
        for (unsigned i = 0; i < DRAWN; i += BATCH)
            refused += check_one_batch(world, &client[i], request, decision);
        spent_ns += measure_spent_ns() - start_ns;
    }
    expect_none(refused);
    return (double)spent_ns / (double)done;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        measure_fail("usage: decide NAME KEYS SLOTS PAIRS");
    uint64_t keys = strtoull(argv[2], NULL, 10), slots = strtoull(argv[3], NULL, 10);
    unsigned pairs = (unsigned)strtoul(argv[4], NULL, 10);
    uint64_t times = 1000000;
    char check_row[64], large_row[64], batch_row[64];
    struct world world;
    snprintf(check_row, sizeof check_row, "check-%s", argv[1]);
    snprintf(large_row, sizeof large_row, "check-%s-large", argv[1]);
    snprintf(batch_row, sizeof batch_row, "batch-%s", argv[1]);
    measure_pin(1);
    world_open(&world, argv[1], policy, slots);
    struct line *lines = make_lines(slots, false), *large = make_lines(slots, true);
    fill(&world, keys);
    (void)add(lines, slots, slots);
    for (unsigned i = 0; i < pairs; i++) {
        double add_ns = add(lines, slots, times);
        double check_ns = check(&world, keys, times);
        double large_ns = large == NULL ? 0 : add(large, slots, times);
        double batch_ns = check_batch(&world, keys, times);
        measure_pair(check_row, check_ns, add_ns);
        measure_pair(batch_row, batch_ns, add_ns);
        if (large != NULL)
            measure_pair(large_row, check_ns, large_ns);
    }
    measure_note("%s keys: a decision on a key that is in the cache takes %.0f ns", argv[1],
                 check(&world, 1024, 1024 * 16));
    printf("table\t%s\n", world.table); /* bench/run asks the table what it had to throw away, then lets us go */
    fflush(stdout);
    (void)getchar();
    world_close(&world);
    return 0;
}
