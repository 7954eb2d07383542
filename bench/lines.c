/*
 * An access log in the combined format, the same each time, with nothing of anybody's in it.
 *
 *     lines COUNT >LOG
 *
 * 200 requests a second of 50,000 clients, of whom a few make most; pages with their static files, logins, robots.  All
 * addresses are of 10.0.0.0/8 and of 2001:db8::/32.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"

#define CLIENTS 50000
#define PER_SECOND 200
#define BEGIN 1767600000 /* 2026-01-05T08:00:00Z */

static const char *const agents[] = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "ExampleBot/1.0 (+http://bot.example/)",
};

/* The square of a share is smaller: low numbers come more often than high ones. */
static uint64_t choose_client(uint64_t *random)
{
    uint64_t a = measure_below(random, CLIENTS), b = measure_below(random, CLIENTS);
    return a * b / CLIENTS;
}

static void print_line(uint64_t *random, const char *stamp)
{
    uint64_t client = choose_client(random), kind = measure_below(random, 100);
    char address[48];
    if (client % 20 == 0)
        snprintf(address, sizeof address, "2001:db8:%x:%x::%x", (unsigned)(client >> 8), (unsigned)(client & 255), 17u);
    else
        snprintf(address, sizeof address, "10.%u.%u.%u", (unsigned)(client >> 16), (unsigned)(client >> 8 & 255),
                 (unsigned)(client & 255));
    printf("%s - - [%s +0000] \"", address, stamp);
    if (kind < 60)
        printf("GET /static/%u.js?v=7 HTTP/1.1\" 200 %u \"https://shop.example/p/%u\" \"", (unsigned)(kind * 7),
               (unsigned)measure_below(random, 40000), (unsigned)measure_below(random, 500));
    else if (kind < 98)
        printf("GET /p/%u HTTP/1.1\" 200 %u \"-\" \"", (unsigned)measure_below(random, 500),
               (unsigned)measure_below(random, 25000));
    else
        printf("POST /login HTTP/1.1\" %u 512 \"https://shop.example/login\" \"", kind == 98 ? 401u : 302u);
    printf("%s\"\n", agents[client % (sizeof agents / sizeof *agents)]);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        measure_fail("usage: lines COUNT");
    uint64_t count = strtoull(argv[1], NULL, 10), random = 7;
    char stamp[32] = "";
    for (uint64_t i = 0; i < count; i++) {
        if (i % PER_SECOND == 0) {
            time_t at = BEGIN + (time_t)(i / PER_SECOND);
            struct tm when;
            strftime(stamp, sizeof stamp, "%d/%b/%Y:%H:%M:%S", gmtime_r(&at, &when));
        }
        print_line(&random, stamp);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
