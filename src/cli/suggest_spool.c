/*
 * Logs that can be read only once as files that can be read again.
 */
#include "cli/suggest_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/replay_progress.h"
#include "logs/temp.h"

#define PLACE "/proc/self/fd/"
#define LOOK_MS 200 /* an interrupt between a look at the mark and a read is seen so late */

/* False: errno says why, and `is_read` whether it was the writing. */
static bool copy(int in, int out, bool *is_read)
{
    static char buffer[1 << 16];
    struct pollfd pollfd = { .fd = in, .events = POLLIN };
    while (!progress_interrupted()) {
        if (poll(&pollfd, 1, LOOK_MS) <= 0)
            continue;
        ssize_t size = read(in, buffer, sizeof buffer);
        if (size == 0)
            return true;
        *is_read = size > 0 || errno == EINTR;
        if (!*is_read)
            return false;
        if (size > 0 && !temp_write(out, buffer, (size_t)size))
            return false;
    }
    return true;
}

static void complain(const char *path, bool is_read)
{
    char error[512];
    temp_explain(path, error, sizeof error);
    if (is_read)
        cli_complain("%s", error);
    else
        cli_complain("%s: cannot be read: %s", path, strerror(errno));
}

static char *spool(const char *path)
{
    char *place = NULL;
    bool is_standard = strcmp(path, "-") == 0, is_read = true;
    int in = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int out = in >= 0 ? temp_open() : -1;
    if (in < 0)
        cli_complain("%s: cannot be read: %s", path, strerror(errno));
    else if (out < 0 || !copy(in, out, &is_read))
        complain(is_standard ? "standard input" : path, is_read);
    else if (asprintf(&place, PLACE "%d", out) < 0)
        place = NULL;
    if (in >= 0 && !is_standard)
        close(in);
    if (place == NULL && out >= 0)
        close(out);
    return place;
}

/* What cannot be opened is left to the reader, which says so. */
static bool is_read_once(const char *path)
{
    struct stat status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

char **spool_open(const char *const *path, size_t count)
{
    char **place = calloc(count + 1, sizeof *place);
    for (size_t i = 0; place != NULL && i < count; i++) {
        place[i] = is_read_once(path[i]) ? spool(path[i]) : strdup(path[i]);
        if (place[i] == NULL) {
            spool_close(place, count);
            return NULL;
        }
    }
    return place;
}

void spool_close(char **path, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (path[i] != NULL && strncmp(path[i], PLACE, sizeof PLACE - 1) == 0)
            close(atoi(path[i] + sizeof PLACE - 1));
        free(path[i]);
    }
    free(path);
}
