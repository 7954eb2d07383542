/*
 * What a log says about each of its clients: how much, how fast, and how he behaves.
 *
 * A client is the text that the log has for him.  Memory grows with clients, and with the busiest ten minutes of each; never with
 * lines.
 */
#ifndef DROSSEL_CLI_SUGGEST_PROFILE_H
#define DROSSEL_CLI_SUGGEST_PROFILE_H

#include "cli/suggest_agents.h"
#include "cli/suggest_peak.h"
#include "cli/suggest_traffic.h"

#define CLIENT_AGENTS_KEPT 3

/* What a client seems to be; suggest_person.h says how that is found. */
enum client_kind {
    CLIENT_PERSON,   /* a browser, and behaves like one */
    CLIENT_UNCLEAR,  /* too little, or nothing that tells; treated like people where numbers are chosen */
    CLIENT_MACHINE,  /* does not say so but behaves like one */
    CLIENT_BOT,      /* says itself that it is one */
    CLIENT_KINDS
};

struct client {
    char *name;                       /* ends with NUL, may hold others */
    uint32_t name_size;
    uint32_t agent_number[CLIENT_AGENTS_KEPT], agent_count; /* different ones; at most so many are told apart */
    const char *agent;                /* the first one that is remembered; NULL: none */
    uint64_t first_ns, last_ns;
    uint64_t bot_lines, browser_lines, no_agent;
    uint64_t refused;                 /* answers of 429 */
    uint64_t missed;                  /* 404 and 410 */
    uint64_t documents;               /* pages that are no login attempt and no API call */
    uint64_t referred;                /* pages with a Referer */
    uint64_t same;                    /* pages with the same path as the page before */
    uint64_t path_hash;               /* of the last page */
    uint64_t page_ns;                 /* when that was */
    uint64_t gaps;                    /* between one page and the next, up to a minute: their number, mean and squared deviation */
    double gap_mean_s, gap_square;
    bool asked_robots;                /* for robots.txt */
    enum client_kind kind;
    char why[96];                     /* in words; see suggest_person.h */
    struct peak *peak[TRAFFIC_KINDS]; /* NULL: no such request */
};

struct profile {
    const struct traffic_signs *signs; /* borrowed */
    struct agents *agents;
    struct client **client;            /* in the order of appearance */
    uint32_t count, cap;
    uint32_t *slot, slots;             /* open addressing: index + 1 */
    unsigned char secret[16];
    uint64_t records, bot_lines, no_agent;
    uint64_t first_ns, last_ns;
    uint64_t requests[TRAFFIC_KINDS];
    struct peak site_failures;         /* wrong passwords of everybody */
};

struct profile *profile_open(const struct traffic_signs *signs); /* NULL without memory */
void profile_close(struct profile *profile);

/* One more record of `client`; times never go back.  False without memory. */
bool profile_arrive(struct profile *profile, const struct log_record *record, struct drossel_text client);

/* Forgets the peaks of these kinds of traffic (TRAFFIC_BITs), and counts only them from now on: for a second look, when more is known
 * about what is what. */
void profile_again(struct profile *profile, unsigned kinds);
bool profile_arrive_again(struct profile *profile, const struct log_record *record, struct drossel_text client,
                          unsigned kinds);

/* 0 where there was no such request. */
uint64_t client_total(const struct client *client, enum traffic kind);
uint64_t client_peak(const struct client *client, enum traffic kind, int window);

#endif
