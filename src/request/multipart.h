/*
 * Fields of multipart/form-data (RFC 7578, RFC 2046).
 *
 * Applications agree on what browsers send and on little else.  So a part is found by everybody's reading of it: lines may
 * end in LF alone, parts after the final boundary count, names are read quoted, with backslashes, with single quotes (PHP)
 * and percent-encoded, each `name` of a part counts, and what is sent as a file is a value too.
 */
#ifndef DROSSEL_REQUEST_MULTIPART_H
#define DROSSEL_REQUEST_MULTIPART_H

#include "request/body.h"

#define MULTIPART_BOUNDARY_MAX 200 /* bytes; RFC 2046 allows 70 */

/* Keeps each value of the wanted form fields.  Malformed: no boundary, none in the body, no final one, a delimiter or header
 * line that is none, a delimiter amid a line, some lines ending in CRLF and some in LF, no name or several, `name*`, a transfer
 * encoding that needs decoding, a charset that is no superset of ASCII. */
void multipart_fields(struct drossel_text body, struct drossel_text boundary, const struct body_search *search);

#endif
