/*
 * Subjects and their hashes: what a key is made of, as 64 bits.
 *
 * SipHash-1-3 (Aumasson and Bernstein 2012), keyed with the table's secret: nobody outside can
 * choose keys that meet in the table.  One round for each word and three at the end are what hash tables take (CPython, Rust, Ruby); the
 * hash is seen by nobody who could not read the table.  Parts of different kinds never collide (the kind is in the hash's key), and
 * parts of a combination are joined as fixed-length hashes, each by its place and kind, so that ("ab","c") and ("a","bc") differ.
 */
#ifndef DROSSEL_REQUEST_KEY_H
#define DROSSEL_REQUEST_KEY_H

#include "drossel.h"

#define KEY_SECRET_BYTES 16
#define KEY_PARTS_MAX 8

/* Hash of one part; `kind` tells kinds of parts apart (0 to 254). */
uint64_t key_part_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind, const void *data, size_t size);

/* Hash of a named part: a header's name and its value. */
uint64_t key_pair_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind, struct drossel_text name,
                              struct drossel_text value);

/* Hash of an address as it is to be counted (client_key): that of the part which its family and its bytes are, four or sixteen of them. */
uint64_t key_address_hash(const uint8_t secret[KEY_SECRET_BYTES], uint8_t kind, const struct drossel_address *address);

/* One hash of several parts' hashes, 2 to KEY_PARTS_MAX. */
uint64_t key_join(const uint64_t *parts, const uint8_t *kinds, size_t count);

#endif
