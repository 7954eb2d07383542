/* Text into a buffer of fixed size. */
#include "http/writer.h"

#include <string.h>
#include <unistr.h>

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

static void put_code_unit(struct http_writer *writer, ucs4_t unit)
{
    static const char hex[] = "0123456789abcdef";
    const char escape[6] = {
        '\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]
    };
    http_put(writer, escape, sizeof escape);
}

/* The character at `text`, which is not plain; returns its bytes.  A byte that is no UTF-8 stands for itself. */
static size_t put_escape(struct http_writer *writer, const uint8_t *text, size_t left)
{
    static const char named[] = "\"\\\b\t\n\f\r", names[] = "\"\\btnfr";
    const char *name = *text == '\0' ? NULL : strchr(named, *text);
    ucs4_t character;
    int length = u8_mbtoucr(&character, text, left);
    if (name != NULL) {
        http_put(writer, (const char[2]){ '\\', names[name - named] }, 2);
        return 1;
    }
    if (length <= 0) {
        put_code_unit(writer, *text);
        return 1;
    }
    if (character > 0xffff)
        put_code_unit(writer, 0xd7c0 + (character >> 10)); /* of a surrogate pair */
    put_code_unit(writer, character > 0xffff ? 0xdc00 | (character & 0x3ff) : character);
    return (size_t)length;
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
    for (size_t i = 0; i < text.size;) {
        if (is_plain[(unsigned char)text.data[i]]) {
            i++;
            continue;
        }
        http_put(writer, text.data + begun, i - begun);
        i += put_escape(writer, (const uint8_t *)text.data + i, text.size - i);
        begun = i;
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
