/*
 * drossel run: checks the policy, starts a private nginx, watches it, stops it.
 */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "cli/live.h"
#include "cli/run.h"

#define START_MS 10000 /* longer than nginx tries to bind */
#define STOP_MS 6000   /* longer than worker_shutdown_timeout */
#define STEP_MS 20
#define TAIL_LINES 12
#define WORKERS_MOST 256

struct run_values {
    const char *policy, *to, *root, *workers;
    struct cli_list listen;
};

static const struct cli_option options[] = {
    { "policy", CLI_TEXT, offsetof(struct run_values, policy), "FILE", "the policy to enforce" },
    { "listen", CLI_LIST, offsetof(struct run_values, listen), "ADDR:PORT",
      "where to listen; may be given again (default 127.0.0.1:8080)" },
    { "to", CLI_TEXT, offsetof(struct run_values, to), "URL", "pass requests on to this application" },
    { "root", CLI_TEXT, offsetof(struct run_values, root), "DIR", "serve the files of this folder" },
    { "workers", CLI_TEXT, offsetof(struct run_values, workers), "N", "worker processes (default: one for each core)" },
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* What is running. */
struct running {
    const struct run_plan *plan;
    pid_t group; /* nginx's first pid: its process group, of which workers may outlive their master */
    pid_t nginx; /* 0: not, or no more */
    int signals, live, errors;
    int status; /* of waitpid, once nginx is gone */
};

/* Absolute for nginx, but links are left as they are: a reload is to follow them anew. */
static int plan_policy(const struct run_values *values, struct run_plan *plan)
{
    char here[RUN_PATH] = "";
    const char *path = values->policy;
    bool relative = *path != '/';
    plan->given = path;
    if ((relative && getcwd(here, sizeof here) == NULL) || strpbrk(path, "\n$") != NULL ||
        strpbrk(here, "\n$") != NULL || strlen(here) + 1 + strlen(path) >= sizeof plan->policy)
        return cli_misuse(&cli_run, "--policy %s: nginx cannot take this path; move the policy", path);
    size_t size = strlen(here);
    memcpy(plan->policy, here, size);
    if (relative)
        plan->policy[size++] = '/';
    memcpy(plan->policy + size, path, strlen(path) + 1);
    return CLI_DONE;
}

static int plan_root(const char *folder, struct run_plan *plan)
{
    struct stat found;
    char *resolved = realpath(folder, NULL);
    if (resolved == NULL || stat(resolved, &found) != 0 || !S_ISDIR(found.st_mode)) {
        free(resolved);
        return cli_misuse(&cli_run, "--root %s is no folder", folder);
    }
    bool fits = strlen(resolved) < sizeof plan->root && strpbrk(resolved, "\n$") == NULL;
    snprintf(plan->root, sizeof plan->root, "%s", resolved);
    free(resolved);
    return fits ? CLI_DONE : cli_misuse(&cli_run, "--root %s: nginx cannot take this path", folder);
}

static int plan_rest(const struct run_values *values, struct run_plan *plan)
{
    char *end = NULL;
    unsigned long workers = values->workers != NULL ? strtoul(values->workers, &end, 10) : 1;
    if (values->workers != NULL && (*end != '\0' || workers < 1 || workers > WORKERS_MOST))
        return cli_misuse(&cli_run, "--workers %s: write a number from 1 to %d", values->workers, WORKERS_MOST);
    plan->workers = values->workers != NULL ? (unsigned)workers : 0;
    if (values->to != NULL && values->root != NULL)
        return cli_misuse(&cli_run, "--to and --root exclude each other");
    plan->to = values->to;
    if (plan->to != NULL && ((strncmp(plan->to, "http://", 7) != 0 && strncmp(plan->to, "https://", 8) != 0) ||
                             strlen(strchr(plan->to, '/') + 2) == 0 || strpbrk(plan->to, " \t\n\"'\\;{}$?#@") != NULL))
        return cli_misuse(&cli_run, "--to %s: write a URL such as http://127.0.0.1:3000", plan->to);
    return values->root != NULL ? plan_root(values->root, plan) : CLI_DONE;
}

static int plan_listens(const struct run_values *values, struct run_plan *plan)
{
    for (size_t i = 0; i < values->listen.count; i++)
        if (!run_listen_at(plan, values->listen.item[i]))
            return CLI_FAILED;
    if (values->listen.count == 0 && !run_listen_at(plan, "127.0.0.1:8080"))
        return CLI_FAILED;
    return CLI_DONE;
}

/* The policy in plain sentences, indented. */
static void print_policy(const struct policy *policy)
{
    char *text = NULL, *rest, *line;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return;
    policy_describe(policy, memory);
    fclose(memory);
    for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        printf("  %s\n", line);
    free(text);
}

static void print_start(const struct run_plan *plan, const struct policy *policy)
{
    char table[RUN_PATH];
    for (size_t i = 0; i < plan->listen_count; i++)
        printf("%s http://%s/", i == 0 ? "drossel listens at" : " and", plan->listen[i]);
    if (plan->to != NULL)
        printf(" and passes on to %s\n", plan->to);
    else if (plan->root[0] != '\0')
        printf(" and serves %s\n", plan->root);
    else
        puts(" with a small demonstration site (user demo, password drossel)");
    printf("It enforces %s:\n", plan->given);
    print_policy(policy);
    if (live_path(policy, table, sizeof table))
        printf("The table is %s: `drossel show` looks at it. SIGHUP reads the policy anew, Ctrl-C stops.\n\n", table);
    fflush(stdout);
}

static void print_tail(const struct run_plan *plan, const char *name)
{
    char path[RUN_PATH], line[TAIL_LINES][512];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/%s", plan->folder, name);
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return;
    while (fgets(line[count % TAIL_LINES], sizeof line[0], in) != NULL)
        count++;
    for (size_t i = count > TAIL_LINES ? count - TAIL_LINES : 0; i < count; i++)
        fprintf(stderr, "  %s", line[i % TAIL_LINES]);
    fclose(in);
}

/* In the child: nginx gets its own process group, so that Ctrl-C reaches it only through us. */
static void become_nginx(const struct run_plan *plan, pid_t parent)
{
    char config[RUN_PATH], prefix[RUN_PATH], log[RUN_PATH], said[RUN_PATH];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    snprintf(config, sizeof config, "%s/nginx.conf", plan->folder);
    snprintf(prefix, sizeof prefix, "%s/", plan->folder);
    snprintf(log, sizeof log, "%s/error.log", plan->folder);
    snprintf(said, sizeof said, "%s/start.log", plan->folder);
    int in = open("/dev/null", O_RDONLY), out = open(said, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (getppid() != parent || in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(127);
    execl(plan->nginx, "nginx", "-p", prefix, "-e", log, "-c", config, (char *)NULL);
    _exit(127);
}

static bool has_pid_file(const struct run_plan *plan)
{
    char path[RUN_PATH];
    struct stat found;
    snprintf(path, sizeof path, "%s/nginx.pid", plan->folder);
    return stat(path, &found) == 0 && found.st_size > 0;
}

/* Is nginx gone?  Takes its status then. */
static bool is_gone(struct running *running)
{
    if (running->nginx != 0 && waitpid(running->nginx, &running->status, WNOHANG) == running->nginx)
        running->nginx = 0;
    return running->nginx == 0;
}

/* nginx writes its pid when all sockets are open.  False if it died before. */
static bool await_start(struct running *running)
{
    for (int ms = 0; ms < START_MS && !is_gone(running); ms += STEP_MS) {
        if (has_pid_file(running->plan))
            return true;
        poll(NULL, 0, STEP_MS);
    }
    return false;
}

static bool start(struct running *running)
{
    pid_t parent = getpid();
    fflush(NULL);
    running->nginx = fork();
    if (running->nginx < 0) {
        running->nginx = 0;
        cli_complain("no process for nginx: %s", strerror(errno));
        return false;
    }
    if (running->nginx == 0)
        become_nginx(running->plan, parent);
    running->group = running->nginx;
    if (await_start(running))
        return true;
    cli_complain("nginx did not start; it said:");
    print_tail(running->plan, "start.log");
    return false;
}

/* Workers whose master was killed go on listening: they are our children then, and are ended too. */
static bool reap_group(const struct running *running)
{
    while (waitpid(-running->group, NULL, WNOHANG) > 0)
        ;
    return kill(-running->group, 0) != 0;
}

/* Asks nginx to finish what it is at; if that takes too long, less kindly. */
static void stop(struct running *running)
{
    static const int way[] = { SIGQUIT, SIGTERM, SIGKILL };
    if (running->group == 0)
        return;
    for (size_t i = 0; i < sizeof way / sizeof *way && !(is_gone(running) && reap_group(running)); i++) {
        bool all = running->nginx == 0 || way[i] == SIGKILL;
        kill(all ? -running->group : running->nginx, way[i]);
        for (int ms = 0; ms < STOP_MS && !(is_gone(running) && reap_group(running)); ms += STEP_MS)
            poll(NULL, 0, STEP_MS);
    }
}

static void reload(struct running *running)
{
    struct policy *policy = live_policy(running->plan->given, true);
    if (policy == NULL) {
        cli_complain("the policy has mistakes: the old one stays in force");
        return;
    }
    kill(running->nginx, SIGHUP);
    printf("%s was read anew:\n", running->plan->given);
    print_policy(policy);
    fflush(stdout);
    policy_close(policy);
}

static int mourn(const struct running *running)
{
    if (WIFSIGNALED(running->status))
        cli_complain("nginx was killed by signal %d; its log ends with:", WTERMSIG(running->status));
    else
        cli_complain("nginx ended with code %d; its log ends with:", WEXITSTATUS(running->status));
    print_tail(running->plan, "error.log");
    return CLI_FAILED;
}

/* Until somebody or something ends it. */
static int watch(struct running *running)
{
    struct pollfd fds[3] = { { running->signals, POLLIN, 0 },
                             { running->live, POLLIN, 0 },
                             { running->errors, POLLIN, 0 } };
    struct signalfd_siginfo info;
    for (;;) {
        if (poll(fds, 3, 1000) < 0 && errno != EINTR)
            return CLI_FAILED;
        run_live_print(running->errors);
        run_live_print(running->live);
        if (ferror(stdout))
            return CLI_DONE; /* nobody reads us any more */
        while (read(running->signals, &info, sizeof info) == (ssize_t)sizeof info) {
            if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM)
                return CLI_DONE;
            if (info.ssi_signo == SIGHUP)
                reload(running);
        }
        if (is_gone(running))
            return mourn(running);
    }
}

static int open_signals(void)
{
    sigset_t set;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int serve(struct run_plan *plan, const struct policy *policy)
{
    struct running running = { .plan = plan, .signals = open_signals(), .live = -1, .errors = -1 };
    int code = CLI_FAILED;
    if (running.signals >= 0 && run_make_folder(plan) && run_write_config(plan) &&
        (running.live = run_live_open(plan, "live.sock")) >= 0 &&
        (running.errors = run_live_open(plan, "errors.sock")) >= 0 && start(&running)) {
        print_start(plan, policy);
        code = watch(&running);
    }
    stop(&running);
    if (running.live >= 0)
        close(running.live);
    if (running.errors >= 0)
        close(running.errors);
    if (running.signals >= 0)
        close(running.signals);
    run_remove_folder(plan);
    return code;
}

static int run_run(int argc, char **argv)
{
    struct run_values values = { 0 };
    static struct run_plan plan;
    char **operand;
    int count, code;
    if (!cli_parse(&cli_run, argc, argv, &values, &operand, &count, &code))
        return code;
    if (values.policy == NULL)
        return cli_misuse(&cli_run, "--policy FILE is missing");
    if ((code = plan_rest(&values, &plan)) != CLI_DONE || (code = plan_policy(&values, &plan)) != CLI_DONE)
        return code;
    struct policy *policy = live_policy(plan.given, true);
    if (policy == NULL)
        return CLI_FAILED;
    code = run_find(&plan) ? plan_listens(&values, &plan) : CLI_FAILED;
    if (code == CLI_DONE)
        code = serve(&plan, policy);
    policy_close(policy);
    return code;
}

const struct cli_command cli_run = { "run", "--policy FILE", "a private nginx that enforces a policy", options, 0,
                                     0,     run_run };
