/*
 * What a log says about its paths: where passwords are tried, and what is expensive to answer.
 *
 * Paths are what clients write, so that only PATHS_MOST are told apart, the first ones.  POSTs are kept by their whole path; where the
 * log has times, or says whether a cache answered, pages are kept by the beginning of their path, up to its first part that looks like a number or name of one thing,
 * and two parts at most: `/shop/item/8812` is `/shop/item/`.
 */
#ifndef DROSSEL_CLI_SUGGEST_PATHS_H
#define DROSSEL_CLI_SUGGEST_PATHS_H

#include "cli/suggest_traffic.h"

#define PATHS_MOST 4096
#define PATH_BYTES_MOST 120
#define PATH_SPEEDS 20 /* answers by duration: below 1 ms, 2 ms, 4 ms ... */

struct path {
    char *text;
    uint32_t size;
    bool is_post;              /* POSTs to exactly this path; else pages that begin with it (if it ends with a slash), or are it */
    bool is_login;             /* by its name */
    uint64_t requests;
    uint64_t denied;           /* answered 401 or 403 */
    uint64_t failed;           /* as traffic_is_failure */
    uint64_t missed;           /* answered 404, 405 or 410 */
    uint64_t client_hash;      /* of the last POST, and how often it was another than before */
    uint64_t changes;
    uint64_t timed;            /* with a duration */
    double seconds;            /* their sum */
    uint64_t speed[PATH_SPEEDS];
    uint64_t hits, misses;     /* of a cache */
};

struct paths {
    struct path *path;
    size_t count;
    uint32_t *slot;
    uint64_t left_out;         /* requests of paths beyond PATHS_MOST */
    struct path all;           /* pages together */
    unsigned char secret[16];
};

struct paths *paths_open(void); /* NULL without memory */
void paths_close(struct paths *paths);

/* One more record that is a page. */
void paths_arrive(struct paths *paths, const struct log_record *record, struct drossel_text path, bool is_login);

/* The part of a path by which pages are told apart. */
struct drossel_text paths_beginning(struct drossel_text path, bool *is_whole);

/* The duration which half of them do not exceed, about. */
double path_median_s(const struct path *path);

/* Teaches `signs` what the paths show.  Returns the TRAFFIC_BITs of kinds that mean something else now. */
unsigned paths_teach(const struct paths *paths, struct traffic_signs *signs);

/* The paths where passwords are tried and that are there, the busiest first: at most `cap`.  Returns how many. */
size_t paths_logins(const struct paths *paths, const struct traffic_signs *signs, const struct path **login, size_t cap);

#endif
