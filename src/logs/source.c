/* Opens a log: it is mapped as it stands, or written into a file without a name that is mapped; by what it is and how
 * it begins. */
#include "logs/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "logs/guard.h"
#include "logs/kept.h"
#include "logs/temp.h"
#include "logs/unpack.h"

#define RELEASE_STEP                                                                                                   \
    ((size_t)16 << 20) /* large enough that mapping again costs nothing, small beside a program's memory */

/* What is being opened. */
struct opening {
    struct log_source *source;
    const char *name;
    bool is_standard;
    int fd;
    const struct log_spooling *spooling;
    char *error;
    size_t error_size;
};

static bool fail(const struct opening *opening, const char *what, const char *why)
{
    snprintf(opening->error, opening->error_size, "%s: %s%s", opening->name, what, why);
    return false;
}

/* The mark that some editors put before UTF-8. */
static size_t mark_size(const char *data, size_t size)
{
    return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static bool map_file(const struct opening *opening, int fd, size_t size)
{
    struct log_source *source = opening->source;
    source->data = ""; /* for nothing, too, there is something to point at */
    if (size == 0)
        return true;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return fail(opening, "cannot be mapped: ", strerror(errno));
    madvise(map, size, MADV_SEQUENTIAL);
    source->data = map;
    source->size = source->mapped = size;
    source->begin = mark_size(source->data, size);
    return true;
}

/* Everything that comes from the descriptor, behind what was read of it already. */
static bool spool(const struct opening *opening, const unsigned char *head, size_t head_size)
{
    int out = temp_open();
    if (out < 0) {
        temp_explain(opening->name, opening->error, opening->error_size);
        return false;
    }
    struct unpacking unpacking = { .in = opening->fd,
                                   .out = out,
                                   .name = opening->name,
                                   .head = head,
                                   .head_size = head_size,
                                   .progress = opening->spooling->progress,
                                   .context = opening->spooling->context,
                                   .error = opening->error,
                                   .error_size = opening->error_size };
    enum unpacked result = unpack(&unpacking, packing_of(head, head_size));
    bool good = result != UNPACKED_FAILED && map_file(opening, out, (size_t)unpacking.written);
    close(out);
    return good;
}

/* Fills the head as far as the stream goes. */
static size_t read_head(int fd, unsigned char *head)
{
    size_t size = 0;
    while (size < PACKING_BYTES) {
        ssize_t count = read(fd, head + size, PACKING_BYTES - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        size += (size_t)count;
    }
    return size;
}

static bool is_readable_packing(const struct opening *opening, enum packing packing)
{
    const char *command = packing_command(packing);
    if (command == NULL)
        return true;
    const char *what =
        packing == PACKING_UTF16 ? "is UTF-16, which no server writes" : "compressed in a way that is not read here";
    if (opening->is_standard)
        snprintf(opening->error, opening->error_size, "%s: %s; put `%s |` before the command", opening->name, what,
                 command);
    else
        snprintf(opening->error, opening->error_size, "%s: %s; pipe it in: %s %s | drossel ... -", opening->name, what,
                 command, opening->name);
    return false;
}

/* A plain file is mapped, under guard, as long as the list of guarded ones is not full. */
static bool open_regular(const struct opening *opening, size_t size)
{
    unsigned char head[PACKING_BYTES];
    ssize_t count = pread(opening->fd, head, sizeof head, 0);
    if (count < 0)
        return fail(opening, "cannot be read: ", strerror(errno));
    enum packing packing = packing_of(head, (size_t)count);
    if (!is_readable_packing(opening, packing))
        return false;
    if (packing != PACKING_NONE)
        return lseek(opening->fd, count, SEEK_SET) >= 0 && spool(opening, head, (size_t)count);
    if (!map_file(opening, opening->fd, size))
        return false;
    opening->source->watch = guard_watch(opening->source->data, size);
    if (opening->source->watch >= 0)
        return true;
    source_close(opening->source);
    return lseek(opening->fd, count, SEEK_SET) >= 0 && spool(opening, head, (size_t)count);
}

static bool open_stream(const struct opening *opening)
{
    unsigned char head[PACKING_BYTES];
    size_t size = read_head(opening->fd, head);
    return is_readable_packing(opening, packing_of(head, size)) && spool(opening, head, size);
}

static bool open_any(const struct opening *opening)
{
    struct stat about;
    if (opening->fd < 0 && errno == EACCES)
        return fail(opening,
                    "cannot be read: ", "permission denied; read it as root, or as a member of its group (often adm)");
    if (opening->fd < 0 || fstat(opening->fd, &about) != 0)
        return fail(opening, "cannot be read: ", strerror(errno));
    if (S_ISDIR(about.st_mode))
        return fail(opening,
                    "is a folder; name the files in it: ", opening->name[0] == '-' ? "FILE..." : "FOLDER/access.log*");
    /* Standard input may be a file that somebody has read a part of. */
    if (S_ISREG(about.st_mode) && about.st_size > 0 && lseek(opening->fd, 0, SEEK_CUR) == 0)
        return open_regular(opening, (size_t)about.st_size);
    return open_stream(opening);
}

static int open_path(const char *path)
{
    return kept_is(path) ? kept_open(path) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

bool source_open(struct log_source *source, const char *path, const struct log_spooling *spooling, char *error,
                 size_t error_size)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? dup(STDIN_FILENO) : open_path(path);
    struct opening opening = { source, standard ? "standard input" : path, standard, fd, spooling, error, error_size };
    *source = (struct log_source){ .data = "", .watch = -1 };
    error[0] = '\0';
    bool good = open_any(&opening);
    if (fd >= 0)
        close(fd);
    return good;
}

void source_close(struct log_source *source)
{
    guard_unwatch(source->watch);
    if (source->mapped > 0)
        munmap((void *)(uintptr_t)source->data, source->mapped);
    *source = (struct log_source){ .data = "", .watch = -1 };
}

void source_release(struct log_source *source, size_t offset)
{
    size_t end = offset / RELEASE_STEP * RELEASE_STEP; /* a multiple of any page's size */
    if (source->mapped == 0 || end <= source->released)
        return;
    madvise((void *)(uintptr_t)(source->data + source->released), end - source->released, MADV_DONTNEED);
    source->released = end;
}

void source_rewind(struct log_source *source)
{
    source->released = 0;
}

bool source_is_cut(struct log_source *source)
{
    size_t intact = guard_intact(source->watch, source->size);
    bool cut = intact < source->size;
    source->size = intact;
    return cut;
}
