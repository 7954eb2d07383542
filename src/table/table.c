/* Opening, making and closing a table's file, with an error for everything that can be wrong with one. */
#include "table/table.h"

#include "table/file.h"
#include "table/layout.h"
#include "table/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sodium.h>

/* Where a failing step writes its sentence. */
struct complaint {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void complain(const struct complaint *complaint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaint->text, complaint->size, format, arguments);
    va_end(arguments);
}

/* ---- sizes ---- */

static uint64_t slots_offset(bool stats)
{
    return stats_offset() + (stats ? sizeof(struct stats) : 0);
}

static uint64_t file_bytes(uint64_t keys, bool names, bool stats)
{
    uint64_t slots = keys + TABLE_NEIGHBOURS - 1;
    return slots_offset(stats) + slots * (sizeof(struct slot) + (names ? sizeof(struct name_slot) : 0));
}

static uint64_t rounded_keys(uint64_t keys)
{
    uint64_t rounded = TABLE_KEYS_MIN;
    while (rounded < keys && rounded < TABLE_KEYS_MAX)
        rounded *= 2;
    return rounded;
}

/* ---- mapping ---- */

static bool map_table(struct table *table, int fd, uint64_t bytes, const struct complaint *complaint)
{
    void *map = pages_map(fd, bytes);
    if (map == NULL) {
        complain(complaint, "%s: cannot map %llu bytes: %s; lower table.keys, or raise the memory limit", table->path,
                 (unsigned long long)bytes, strerror(errno));
        return false;
    }
    table->map = map;
    table->map_bytes = bytes;
    return true;
}

static void set_pointers(struct table *table)
{
    const struct table_header *header = table_header(table);
    uint64_t slots = header->keys + TABLE_NEIGHBOURS - 1;
    table->keys = header->keys;
    table->stats = header->has_stats ? table_stats_of(table) : NULL;
    table->slots = (struct slot *)(void *)(table->map + slots_offset(header->has_stats));
    table->names = header->has_names ? (struct name_slot *)(void *)(table->slots + slots) : NULL;
    memcpy(table->secret, header->secret, sizeof table->secret);
}

/* The registry's first entries, in the order of TABLE_LIMIT_BAN, _OPEN, _TICKET.  Up to 1071 open charges a stamp's count
 * is exact enough for evenly sent ones, and more than a minute no answer takes; a ticket may be settled for an hour. */
static void register_own_limits(struct table *table)
{
    const struct table_limit own[] = {
        { .name = "ban",
          .subject = "address",
          .spec = { .count = 1,
                    .period_ns = 1000000,
                    .block_ns = 1,
                    .factor_milli = 1000,
                    .block_max_ns = ENGINE_PERIOD_MAX_NS,
                    .flags = ENGINE_BAN } },
        { .name = "open",
          .spec = { .count = 1071, .period_ns = 60 * UINT64_C(1000000000), .flags = ENGINE_REFUNDABLE } },
        { .name = "ticket",
          .spec = { .count = 2,
                    .period_ns = 3600 * UINT64_C(1000000000),
                    .algorithm = ENGINE_FIXED,
                    .flags = ENGINE_FROM_FIRST } },
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        (void)table_limit_register(table, &own[i]);
}

/* Fills a mapping of zeros with a header and the registry's first entry, the ban of an address. */
static void initialise(struct table *table, const struct table_options *options, uint64_t keys, const char *boot_id)
{
    struct table_header *header = table_header(table);
    memcpy(header->magic, TABLE_MAGIC, sizeof header->magic);
    header->version = TABLE_VERSION;
    header->has_names = options->names;
    header->has_stats = !options->no_stats;
    header->keys = keys;
    header->file_bytes = table->map_bytes;
    randombytes_buf(header->secret, sizeof header->secret);
    clock_start(table, options->start_ns, boot_id);
    set_pointers(table);
    register_own_limits(table);
}

/* ---- making a file ---- */

/* All of the file but the statistics, which stay a hole.  Where the file system cannot do it, libc writes zeros, over all. */
static int reserve_around_stats(int fd, uint64_t bytes, bool stats)
{
    uint64_t slots = slots_offset(stats);
    int error = fallocate(fd, 0, 0, (off_t)stats_offset()) == 0 ? 0 : errno;
    if (error == EOPNOTSUPP || error == ENOSYS)
        return posix_fallocate(fd, 0, (off_t)bytes);
    return error != 0 ? error : posix_fallocate(fd, (off_t)slots, (off_t)(bytes - slots));
}

static bool reserve_space(const struct table *table, int fd, uint64_t bytes, bool stats,
                          const struct complaint *complaint)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) { /* else SIGXFSZ, which ends the process */
        complain(complaint,
                 "%s: a file of %llu bytes is more than the limit of %llu (ulimit -f); lower table.keys, or raise it",
                 table->path, (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
        return false;
    }
    /* Reserved, not just sized: a full /dev/shm is an error here, not a crash of somebody's request later. */
    if (ftruncate(fd, (off_t)bytes) == 0)
        pages_gather(table->map, fd, slots_offset(stats), bytes);
    int error = reserve_around_stats(fd, bytes, stats);
    while (error == EINTR)
        error = reserve_around_stats(fd, bytes, stats);
    if (error == 0)
        return true;
    struct statvfs space;
    unsigned long long free_bytes = 0;
    if (fstatvfs(fd, &space) == 0)
        free_bytes = (unsigned long long)space.f_bavail * space.f_frsize;
    complain(complaint,
             "%s: no room for %llu bytes (%s), %llu are free; lower table.keys, free some space, or set "
             "table.path to another place",
             table->path, (unsigned long long)bytes, strerror(error), free_bytes);
    return false;
}

enum making { MADE, EXISTS_ALREADY, NOT_MADE };

/* Makes the file complete before it has a name: nobody ever sees half a table. */
static enum making make_file(struct table *table, const struct table_options *options, const char *boot_id,
                             const struct complaint *complaint)
{
    char temporary[PATH_MAX];
    int fd = file_make_unnamed(table->path, temporary);
    if (fd < 0) {
        complain(complaint,
                 "%s: cannot be made: %s; the folder must exist and be writable for user %ld, or set "
                 "table.path to another place",
                 table->path, strerror(errno), (long)geteuid());
        return NOT_MADE;
    }
    uint64_t keys = rounded_keys(options->keys), bytes = file_bytes(keys, options->names, !options->no_stats);
    enum making made = NOT_MADE;
    if (!map_table(table, fd, bytes, complaint) || !reserve_space(table, fd, bytes, !options->no_stats, complaint))
        goto out;
    initialise(table, options, keys, boot_id);
    if (fchown(fd, options->owner, options->group) != 0 || fchmod(fd, 0660) != 0) {
        complain(complaint, "%s: cannot be given to user %ld, group %ld: %s; start as root, or as that user",
                 table->path, (long)options->owner, (long)options->group, strerror(errno));
        goto out;
    }
    if (file_give_name(fd, table->path, temporary)) {
        temporary[0] = '\0';
        table->fd = fd;
        return MADE;
    }
    temporary[0] = '\0';
    made = errno == EEXIST ? EXISTS_ALREADY : NOT_MADE;
    if (made == NOT_MADE)
        complain(complaint, "%s: cannot be made: %s; check the folder's permissions", table->path, strerror(errno));
out:
    if (temporary[0] != '\0')
        unlink(temporary);
    if (table->map != NULL)
        munmap(table->map, table->map_bytes);
    table->map = NULL;
    close(fd);
    return made;
}

/* ---- opening one that is there ---- */

static void complain_of_open(const struct table *table, int error, const struct complaint *complaint)
{
    struct stat status;
    const char *path = table->path;
    if (error == ELOOP)
        complain(complaint, "%s: is a symbolic link; a table is never opened through one: name the file itself", path);
    else if (error == EISDIR)
        complain(complaint, "%s: is a directory; name a file in it, such as %s/table", path, path);
    else if (error == EACCES && lstat(path, &status) == 0)
        complain(complaint,
                 "%s: no permission for user %ld: it belongs to user %ld, group %ld, mode %o; run as that user, "
                 "or join that group",
                 path, (long)geteuid(), (long)status.st_uid, (long)status.st_gid, (unsigned)status.st_mode & 07777);
    else
        complain(complaint, "%s: cannot be opened: %s; check table.path and its folder", path, strerror(error));
}

/* Who names a file of his system by mistake must not be told to remove it. */
static bool begins_as_table(int fd)
{
    char magic[sizeof TABLE_MAGIC - 1];
    return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, TABLE_MAGIC, sizeof magic) == 0;
}

static const char *check_header(const struct table_header *header, uint64_t size)
{
    if (memcmp(header->magic, TABLE_MAGIC, sizeof header->magic) != 0)
        return "is no drossel table; name another file: by table.path in the policy, or by --table";
    if (header->version != TABLE_VERSION)
        return "is a table of another version of drossel; stop all that use it, remove it, and start again";
    if (header->keys < TABLE_KEYS_MIN || header->keys > TABLE_KEYS_MAX || (header->keys & (header->keys - 1)) != 0 ||
        header->has_names > 1 || header->has_stats > 1 ||
        header->limits_counted > header->has_stats * TABLE_LIMITS_MAX ||
        header->file_bytes != file_bytes(header->keys, header->has_names, header->has_stats))
        return "has a damaged header; stop all that use it, remove it, and start again";
    if (size < header->file_bytes)
        return "is truncated; stop all that use it, remove it, and start again";
    if (size > header->file_bytes)
        return "is longer than its header says; it was written to by something else: remove it, and start again";
    return NULL;
}

static bool check_wishes(const struct table *table, const struct table_options *options,
                         const struct complaint *complaint)
{
    const struct table_header *header = table_header(table);
    uint64_t wanted = rounded_keys(options->keys);
    if (options->any_size)
        return true;
    if (header->keys != wanted) {
        complain(complaint,
                 "%s: has %llu keys, but the policy wants %llu; write `table: { keys: %llu }`, or stop all that "
                 "use it and remove it",
                 table->path, (unsigned long long)header->keys, (unsigned long long)wanted,
                 (unsigned long long)header->keys);
        return false;
    }
    if ((header->has_names != 0) != options->names) {
        complain(complaint,
                 "%s: was made %s names, but the policy wants it %s; write `table: { names: %s }`, or stop all "
                 "that use it and remove it",
                 table->path, header->has_names ? "with" : "without", options->names ? "with" : "without",
                 header->has_names ? "true" : "false");
        return false;
    }
    return true;
}

/* Of one byte behind the end, since other ones are locked by all who live (owner.c); and of this descriptor, so that the
 * threads of one process wait for each other as well. */
static void lock_opening(int fd, short type)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = OWNER_LOCKS, .l_len = 1 };
    while (fcntl(fd, F_OFD_SETLKW, &lock) != 0 && errno == EINTR)
        continue;
}

static bool adopt_file(struct table *table, int fd, const struct table_options *options, const char *boot_id,
                       const struct complaint *complaint)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        complain(complaint,
                 S_ISDIR(status.st_mode) ? "%s: is a directory; name a file in it, such as %s/table"
                                         : "%s: is no regular file; name another than %s",
                 table->path, table->path);
        return false;
    }
    uint64_t size = (uint64_t)status.st_size;
    if (size < stats_offset()) {
        complain(complaint,
                 size == 0 || begins_as_table(fd)
                     ? "%s: is %llu bytes short of a table's header: truncated; stop all that use it, remove it, and "
                       "start again"
                     : "%s: is %llu bytes short of a table's header, and no drossel table; name another file: by "
                       "table.path in the policy, or by --table",
                 table->path, (unsigned long long)(stats_offset() - size));
        return false;
    }
    if (!map_table(table, fd, size, complaint))
        return false;
    const char *wrong = check_header(table_header(table), size);
    if (wrong != NULL) {
        complain(complaint, "%s: %s", table->path, wrong);
        return false;
    }
    if (!check_wishes(table, options, complaint))
        return false;
    set_pointers(table);
    /* The lock is only for the one who opens it first after a reboot. */
    lock_opening(fd, F_WRLCK);
    clock_resume(table, boot_id);
    lock_opening(fd, F_UNLCK);
    return true;
}

static bool open_or_make(struct table *table, const struct table_options *options, const char *boot_id,
                         const struct complaint *complaint)
{
    /* Two who start at once may find no file, and then each other's: a few rounds settle it. */
    for (unsigned round = 0; round < 8; round++) {
        int fd = file_open(table->path);
        if (fd >= 0) {
            table->fd = fd;
            return adopt_file(table, fd, options, boot_id, complaint);
        }
        if (errno == ENOENT && options->existing_only) {
            complain(complaint, "%s: there is no table; start drossel or nginx first, or name the table with --table",
                     table->path);
            return false;
        }
        if (errno != ENOENT) {
            complain_of_open(table, errno, complaint);
            return false;
        }
        enum making made = make_file(table, options, boot_id, complaint);
        if (made != EXISTS_ALREADY)
            return made == MADE;
    }
    complain(complaint, "%s: appears and disappears; something else uses this path: set table.path to another",
             table->path);
    return false;
}

static bool open_private(struct table *table, const struct table_options *options, const char *boot_id,
                         const struct complaint *complaint)
{
    uint64_t keys = rounded_keys(options->keys);
    snprintf(table->path, sizeof table->path, "%s", "private table");
    if (!map_table(table, -1, file_bytes(keys, options->names, !options->no_stats), complaint))
        return false;
    initialise(table, options, keys, boot_id);
    table->path[0] = '\0';
    return true;
}

struct table *table_open(const struct table_options *options, char *error, size_t error_size)
{
    struct complaint complaint = { error, error_size };
    if (sodium_init() < 0) {
        complain(&complaint, "no source of random numbers; mount /dev or allow getrandom");
        return NULL;
    }
    if (options->path != NULL && strlen(options->path) >= sizeof((struct table *)NULL)->path) {
        complain(&complaint, "%.60s...: the path is too long; write one of at most 255 bytes", options->path);
        return NULL;
    }
    if (options->path != NULL && options->path[0] == '\0') {
        complain(&complaint, "the table's path is empty; name a file, such as /dev/shm/drossel");
        return NULL;
    }
    struct table *table = aligned_alloc(_Alignof(struct table), sizeof *table);
    if (table == NULL) {
        complain(&complaint, "no memory to open a table; free some");
        return NULL;
    }
    memset(table, 0, sizeof *table);
    clock_find_ticks();
    table->fd = table->owner_fd = -1;
    table->boot_clock = options->boot_clock;
    table->wall_clock = options->wall_clock != NULL ? options->wall_clock : clock_wall;
    char boot_id[TABLE_BOOT_ID_BYTES] = { 0 };
    if (options->boot_id != NULL)
        strncpy(boot_id, options->boot_id, sizeof boot_id - 1);
    else
        clock_boot_id(boot_id);

    bool opened;
    if (options->path == NULL) {
        opened = open_private(table, options, boot_id, &complaint);
    } else {
        snprintf(table->path, sizeof table->path, "%s", options->path);
        opened = open_or_make(table, options, boot_id, &complaint);
    }
    if (opened && table->fd >= 0 && !lost_watch(table)) {
        complain(&complaint, "%s: too many tables are open in this process; close some", table->path);
        opened = false;
    }
    if (!opened) {
        table_close(table);
        return NULL;
    }
    owner_enter(table);
    (void)madvise(table->map, table->map_bytes,
                  MADV_HUGEPAGE); /* what is not gathered yet, where shared memory allows it */
    return table;
}

void table_close(struct table *table)
{
    if (table == NULL)
        return;
    lost_unwatch(table);
    if (table->map != NULL)
        munmap(table->map, table->map_bytes);
    owner_leave(table);
    free(table);
}

static bool is_own(const char *folder)
{
    struct stat status;
    return stat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

size_t table_default_path(char *out, size_t cap)
{
    int length;
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char folder[64];
    snprintf(folder, sizeof folder, "/run/user/%ld", (long)geteuid());
    if (geteuid() == 0)
        length = snprintf(out, cap, "/dev/shm/drossel");
    else if (runtime != NULL && runtime[0] == '/' && is_own(runtime)) /* whoever changes user keeps that of the first */
        length = snprintf(out, cap, "%s/drossel", runtime);
    else if (is_own(folder))
        length = snprintf(out, cap, "%s/drossel", folder);
    else
        length = snprintf(out, cap, "/dev/shm/drossel-%ld", (long)geteuid());
    return length > 0 && (size_t)length < cap ? (size_t)length : 0;
}

const char *table_path(const struct table *table)
{
    return table->path;
}

uint64_t table_keys(const struct table *table)
{
    return table->keys;
}

bool table_has_names(const struct table *table)
{
    return table->names != NULL;
}

size_t table_bytes(const struct table *table)
{
    return table->map_bytes;
}

const uint8_t *table_secret(const struct table *table)
{
    return table->secret;
}
