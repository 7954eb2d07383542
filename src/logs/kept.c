/* Files without a name that stand for named pipes. */
#include "logs/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct {
    const char *path;
    int fd;
} kept[KEPT_MOST];
static size_t kept_count;

static int kept_fd(const char *path)
{
    for (size_t i = 0; i < kept_count; i++)
        if (strcmp(kept[i].path, path) == 0)
            return kept[i].fd;
    return -1;
}

bool kept_add(const char *path, int fd)
{
    if (kept_count == KEPT_MOST)
        return false;
    kept[kept_count].path = path;
    kept[kept_count++].fd = fd;
    return true;
}

bool kept_is(const char *path)
{
    return kept_fd(path) >= 0;
}

/* A new opening, as each reader needs an offset of its own. */
int kept_open(const char *path)
{
    char name[32];
    int fd = kept_fd(path);
    if (fd < 0) {
        errno = ENOENT;
        return -1;
    }
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    return open(name, O_RDONLY | O_CLOEXEC);
}
