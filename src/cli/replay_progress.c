/*
 * A bar on stderr, and Ctrl-C.
 */
#include "cli/replay_progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define BAR 40
#define FIRST_NS UINT64_C(300000000) /* what is done sooner shows no bar */
#define EACH_NS UINT64_C(100000000)

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void progress_begin(struct progress *progress)
{
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART };
    sigaction(SIGINT, &action, NULL);
    *progress = (struct progress){ .is_shown = isatty(STDERR_FILENO), .begun_ns = now() };
}

static void draw(const struct progress *progress, uint64_t done, uint64_t total)
{
    char bar[BAR + 1], left[64];
    if (total == UINT64_MAX) { /* of a pipe nobody knows how much is to come */
        fprintf(stderr, "\r%.0f MB read in\033[K", (double)done / 1e6);
        return;
    }
    uint64_t passed_ns = progress->drawn_ns - progress->begun_ns;
    double part = total > 0 && done < total ? (double)done / (double)total : 1;
    size_t full = (size_t)(part * BAR);
    memset(bar, '.', BAR);
    memset(bar, '#', full);
    bar[BAR] = '\0';
    uint64_t left_ns = part > 0.01 ? (uint64_t)((double)passed_ns * (1 - part) / part) : 0;
    left_ns -= left_ns % 1000000000;
    fprintf(stderr, "\r[%s] %3.0f%%  %.0f of %.0f MB, %s left\033[K", bar, part * 100, (double)done / 1e6,
            (double)total / 1e6, cli_wait_format(left_ns, left, sizeof left));
}

bool progress_at(void *context, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    uint64_t at_ns = progress->is_shown ? now() : 0;
    uint64_t due_ns = progress->is_drawn ? progress->drawn_ns + EACH_NS : progress->begun_ns + FIRST_NS;
    if (progress->is_shown && at_ns >= due_ns) {
        progress->drawn_ns = at_ns;
        progress->is_drawn = true;
        draw(progress, done, total);
    }
    return interrupted == 0;
}

void progress_end(struct progress *progress)
{
    if (progress->is_drawn)
        fputs("\r\033[K", stderr);
    progress->is_drawn = false;
}

bool progress_interrupted(void)
{
    return interrupted != 0;
}
