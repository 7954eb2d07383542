/*
 * drossel run: a live line for each refusal, and for what goes wrong.
 *
 * nginx writes them to a datagram socket in the way of syslog: it does not wait when nobody reads, so a terminal that was
 * stopped with Ctrl-S holds up no request.  A socket holds only ten messages (net.unix.max_dgram_qlen), so that refusals and errors
 * have one each: a flood of the first must not swallow the second.
 */
#include "cli/run.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define LINES_A_SECOND 25 /* more than that nobody can read; the rest is counted */
#define ERRORS_A_SECOND 5
#define MESSAGE_BYTES 4096

int run_live_open(const struct run_plan *plan, const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int size = 1 << 20, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", plan->folder, name);
    /* the folder keeps strangers out; the workers of root are another user than this one */
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && chmod(address.sun_path, 0666) == 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        return fd;
    }
    cli_complain("%s: %s", address.sun_path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Cuts the next field off, at a tab. */
static char *next_field(char **rest)
{
    char *field = *rest, *tab = strchr(field, '\t');
    if (tab != NULL)
        *tab++ = '\0';
    *rest = tab != NULL ? tab : field + strlen(field);
    return field;
}

/* `2026/01/31 12:00:00 [error] 7#7: *1 drossel: ALL VISITORS ...`, which may quote a header: what could steer a terminal is taken
 * out.  The policy's mistakes, at emerg, are told where it is read. */
static void print_error(char *line, const char *clock)
{
    char *level = strchr(line, '['), *text = strstr(line, "drossel: ");
    if (level == NULL || strncmp(level, "[emerg", 6) == 0)
        return;
    text = text != NULL ? text + strlen("drossel: ") : level;
    for (char *c = text; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    printf("%s  %-10s %s\n", clock, "ERROR", text);
}

static bool is_error(const char *message)
{
    const char *rest = strstr(message, "drossel: ");
    return rest != NULL && isdigit((unsigned char)rest[strlen("drossel: ")]);
}

/* `<190>Jan  1 00:00:00 drossel: REFUSED\tpage\t203.0.113.7\t9.2\tGET /` */
static void print_message(char *message, const char *clock)
{
    char *rest = strstr(message, "drossel: ");
    if (rest == NULL)
        return;
    rest += strlen("drossel: ");
    const char *verdict = next_field(&rest), *limit = next_field(&rest), *client = next_field(&rest);
    const char *wait = next_field(&rest);
    printf("%s  %-10s %-16s %-20s %s", clock, verdict, limit, client, rest);
    if (*wait != '\0' && strcmp(wait, "0") != 0 && strcmp(wait, "-") != 0)
        printf("  (wait %s)", wait);
    putchar('\n');
}

void run_live_print(int fd)
{
    static time_t second;
    static unsigned lines, errors, hidden;
    char message[MESSAGE_BYTES], clock[16];
    ssize_t size;
    time_t now = time(NULL);
    struct tm parts;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &parts));
    if (now != second) {
        if (hidden > 0)
            printf("%s  and %u more\n", clock, hidden);
        second = now;
        lines = errors = hidden = 0;
    }
    while ((size = recv(fd, message, sizeof message - 1, 0)) > 0) {
        message[size] = '\0';
        if (is_error(message)) { /* never hidden by a flood of refusals */
            if (errors++ < ERRORS_A_SECOND)
                print_error(strstr(message, "drossel: ") + strlen("drossel: "), clock);
            else
                hidden++;
            continue;
        }
        if (lines < LINES_A_SECOND)
            print_message(message, clock);
        else
            hidden++;
        lines++;
    }
    fflush(stdout);
}
