/*
 * Finding this machine's live table, and words of a person for it: what show, reset, block, unblock and explain share.
 */
#ifndef DROSSEL_CLI_LIVE_H
#define DROSSEL_CLI_LIVE_H

#include <sys/types.h>

#include "drossel.h"
#include "policy/policy.h"
#include "table/table.h"

/* Where the table is: --table, else the policy's table.path, else this user's default. */
struct live_place {
    const char *table;  /* --table; NULL: not given */
    const char *policy; /* --policy; NULL: not given */
};
#define LIVE_OPTIONS(type, member)                                                                                     \
    { "table", CLI_TEXT, offsetof(struct type, member.table), "PATH", "the table's file (default: this user's own)" }, \
    {                                                                                                                  \
        "policy", CLI_TEXT, offsetof(struct type, member.policy), "FILE", "take the table's place from this policy"    \
    }

/* Opens the table that exists there, whatever its size.  NULL after having told why. */
struct table *live_open(const struct live_place *place);

/* Which file a table was opened from; its name may be given to another one while it is watched. */
struct live_file {
    dev_t device;
    ino_t inode;
};
struct live_file live_file_of(const struct table *table);
/* Does the path still lead to that file? */
bool live_is_in_place(const struct table *table, struct live_file file);

/* Opens a policy; NULL after having printed its mistakes.  Warnings are printed on demand: where the policy is put in force,
 * not where it is only asked. */
struct policy *live_policy(const char *path, bool warn);

/* Writes the path that the policy's table has (its own or this user's default).  False if there is none. */
bool live_path(const struct policy *policy, char *out, size_t cap);

/* The registry's limits from here on are policies'; those before are the table's own: bans, open outcomes, tickets. */
#define LIVE_LIMIT_FIRST (TABLE_LIMIT_TICKET + 1)

/* The registry's limit named `name`, or the rates of a limit of several (`NAME-10s`).  */
bool live_limit_is(const struct table_limit *limit, const char *name);
/* Is any limit of that name registered?  Complains, and says which there are, if not. */
bool live_has_limit(const struct table *table, const char *name);

/* `ban` for the pseudo limit, else the registered name. */
const char *live_limit_name(const struct table *table, uint32_t index);

#endif
