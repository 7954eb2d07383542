/*
 * The handler of SIGBUS reads a list of atomics and calls mmap, both of which are allowed in one.  A SIGBUS elsewhere
 * (the table guards its own mapping likewise) goes to whoever handled it before.
 *
 * Rejected: reading with pread instead of mapping.  Lines that wait are given out far from where the reading stands,
 * and each would be a system call.
 */
#include "logs/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define WATCHED_MOST 1024

static struct watched {
    _Atomic(uintptr_t) map; /* 0: free; written last, so that the handler sees the others */
    _Atomic(size_t) size;
    _Atomic(size_t) intact;
} watched[WATCHED_MOST];
static struct sigaction previous;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uintptr_t page_size;

static struct watched *watched_at(uintptr_t address)
{
    for (unsigned i = 0; i < WATCHED_MOST; i++) {
        uintptr_t map = atomic_load(&watched[i].map);
        if (map > 1 && address >= map && address - map < atomic_load(&watched[i].size))
            return &watched[i];
    }
    return NULL;
}

/* Zeros from the page of the address to the end of the mapping. */
static bool patch(struct watched *entry, uintptr_t address)
{
    uintptr_t map = atomic_load(&entry->map), page = address / page_size * page_size;
    size_t offset = page - map, size = atomic_load(&entry->size);
    void *zeros =
        mmap((void *)page, size - offset, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED)
        return false;
    if (offset < atomic_load(&entry->intact))
        atomic_store(&entry->intact, offset);
    return true;
}

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
    struct watched *entry = watched_at((uintptr_t)info->si_addr);
    if (entry != NULL && patch(entry, (uintptr_t)info->si_addr))
        return;
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != NULL) {
        previous.sa_sigaction(signal_number, info, context);
        return;
    }
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal_number);
        return;
    }
    /* Nobody's: on return the access is made again, and ends the process as it would have. */
    signal(signal_number, SIG_DFL);
}

static void install(void)
{
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous);
}

int guard_watch(const void *map, size_t size)
{
    pthread_once(&once, install);
    for (int i = 0; i < WATCHED_MOST; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&watched[i].map, &none, 1)) /* 1: taken, not yet watched */
            continue;
        atomic_store(&watched[i].size, size);
        atomic_store(&watched[i].intact, size);
        atomic_store(&watched[i].map, (uintptr_t)map);
        return i;
    }
    return -1;
}

void guard_unwatch(int guard)
{
    if (guard >= 0)
        atomic_store(&watched[guard].map, 0);
}

size_t guard_intact(int guard, size_t size)
{
    size_t intact = guard < 0 ? size : atomic_load_explicit(&watched[guard].intact, memory_order_relaxed);
    return intact < size ? intact : size;
}
