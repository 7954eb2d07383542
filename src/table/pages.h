/*
 * Large pages for the slots: half of what a cold key costs is the walk through the page tables, and with pages of 2 MB there
 * is hardly any.
 *
 * Shared memory comes in small pages unless the administrator says otherwise (shmem_enabled), whatever a mapping wishes. But
 * since Linux 6.1 a process may gather a range of its own into large ones (madvise(2), MADV_COLLAPSE), and a file in tmpfs
 * keeps them for whoever maps it later, provided that his addresses are congruent to the file's offsets.  It costs no memory:
 * all of the table is reserved anyway.  Where it cannot be done, all works as well with small ones.
 */
#ifndef DROSSEL_TABLE_PAGES_H
#define DROSSEL_TABLE_PAGES_H

#include <stdint.h>

#define PAGES_LARGE_BYTES (UINT64_C(2) << 20)

/* Maps `bytes` of a file (fd < 0: of new shared memory), from its beginning, at an address where large pages fit.
 * NULL, and errno, if it cannot.  To be unmapped with munmap(map, bytes). */
void *pages_map(int fd, uint64_t bytes);

/* Puts the whole large pages of a new file's bytes [from, to) in place, filled with zeros, as far as that is possible.  The file,
 * mapped at `map`, is to be still without content there.  What remains of the range is left a hole. */
void pages_gather(void *map, int fd, uint64_t from, uint64_t to);

#endif
