/*
 * Whoever is in a log: counted on the way, a handful of nanoseconds a request, and judged at the end.
 */
#include "cli/replay_watch.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "limiter.h"

#define HOUR_NS UINT64_C(3600000000000)

void watch_release(struct watch *watch)
{
    census_release(&watch->clients);
    census_release(&watch->failed);
    census_release(&watch->accounts);
}

struct watch_client *watch_client(struct watch *watch, const struct drossel_address *client)
{
    watch->clients.entry_size = sizeof(struct watch_client);
    struct census_entry *entry = census_find(&watch->clients, client, sizeof *client, NULL);
    struct watch_client *who = (struct watch_client *)(void *)entry;
    if (who != NULL && who->address.family == DROSSEL_NONE)
        who->address = *client;
    return who;
}

size_t watch_name(const struct watch *watch, const struct drossel_address *counted, char *out, size_t cap)
{
    const char *name = names_text(watch->names, counted);
    if (name == NULL)
        return limiter_address_format(counted, watch->policy->ipv6_prefix, out, cap);
    return (size_t)snprintf(out, cap, "%s", name);
}

void watch_address(const struct watch *watch, const struct drossel_address *real, char out[WATCH_ADDRESS_TEXT])
{
    char text[DROSSEL_ADDRESS_TEXT];
    const char *name = names_text(watch->names, real);
    if (name == NULL)
        drossel_address_format(real, text);
    const char *quote = name == NULL && text[0] == ':' ? "'" : ""; /* YAML takes it for no plain text */
    snprintf(out, WATCH_ADDRESS_TEXT, "%s%s%s", quote, name != NULL ? name : text, quote);
}

/* Only to tell texts apart; two that collide are one text too few. */
static uint64_t hash_of(struct drossel_text text)
{
    static const uint64_t odd[2] = { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f) };
    uint64_t hash[2] = { text.size, ~(uint64_t)text.size }, word[2];
    const char *at = text.data;
    size_t left = text.size;
    for (; left >= sizeof word;
         at += sizeof word, left -= sizeof word) { /* two chains, as a multiplication takes its time */
        memcpy(word, at, sizeof word);
        hash[0] = (hash[0] ^ word[0]) * odd[0];
        hash[1] = (hash[1] ^ word[1]) * odd[1];
        hash[0] ^= hash[0] >> 29;
        hash[1] ^= hash[1] >> 31;
    }
    word[0] = word[1] = 0;
    memcpy(word, at, left);
    uint64_t both = ((hash[0] ^ word[0]) * odd[0]) ^ (((hash[1] ^ word[1]) * odd[1]) >> 1);
    return both ^ both >> 32;
}

/* `what` begins with a letter or a mark, which is looked for first: most texts have few of them. */
static bool contains(struct drossel_text text, const char *what)
{
    size_t size = strlen(what);
    int lower = what[0] | 0x20;
    for (size_t i = 0; i + size <= text.size; i++)
        if ((text.data[i] | 0x20) == lower && strncasecmp(text.data + i, what, size) == 0)
            return true;
    return false;
}

static bool begins(struct drossel_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

static bool is_browser(struct drossel_text agent)
{
    static const char *const machine[] = { "bot", "crawl", "spider", "slurp", "http://", "https://" };
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
        if (contains(agent, machine[i]))
            return false;
    return begins(agent, "Mozilla/") || begins(agent, "Opera/");
}

static const char *const engine[WATCH_ENGINES_MOST] = { "Googlebot",    "bingbot",     "YandexBot",
                                                        "Baiduspider",  "DuckDuckBot", "Applebot",
                                                        "Slurp",        "PetalBot",    "SeznamBot",
                                                        "Qwantify",     "msnbot",      "Sogou",
                                                        "YandexImages", "MojeekBot",   "Google-InspectionTool",
                                                        "AdsBot-Google" };

/* 1 + its index; 0: none. */
static uint8_t engine_of(struct drossel_text agent)
{
    for (uint8_t i = 0; i < WATCH_ENGINES_MOST; i++)
        if (contains(agent, engine[i]))
            return i + 1;
    return 0;
}

/* What an agent says of itself is looked at once for each client, not with each request. */
static void note_agent(struct watch_client *client, struct drossel_text agent)
{
    struct watch_agent found = { .hash = (uint32_t)hash_of(agent) };
    uint8_t at = 0;
    while (at < client->agent_count && client->agent[at].hash != found.hash)
        at++;
    if (at == 0 && client->agent_count > 0)
        return;
    if (at < client->agent_count) {
        found = client->agent[at];
    } else {
        found.engine = engine_of(agent);
        if (client->agent_count < WATCH_AGENTS_MOST) {
            client->browser_count += is_browser(agent);
            client->agent_count++;
        } else {
            at--; /* the one that was seen longest ago is forgotten */
        }
    }
    memmove(&client->agent[1], &client->agent[0], at * sizeof client->agent[0]);
    client->agent[0] = found;
}

static void note_forwarded(struct watch_client *client, struct drossel_text forwarded)
{
    uint64_t hash = hash_of(forwarded) | 1;
    client->forwards |= client->forwarded_hash != 0 && client->forwarded_hash != hash;
    client->forwarded_hash = hash;
}

/* ---- the site itself ---- */

/* `WordPress/6.4; https://shop.example` is the site's own agent, and that of every other such site: the host must be its own, or
 * what it asks for is what no other would. */
static bool is_wordpress_itself(const struct event *event)
{
    static const char scheme[] = "://";
    if (!begins(event->agent, "WordPress/"))
        return false;
    if (contains(event->target, "wp-cron.php"))
        return true;
    const char *at = memmem(event->agent.data, event->agent.size, scheme, sizeof scheme - 1);
    if (at == NULL || event->host.size == 0)
        return false;
    at += sizeof scheme - 1;
    size_t left = (size_t)(event->agent.data + event->agent.size - at);
    return left >= event->host.size && strncasecmp(at, event->host.data, event->host.size) == 0;
}

/* Others fetch feeds and ping back. */
static bool may_be_wordpress_itself(const struct event *event)
{
    return event->host.size == 0 && begins(event->agent, "WordPress/") && !contains(event->target, "feed") &&
           !contains(event->target, "xmlrpc") && !contains(event->agent, "pingback");
}

static void note_wordpress(struct watch_wordpress *wordpress, const struct event *event,
                           const struct watch_client *client)
{
    const char *end = memchr(event->agent.data, ';', event->agent.size);
    size_t skip = end != NULL ? (size_t)(end - event->agent.data) : 0; /* its version changes */
    uint64_t site = hash_of((struct drossel_text){ event->agent.data + skip, event->agent.size - skip });
    if (wordpress->requests++ == 0) {
        wordpress->site = site;
        wordpress->client = client;
    }
    wordpress->is_mixed |= wordpress->site != site || wordpress->client != client;
}

static bool is_loopback(const struct drossel_address *address)
{
    static const uint8_t v6[16] = { [15] = 1 };
    return (address->family == DROSSEL_IPV4 && address->bytes[0] == 127) ||
           (address->family == DROSSEL_IPV6 && memcmp(address->bytes, v6, sizeof v6) == 0);
}

static bool is_self(const struct event *event, const struct watch_client *client)
{
    if (client->is_private && is_loopback(&client->real))
        return true;
    if (event->agent.size == 0)
        return false;
    char first = event->agent.data[0];
    return (first == 'W' && is_wordpress_itself(event)) ||
           (first == 'A' && contains(event->agent, "(internal dummy connection)"));
}

/* ---- logins ---- */

static bool looks_like_login(const struct event *event)
{
    static const char *const word[] = { "login",   "logon",    "signin", "sign-in",
                                        "sign_in", "/session", "/auth",  "xmlrpc.php" };
    if (event->method.size != 4 || memcmp(event->method.data, "POST", 4) != 0 || event->target.size == 0)
        return false;
    struct drossel_text path = event->target;
    const char *query = memchr(path.data, '?', path.size);
    if (query != NULL)
        path.size = (size_t)(query - path.data);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (contains(path, word[i]))
            return true;
    return false;
}

static bool no_header(void *context, struct drossel_text name, struct drossel_text *value)
{
    (void)context, (void)name, (void)value;
    return false;
}

static bool note_failed(struct watch *watch, const struct event *event, struct watch_client *client)
{
    struct census_entry *entry = census_find(&watch->failed, &client->address, sizeof client->address, NULL);
    client->failed_logins++;
    watch->failed_logins++;
    if (entry == NULL || !census_arrive(entry, event->t_ns, HOUR_NS))
        return false;
    struct drossel_text account = event->account.size > 0 ? event->account : event->user;
    if (account.size == 0)
        return true;
    watch->failed_with_account++;
    entry = census_find(&watch->accounts, account.data, account.size, NULL);
    return entry != NULL && census_arrive(entry, event->t_ns, HOUR_NS);
}

static bool note_login(struct watch *watch, const struct event *event, struct watch_client *client)
{
    watch->logins++;
    if (event->status == 0 || limiter_outcome(watch->policy, event->status, no_header, NULL) != DROSSEL_FAILURE)
        return true;
    return note_failed(watch, event, client);
}

bool watch_arrived(struct watch *watch, const struct event *event, struct watch_client *client,
                   const struct drossel_address *real, bool is_login)
{
    watch->requests++;
    if (client->of.requests++ == 0) /* what is counted may be the network of ::1, which is nobody's */
        client->is_private = real->family == DROSSEL_UNIX || client_is_private(real);
    client->real = *real;
    watch->has_status |= event->status != 0;
    if (event->agent.size > 0) {
        watch->has_agents = true;
        note_agent(client, event->agent);
    }
    if (event->forwarded.size > 0) {
        watch->has_forwarded = true;
        if (client->is_private)
            note_forwarded(client, event->forwarded);
    }
    if (is_self(event, client)) {
        watch->self_requests++;
        watch->self = client->real;
    } else if (event->agent.size > 0 && event->agent.data[0] == 'W' && may_be_wordpress_itself(event)) {
        note_wordpress(&watch->wordpress, event, client);
    }
    if (is_login || looks_like_login(event))
        return note_login(watch, event, client);
    return true;
}

void watch_refused(struct watch *watch, const struct event *event, struct watch_client *client)
{
    client->of.refused++;
    if (is_self(event, client))
        watch->self_refused++;
    else if (event->agent.size > 0 && event->agent.data[0] == 'W' && may_be_wordpress_itself(event))
        watch->wordpress.refused++;
    uint8_t named = event->agent.size > 0 && client->agent_count > 0 ? client->agent[0].engine : 0;
    if (named > 0)
        watch->engine[named - 1].requests++;
}

const char *watch_engine(size_t index)
{
    return engine[index];
}
