/*
 * Values of JSON by dotted path, every one of them: duplicate keys, any depth, faults in between.
 *
 * A reader of our own, since a library keeps one of two duplicate keys, refuses what is nested deeply, and stops at the first
 * fault, where applications differ in all three.  It walks over tokens once, with a depth counter in the place of a
 * stack, and goes on after faults; comments, single quotes, bare keys and trailing commas, which Newtonsoft's and other
 * tolerant parsers accept, are faults that hide nothing.
 */
#ifndef DROSSEL_REQUEST_JSON_BODY_H
#define DROSSEL_REQUEST_JSON_BODY_H

#include "request/body.h"

#define JSON_DEPTH_CHECKED 4096 /* deeper containers are walked, but `[}` is not noticed there */
#define JSON_INTEGER_DIGITS 20  /* as 64 bits need */

/* Keeps each value at the path of a JSON source.  Malformed: what RFC 8259 does not allow (but a UTF-8 byte order mark
 * at the start), and a wanted value that is neither string, integer nor null.  Nothing but white space is no fault. */
void json_values(struct drossel_text body, const struct body_search *search);

/* Decodes the inside of a string.  Writes at most `cap` bytes; returns the size of the whole.  Half a surrogate pair becomes
 * three bytes that are no UTF-8, and a fault, as is an escape that JSON does not know (its letter stays). */
size_t json_decode(struct drossel_text text, char *out, size_t cap, bool *faulty);

/* Keeps what a number may be an account under.  An integer of at most JSON_INTEGER_DIGITS has one text for all ways to write it: 5.0, 50e-1
 * and 0.5e1 are 5.  Beyond 2^53 it has a second one, that of the double which JavaScript makes of it and of its neighbours, where that differs.
 * A fraction is a fault, and kept as it is and as both integers beside it: Jackson and PHP cut it off, and to all who read doubles
 * 4.99999999999999999 is 5, in as many spellings as one likes.  What is no number, or longer, is a fault, and kept as it is. */
void json_keep_number(const struct body_search *search, uint32_t source, struct drossel_text text, bool *faulty);

/* Is it a number of RFC 8259? */
bool json_is_number(struct drossel_text text);

#endif
