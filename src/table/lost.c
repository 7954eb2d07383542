/*
 * A file that shrinks under its mapping kills who touches the missing pages (SIGBUS).  Here it does not: the whole mapping
 * is replaced by empty memory of this process, and a flag tells the doors, which say so loudly.
 *
 * The handler does only what is allowed in one: it reads a fixed list of atomics and calls mmap.  A SIGBUS elsewhere goes
 * to whoever handled it before.
 */
#include "table/layout.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define WATCHED_MAX 64

static _Atomic(struct table *) watched[WATCHED_MAX];
static struct sigaction previous;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct table *table_at(const unsigned char *address)
{
    for (unsigned i = 0; i < WATCHED_MAX; i++) {
        struct table *table = atomic_load_explicit(&watched[i], memory_order_acquire);
        if (table != NULL && address >= table->map && address < table->map + table->map_bytes)
            return table;
    }
    return NULL;
}

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
    struct table *table = table_at(info->si_addr);
    if (table != NULL) {
        void *map = mmap(table->map, table->map_bytes, PROT_READ | PROT_WRITE,
                         MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map != MAP_FAILED) {
            atomic_store_explicit(&table->lost, 1, memory_order_relaxed);
            return;
        }
    }
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != NULL) {
        previous.sa_sigaction(signal_number, info, context);
        return;
    }
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal_number);
        return;
    }
    /* Not ours, and nobody else's: on return the access is made again, and ends the process as it would have. */
    signal(signal_number, SIG_DFL);
}

static void install(void)
{
    struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous);
}

bool lost_watch(struct table *table)
{
    pthread_once(&once, install);
    for (unsigned i = 0; i < WATCHED_MAX; i++) {
        struct table *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&watched[i], &none, table, memory_order_release,
                                                    memory_order_relaxed))
            return true;
    }
    return false;
}

void lost_unwatch(struct table *table)
{
    for (unsigned i = 0; i < WATCHED_MAX; i++) {
        struct table *expected = table;
        if (atomic_compare_exchange_strong_explicit(&watched[i], &expected, NULL, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
}

bool table_is_lost(const struct table *table)
{
    return atomic_load_explicit(&table->lost, memory_order_relaxed) != 0;
}
