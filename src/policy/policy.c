/* Opens and closes a policy: the file's sections in the order in which they need each other, then the checks. */
#include "policy/policy.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "policy/index.h"
#include "policy/reading.h"

#define NS_PER_MS UINT64_C(1000000)
#define BODY_CAP_DEFAULT 65536
#define TABLE_KEYS_DEFAULT (UINT64_C(1) << 20)
#define LANGUAGE_VERSION "1"

/* ---- keys of the file that are no sections ---- */

static void read_version(struct reading *reading, const struct node *key, void *into)
{
    (void)into;
    if (key->value->kind != NODE_SCALAR || !text_is(key->value->text, LANGUAGE_VERSION))
        mistake(reading, key->value, "version %s; this drossel reads version " LANGUAGE_VERSION,
                key->value->kind == NODE_SCALAR
                    ? arena_format(reading->arena, "\"%s\"", quotable(reading->arena, key->value->text))
                    : node_kind_name(key->value));
}

static void read_default_store(struct reading *reading, const struct node *key, void *into)
{
    (void)into;
    read_store(reading, key->value, &reading->store);
}

static void read_default_deadline(struct reading *reading, const struct node *key, void *into)
{
    (void)into;
    read_duration(reading, key->value, NS_PER_MS, &reading->deadline_ns);
}

static void read_default_outage(struct reading *reading, const struct node *key, void *into)
{
    (void)into;
    read_outage(reading, key->value, &reading->on_outage);
}

static void read_file_answer(struct reading *reading, const struct node *key, void *into)
{
    read_answer(reading, key, &((struct policy *)into)->answer);
}

static const struct key_row file_rows[] = { { "version", read_version },
                                            { "table", read_table },
                                            { "client", read_client },
                                            { "exempt", read_exempt },
                                            { "classes", read_classes },
                                            { "outcomes", read_outcomes },
                                            { "secret_file", read_secret_file },
                                            { "store", read_default_store },
                                            { "deadline", read_default_deadline },
                                            { "on_outage", read_default_outage },
                                            { "answer", read_file_answer },
                                            { "limits", read_limits },
                                            { NULL, NULL } };

/* ---- opening ---- */

static struct policy *new_policy(struct policy_arena *arena, const char *path)
{
    static const char default_json[] = "{\"error\":\"rate_limit_exceeded\"}";
    struct policy *policy = arena_alloc(arena, sizeof(*policy));
    policy->path = arena_text(arena, path, strlen(path)).data;
    policy->table_keys = TABLE_KEYS_DEFAULT;
    policy->table_names = true;
    policy->client.recursive = true;
    policy->ipv6_prefix = 64;
    policy->body_cap = BODY_CAP_DEFAULT;
    set_default_outcomes(policy);
    policy->answer = (struct http_answer_rules){ .status = 429,
                                                 .body = HTTP_BODY_AUTO,
                                                 .reveal = HTTP_REVEAL_SIGNED_IN,
                                                 .headers = HTTP_RETRY_AFTER | HTTP_DRAFT_11,
                                                 .jitter_ppm = 100000,
                                                 .json = { default_json, sizeof(default_json) - 1 } };
    policy->arena = arena;
    return policy;
}

static struct drossel_text directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (struct drossel_text){ path, slash == NULL ? 0 : (size_t)(slash - path) + 1 };
}

static void read_root(struct reading *reading)
{
    const struct node *root = reading->root;
    if (root->kind != NODE_MAP) {
        mistake(reading, root, "%s; begin with `version: 1`", node_kind_name(root));
        return;
    }
    read_keys(reading, root, file_rows, reading->policy);
    if (node_find(root, "version") == NULL)
        mistake(reading, root, "no `version`; begin with `version: 1`");
    check_sections(reading);
    check_classes(reading);
    check_limits(reading);
}

static void finish(struct reading *reading)
{
    struct policy *policy = reading->policy;
    policy->rates = reading->rates.items;
    policy->rate_count = (uint32_t)reading->rates.count;
    policy->subjects = reading->subjects.items;
    policy->subject_count = (uint32_t)reading->subjects.count;
    for (uint32_t i = 0; i < policy->rate_count; i++)
        policy->has_ban = policy->has_ban || (policy->rates[i].engine.spec.flags & ENGINE_BAN) != 0;
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        policy->has_failures = policy->has_failures || policy->limits[i].failures;
        policy->needs_body = policy->needs_body || policy->limits[i].needs_body;
    }
    plan_outcomes(policy);
    policy->index = index_build(reading);
}

/* Reads the file into the arena; what is wrong is in `diagnoses`. */
static struct policy *read_policy(struct policy_arena *arena, struct diagnoses *diagnoses, const char *path)
{
    struct policy *policy = new_policy(arena, path);
    struct place place = { .file = policy->path, .line = 1, .column = 1 };
    struct drossel_text bytes;
    const char *why;
    if (!document_read(arena, path, &bytes, &why)) {
        diagnose(diagnoses, MISTAKE, &place, "the policy cannot be read (%s); name a file that is there and readable",
                 why);
        return policy;
    }
    struct reading reading = { .arena = arena,
                               .diagnoses = diagnoses,
                               .policy = policy,
                               .directory = directory_of(policy->path),
                               .deadline_ns = 20 * NS_PER_MS };
    reading.root = document_parse(diagnoses, bytes, &place);
    if (reading.root == NULL)
        return policy;
    read_root(&reading);
    if (diagnoses->found[MISTAKE].count == 0)
        finish(&reading);
    return policy;
}

/* What a reading came to, outside the frame that a failed allocation returns to. */
struct opening {
    const char *path;
    struct policy_arena *arena;
    struct policy *policy;
    char *mistakes, *warnings;
};

static bool open_in_arena(struct opening *opening)
{
    if (setjmp(opening->arena->out_of_memory) != 0)
        return false;
    struct diagnoses *diagnoses = arena_alloc(opening->arena, sizeof(*diagnoses));
    diagnoses->arena = opening->arena;
    opening->policy = read_policy(opening->arena, diagnoses, opening->path);
    opening->mistakes = diagnoses_text(diagnoses, MISTAKE);
    opening->warnings = diagnoses_text(diagnoses, WARNING);
    return true;
}

static char *no_memory(const char *path)
{
    char *text = NULL;
    if (asprintf(&text, "%s:1:1: there is not enough memory to read the policy; free some\n", path) < 0)
        return NULL;
    return text;
}

static void give(char **out, char *text)
{
    if (out != NULL)
        *out = text;
    else
        free(text);
}

struct policy *policy_open(const char *path, char **mistakes, char **warnings)
{
    struct opening opening = { .path = path, .arena = arena_open() };
    bool read = opening.arena != NULL && open_in_arena(&opening);
    if (!read) {
        free(opening.mistakes);
        free(opening.warnings);
        opening.warnings = NULL;
        opening.mistakes = no_memory(path);
    }
    bool good = read && opening.mistakes == NULL;
    if (!good)
        arena_close(opening.arena);
    give(mistakes, opening.mistakes);
    give(warnings, opening.warnings);
    return good ? opening.policy : NULL;
}

void policy_close(struct policy *policy)
{
    if (policy != NULL)
        arena_close(policy->arena);
}
