/* Strings of JSON as plain text. */
#include "request/json_body.h"
#include "hint.h"

#include <string.h>

struct writer {
    char *out;
    size_t cap, size; /* `size` goes on beyond `cap`: nothing is written there */
};

static void put(struct writer *writer, unsigned c)
{
    if (writer->size < writer->cap)
        writer->out[writer->size] = (char)(unsigned char)c;
    writer->size++;
}

static void put_character(struct writer *writer, uint32_t character)
{
    if (character < 0x80)
        return put(writer, character);
    if (character < 0x800) {
        put(writer, 0xc0 | character >> 6);
    } else {
        if (character < 0x10000) {
            put(writer, 0xe0 | character >> 12);
        } else {
            put(writer, 0xf0 | character >> 18);
            put(writer, 0x80 | (character >> 12 & 0x3f));
        }
        put(writer, 0x80 | (character >> 6 & 0x3f));
    }
    put(writer, 0x80 | (character & 0x3f));
}

/* The four digits of \uXXXX, that escape's backslash being at `at`; false if it is none. */
static bool unit_at(struct drossel_text text, size_t at, uint32_t *unit)
{
    if (text.size < 6 || at > text.size - 6 || text.data[at] != '\\' || text.data[at + 1] != 'u')
        return false;
    uint32_t value = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        int digit = body_hex(text.data[i]);
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    *unit = value;
    return true;
}

/* Writes the character of the escape at `at`, two of them for a surrogate pair; returns the size of what was read. */
static size_t decode_unit(struct drossel_text text, size_t at, struct writer *writer, bool *faulty)
{
    uint32_t unit, second;
    if (!unit_at(text, at, &unit)) {
        *faulty = true;
        put(writer, 'u');
        return 2;
    }
    bool high = unit >= 0xd800 && unit < 0xdc00;
    if (high && unit_at(text, at + 6, &second) && second >= 0xdc00 && second < 0xe000) {
        put_character(writer, 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00));
        return 12;
    }
    *faulty |= unit >= 0xd800 && unit < 0xe000;
    put_character(writer, unit);
    return 6;
}

static char escaped(char c, bool *faulty)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *letter = c == '\0' ? NULL : strchr(letters, c);
    *faulty |= letter == NULL;
    return letter == NULL ? c : values[letter - letters];
}

kept_apart size_t json_decode(struct drossel_text text, char *out, size_t cap, bool *faulty)
{
    struct writer writer = { out, cap, 0 };
    size_t at = 0;
    while (at < text.size) {
        char c = text.data[at];
        if (c != '\\' || at + 1 == text.size) {
            *faulty |= c == '\\';
            put(&writer, (unsigned char)c);
            at++;
        } else if (text.data[at + 1] == 'u') {
            at += decode_unit(text, at, &writer, faulty);
        } else {
            put(&writer, (unsigned char)escaped(text.data[at + 1], faulty));
            at += 2;
        }
    }
    return writer.size;
}
