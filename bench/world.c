/* A policy and a table to measure, through the public library. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"

const char *world_folder(void)
{
    const char *folder = getenv("DROSSEL_BENCH_FOLDER");
    return folder != NULL ? folder : "/dev/shm";
}

static void write_policy(const struct world *world, const char *policy)
{
    FILE *file = fopen(world->policy, "w");
    if (file == NULL || fputs(policy, file) < 0 || fclose(file) != 0)
        measure_fail("%s: cannot be written", world->policy);
}

void world_open(struct world *world, const char *name, const char *policy, uint64_t slots)
{
    struct drossel_error why;
    snprintf(world->table, sizeof world->table, "%s/%s", world_folder(), name);
    snprintf(world->policy, sizeof world->policy, "%s/%s.yaml", world_folder(), name);
    write_policy(world, policy);
    unlink(world->table);
    struct drossel_options options = { .table_path = world->table, .table_keys = slots };
    if (drossel_open(&world->limiter, world->policy, &options, &why) != DROSSEL_OK)
        measure_fail("%s", why.text);
    world->now_ns = drossel_now(world->limiter);
}

void world_close(struct world *world)
{
    drossel_close(world->limiter);
    unlink(world->table);
    unlink(world->policy);
}

uint64_t world_table_bytes(const struct world *world)
{
    struct stat status;
    if (stat(world->table, &status) != 0)
        measure_fail("%s: cannot be looked at", world->table);
    return (uint64_t)status.st_size;
}

void world_expect(struct world *world, struct drossel_request *request, enum drossel_verdict verdict, const char *what)
{
    struct drossel_decision decision;
    request->now_ns = world->now_ns;
    if (drossel_check(world->limiter, request, &decision) != DROSSEL_OK)
        measure_fail("%s: the decision failed", what);
    if (decision.verdict != verdict)
        measure_fail("%s: %s instead of %s", what, drossel_verdict_name(decision.verdict),
                     drossel_verdict_name(verdict));
}
