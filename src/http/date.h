/* HTTP-dates (RFC 9110 section 5.6.7) to and from Unix seconds.  No locale, no time zone, no global state. */
#ifndef DROSSEL_HTTP_DATE_H
#define DROSSEL_HTTP_DATE_H

#include "drossel.h"

#define HTTP_DATE_TEXT 30                   /* `Sun, 06 Nov 1994 08:49:37 GMT` and a NUL */
#define HTTP_DATE_MAX INT64_C(253402300799) /* the last second of the year 9999 */

/* Writes an IMF-fixdate and a NUL; times outside the years 1970 to 9999 come out as the nearest one inside. */
void http_date_format(int64_t unix_s, char out[HTTP_DATE_TEXT]);

/* Reads IMF-fixdate, RFC 850 or asctime form, case-sensitively, without white space around.  A wrong day of the week is
 * accepted, a day that the month does not have is not.  A two-digit year that would be more than 50 years after `now_s`
 * is one of the past century.  False for everything else; `unix_s` is untouched then. */
bool http_date_parse(struct drossel_text text, int64_t now_s, int64_t *unix_s);

#endif
