/*
 * What to know before believing a suggestion: what the log cannot tell, and what to do about it.
 */
#include "cli/suggest_findings.h"

#include <string.h>

#include "cli/suggest_proxy.h"

#define SPAN_ENOUGH_NS UINT64_C(86400000000000) /* a day has its busy hours */
#define PEOPLE_ENOUGH 100
#define REFUSED_LEAST 10
#define LINE_SHOWN 100
#define SIX_PART 20 /* one client in so many has an IPv6 address */

static struct prose *warning(struct findings *findings)
{
    static struct prose nowhere;
    if (findings->warnings < WARNINGS_MOST)
        return &findings->warning[findings->warnings++];
    findings->is_short = true;
    return &nowhere;
}

static void warn_of_little(struct findings *findings)
{
    uint64_t span_ns = findings->profile->last_ns - findings->profile->first_ns;
    uint64_t people = findings->clients[CLIENT_PERSON] + findings->clients[CLIENT_UNCLEAR];
    char span[PROSE_COUNT], count[PROSE_COUNT];
    if (span_ns >= SPAN_ENOUGH_NS && people >= PEOPLE_ENOUGH)
        return;
    prose_add(warning(findings),
              "Little to go by: %s of log and %s %s that may be people. The numbers hold for that, and a busier day "
              "will have busier people. "
              "Collect a week, with its busiest day, before anything is enforced.",
              prose_span(span_ns, span), prose_count(people, count), people == 1 ? "client" : "clients");
}

static void warn_of_no_people(struct findings *findings)
{
    if (findings->clients[CLIENT_PERSON] > 0)
        return;
    if (findings->clients[CLIENT_UNCLEAR] == 0)
        prose_add(warning(findings),
                  "No client looks like a person: this log tells how fast machines are, not how much room people need. "
                  "The numbers are usual ones.");
    else
        prose_add(warning(findings),
                  "No client is surely a person; those that may be are taken for people. So a machine that hides well "
                  "makes a number higher than it need be, and no person is hit.");
}

static void warn_of_blindness(struct findings *findings)
{
    if (!findings->person.has_agent)
        prose_add(
            warning(findings),
            "The log has no User-Agent: bots cannot say who they are. Log the combined format, and suggest again.");
    if (!findings->person.has_static)
        prose_add(
            warning(findings),
            "The log has hardly any static files (they are on another host, or not logged): the best sign of a person, "
            "that a browser loads a page with its pictures and styles, is missing.");
}

static void warn_of_proxy(struct findings *findings)
{
    char list[256];
    if (findings->proxy != NULL) {
        prose_add(warning(findings),
                  "Most lines show a proxy's address (%s); the clients were taken from X-Forwarded-For. The proposed "
                  "policy trusts it: "
                  "check that these are your proxies.",
                  findings->proxy);
        return;
    }
    if (!proxy_suspected(findings->profile))
        return;
    proxy_list(findings->profile, list, sizeof list);
    prose_add(warning(findings),
              "Most lines come from a private address (%s). If that is a proxy, the log shows it in place of the "
              "clients, and every number "
              "here is the proxy's. Log the client's: in nginx \"$http_x_forwarded_for\" at the end of log_format, or "
              "the real-IP module; in "
              "Apache \"%%{X-Forwarded-For}i\", or mod_remoteip. If the site calls itself from there, put it under "
              "`exempt: addresses`.",
              list);
}

static void warn_of_limits(struct findings *findings)
{
    uint64_t refused = 0;
    char count[PROSE_COUNT];
    for (uint32_t i = 0; i < findings->profile->count; i++)
        refused += findings->profile->client[i]->refused;
    if (refused >= REFUSED_LEAST)
        prose_add(warning(findings),
                  "%s requests were answered with 429: something limits this site already, and clients that were told "
                  "to slow down "
                  "are slower in this log than they want to be.",
                  prose_count(refused, count));
}

static void warn_of_six(struct findings *findings)
{
    uint32_t six = 0;
    char count[PROSE_COUNT];
    for (uint32_t i = 0; i < findings->profile->count; i++)
        six += memchr(findings->profile->client[i]->name, ':', findings->profile->client[i]->name_size) != NULL;
    if (six > 0 && six * SIX_PART >= findings->profile->count)
        prose_add(warning(findings),
                  "%s clients have IPv6 addresses. They are counted here one by one; a policy takes the whole /64 as "
                  "one client.",
                  prose_count(six, count));
}

static void warn_of_learned(struct findings *findings)
{
    const struct traffic_paths *learned = &findings->signs->learned_login;
    struct prose *text = learned->count > 0 ? warning(findings) : NULL;
    for (size_t i = 0; i < learned->count; i++)
        prose_add(text, "%s%s", i == 0 ? "POST " : ", POST ", learned->item[i].text);
    if (learned->count > 0)
        prose_add(text,
                  " %s taken for a login because many of its answers are 401 or 403; if it is none, take it out of the "
                  "class `login`.",
                  learned->count == 1 ? "is" : "are each");
}

static void warn_of_answers(struct findings *findings)
{
    const uint64_t *requests = findings->profile->requests;
    char count[PROSE_COUNT];
    bool is_there = paths_logins(findings->paths, findings->signs, &(const struct path *){ NULL }, 1) > 0;
    if (requests[TRAFFIC_LOGIN] > 0 && !is_there)
        prose_add(warning(findings),
                  "%s POSTs went to paths of logins that are not there (404): somebody tries doors. No limits for "
                  "logins are proposed.",
                  prose_count(requests[TRAFFIC_LOGIN], count));
    if (requests[TRAFFIC_LOGIN] >= 10 && requests[TRAFFIC_FAILURE] == 0 && is_there)
        prose_add(warning(findings),
                  "None of %s login attempts was answered 400, 401, 403 or 422. Either nobody mistyped, or the "
                  "application answers a wrong password "
                  "like a right one; then failures cannot be counted until it says so (docs/logins.md: outcomes).",
                  prose_count(requests[TRAFFIC_LOGIN], count));
    warn_of_learned(findings);
    if (requests[TRAFFIC_EXPENSIVE] >= TRAFFIC_SOME && !findings->signs->has_costs)
        prose_add(warning(findings),
                  "What is expensive is a guess by names like /search and /export: the log has no times. Log them "
                  "($request_time in nginx, %%D in Apache), and slow paths are found.");
}

static void warn_of_the_end(struct findings *findings)
{
    if (findings->is_part)
        prose_add(warning(findings), "Stopped before the end of the log: these are the figures up to there.");
}

static void warn_of_nothing(struct findings *findings)
{
    const struct logs_facts *facts = findings->facts;
    struct prose *text = warning(findings);
    char count[PROSE_COUNT], line[LINE_SHOWN];
    prose_add(text, "There is no request in it, so there is nothing to suggest.");
    if (facts->unparsed > 0)
        prose_add(text, " %s lines are none of the known formats; --format names one, or gives the log_format string.",
                  prose_count(facts->unparsed, count));
    if (facts->bad_count > 0)
        prose_add(text, " The first: %s",
                  prose_plain(facts->bad[0].text, strlen(facts->bad[0].text), line, sizeof line));
}

static void warn_of_nameless(struct findings *findings)
{
    char count[PROSE_COUNT];
    const struct logs_facts *facts = findings->facts;
    if (facts->without_client == 0 || facts->without_client < facts->records / 100)
        return;
    prose_add(
        warning(findings),
        "%s requests are of nobody that the log names, and count as one client, \"-\". Log the client's address, or "
        "say which field has it (JSON, LTSV, W3C: --map client=NAME; text: --format with the string of the "
        "log_format).",
        prose_count(facts->without_client, count));
}

void findings_warn(struct findings *findings)
{
    warn_of_the_end(findings);
    if (findings->profile->records == 0) {
        warn_of_nothing(findings);
        return;
    }
    warn_of_nameless(findings);
    warn_of_proxy(findings);
    warn_of_little(findings);
    warn_of_no_people(findings);
    warn_of_blindness(findings);
    warn_of_limits(findings);
    warn_of_answers(findings);
    warn_of_six(findings);
}
