/*
 * Between the two that read a JSON body; of no interest to others.
 *
 * json_body.c knows the grammar and reads token by token.  json_plain.c reads the members that nearly all bodies consist of, and stops
 * where something else begins.  Both go along one struct json_scan, and call each other's functions below.
 */
#ifndef DROSSEL_REQUEST_JSON_SCAN_H
#define DROSSEL_REQUEST_JSON_SCAN_H

#include "request/json_body.h"
#include "request/scan.h"

/* What the grammar allows next; anything else is a fault, and read all the same. */
enum json_expected { JSON_VALUE, JSON_VALUE_OR_END, JSON_KEY, JSON_KEY_OR_END, JSON_ANYTHING /* in a container too deep to know */, JSON_AFTER };

struct json_scan {
    const char *begin, *at, *end;
    const struct body_search *search;
    size_t depth; /* open containers */
    enum json_expected expected;
    bool faulty;
    /* For each source: how many keys of its path the keys of the open objects are, counted from the root; 0 for other sources.
     * A key at depth d is the path's d-th only if d - 1 were so before.  Entries above the current depth are stale, and
     * corrected by the next key. */
    uint16_t matched[BODY_SOURCES_MAX];
    uint8_t is_object[JSON_DEPTH_CHECKED / 8]; /* a bit for each open container */
};

/* Keys in the source's path; 0 for those of other kinds. */
static inline size_t json_keys_wanted(const struct json_scan *scan, size_t source)
{
    return scan->search->sources->source[source].keys;
}

/* Which bytes of a block are the quote, a backslash or a control character. */
static inline uint32_t json_marks_in(const char *at, char quote)
{
    scan_block bytes = scan_load(at);
    scan_block found = (scan_block)(bytes == scan_all(quote)) | (scan_block)(bytes == scan_all('\\'));
    return scan_bits(found | (scan_block)(bytes < scan_all(' ')));
}

/* The first of those from `at` on.  Sixteen at a time: most of a body is the inside of strings; for the rest the body's last sixteen bytes are
 * looked at again, where it has so many.  `begin`: of the body. */
static inline const char *json_run_end(const char *begin, const char *at, const char *end, char quote)
{
    for (; end - at >= SCAN_BYTES; at += SCAN_BYTES) {
        uint32_t marks = json_marks_in(at, quote);
        if (marks != 0)
            return at + __builtin_ctz(marks);
    }
    if (at < end && end - begin >= SCAN_BYTES) {
        uint32_t marks = json_marks_in(end - SCAN_BYTES, quote) >> (SCAN_BYTES - (end - at));
        return marks != 0 ? at + __builtin_ctz(marks) : end;
    }
    while (at < end && *at != quote && *at != '\\' && (unsigned char)*at >= ' ')
        at++;
    return at;
}

/* Reads members of the outermost object as nearly all are, `"key": "string",`, from its `{` at scan->at on: without the state of the
 * grammar.  The first one that is anything else is left, from its key on, to those who read token by token.  Returns the last key read, with
 * no data if there is none; scan->expected is JSON_AFTER if the object's end was reached, which scan->at then is. */
struct drossel_text json_take_plain_members(struct json_scan *scan);

/* Is a key, decoded, the one wanted: without regard to case, as Go folds it. */
bool json_is_same_key(struct drossel_text key, struct drossel_text wanted);

/* Keeps a string, its inside being `raw`, as a value of a source. */
void json_keep_string(struct json_scan *scan, uint32_t source, struct drossel_text raw, bool escapes);

#endif
