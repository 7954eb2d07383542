/*
 * Finds and opens this machine's live table, and the policy that goes with it.
 */
#include "cli/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

#define PATH_BYTES 4096
#define NAMES_MAX 256

struct policy *live_policy(const char *path, bool warn)
{
    char *mistakes = NULL, *warnings = NULL;
    struct policy *policy = policy_open(path, &mistakes, &warnings);
    fflush(stdout);
    if (warn)
        cli_print_lines(stderr, warnings);
    if (policy == NULL)
        cli_print_lines(stderr, mistakes != NULL ? mistakes : "the policy cannot be opened");
    free(mistakes);
    free(warnings);
    return policy;
}

bool live_path(const struct policy *policy, char *out, size_t cap)
{
    if (policy == NULL || policy->table_path == NULL)
        return table_default_path(out, cap) > 0;
    return (size_t)snprintf(out, cap, "%s", policy->table_path) < cap;
}

struct table *live_open(const struct live_place *place)
{
    char path[PATH_BYTES], error[1024] = "";
    struct policy *policy = NULL;
    if (place->policy != NULL && (policy = live_policy(place->policy, false)) == NULL)
        return NULL;
    bool found = place->table != NULL ? (size_t)snprintf(path, sizeof path, "%s", place->table) < sizeof path
                                      : live_path(policy, path, sizeof path);
    if (policy != NULL)
        policy_close(policy);
    if (!found) {
        cli_complain("the table's path is too long");
        return NULL;
    }
    struct table_options options = {
        .path = path, .existing_only = true, .any_size = true, .group = (gid_t)-1, .owner = (uid_t)-1
    };
    struct table *table = table_open(&options, error, sizeof error);
    if (table == NULL)
        cli_complain("%s", error);
    return table;
}

struct live_file live_file_of(const struct table *table)
{
    struct stat status = { 0 };
    (void)stat(table_path(table), &status);
    return (struct live_file){ status.st_dev, status.st_ino };
}

bool live_is_in_place(const struct table *table, struct live_file file)
{
    struct live_file now = live_file_of(table);
    return now.device == file.device && now.inode == file.inode;
}

const char *live_limit_name(const struct table *table, uint32_t index)
{
    const struct table_limit *limit = table_limit_at(table, index);
    if (index == TABLE_LIMIT_BAN)
        return "ban";
    return limit != NULL ? limit->name : "?";
}

bool live_limit_is(const struct table_limit *limit, const char *name)
{
    size_t size = strlen(name);
    if (strncmp(limit->name, name, size) != 0)
        return false;
    const char *rest = limit->name + size;
    return *rest == '\0' || (*rest == '-' && strspn(rest + 1, "0123456789") > 0);
}

bool live_has_limit(const struct table *table, const char *name)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    if (strcmp(name, "ban") == 0)
        return true;
    for (uint32_t i = LIVE_LIMIT_FIRST; i < table_limit_count(table); i++) {
        const struct table_limit *limit = table_limit_at(table, i);
        if (live_limit_is(limit, name))
            return true;
        if (count < NAMES_MAX)
            names[count++] = limit->name;
    }
    const char *nearest = cli_nearest(name, names, count);
    if (nearest != NULL)
        cli_complain("no limit %s has ever been used with %s; did you mean %s?", name, table_path(table), nearest);
    else
        cli_complain("no limit %s has ever been used with %s; `drossel show` lists what is counted", name,
                     table_path(table));
    return false;
}
