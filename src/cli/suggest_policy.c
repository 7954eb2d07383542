/*
 * The proposal as a policy: complete, commented, and all of it a dry run.
 *
 * Whatever comes from the log is a path or an address that was looked at: paths are written only if they are plain (suggest_paths.c),
 * names of clients only as prose_plain has them, so that nobody who writes into a log writes into a policy.
 */
#include "cli/suggest_findings.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 100
#define LOGINS_SHOWN 8

/* Sentences as comments, broken at blanks. */
static void write_comment(struct prose *out, const char *indent, const char *text)
{
    size_t room = WIDTH - strlen(indent) - 2;
    while (*text != '\0') {
        size_t size = strlen(text);
        if (size > room) {
            size = room;
            while (size > 0 && text[size] != ' ')
                size--;
            size = size > 0 ? size : room;
        }
        prose_add(out, "%s# %.*s\n", indent, (int)size, text);
        text += size;
        text += *text == ' ';
    }
}

static void write_head(const struct findings *findings, struct prose *out)
{
    const struct profile *profile = findings->profile;
    struct prose head = { 0 };
    char first[PROSE_COUNT], last[PROSE_COUNT], requests[PROSE_COUNT], clients[PROSE_COUNT], source[80];
    prose_add(&head, POLICY_WORDS " from %s: %s requests of %s clients, %s to %s UTC.",
              prose_plain(findings->source, strlen(findings->source), source, sizeof source),
              prose_count(profile->records, requests), prose_count(profile->count, clients),
              prose_time(profile->first_ns, first), prose_time(profile->last_ns, last));
    if (head.text != NULL)
        write_comment(out, "", head.text);
    write_comment(
        out, "",
        "Every limit is a dry run: it counts, logs and marks, and refuses nobody. Look at whom it would have refused "
        "(`drossel replay --policy THIS LOG`, then live `drossel show --dry-run`); when those are the right ones, take "
        "the line "
        "`dry_run: true` out of that limit and reload.");
    free(head.text);
    prose_add(out, "version: 1\n\n");
}

static bool is_used(const struct findings *findings, const char *class)
{
    for (size_t i = 0; i < findings->proposals; i++)
        if (strstr(findings->proposal[i].what, class) != NULL)
            return true;
    return false;
}

/* `::1, 10.0.0.1`; YAML takes what begins with a colon for no plain text. */
static void write_addresses(const char *list, struct prose *out)
{
    for (const char *at = list; *at != '\0'; at += strspn(at, ", ")) {
        size_t size = strcspn(at, ",");
        const char *quote = *at == ':' ? "'" : "";
        prose_add(out, "%s%s%.*s%s", at > list ? ", " : "", quote, (int)size, at, quote);
        at += size;
    }
}

static void write_client(const struct findings *findings, struct prose *out)
{
    if (findings->proxy == NULL && !is_used(findings, "login"))
        return;
    prose_add(out, "client:\n");
    if (findings->proxy != NULL) {
        prose_add(out, "  trusted: [");
        write_addresses(findings->proxy, out);
        prose_add(out, "]               # the proxy in front: check that it is yours\n"
                       "  address_from: X-Forwarded-For\n");
    }
    if (is_used(findings, "login"))
        prose_add(
            out,
            "  # Where the name stands that somebody tries; the first that is there wins. Leave only yours.\n"
            "  account_from: [form.email, form.username, form.user, form.log, json.email, json.username, basic]\n");
    prose_add(out, "\n");
}

static void write_static(struct prose *out)
{
    size_t at = 0;
    prose_add(out, "  static:\n    path_ends: [");
    for (size_t i = 0; traffic_static_ending[i] != NULL; i++) {
        bool is_last = traffic_static_ending[i + 1] == NULL;
        at += strlen(traffic_static_ending[i]) + 3;
        prose_add(out, ".%s%s", traffic_static_ending[i],
                  is_last           ? "]\n"
                  : at > WIDTH - 26 ? ",\n                "
                                    : ", ");
        if (at > WIDTH - 26)
            at = 0;
    }
}

static void write_login(const struct findings *findings, struct prose *out)
{
    const struct path *login[LOGINS_SHOWN];
    size_t count = paths_logins(findings->paths, findings->signs, login, LOGINS_SHOWN);
    prose_add(out,
              "  login: # where passwords are tried in this log, the busiest first\n    method: POST\n    path:\n");
    for (size_t i = 0; i < count; i++)
        prose_add(out, "      - \"%s\"\n", login[i]->text);
}

static void write_expensive(const struct findings *findings, struct prose *out)
{
    const struct traffic_paths *paths = &findings->signs->learned_costly;
    if (!findings->signs->has_costs) {
        prose_add(out,
                  "  expensive: # a guess by names, as the log has no times: put your slow paths here\n    "
                  "path_matches: '%s'\n",
                  traffic_expensive_pattern);
        return;
    }
    prose_add(out, "  expensive: # slow, or rarely answered by the cache, in this log\n    path_begins:\n");
    for (size_t i = 0; i < paths->count; i++)
        prose_add(out, "      - \"%s\"\n", paths->item[i].text);
}

static void write_classes(const struct findings *findings, struct prose *out)
{
    prose_add(out, "classes:\n");
    write_static(out);
    if (is_used(findings, "login"))
        write_login(findings, out);
    if (is_used(findings, "api"))
        prose_add(out, "  api:\n    path_matches: '%s'\n", traffic_api_pattern);
    if (is_used(findings, "expensive"))
        write_expensive(findings, out);
    prose_add(out, "\n");
}

static void write_more(const char *more, struct prose *out)
{
    while (more != NULL && *more != '\0') {
        size_t size = strcspn(more, "\n");
        prose_add(out, "    %.*s\n", (int)size, more);
        more += size + (more[size] == '\n');
    }
}

static void write_limit(const struct proposal *proposal, struct prose *out)
{
    prose_add(out, "  %s:\n", proposal->name);
    if (proposal->reason.text != NULL)
        write_comment(out, "    ", proposal->reason.text);
    prose_add(out, "    for: %s\n    by: %s\n    allow: %s\n", proposal->what, proposal->by, proposal->allow);
    write_more(proposal->more, out);
    prose_add(out, "    dry_run: true\n");
}

void policy_write(const struct findings *findings, struct prose *out)
{
    write_head(findings, out);
    if (findings->proposals == 0) {
        prose_add(out, "limits: {}\n");
        return;
    }
    write_client(findings, out);
    write_classes(findings, out);
    prose_add(out, "limits:\n");
    for (size_t i = 0; i < findings->proposals; i++) {
        prose_add(out, "%s", i > 0 ? "\n" : "");
        write_limit(&findings->proposal[i], out);
    }
}
