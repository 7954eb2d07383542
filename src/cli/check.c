/*
 * drossel check: is the policy right, and what does it say?
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

#include "policy/policy.h"

struct check_values {
    bool quiet;
};

static const struct cli_option options[] = {
    { "quiet", CLI_FLAG, offsetof(struct check_values, quiet), NULL, "only mistakes and warnings, no description" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* Paths and names are those of the policy, and of its lists, which may come from elsewhere. */
static void describe(const struct policy *policy)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    policy_describe(policy, out);
    if (fclose(out) == 0)
        cli_print_lines(stdout, text);
    free(text);
}

static int run_check(int argc, char **argv)
{
    struct check_values values = { 0 };
    char **operand, *mistakes = NULL, *warnings = NULL;
    int count, code;
    if (!cli_parse(&cli_check, argc, argv, &values, &operand, &count, &code))
        return code;
    struct policy *policy = policy_open(operand[0], &mistakes, &warnings);
    cli_print_lines(stdout, warnings);
    fflush(stdout);
    cli_print_lines(stderr, mistakes);
    if (policy != NULL && !values.quiet) {
        if (warnings != NULL)
            putchar('\n');
        describe(policy);
    }
    code = policy != NULL ? CLI_DONE : CLI_FAILED;
    if (policy != NULL)
        policy_close(policy);
    free(mistakes);
    free(warnings);
    return code;
}

const struct cli_command cli_check = { "check",  "FILE", "says what is wrong with a policy, and what it means",
                                       options,  1,      1,
                                       run_check };
