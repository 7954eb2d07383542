/* Files without a name, for what does not fit into memory. */
#include "logs/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder(void)
{
    const char *name = getenv("TMPDIR");
    return name == NULL || name[0] == '\0' ? "/tmp" : name;
}

int temp_open(void)
{
    char path[4096];
    int fd = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* Not every file system knows O_TMPFILE. */
    int size = snprintf(path, sizeof path, "%s/drossel-XXXXXX", folder());
    if (size < 0 || (size_t)size >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

bool temp_write(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size > 0) {
        ssize_t written = write(fd, p, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = ENOSPC;
        if (written <= 0)
            return false;
        p += written;
        size -= (size_t)written;
    }
    return true;
}

void temp_explain(const char *what, char *error, size_t error_size)
{
    const char *reason = strerror(errno);
    snprintf(error, error_size, "%s: no room for it in %s: %s; set TMPDIR to a folder with room that can be written",
             what, folder(), reason);
}
