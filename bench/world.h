/*
 * A limiter to measure: a policy and a table in a folder of one's own in shared memory, opened through the public library,
 * with a clock that moves on by a fixed step for each decision, so that no run depends on how fast the machine is.
 */
#ifndef DROSSEL_BENCH_WORLD_H
#define DROSSEL_BENCH_WORLD_H

#include "drossel.h"

struct world {
    struct drossel *limiter;
    uint64_t now_ns;
    char table[256]; /* its file */
    char policy[256];
};

/* The folder of this run, from DROSSEL_BENCH_FOLDER; bench/run makes and removes it. */
const char *world_folder(void);

/* Writes `policy` to FOLDER/NAME.yaml and opens it on a fresh table FOLDER/NAME of `slots`. */
void world_open(struct world *world, const char *name, const char *policy, uint64_t slots);

/* Closes it and removes its table. */
void world_close(struct world *world);

/* Bytes of the table's file. */
uint64_t world_table_bytes(const struct world *world);

/* The request's address is that of client number `client`: all addresses are different, and neighbours in number are none
 * in address. */
static inline void world_address(struct drossel_request *request, uint64_t client)
{
    uint32_t address = (uint32_t)client * UINT32_C(2654435761);
    request->address.family = DROSSEL_IPV4;
    __builtin_memcpy(request->address.bytes, &address, sizeof address);
}

/* Decides, and ends the program if the verdict is another. */
void world_expect(struct world *world, struct drossel_request *request, enum drossel_verdict verdict, const char *what);

#endif
