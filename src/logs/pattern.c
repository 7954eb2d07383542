/* Compiles the string of a log format: nginx's variables and Apache's directives. */
#include "logs/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct compiler {
    struct pattern *pattern;
    char *p;       /* what is read, in the pattern's own text */
    char *literal; /* where the literal text since the last item begins */
    char *literal_end;
    bool is_apache;
    char *error;
    size_t error_size;
};

static const struct {
    const char *name;
    enum item_kind kind;
    uint64_t unit_ns;
} variables[] = { { "remote_addr", ITEM_CLIENT, 0 },
                  { "realip_remote_addr", ITEM_CLIENT_BELOW, 0 },
                  { "proxy_protocol_addr", ITEM_CLIENT_BELOW, 0 },
                  { "remote_user", ITEM_USER, 0 },
                  { "time_local", ITEM_STAMP, 0 },
                  { "time_iso8601", ITEM_STAMP, 0 },
                  { "msec", ITEM_STAMP, 0 },
                  { "request", ITEM_REQUEST, 0 },
                  { "request_method", ITEM_METHOD, 0 },
                  { "request_uri", ITEM_TARGET, 0 },
                  { "uri", ITEM_TARGET, 0 },
                  { "document_uri", ITEM_TARGET, 0 },
                  { "args", ITEM_QUERY, 0 },
                  { "query_string", ITEM_QUERY, 0 },
                  { "is_args", ITEM_MARK, 0 },
                  { "server_protocol", ITEM_PROTOCOL, 0 },
                  { "status", ITEM_STATUS, 0 },
                  { "body_bytes_sent", ITEM_BYTES, 0 },
                  { "bytes_sent", ITEM_BYTES, 0 },
                  { "request_time", ITEM_DURATION, 1000000000 },
                  { "host", ITEM_HOST, 0 },
                  { "server_name", ITEM_HOST, 0 },
                  { "upstream_cache_status", ITEM_CACHE, 0 },
                  { "drossel_verdict", ITEM_VERDICT, 0 } };

static const struct {
    char letter;
    enum item_kind kind;
    uint64_t unit_ns;
} directives[] = { { 'h', ITEM_CLIENT, 0 }, { 'a', ITEM_CLIENT, 0 },      { 'u', ITEM_USER, 0 },
                   { 't', ITEM_STAMP, 0 },  { 'r', ITEM_REQUEST, 0 },     { 'm', ITEM_METHOD, 0 },
                   { 'U', ITEM_TARGET, 0 }, { 'q', ITEM_QUERY, 0 },       { 'H', ITEM_PROTOCOL, 0 },
                   { 's', ITEM_STATUS, 0 }, { 'b', ITEM_BYTES, 0 },       { 'B', ITEM_BYTES, 0 },
                   { 'O', ITEM_BYTES, 0 },  { 'D', ITEM_DURATION, 1000 }, { 'T', ITEM_DURATION, 1000000000 },
                   { 'v', ITEM_HOST, 0 },   { 'V', ITEM_HOST, 0 } };

static bool fail(struct compiler *compiler, const char *what)
{
    snprintf(compiler->error, compiler->error_size, "log format: %s", what);
    return false;
}

/* ---- items ---- */

/* May a variable of this kind stand before another one without any text between?  It tells its own end. */
static bool ends_by_itself(enum item_kind kind)
{
    return kind == ITEM_STAMP || kind == ITEM_CLOCK || kind == ITEM_METHOD || kind == ITEM_STATUS ||
           kind == ITEM_BYTES || kind == ITEM_MARK || kind == ITEM_DURATION || kind == ITEM_HOST || kind == ITEM_TARGET;
}

/* The literal text since the last item ends here. */
static void close_literal(struct compiler *compiler)
{
    struct pattern *pattern = compiler->pattern;
    struct drossel_text literal = { compiler->literal, (size_t)(compiler->literal_end - compiler->literal) };
    if (pattern->count == 0)
        pattern->first = literal;
    else
        pattern->item[pattern->count - 1].after = literal;
    compiler->literal = compiler->literal_end;
}

static bool add_item(struct compiler *compiler, struct pattern_item item)
{
    struct pattern *pattern = compiler->pattern;
    close_literal(compiler);
    const struct pattern_item *last = pattern->count == 0 ? NULL : &pattern->item[pattern->count - 1];
    if (last != NULL && last->after.size == 0 && !ends_by_itself(last->kind))
        return fail(compiler,
                    "two variables stand without text between them, so that nobody knows where the first one ends");
    if (pattern->count == PATTERN_ITEMS)
        return fail(compiler, "it has more than 96 variables");
    pattern->has_client |= item.kind == ITEM_CLIENT;
    pattern->item[pattern->count++] = item;
    return true;
}

static void add_literal(struct compiler *compiler, char c)
{
    *compiler->literal_end++ = c;
}

/* ---- nginx ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool begins(struct drossel_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size > size && memcmp(text.data, with, size) == 0;
}

/* `http_user_agent` is the field User-Agent: the name is changed where it stands. */
static struct drossel_text field_name(char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (name[i] == '_')
            name[i] = '-';
    return (struct drossel_text){ name, size };
}

static bool nginx_item(struct compiler *compiler, char *name, size_t size)
{
    struct drossel_text text = { name, size };
    if (begins(text, "http_"))
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_HEADER, .name = field_name(name + 5, size - 5) });
    if (begins(text, "cookie_"))
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_COOKIE, .name = { name + 7, size - 7 } });
    if (size == 25 && memcmp(name, "proxy_add_x_forwarded_for", size) == 0)
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_HEADER, .name = field_name(name + 10, 15) });
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (strlen(variables[i].name) == size && memcmp(variables[i].name, name, size) == 0)
            return add_item(compiler,
                            (struct pattern_item){ .kind = variables[i].kind, .unit_ns = variables[i].unit_ns });
    return add_item(compiler, (struct pattern_item){ .kind = ITEM_SKIP });
}

/* At `$`. */
static bool nginx_variable(struct compiler *compiler)
{
    bool braced = compiler->p[1] == '{';
    char *name = compiler->p + 1 + braced, *end = name;
    while (is_word(*end))
        end++;
    if (end == name || (braced && *end != '}'))
        return fail(compiler, "a $ without the name of a variable behind it");
    compiler->p = end + braced;
    return nginx_item(compiler, name, (size_t)(end - name));
}

/* ---- Apache ---- */

/* `%{...}t`. */
static bool apache_time(struct compiler *compiler, struct drossel_text format)
{
    size_t skip = begins(format, "begin:") ? 6 : begins(format, "end:") ? 4 : 0;
    struct drossel_text name = { format.data + skip, format.size - skip };
    return add_item(compiler, (struct pattern_item){ .kind = name.size == 0 ? ITEM_STAMP : ITEM_CLOCK, .name = name });
}

/* `%{us}T`, `%{ms}T`, `%{s}T`. */
static uint64_t apache_unit(struct drossel_text name)
{
    if (name.size == 2 && memcmp(name.data, "ms", 2) == 0)
        return 1000000;
    return name.size == 2 && memcmp(name.data, "us", 2) == 0 ? 1000 : 1000000000;
}

static bool apache_item(struct compiler *compiler, struct drossel_text name, char letter)
{
    if (letter == 'i')
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_HEADER, .name = name });
    if (letter == 'C')
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_COOKIE, .name = name });
    if (letter == 't' && name.size > 0)
        return apache_time(compiler, name);
    if (letter == 'T' && name.size > 0)
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_DURATION, .unit_ns = apache_unit(name) });
    if (letter == 'a' && name.size > 0)
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_CLIENT_BELOW });
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++)
        if (directives[i].letter == letter && name.size == 0)
            return add_item(compiler,
                            (struct pattern_item){ .kind = directives[i].kind, .unit_ns = directives[i].unit_ns });
    return add_item(compiler, (struct pattern_item){ .kind = ITEM_SKIP });
}

/* At `%`: `%h`, `%>s`, `%{Referer}i`, `%!200,304{User-agent}i`, `%{X}^ti`. */
static bool apache_directive(struct compiler *compiler)
{
    char *p = compiler->p + 1;
    struct drossel_text name = { NULL, 0 };
    while (*p == '>' || *p == '<' || *p == '!' || *p == ',' || (*p >= '0' && *p <= '9'))
        p++;
    if (*p == '{') {
        char *end = strchr(p, '}');
        if (end == NULL)
            return fail(compiler, "a %{ without its }");
        name = (struct drossel_text){ p + 1, (size_t)(end - p) - 1 };
        p = end + 1;
    }
    if (*p == '^' && p[1] != '\0' && p[2] != '\0') {
        compiler->p = p + 3;
        return add_item(compiler, (struct pattern_item){ .kind = ITEM_SKIP });
    }
    if (*p == '\0')
        return fail(compiler, "a % without its letter");
    compiler->p = p + 1;
    return apache_item(compiler, name, *p);
}

/* ---- the string ---- */

/* `\"` and `\t`, as both configurations write them. */
static void literal_escape(struct compiler *compiler)
{
    char c = compiler->p[1];
    add_literal(compiler, c == 't' ? '\t' : c);
    compiler->p += 2;
}

static bool compile_items(struct compiler *compiler)
{
    while (*compiler->p != '\0') {
        char c = *compiler->p;
        bool good = true;
        if (c == '\\' && compiler->p[1] != '\0')
            literal_escape(compiler);
        else if (compiler->is_apache && c == '%' && compiler->p[1] != '%')
            good = apache_directive(compiler);
        else if (!compiler->is_apache && c == '$')
            good = nginx_variable(compiler);
        else {
            add_literal(compiler, c);
            compiler->p += 1 + (compiler->is_apache && c == '%');
        }
        if (!good)
            return false;
    }
    close_literal(compiler);
    return true;
}

static bool has_kind(const struct pattern *pattern, enum item_kind kind)
{
    for (size_t i = 0; i < pattern->count; i++)
        if (pattern->item[i].kind == kind)
            return true;
    return false;
}

bool pattern_names_client(struct drossel_text field)
{
    static const char *const names[] = { "x-real-ip",   "cf-connecting-ip", "true-client-ip",
                                         "x-client-ip", "fastly-client-ip", "fly-client-ip" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (field.size == strlen(names[i]) && strncasecmp(field.data, names[i], field.size) == 0)
            return true;
    return false;
}

/* Tells the server of the forwarded client, if the address itself is not logged. */
static bool has_forwarded(const struct pattern *pattern)
{
    for (size_t i = 0; i < pattern->count; i++)
        if (pattern->item[i].kind == ITEM_HEADER &&
            (pattern_names_client(pattern->item[i].name) ||
             (pattern->item[i].name.size == 15 && strncasecmp(pattern->item[i].name.data, "x-forwarded-for", 15) == 0)))
            return true;
    return false;
}

static bool has_odd_quotes(struct drossel_text literal)
{
    bool odd = false;
    for (size_t i = 0; i < literal.size; i++)
        odd ^= literal.data[i] == '"';
    return odd;
}

static bool check(struct compiler *compiler)
{
    struct pattern *pattern = compiler->pattern;
    if (!has_kind(pattern, ITEM_STAMP) && !has_kind(pattern, ITEM_CLOCK))
        return fail(compiler,
                    compiler->is_apache ? "no time in it: %t is missing" : "no time in it: $time_local is missing");
    if (!pattern->has_client && !has_kind(pattern, ITEM_CLIENT_BELOW) && !has_forwarded(pattern))
        return fail(compiler, compiler->is_apache ? "no client in it: %h is missing"
                                                  : "no client in it: $remote_addr is missing");
    bool inside = has_odd_quotes(pattern->first);
    for (size_t i = 0; i < pattern->count; i++) {
        struct drossel_text after = pattern->item[i].after;
        pattern->item[i].quoted = inside && after.size > 0 && after.data[0] == '"';
        inside ^= has_odd_quotes(after);
    }
    return true;
}

/* ---- what stands around the string in a configuration ---- */

static char *skip_blanks(char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return p;
}

static char *skip_word(char *p)
{
    while (*p != '\0' && *p != ' ' && *p != '\t' && *p != '\n' && *p != '\'' && *p != '"')
        p++;
    return skip_blanks(p);
}

/* `'...' '...';`: what stands between the quotes, together.  Written where it was read from. */
static void join_quoted(char *p, char *out)
{
    for (char quote; (quote = *p) == '\'' || quote == '"'; p = skip_blanks(p)) {
        for (p++; *p != '\0' && *p != quote;) {
            if (*p == '\\' && p[1] != '\0')
                *out++ = *p++;
            *out++ = *p++;
        }
        p += *p == quote;
    }
    *out = '\0';
}

/* `"%h \\"%r\\""` as it stands in a configuration: one pair of quotes around all, and those inside are escaped.  Without any
 * inside nobody knows whether the outer ones belong to the lines. */
static bool is_quoted_whole(const char *p, size_t size)
{
    bool escaped = false;
    for (size_t i = 1; i + 1 < size; i++) {
        if (p[i] == '"')
            return false;
        if (p[i] == '\\' && i + 2 < size) {
            escaped |= p[i + 1] == '"';
            i++;
        }
    }
    return escaped && size > 1 && p[0] == '"' && p[size - 1] == '"';
}

static void strip_directive(char *text)
{
    char *p = skip_blanks(text);
    if (strncmp(p, "log_format", 10) == 0) {
        p = skip_word(skip_word(p));
        if (strncmp(p, "escape=", 7) == 0)
            p = skip_word(p);
    } else if (strncasecmp(p, "LogFormat", 9) == 0) {
        p = skip_word(p);
    }
    size_t size = strlen(p);
    bool named = p != skip_blanks(text) || *p == '\'';
    while (size > 0 &&
           (p[size - 1] == '\n' || p[size - 1] == '\r' || p[size - 1] == ' ' || (named && p[size - 1] == ';')))
        size--;
    bool directive = named || is_quoted_whole(p, size) ||
                     (size > 1 && *p == '"' && p[size - 1] == '"' && p[1] != '$' && p[1] != '%');
    if (directive && (*p == '\'' || *p == '"')) {
        join_quoted(p, text);
    } else {
        memmove(text, p, size);
        text[size] = '\0';
    }
}

/* Apache's: there may be a `$` in the lines as well, but no time of nginx's. */
static bool is_of_apache(const char *text)
{
    bool nginx_time = strstr(text, "$time_") != NULL || strstr(text, "${time_") != NULL ||
                      strstr(text, "$msec") != NULL || strstr(text, "${msec") != NULL;
    bool apache_time = strstr(text, "%t") != NULL || strstr(text, "}t") != NULL;
    return strchr(text, '$') == NULL || (apache_time && !nginx_time);
}

bool pattern_is_string(const char *text)
{
    return strchr(text, '$') != NULL || strchr(text, '%') != NULL;
}

struct pattern *pattern_open(const char *string, char *error, size_t error_size)
{
    struct pattern *pattern = calloc(1, sizeof *pattern);
    char *text = strdup(string), *literals = malloc(strlen(string) + 1);
    struct compiler compiler = { .pattern = pattern, .error = error, .error_size = error_size };
    bool good = pattern != NULL && text != NULL && literals != NULL;
    if (!good) {
        fail(&compiler, "no memory");
    } else {
        strip_directive(text);
        pattern->text = text;
        pattern->literals = literals;
        compiler.p = text;
        compiler.literal = compiler.literal_end = literals;
        compiler.is_apache = is_of_apache(text);
        good = compile_items(&compiler) && check(&compiler);
    }
    if (good)
        return pattern;
    free(pattern);
    free(text);
    free(literals);
    return NULL;
}

void pattern_close(struct pattern *pattern)
{
    if (pattern == NULL)
        return;
    free(pattern->text);
    free(pattern->literals);
    free(pattern);
}
