/*
 * drossel reset: forgets what was counted for a key, its blocks and its bans.
 */
#include "cli/cli.h"

#include "cli/hand.h"

struct reset_values {
    struct live_place place;
    const char *limit;
};

static const struct cli_option options[] = {
    { "limit", CLI_TEXT, offsetof(struct reset_values, limit), "NAME", "only in this limit (`ban`: only the ban)" },
    LIVE_OPTIONS(reset_values, place),
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

static int run_reset(int argc, char **argv)
{
    struct reset_values values = { 0 };
    struct hand hand;
    char **operand;
    int count, code;
    if (!cli_parse(&cli_reset, argc, argv, &values, &operand, &count, &code))
        return code;
    struct table *table = live_open(&values.place);
    if (table == NULL)
        return CLI_FAILED;
    unsigned found = 0;
    if (values.limit == NULL || live_has_limit(table, values.limit)) {
        hand_init(&hand, table, operand[0], values.limit);
        found = hand_forget(&hand, false) + hand_unban(&hand);
        if (found == 0)
            cli_complain("nothing is counted for %s%s", operand[0],
                         hand.is_address || table_has_names(table)
                             ? "; `drossel show` lists the keys as they are called"
                             : ": this table keeps no names, so only addresses can be found");
    }
    table_close(table);
    return found > 0 ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_reset = { "reset",  "KEY", "forgets what was counted for a key, its blocks and its ban",
                                       options,  1,     1,
                                       run_reset };
