/* Subjects of a request: found, hashed, named. */
#include "subject.h"

#include <stdio.h>
#include <string.h>

#define COOKIE_BYTES_MAX 4096 /* no browser keeps a longer one */

/* Field names as the lookup wants them: lower case. */
static const struct drossel_text authorization = DROSSEL_TEXT("authorization");
static const struct drossel_text cookie = DROSSEL_TEXT("cookie");

inline void subject_begin(struct subject_finder *finder, const struct policy *policy, const uint8_t *secret,
                          const struct drossel_request *request, const struct drossel_address *client)
{
    finder->policy = policy;
    finder->secret = secret;
    finder->request = request;
    if (client != &finder->client)
        finder->client = *client;
    if (client->family == DROSSEL_IPV6)
        finder->client_key = client_key(client, policy->ipv6_prefix);
    else
        finder->client_key = *client;
    finder->token = request->token;
    finder->looked_for_account = false;
    finder->account_at = 0;
    finder->looked_for_token = request->token.size > 0;
    /* The one part that everybody shares: there is nothing to hide, and others cannot be aimed at it. */
    finder->part[POLICY_BY_SITE] = POLICY_BY_SITE;
    finder->parts_hashed = UINT32_C(1) << POLICY_BY_SITE;
}

/* ---- where accounts and tokens come from ---- */

static bool find_cookie(const struct drossel_request *request, struct drossel_text name, struct drossel_text *value)
{
    struct drossel_text line;
    for (unsigned nth = 0; request_header(request, cookie, nth, &line); nth++)
        if (credential_cookie_next(&line, name, value))
            return true;
    return false;
}

/* A token that no header can hold, for all that are too strange to tell one from another. */
static const struct drossel_text ambiguous = { "", 1 }; /* a NUL */

/* Kept in the finder: whole, or as a hash, which the NUL before it tells from every token that a header can hold. */
static struct drossel_text keep_token(struct subject_finder *finder, struct drossel_text token)
{
    char *kept = finder->token_buffer;
    if (token.size <= sizeof finder->token_buffer) {
        memcpy(kept, token.data, token.size);
        return (struct drossel_text){ kept, token.size };
    }
    uint64_t hash = key_part_hash(finder->secret, POLICY_BY_TOKEN, token.data, token.size);
    kept[0] = '\0';
    memcpy(kept + 1, &hash, sizeof hash);
    return (struct drossel_text){ kept, 1 + sizeof hash };
}

/* A token has one key, so what `+` stands for must not matter: some read it as a space, which is in no token. */
static __attribute__((noinline)) struct drossel_text decode_token(struct subject_finder *finder,
                                                                  struct drossel_text value)
{
    char decoded[COOKIE_BYTES_MAX]; /* only here, so that no other request's stack has this hole in it */
    bool is_quoted = credential_cookie_reads(value, COOKIE_QUOTED);
    size_t size = credential_cookie_decode(value, is_quoted ? COOKIE_QUOTED : COOKIE_ESCAPED, decoded, sizeof decoded);
    if (size == 0 || size > sizeof decoded)
        return ambiguous;
    for (size_t i = 0; i < size; i++)
        if (decoded[i] == ' ')
            decoded[i] = '+';
    return keep_token(finder, (struct drossel_text){ decoded, size });
}

/* One text for all ways to write a cookie's value. */
static struct drossel_text plain_token(struct subject_finder *finder, struct drossel_text value)
{
    bool is_plain = !credential_cookie_reads(value, COOKIE_QUOTED) && !credential_cookie_reads(value, COOKIE_ESCAPED) &&
                    memchr(value.data, ' ', value.size) == NULL;
    return is_plain ? value : decode_token(finder, value);
}

/* The first line of a header that is not empty: an empty one before it hides nothing. */
static bool find_header(const struct drossel_request *request, struct drossel_text name, struct drossel_text *value)
{
    for (unsigned nth = 0; request_header(request, name, nth, value); nth++)
        if (value->size > 0)
            return true;
    return false;
}

static bool find_source(struct subject_finder *finder, const struct policy_source *source, struct drossel_text *value)
{
    const struct drossel_request *request = finder->request;
    struct drossel_text line;
    switch (source->kind) {
    case POLICY_FROM_HEADER:
        return find_header(request, source->name, value);
    case POLICY_FROM_COOKIE:
        return find_cookie(request, source->name, value);
    case POLICY_FROM_BASIC:
        return request_header(request, authorization, 0, &line) &&
               credential_basic(line, finder->account_buffer, value) && value->size > 0;
    case POLICY_FROM_BEARER:
        return request_header(request, authorization, 0, &line) && credential_bearer(line, value) && value->size > 0;
    case POLICY_FROM_FORM:
    case POLICY_FROM_JSON:
        break; /* the door looks into bodies: request->accounts */
    }
    return false;
}

bool subject_find_first(struct subject_finder *finder, const struct policy_source *sources, uint32_t count,
                        struct drossel_text *value)
{
    for (uint32_t i = 0; i < count; i++)
        if (find_source(finder, &sources[i], value))
            return true;
    *value = (struct drossel_text){ NULL, 0 };
    return false;
}

/* Has a header other values behind its first one?  Applications differ in which of them they take. */
static bool is_header_ambiguous(const struct drossel_request *request, struct drossel_text name,
                                struct drossel_text first)
{
    struct drossel_text line;
    for (unsigned nth = 1; request_header(request, name, nth, &line); nth++)
        if (line.size > 0 && (line.size != first.size || memcmp(line.data, first.data, first.size) != 0))
            return true;
    return false;
}

/* A header is sent twice with different tokens by nobody but him who wants a new key with each invented one and is known to the
 * application by the other: all such requests have one token. */
static void look_for_token(struct subject_finder *finder)
{
    const struct policy *policy = finder->policy;
    for (uint32_t i = 0; i < policy->token_from_count; i++) {
        const struct policy_source *source = &policy->token_from[i];
        if (!subject_find_first(finder, source, 1, &finder->token))
            continue;
        if (source->kind == POLICY_FROM_HEADER && is_header_ambiguous(finder->request, source->name, finder->token))
            finder->token = ambiguous;
        if (source->kind == POLICY_FROM_COOKIE)
            finder->token = plain_token(finder, finder->token);
        return;
    }
}

static bool find_token(struct subject_finder *finder, struct drossel_text *text)
{
    if (!finder->looked_for_token) {
        look_for_token(finder);
        finder->looked_for_token = true;
    }
    *text = finder->token;
    return text->size > 0;
}

bool subject_signed_in(struct subject_finder *finder)
{
    struct drossel_text token;
    return find_token(finder, &token);
}

/* ---- parts ---- */

bool subject_part(struct subject_finder *finder, const struct policy_part *part, struct drossel_text *text)
{
    *text = (struct drossel_text){ NULL, 0 };
    switch (part->kind) {
    case POLICY_BY_ADDRESS:
    case POLICY_BY_SITE:
        return true;
    case POLICY_BY_ACCOUNT:
        if (subject_account_count(finder) == 0)
            return false;
        *text = finder->account[finder->account_at];
        return true;
    case POLICY_BY_TOKEN:
        return find_token(finder, text);
    case POLICY_BY_PATH:
        *text = finder->request->path;
        return text->size > 0;
    case POLICY_BY_HEADER:
        return find_header(finder->request, part->header, text);
    }
    return false;
}

/* Kept, but for headers, of which a policy may name several. */
static bool part_hash_anew(struct subject_finder *finder, const struct policy_part *part, uint64_t *hash)
{
    uint8_t kind = (uint8_t)part->kind;
    struct drossel_text text;
    if (part->kind == POLICY_BY_ADDRESS) {
        *hash = subject_address_hash(finder);
        return true;
    }
    if (part->kind == POLICY_BY_ACCOUNT) {
        if (subject_account_count(finder) == 0)
            return false;
        *hash = finder->account_hash[finder->account_at];
    } else if (!subject_part(finder, part, &text)) {
        return false;
    } else if (part->kind == POLICY_BY_HEADER) {
        *hash = key_pair_hash(finder->secret, kind, part->header, text);
        return true;
    } else {
        *hash = key_part_hash(finder->secret, kind, text.data, text.size);
    }
    finder->part[kind] = *hash;
    finder->parts_hashed |= UINT32_C(1) << kind;
    return true;
}

/* A part that stands alone in one limit and in a combination in another is hashed once. */
static inline bool part_hash(struct subject_finder *finder, const struct policy_part *part, uint64_t *hash)
{
    if ((finder->parts_hashed >> part->kind & 1) == 0)
        return part_hash_anew(finder, part, hash);
    *hash = finder->part[part->kind];
    return true;
}

bool subject_is_address(const struct policy *policy, uint32_t index)
{
    const struct policy_subject *subject = &policy->subjects[index];
    return subject->part_count == 1 && subject->part[0].kind == POLICY_BY_ADDRESS;
}

bool subject_hash(struct subject_finder *finder, uint32_t index, uint64_t *hash)
{
    const struct policy_subject *subject = &finder->policy->subjects[index];
    uint64_t parts[POLICY_PARTS_MAX];
    uint8_t kinds[POLICY_PARTS_MAX];
    if (subject->part_count == 1)
        return part_hash(finder, &subject->part[0], hash);
    for (unsigned i = 0; i < subject->part_count; i++) {
        kinds[i] = (uint8_t)subject->part[i].kind;
        if (!part_hash(finder, &subject->part[i], &parts[i]))
            return false;
    }
    *hash = key_join(parts, kinds, subject->part_count);
    return true;
}

static const char *part_name(const struct policy_part *part)
{
    static const char *const names[] = {
        [POLICY_BY_ADDRESS] = "address", [POLICY_BY_ACCOUNT] = "account", [POLICY_BY_TOKEN] = "token",
        [POLICY_BY_SITE] = "site",       [POLICY_BY_PATH] = "path",       [POLICY_BY_HEADER] = "header",
    };
    return part->kind == POLICY_BY_HEADER ? part->header.data : names[part->kind];
}

const char *subject_missing(struct subject_finder *finder, uint32_t index)
{
    const struct policy_subject *subject = &finder->policy->subjects[index];
    struct drossel_text text;
    for (unsigned i = 0; i < subject->part_count; i++)
        if (!subject_part(finder, &subject->part[i], &text))
            return part_name(&subject->part[i]);
    return NULL;
}

const struct policy_override *subject_override(struct subject_finder *finder, const struct policy_limit *limit)
{
    if (limit->overrides == NULL)
        return NULL;
    const struct policy_subject *subject = &finder->policy->subjects[limit->subject];
    for (unsigned i = 0; i < subject->part_count; i++) {
        const struct policy_part *part = &subject->part[i];
        struct drossel_text text;
        if (!subject_part(finder, part, &text))
            continue;
        const struct drossel_address *address = part->kind == POLICY_BY_ADDRESS ? &finder->client : NULL;
        const struct policy_override *found = part->kind == POLICY_BY_ACCOUNT
                                                  ? policy_override_of_account(limit->overrides, text)
                                                  : policy_override_find(limit->overrides, text, address);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* ---- readable ---- */

/* As much of a text as there is room for, with a NUL. */
static size_t copy_cut(const char *text, size_t size, char *out, size_t cap)
{
    if (cap == 0)
        return 0;
    size_t cut = size < cap ? size : cap - 1;
    memcpy(out, text, cut);
    out[cut] = '\0';
    return cut;
}

size_t subject_address_format(const struct drossel_address *counted, unsigned ipv6_prefix, char *out, size_t cap)
{
    char text[DROSSEL_ADDRESS_TEXT + 5]; /* with a prefix behind it */
    size_t size = drossel_address_format(counted, text);
    if (counted->family == DROSSEL_IPV6 && ipv6_prefix < 128)
        size += (size_t)snprintf(text + size, sizeof text - size, "/%u", ipv6_prefix);
    return copy_cut(text, size, out, cap);
}

size_t subject_digest_format(uint32_t head, char *out, size_t cap)
{
    static const char digits[] = "0123456789abcdef";
    char text[9] = "#";
    for (unsigned i = 0; i < 8; i++)
        text[1 + i] = digits[head >> (28 - 4 * i) & 15];
    return copy_cut(text, sizeof text, out, cap);
}

/* It may hold any byte, and no log line must be forged with it. */
size_t subject_plain_format(struct drossel_text text, char *out, size_t cap)
{
    if (cap == 0)
        return 0;
    size_t size = text.size < cap ? text.size : cap - 1;
    for (size_t i = 0; i < size; i++)
        out[i] = text.data[i] > ' ' && text.data[i] < 127 ? text.data[i] : '?';
    out[size] = '\0';
    return size;
}

static size_t part_format(struct subject_finder *finder, const struct policy_part *part, char *out, size_t cap)
{
    struct drossel_text text;
    uint64_t hash;
    switch (part->kind) {
    case POLICY_BY_ADDRESS:
        return subject_address_format(&finder->client_key, finder->policy->ipv6_prefix, out, cap);
    case POLICY_BY_SITE:
        return (size_t)snprintf(out, cap, "site");
    case POLICY_BY_PATH:
        return subject_part(finder, part, &text) ? subject_plain_format(text, out, cap) : 0;
    case POLICY_BY_ACCOUNT:
        return subject_account_format(finder, out, cap);
    case POLICY_BY_TOKEN:
    case POLICY_BY_HEADER:
        if (part_hash(finder, part, &hash))
            return subject_digest_format((uint32_t)(hash >> 32), out, cap);
    }
    return 0;
}

size_t subject_format(struct subject_finder *finder, uint32_t index, char *out, size_t cap)
{
    const struct policy_subject *subject = &finder->policy->subjects[index];
    size_t size = 0;
    for (unsigned i = 0; i < subject->part_count && size + 1 < cap; i++) {
        if (i > 0)
            out[size++] = ' ';
        size_t part = part_format(finder, &subject->part[i], out + size, cap - size);
        size += part < cap - size ? part : cap - size - 1;
    }
    if (cap > 0)
        out[size] = '\0';
    return size;
}
