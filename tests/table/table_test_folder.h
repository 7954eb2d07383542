/* A folder in shared memory, for the tests that make tables as files. */
#ifndef TABLE_TEST_FOLDER_H
#define TABLE_TEST_FOLDER_H

#include "table_test_support.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/dev/shm/drossel-test-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *path_in(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

#endif
