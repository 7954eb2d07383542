/*
 * Points in time as files write them: seconds as a decimal number, or RFC 3339; and back.  In memory: nanoseconds.
 */
#ifndef DROSSEL_CLI_SECONDS_H
#define DROSSEL_CLI_SECONDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECONDS_MAX UINT64_C(9000000000) /* year 2255: far below where nanoseconds would wrap */
#define SECONDS_TEXT 48

/* A JSON number as its writer meant it: the shortest decimal that reads back as this double, to the nanosecond.  So 1700000000.1
 * is exactly that, and not the double's 1700000000.099999905; and 1796000008.3899999, a sum that is one step of a double off, is
 * 1796000008.39.  False if negative, not finite or beyond SECONDS_MAX. */
bool seconds_from_double(double value, uint64_t *ns);
bool seconds_from_integer(long long value, uint64_t *ns);

/* RFC 3339 section 5.6: fraction and offset welcome, a leap second counts as the second after it.  False if malformed or
 * before 1970. */
bool seconds_from_rfc3339(const char *text, size_t size, uint64_t *ns);

/* The shortest decimal of ns in seconds: `47`, `0.5`, `9.999999999`.  Returns its length. */
size_t seconds_format(uint64_t ns, char out[SECONDS_TEXT]);

/* The shortest decimal that reads back as this double.  Returns its length. */
size_t seconds_format_double(double value, char out[SECONDS_TEXT]);

#endif
