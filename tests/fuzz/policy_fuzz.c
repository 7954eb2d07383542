/*
 * Fuzzes the policy reader: any bytes as a policy file, and what loads is matched, described and closed.
 *
 *     clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Iinclude -Isrc tests/fuzz/policy_fuzz.c \
 *         src/policy/[a-z]*.c src/engine/[a-z]*.c src/request/[a-z]*.c -lyaml -lpcre2-8 -lsodium -o policy_fuzz
 *     ./policy_fuzz -max_len=4096 CORPUS tests/policy/worlds
 *
 * Bytes behind the first NUL are a list file beside the policy, `a.lst`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/policy.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/drossel-fuzz-XXXXXX";
static char policy_path[64], list_path[64];

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *out = fopen(path, "w");
    if (out == NULL || fwrite(data, 1, size, out) != size || fclose(out) != 0)
        abort();
}

/* The structure must be whole, not only readable. */
static void check_structure(const struct policy *policy)
{
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        const struct policy_limit *limit = &policy->limits[i];
        if (limit->answer == NULL || limit->rate_count == 0 || limit->subject >= policy->subject_count ||
            limit->first_rate + limit->rate_count > policy->rate_count || limit->name == NULL)
            abort();
        if ((limit->failures && (limit->action == POLICY_DELAY || !policy->has_failures)) ||
            (!limit->failures && (limit->hold_ns != 0 || limit->reset_on_success)) ||
            (limit->challenge_to != NULL && limit->action != POLICY_CHALLENGE))
            abort();
    }
    if (policy->body_cap == 0 || (policy->secret.size != 0 && policy->secret.size < 16))
        abort();
    for (uint32_t i = 0; i < policy->rate_count; i++)
        if (policy->rates[i].limit >= policy->limit_count || policy->rates[i].engine.spec.period_ns == 0 ||
            policy->rates[i].name == NULL)
            abort();
    for (uint32_t i = 0; i < policy->rate_count; i++)
        if (policy->limits[policy->rates[i].limit].failures !=
            ((policy->rates[i].engine.spec.flags & ENGINE_REFUNDABLE) != 0))
            abort();
    if (policy->table_keys < 64 || (policy->table_keys & (policy->table_keys - 1)) != 0 ||
        policy->rate_count >= POLICY_LIMITS_MAX)
        abort();
}

static void match(const struct policy *policy, const uint8_t *data, size_t size)
{
    struct drossel_text text = { (const char *)data, size < 200 ? size : 200 };
    struct drossel_header header = { DROSSEL_TEXT("x-api-key"), DROSSEL_TEXT("1") };
    struct drossel_request request = { .headers = &header, .header_count = 1 };
    struct policy_facts facts = { DROSSEL_TEXT("GET"), DROSSEL_TEXT("shop.example"), text, &request,
                                  DROSSEL_DOOR_NGINX };
    struct drossel_address address = { DROSSEL_IPV4, { 10, 1, 2, 3 } };
    struct policy_class_set classes;
    uint32_t limits[8];
    for (unsigned round = 0; round < 2; round++) {
        uint32_t count = policy_match(policy, &facts, &classes, limits, 8);
        if (count > policy->limit_count)
            abort();
        for (uint32_t i = 0; i < count && i < 8; i++) {
            (void)policy_cost_of(&policy->limits[limits[i]], &classes);
            (void)policy_override_find(policy->limits[limits[i]].overrides, text, &address);
        }
        (void)policy_exempt(policy, &address, &facts);
        facts.path = (struct drossel_text)DROSSEL_TEXT("/login");
    }
}

/* Every line of a message begins with a file and a place. */
static void check_lines(const char *text)
{
    unsigned line, column;
    for (; text != NULL && *text != '\0'; text = strchr(text, '\n') + 1) {
        const char *colon = strchr(text, ':');
        if (colon == NULL || sscanf(colon, ":%u:%u: ", &line, &column) != 2 || line == 0 || column == 0 ||
            strchr(text, '\n') == NULL)
            abort();
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (mkdtemp(folder) == NULL)
        abort();
    snprintf(policy_path, sizeof(policy_path), "%s/p.yaml", folder);
    snprintf(list_path, sizeof(list_path), "%s/a.lst", folder);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\0', size);
    size_t policy_size = end == NULL ? size : (size_t)(end - data);
    write_file(policy_path, data, policy_size);
    write_file(list_path, end == NULL ? data : end + 1, end == NULL ? 0 : size - policy_size - 1);
    char *mistakes, *warnings;
    struct policy *policy = policy_open(policy_path, &mistakes, &warnings);
    if ((policy == NULL) != (mistakes != NULL))
        abort();
    check_lines(mistakes);
    check_lines(warnings);
    if (policy != NULL) {
        static FILE *nowhere;
        if (nowhere == NULL)
            nowhere = fopen("/dev/null", "w");
        check_structure(policy);
        match(policy, data, size);
        policy_describe(policy, nowhere);
    }
    policy_close(policy);
    free(mistakes);
    free(warnings);
    return 0;
}
