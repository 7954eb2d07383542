/*
 * drossel run: a private nginx with our module in it.
 *
 * Everything of it lives in one folder of its own (mode 0700; 0710 for root, whose workers are another user): configuration,
 * pid, logs, temporary files, sockets, the demonstration site.  The folder goes with the process.  nginx runs in a process
 * group of its own, and is told to stop by the kernel if this process dies without a word.
 */
#ifndef DROSSEL_CLI_RUN_H
#define DROSSEL_CLI_RUN_H

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define RUN_PATH 1024
#define RUN_FOLDER 80 /* leaves room for a socket's name within the 107 bytes of its address */
#define RUN_LISTENS 16
#define RUN_LISTEN 80

struct run_plan {
    const char *given;     /* the policy's path as it was given, for messages */
    char policy[RUN_PATH]; /* absolute */
    char nginx[RUN_PATH], module[RUN_PATH];
    char folder[RUN_FOLDER];
    char listen[RUN_LISTENS][RUN_LISTEN]; /* ADDR:PORT, as nginx writes it */
    size_t listen_count;
    const char *to;      /* URL; NULL: not given */
    char root[RUN_PATH]; /* absolute; "": not given */
    unsigned workers;    /* 0: as many as cores */
};

/* Finds nginx and our module for it.  False after having told what was looked for and what would help. */
bool run_find(struct run_plan *plan);

/* Reads an address to listen at (ADDR:PORT, :PORT, PORT, [v6]:PORT; port 0: any free one) and sees whether it is free.
 * False after having told why. */
bool run_listen_at(struct run_plan *plan, const char *text);

/* Makes the folder and all files in it.  False after having told why. */
bool run_make_folder(struct run_plan *plan);
bool run_write_config(const struct run_plan *plan);
void run_remove_folder(const struct run_plan *plan);

/* Who root's workers are: www-data, who owns the table then, else nobody.  NULL for others: they stay who they are. */
const struct passwd *run_worker(void);

/* Writes text to `name` in the folder. */
bool run_write_file(const struct run_plan *plan, const char *name, const char *text);

/* The demonstration site: its files, and its locations in the configuration. */
bool run_site_files(const struct run_plan *plan);
void run_site_upstream(const struct run_plan *plan, FILE *out);
void run_site_locations(const struct run_plan *plan, FILE *out);
void run_site_inside(const struct run_plan *plan, FILE *out);

/* A path as a quoted word of the configuration. */
void run_quote(FILE *out, const char *text);

/* A socket `name` in the folder, to which nginx tells what it refused, or what went wrong: datagrams, so that it never waits for us.  -1 on failure. */
int run_live_open(const struct run_plan *plan, const char *name);
#define RUN_LIVE_FORMAT                                                                                                \
    "$drossel_verdict\\t$drossel_limit\\t$drossel_client\\t$drossel_wait\\t$request_method $request_uri"
/* Prints what has come, a bounded number of lines a second. */
void run_live_print(int fd);

#endif
