/*
 * Structured fields as a receiver reads them (RFC 9651 section 4.2): a strict pull parser.
 *
 * No I/O, no allocation; values point into the field's text.  Every function moves the cursor past what it read, or
 * returns false, after which the whole field is to be ignored.
 */
#ifndef DROSSEL_HTTP_STRUCTURED_H
#define DROSSEL_HTTP_STRUCTURED_H

#include "drossel.h"

struct sf_cursor {
    const char *p, *end;
};

enum sf_kind {
    SF_INTEGER = 0,
    SF_DECIMAL,
    SF_STRING,
    SF_TOKEN,
    SF_BYTES,
    SF_BOOLEAN,
    SF_DATE,
    SF_DISPLAY_STRING,
    SF_INNER_LIST
};

struct sf_value {
    enum sf_kind kind;
    int64_t integer;          /* SF_INTEGER, SF_DATE, SF_BOOLEAN; SF_DECIMAL without its fraction */
    struct drossel_text text; /* SF_STRING: with its escapes, without quotes; SF_TOKEN; SF_BYTES: the base64 */
};

/* Skips spaces; spaces and tabs. */
void sf_skip_spaces(struct sf_cursor *cursor);
void sf_skip_white(struct sf_cursor *cursor);

/* Takes `c` if it is next. */
bool sf_take(struct sf_cursor *cursor, char c);

/* A member of a List without its parameters: a bare item, or an inner list, whose contents are checked and skipped. */
bool sf_member(struct sf_cursor *cursor, struct sf_value *value);

/* The next parameter: 1 and its key and value, 0 when there is none, -1 when it is malformed. */
int sf_parameter(struct sf_cursor *cursor, struct drossel_text *key, struct sf_value *value);

/* After a member of a List: 1 if another one follows, 0 at the end, -1 when the list is malformed. */
int sf_next_member(struct sf_cursor *cursor);

/* Takes the escapes off a String; `out` holds text.size bytes.  Returns the length. */
size_t sf_unescape(struct drossel_text text, char *out);

/* Decodes a Byte Sequence; `out` holds text.size bytes.  Missing padding and pad bits that are not zero are accepted. */
bool sf_decode(struct drossel_text text, uint8_t *out, size_t *size);

#endif
