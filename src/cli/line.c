/*
 * The command line: reads options by a command's table, prints help from the same table, finds what was meant.
 */
#include "cli/cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/plain.h"

#define OPTIONS_MAX 24
#define WORD_MAX 40
#define HELP_COLUMN 26

void cli_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("drossel: ", stderr);
    plain_vprint(stderr, true, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

int cli_misuse(const struct cli_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "drossel %s: ", command->name);
    plain_vprint(stderr, true, format, arguments);
    fprintf(stderr, "\nusage: drossel %s [OPTION]... %s (`drossel %s --help` explains)\n", command->name,
            command->operands, command->name);
    va_end(arguments);
    return CLI_USAGE;
}

bool cli_overwrites(const struct cli_command *command, const char *option, const char *written, char *const *read,
                    int count)
{
    struct stat out, in;
    if (written == NULL || strcmp(written, "-") == 0 || stat(written, &out) != 0 || !S_ISREG(out.st_mode))
        return false;
    for (int i = 0; i < count; i++) {
        if (read[i] == NULL || stat(read[i], &in) != 0 || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
            continue;
        cli_misuse(command, "--%s %s is a file that is read; name another one to write", option, written);
        return true;
    }
    return false;
}

/* Levenshtein distance of two short words; one row is enough. */
static size_t distance(const char *left, const char *right)
{
    size_t row[WORD_MAX + 1], width = strlen(right);
    if (width > WORD_MAX)
        return WORD_MAX;
    for (size_t x = 0; x <= width; x++)
        row[x] = x;
    for (size_t y = 1; left[y - 1] != '\0'; y++) {
        size_t diagonal = row[0];
        row[0] = y;
        for (size_t x = 1; x <= width; x++) {
            size_t best = diagonal + (left[y - 1] != right[x - 1]);
            diagonal = row[x];
            if (row[x] + 1 < best)
                best = row[x] + 1;
            if (row[x - 1] + 1 < best)
                best = row[x - 1] + 1;
            row[x] = best;
        }
    }
    return row[width];
}

const char *cli_nearest(const char *word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t least = strlen(word) <= 3 ? 2 : 3; /* fewer edits than this may be a slip of the finger */
    for (size_t i = 0; i < count; i++) {
        size_t edits = distance(word, words[i]);
        if (edits < least) {
            least = edits;
            nearest = words[i];
        }
    }
    return nearest;
}

static size_t option_count(const struct cli_command *command)
{
    size_t count = 0;
    while (command->options != NULL && command->options[count].name != NULL)
        count++;
    return count;
}

/* getopt's own table; index i of the command's is i here, --help comes last. */
static void long_options(const struct cli_command *command, struct option out[OPTIONS_MAX])
{
    size_t count = option_count(command);
    for (size_t i = 0; i < count; i++) {
        int argument = command->options[i].kind == CLI_FLAG     ? no_argument
                       : command->options[i].kind == CLI_NUMBER ? optional_argument
                                                                : required_argument;
        out[i] = (struct option){ command->options[i].name, argument, NULL, (int)i + 1 };
    }
    out[count] = (struct option){ "help", no_argument, NULL, 'h' };
    out[count + 1] = (struct option){ NULL, 0, NULL, 0 };
}

static int unknown_option(const struct cli_command *command, const char *given, int missing)
{
    const char *names[OPTIONS_MAX], *equals = strchr(given, '=');
    char word[WORD_MAX];
    size_t count = option_count(command);
    if (missing != 0)
        return cli_misuse(command, "%s needs an argument", given);
    for (size_t i = 0; i < count; i++)
        names[i] = command->options[i].name;
    names[count] = "help";
    const char *bare = given + strspn(given, "-");
    snprintf(word, sizeof word, "%.*s", equals != NULL ? (int)(equals - bare) : (int)strlen(bare), bare);
    const char *nearest = cli_nearest(word, names, count + 1);
    if (nearest != NULL && strcmp(nearest, word) == 0)
        return cli_misuse(command, "--%s takes no argument", word);
    if (nearest != NULL)
        return cli_misuse(command, "there is no option %s; did you mean --%s?", given, nearest);
    return cli_misuse(command, "there is no option %s", given);
}

/* What stands in the command line, as getopt leaves its variables.  Behind the first letter of `-5s` it has not moved on yet. */
static int refuse_option(const struct cli_command *command, char **argv, int found)
{
    char letter[3] = { '-', optopt > 0 ? (char)optopt : '?', '\0' }; /* below 0: not ASCII */
    bool long_option =
        (optopt >= 0 && optopt < ' ') || optopt == 'h'; /* long ones have their number, --help its letter */
    return unknown_option(command, long_option ? argv[optind - 1] : letter, found == ':');
}

static bool store_value(const struct cli_option *option, void *values, const char *text)
{
    char *field = (char *)values + option->offset;
    if (option->kind == CLI_FLAG) {
        *(bool *)(void *)field = true;
        return true;
    }
    if (option->kind == CLI_TEXT || option->kind == CLI_NUMBER) {
        *(const char **)(void *)field = text != NULL ? text : "";
        return true;
    }
    struct cli_list *list = (struct cli_list *)(void *)field;
    if (list->count == CLI_LIST_MOST)
        return false;
    list->item[list->count++] = text;
    return true;
}

static bool is_number(const char *word)
{
    return *word != '\0' && strspn(word, "0123456789.") == strlen(word);
}

static int check_operands(const struct cli_command *command, int count)
{
    if (count < command->least)
        return cli_misuse(command, "%s is missing", command->operands);
    if (command->most >= 0 && count > command->most)
        return cli_misuse(command, "too many operands: %d; %d would be right", count, command->most);
    return CLI_DONE;
}

bool cli_parse(const struct cli_command *command, int argc, char **argv, void *values, char ***operand, int *count,
               int *code)
{
    struct option options[OPTIONS_MAX];
    long_options(command, options);
    opterr = 0;
    optind = 0; /* glibc: start anew */
    int found;
    while ((found = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (found == 'h') {
            cli_print_help(command);
            *code = CLI_DONE;
            return false;
        }
        if (found == '?' || found == ':') {
            *code = refuse_option(command, argv, found);
            return false;
        }
        const struct cli_option *option = &command->options[found - 1];
        if (option->kind == CLI_NUMBER && optarg == NULL && optind < argc && is_number(argv[optind]))
            optarg = argv[optind++];
        if (!store_value(option, values, optarg)) {
            *code = cli_misuse(command, "--%s more than %d times", option->name, CLI_LIST_MOST);
            return false;
        }
    }
    *operand = argv + optind;
    *count = argc - optind;
    *code = check_operands(command, *count);
    return *code == CLI_DONE;
}

static void print_option(const char *name, const char *argument, const char *help)
{
    int width = printf("  --%s%s%s", name, argument != NULL ? " " : "", argument != NULL ? argument : "");
    printf("%*s%s\n", width < HELP_COLUMN ? HELP_COLUMN - width : 2, "", help);
}

void cli_print_help(const struct cli_command *command)
{
    printf("usage: drossel %s [OPTION]... %s\n%s\n\n", command->name, command->operands, command->summary);
    for (size_t i = 0; i < option_count(command); i++)
        print_option(command->options[i].name, command->options[i].argument, command->options[i].help);
    print_option("help", NULL, "this text");
    printf("\nThe whole story: man drossel-%s\n", command->name);
}

void cli_print_lines(FILE *out, const char *text)
{
    size_t size = text != NULL ? strlen(text) : 0;
    if (size > 0)
        plain_print(out, true, "%s%s", text, text[size - 1] == '\n' ? "" : "\n");
}

static const char *two_units(uint64_t total_s, char *out, size_t cap)
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } unit[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
    size_t i = 0;
    while (total_s < unit[i].seconds)
        i++;
    uint64_t rest = total_s % unit[i].seconds;
    if (unit[i].seconds == 1 || rest / unit[i + 1].seconds == 0)
        snprintf(out, cap, "%llu %s", (unsigned long long)(total_s / unit[i].seconds), unit[i].name);
    else
        snprintf(out, cap, "%llu %s %llu %s", (unsigned long long)(total_s / unit[i].seconds), unit[i].name,
                 (unsigned long long)(rest / unit[i + 1].seconds), unit[i + 1].name);
    return out;
}

const char *cli_wait_format(uint64_t ns, char *out, size_t cap)
{
    if (ns == UINT64_MAX)
        snprintf(out, cap, "never");
    else if (ns < UINT64_C(60000000000))
        snprintf(out, cap, "%.3g s", (double)ns / 1e9);
    else
        return two_units((ns + 999999999) / 1000000000, out, cap);
    return out;
}
