/* Opens a log: decides by what it is and how it begins whether it can be mapped or has to be spooled. */
#include "logs/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RELEASE_STEP ((size_t)16 << 20)

static bool map_file(struct log_source *source, int fd, size_t size, const char *path, char *error, size_t error_size)
{
    *source = (struct log_source){ .watch = -1 };
    if (size == 0)
        return true;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        snprintf(error, error_size, "%s: cannot be mapped: %s", path, strerror(errno));
        return false;
    }
    source->data = map;
    source->size = source->mapped = size;
    return true;
}

bool source_open(struct log_source *source, const char *path, const struct log_spooling *spooling, char *error,
                 size_t error_size)
{
    (void)spooling;
    int fd = strcmp(path, "-") == 0 ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) {
        snprintf(error, error_size, "%s: cannot be read: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool good = map_file(source, fd, (size_t)about.st_size, path, error, error_size);
    close(fd);
    return good;
}

void source_close(struct log_source *source)
{
    if (source->data != NULL)
        munmap((void *)(uintptr_t)source->data, source->mapped);
    *source = (struct log_source){ .watch = -1 };
}

void source_release(struct log_source *source, size_t offset)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), end = offset / page * page;
    if (source->data == NULL || end < source->released + RELEASE_STEP)
        return;
    madvise((void *)(uintptr_t)(source->data + source->released), end - source->released, MADV_DONTNEED);
    source->released = end;
}

void source_rewind(struct log_source *source)
{
    source->released = 0;
}

bool source_is_cut(const struct log_source *source)
{
    (void)source;
    return false;
}
