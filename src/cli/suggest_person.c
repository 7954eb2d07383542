/*
 * Who is a person?
 */
#include "cli/suggest_person.h"

#include <math.h>
#include <stdio.h>

#define STATIC_LEAST 20   /* static files, before a log counts as having them, */
#define STATIC_SHARE 50   /* and one in so many lines */
#define AGENTLESS_LEAST 5 /* requests without an agent */
#define GUESSES_LEAST 3   /* wrong passwords of one who sends nothing else */
#define GUESSES_MANY 20   /* wrong passwords, whatever else */
#define GAPS_LEAST 20     /* between pages, before their evenness means something */
#define GAPS_EVEN 0.25    /* standard deviation against mean */
#define PAGES_BARE 20     /* pages without any static file, */
#define REFERRED_FEW 10   /* and hardly a Referer, one in so many: a browser may have all static files in its cache */
#define SAME_LEAST 30     /* of the same page in 10 s */
#define PACE_MOST 100     /* pages in 10 s by one browser */

const char *const client_kind_name[CLIENT_KINDS] = { "person", "unclear", "machine", "bot" };
const char *const client_kind_label[CLIENT_KINDS] = { "people", "unclear", "machines", "bots by name" };

struct person_signs person_signs_of(const struct profile *profile)
{
    uint64_t files = profile->requests[TRAFFIC_STATIC];
    return (struct person_signs){ profile->no_agent < profile->records,
                                  files >= STATIC_LEAST && files * STATIC_SHARE >= profile->records };
}

static bool is_bot(struct client *client)
{
    uint64_t named = client_total(client, TRAFFIC_ALL) - client->no_agent;
    snprintf(client->why, sizeof client->why, "its agent says so");
    return named > 0 && client->bot_lines * 2 > named;
}

static bool has_no_agent(struct client *client, const struct person_signs *signs)
{
    uint64_t total = client_total(client, TRAFFIC_ALL);
    snprintf(client->why, sizeof client->why, "sends no agent, in %llu requests", (unsigned long long)total);
    return signs->has_agent && total >= AGENTLESS_LEAST && client->no_agent == total;
}

static bool only_guesses(struct client *client)
{
    uint64_t tries = client_total(client, TRAFFIC_LOGIN), wrong = client_total(client, TRAFFIC_FAILURE);
    bool nothing_else = tries == client_total(client, TRAFFIC_ALL);
    snprintf(client->why, sizeof client->why, "%llu of %llu passwords wrong%s", (unsigned long long)wrong,
             (unsigned long long)tries, nothing_else ? ", and asks for nothing else" : "");
    return wrong * 20 >= tries * 19 && wrong >= (nothing_else ? GUESSES_LEAST : GUESSES_MANY);
}

static bool is_even(struct client *client)
{
    if (client->gaps < GAPS_LEAST || client_total(client, TRAFFIC_STATIC) > 0)
        return false;
    snprintf(client->why, sizeof client->why, "asks every %.3g s, like a clock", client->gap_mean_s);
    return sqrt(client->gap_square / (double)client->gaps) < GAPS_EVEN * client->gap_mean_s;
}

static bool asks_the_same(struct client *client)
{
    uint64_t peak = client_peak(client, TRAFFIC_PAGE, PEAK_10S);
    snprintf(client->why, sizeof client->why, "the same page again and again, %llu times in 10 s",
             (unsigned long long)peak);
    return peak >= SAME_LEAST && client->same * 20 >= client_total(client, TRAFFIC_PAGE) * 19;
}

static bool is_too_fast(struct client *client)
{
    uint64_t peak = client_peak(client, TRAFFIC_PAGE, PEAK_10S);
    snprintf(client->why, sizeof client->why, "%llu pages in 10 s by one browser", (unsigned long long)peak);
    return peak >= PACE_MOST && client->agent_count == 1 && client_total(client, TRAFFIC_API) == 0;
}

static bool reads_bare(struct client *client, const struct person_signs *signs)
{
    if (!signs->has_static || client_total(client, TRAFFIC_STATIC) > 0)
        return false;
    if (client->asked_robots) {
        snprintf(client->why, sizeof client->why, "read robots.txt, and never a static file");
        return true;
    }
    snprintf(client->why, sizeof client->why, "%llu pages, and never a picture, style sheet or script",
             (unsigned long long)client->documents);
    return client->documents >= PAGES_BARE && client->referred * REFERRED_FEW < client->documents;
}

static bool is_person(struct client *client, const struct person_signs *signs)
{
    uint64_t named = client_total(client, TRAFFIC_ALL) - client->no_agent;
    bool is_browser = signs->has_agent ? client->browser_lines * 2 > named : true;
    snprintf(client->why, sizeof client->why, "%s%s", signs->has_agent ? "a browser" : "loads pages",
             signs->has_agent ? " that loads pages with their static files" : " with their static files");
    return is_browser && client->documents > 0 && client_total(client, TRAFFIC_STATIC) > 0;
}

static enum client_kind kind_of(struct client *client, const struct person_signs *signs)
{
    if (is_bot(client))
        return CLIENT_BOT;
    if (has_no_agent(client, signs) || only_guesses(client) || is_even(client) || asks_the_same(client) ||
        is_too_fast(client) || reads_bare(client, signs))
        return CLIENT_MACHINE;
    if (is_person(client, signs))
        return CLIENT_PERSON;
    snprintf(client->why, sizeof client->why, "%s",
             signs->has_static ? "too little to tell" : "nothing in this log tells");
    return CLIENT_UNCLEAR;
}

void person_judge(struct client *client, const struct person_signs *signs)
{
    client->kind = kind_of(client, signs);
}
