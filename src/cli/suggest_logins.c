/*
 * Limits for logins: failures by account and address, by address, by account alone, and of everybody together.
 *
 * docs/logins.md says what each is for.  An access log has no account names, so only the numbers for an address and for the site can
 * come from it.
 */
#include "cli/suggest_findings.h"

#include <stdio.h>

#define FROM_LEAST 20  /* failures of an address in 10 min: an office on Monday morning */
#define ALARM_LEAST 50 /* of the site in 10 min */
#define ALARM_TIMES 5  /* what people's average 10 min bring */
#define RISING_NS 600000000000.0
#define LOGIN_CLASS "login"

static void propose_near(struct findings *findings)
{
    const uint64_t *requests = findings->profile->requests;
    char failures[PROSE_COUNT], attempts[PROSE_COUNT];
    struct proposal *near = propose(findings, &(struct proposal){ .name = "login",
                                                                  .what = LOGIN_CLASS,
                                                                  .by = "[account, address]",
                                                                  .allow = "5 failures per 15m",
                                                                  .more = "block: 15m\nreset_on: success",
                                                                  .kind = TRAFFIC_FAILURE,
                                                                  .window = -1 });
    if (near == NULL)
        return;
    prose_add(
        &near->reason,
        "One machine that guesses at one account. The log has no account names, so that 5 is the usual number and not "
        "this log's: enough for somebody who mistypes, and a right password clears it. %s of %s login attempts in this "
        "log "
        "failed.",
        prose_count(requests[TRAFFIC_FAILURE], failures), prose_count(requests[TRAFFIC_LOGIN], attempts));
}

/* Failed logins that no limit by address can reach, as their addresses stay below it: in percent. */
static void tell_unreached(const struct findings *findings, struct proposal *from)
{
    uint64_t below = 0, clients = 0, all = findings->profile->requests[TRAFFIC_FAILURE];
    char count[PROSE_COUNT];
    for (uint32_t i = 0; i < findings->profile->count; i++) {
        const struct client *client = findings->profile->client[i];
        if (client_total(client, TRAFFIC_FAILURE) == 0 ||
            client_peak(client, TRAFFIC_FAILURE, from->window) > from->number)
            continue;
        below += client_total(client, TRAFFIC_FAILURE);
        clients++;
    }
    if (all > 0 && below > 0)
        prose_add(
            &from->reason,
            " %.0f%% of all failed logins came from %s %s that %s below it: only the limits by account and for the "
            "whole site can reach those.",
            100.0 * (double)below / (double)all, prose_count(clients, count), clients == 1 ? "address" : "addresses",
            clients == 1 ? "stays" : "stay");
}

static void propose_from(struct findings *findings)
{
    const struct gap *gap = &findings->gap[TRAFFIC_FAILURE][PEAK_10MIN];
    struct proposal from = { .name = "login-from",
                             .what = LOGIN_CLASS,
                             .by = "address",
                             .more = "block: 10m",
                             .kind = TRAFFIC_FAILURE,
                             .window = PEAK_10MIN };
    char count[PROSE_COUNT], name[48];
    from.number = propose_number(gap->people, FROM_LEAST, NULL, 0);
    snprintf(from.allow, sizeof from.allow, "%llu failures per 10m", (unsigned long long)from.number);
    struct proposal *added = propose(findings, &from);
    if (added == NULL)
        return;
    prose_add(&added->reason, "One machine that tries many accounts. ");
    if (gap->person != NULL)
        prose_add(&added->reason, "The most wrong passwords in 10 min from one address of people (%s) were %s. ",
                  prose_plain(gap->person->name, gap->person->name_size, name, sizeof name),
                  prose_count(gap->people, count));
    prose_add(
        &added->reason,
        "%s leaves room for an office. Only failures count, so that forty people with right passwords never meet it.",
        prose_count(added->number, count));
    propose_tell_hits(added);
    tell_unreached(findings, added);
}

static void propose_spray(struct findings *findings)
{
    struct proposal *spray = propose(findings, &(struct proposal){ .name = "login-spray",
                                                                   .what = LOGIN_CLASS,
                                                                   .by = "address",
                                                                   .allow = "10 accounts per 1h",
                                                                   .kind = TRAFFIC_LOGIN,
                                                                   .window = -1 });
    if (spray != NULL)
        prose_add(&spray->reason,
                  "One password tried with many accounts. A person has one account or two; leave this out, or raise "
                  "it to 20, where offices share an address. The usual number, as the log has no account names.");
}

static void propose_slow(struct findings *findings)
{
    struct proposal *slow = propose(findings, &(struct proposal){ .name = "login-slow",
                                                                  .what = LOGIN_CLASS,
                                                                  .by = "account",
                                                                  .allow = "100 failures per 24h",
                                                                  .more = "action: challenge",
                                                                  .kind = TRAFFIC_FAILURE,
                                                                  .window = -1 });
    if (slow != NULL)
        prose_add(
            &slow->reason,
            "A botnet that guesses at one account, each address once or twice. It never blocks, or whoever knows an "
            "e-mail address could lock its owner out: the application is told to ask for more.");
}

/* What 10 minutes bring on average from those who are no machines. */
static double usual_failures(const struct findings *findings)
{
    uint64_t human = 0, span_ns = findings->profile->last_ns - findings->profile->first_ns;
    for (uint32_t i = 0; i < findings->profile->count; i++)
        if (findings->profile->client[i]->kind <= CLIENT_UNCLEAR)
            human += client_total(findings->profile->client[i], TRAFFIC_FAILURE);
    double spans = (double)span_ns / RISING_NS;
    return (double)human / (spans > 1 ? spans : 1);
}

static void propose_alarm(struct findings *findings)
{
    double usual = usual_failures(findings);
    uint64_t busiest = findings->profile->site_failures.most[PEAK_10MIN];
    struct proposal alarm = { .name = "login-alarm",
                              .what = LOGIN_CLASS,
                              .by = "site",
                              .more = "action: challenge",
                              .kind = TRAFFIC_FAILURE,
                              .window = -1 };
    char count[PROSE_COUNT];
    uint64_t wanted = (uint64_t)(usual * ALARM_TIMES) + 1;
    alarm.number = propose_round_up(wanted > ALARM_LEAST ? wanted : ALARM_LEAST);
    snprintf(alarm.allow, sizeof alarm.allow, "%llu failures per 10m", (unsigned long long)alarm.number);
    struct proposal *added = propose(findings, &alarm);
    if (added != NULL)
        prose_add(&added->reason,
                  "A botnet that tries many accounts, where neither an address nor an account stands out. Those who "
                  "are no machines failed "
                  "%.0f %s in 10 min on average; the site's busiest 10 min had %s failed logins in all.%s",
                  usual, usual >= 0.5 && usual < 1.5 ? "time" : "times", prose_count(busiest, count),
                  busiest > added->number ? " It would have asked for more then." : "");
}

void findings_propose_logins(struct findings *findings)
{
    propose_near(findings);
    propose_from(findings);
    propose_spray(findings);
    propose_slow(findings);
    propose_alarm(findings);
}
