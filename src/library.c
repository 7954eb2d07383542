/* The public library: a policy and its table behind one handle (drossel.h). */
#include "drossel.h"

#include "http/answer.h"
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
    char *table_path; /* of the options, copied */
};

static void say(struct drossel_error *why, const char *text)
{
    if (why != NULL)
        snprintf(why->text, sizeof why->text, "%s", text);
}

/* Opens the policy; its mistakes go to `why` without the last newline, and into `result` what failed. */
static struct policy *load(const char *path, enum drossel_result *result, struct drossel_error *why)
{
    char *mistakes = NULL;
    struct policy *policy = policy_open(path, &mistakes, NULL);
    *result = mistakes != NULL ? DROSSEL_POLICY : DROSSEL_NO_MEMORY;
    if (policy == NULL && why != NULL) {
        say(why, mistakes != NULL ? mistakes : "no memory to read the policy; free some");
        size_t size = strlen(why->text);
        if (size > 0 && why->text[size - 1] == '\n')
            why->text[size - 1] = '\0';
    }
    free(mistakes);
    return policy;
}

static struct table *open_table(const struct drossel *limiter, const struct policy *policy, char *error,
                                size_t error_size)
{
    char path[256];
    struct table_options options = { .keys =
                                         limiter->options.table_keys ? limiter->options.table_keys : policy->table_keys,
                                     .names = policy->table_names,
                                     .owner = (uid_t)-1,
                                     .group = (gid_t)-1 };
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

enum drossel_result drossel_open(struct drossel **limiter, const char *policy_path,
                                 const struct drossel_options *options, struct drossel_error *why)
{
    if (limiter == NULL || policy_path == NULL) {
        say(why, "a policy's path or a place for the limiter is missing; give drossel_open both");
        return DROSSEL_INVALID;
    }
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
    opened->policy = load(policy_path, &result, why);
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
    if (limiter == NULL) {
        say(why, "no limiter to reload; give drossel_reload one that drossel_open made");
        return DROSSEL_INVALID;
    }
    enum drossel_result result;
    struct policy *policy = load(limiter->policy_path, &result, why);
    if (policy == NULL)
        return result;
    char error[1024] = "";
    struct table *table = limiter->table;
    if (table_is_lost(table))
        table = open_table(limiter, policy, error, sizeof error);
    struct limiter *fresh = table == NULL ? NULL : limiter_open(policy, table, error, sizeof error);
    if (fresh == NULL) {
        say(why, error);
        if (table != limiter->table)
            table_close(table);
        policy_close(policy);
        return DROSSEL_TABLE;
    }
    limiter_close(limiter->limiter);
    policy_close(limiter->policy);
    if (table != limiter->table)
        table_close(limiter->table);
    limiter->limiter = fresh;
    limiter->policy = policy;
    limiter->table = table;
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

bool drossel_is_lost(const struct drossel *limiter)
{
    return limiter != NULL && table_is_lost(limiter->table);
}

uint64_t drossel_now(const struct drossel *limiter)
{
    return limiter == NULL ? 0 : table_now(limiter->table);
}

static bool is_known_door(const struct drossel_request *request)
{
    return (unsigned)request->door < DROSSEL_DOOR_COUNT;
}

enum drossel_result drossel_check(struct drossel *limiter, const struct drossel_request *request,
                                  struct drossel_decision *decision)
{
    if (limiter == NULL || request == NULL || decision == NULL || !is_known_door(request))
        return DROSSEL_INVALID;
    enum drossel_result result = limiter_check(limiter->limiter, request, decision);
    if (result == DROSSEL_OK)
        limiter_list_ticket(limiter->table, &decision->ticket, request->now_ns);
    return result;
}

enum drossel_result drossel_check_batch(struct drossel *limiter, const struct drossel_request *requests, size_t count,
                                        struct drossel_decision *decisions)
{
    if (limiter == NULL || (count > 0 && (requests == NULL || decisions == NULL)))
        return DROSSEL_INVALID;
    size_t valid = 0; /* the first that is not ends it */
    while (valid < count && is_known_door(&requests[valid]))
        valid++;
    enum drossel_result result = limiter_check_batch(limiter->limiter, requests, valid, decisions);
    for (size_t i = 0; result == DROSSEL_OK && i < valid; i++)
        limiter_list_ticket(limiter->table, &decisions[i].ticket, requests[i].now_ns);
    return result == DROSSEL_OK && valid < count ? DROSSEL_INVALID : result;
}

enum drossel_result drossel_settle(struct drossel *limiter, const struct drossel_ticket *ticket,
                                   enum drossel_outcome outcome, uint64_t now_ns)
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
    struct fields fields = { headers, headers == NULL ? 0 : header_count };
    if (limiter == NULL || status < 0)
        return DROSSEL_OTHER;
    return limiter_outcome(limiter->policy, (unsigned)status, find_field, &fields);
}

/* A text of `from` as a text of `to`, into whose buffer the bytes were copied. */
static struct drossel_text moved(struct drossel_text text, const struct http_answer *from,
                                 const struct drossel_answer *to)
{
    uintptr_t at = (uintptr_t)text.data, begin = (uintptr_t)from->buffer;
    if (at >= begin && at - begin < sizeof from->buffer)
        text.data = to->buffer + (at - begin);
    return text;
}

_Static_assert(DROSSEL_ANSWER_HEADERS == HTTP_ANSWER_FIELDS && DROSSEL_ANSWER_BYTES == HTTP_ANSWER_BYTES,
               "a public answer holds every answer");

enum drossel_result drossel_answer_format(const struct drossel *limiter, const struct drossel_decision *decision,
                                          struct drossel_text accept, uint64_t unix_now_s,
                                          struct drossel_answer *answer)
{
    if (limiter == NULL || decision == NULL || answer == NULL || decision->verdict != DROSSEL_REFUSE)
        return DROSSEL_INVALID;
    const struct policy *policy = limiter->policy;
    const struct http_answer_rules *rules =
        decision->limit < policy->limit_count ? policy->limits[decision->limit].answer : &policy->answer;
    struct http_answer_request request = { .accept = accept, .unix_now_s = unix_now_s };
    struct http_answer made;
    http_answer_format(rules, decision, &request, &made);
    memcpy(answer->buffer, made.buffer, made.used);
    answer->status = made.status;
    answer->retry_after_s = made.retry_after_s;
    answer->content_type = made.content_type;
    answer->body = moved(made.body, &made, answer);
    answer->header_count = made.field_count;
    for (size_t i = 0; i < made.field_count; i++)
        answer->header[i] = (struct drossel_header){ moved(made.field[i].name, &made, answer),
                                                     moved(made.field[i].value, &made, answer) };
    return DROSSEL_OK;
}

const char *drossel_verdict_name(enum drossel_verdict verdict)
{
    static const char *const names[] = { "allow", "mark", "delay", "challenge", "refuse", "drop", "hold" };
    return (unsigned)verdict < sizeof names / sizeof names[0] ? names[verdict] : "unknown";
}
