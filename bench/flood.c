/*
 * What a key costs in bytes, how many keys a full table keeps, and what a flood of fresh keys does to those that matter.
 *
 *     flood
 *
 * bytes: the sizes of the files of tables of 1M and 2M slots; the difference is what a million keys cost, the rest is there
 * once for each table.  flood: 10 million clients, one request each, through 64k slots, in which one client is blocked and one is
 * over its limit; both are asked again every 100,000 requests.
 */
#include <stdio.h>

#include "measure.h"
#include "world.h"

#define MILLION UINT64_C(1000000)
#define FLOOD (10 * MILLION)
#define NGINX_BYTES 128.0 /* of a state of limit_req on a 64-bit machine, by nginx's documentation */

static uint64_t bytes_of(const char *policy, uint64_t slots)
{
    struct world world;
    world_open(&world, "bytes", policy, slots);
    uint64_t bytes = world_table_bytes(&world);
    world_close(&world);
    return bytes;
}

static void measure_bytes(const char *row, const char *policy)
{
    uint64_t slots = UINT64_C(1) << 20;
    uint64_t once = bytes_of(policy, slots), twice = bytes_of(policy, 2 * slots);
    measure_pair(row, (double)(twice - once) / (double)slots, NGINX_BYTES);
    measure_note("%s: the file of %llu slots has %llu bytes, of which %llu are there once for each table", row,
                 (unsigned long long)slots, (unsigned long long)once, (unsigned long long)(2 * once - twice));
}

#define PAGE                                                                                                           \
    {                                                                                                                  \
        .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/")                                                       \
    }
#define LOGIN                                                                                                          \
    {                                                                                                                  \
        .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/login")                                                  \
    }

static void flood(struct world *world, struct drossel_request *blocked, struct drossel_request *over)
{
    struct drossel_request request = PAGE;
    struct drossel_decision decision;
    uint64_t failed = 0, freed = 0;
    uint64_t start_ns = measure_spent_ns();
    for (uint64_t client = 2; client < FLOOD + 2; client++) {
        world_address(&request, client);
        request.now_ns = world->now_ns += 1000;
        failed += drossel_check(world->limiter, &request, &decision) != DROSSEL_OK || decision.verdict != DROSSEL_ALLOW;
        if (client % 100000 != 0)
            continue;
        blocked->now_ns = over->now_ns = world->now_ns;
        freed += drossel_check(world->limiter, blocked, &decision) != DROSSEL_OK || !decision.blocked;
        freed += drossel_check(world->limiter, over, &decision) != DROSSEL_OK || decision.verdict != DROSSEL_REFUSE;
    }
    double spent_ns = (double)(measure_spent_ns() - start_ns);
    measure_pair("flood", (double)failed, (double)freed);
    measure_note("flood: %llu of %llu requests failed, %llu of 200 looks found a victim free, %.0f ns for a fresh key",
                 (unsigned long long)failed, (unsigned long long)FLOOD, (unsigned long long)freed,
                 spent_ns / (double)FLOOD);
}

static void measure_flood(void)
{
    static const char policy[] = "version: 1\nclasses: { login: { path: /login } }\nlimits:\n"
                                 "  login: { for: login, by: address, allow: 5 per 10m, block: 1h }\n"
                                 "  page: { for: not login, by: address, allow: 50 per 10m }\n";
    struct world world;
    struct drossel_request blocked = LOGIN, over = PAGE;
    world_open(&world, "flood", policy, 65536);
    world_address(&blocked, 0);
    world_address(&over, 1);
    for (unsigned i = 0; i < 5; i++)
        world_expect(&world, &blocked, DROSSEL_ALLOW, "the login");
    for (unsigned i = 0; i < 50; i++)
        world_expect(&world, &over, DROSSEL_ALLOW, "the page");
    world_expect(&world, &blocked, DROSSEL_REFUSE, "the sixth login");
    world_expect(&world, &over, DROSSEL_REFUSE, "the 51st page");
    flood(&world, &blocked, &over);
    world_close(&world);
}

int main(void)
{
    measure_pin(1);
    measure_bytes("bytes", "version: 1\ntable: { names: false }\nlimits:\n  a: { by: address, allow: 50 per 10s }\n");
    measure_bytes("bytes-names", "version: 1\nlimits:\n  a: { by: address, allow: 50 per 10s }\n");
    measure_flood();
    return 0;
}
