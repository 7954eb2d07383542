/* Where counters live: read and checked; only the table is carried out yet. */
#include "policy/reading.h"

#include <string.h>

static const struct {
    const char *scheme;
    enum store_kind kind;
    const char *form;
} schemes[] = {
    { "redis+cluster://", STORE_REDIS_CLUSTER, "redis+cluster://HOST,HOST" },
    { "redis://", STORE_REDIS, "redis://HOST:PORT/NUMBER" },
    { "unix:", STORE_REDIS, "unix:/run/redis.sock" },
    { "mariadb://", STORE_MARIADB, "mariadb://USER@HOST/DATABASE" },
    { "memcached://", STORE_MEMCACHED, "memcached://HOST" },
};
#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

/* What follows the scheme: a path for a socket; a host for a server, for a database with a user and a database's name. */
static bool is_complete(size_t scheme, struct drossel_text rest)
{
    if (rest.size == 0 || memchr(rest.data, ' ', rest.size) != NULL)
        return false;
    if (strcmp(schemes[scheme].scheme, "unix:") == 0)
        return rest.data[0] == '/';
    if (schemes[scheme].kind == STORE_MARIADB) {
        const char *at = memchr(rest.data, '@', rest.size), *slash = memchr(rest.data, '/', rest.size);
        return at > rest.data && slash != NULL && slash > at + 1 && slash + 1 < rest.data + rest.size;
    }
    return rest.data[0] != '/' && rest.data[0] != ':' && rest.data[0] != ',';
}

static void report_store(struct reading *reading, const struct node *node)
{
    static const char *const names[] = { "table", "redis", "redis+cluster", "unix", "mariadb", "memcached", NULL };
    struct drossel_text word = node->text;
    const char *colon = memchr(word.data, ':', word.size);
    if (colon != NULL)
        word.size = (size_t)(colon - word.data);
    const char *closest = closest_name(word, names), *found = quotable(reading->arena, node->text);
    if (closest != NULL && !text_is(word, closest))
        mistake(reading, node, "unknown store \"%s\"; did you mean \"%s\"?", found, closest);
    else
        mistake(reading, node,
                "unknown store \"%s\"; write table, redis://HOST:PORT/NUMBER, redis+cluster://HOST,HOST, unix:/PATH, "
                "mariadb://USER@HOST/DATABASE or memcached://HOST",
                found);
}

bool read_store(struct reading *reading, const struct node *node, enum store_kind *out)
{
    struct drossel_text text;
    if (!read_text(reading, node, "a store, as table", &text))
        return false;
    if (text_is(text, "table")) {
        *out = STORE_TABLE;
        return true;
    }
    for (size_t i = 0; i < SCHEMES; i++) {
        size_t length = strlen(schemes[i].scheme);
        if (!text_begins(text, (struct drossel_text){ schemes[i].scheme, length }))
            continue;
        if (!is_complete(i, (struct drossel_text){ text.data + length, text.size - length }))
            mistake(reading, node, "store \"%s\" is not complete; write %s", quotable(reading->arena, text),
                    schemes[i].form);
        not_yet(reading, node, arena_format(reading->arena, "store \"%s\"", quotable(reading->arena, text)),
                "use `store: table`, this machine's shared table, or leave `store` out");
        *out = schemes[i].kind;
        return true;
    }
    report_store(reading, node);
    return false;
}

bool read_outage(struct reading *reading, const struct node *node, enum policy_outage *out)
{
    static const char *const names[] = { "local", "open", "closed", NULL };
    int choice = read_choice(reading, node, names);
    if (choice >= 0)
        *out = (enum policy_outage)choice;
    return choice >= 0;
}
