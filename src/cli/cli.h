/*
 * The command `drossel`: what its subcommands share.
 *
 * A subcommand is one file with one `struct cli_command`: name, operands, summary, table of options, function.  The parser
 * reads a command line into a plain struct of the subcommand by that table, and the help is printed from the same table, so
 * that no option can exist without being explained.
 *
 * Exit codes: 0 done, 1 mistakes or failure, 2 wrong usage, 130 interrupted before all was read.  Errors go to stderr and say what would be right.
 */
#ifndef DROSSEL_CLI_CLI_H
#define DROSSEL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_INTERRUPTED = 130 /* as a shell tells of SIGINT: 128 and its number */
};

#define CLI_LIST_MOST 256

/* Values of an option that may be given several times; they point into argv. */
struct cli_list {
    const char *item[CLI_LIST_MOST];
    size_t count;
};

enum cli_kind {
    CLI_FLAG, /* no argument; sets a bool */
    CLI_TEXT, /* an argument; sets a const char * */
    CLI_NUMBER, /* a number may follow, as the next word or after `=`; sets a const char *: "" without */
    CLI_LIST  /* an argument, any number of times; appends to a struct cli_list */
};

/* One long option.  A table of them ends with a name of NULL. */
struct cli_option {
    const char *name; /* without the dashes */
    enum cli_kind kind;
    size_t offset;        /* of the field in the subcommand's struct */
    const char *argument; /* what the help calls the argument; NULL for a flag */
    const char *help;     /* one line */
};

struct cli_command {
    const char *name;
    const char *operands;              /* as in the synopsis: `FILE`, `[LIMIT]` */
    const char *summary;               /* one line */
    const struct cli_option *options;  /* NULL: none but --help */
    int least, most;                   /* operands; most < 0: any number */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; calls cli_parse */
};

/* Every subcommand, in the order of the help; ends with NULL. */
extern const struct cli_command *const cli_commands[];
extern const struct cli_command cli_run, cli_check, cli_explain, cli_replay, cli_suggest, cli_show, cli_top,
    cli_reset, cli_block, cli_unblock;
extern const struct cli_command cli_version, cli_help;

/* Reads argv by the command's table into `values`.  On success `*operand` and `*count` are what is left (argv is permuted)
 * and true is returned.  Else `*code` is the code to exit with; everything to say about it was said. */
bool cli_parse(const struct cli_command *command, int argc, char **argv, void *values, char ***operand, int *count,
               int *code);

/* The command of that name, or NULL. */
const struct cli_command *cli_find(const char *name);
/* Prints the help of a command to stdout, from its table. */
void cli_print_help(const struct cli_command *command);

/* The closest of `count` words to `word` if it is close enough to be meant, else NULL. */
const char *cli_nearest(const char *word, const char *const *words, size_t count);

/* `drossel: ` and the message, with a newline, to stderr. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, for a wrong usage of a command: adds where its help is.  Returns CLI_USAGE. */
int cli_misuse(const struct cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is the file that an option is to write (NULL: none is given, `-`: standard output) one of those that are read?  Then it would be
 * emptied before it is read: true after complaining. */
bool cli_overwrites(const struct cli_command *command, const char *option, const char *written, char *const *read,
                    int count);

/* Prints lines, each ended by one newline however the text ends; nothing for NULL. */
void cli_print_lines(FILE *out, const char *text);

/* Waits and durations as a person reads them: `47 s`, `1.5 s`, `3 min 20 s`, `2 h 5 min`, `never`.  Returns out. */
const char *cli_wait_format(uint64_t ns, char *out, size_t cap);

#endif
