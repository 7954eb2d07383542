/*
 * Whose ticket is it, and does he live?  Asked only by who has waited for a guard in vain for some milliseconds.
 *
 * The lower bits of a ticket are a number of the process that took it.  While a process lives it holds a lock (fcntl, F_SETLK) on the
 * byte of that number, far behind the end of each table that it has open.  The kernel takes that lock from whoever dies, however he
 * dies, before he can be waited for by his parent; a fork does not inherit it; and whether it is held is told the same in every
 * container, where process ids are not.  A private table has no file: an empty one without a name carries the locks.
 *
 * A process gets its number with its first ticket, and a new one after a fork.  Two processes that share a table have different
 * ones, unless eight numbers in a row were taken.  Where no lock can be had (a file system without them), nobody is known to live.
 *
 * A process that closes any descriptor of a file loses all its locks on that file: when one of several handles is closed, the
 * others' locks are taken anew.  Who asks within those microseconds may be told that the process is dead.
 */
#include "table/file.h"
#include "table/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define NUMBER_MASK ((UINT32_C(1) << OWNER_NUMBER_BITS) - 1)
#define ATTEMPTS 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct table *tables;    /* all that are open in this process; under the mutex, as all changes of `number` */
static _Atomic uint32_t number; /* of this process; 0: none yet */
static uint32_t generation = 1; /* counts the times that all threads need a new first ticket; each table tells it */

static void begin_anew(void)
{
    generation++;
    for (struct table *table = tables; table != NULL; table = table->next)
        atomic_store_explicit(&table->generation, generation, memory_order_relaxed);
}

/* ---- forks: the child has the list as it was, and neither the parent's locks nor its number ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void)
{
    atomic_store_explicit(&number, 0, memory_order_relaxed);
    begin_anew();
    pthread_mutex_unlock(&mutex);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- the lock that shows that a process lives ---- */

static struct flock lock_of(uint32_t of)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = OWNER_LOCKS + (off_t)of, .l_len = 1 };
}

/* False if another process has the number.  Any other failure no other number would mend. */
static bool claim(const struct table *table, uint32_t wanted)
{
    struct flock lock = lock_of(wanted);
    return fcntl(table->owner_fd, F_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

static bool claim_in_all(uint32_t wanted)
{
    bool is_ours = true;
    for (struct table *table = tables; table != NULL && is_ours; table = table->next)
        is_ours = claim(table, wanted);
    return is_ours;
}

static uint32_t random_word(void)
{
    uint32_t word;
    if (getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word)
        word = ((uint32_t)clock_wall() ^ (uint32_t)(uintptr_t)&thread_own.last_ticket) * UINT32_C(0x9e3779b1);
    return word;
}

/* Claims of numbers that were not ours in all tables stay: a number too many does no harm. */
static void choose_number(void)
{
    uint32_t chosen = 0;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        chosen = random_word() % NUMBER_MASK + 1;
        if (claim_in_all(chosen))
            break;
    }
    atomic_store_explicit(&number, chosen, memory_order_relaxed);
}

/* ---- tables come and go ---- */

void owner_enter(struct table *table)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    table->owner_fd = table->fd >= 0 ? table->fd : file_above_streams(memfd_create("drossel", MFD_CLOEXEC));
    pthread_mutex_lock(&mutex);
    table->next = tables;
    tables = table;
    atomic_store_explicit(&table->generation, generation, memory_order_relaxed);
    uint32_t ours = atomic_load_explicit(&number, memory_order_relaxed);
    if (ours != 0 && !claim(table, ours)) {
        choose_number();
        begin_anew(); /* all threads, under it */
    }
    pthread_mutex_unlock(&mutex);
}

void owner_leave(struct table *table)
{
    int fd = table->fd >= 0 ? table->fd : table->owner_fd;
    pthread_mutex_lock(&mutex);
    struct table **link = &tables;
    while (*link != NULL && *link != table)
        link = &(*link)->next;
    if (*link != NULL)
        *link = table->next;
    if (fd >= 0)
        close(fd);
    uint32_t ours = atomic_load_explicit(&number, memory_order_relaxed);
    if (ours != 0)
        (void)claim_in_all(ours);
    pthread_mutex_unlock(&mutex);
}

/* ---- tickets ---- */

SELDOM uint32_t owner_first_ticket(uint32_t seeded_in)
{
    static _Atomic uint32_t threads;
    pthread_mutex_lock(&mutex);
    if (atomic_load_explicit(&number, memory_order_relaxed) == 0)
        choose_number();
    uint32_t ours = atomic_load_explicit(&number, memory_order_relaxed);
    pthread_mutex_unlock(&mutex);
    thread_own.seeded_in = seeded_in;
    /* Processes that are forked one after the other, and threads that begin one after the other, differ. */
    uint32_t thread = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    thread_own.shard = ((uint32_t)getpid() + thread) % TABLE_SHARDS;
    return random_word() << OWNER_NUMBER_BITS | ours;
}

/* Has it been killed, but not yet come to closing its files?  The kernel takes down its memory before, some 0.1 ms for each MB, and on
 * a busy machine it has to wait for a processor for that.  It executes nothing of its own any more.  Where nothing is to be seen
 * (no /proc, a process of another container), the lock alone tells. */
static bool is_dying(pid_t process)
{
    char path[32], text[4096];
    if (process <= 0)
        return false;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *pending = strstr(text, "\nSigPnd:");
    bool is_killed = pending != NULL && (strtoull(pending + 8, NULL, 16) >> (SIGKILL - 1) & 1) != 0;
    bool is_without_memory = strstr(text, "\nThreads:\t1\n") != NULL && strstr(text, "\nVmSize:") == NULL;
    return is_killed || is_without_memory || strstr(text, "\nCoreDumping:\t1\n") != NULL;
}

SELDOM bool owner_lives(const struct table *table, uint32_t ticket)
{
    uint32_t theirs = ticket & NUMBER_MASK;
    if (theirs == atomic_load_explicit(&number, memory_order_relaxed))
        return true; /* a thread of ours */
    struct flock lock = lock_of(theirs);
    return fcntl(table->owner_fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && !is_dying(lock.l_pid);
}
