/*
 * Fields of application/x-www-form-urlencoded, and names of form fields as applications compare them (see body.h).
 */
#ifndef DROSSEL_REQUEST_FORM_H
#define DROSSEL_REQUEST_FORM_H

#include "request/body.h"

/* Keeps each value of the wanted fields.  Pairs are separated by `&`; if there is a `;`, those are tried too (Rack 2 and
 * old Python split there).  Malformed: an escape that is none in a wanted value or any name, and a `?` or a byte order mark at the
 * start, behind which the first name is read. */
void form_fields(struct drossel_text body, const struct body_search *search);

enum form_name { FORM_NAME_OTHER = 0, FORM_NAME_SAME, FORM_NAME_ARRAY /* `wanted[...`: malformed */ };

/* Is `name`, decoded, the field `wanted`?  Spaces before it (PHP) and brackets around it (qs of Express, Rack 2) do not make another one of it:
 * `[email]`, `email]`, `[user][email]`, `user[email]x`.  Of a name that was cut to BODY_NAME_MAX before that is known: FORM_NAME_ARRAY. */
enum form_name form_name_compare(struct drossel_text name, struct drossel_text wanted);

/* Decodes %XX and, with `plus`, `+`.  What is no escape stays and sets *faulty.  Writes at most `cap` bytes; returns the
 * size of the whole. */
size_t form_decode(struct drossel_text text, bool plus, char *out, size_t cap, bool *faulty);

#endif
