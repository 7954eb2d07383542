/*
 * What is odd about a log, in words: each warning with its reason and its remedy.
 */
#include "cli/replay_watch.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 2000
#define NAME_BYTES 300
#define PROXY_LEAST 20 /* so many requests of one address, before it is suspicious */
#define PROXY_AGENTS 3
#define PROXIES_MOST 10 /* of which each has a tenth of all requests */
#define SELF_LEAST 5
#define OFFICE_BROWSERS 3
#define OFFICES_NAMED 3
#define LOGINS_LEAST 20
#define SLOW_MOST 4 /* failures of one address in an hour: who mistypes a password may have as many */

struct warning {
    void (*warn)(void *context, const char *text);
    void *context;
};

__attribute__((format(printf, 2, 3))) static void say(const struct warning *warning, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    warning->warn(warning->context, text);
}

static unsigned long long percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (unsigned long long)((part * 100 + whole / 2) / whole) : 0;
}

static const struct watch_client *client_at(const struct watch *watch, size_t i)
{
    return (const struct watch_client *)(const void *)watch->clients.entry[i];
}

/* ---- a proxy ---- */

/* Private, with a good part of all requests, and many behind it. */
static bool may_be_proxy(const struct watch *watch, const struct watch_client *client)
{
    if (!client->is_private || client->of.requests < PROXY_LEAST ||
        client->of.requests < watch->requests / PROXIES_MOST)
        return false;
    return client->forwards || (!watch->has_forwarded && (client->agent_count >= PROXY_AGENTS || !watch->has_agents));
}

/* Those that may be: several share the load, or one has all of it. */
struct proxies {
    uint64_t requests;
    unsigned count;
    bool forward;
    char list[PROXIES_MOST * (WATCH_ADDRESS_TEXT + 2)];
};

/* False: they have not most of the requests. */
static bool find_proxies(const struct watch *watch, struct proxies *found)
{
    char address[WATCH_ADDRESS_TEXT];
    size_t used = 0;
    *found = (struct proxies){ 0 };
    for (size_t i = 0; i < watch->clients.count; i++) {
        const struct watch_client *client = client_at(watch, i);
        if (!may_be_proxy(watch, client))
            continue;
        watch_address(watch, &client->real, address);
        if (found->count < PROXIES_MOST)
            used +=
                (size_t)snprintf(found->list + used, sizeof found->list - used, "%s%s", used > 0 ? ", " : "", address);
        found->count++;
        found->requests += client->of.requests;
        found->forward |= client->forwards;
    }
    return found->requests > watch->requests / 2;
}

static bool is_proxy(const struct watch *watch, const struct watch_client *client)
{
    struct proxies proxies;
    return may_be_proxy(watch, client) && find_proxies(watch, &proxies);
}

static void warn_of_proxy(const struct watch *watch, const struct warning *warning)
{
    struct proxies proxies;
    if (!find_proxies(watch, &proxies))
        return;
    const char *what = proxies.count > 1 ? "private addresses" : "a private address";
    if (proxies.forward)
        say(warning,
            "%llu%% of all requests seem to come from %s, %s, while their X-Forwarded-For differs: everybody behind it "
            "shares one key; if that is your proxy set `client: { trusted: [%s], address_from: X-Forwarded-For }`",
            percent(proxies.requests, watch->requests), proxies.list, what, proxies.list);
    else
        say(warning,
            "%llu%% of all requests come from %s, %s: that looks like a proxy, and everybody behind it shares one key; "
            "let the log have the client's own address (nginx: `set_real_ip_from ADDRESS; real_ip_header "
            "X-Forwarded-For;`, Apache: mod_remoteip), and set `client: { trusted: [%s], address_from: X-Forwarded-For "
            "}`; if it is a check of your own, exempt it",
            percent(proxies.requests, watch->requests), proxies.list, what, proxies.list);
}

/* ---- the site itself ---- */

static void warn_of_self(const struct watch *watch, const struct warning *warning)
{
    const struct watch_wordpress *wordpress = &watch->wordpress;
    bool is_wordpress = wordpress->requests > 0 && !wordpress->is_mixed;
    uint64_t requests = watch->self_requests + (is_wordpress ? wordpress->requests : 0);
    uint64_t refused = watch->self_refused + (is_wordpress ? wordpress->refused : 0);
    struct proxies proxies;
    char name[WATCH_ADDRESS_TEXT];
    if (requests < SELF_LEAST || find_proxies(watch, &proxies))
        return;
    const struct drossel_address *self = watch->self_requests > 0 ? &watch->self : &wordpress->client->real;
    if (self->family == DROSSEL_UNIX) /* behind a socket is whoever the proxy lets through */
        return;
    watch_address(watch, self, name);
    bool is_name = names_text(watch->names, self) != NULL; /* which a policy would take for a list file */
    char remedy[WATCH_ADDRESS_TEXT + 60] = "its address under `exempt: addresses`";
    if (!is_name)
        snprintf(remedy, sizeof remedy, "`exempt: { addresses: [%s] }`", name);
    say(warning,
        "the site calls itself: %llu requests come from %s (cron jobs, health checks or the server's own processes), "
        "and %llu of them are refused; if that is its own address let them pass with %s",
        (unsigned long long)requests, name, (unsigned long long)refused, remedy);
}

/* ---- an office ---- */

/* Who mostly fails to log in is no office, whatever it calls itself. */
static bool is_office(const struct watch *watch, const struct watch_client *client)
{
    return client->of.refused > 0 && client->browser_count >= OFFICE_BROWSERS &&
           client->failed_logins * 2 < client->of.requests && !is_proxy(watch, client);
}

static int by_refused(void *context, const struct census_entry *left, const struct census_entry *right)
{
    (void)context;
    return census_by_refused(left, right);
}

/* Offices alone, as a census has them all: most refused first.  Returns how many there are. */
static uint64_t find_offices(const struct watch *watch, struct census *offices, uint64_t *refused)
{
    *refused = 0;
    for (size_t i = 0; i < watch->clients.count; i++) {
        if (!is_office(watch, client_at(watch, i)))
            continue;
        *refused += watch->clients.entry[i]->refused;
        offices->entry[offices->count++] = watch->clients.entry[i];
    }
    return offices->count;
}

static void warn_of_offices(const struct watch *watch, const struct warning *warning)
{
    struct census offices = { .entry = malloc((watch->clients.count + 1) * sizeof *offices.entry) };
    const struct census_entry *first[OFFICES_NAMED];
    char names[NAME_BYTES * OFFICES_NAMED] = "";
    uint64_t refused, count = offices.entry != NULL ? find_offices(watch, &offices, &refused) : 0;
    size_t used = 0, named = count > OFFICES_NAMED ? OFFICES_NAMED : (size_t)count;
    if (count > 0)
        named = census_first(&offices, first, named, by_refused, NULL);
    for (size_t i = 0; i < named; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s", i > 0 ? ", " : "");
        used += watch_name(watch, &((const struct watch_client *)(const void *)first[i])->address, names + used,
                           NAME_BYTES - 10);
    }
    free(offices.entry);
    if (count == 0)
        return;
    say(warning,
        "%llu of the refused clients may be many people behind one address (an office, a school, a mobile network): "
        "%s%s "
        "sent %d or more different browsers each, and %llu of their requests are refused; allow more by address, count "
        "them `by: account` or `by: token`, or give them a number of their own with `overrides`",
        (unsigned long long)count, names, count > named ? ", ..." : "", OFFICE_BROWSERS, (unsigned long long)refused);
}

/* ---- logins ---- */

/* Failures of those who stay so slow that no limit by address reaches them and spares who mistypes. */
static uint64_t slow_failures(const struct watch *watch, uint64_t *clients)
{
    uint64_t slow = 0;
    *clients = 0;
    for (size_t i = 0; i < watch->failed.count; i++) {
        if (watch->failed.entry[i]->peak > SLOW_MOST)
            continue;
        slow += watch->failed.entry[i]->requests;
        *clients += 1;
    }
    return slow;
}

static uint64_t failures_by_account(const struct watch *watch)
{
    uint64_t reached = 0;
    for (size_t i = 0; i < watch->accounts.count; i++)
        if (watch->accounts.entry[i]->peak > SLOW_MOST)
            reached += watch->accounts.entry[i]->requests;
    return reached;
}

static void warn_of_logins(const struct watch *watch, bool has_limit, const struct warning *warning)
{
    uint64_t clients, slow = slow_failures(watch, &clients), by_account = failures_by_account(watch);
    if (has_limit || watch->failed_logins < LOGINS_LEAST || slow < watch->failed_logins / 10)
        return;
    if (by_account > watch->failed_logins / 10)
        say(warning,
            "%llu%% of the %llu failed logins come from %llu addresses that fail at most %d times an hour each: no "
            "limit by "
            "address reaches them and spares who mistypes; a limit by account would see %llu%% of them: `{ by: "
            "account, allow: "
            "5 failures per 15m }`",
            percent(slow, watch->failed_logins), (unsigned long long)watch->failed_logins, (unsigned long long)clients,
            SLOW_MOST, percent(by_account, watch->failed_logins));
    else
        say(warning,
            "%llu%% of the %llu failed logins come from %llu addresses that fail at most %d times an hour each: no "
            "limit by "
            "address reaches them and spares who mistypes; a limit by site would: `{ by: site, allow: N failures per "
            "10m, "
            "action: challenge }` with N above what a quiet day has%s",
            percent(slow, watch->failed_logins), (unsigned long long)watch->failed_logins, (unsigned long long)clients,
            SLOW_MOST, watch->failed_with_account == 0 ? ", and live a limit by account: this log names none" : "");
}

/* ---- search engines ---- */

static void warn_of_engines(const struct watch *watch, const struct warning *warning)
{
    char list[TEXT_BYTES / 2] = "";
    size_t used = 0;
    for (size_t i = 0; i < WATCH_ENGINES_MOST && used < sizeof list - 60; i++)
        if (watch->engine[i].requests > 0)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s (%llu)", used > 0 ? ", " : "",
                                     watch_engine(i), (unsigned long long)watch->engine[i].requests);
    if (used > 0)
        say(warning,
            "refused clients name themselves as search engines: %s; anybody can say so: look their addresses up "
            "(reverse DNS, or "
            "the list that the engine publishes), and let the true ones pass with `exempt: { addresses: [LIST] }` or a "
            "higher "
            "number",
            list);
}

void watch_conclude(const struct watch *watch, bool has_site_or_account_limit,
                    void (*warn)(void *context, const char *text), void *context)
{
    struct warning warning = { warn, context };
    warn_of_proxy(watch, &warning);
    warn_of_self(watch, &warning);
    warn_of_offices(watch, &warning);
    warn_of_logins(watch, has_site_or_account_limit, &warning);
    warn_of_engines(watch, &warning);
}
