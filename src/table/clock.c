/*
 * The table's clock: time since boot, suspend included, plus an offset kept in the table.
 *
 * It starts near Unix time, so that windows `fixed` to the clock begin where a person expects them, and from then on follows
 * no step of the wall clock.  After a reboot the time since boot starts anew: whoever opens the table first then sets a new
 * offset, so that the table's time goes on by what the wall clock says has passed, and never back.
 */
#include "table/layout.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOTE_EVERY_NS UINT64_C(1000000000)

static inline int64_t read_clock(clockid_t id)
{
    struct timespec now;
    if (unlikely(clock_gettime(id, &now) != 0))
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#if defined(__x86_64__)
static inline uint64_t read_counter(void)
{
    return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t read_counter(void)
{
    return 0;
}
#endif

static _Atomic bool has_ticks; /* not looked at by those who have extrapolated */

void clock_find_ticks(void)
{
    char name[8] = { 0 };
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    bool is_counter = read(fd, name, sizeof name - 1) == 4 && memcmp(name, "tsc\n", 4) == 0 && read_counter() != 0;
    atomic_store_explicit(&has_ticks, is_counter, memory_order_relaxed);
    close(fd);
}

SELDOM static int64_t look_at_clock(void)
{
    if (!atomic_load_explicit(&has_ticks, memory_order_relaxed))
        return read_clock(CLOCK_BOOTTIME);
    uint64_t before = read_counter();
    int64_t now_ns = read_clock(CLOCK_BOOTTIME);
    ticks_look(&thread_own.ticks, before, (uint64_t)now_ns, read_counter());
    return now_ns;
}

static inline int64_t clock_boot(const struct table *table)
{
    if (unlikely(table->boot_clock != NULL))
        return table->boot_clock();
    /* Where the kernel does without the counter, it is not read at all: some hypervisors make that a trap. */
    uint64_t now_ns = thread_own.ticks.tick != 0 ? ticks_time(&thread_own.ticks, read_counter()) : 0;
    return likely(now_ns != 0) ? (int64_t)now_ns : look_at_clock();
}

int64_t clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

void clock_boot_id(char out[TABLE_BOOT_ID_BYTES])
{
    memset(out, 0, TABLE_BOOT_ID_BYTES);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, out, 36) != 36)
        memset(out, 0, TABLE_BOOT_ID_BYTES);
    close(fd);
}

SELDOM static void note(struct table_header *header, uint64_t now_ns, int64_t wall_ns)
{
    atomic_store_explicit(&header->last_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&header->last_wall_ns, wall_ns, memory_order_relaxed);
}

/* Modulo 2^64: a damaged file may say anything. */
static void set_offset(struct table *table, uint64_t now_ns)
{
    table->clock_offset_ns = (int64_t)(now_ns - (uint64_t)clock_boot(table));
    atomic_store_explicit(&table_header(table)->clock_offset_ns, table->clock_offset_ns, memory_order_relaxed);
}

void clock_start(struct table *table, uint64_t start_ns, const char *boot_id)
{
    struct table_header *header = table_header(table);
    int64_t wall_ns = table->wall_clock();
    uint64_t now_ns = start_ns > 0 ? start_ns : (uint64_t)wall_ns;
    set_offset(table, now_ns);
    note(header, now_ns, wall_ns);
    memset(header->boot_id, 0, sizeof header->boot_id);
    strncpy(header->boot_id, boot_id, sizeof header->boot_id - 1);
}

void clock_resume(struct table *table, const char *boot_id)
{
    struct table_header *header = table_header(table);
    table->clock_offset_ns = atomic_load_explicit(&header->clock_offset_ns, memory_order_relaxed);
    if (strncmp(header->boot_id, boot_id, sizeof header->boot_id) == 0)
        return;
    uint64_t last_ns = atomic_load_explicit(&header->last_ns, memory_order_relaxed);
    int64_t wall_ns = table->wall_clock();
    int64_t last_wall_ns = atomic_load_explicit(&header->last_wall_ns, memory_order_relaxed);
    uint64_t away_ns = wall_ns > last_wall_ns ? (uint64_t)wall_ns - (uint64_t)last_wall_ns : 0;
    uint64_t now_ns;
    if (__builtin_add_overflow(last_ns, away_ns, &now_ns))
        now_ns = last_ns;
    set_offset(table, now_ns);
    note(header, now_ns, wall_ns);
    /* Last: who dies before this line leaves the work to the next one. */
    memset(header->boot_id, 0, sizeof header->boot_id);
    strncpy(header->boot_id, boot_id, sizeof header->boot_id - 1);
}

inline uint64_t table_now(const struct table *table)
{
    struct table_header *header = table_header(table);
    uint64_t now_ns = (uint64_t)clock_boot(table) + (uint64_t)table->clock_offset_ns;
    uint64_t last_ns = atomic_load_explicit(&header->last_ns, memory_order_relaxed);
    if (unlikely(now_ns > last_ns && now_ns - last_ns > NOTE_EVERY_NS))
        note(header, now_ns, table->wall_clock());
    return now_ns;
}
