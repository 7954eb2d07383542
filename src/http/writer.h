/*
 * Text into a buffer of fixed size.  What does not fit is not written, and the writer says so: the caller takes back
 * what it began (mark, rewind), so that nothing is ever sent cut off.
 */
#ifndef DROSSEL_HTTP_WRITER_H
#define DROSSEL_HTTP_WRITER_H

#include "drossel.h"

struct http_writer {
    char *data;
    size_t size, cap; /* bytes written, bytes there are */
    bool full;        /* something did not fit: nothing is written from here on */
};

void http_put(struct http_writer *writer, const char *data, size_t size);
void http_put_string(struct http_writer *writer, const char *text);
void http_put_text(struct http_writer *writer, struct drossel_text text);
void http_put_number(struct http_writer *writer, uint64_t number);

/* The inside of a JSON string, in ASCII: other characters as \uXXXX, in pairs beyond U+FFFF; bytes that are no UTF-8 as \u00XX. */
void http_put_json(struct http_writer *writer, struct drossel_text text);

/* Takes everything from `mark`, an earlier size, back. */
void http_rewind(struct http_writer *writer, size_t mark);

/* What was written from `mark` on. */
struct drossel_text http_written(const struct http_writer *writer, size_t mark);

#endif
