/*
 * drossel explain: reads the question and asks the table.  Charges nothing.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/door.h"
#include "cli/explain.h"
#include "cli/live.h"
#include "cli/plain.h"
#include "limiter.h"

#define PATH_BYTES 8192

struct explain_values {
    const char *peer, *address, *account, *token, *host, *cost, *door, *table;
    bool private_table;
    struct cli_list headers;
};

#define TEXT(name, argument, help)                                                                                     \
    {                                                                                                                  \
#name, CLI_TEXT, offsetof(struct explain_values, name), argument, help                                         \
    }
static const struct cli_option options[] = {
    TEXT(peer, "ADDRESS", "the other end of the connection (default 127.0.0.1)"),
    TEXT(address, "ADDRESS", "the client's address as it is, without recovery"),
    { "header", CLI_LIST, offsetof(struct explain_values, headers), "'NAME: VALUE'",
      "a header line; may be given again" },
    TEXT(account, "NAME", "the account that is asked for"),
    TEXT(token, "TOKEN", "the token that came with it"),
    TEXT(host, "NAME", "the host that was asked"),
    TEXT(cost, "N", "times what a request costs (default 1)"),
    TEXT(door, "NAME", "where it arrives: nginx (default), library, haproxy, redis, php, envoy, forward-auth"),
    TEXT(table, "PATH", "ask this table instead of the policy's"),
    { "private", CLI_FLAG, offsetof(struct explain_values, private_table), NULL, "ask an empty table" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* What is asked: the request, and the memory that its texts live in. */
struct question {
    struct drossel_request request;
    struct drossel_header header[CLI_LIST_MOST];
    char path[PATH_BYTES];
};

static struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, text != NULL ? strlen(text) : 0 };
}

/* `Name: value` to a header; false if there is no colon or no name. */
static bool parse_header(const char *line, struct drossel_header *header)
{
    const char *colon = strchr(line, ':');
    if (colon == NULL || colon == line || memchr(line, ' ', (size_t)(colon - line)) != NULL)
        return false;
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t size = strlen(value);
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
        size--;
    header->name = (struct drossel_text){ line, (size_t)(colon - line) };
    header->value = (struct drossel_text){ value, size };
    return true;
}

static int take_headers(const struct cli_list *list, struct question *question)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!parse_header(list->item[i], &question->header[i]))
            return cli_misuse(&cli_explain, "--header '%s': write 'Name: value'", list->item[i]);
        struct drossel_text name = question->header[i].name;
        if (name.size == 4 && strncasecmp(name.data, "host", 4) == 0 && question->request.host.size == 0)
            question->request.host = door_host(question->header[i].value);
    }
    question->request.headers = question->header;
    question->request.header_count = list->count;
    return CLI_DONE;
}

/* Of a line as it stands in a log what comes behind the target is not part of it. */
static void cut_version(char *target)
{
    char *space = strrchr(target, ' ');
    if (space != NULL && strncmp(space, " HTTP/", 6) == 0)
        *space = '\0';
}

/* The host of a target that is a whole URI, which counts and not the header's.  False: it is none. */
static bool take_uri_host(const char *target, struct drossel_request *request)
{
    bool is_uri = strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0;
    if (!is_uri)
        return false;
    const char *host = strstr(target, "://") + 3;
    request->host = door_host((struct drossel_text){ host, strcspn(host, "/?#") });
    return true;
}

/* `POST /login`, or only a path. */
static int take_line(char *line, struct question *question)
{
    cut_version(line);
    char *space = *line == '/' ? NULL : strchr(line, ' ');
    char *path = space != NULL ? space + 1 : line;
    if (space == line || (*path != '/' && *path != '*' && !take_uri_host(path, &question->request)))
        return cli_misuse(&cli_explain, "'%s' is no request; write one like 'POST /login'", line);
    question->request.method = (struct drossel_text)DROSSEL_TEXT("GET");
    if (space != NULL) {
        question->request.method = (struct drossel_text){ line, (size_t)(space - line) };
        for (char *c = line; c < space; c++)
            *c = (char)toupper((unsigned char)*c);
    }
    size_t size = strlen(path);
    if (size > sizeof question->path)
        return cli_misuse(&cli_explain, "the path has %zu bytes; at most %zu", size, sizeof question->path);
    question->request.path.size = drossel_path_normalise(text_of(path), question->path, sizeof question->path);
    question->request.path.data = question->path;
    return CLI_DONE;
}

static int take_address(const char *option, const char *text, struct drossel_address *address)
{
    if (text == NULL || drossel_address_parse(text, strlen(text), address) == DROSSEL_OK)
        return CLI_DONE;
    return cli_misuse(&cli_explain, "%s '%s' is no address; write one like 203.0.113.7 or 2001:db8::1", option, text);
}

static int take_cost(const char *text, uint64_t *cost)
{
    char *end;
    if (text == NULL)
        return CLI_DONE;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end != '\0' || !isdigit((unsigned char)*text) || errno != 0 || value == DROSSEL_ASK)
        return cli_misuse(&cli_explain, "--cost %s: write a whole number", text);
    *cost = value == 0 ? DROSSEL_ASK : value;
    return CLI_DONE;
}

static int take_question(const struct explain_values *values, char *line, struct question *question)
{
    struct drossel_request *request = &question->request;
    request->host = door_host(text_of(values->host));
    request->account = text_of(values->account);
    request->token = text_of(values->token);
    const char *peer = values->peer != NULL || values->address != NULL ? values->peer : "127.0.0.1";
    int code = take_line(line, question);
    if (code == CLI_DONE)
        code = take_address("--peer", peer, &request->peer);
    if (code == CLI_DONE)
        code = take_address("--address", values->address, &request->address);
    if (code == CLI_DONE)
        code = take_cost(values->cost, &request->extra_cost);
    if (code == CLI_DONE)
        code = take_headers(&values->headers, question);
    if (code == CLI_DONE && !door_parse(values->door, &request->door))
        code = cli_misuse(&cli_explain, "there is no door %s; there are %s", values->door, door_names());
    return code;
}

static struct table *private_table(char *error, size_t cap)
{
    struct table_options private = { .keys = TABLE_KEYS_MIN, .no_stats = true, .group = (gid_t)-1, .owner = (uid_t)-1 };
    return table_open(&private, error, cap);
}

/* The policy's table if there is one that can be read, else an empty one; says which. */
static struct table *open_table(const struct explain_values *values, const struct policy *policy)
{
    char path[PATH_BYTES], error[1024] = "";
    struct table_options wanted = {
        .path = path, .existing_only = true, .any_size = true, .group = (gid_t)-1, .owner = (uid_t)-1
    };
    struct table *table = NULL;
    if (!values->private_table) {
        if (values->table != NULL)
            wanted.path = values->table;
        else if (!live_path(policy, path, sizeof path))
            path[0] = '\0';
        table = table_open(&wanted, error, sizeof error);
        if (table == NULL && values->table != NULL) {
            cli_complain("%s", error);
            return NULL;
        }
    }
    explain_label("table");
    if (table != NULL)
        plain_print(stdout, true, "%s\n", wanted.path);
    else
        plain_print(stdout, true, "an empty one of this command%s%s\n",
                    *error != '\0' ? ", as there is none to look at: " : "", error);
    if (table == NULL && (table = private_table(error, sizeof error)) == NULL)
        cli_complain("%s", error);
    return table;
}

static int explain(const struct explain_values *values, const struct policy *policy, struct question *question)
{
    char error[1024] = "";
    struct table *table = open_table(values, policy);
    if (table == NULL)
        return CLI_FAILED;
    int code = CLI_FAILED;
    struct limiter *limiter = limiter_open(policy, table, error, sizeof error);
    if (limiter == NULL) {
        cli_complain("%s", error);
    } else {
        /* Asked at no cost: says whether it is exempt, banned or not trusted, and writes nothing. */
        struct drossel_request ask = question->request;
        struct drossel_decision decision;
        question->request.now_ns = ask.now_ns = table_now(table);
        ask.extra_cost = DROSSEL_ASK;
        if (limiter_check(limiter, &ask, &decision) == DROSSEL_OK) {
            explain_tell(limiter, &question->request, &decision);
            code = CLI_DONE;
        } else {
            cli_complain("the table could not be asked");
        }
        limiter_close(limiter);
    }
    table_close(table);
    return code;
}

static int run_explain(int argc, char **argv)
{
    struct explain_values values = { 0 };
    static struct question question;
    char **operand;
    int count, code;
    if (!cli_parse(&cli_explain, argc, argv, &values, &operand, &count, &code))
        return code;
    code = take_question(&values, operand[1], &question);
    if (code != CLI_DONE)
        return code;
    struct policy *policy = live_policy(operand[0], false);
    if (policy == NULL)
        return CLI_FAILED;
    code = explain(&values, policy, &question);
    policy_close(policy);
    return code;
}

const struct cli_command cli_explain = {
    "explain", "FILE 'METHOD PATH'", "what would happen to one request, and why; charges nothing", options, 2,
    2,         run_explain
};
