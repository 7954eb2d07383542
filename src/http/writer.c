/* Text into a buffer of fixed size. */
#include "http/writer.h"

#include <string.h>

void http_put(struct http_writer *writer, const char *data, size_t size)
{
    if (size == 0)
        return;
    if (writer->full || size > writer->cap - writer->size) {
        writer->full = true;
        return;
    }
    memcpy(writer->data + writer->size, data, size);
    writer->size += size;
}

void http_put_string(struct http_writer *writer, const char *text)
{
    http_put(writer, text, strlen(text));
}

void http_put_text(struct http_writer *writer, struct drossel_text text)
{
    http_put(writer, text.data, text.size);
}

void http_put_number(struct http_writer *writer, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    http_put(writer, digits + at, sizeof digits - at);
}

static void put_escape(struct http_writer *writer, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
    const char quoted[2] = { '\\', (char)c };
    if (c == '"' || c == '\\')
        http_put(writer, quoted, sizeof quoted);
    else
        http_put(writer, escape, sizeof escape);
}

/* Bytes that a JSON text needs no escape for.  A table, because answers to an attack are made of them. */
static const bool is_plain[256] = {
    [' ' ... '!'] = true,
    ['#' ... '['] = true,
    [']' ... '~'] = true,
};

void http_put_json(struct http_writer *writer, struct drossel_text text)
{
    size_t begun = 0; /* of the run without escapes */
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (is_plain[c])
            continue;
        http_put(writer, text.data + begun, i - begun);
        put_escape(writer, c);
        begun = i + 1;
    }
    if (begun < text.size)
        http_put(writer, text.data + begun, text.size - begun);
}

void http_rewind(struct http_writer *writer, size_t mark)
{
    writer->size = mark;
    writer->full = false;
}

struct drossel_text http_written(const struct http_writer *writer, size_t mark)
{
    return (struct drossel_text){ writer->data + mark, writer->size - mark };
}
