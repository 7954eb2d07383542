/*
 * Text for a terminal: what it would obey, or show as something else, becomes `?`.
 *
 * Rejected: leaving only printable ASCII.  Messages name files, whose names may be in any script.
 */
#include "cli/plain.h"

#include <stdio.h>
#include <stdlib.h>

static size_t size_of(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    return lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/* The character at `text`, and how many bytes it has; a byte that begins none is one of 0xfffd. */
static unsigned long character(const unsigned char *text, size_t *size)
{
    static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t want = size_of(text[0]);
    unsigned long point = want == 1 ? text[0] : text[0] & (0xffu >> (want + 1));
    for (size_t i = 1; i < want; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            want = 0;
            break;
        }
        point = point << 6 | (text[i] & 0x3f);
    }
    *size = want == 0 ? 1 : want;
    return want == 0 || point < least[want] || (point >= 0xd800 && point < 0xe000) ? 0xfffd : point;
}

/* Controls of ASCII and of Latin 1; ends of lines and paragraphs; what turns the direction of a text around. */
static bool is_obeyed(unsigned long point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x061c || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) || point == 0xfeff ||
           point == 0xfffd || point > 0x10ffff;
}

char *plain_text(char *text, bool keeps_lines)
{
    for (size_t at = 0, size; text[at] != '\0'; at += size) {
        bool ends_line = keeps_lines && text[at] == '\n';
        if (!is_obeyed(character((unsigned char *)text + at, &size)) || ends_line)
            continue;
        for (size_t i = 0; i < size; i++)
            text[at + i] = '?';
    }
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
