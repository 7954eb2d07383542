/*
 * drossel suggest: limits that follow from a log, with the reasons.
 */
#include "cli/cli.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/suggest_report.h"
#include "cli/suggest_survey.h"

struct suggest_values {
    const char *format, *map, *order, *html, *policy;
    bool json, all;
};

static const struct cli_option options[] = {
    { "format", CLI_TEXT, offsetof(struct suggest_values, format), "NAME",
      "of the log: a name, or a log_format string (default: recognised)" },
    { "map", CLI_TEXT, offsetof(struct suggest_values, map), "LIST", "of a JSON log's keys: time=ts,client=ip,..." },
    { "order", CLI_TEXT, offsetof(struct suggest_values, order), "NAME",
      "time (default), or file: take the lines as they stand" },
    { "policy", CLI_TEXT, offsetof(struct suggest_values, policy), "FILE",
      "write the proposed policy there, - for standard output" },
    { "html", CLI_TEXT, offsetof(struct suggest_values, html), "FILE", "write everything as one page for a browser" },
    { "json", CLI_FLAG, offsetof(struct suggest_values, json), NULL, "print everything as one JSON object" },
    { "all", CLI_FLAG, offsetof(struct suggest_values, all), NULL,
      "with --json: every client, not only the busiest 100" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

static FILE *open_output(const char *path)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (out == NULL)
        cli_complain("%s: %s; name a file that can be written", path, strerror(errno));
    return out;
}

/* Half a policy may be a policy of fewer limits, so that nothing is left of it. */
static bool close_output(FILE *out, const char *path, bool good)
{
    good = good && fflush(out) == 0 && ferror(out) == 0;
    int why = errno;
    struct stat about;
    bool is_file = out != stdout && fstat(fileno(out), &about) == 0 && S_ISREG(about.st_mode);
    if (out != stdout && fclose(out) != 0 && good) {
        good = false;
        why = errno;
    }
    bool is_empty = !good && is_file && truncate(path, 0) == 0;
    if (!good)
        cli_complain("%s: could not be written%s: %s", path, is_empty ? ", and is empty now" : "", strerror(why));
    return good;
}

static bool write_policy(const struct findings *findings, const char *path)
{
    struct prose text = { 0 };
    FILE *out = open_output(path);
    if (out == NULL)
        return false;
    policy_write(findings, &text);
    bool good = text.text != NULL && !text.is_short && fwrite(text.text, 1, text.size, out) == text.size;
    free(text.text);
    return close_output(out, path, good);
}

static bool write_page(const struct findings *findings, const char *path)
{
    FILE *out = open_output(path);
    return out != NULL && close_output(out, path, report_html(findings, out));
}

static bool is_wide(void)
{
    setlocale(LC_CTYPE, "");
    bool wide = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setlocale(LC_CTYPE, "C");
    return wide;
}

static bool write_all(const struct findings *findings, const struct suggest_values *values)
{
    bool to_stdout = values->policy != NULL && strcmp(values->policy, "-") == 0, good = true;
    if (values->policy != NULL)
        good = write_policy(findings, values->policy);
    if (values->html != NULL)
        good = write_page(findings, values->html) && good;
    if (values->json)
        return close_output(stdout, "standard output", report_json(findings, values->all, stdout)) && good;
    if (!to_stdout)
        report_print(findings, values->policy, is_wide(), stdout);
    return good;
}

static bool tell(const struct survey *survey, const struct suggest_values *values)
{
    char source[64];
    struct findings *findings = findings_open(survey->profile, survey->paths, &survey->facts);
    if (findings == NULL) {
        cli_complain("no memory to look at so many clients");
        return false;
    }
    const char *slash = strrchr(survey->path[0], '/');
    snprintf(source, sizeof source, "%zu files", survey->count);
    findings->source = survey->count > 1                   ? source
                       : strcmp(survey->path[0], "-") == 0 ? "standard input"
                       : slash != NULL                     ? slash + 1
                                                           : survey->path[0];
    findings->format = survey->format;
    findings->is_part = survey->is_stopped;
    findings->proxy = survey->proxies.count > 0 ? survey->proxies.list : NULL;
    findings_warn(findings);
    findings_propose(findings);
    bool good = write_all(findings, values);
    if (findings->is_short)
        cli_complain("no memory for all of it: something is missing");
    good = good && !findings->is_short;
    findings_close(findings);
    return good;
}

static bool read_order(const char *name, enum logs_order *order)
{
    *order = name != NULL && strcmp(name, "file") == 0 ? LOGS_AS_FILED : LOGS_BY_TIME;
    return name == NULL || strcmp(name, "file") == 0 || strcmp(name, "time") == 0;
}

/* In the other commands --policy names a policy that is read: whoever means that here must not lose it.  What was proposed before,
 * and what is empty or no file, may be written again. */
static bool would_lose_policy(const char *path)
{
    static const char own[] = "# " POLICY_WORDS;
    char head[sizeof own] = "";
    struct stat about;
    if (path == NULL || stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
        return false;
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return false;
    size_t size = fread(head, 1, sizeof own - 1, in);
    fclose(in);
    if (size == sizeof own - 1 && memcmp(head, own, size) == 0)
        return false;
    cli_misuse(&cli_suggest,
               "--policy %s is there, and was not proposed by this command, which would write over it; name a new file",
               path);
    return true;
}

static int run_suggest(int argc, char **argv)
{
    struct suggest_values values = { 0 };
    struct survey survey = { 0 };
    char **operand;
    int count, code;
    if (!cli_parse(&cli_suggest, argc, argv, &values, &operand, &count, &code))
        return code;
    if (!read_order(values.order, &survey.options.order))
        return cli_misuse(&cli_suggest, "there is no order %s; there are time and file", values.order);
    if (values.json && ((values.policy != NULL && strcmp(values.policy, "-") == 0) ||
                        (values.html != NULL && strcmp(values.html, "-") == 0)))
        return cli_misuse(&cli_suggest, "--json wants standard output for itself; give --policy and --html a file");
    if (cli_overwrites(&cli_suggest, "policy", values.policy, operand, count) ||
        cli_overwrites(&cli_suggest, "html", values.html, operand, count) || would_lose_policy(values.policy))
        return CLI_USAGE;
    survey.path = (const char *const *)operand;
    survey.count = (size_t)count;
    survey.options.format = values.format;
    survey.options.map = values.map;
    bool good = survey_run(&survey) && tell(&survey, &values) && !survey.is_damaged;
    code = !good ? CLI_FAILED : survey.is_stopped ? CLI_INTERRUPTED : CLI_DONE;
    survey_release(&survey);
    return code;
}

const struct cli_command cli_suggest = { "suggest",  "LOG...", "limits that follow from a log, with the reasons",
                                         options,    1,        -1,
                                         run_suggest };
