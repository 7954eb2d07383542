/* Where the variables of a pattern end in a line: at the literal text behind them that is the one meant. */
#include "logs/pattern_end.h"

#include "logs/marks.h"

#define ADDRESS_MOST 96 /* bytes in which an address ends, a zone's name included */

bool pattern_literal_at(const struct pattern_match *match, const char *p, struct drossel_text literal)
{
    if ((size_t)(match->end - p) < literal.size)
        return false;
    for (size_t i = 0; i < literal.size; i++) /* of a few bytes: no call */
        if (p[i] != literal.data[i])
            return false;
    return true;
}

bool pattern_stamp_at(const struct pattern_match *match, const char *p, struct log_stamp *stamp)
{
    const char *end = match->end;
    bool bracket = p < end && *p == '[';
    struct drossel_text text = { p + bracket, (size_t)(end - p) - bracket };
    if (!log_stamp_clf_cached(&match->pattern->cache, text, stamp) && !log_stamp_iso(text, stamp) &&
        !log_stamp_epoch(text, stamp))
        return false;
    if (!bracket)
        return true;
    if (stamp->size >= text.size || text.data[stamp->size] != ']')
        return false;
    stamp->size += 2;
    return true;
}

/* Is the quote at p escaped?  An odd number of backslashes stands before it, not before `start`. */
static bool is_escaped(const char *start, const char *p)
{
    size_t slashes = 0;
    while (p > start && p[-1] == '\\') {
        slashes++;
        p--;
    }
    return slashes % 2 != 0;
}

/* The size of the time at p, if its literal text is behind it.  0: it is none; what a client calls itself may look like one. */
static size_t time_size(const struct pattern_match *match, const struct pattern_item *item, const char *p)
{
    struct log_stamp stamp = { 0 };
    struct log_civil civil = { 0 };
    uint64_t epoch_ns;
    if (item->kind == ITEM_CLOCK)
        stamp.size = pattern_clock(item->name, (struct drossel_text){ p, (size_t)(match->end - p) }, &civil, &epoch_ns);
    else if (!pattern_stamp_at(match, p, &stamp))
        return 0;
    return pattern_literal_at(match, p + stamp.size, item->after) ? stamp.size : 0;
}

/* Is a protocol at p, or a status: three digits with their literal text behind them; or nothing, or `-`, in its place? */
static bool word_fits(const struct pattern_match *match, const struct pattern_item *item, const char *p)
{
    static const struct drossel_text protocol = DROSSEL_TEXT("HTTP/");
    size_t dash = p < match->end && *p == '-' ? 1 : 0, digits = 0;
    if (item->kind == ITEM_PROTOCOL && pattern_literal_at(match, p, protocol))
        return true;
    while (item->kind == ITEM_STATUS && digits < 3 && p + digits < match->end && p[digits] >= '0' && p[digits] <= '9')
        digits++;
    const char *stop = p + (digits == 3 ? digits : dash);
    return item->after.size > 0 ? pattern_literal_at(match, stop, item->after) : stop == match->end;
}

enum fit { FIT_NOT, FIT_PERHAPS, FIT };

/* Can item `at` begin at p?  A time has to; a path may have blanks before its protocol, which is what then tells its end. */
static enum fit item_fits(const struct pattern_match *match, size_t at, const char *p)
{
    if (at >= match->pattern->count)
        return FIT;
    const struct pattern_item *item = &match->pattern->item[at];
    if (item->kind == ITEM_STAMP || item->kind == ITEM_CLOCK) {
        size_t size = time_size(match, item, p);
        const char *next = p + size + item->after.size;
        return size == 0 ? FIT_NOT : item_fits(match, at + 1, next) == FIT ? FIT : FIT_PERHAPS;
    }
    bool word = item->kind == ITEM_PROTOCOL || item->kind == ITEM_STATUS;
    return !word || word_fits(match, item, p) ? FIT : FIT_PERHAPS;
}

/* The next literal text behind item `at` that is the one meant: that the next item fits behind, or else the first.  NULL: it is
 * not in the line. */
static const char *find_literal(const struct pattern_match *match, size_t at)
{
    const struct pattern_item *item = &match->pattern->item[at];
    const char *first = NULL;
    for (const char *p = match->p; (p = log_find(p, match->end, item->after.data[0])) < match->end; p++) {
        if (!pattern_literal_at(match, p, item->after) || (item->quoted && is_escaped(match->p, p)))
            continue;
        enum fit fit = item_fits(match, at + 1, p + item->after.size);
        if (fit == FIT)
            return p;
        if (fit == FIT_PERHAPS && first == NULL)
            first = p;
    }
    return first;
}

/* `2001:db8::1:443`, where the pattern has a colon behind the address: what is an address at all, and the longest of that.
 * NULL: none is, as with a host's name. */
static const char *address_end(const struct pattern_match *match, const struct pattern_item *item)
{
    struct drossel_address address;
    const char *end = match->end - match->p > ADDRESS_MOST ? match->p + ADDRESS_MOST : match->end, *longest = NULL;
    for (const char *p = match->p + 1; p < end && !log_is_blank(*p) && *p != '"'; p++) {
        bool inside = match->p[0] == '[' && p[-1] != ']';
        if (*p != ':' || inside || !pattern_literal_at(match, p, item->after))
            continue;
        struct drossel_text text = log_client_text((struct drossel_text){ match->p, (size_t)(p - match->p) });
        const char *zone = text.size > 0 ? memchr(text.data, '%', text.size) : NULL;
        text.size = zone != NULL ? (size_t)(zone - text.data) : text.size;
        if (text.size > 0 && drossel_address_parse(text.data, text.size, &address) == DROSSEL_OK)
            longest = p;
    }
    return longest;
}

static bool is_before_port(const struct pattern_item *item)
{
    bool address = item->kind == ITEM_CLIENT || item->kind == ITEM_CLIENT_BELOW || item->kind == ITEM_HOST;
    return address && item->after.data[0] == ':';
}

const char *pattern_item_end(const struct pattern_match *match, size_t at)
{
    const struct pattern_item *item = &match->pattern->item[at];
    const char *found = is_before_port(item) ? address_end(match, item) : NULL;
    return found != NULL ? found : find_literal(match, at);
}

/* Where the next literal text of the pattern stands, behind some variables without any between.  The line's end: nowhere. */
static const char *chain_end(const struct pattern_match *match, size_t at)
{
    const struct pattern *pattern = match->pattern;
    while (at + 1 < pattern->count && pattern->item[at].after.size == 0)
        at++;
    const char *found = pattern->item[at].after.size == 0 ? NULL : find_literal(match, at);
    return found == NULL ? match->end : found;
}

size_t pattern_natural_size(const struct pattern_match *match, size_t at)
{
    enum item_kind kind = match->pattern->item[at].kind;
    const char *p = match->p, *end = chain_end(match, at);
    bool known = end < match->end;
    for (; p < end; p++) {
        char c = *p;
        bool digit = (c >= '0' && c <= '9') || c == '-' || c == '.',
             letter = (c >= 'A' && c <= 'Z') || c == '-' || c == '_', bounds = c == ' ' || c == '"';
        bool inside = kind == ITEM_MARK     ? c == '?' && p == match->p
                      : kind == ITEM_METHOD ? letter
                      : kind == ITEM_HOST   ? c != '/' && !bounds
                      : kind == ITEM_TARGET ? c != '?' && (known || !bounds)
                                            : digit;
        if (!inside)
            break;
    }
    return (size_t)(p - match->p);
}
