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

int temp_open(const char *what, char *error, size_t error_size)
{
    char path[4096];
    int fd = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* Not every file system knows O_TMPFILE. */
    int size = snprintf(path, sizeof path, "%s/drossel-XXXXXX", folder());
    fd = size > 0 && (size_t)size < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd < 0) {
        snprintf(error, error_size, "%s: no temporary file in %s: %s; set TMPDIR to a folder that can be written", what,
                 folder(), strerror(errno));
        return -1;
    }
    unlink(path);
    return fd;
}

bool temp_write(int fd, const void *data, size_t size, const char *what, char *error, size_t error_size)
{
    const char *p = data;
    while (size > 0) {
        ssize_t written = write(fd, p, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            snprintf(error, error_size, "%s: no room for it in %s: %s; set TMPDIR to a folder with more room", what,
                     folder(), strerror(written == 0 ? ENOSPC : errno));
            return false;
        }
        p += written;
        size -= (size_t)written;
    }
    return true;
}
