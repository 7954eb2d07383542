/* Is a text JSON (RFC 8259)?  For bodies that an operator wrote: a page that no client can read is told of when the policy is loaded. */
#include "policy/json.h"

#include <string.h>

#define LEVELS_MAX 32

struct cursor {
    const char *at, *end;
    unsigned level;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && memchr(" \t\n\r", *cursor->at, 4) != NULL)
        cursor->at++;
}

static bool take(struct cursor *cursor, char byte)
{
    if (cursor->at == cursor->end || *cursor->at != byte)
        return false;
    cursor->at++;
    return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < size || memcmp(cursor->at, word, size) != 0)
        return false;
    cursor->at += size;
    return true;
}

static size_t take_digits(struct cursor *cursor)
{
    const char *first = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9')
        cursor->at++;
    return (size_t)(cursor->at - first);
}

static bool take_number(struct cursor *cursor)
{
    (void)take(cursor, '-');
    if (!take(cursor, '0') && take_digits(cursor) == 0)
        return false;
    if (take(cursor, '.') && take_digits(cursor) == 0)
        return false;
    if (!take(cursor, 'e') && !take(cursor, 'E'))
        return true;
    if (!take(cursor, '-'))
        (void)take(cursor, '+');
    return take_digits(cursor) > 0;
}

static bool take_escape(struct cursor *cursor)
{
    if (!take(cursor, 'u')) {
        bool known = cursor->at < cursor->end && memchr("\"\\/bfnrt", *cursor->at, 8) != NULL;
        cursor->at += known;
        return known;
    }
    for (unsigned i = 0; i < 4; i++, cursor->at++)
        if (cursor->at == cursor->end || memchr("0123456789abcdefABCDEF", *cursor->at, 22) == NULL)
            return false;
    return true;
}

static bool take_string(struct cursor *cursor)
{
    if (!take(cursor, '"'))
        return false;
    while (cursor->at < cursor->end && *cursor->at != '"') {
        if ((unsigned char)*cursor->at < 0x20)
            return false;
        if (*cursor->at++ == '\\' && !take_escape(cursor))
            return false;
    }
    return take(cursor, '"');
}

static bool take_value(struct cursor *cursor);

static bool take_pair(struct cursor *cursor)
{
    skip_blanks(cursor);
    if (!take_string(cursor))
        return false;
    skip_blanks(cursor);
    return take(cursor, ':') && take_value(cursor);
}

/* Behind its opening bracket. */
static bool take_rest(struct cursor *cursor, bool (*take_item)(struct cursor *cursor), char close)
{
    bool good = ++cursor->level <= LEVELS_MAX;
    skip_blanks(cursor);
    bool ends = good && take(cursor, close);
    while (good && !ends) {
        good = take_item(cursor);
        skip_blanks(cursor);
        ends = good && take(cursor, close);
        good = ends || (good && take(cursor, ','));
    }
    cursor->level--;
    return good;
}

static bool take_value(struct cursor *cursor)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end)
        return false;
    if (*cursor->at == '"')
        return take_string(cursor);
    if (take(cursor, '{'))
        return take_rest(cursor, take_pair, '}');
    if (take(cursor, '['))
        return take_rest(cursor, take_value, ']');
    return take_word(cursor, "true") || take_word(cursor, "false") || take_word(cursor, "null") ||
           take_word(cursor, "${retry_after}") || take_number(cursor);
}

bool json_is_valid(struct drossel_text text)
{
    struct cursor cursor = { text.data, text.data + text.size, 0 };
    bool good = take_value(&cursor);
    skip_blanks(&cursor);
    return good && cursor.at == cursor.end;
}
