/* What a line got on its way from the server to the file: syslog, container runtimes, docker compose. */
#include "logs/format.h"

#include <string.h>

struct cursor {
    const char *p, *end;
};

static struct drossel_text rest(const struct cursor *cursor)
{
    return (struct drossel_text){ cursor->p, (size_t)(cursor->end - cursor->p) };
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes what stands before the next blank, and the blanks. */
static struct drossel_text word(struct cursor *cursor)
{
    struct drossel_text taken = { cursor->p, 0 };
    while (cursor->p < cursor->end && *cursor->p != ' ')
        cursor->p++;
    taken.size = (size_t)(cursor->p - taken.data);
    while (cursor->p < cursor->end && *cursor->p == ' ')
        cursor->p++;
    return taken;
}

/* `Sep 15 16:13:46 `, or an ISO stamp and a blank. */
static bool stamp(struct cursor *cursor)
{
    struct cursor ahead = *cursor;
    struct log_stamp iso;
    if (log_stamp_iso(rest(&ahead), &iso)) {
        ahead.p += iso.size;
        if (ahead.p == ahead.end || *ahead.p != ' ')
            return false;
        word(&ahead); /* the blanks */
    } else {
        struct drossel_text month = word(&ahead), day = word(&ahead), time = word(&ahead);
        bool shaped = month.size == 3 && day.size >= 1 && day.size <= 2 && is_digit(day.data[0]) && time.size >= 8 &&
                      time.data[2] == ':' && time.data[5] == ':' && is_digit(time.data[0]);
        if (!shaped || month.data[0] < 'A' || month.data[0] > 'Z')
            return false;
    }
    *cursor = ahead;
    return true;
}

/* After the stamp of RFC 3164: the host and the tag with its colon.  Of a container's runtime: the stream and a
 * letter. */
static bool origin(struct cursor *cursor)
{
    struct cursor ahead = *cursor;
    struct drossel_text host = word(&ahead), tag = word(&ahead);
    bool stream =
        host.size == 6 && (memcmp(host.data, "stdout", 6) == 0 || memcmp(host.data, "stderr", 6) == 0) && tag.size == 1;
    bool tagged = tag.size > 1 && tag.data[tag.size - 1] == ':' && memchr(tag.data, '"', tag.size) == NULL;
    if (!stream && !tagged)
        return false;
    *cursor = ahead;
    return true;
}

/* RFC 5424 after `<34>`: `1 stamp host application process message [data]`. */
static bool structured(struct cursor *cursor)
{
    struct cursor ahead = *cursor;
    struct drossel_text version = word(&ahead);
    if (version.size != 1 || version.data[0] != '1')
        return false;
    for (int i = 0; i < 5; i++)
        if (word(&ahead).size == 0)
            return false;
    if (ahead.p < ahead.end && *ahead.p == '-') {
        word(&ahead);
    } else {
        while (ahead.p < ahead.end && *ahead.p == '[') {
            const char *close = memchr(ahead.p, ']', (size_t)(ahead.end - ahead.p));
            if (close == NULL)
                return false;
            ahead.p = close + 1;
        }
        if (ahead.p < ahead.end && *ahead.p == ' ')
            ahead.p++;
    }
    if (ahead.end - ahead.p >= 3 && memcmp(ahead.p, "\xef\xbb\xbf", 3) == 0)
        ahead.p += 3;
    *cursor = ahead;
    return true;
}

/* `<134>`: true if it was there. */
static bool priority(struct cursor *cursor)
{
    const char *p = cursor->p;
    if (p == cursor->end || *p != '<')
        return false;
    for (p++; p < cursor->end && is_digit(*p) && p - cursor->p < 5; p++)
        ;
    if (p == cursor->end || *p != '>' || p - cursor->p < 2)
        return false;
    cursor->p = p + 1;
    return true;
}

/* `caddy  | `: the name of a service, padded. */
static bool service(struct cursor *cursor)
{
    struct cursor ahead = *cursor;
    struct drossel_text name = word(&ahead);
    if (name.size == 0 || ahead.p == ahead.end || *ahead.p != '|' || memchr(name.data, '"', name.size) != NULL)
        return false;
    word(&ahead);
    *cursor = ahead;
    return true;
}

struct drossel_text log_line_body(struct drossel_text line)
{
    if (line.size == 0)
        return line;
    struct cursor cursor = { line.data, line.data + line.size };
    if (priority(&cursor) && structured(&cursor))
        return rest(&cursor);
    if (!stamp(&cursor))
        return service(&cursor) ? rest(&cursor) : line;
    return origin(&cursor) ? rest(&cursor) : line;
}
