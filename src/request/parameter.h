/*
 * Parameters of a header field's value: `; NAME=VALUE`, as in Content-Type and Content-Disposition.
 */
#ifndef DROSSEL_REQUEST_PARAMETER_H
#define DROSSEL_REQUEST_PARAMETER_H

#include "drossel.h"

/* Takes the next parameter off `rest`, which begins with what precedes its `;`.  `name` is without white space;
 * `value` as written, with its quotes.  False at the end.  A `;` in double or single quotes does not end a value. */
bool parameter_next(struct drossel_text *rest, struct drossel_text *name, struct drossel_text *value);

/* A value without quotes and backslashes into `out`, at most `cap` bytes; returns the size of the whole.  A quote that is never
 * closed, or more after it, sets *faulty. */
size_t parameter_unquote(struct drossel_text value, char *out, size_t cap, bool *faulty);

/* Do all applications read this parameter alike?  No: quotes inside a bare value or a name, single quotes (PHP reads
 * them, others do not), a quote that is not closed or has more after it, a `;` in quotes with `\"` (for some the value ends there)
 * or `=` (Rack 2 takes the last `; name=`, in quotes or not), white space around the `=`, behind which Werkzeug finds no value, and
 * `==`, which is one `=` to PHP.
 * `value` is that of `name` in one text, as parameter_next gives both; or empty. */
bool parameter_is_plain(struct drossel_text name, struct drossel_text value);

/* A space, a tab or a line end. */
static inline bool parameter_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Those off both ends. */
struct drossel_text parameter_trim(struct drossel_text text);

/* Without regard to ASCII case. */
bool parameter_is(struct drossel_text text, const char *name);

/* How a charset writes text. */
enum parameter_charset {
    PARAMETER_CHARSET_UTF8,  /* as UTF-8, or ASCII, or none is named */
    PARAMETER_CHARSET_BYTES, /* ASCII as ASCII, other letters each as a byte: who decodes them gets another text than we */
    PARAMETER_CHARSET_OTHER, /* utf-16, utf-7, IBM037 and their like would hide every field */
};

enum parameter_charset parameter_charset(struct drossel_text value);

#endif
