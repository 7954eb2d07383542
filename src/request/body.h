/*
 * Accounts named in a request's body: every value of the fields that the policy takes accounts from.
 *
 * The application decides which of several values it uses, and we do not know which; so all of them are found, in forms
 * (application/x-www-form-urlencoded), in multipart/form-data (RFC 7578) and in JSON (RFC 8259, duplicate keys too).
 * The danger is a body that the application understands and we do not: then guesses are free.  Hence two rules.
 *   1. Reading never stops at a fault; what can be made out after it still counts.
 *   2. Whatever a well-behaved client would not send, and applications read in different ways, makes the body `malformed`,
 *      whether values were found or not.  The caller then counts the request under one account for all such requests
 *      of its address, and under each value found.
 * A value too many is harmless, save for one thing: a success must clear a counter only if the body named one account.
 *
 * Names of fields and keys are compared after decoding, without regard to ASCII case (Go and .NET do so), and for forms
 * as PHP reads them: leading spaces and what follows a NUL count for nothing, and `.`, ` ` and `[` stand for `_`.  `email[]`
 * is another field than `email`, but makes the body malformed.  A JSON path has keys of objects, separated by dots; it does not
 * reach into arrays.  An integer counts in plain digits, however JSON writes it (5.0 and 5e0 are 5), and beyond 2^53 also
 * as what a double makes of it; null is absent; another kind of value, a fraction too, makes the body malformed.  A field that is there more than once, each time with another value, is
 * reported each time; an empty value is absent.
 *
 * Which parser reads a body depends on Content-Type; but what begins like JSON is read as JSON under any type (many
 * applications never look at the type), and a body without a type, or of an unknown one, as a form too.
 *
 * Bounds.  Time is linear in the body; the stack is constant, whatever the depth of JSON; nothing is allocated.  Beyond
 * BODY_VALUES_MAX distinct values, or when the caller's buffer is full, `too_many` is set, to be treated as malformed.
 * The body and everything in it may be arbitrary bytes.
 */
#ifndef DROSSEL_REQUEST_BODY_H
#define DROSSEL_REQUEST_BODY_H

#include "drossel.h"

#define BODY_SOURCES_MAX 16 /* further sources are not looked for */
#define BODY_VALUES_MAX 16
#define BODY_NAME_MAX 256      /* bytes of a field's name or one key of a path; longer ones are never found, but see form_name_compare */
#define BODY_BUFFER_BYTES 8192 /* advised: all values together, as decoded */

enum body_source_kind { BODY_FORM, BODY_JSON };

struct body_source {
    uint16_t kind;            /* enum body_source_kind */
    uint16_t keys;            /* in a JSON path, at most UINT16_MAX; 0 for a form's field */
    struct drossel_text name; /* form field, or dotted path */
};

/* Where a policy's accounts may stand, and what each body would be asked of it.  Zeroed: nowhere. */
struct body_sources {
    uint32_t form_letters, json_letters; /* a bit for each letter that a field's or outermost key's name may begin with: its lower five bits */
    uint16_t count;
    uint16_t deepest; /* keys in the longest path: below that nothing is wanted */
    bool has_forms, has_json;
    struct body_source source[BODY_SOURCES_MAX];
};

/* Adds one; the name must stay.  False, and nothing is changed, if there are BODY_SOURCES_MAX. */
bool body_sources_add(struct body_sources *sources, enum body_source_kind kind, struct drossel_text name);

/* A request's body as it came. */
struct body {
    const struct drossel_text *content_types; /* each Content-Type line; several make the body malformed */
    size_t content_type_count;                /* 0: there is none */
    struct drossel_text content_encoding;     /* whatever is not `identity` cannot be read: malformed */
    struct drossel_text bytes;
    bool truncated; /* the body goes on beyond the cap: malformed */
};

struct body_value {
    uint32_t source;          /* index of the source that it was found by */
    struct drossel_text text; /* decoded, not folded; in the caller's buffer */
};

struct body_found {
    char *buffer; /* the caller's; values lie in it */
    size_t cap, used;
    size_t count;
    bool malformed;
    bool too_many;                            /* more values, or longer ones, than could be kept */
    struct body_value value[BODY_VALUES_MAX]; /* in the body's order, no two the same for one source */
};

/* Adds the accounts of `body` to `found`, which body_found_init has made empty, and returns found->count.  The body may go
 * afterwards; the buffer must stay.  Sources that do not fit the body's type find nothing. */
size_t body_accounts(const struct body *body, const struct body_sources *sources, struct body_found *found);

/* Makes `found` empty.  `buffer` of `cap` bytes stays the caller's. */
static inline void body_found_init(struct body_found *found, char *buffer, size_t cap)
{
    found->buffer = buffer;
    found->cap = cap;
    found->used = found->count = 0;
    found->malformed = found->too_many = false;
}

/* ---- between the parsers; of no interest to callers ---- */

struct body_search {
    const struct body_sources *sources;
    struct body_found *found;
};

/* Where the next value may be decoded to, and how many bytes are free there. */
static inline char *body_room(const struct body_search *search, size_t *cap)
{
    *cap = search->found->cap - search->found->used;
    return search->found->buffer + search->found->used;
}

/* Keeps the `size` bytes at body_room as a value of a source, unless they are empty or known. */
void body_keep(const struct body_search *search, uint32_t source, size_t size);

/* Copies a value that needs no decoding, and keeps it. */
void body_copy(const struct body_search *search, uint32_t source, struct drossel_text value);

/* Malformed if a value that was kept in the buffer from there on has a byte beyond ASCII: a charset makes another text of it. */
void body_doubt_letters(const struct body_search *search, size_t from);

/* The value of a hexadecimal digit, or -1. */
static inline int body_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

#endif
