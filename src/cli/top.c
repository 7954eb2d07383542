#include "cli/cli.h"
static int run_top(int argc, char **argv){(void)argc;(void)argv;return 0;}
const struct cli_command cli_top = { "top", "", "live", NULL, 0, 0, run_top };
