/* The public library: a policy and its table behind one handle (drossel.h). */
#include "drossel.h"

#include "limiter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct drossel {
    char *policy_path;
    struct policy *policy;
    struct table *table;
    struct limiter *limiter;
    struct drossel_options options;
    char *table_path;        /* of the options, copied */
};

static void say(struct drossel_error *why, const char *text)
{
    if (why != NULL)
        snprintf(why->text, sizeof why->text, "%s", text);
}

/* Opens the policy; its mistakes go to `why` without the last newline. */
static struct policy *load(const char *path, struct drossel_error *why)
{
    char *mistakes = NULL;
    struct policy *policy = policy_open(path, &mistakes, NULL);
    if (policy == NULL && why != NULL) {
        say(why, mistakes != NULL ? mistakes : "no memory to read the policy; free some");
        size_t size = strlen(why->text);
        if (size > 0 && why->text[size - 1] == '\n')
            why->text[size - 1] = '\0';
    }
    free(mistakes);
    return policy;
}

static struct table *open_table(const struct drossel *limiter, const struct policy *policy, char *error, size_t error_size)
{
    char path[256];
    struct table_options options = { .keys = limiter->options.table_keys ? limiter->options.table_keys : policy->table_keys,
                                     .names = policy->table_names, .owner = (uid_t)-1, .group = (gid_t)-1 };
    if (limiter->options.private_table) {
        options.start_ns = limiter->options.private_start_ns;
    } else if (limiter->table_path != NULL) {
        options.path = limiter->table_path;
    } else if (policy->table_path != NULL) {
        options.path = policy->table_path;
    } else {
        if (table_default_path(path, sizeof path) == 0) {
            snprintf(error, error_size, "no place for the table: XDG_RUNTIME_DIR is too long; set table.path");
            return NULL;
        }
        options.path = path;
    }
    return table_open(&options, error, error_size);
}

enum drossel_result drossel_open(struct drossel **limiter, const char *policy_path, const struct drossel_options *options,
                                 struct drossel_error *why)
{
    if (limiter == NULL || policy_path == NULL)
        return DROSSEL_INVALID;
    char error[1024] = "";
    enum drossel_result result = DROSSEL_NO_MEMORY;
    struct drossel *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        goto fail;
    if (options != NULL)
        opened->options = *options;
    opened->policy_path = strdup(policy_path);
    if (opened->options.table_path != NULL)
        opened->table_path = strdup(opened->options.table_path);
    if (opened->policy_path == NULL || (opened->options.table_path != NULL && opened->table_path == NULL))
        goto fail;
    result = DROSSEL_POLICY;
    opened->policy = load(policy_path, why);
    if (opened->policy == NULL)
        goto close;
    result = DROSSEL_TABLE;
    opened->table = open_table(opened, opened->policy, error, sizeof error);
    if (opened->table != NULL)
        opened->limiter = limiter_open(opened->policy, opened->table, error, sizeof error);
    if (opened->limiter == NULL)
        goto fail;
    *limiter = opened;
    return DROSSEL_OK;
fail:
    say(why, error[0] != '\0' ? error : "no memory to open a limiter; free some");
close:
    drossel_close(opened);
    return result;
}

enum drossel_result drossel_reload(struct drossel *limiter, struct drossel_error *why)
{
    if (limiter == NULL)
        return DROSSEL_INVALID;
    struct policy *policy = load(limiter->policy_path, why);
    if (policy == NULL)
        return DROSSEL_POLICY;
    char error[1024] = "";
    struct limiter *fresh = limiter_open(policy, limiter->table, error, sizeof error);
    if (fresh == NULL) {
        say(why, error);
        policy_close(policy);
        return DROSSEL_TABLE;
    }
    limiter_close(limiter->limiter);
    policy_close(limiter->policy);
    limiter->limiter = fresh;
    limiter->policy = policy;
    return DROSSEL_OK;
}

void drossel_close(struct drossel *limiter)
{
    if (limiter == NULL)
        return;
    limiter_close(limiter->limiter);
    table_close(limiter->table);
    policy_close(limiter->policy);
    free(limiter->policy_path);
    free(limiter->table_path);
    free(limiter);
}

uint64_t drossel_now(const struct drossel *limiter)
{
    return limiter == NULL ? 0 : table_now(limiter->table);
}

enum drossel_result drossel_check(struct drossel *limiter, const struct drossel_request *request,
                                  struct drossel_decision *decision)
{
    if (limiter == NULL || request == NULL || decision == NULL)
        return DROSSEL_INVALID;
    return limiter_check(limiter->limiter, request, decision);
}

enum drossel_result drossel_check_batch(struct drossel *limiter, const struct drossel_request *requests, size_t count,
                                        struct drossel_decision *decisions)
{
    if (limiter == NULL || (count > 0 && (requests == NULL || decisions == NULL)))
        return DROSSEL_INVALID;
    return limiter_check_batch(limiter->limiter, requests, count, decisions);
}

enum drossel_result drossel_settle(struct drossel *limiter, const struct drossel_ticket *ticket, enum drossel_outcome outcome,
                                   uint64_t now_ns)
{
    if (limiter == NULL || ticket == NULL)
        return DROSSEL_INVALID;
    limiter_settle(limiter->table, ticket, outcome, now_ns);
    return DROSSEL_OK;
}

struct fields {
    const struct drossel_header *headers;
    size_t count;
};

static bool find_field(void *context, struct drossel_text name, struct drossel_text *value)
{
    const struct fields *fields = context;
    for (size_t i = 0; i < fields->count; i++) {
        const struct drossel_header *header = &fields->headers[i];
        if (header->name.size != name.size || strncasecmp(header->name.data, name.data, name.size) != 0)
            continue;
        *value = header->value;
        return true;
    }
    return false;
}

enum drossel_outcome drossel_outcome_of(const struct drossel *limiter, int status, const struct drossel_header *headers,
                                        size_t header_count)
{
    struct fields fields = { headers, header_count };
    if (limiter == NULL || status < 0)
        return DROSSEL_OTHER;
    return limiter_outcome(limiter->policy, (unsigned)status, find_field, &fields);
}

const char *drossel_verdict_name(enum drossel_verdict verdict)
{
    static const char *const names[] = { "allow", "mark", "delay", "challenge", "refuse", "drop", "hold" };
    return (unsigned)verdict < sizeof names / sizeof names[0] ? names[verdict] : "unknown";
}
