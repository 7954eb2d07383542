/*
 * drossel reset: forgets what was counted for a key, its blocks and its bans.
 */
#include "cli/cli.h"

#include "cli/hand.h"

static const struct cli_option options[] = {
    { "limit", CLI_TEXT, offsetof(struct hand_values, limit), "NAME", "only in this limit (`ban`: only the ban)" },
    LIVE_OPTIONS(hand_values, place),
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

static int run_reset(int argc, char **argv)
{
    struct hand_values values = { 0 };
    char **operand;
    int count, code;
    if (!cli_parse(&cli_reset, argc, argv, &values, &operand, &count, &code))
        return code;
    return hand_take_back(&values, operand[0], false);
}

const struct cli_command cli_reset = { "reset",  "KEY", "forgets what was counted for a key, its blocks and its ban",
                                       options,  1,     1,
                                       run_reset };
