/* Text into a buffer of fixed size. */
#include "http/writer.h"

#include <string.h>

void http_put(struct http_writer *writer, const char *data, size_t size)
{
    if (writer->full || size > writer->cap - writer->size) {
        writer->full = true;
        return;
    }
    if (size > 0)
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

void http_put_json(struct http_writer *writer, struct drossel_text text)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\') {
            const char escape[2] = { '\\', (char)c };
            http_put(writer, escape, 2);
        } else if (c < 0x20 || c >= 0x7f) {
            const char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
            http_put(writer, escape, 6);
        } else {
            http_put(writer, &text.data[i], 1);
        }
    }
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
