/* Lines of columns. */
#include "logs/columns.h"

#include <string.h>

/* Where the quote that opened before `at` is closed: by one before a blank or the end.  Quotes inside are \\", or where lines are
 * plain, "".  NULL: nowhere. */
static const char *closing_quote(const char *at, const char *end, bool plain)
{
    for (; at < end; at++) {
        bool escapes = *at == '\\' || (plain && *at == '"' && end - at > 1 && at[1] == '"');
        if (escapes)
            at++;
        else if (*at == '"' && (at + 1 == end || at[1] == ' '))
            return at;
    }
    return NULL;
}

/* `[2001:db8::1]:443` is no column in brackets. */
static const char *closing(const char *at, const char *end, bool plain)
{
    if (*at == '"')
        return closing_quote(at + 1, end, plain);
    const char *bracket = memchr(at, ']', (size_t)(end - at));
    return bracket != NULL && (bracket + 1 == end || bracket[1] == ' ') ? bracket : NULL;
}

static const char *column_end(const char *at, const char *end, char separator)
{
    const char *stop = memchr(at, separator, (size_t)(end - at));
    return stop == NULL ? end : stop;
}

static void add(struct log_columns *columns, const char *start, const char *stop, char opened)
{
    columns->text[columns->count] = (struct drossel_text){ start, (size_t)(stop - start) };
    columns->opened[columns->count++] = opened;
}

void log_columns_split(struct drossel_text line, enum log_separator separator, struct log_columns *columns)
{
    const char *at = line.data, *end = line.data + line.size;
    char between = separator == COLUMNS_TABBED ? '\t' : ' ';
    bool closes = true; /* where one quote is not closed, none behind it is */
    columns->count = 0;
    columns->is_torn = false;
    while (at < end && columns->count < LOG_COLUMNS_MOST) {
        bool quoted = *at == '"' && (separator == COLUMNS_PLAIN || separator == COLUMNS_QUOTED);
        bool opened = (quoted && closes) || (*at == '[' && separator == COLUMNS_QUOTED);
        const char *stop = opened ? closing(at, end, separator == COLUMNS_PLAIN) : NULL;
        if (stop != NULL) {
            add(columns, at + 1, stop, *at);
            stop++;
        } else {
            closes &= !quoted;
            columns->is_torn |= quoted && separator == COLUMNS_QUOTED;
            stop = column_end(at, end, between);
            bool whole = separator == COLUMNS_BARE && stop - at > 1 && *at == '"' && stop[-1] == '"';
            add(columns, at + whole, stop - whole, 0);
        }
        at = stop;
        if (separator == COLUMNS_TABBED)
            at += at < end;
        else
            while (at < end && *at == between)
                at++;
    }
}

struct drossel_text log_column(const struct log_columns *columns, size_t index)
{
    if (index >= columns->count || log_text_absent(columns->text[index]))
        return (struct drossel_text){ 0 };
    return columns->text[index];
}
