/* Large pages; see pages.h. */
#include "table/pages.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; unknown to the headers of Debian 12's libc */
#endif

static uint64_t rounded_up(uint64_t at)
{
    return (at + PAGES_LARGE_BYTES - 1) & ~(PAGES_LARGE_BYTES - 1);
}

void *pages_map(int fd, uint64_t bytes)
{
    int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    uint64_t room_bytes = bytes + PAGES_LARGE_BYTES;
    unsigned char *room = mmap(NULL, room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    unsigned char *map = room + (rounded_up((uintptr_t)room) - (uintptr_t)room);
    if (mmap(map, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED) {
        munmap(room, room_bytes);
        return NULL;
    }
    /* What is left of the room before and behind.  The kernel rounds lengths up to whole small pages, and so the mapping ends. */
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned char *end = map + (bytes + page - 1) / page * page;
    if (map > room)
        munmap(room, (size_t)(map - room));
    if (room + room_bytes > end)
        munmap(end, (size_t)(room + room_bytes - end));
    return map;
}

void pages_gather(void *map, int fd, uint64_t from, uint64_t to)
{
    struct statfs system;
    from = rounded_up(from);
    to &= ~(PAGES_LARGE_BYTES - 1);
    /* Other file systems do not have it; theirs would only be fragmented.  One that is too full is left for a quick error. */
    if (from >= to || fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC ||
        (system.f_blocks > 0 && system.f_bavail * (uint64_t)system.f_bsize < to - from))
        return;
    for (uint64_t at = from; at < to; at += PAGES_LARGE_BYTES) {
        /* A range that is wholly a hole is not gathered: one small page makes it one that may be. */
        if (fallocate(fd, 0, (off_t)at, 1) != 0 ||
            madvise((unsigned char *)map + at, PAGES_LARGE_BYTES, MADV_COLLAPSE) != 0)
            return;
    }
}
