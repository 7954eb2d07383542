/*
 * What kind of request a line of a log is.
 */
#include "cli/suggest_traffic.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES_MOST 4096 /* what is longer is no login, and no page that many ask for */
#define ENDING_BYTES 6       /* of the longest ending, and room to see that one is longer */

const char *const traffic_name[TRAFFIC_KINDS] = {
    "all", "page", "static", "login", "login_failure", "api", "expensive"
};

const char *const traffic_static_ending[] = { "css", "js",   "mjs",  "map",   "png", "jpg",  "jpeg", "jpe",
                                              "gif", "svg",  "svgz", "ico",   "cur", "webp", "avif", "bmp",
                                              "tif", "tiff", "woff", "woff2", "ttf", "otf",  "eot",  "mp3",
                                              "mp4", "m4a",  "m4v",  "ogg",   "ogv", "wav",  "webm", "flv",
                                              "swf", "avi",  "mov",  "pdf",   "zip", "gz",   "tgz",  "bz2",
                                              "rar", "7z",   "jar",  "exe",   "dmg", "iso",  NULL };

const char traffic_login_pattern[] =
    "(?i)/(log-?in|sign-?in|log-?on|auth|authenticate|authentication|sessions?|wp-login|xmlrpc|j_security_check"
    "|(oauth2?|connect|api|auth)/token)(\\.[a-z]+)?/?$";
const char traffic_api_pattern[] = "(?i)^/(api|rest|wp-json|rpc|v[0-9]+)(/|$)|/(graphql|api)(/|$)|\\.json$";
const char traffic_expensive_pattern[] =
    "(?i)/(search|suche|recherche|buscar|autocomplete|filter|compare|exports?|reports?|backup|pdf|print)([./]|$)";

static void *compile(const char *pattern)
{
    int code;
    PCRE2_SIZE offset;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &offset, NULL);
    if (compiled != NULL)
        pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE); /* without it only slower */
    return compiled;
}

/* One match data for all: this is a command with one thread, and only whether there is a match is asked. */
static bool is_found(const void *pattern, struct drossel_text text)
{
    static pcre2_match_data *data;
    if (data == NULL && (data = pcre2_match_data_create(1, NULL)) == NULL)
        return false;
    return text.size > 0 && pcre2_match(pattern, (PCRE2_SPTR)text.data, text.size, 0, 0, data, NULL) >= 0;
}

struct traffic_signs *traffic_open(void)
{
    struct traffic_signs *signs = calloc(1, sizeof *signs);
    if (signs == NULL)
        return NULL;
    signs->login = compile(traffic_login_pattern);
    signs->api = compile(traffic_api_pattern);
    signs->expensive = compile(traffic_expensive_pattern);
    if (signs->login != NULL && signs->api != NULL && signs->expensive != NULL)
        return signs;
    traffic_close(signs);
    return NULL;
}

static void forget(struct traffic_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->item[i].text);
    paths->count = 0;
}

void traffic_close(struct traffic_signs *signs)
{
    pcre2_code_free(signs->login);
    pcre2_code_free(signs->api);
    pcre2_code_free(signs->expensive);
    forget(&signs->learned_login);
    forget(&signs->learned_costly);
    free(signs);
}

bool traffic_learn(struct traffic_paths *paths, struct drossel_text text, bool is_prefix)
{
    char *copy = paths->count < TRAFFIC_LEARNED_MOST ? strndup(text.data, text.size) : NULL;
    if (copy == NULL)
        return false;
    paths->item[paths->count++] = (struct traffic_path){ copy, is_prefix };
    return true;
}

static bool is_learned(const struct traffic_paths *paths, struct drossel_text path)
{
    for (size_t i = 0; i < paths->count; i++) {
        size_t size = strlen(paths->item[i].text);
        if (path.size >= size && (path.size == size || paths->item[i].is_prefix) &&
            memcmp(path.data, paths->item[i].text, size) == 0)
            return true;
    }
    return false;
}

static struct drossel_text after(struct drossel_text text, size_t size)
{
    return (struct drossel_text){ text.data + size, text.size - size };
}

/* The second word of the request line, whatever the first is: also requests that are none have one. */
static struct drossel_text target_of(const struct log_record *record)
{
    if (record->request.size == 0)
        return record->target;
    const char *blank = memchr(record->request.data, ' ', record->request.size);
    if (blank == NULL)
        return (struct drossel_text){ 0 };
    struct drossel_text target = after(record->request, (size_t)(blank - record->request.data) + 1);
    const char *end = target.size > 0 ? memchr(target.data, ' ', target.size) : NULL;
    if (end != NULL)
        target.size = (size_t)(end - target.data);
    return target;
}

/* Cuts `http://host` off, as stands in requests to proxies. */
static struct drossel_text without_origin(struct drossel_text target)
{
    size_t at = 0;
    if (target.size == 0 || !isalpha((unsigned char)target.data[0]))
        return target;
    while (at < target.size && (isalnum((unsigned char)target.data[at]) || memchr("+.-", target.data[at], 3) != NULL))
        at++;
    if (target.size - at < 3 || memcmp(target.data + at, "://", 3) != 0)
        return target;
    struct drossel_text rest = after(target, at + 3);
    const char *slash = rest.size > 0 ? memchr(rest.data, '/', rest.size) : NULL;
    return slash != NULL ? after(rest, (size_t)(slash - rest.data)) : after(rest, rest.size);
}

struct drossel_text traffic_path_of(const struct log_record *record)
{
    struct drossel_text path = without_origin(target_of(record));
    if (path.size == 0)
        return path;
    const char *end = memchr(path.data, '?', path.size);
    if (end != NULL)
        path.size = (size_t)(end - path.data);
    end = memchr(path.data, '#', path.size);
    if (end != NULL)
        path.size = (size_t)(end - path.data);
    return path;
}

static bool is_normal(struct drossel_text path)
{
    if (path.size == 0 || path.size > PAGE_BYTES_MOST || path.data[0] != '/')
        return true;
    if (memchr(path.data, '%', path.size) != NULL)
        return false;
    for (size_t i = 1; i < path.size; i++)
        if (path.data[i - 1] == '/' && (path.data[i] == '/' || path.data[i] == '.'))
            return false;
    return true;
}

struct drossel_text traffic_page_of(struct drossel_text path)
{
    static char page[PAGE_BYTES_MOST + 1];
    return is_normal(path) ? path : (struct drossel_text){ page, drossel_path_normalise(path, page, sizeof page) };
}

bool traffic_is_static(struct drossel_text path)
{
    char ending[ENDING_BYTES + 1];
    size_t size = 0;
    while (size < path.size && size < ENDING_BYTES && path.data[path.size - 1 - size] != '.')
        size++;
    if (size == 0 || size == path.size || size == ENDING_BYTES)
        return false;
    for (size_t i = 0; i < size; i++)
        ending[i] = (char)tolower((unsigned char)path.data[path.size - size + i]);
    ending[size] = '\0';
    for (size_t i = 0; traffic_static_ending[i] != NULL; i++)
        if (traffic_static_ending[i][0] == ending[0] && strcmp(traffic_static_ending[i], ending) == 0)
            return true;
    return false;
}

bool traffic_is_failure(uint16_t status)
{
    return status == 400 || status == 401 || status == 403 || status == 422;
}

static bool is_post(const struct log_record *record)
{
    return record->method.size == 4 && memcmp(record->method.data, "POST", 4) == 0;
}

static bool is_login(const struct traffic_signs *signs, struct drossel_text path)
{
    return is_found(signs->login, path) || is_learned(&signs->learned_login, path);
}

static bool is_expensive(const struct traffic_signs *signs, struct drossel_text path)
{
    return signs->has_costs ? is_learned(&signs->learned_costly, path) : is_found(signs->expensive, path);
}

unsigned traffic_of(const struct traffic_signs *signs, const struct log_record *record, struct drossel_text path)
{
    if (traffic_is_static(path))
        return TRAFFIC_BIT(TRAFFIC_ALL) | TRAFFIC_BIT(TRAFFIC_STATIC);
    unsigned bits = TRAFFIC_BIT(TRAFFIC_ALL) | TRAFFIC_BIT(TRAFFIC_PAGE);
    path = traffic_page_of(path);
    if (path.size <= 1)
        return bits;
    if (is_post(record) && is_login(signs, path)) {
        bits |= TRAFFIC_BIT(TRAFFIC_LOGIN);
        if (traffic_is_failure(record->status))
            bits |= TRAFFIC_BIT(TRAFFIC_FAILURE);
    }
    if (is_found(signs->api, path))
        bits |= TRAFFIC_BIT(TRAFFIC_API);
    if (is_expensive(signs, path))
        bits |= TRAFFIC_BIT(TRAFFIC_EXPENSIVE);
    return bits;
}
