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

/* The next cookie `name` of what is left of a Cookie line (RFC 6265 section 4.2) that is not empty; moves `rest` behind it.  The value is as
 * it was sent, without surrounding white space and quotes.  Names are compared as the most lenient application does: like those of
 * form fields (body.h), since PHP takes both alike, and after decoding, as some do. */
bool credential_cookie_next(struct drossel_text *rest, struct drossel_text name, struct drossel_text *value);

/* What applications make of a cookie's value.  RFC 6265 gives escapes no meaning, so each framework has its own; whoever counts by a
 * value has to see through all of them, or one account has as many keys as spellings. */
enum cookie_reading {
    COOKIE_ESCAPED, /* %XX is a byte, all else stands for itself: PHP, Express; and those who decode nothing, but for names with a `%` */
    COOKIE_PLUS,    /* and `+` is a space: Rack */
    COOKIE_QUOTED   /* \ooo and \c are a byte, too: Python's http.cookies, Django, Werkzeug */
};
#define COOKIE_READINGS 3

/* Does the value hold what is particular to this reading? If it holds none of it, no reading differs from the value as it is. */
bool credential_cookie_reads(struct drossel_text value, enum cookie_reading reading);

/* Decodes a value.  White space and control characters at its beginning, which applications take off accounts, are left out, so that they
 * do not fill the room.  What is no escape stays.  Writes at most `cap` bytes; returns the size of the whole. */
size_t credential_cookie_decode(struct drossel_text value, enum cookie_reading reading, char *out, size_t cap);

/* The user of an Authorization line of the scheme Basic (RFC 7617): base64 of `user:password`, padded or not, is decoded
 * into `buffer`, of which `user` is the part before the first colon; the password is wiped. */
bool credential_basic(struct drossel_text authorization, char buffer[CREDENTIAL_BASIC_MAX], struct drossel_text *user);

/* Is it of the scheme Basic, with whatever behind it?  Where credential_basic finds no user in it, others may: some leave out characters
 * that are none of base64's, some take a longer one. */
bool credential_is_basic(struct drossel_text authorization);

/* The token of an Authorization line of the scheme Bearer (RFC 6750). */
bool credential_bearer(struct drossel_text authorization, struct drossel_text *token);

#endif
