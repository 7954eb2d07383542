/* Takes lines of the Common Log Format's family apart at their anchors: the time in brackets, and the request in quotes. */
#include "logs/clf_cut.h"

#include <string.h>

#include "logs/marks.h"

#define PLAIN_REST 34 /* bytes of ` - - [10/Oct/2000:13:55:36 -0700]` */

/* The quote that closes what began at p: one with an even number of backslashes before it.  NULL: none. */
const char *clf_closing_quote(const char *p, const char *end)
{
    for (const char *from = p;;) {
        const char *quote = memchr(from, '"', (size_t)(end - from));
        if (quote == NULL)
            return NULL;
        const char *slash = quote;
        while (slash > p && slash[-1] == '\\')
            slash--;
        if ((quote - slash) % 2 == 0)
            return quote;
        from = quote + 1;
    }
}

/* Does a status stand at p, as it does behind a request?  `" 200 ` or `" - `. */
bool clf_status_follows(const char *p, const char *end)
{
    while (p < end && log_is_blank(*p))
        p++;
    size_t size = 0;
    while (p + size < end && p[size] >= '0' && p[size] <= '9')
        size++;
    bool ends = p + size == end || log_is_blank(p[size]);
    return (size == 3 && ends) || (p < end && *p == '-' && (p + 1 == end || log_is_blank(p[1])));
}

/* The end of the request that began at p.  Servers that escape nothing write quotes inside: then the one with a status
 * behind it is meant, if there is any. */
static const char *request_end(const char *p, const char *end)
{
    const char *first = clf_closing_quote(p, end);
    if (first == NULL || clf_status_follows(first + 1, end))
        return first;
    for (const char *next = first; next != NULL; next = clf_closing_quote(next + 1, end))
        if (clf_status_follows(next + 1, end))
            return next;
    return first;
}

/* Does the request's quote stand right behind the time that ends at p, its `]`? */
static bool quote_follows(const char *p, const char *end)
{
    for (p++; p < end && log_is_blank(*p); p++)
        ;
    return p < end && *p == '"';
}

/* A time, with the `]` behind it: as the servers write it by themselves, or as nginx's $time_iso8601. */
static bool time_at(struct clf *clf, struct drossel_text text, struct log_stamp *stamp)
{
    bool found = log_stamp_clf_cached(&clf->cache, text, stamp) || log_stamp_iso(text, stamp);
    return found && stamp->size < text.size && text.data[stamp->size] == ']';
}

/* `client - - [time] "`, which most lines begin with.  Returns the bracket, NULL if this one does not. */
static const char *plain_head(struct clf *clf, struct drossel_text line, struct log_stamp *stamp)
{
    const char *end = line.data + line.size, *p = log_find(line.data, end, ' ');
    if (end - p < PLAIN_REST || memcmp(p, " - - [", 6) != 0 || p == line.data)
        return NULL;
    struct drossel_text text = { p + 6, (size_t)(end - p) - 6 };
    return time_at(clf, text, stamp) && quote_follows(text.data + stamp->size, end) ? p + 5 : NULL;
}

/* The next bracket from `open` on that holds a time.  NULL: there is none. */
static const char *next_time(struct clf *clf, const char *open, const char *end, struct log_stamp *stamp)
{
    for (;; open++) {
        open = memchr(open, '[', (size_t)(end - open));
        if (open == NULL)
            return NULL;
        struct drossel_text text = { open + 1, (size_t)(end - open) - 1 };
        if (time_at(clf, text, stamp))
            return open;
    }
}

/* The bracket of the time: the first one with a quote right behind it, as a client may call itself `[10/Oct/2000:13:55:36 -0700]`
 * but has its quotes escaped; else the first one. */
static const char *find_time(struct clf *clf, struct drossel_text line, struct log_stamp *stamp)
{
    const char *end = line.data + line.size, *first = next_time(clf, line.data, end, stamp);
    struct log_stamp at = *stamp;
    for (const char *open = first; open != NULL; open = next_time(clf, open + 1, end, &at)) {
        if (!quote_follows(open + 1 + at.size, end))
            continue;
        *stamp = at;
        return open;
    }
    return first;
}

/* The head and the time; `rest` is what follows the bracket. */
bool clf_cut_head(struct clf *clf, struct drossel_text line, struct clf_cut *cut, struct drossel_text *rest)
{
    const char *p = line.data, *end = p + line.size, *open = plain_head(clf, line, &cut->stamp);
    cut->plain = open != NULL;
    if (!cut->plain)
        open = find_time(clf, line, &cut->stamp);
    if (open == NULL)
        return false;
    while (p < open && log_is_blank(*p))
        p++;
    cut->head = (struct drossel_text){ p, (size_t)(open - p) };
    const char *after = open + 2 + cut->stamp.size;
    *rest = (struct drossel_text){ after, (size_t)(end - after) };
    return cut->head.size > 0;
}

/* The request: between the first quote and the one that closes it.  Something has to follow. */
bool clf_cut_request(struct drossel_text rest, struct clf_cut *cut)
{
    const char *end = rest.data + rest.size, *start = memchr(rest.data, '"', rest.size);
    const char *close = start == NULL ? NULL : request_end(start + 1, end);
    const char *next = close == NULL ? end : close + 1;
    while (next < end && log_is_blank(*next))
        next++;
    if (next == end)
        return false;
    cut->request = (struct drossel_text){ start + 1, (size_t)(close - start) - 1 };
    cut->tail = (struct drossel_text){ close + 1, (size_t)(end - close) - 1 };
    return true;
}

/* Is a request there, seen at a glance: nothing escaped up to its closing quote, and a status behind it?  False: look
 * closer. */
bool clf_has_plain_request(struct drossel_text rest)
{
    const char *end = rest.data + rest.size;
    if (rest.size < 8 || rest.data[0] != ' ' || rest.data[1] != '"')
        return false;
    const char *close = log_find(rest.data + 2, end, '"');
    return end - close > 3 && close[-1] != '\\' && close[1] == ' ' && close[2] >= '1' && close[2] <= '9';
}
