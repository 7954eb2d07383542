/*
 * The command `drossel`: finds the subcommand and hands over.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drossel.h"

#define COMMANDS_MAX 16

const struct cli_command *const cli_commands[] = { &cli_run,     &cli_check, &cli_explain, &cli_replay, &cli_suggest,
                                                   &cli_show,    &cli_top,   &cli_reset,   &cli_block,  &cli_unblock,
                                                   &cli_version, &cli_help,  NULL };

const struct cli_command *cli_find(const char *name)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int print_overview(FILE *out)
{
    fputs("usage: drossel COMMAND [OPTION]... [OPERAND]...\n"
          "A rate limiter for web applications: one policy, one engine, every door.\n\n",
          out);
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        fprintf(out, "  %-9s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fputs("\n`drossel COMMAND --help` explains a command; man drossel tells the whole story.\n"
          "Exit codes: 0 done, 1 mistakes or failure, 2 wrong usage.\n",
          out);
    return out == stdout ? CLI_DONE : CLI_USAGE;
}

static int unknown_command(const char *name)
{
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    while (cli_commands[count] != NULL) {
        names[count] = cli_commands[count]->name;
        count++;
    }
    const char *nearest = cli_nearest(name, names, count);
    if (nearest != NULL)
        cli_complain("there is no command %s; did you mean `drossel %s`?", name, nearest);
    else
        cli_complain("there is no command %s; `drossel --help` lists all", name);
    return CLI_USAGE;
}

static int run_version(int argc, char **argv)
{
    char **operand;
    int count, code;
    if (!cli_parse(&cli_version, argc, argv, NULL, &operand, &count, &code))
        return code;
    puts("drossel " DROSSEL_VERSION);
    return CLI_DONE;
}
const struct cli_command cli_version = { "version", "", "the version of this command", NULL, 0, 0, run_version };

static int run_help(int argc, char **argv)
{
    char **operand;
    int count, code;
    if (!cli_parse(&cli_help, argc, argv, NULL, &operand, &count, &code))
        return code;
    if (count == 0)
        return print_overview(stdout);
    const struct cli_command *command = cli_find(operand[0]);
    if (command == NULL)
        return unknown_command(operand[0]);
    cli_print_help(command);
    return CLI_DONE;
}
const struct cli_command cli_help = { "help", "[COMMAND]", "what a command does and takes", NULL, 0, 1, run_help };

/* What was printed has to arrive: a report that a full disk cut off is a failure.  A reader that went away has read enough. */
static int close_output(int code)
{
    struct stat status;
    bool is_lost = ferror(stdout) != 0;
    is_lost = fflush(stdout) != 0 || is_lost;
    if (!is_lost || code != CLI_DONE || fstat(STDOUT_FILENO, &status) != 0 || S_ISFIFO(status.st_mode) ||
        S_ISSOCK(status.st_mode))
        return code;
    cli_complain("standard output: could not be written; is the disk full?");
    return CLI_FAILED;
}

/* In place of a standard stream that is closed the next file that is opened would take its number, and what is printed would go
 * into it: into a log, or a list of decisions. */
static void fill_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    fill_streams();
    if (argc < 2)
        return print_overview(stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return close_output(print_overview(stdout));
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    const struct cli_command *command = cli_find(name);
    return command != NULL ? close_output(command->run(argc - 1, argv + 1)) : unknown_command(name);
}
