/* Pipes into files without a name. */
#include "cli/replay_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/replay_progress.h"
#include "logs/kept.h"
#include "logs/temp.h"

#define LOOK_MS 200 /* between two looks for a SIGINT, while nothing comes */

/* A read that waits would go on after a SIGINT. */
static bool is_ready(int in)
{
    struct pollfd input = { .fd = in, .events = POLLIN };
    while (!progress_interrupted())
        if (poll(&input, 1, LOOK_MS) > 0)
            return true;
    return false;
}

/* All that comes, or came until an interrupt.  False: errno says why. */
static bool copy(int in, int out, bool *is_read)
{
    static char block[1 << 16];
    while (is_ready(in)) {
        ssize_t size = read(in, block, sizeof block);
        *is_read = size >= 0 || errno == EINTR || errno == EAGAIN;
        if (size == 0 || !*is_read)
            return *is_read;
        if (size > 0 && !temp_write(out, block, (size_t)size))
            return false;
    }
    return true;
}

/* What comes from `in`, in a file without a name; -1: complained about. */
static int spool(int in, const char *name)
{
    char error[512];
    bool is_read = true;
    int out = temp_open();
    if (out >= 0 && copy(in, out, &is_read))
        return out;
    temp_explain(name, error, sizeof error);
    if (is_read)
        cli_complain("%s", error);
    else
        cli_complain("%s: cannot be read: %s", name, strerror(errno));
    if (out >= 0)
        close(out);
    return -1;
}

bool spool_stdin(void)
{
    struct stat about;
    if (fstat(STDIN_FILENO, &about) != 0) {
        cli_complain("standard input: cannot be read: %s", strerror(errno));
        return false;
    }
    if (S_ISREG(about.st_mode))
        return true;
    int out = spool(STDIN_FILENO, "standard input");
    if (out < 0)
        return false;
    bool good = dup2(out, STDIN_FILENO) >= 0 && lseek(STDIN_FILENO, 0, SEEK_SET) == 0;
    if (!good)
        cli_complain("standard input: cannot be read: %s", strerror(errno));
    close(out);
    return good;
}

/* Without waiting for a writer, which would be deaf to a SIGINT; poll waits for it. */
bool spool_pipe(const char *path)
{
    int in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (in < 0) {
        cli_complain("%s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    int out = spool(in, path);
    close(in);
    if (out >= 0 && kept_add(path, out))
        return true;
    if (out >= 0) {
        cli_complain(
            "%s: too many pipes at once; name the format of all with --format, or read them one after the other", path);
        close(out);
    }
    return false;
}
