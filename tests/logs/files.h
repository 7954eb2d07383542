/* Files of a test, in a folder of its own that goes with it. */
#ifndef DROSSEL_TEST_LOGS_FILES_H
#define DROSSEL_TEST_LOGS_FILES_H

#include "told.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static char files_folder[64];

/* For cmocka's setup and teardown. */
static inline int files_make(void **state)
{
    (void)state;
    strcpy(files_folder, "/tmp/drossel-logs-XXXXXX");
    return mkdtemp(files_folder) == NULL ? -1 : 0;
}

static inline int files_remove(void **state)
{
    (void)state;
    DIR *folder = opendir(files_folder);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    return rmdir(files_folder);
}

/* The path of a file of this name; lives as long as the program. */
static inline const char *file_path(const char *name)
{
    static char paths[64][128];
    static size_t next;
    char *path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", files_folder, name);
    return path;
}

static inline const char *file_of(const char *name, const void *data, size_t size)
{
    const char *path = file_path(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *file_of_text(const char *name, const char *text)
{
    return file_of(name, text, strlen(text));
}

#endif
