/*
 * Text for a terminal: what it would obey, or show as something else, becomes `?`.
 *
 * Rejected: leaving only printable ASCII.  Messages name files, whose names may be in any script.
 */
#include "cli/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t size_of(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    return lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/* The character at `text`, of which there are `left` bytes, and how many it has; a byte that begins none is one of 0xfffd. */
static unsigned long character(const unsigned char *text, size_t left, size_t *size)
{
    static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t want = size_of(text[0]);
    *size = 1;
    if (want == 0 || want > left)
        return 0xfffd;
    unsigned long point = want == 1 ? text[0] : text[0] & (0xffu >> (want + 1));
    for (size_t i = 1; i < want; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0xfffd;
        point = point << 6 | (text[i] & 0x3f);
    }
    *size = want;
    return point < least[want] || (point >= 0xd800 && point < 0xe000) ? 0xfffd : point;
}

/* Controls of ASCII, but for tabs, and of Latin 1; ends of lines and paragraphs; what turns the direction of a text around. */
static bool is_obeyed(unsigned long point)
{
    return (point < 0x20 && point != '\t') || (point >= 0x7f && point < 0xa0) || point == 0x061c || point == 0x200e ||
           point == 0x200f || (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0xfeff || point == 0xfffd || point > 0x10ffff;
}

void plain_bytes(char *text, size_t count, bool keeps_lines)
{
    for (size_t at = 0, size; at < count; at += size) {
        bool ends_line = keeps_lines && text[at] == '\n';
        if (!is_obeyed(character((unsigned char *)text + at, count - at, &size)) || ends_line)
            continue;
        for (size_t i = 0; i < size; i++)
            text[at + i] = '?';
    }
}

char *plain_text(char *text, bool keeps_lines)
{
    plain_bytes(text, strlen(text), keeps_lines);
    return text;
}

void plain_vprint(FILE *out, bool keeps_lines, const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    fputs(plain_text(text, keeps_lines), out);
    free(text);
}

void plain_print(FILE *out, bool keeps_lines, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plain_vprint(out, keeps_lines, format, arguments);
    va_end(arguments);
}
