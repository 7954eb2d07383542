/*
 * Text for a terminal.  Names of files and texts of logs may have bytes that a terminal obeys: escapes that paint, move the cursor or
 * answer as if somebody had typed.
 */
#ifndef DROSSEL_CLI_PLAIN_H
#define DROSSEL_CLI_PLAIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Makes every byte of what a terminal would obey, and of what is no UTF-8, a `?`; the ends of lines too, unless they are kept.
 * Returns the text. */
char *plain_text(char *text, bool keeps_lines);
void plain_bytes(char *text, size_t count, bool keeps_lines);
/* Print like vfprintf and fprintf, but plain. */
void plain_vprint(FILE *out, bool keeps_lines, const char *format, va_list arguments) __attribute__((format(printf, 3, 0)));
void plain_print(FILE *out, bool keeps_lines, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
