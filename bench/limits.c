/*
 * What more limits, and longer lists, cost a request.
 *
 *     limits PAIRS
 *
 * four-keys   four limits on four keys (address, path, header, address with path) against one limit; clients at random, each
 *             with its own address, path and header, so that all four keys are cold.  A million keys in two million slots
 *             on both sides: 250,000 clients against a million
 * four-same   four limits on one subject, the address, against one: one hash, four keys
 * many        1,000 limits, each for its own paths, of which one matches, against 10; the same clients and keys
 * networks    100,000 exempt networks against 10; no client is in any, but each shares its /24 with many
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "world.h"

#define STEP_NS 1000
#define CLIENTS 1000000
#define FEW_CLIENTS 100000
#define TIMES 400000

/* What is asked of a policy: `clients` at random, each of its own path (one of `pages`) and with its own header. */
struct asker {
    struct world *world;
    uint64_t clients, pages, random;
    char path[32], token[16];
    struct drossel_header header;
    struct drossel_request request;
};

static void begin(struct asker *asker, struct world *world, uint64_t clients, uint64_t pages)
{
    *asker = (struct asker){ .world = world, .clients = clients, .pages = pages, .random = 1 };
    memcpy(asker->path, "/p00000000/page", 16);
    memcpy(asker->token, "00000000", 9);
    asker->header = (struct drossel_header){ DROSSEL_TEXT("x-api-key"), { asker->token, 8 } };
    asker->request = (struct drossel_request){
        .method = DROSSEL_TEXT("GET"), .path = { asker->path, 15 }, .headers = &asker->header, .header_count = 1
    };
}

static void write_hex(char out[8], uint32_t number)
{
    for (int i = 7; i >= 0; i--, number >>= 4)
        out[i] = "0123456789abcdef"[number & 15];
}

static void ask(struct asker *asker, uint64_t client)
{
    struct drossel_decision decision;
    world_address(&asker->request, client);
    asker->request.address.bytes[3] |= 128; /* for `networks`: those are in the lower half of each /24 */
    write_hex(asker->path + 2, (uint32_t)(client % asker->pages));
    write_hex(asker->token, (uint32_t)client);
    asker->request.now_ns = asker->world->now_ns += STEP_NS;
    if (drossel_check(asker->world->limiter, &asker->request, &decision) != DROSSEL_OK ||
        decision.verdict != DROSSEL_ALLOW)
        measure_fail("a decision was not `allow`: not what is to be measured");
}

static void ask_all(struct asker *asker)
{
    for (uint64_t client = 0; client < asker->clients; client++)
        ask(asker, client);
}

/* ns for one decision. */
static double ask_some(struct asker *asker)
{
    uint64_t start_ns = measure_spent_ns();
    for (unsigned i = 0; i < TIMES; i++)
        ask(asker, measure_below(&asker->random, asker->clients));
    return (double)(measure_spent_ns() - start_ns) / TIMES;
}

static void compare(const char *row, struct asker *ours, struct asker *other, unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        double ours_ns = ask_some(ours);
        measure_pair(row, ours_ns, ask_some(other));
    }
}

static void measure_four(unsigned pairs)
{
    static const char one_limit[] = "version: 1\ntable: { names: false }\nlimits:\n"
                                    "  a: { by: address, allow: 1000 per 10s }\n";
    static const char four_keys[] = "version: 1\ntable: { names: false }\nlimits:\n"
                                    "  a: { by: address, allow: 1000 per 10s }\n"
                                    "  b: { by: path, allow: 1000 per 10s }\n"
                                    "  c: { by: header.X-Api-Key, allow: 1000 per 10s }\n"
                                    "  d: { by: [address, path], allow: 1000 per 10s }\n";
    static const char four_same[] = "version: 1\ntable: { names: false }\nlimits:\n"
                                    "  a: { by: address, allow: 1000 per 10s }\n"
                                    "  b: { by: address, allow: 2000 per 20s }\n"
                                    "  c: { by: address, allow: 5000 per 1m }\n"
                                    "  d: { by: address, allow: 20000 per 1h }\n";
    struct world one_world, keys_world, same_world;
    struct asker one, keys, same;
    world_open(&one_world, "one", one_limit, 2 * CLIENTS);
    world_open(&keys_world, "four-keys", four_keys, 2 * CLIENTS);
    world_open(&same_world, "four-same", four_same, 2 * CLIENTS);
    begin(&one, &one_world, CLIENTS, CLIENTS);
    begin(&keys, &keys_world, CLIENTS / 4, CLIENTS);
    begin(&same, &same_world, CLIENTS / 4, CLIENTS);
    ask_all(&one);
    ask_all(&keys);
    ask_all(&same);
    compare("four-keys", &keys, &one, pairs);
    compare("four-same", &same, &one, pairs);
    world_close(&one_world);
    world_close(&keys_world);
    world_close(&same_world);
}

/* A policy of `count` limits, each for its own paths. */
static char *write_limits(unsigned count)
{
    size_t size = 256 + (size_t)count * 160;
    char *text = malloc(size);
    if (text == NULL)
        measure_fail("no memory for %u limits", count);
    int used = snprintf(text, size, "version: 1\ntable: { names: false }\nclasses:\n");
    for (unsigned i = 0; i < count; i++)
        used += snprintf(text + used, size - (size_t)used, "  c%u: { path_begins: /p%08x/ }\n", i, i);
    used += snprintf(text + used, size - (size_t)used, "limits:\n");
    for (unsigned i = 0; i < count; i++)
        used +=
            snprintf(text + used, size - (size_t)used, "  l%u: { for: c%u, by: address, allow: 1000 per 10s }\n", i, i);
    return text;
}

static void measure_many(unsigned pairs)
{
    struct world many_world, few_world;
    struct asker many, few;
    char *thousand = write_limits(1000), *ten = write_limits(10);
    world_open(&many_world, "many", thousand, 2 * FEW_CLIENTS);
    world_open(&few_world, "few", ten, 2 * FEW_CLIENTS);
    begin(&many, &many_world, FEW_CLIENTS, 1000);
    begin(&few, &few_world, FEW_CLIENTS, 10);
    ask_all(&many);
    ask_all(&few);
    compare("many", &many, &few, pairs);
    world_close(&many_world);
    world_close(&few_world);
    free(thousand);
    free(ten);
}

/* A list file of `count` networks /28, all over, in the lower half of their /24. */
static void write_networks(const char *name, unsigned count)
{
    char path[300];
    uint64_t random = count;
    snprintf(path, sizeof path, "%s/%s", world_folder(), name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        measure_fail("%s: cannot be written", path);
    for (unsigned i = 0; i < count; i++) {
        uint32_t address = (uint32_t)measure_random(&random);
        fprintf(file, "%u.%u.%u.%u/28\n", 1 + (address >> 24) % 223, address >> 16 & 255, address >> 8 & 255,
                address & 0x70);
    }
    if (fclose(file) != 0)
        measure_fail("%s: cannot be written", path);
}

static void measure_networks(unsigned pairs)
{
    static const char form[] = "version: 1\ntable: { names: false }\nexempt: { addresses: [%s] }\nlimits:\n"
                               "  a: { by: address, allow: 1000 per 10s }\n";
    char policy[512];
    struct world many_world, few_world;
    struct asker many, few;
    write_networks("networks-many.txt", 100000);
    write_networks("networks-few.txt", 10);
    snprintf(policy, sizeof policy, form, "networks-many.txt");
    world_open(&many_world, "networks-many", policy, 2 * FEW_CLIENTS);
    snprintf(policy, sizeof policy, form, "networks-few.txt");
    world_open(&few_world, "networks-few", policy, 2 * FEW_CLIENTS);
    begin(&many, &many_world, FEW_CLIENTS, 1);
    begin(&few, &few_world, FEW_CLIENTS, 1);
    ask_all(&many);
    ask_all(&few);
    compare("networks", &many, &few, pairs);
    world_close(&many_world);
    world_close(&few_world);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        measure_fail("usage: limits PAIRS");
    unsigned pairs = (unsigned)strtoul(argv[1], NULL, 10);
    measure_pin(1);
    measure_four(pairs);
    measure_many(pairs);
    measure_networks(pairs);
    return 0;
}
