/* The file of a table: its descriptor and its name; see file.h. */
#include "table/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int file_above_streams(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    close(fd);
    errno = error;
    return above;
}

int file_open(const char *path)
{
    return file_above_streams(open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

int file_make_unnamed(const char *path, char temporary[PATH_MAX])
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        snprintf(folder, sizeof folder, ".");
    else
        slash[slash == folder ? 1 : 0] = '\0';
    temporary[0] = '\0';
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return file_above_streams(fd);
    snprintf(temporary, PATH_MAX, "%.*s.%ld.new", PATH_MAX - 32, path, (long)getpid());
    return file_above_streams(open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
}

bool file_give_name(int fd, const char *path, const char *temporary)
{
    if (temporary[0] != '\0') {
        bool linked = link(temporary, path) == 0;
        int error = errno;
        unlink(temporary);
        errno = error;
        return linked;
    }
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}
