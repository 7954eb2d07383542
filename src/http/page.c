/*
 * What a person reads who is refused: an HTML page in itself, and a text.
 *
 * The page loads nothing, so that showing it costs the server nothing more.  It names no limit and no number but the time
 * to wait: whatever else there is to tell is in the header fields.
 */
#include "http/answer.h"

#include <string.h>

#define MINUTE 60u
#define HOUR 3600u
#define DAY 86400u

/* `1 minute`, `5 minutes`, rounded up. */
static void put_unit(struct http_writer *writer, uint32_t seconds, uint32_t unit, const char *name)
{
    uint32_t count = seconds / unit + (seconds % unit != 0);
    http_put_number(writer, count);
    http_put_string(writer, " ");
    http_put_string(writer, name);
    http_put_string(writer, count == 1 ? "" : "s");
}

void http_duration_format(uint32_t seconds, struct http_writer *writer)
{
    if (seconds < 2 * MINUTE) {
        put_unit(writer, seconds, 1, "second");
        return;
    }
    http_put_string(writer, "about ");
    if (seconds <= 119 * MINUTE)
        put_unit(writer, seconds, MINUTE, "minute");
    else if (seconds <= 47 * HOUR)
        put_unit(writer, seconds, HOUR, "hour");
    else
        put_unit(writer, seconds, DAY, "day");
}

struct words {
    const char *title, *sentence;
};

static struct words words_of(const struct drossel_decision *decision, uint32_t retry_after_s)
{
    if (decision->untrusted)
        return (struct words){ "No way in here", "This site can only be reached at its public address." };
    if (retry_after_s == 0)
        return (struct words){ "Not allowed", "This request is over a limit that waiting does not change." };
    if (decision->banned || decision->blocked)
        return (struct words){ "Please take a break",
                               "Too many requests came from you, so that we paused them for a while." };
    return (struct words){ "A little too fast", "More requests came from you than this site can take at once." };
}

static void put_seconds(struct http_writer *writer, uint32_t seconds)
{
    if (seconds < 2 * MINUTE)
        return; /* said already */
    http_put_string(writer, " (");
    http_put_number(writer, seconds);
    http_put_string(writer, " seconds)");
}

static void put_when(struct http_writer *writer, uint32_t retry_after_s, const char *open, const char *close)
{
    http_put_string(writer, "Please try again in ");
    http_put_string(writer, open);
    http_duration_format(retry_after_s, writer);
    http_put_string(writer, close);
    put_seconds(writer, retry_after_s);
    http_put_string(writer, ".");
}

static const char head[] = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta "
                           "name=\"robots\" content=\"noindex\">\n"
                           "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";

static const char style[] =
    "</title>\n<style>\n"
    ":root{--back:#f4f2ee;--card:#fff;--ink:#26221d;--soft:#6b635a;--mark:#a4531f;--line:#e4dfd7}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#191613;--card:#24201c;--ink:#f1ece5;--soft:#b0a699;--mark:#eda06a;"
    "--line:#3a342e}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;min-height:100vh;display:flex;align-items:center;justify-content:center;padding:1.5rem;"
    "background:var(--back);color:var(--ink);font:1.0625rem/1.6 system-ui,-apple-system,\"Segoe "
    "UI\",Roboto,sans-serif}\n"
    "main{width:100%;max-width:32rem;padding:2.25rem 2rem;background:var(--card);border:1px solid var(--line);"
    "border-radius:1rem;box-shadow:0 1.5rem 3rem -2rem rgba(0,0,0,.35)}\n"
    "h1{margin:0 0 .75rem;font-size:1.7rem;line-height:1.2;letter-spacing:-.01em}\n"
    "p{margin:.5rem 0}\nstrong{color:var(--mark)}\n"
    "small{display:block;margin-top:1.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--soft);"
    "font-size:.875rem}\n</style>\n</head>\n<body>\n<main>\n<h1>";

void http_page_format(const struct drossel_decision *decision, uint16_t status, uint32_t retry_after_s,
                      struct http_writer *writer)
{
    struct words words = words_of(decision, retry_after_s);
    http_put_string(writer, head);
    http_put_string(writer, words.title);
    http_put_string(writer, style);
    http_put_string(writer, words.title);
    http_put_string(writer, "</h1>\n<p>");
    http_put_string(writer, words.sentence);
    http_put_string(writer, "</p>\n");
    if (retry_after_s > 0 && !decision->untrusted) {
        http_put_string(writer, "<p>");
        put_when(writer, retry_after_s, "<strong>", "</strong>");
        http_put_string(writer, " There is no need to do anything until then.</p>\n");
    }
    http_put_string(writer, "<small>Status ");
    http_put_number(writer, status);
    http_put_string(writer, "</small>\n</main>\n</body>\n</html>\n");
}

void http_text_format(const struct drossel_decision *decision, uint32_t retry_after_s, struct http_writer *writer)
{
    struct words words = words_of(decision, retry_after_s);
    http_put_string(writer, words.title);
    http_put_string(writer, ". ");
    http_put_string(writer, words.sentence);
    if (retry_after_s > 0 && !decision->untrusted) {
        http_put_string(writer, " ");
        put_when(writer, retry_after_s, "", "");
    }
    http_put_string(writer, "\n");
}
