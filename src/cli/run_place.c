/*
 * drossel run: where things are.  nginx, our module, a free address to listen at, a folder of our own.
 */
#include "cli/run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define MODULE "ngx_http_drossel_module.so"
#define HOST 64 /* bytes of an address's text */
#ifndef DROSSEL_MODULE_FOLDER
#define DROSSEL_MODULE_FOLDER "/usr/lib/nginx/modules" /* where meson installs it */
#endif

static bool is_executable(char out[RUN_PATH], const char *folder, size_t size)
{
    struct stat found;
    int length = snprintf(out, RUN_PATH, "%.*s/nginx", (int)size, folder);
    return length < RUN_PATH && stat(out, &found) == 0 && S_ISREG(found.st_mode) && access(out, X_OK) == 0;
}

/* Like a shell, and then in /usr/sbin, which is not in an ordinary user's PATH. */
static bool find_nginx(char out[RUN_PATH])
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t size = strcspn(path, ":");
        if (size > 0 && is_executable(out, path, size))
            return true;
        path += size + (path[size] == ':');
    }
    if (is_executable(out, "/usr/sbin", strlen("/usr/sbin")))
        return true;
    cli_complain("nginx is neither in PATH nor in /usr/sbin; install it: apt-get install nginx");
    return false;
}

static bool is_module(char out[RUN_PATH], const char *folder, const char *below)
{
    return snprintf(out, RUN_PATH, "%s%s/" MODULE, folder, below) < RUN_PATH && access(out, R_OK) == 0;
}

/* Beside this program as it was built, else where it was installed. */
static bool find_module(char out[RUN_PATH])
{
    static const char *const below[] = { "/nginx", "/src/nginx", "/../lib/nginx/modules" };
    const char *chosen = getenv("DROSSEL_MODULES");
    char folder[RUN_PATH];
    if (chosen != NULL) {
        if (is_module(out, chosen, ""))
            return true;
        cli_complain("%s is not there; DROSSEL_MODULES is to name the folder of " MODULE, out);
        return false;
    }
    ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; slash != NULL && i < sizeof below / sizeof *below; i++)
        if (is_module(out, folder, below[i]))
            return true;
    if (is_module(out, DROSSEL_MODULE_FOLDER, ""))
        return true;
    cli_complain(MODULE " is neither beside this program (%s) nor in " DROSSEL_MODULE_FOLDER
                        "; build it with `make`, or name its folder in DROSSEL_MODULES",
                 folder);
    return false;
}

bool run_find(struct run_plan *plan)
{
    return find_nginx(plan->nginx) && find_module(plan->module);
}

/* Splits at the last colon; brackets of IPv6 are taken off. */
static bool split(const char *text, char host[HOST], char port[8])
{
    const char *colon = strrchr(text, ':');
    size_t size = colon != NULL ? (size_t)(colon - text) : 0;
    const char *number = colon != NULL ? colon + 1 : text;
    if (strlen(number) == 0 || strlen(number) > 5 || strspn(number, "0123456789") != strlen(number) || size >= HOST ||
        atoi(number) > 65535)
        return false;
    memcpy(port, number, strlen(number) + 1);
    if (size == 0)
        snprintf(host, HOST, "%s", "127.0.0.1");
    else if (size == 1 && *text == '*')
        snprintf(host, HOST, "%s", "0.0.0.0");
    else if (*text == '[' && text[size - 1] == ']')
        snprintf(host, HOST, "%.*s", (int)size - 2, text + 1);
    else
        snprintf(host, HOST, "%.*s", (int)size, text);
    return true;
}

/* Binds as nginx will, and lets go again: so that the reason is ours to tell, at once.  The port chosen, or 0. */
static unsigned try_bind(const struct addrinfo *address)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    int on = 1, fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    unsigned port = 0;
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, 1) == 0 &&
        getsockname(fd, (struct sockaddr *)&bound, &size) == 0)
        port = ntohs(address->ai_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&bound)->sin6_port
                                                    : ((struct sockaddr_in *)(void *)&bound)->sin_port);
    int saved = errno;
    close(fd);
    errno = saved;
    return port;
}

static void complain_of_bind(const char *text)
{
    if (errno == EADDRINUSE)
        cli_complain("%s is in use by another program; choose another with --listen ADDR:PORT", text);
    else if (errno == EACCES)
        cli_complain("%s: ports below 1024 are for root; choose another with --listen ADDR:PORT", text);
    else if (errno == EADDRNOTAVAIL)
        cli_complain("%s is no address of this machine; choose another with --listen ADDR:PORT", text);
    else
        cli_complain("%s: %s", text, strerror(errno));
}

bool run_listen_at(struct run_plan *plan, const char *text)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    struct addrinfo *address = NULL;
    char host[HOST], port[8];
    if (plan->listen_count == RUN_LISTENS) {
        cli_complain("more than %d addresses to listen at", RUN_LISTENS);
        return false;
    }
    if (!split(text, host, port) || getaddrinfo(host, port, &hints, &address) != 0) {
        cli_complain("--listen %s: write ADDR:PORT, such as 127.0.0.1:8080 or [::1]:8080", text);
        return false;
    }
    bool six = address->ai_family == AF_INET6;
    unsigned number = try_bind(address);
    freeaddrinfo(address);
    if (number == 0) {
        complain_of_bind(text);
        return false;
    }
    snprintf(plan->listen[plan->listen_count++], RUN_LISTEN, "%s%s%s:%u", six ? "[" : "", host, six ? "]" : "", number);
    return true;
}

/* Is it our own (whoever changes user keeps the variable of the first), and can root's workers, who are others, get through? */
static bool is_usable(const char *runtime)
{
    struct stat found;
    if (runtime == NULL || strlen(runtime) > RUN_FOLDER - 24 || strpbrk(runtime, "$\"\\, ;") != NULL)
        return false;
    if (stat(runtime, &found) != 0 || found.st_uid != geteuid())
        return false;
    return run_worker() == NULL || (found.st_mode & S_IXOTH) != 0;
}

bool run_make_folder(struct run_plan *plan)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (!is_usable(runtime))
        runtime = "/tmp";
    snprintf(plan->folder, sizeof plan->folder, "%s/drossel-run-XXXXXX", runtime);
    if (mkdtemp(plan->folder) == NULL) {
        cli_complain("%s: %s; set XDG_RUNTIME_DIR to a folder of your own", plan->folder, strerror(errno));
        plan->folder[0] = '\0';
        return false;
    }
    const struct passwd *worker = run_worker();
    if (worker != NULL && (chown(plan->folder, 0, worker->pw_gid) != 0 || chmod(plan->folder, 0710) != 0)) {
        cli_complain("%s: %s", plan->folder, strerror(errno));
        return false;
    }
    return true;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

void run_remove_folder(const struct run_plan *plan)
{
    if (plan->folder[0] != '\0')
        nftw(plan->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

bool run_write_file(const struct run_plan *plan, const char *name, const char *text)
{
    char path[RUN_PATH];
    snprintf(path, sizeof path, "%s/%s", plan->folder, name);
    FILE *out = fopen(path, "we");
    bool good = out != NULL && fputs(text, out) >= 0;
    good = (out == NULL || fclose(out) == 0) && good;
    if (!good || chmod(path, 0644) != 0) {
        cli_complain("%s: %s", path, strerror(errno));
        return false;
    }
    return true;
}
