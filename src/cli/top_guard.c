/* The guard of a terminal: waits for the child that draws, and restores what a killed one leaves. */
#include "cli/top_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

#include "cli/cli.h"

#define RESTORE_BYTES 256

/* What the guard needs to restore; filled before the fork. */
struct terminal {
    struct termios modes;
    bool has_modes;
    char sequences[RESTORE_BYTES];
    size_t size;
};

static volatile sig_atomic_t child;
static _Atomic bool *drawing; /* of both processes; NULL: there was no memory, and nobody is guarded */

static void add_sequence(struct terminal *terminal, const char *name)
{
    char capability[16];
    snprintf(capability, sizeof capability, "%s", name);
    const char *text = tigetstr(capability);
    if (text == NULL || text == (const char *)-1)
        return;
    size_t size = strlen(text);
    if (size > sizeof terminal->sequences - terminal->size)
        return;
    memcpy(terminal->sequences + terminal->size, text, size);
    terminal->size += size;
}

static void learn(struct terminal *terminal)
{
    int error;
    terminal->has_modes = tcgetattr(STDIN_FILENO, &terminal->modes) == 0;
    if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
        return;
    add_sequence(terminal, "sgr0");
    add_sequence(terminal, "op");    /* colours */
    add_sequence(terminal, "rmcup"); /* the alternate screen */
    add_sequence(terminal, "rmkx");  /* the keypad */
    add_sequence(terminal, "cnorm"); /* the cursor */
    del_curterm(cur_term);
}

/* The guard may not be in the foreground any more: changing modes must not stop it. */
static void restore(const struct terminal *terminal)
{
    signal(SIGTTOU, SIG_IGN);
    if (terminal->has_modes)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->modes);
    size_t done = 0;
    while (done < terminal->size) {
        ssize_t written = write(STDOUT_FILENO, terminal->sequences + done, terminal->size - done);
        if (written <= 0 && errno != EINTR)
            return;
        done += written > 0 ? (size_t)written : 0;
    }
}

/* What the terminal sends goes to both already; twice, Ctrl-Z would stop the child again as soon as it goes on. */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (child > 0 && info->si_code != SI_KERNEL)
        kill((pid_t)child, signal_number);
}

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };

static void pass_signals_on(void)
{
    struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaction(passed_on[i], &action, NULL);
}

/* As if the guard had been the one that the signal was for. */
static int die_of(int signal_number)
{
    sigset_t only;
    signal(signal_number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, signal_number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(signal_number);
    return 128 + signal_number;
}

static int wait_for_child(const struct terminal *terminal)
{
    int status;
    for (;;) {
        pid_t found = waitpid((pid_t)child, &status, WUNTRACED);
        if (found < 0 && errno == EINTR)
            continue;
        if (found < 0)
            return CLI_FAILED;
        if (WIFSTOPPED(status)) {
            raise(SIGSTOP); /* our shell takes over; on SIGCONT the handler wakes the child */
            kill((pid_t)child, SIGCONT);
            continue;
        }
        if (atomic_load(drawing))
            restore(terminal);
        return WIFEXITED(status) ? WEXITSTATUS(status) : die_of(WTERMSIG(status));
    }
}

void top_guard_drawing(bool is_drawing)
{
    if (drawing != NULL)
        atomic_store(drawing, is_drawing);
}

bool top_guard(int *code)
{
    struct terminal terminal = { .has_modes = false };
    sigset_t all, before;
    pid_t guard = getpid();
    void *shared = mmap(NULL, sizeof *drawing, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return true;
    drawing = shared;
    learn(&terminal);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t forked = fork();
    if (forked == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        prctl(PR_SET_NAME, "drossel-top"); /* `pkill -HUP -x drossel` means the server */
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (getppid() != guard) /* killed before we asked to be told */
            _exit(CLI_FAILED);
        return true;
    }
    if (forked > 0) {
        child = (sig_atomic_t)forked;
        pass_signals_on();
        prctl(PR_SET_NAME, "drossel-guard"); /* who kills by name the one that draws does not mean both */
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (forked < 0)
        return true;
    *code = wait_for_child(&terminal);
    return false;
}
