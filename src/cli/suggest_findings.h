/*
 * What a log comes to: who is who, how peaks are spread, where people end and machines begin, and the limits that follow.
 *
 * Everything that is shown, as text, JSON or page, is shown from this.
 */
#ifndef DROSSEL_CLI_SUGGEST_FINDINGS_H
#define DROSSEL_CLI_SUGGEST_FINDINGS_H

#include "cli/suggest_paths.h"
#include "cli/suggest_profile.h"
#include "cli/suggest_person.h"
#include "cli/suggest_spread.h"
#include "cli/suggest_prose.h"

/* Where the busiest person ends and machines begin, for one kind of traffic and one window. */
struct gap {
    uint64_t people;             /* the most of somebody who is or may be a person; 0: there is nobody */
    uint64_t people_next;        /* of the second of them */
    const struct client *person; /* who that is; NULL: nobody */
    uint64_t machine;            /* the least of a machine that is above; 0: none is */
    uint64_t machine_most;       /* the most of any machine; 0: there is none */
    uint64_t machines_above;     /* machines above the busiest person */
    uint64_t machines;           /* with such requests */
};

/* A client that exceeded a proposed number. */
struct hit {
    const struct client *client;
    uint64_t peak;
};

/* One limit of the proposal. */
struct proposal {
    const char *name;            /* in the policy */
    const char *what;            /* `for:` */
    const char *by;              /* `by:` */
    char allow[64];
    const char *more;            /* further keys, as in `action: challenge`; NULL: none */
    struct prose reason;         /* sentences */
    enum traffic kind;
    int window;                  /* of the number; -1: it does not come from the log */
    uint64_t number;
    struct hit *hit;             /* whoever exceeded the number, the most first; NULL: nobody */
    size_t hits;
    uint64_t hits_of[CLIENT_KINDS];
};

#define TRAFFIC_SOME 20 /* API calls or expensive requests, before they are worth a line */
#define PROPOSE_MARGIN 1.5 /* above the busiest person: half as much again */
#define PROPOSALS_MOST 12
#define WARNINGS_MOST 16

struct findings {
    const struct profile *profile;
    const struct paths *paths;
    const struct traffic_signs *signs;
    const struct logs_facts *facts;
    const char *source;          /* what the log is called: the file, or `3 files` */
    const char *format;          /* what was recognised, comma-separated; empty: nothing */
    bool is_part;                /* stopped before its end */
    const char *proxy;           /* an address whose lines were taken for the clients that it names in X-Forwarded-For; NULL: none */
    struct person_signs person;
    uint64_t clients[CLIENT_KINDS];
    uint64_t clients_of[TRAFFIC_KINDS][CLIENT_KINDS];
    struct spread spread[TRAFFIC_KINDS][PEAK_WINDOWS][CLIENT_KINDS];
    struct spread everyone[TRAFFIC_KINDS][PEAK_WINDOWS];
    struct gap gap[TRAFFIC_KINDS][PEAK_WINDOWS];
    struct proposal proposal[PROPOSALS_MOST];
    size_t proposals;
    struct prose warning[WARNINGS_MOST]; /* what to know before believing it: each some sentences */
    size_t warnings;
    const struct client **busiest;       /* all clients, the busiest in 10 s first; then by total, then by name */
    bool is_short;                       /* of memory: something is missing */
};

/* Everything but what is borrowed. */
struct findings *findings_open(const struct profile *profile, const struct paths *paths, const struct logs_facts *facts); /* NULL without memory */
void findings_close(struct findings *findings);

/* Those of the busiest clients, and the proposal with its reasons; needs source, proxy, is_part and so on, in this order. */
void findings_warn(struct findings *findings);    /* suggest_warn.c */
void findings_propose(struct findings *findings); /* suggest_propose.c */
void findings_propose_logins(struct findings *findings); /* suggest_logins.c */

/* The least round number, as a person would write it, that is not below. */
uint64_t propose_round_up(uint64_t number);
/* A round number above all people by half as much again (`least` at least), or less where that hits more machines; `machine` are their
 * peaks. */
uint64_t propose_number(uint64_t people, uint64_t least, const uint64_t *machine, size_t count);

/* Appends a proposal with its hits and the sentence about them; NULL if there is no room. */
struct proposal *propose(struct findings *findings, const struct proposal *proposal);
/* Sentences for its reason: where the number comes from, whom it hits, whom it cannot tell from people, and whom the longer window
 * catches alone.  `least` is below which no number is proposed. */
void propose_tell_number(struct proposal *proposal, const struct gap *gap, uint64_t least);
void propose_tell_hits(struct proposal *proposal);
void propose_tell_missed(struct proposal *proposal, const struct gap *gap, uint64_t least);
void propose_tell_slow(struct proposal *longer, const struct proposal *shorter);

/* The policy as text: complete, with the reasons as comments.  NULL text without memory. */
/* The first words of every proposal, behind its `# `, by which it is known again. */
#define POLICY_WORDS "Proposed by `drossel suggest`"
void policy_write(const struct findings *findings, struct prose *out);

#endif
