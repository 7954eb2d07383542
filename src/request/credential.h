/*
 * Names and secrets in a request's headers, as facts for keys: cookies, Basic and Bearer credentials.
 *
 * Parsers only: nothing is checked against anything.  Each works on one line; where a field may stand on several lines
 * (Cookie under HTTP/2), the caller tries each.  Results point into the line or the caller's buffer.  On false the outputs
 * are untouched.  An empty value counts as absent.
 */
#ifndef DROSSEL_REQUEST_CREDENTIAL_H
#define DROSSEL_REQUEST_CREDENTIAL_H

#include "drossel.h"

#define CREDENTIAL_BASIC_MAX 1024 /* bytes of `user:password`; what is longer counts as absent */

/* The first cookie `name` of a Cookie line (RFC 6265 section 4.2), without surrounding quotes.  Names are compared
 * exactly, values are not decoded: it is a token, and another spelling of it is none. */
bool credential_cookie(struct drossel_text line, struct drossel_text name, struct drossel_text *value);

/* The next cookie of what is left of a Cookie line that is not empty, and that some application takes for `name`: in any case, with white
 * space before the `=` (Django), with `.` for `_` (PHP); moves `rest` behind it. */
bool credential_cookie_next(struct drossel_text *rest, struct drossel_text name, struct drossel_text *value);

/* The value as most applications decode it: %XX (PHP, Express, Rack), then backslashes, with three octal digits too (Python).  So all ways to
 * write a name are one.  Writes at most `cap` bytes; returns the size of the whole, which is not longer than the value. */
size_t credential_cookie_decode(struct drossel_text value, char *out, size_t cap);

/* The user of an Authorization line of the scheme Basic (RFC 7617): base64 of `user:password`, padded or not, is decoded
 * into `buffer`, of which `user` is the part before the first colon; the password is wiped. */
bool credential_basic(struct drossel_text authorization, char buffer[CREDENTIAL_BASIC_MAX], struct drossel_text *user);

/* Is it of the scheme Basic, with whatever behind it?  Where credential_basic finds no user in it, others may: some leave out characters
 * that are none of base64's, some take a longer one. */
bool credential_is_basic(struct drossel_text authorization);

/* The token of an Authorization line of the scheme Bearer (RFC 6750). */
bool credential_bearer(struct drossel_text authorization, struct drossel_text *token);

#endif
