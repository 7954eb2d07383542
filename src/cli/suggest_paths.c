/*
 * What a log says about its paths.
 */
#include "cli/suggest_paths.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (PATHS_MOST * 2)
#define NAME_LONG 20     /* a part of a path as long as this is hardly a word */
#define SURE_LEAST 20    /* requests, before a path is judged */
#define CHANGES_LEAST 3  /* of the client, from one POST to the next */
#define DENIED_LEAST 0.2 /* so much of the POSTs to a login is answered 401 or 403 */
#define SLOW_TIMES 4.0   /* as slow as this against the median of all pages, and */
#define SLOW_LEAST_S 0.2 /* in seconds */
#define RARE_MISSES 0.8  /* rarely from the cache: so much of it is missed */
#define CACHE_HITS 0.3   /* where a cache answers at least so much of all */

struct paths *paths_open(void)
{
    struct paths *paths = calloc(1, sizeof *paths);
    if (paths == NULL)
        return NULL;
    paths->path = calloc(PATHS_MOST, sizeof *paths->path);
    paths->slot = calloc(SLOTS, sizeof *paths->slot);
    randombytes_buf(paths->secret, sizeof paths->secret);
    if (paths->path != NULL && paths->slot != NULL)
        return paths;
    paths_close(paths);
    return NULL;
}

void paths_close(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->path[i].text);
    free(paths->path);
    free(paths->slot);
    free(paths);
}

/* Does a part of a path name one thing of many?  Numbers, dates, identifiers, titles with dashes. */
static bool is_variable(const char *part, size_t size)
{
    size_t digits = 0;
    for (size_t i = 0; i < size; i++)
        digits += isdigit((unsigned char)part[i]) != 0;
    bool is_version = size <= 3 && size > 1 && (part[0] == 'v' || part[0] == 'V');
    return size >= NAME_LONG || (digits * 3 >= size && digits > 0 && !is_version);
}

struct drossel_text paths_beginning(struct drossel_text path, bool *is_whole)
{
    size_t at = 1, parts = 0;
    *is_whole = true;
    while (at < path.size) {
        const char *slash = memchr(path.data + at, '/', path.size - at);
        size_t end = slash != NULL ? (size_t)(slash - path.data) : path.size;
        if (is_variable(path.data + at, end - at) || parts == 2) {
            *is_whole = false;
            return (struct drossel_text){ path.data, at };
        }
        parts++;
        at = end + 1;
    }
    return path;
}

static uint64_t hash_of(const struct paths *paths, struct drossel_text text)
{
    uint64_t hash;
    unsigned char out[crypto_shorthash_BYTES];
    crypto_shorthash(out, (const unsigned char *)text.data, text.size, paths->secret);
    memcpy(&hash, out, sizeof hash);
    return hash;
}

static struct path *find(struct paths *paths, struct drossel_text text, bool is_post)
{
    size_t at = (size_t)(hash_of(paths, text) + is_post) % SLOTS;
    for (; paths->slot[at] != 0; at = (at + 1) % SLOTS) {
        struct path *path = &paths->path[paths->slot[at] - 1];
        if (path->size == text.size && path->is_post == is_post && memcmp(path->text, text.data, text.size) == 0)
            return path;
    }
    char *copy = paths->count < PATHS_MOST ? calloc(1, text.size + 1) : NULL;
    if (copy == NULL)
        return NULL;
    memcpy(copy, text.data, text.size);
    struct path *path = &paths->path[paths->count++];
    *path = (struct path){ .text = copy, .size = (uint32_t)text.size, .is_post = is_post };
    paths->slot[at] = (uint32_t)paths->count;
    return path;
}

static void note_cost(struct path *path, const struct log_record *record)
{
    if (record->duration_ns != LOG_NO_DURATION) {
        size_t speed = 0;
        for (uint64_t ms = record->duration_ns / 1000000; ms > 0 && speed + 1 < PATH_SPEEDS; ms >>= 1)
            speed++;
        path->speed[speed]++;
        path->timed++;
        path->seconds += (double)record->duration_ns / 1e9;
    }
    path->hits += record->cache == LOG_CACHE_HIT;
    path->misses += record->cache == LOG_CACHE_MISS;
}

/* Does it come from somebody else than the request before?  Whoever scans alone shall not make a path a login. */
static void note_client(struct paths *paths, struct path *path, struct drossel_text client)
{
    uint64_t hash = hash_of(paths, client);
    path->changes += path->requests > 0 && hash != path->client_hash;
    path->client_hash = hash;
}

static void note(struct path *path, const struct log_record *record)
{
    uint16_t status = record->status;
    path->requests++;
    path->denied += status == 401 || status == 403;
    path->failed += traffic_is_failure(status);
    path->missed += status == 404 || status == 405 || status == 410;
    note_cost(path, record);
}

void paths_arrive(struct paths *paths, const struct log_record *record, struct drossel_text path, bool is_login)
{
    bool is_post = record->method.size == 4 && memcmp(record->method.data, "POST", 4) == 0, is_whole;
    bool has_cost = record->duration_ns != LOG_NO_DURATION || record->cache != LOG_CACHE_UNKNOWN;
    path = traffic_page_of(path);
    if ((!is_post && !has_cost) || path.size == 0 || path.data[0] != '/')
        return;
    struct drossel_text text = is_post ? path : paths_beginning(path, &is_whole);
    struct path *found = text.size <= PATH_BYTES_MOST ? find(paths, text, is_post) : NULL;
    if (found != NULL) {
        if (is_post)
            note_client(paths, found, record->client);
        note(found, record);
        found->is_login = is_login;
    } else
        paths->left_out++;
    note_cost(&paths->all, record);
}

double path_median_s(const struct path *path)
{
    uint64_t below = 0;
    for (size_t i = 0; i < PATH_SPEEDS; i++) {
        below += path->speed[i];
        if (below * 2 >= path->timed && path->timed > 0)
            return i == 0 ? 0.0005 : 0.00075 * (double)(UINT64_C(1) << i);
    }
    return 0;
}

static bool is_slow(const struct paths *paths, const struct path *path)
{
    double median_s = path_median_s(path);
    return path->timed >= SURE_LEAST && median_s >= SLOW_LEAST_S && median_s >= SLOW_TIMES * path_median_s(&paths->all);
}

static bool is_rarely_cached(const struct paths *paths, const struct path *path)
{
    double asked = (double)(path->hits + path->misses), all = (double)(paths->all.hits + paths->all.misses);
    return asked >= SURE_LEAST && (double)path->misses >= RARE_MISSES * asked &&
           (double)paths->all.hits >= CACHE_HITS * all;
}

static bool is_secret_login(const struct path *path)
{
    return path->is_post && !path->is_login && path->requests >= SURE_LEAST && path->changes >= CHANGES_LEAST &&
           (double)path->denied >= DENIED_LEAST * (double)path->requests;
}

/* A text that can stand in a policy as it is, where paths are decoded and normalised, and in front of a person. */
static bool is_plain(const struct path *path)
{
    if (strstr(path->text, "//") != NULL || strstr(path->text, "/.") != NULL || strchr(path->text, '%') != NULL)
        return false;
    for (uint32_t i = 0; i < path->size; i++)
        if (!isalnum((unsigned char)path->text[i]) && memchr("/-_.~+:@,=", path->text[i], 10) == NULL)
            return false;
    return true;
}

static struct drossel_text text_of(const struct path *path)
{
    return (struct drossel_text){ path->text, path->size };
}

/* Those on which the server spends most first. */
static int by_seconds(const void *left, const void *right)
{
    const struct path *a = *(const struct path *const *)left, *b = *(const struct path *const *)right;
    return a->seconds != b->seconds ? (a->seconds < b->seconds) - (a->seconds > b->seconds) : strcmp(a->text, b->text);
}

static bool is_costly(const struct paths *paths, const struct path *path)
{
    return path->size > 1 && !path->is_login && !is_secret_login(path) &&
           (is_slow(paths, path) || is_rarely_cached(paths, path));
}

unsigned paths_teach(const struct paths *paths, struct traffic_signs *signs)
{
    const struct path **costly = calloc(paths->count + 1, sizeof *costly);
    size_t count = 0;
    unsigned kinds = 0;
    signs->has_costs = costly != NULL && (paths->all.timed >= SURE_LEAST || paths->all.hits >= SURE_LEAST);
    if (signs->has_costs)
        kinds |= TRAFFIC_BIT(TRAFFIC_EXPENSIVE);
    for (size_t i = 0; costly != NULL && i < paths->count; i++) {
        const struct path *path = &paths->path[i];
        if (!is_plain(path))
            continue;
        if (is_secret_login(path) && traffic_learn(&signs->learned_login, text_of(path), false))
            kinds |= TRAFFIC_BIT(TRAFFIC_LOGIN) | TRAFFIC_BIT(TRAFFIC_FAILURE);
        if (is_costly(paths, path))
            costly[count++] = path;
    }
    if (count > 1)
        qsort(costly, count, sizeof(const struct path *), by_seconds);
    for (size_t i = 0; i < count && i < TRAFFIC_LEARNED_MOST; i++)
        traffic_learn(&signs->learned_costly, text_of(costly[i]), true);
    free(costly);
    return kinds;
}

static bool is_learned(const struct traffic_signs *signs, const struct path *path)
{
    for (size_t i = 0; i < signs->learned_login.count; i++)
        if (strcmp(signs->learned_login.item[i].text, path->text) == 0)
            return path->is_post;
    return false;
}

static int by_requests(const void *left, const void *right)
{
    const struct path *a = *(const struct path *const *)left, *b = *(const struct path *const *)right;
    return a->requests != b->requests ? (a->requests < b->requests) - (a->requests > b->requests)
                                      : strcmp(a->text, b->text);
}

size_t paths_logins(const struct paths *paths, const struct traffic_signs *signs, const struct path **login, size_t cap)
{
    const struct path **found = calloc(paths->count + 1, sizeof *found);
    size_t count = 0;
    for (size_t i = 0; found != NULL && i < paths->count; i++) {
        const struct path *path = &paths->path[i];
        if (is_plain(path) && path->missed < path->requests && (path->is_login || is_learned(signs, path)))
            found[count++] = path;
    }
    if (count > 1)
        qsort(found, count, sizeof(const struct path *), by_requests);
    count = count < cap ? count : cap;
    for (size_t i = 0; i < count; i++)
        login[i] = found[i];
    free(found);
    return count;
}
