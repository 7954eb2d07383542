/*
 * The accounts that a request names: found, folded, hashed, each once.
 *
 * An account is what the caller says, or the first of the policy's account_from that is there.  A body may name several, and so may a
 * header or cookie that is sent twice, or a cookie that applications decode in different ways; each is counted, because nobody knows which
 * of them the application takes.  Where a body or
 * Basic credentials cannot be read there is one more, shared by all such requests of the address, so that what only the application
 * understands is no way around the count.
 */
#include "subject.h"

#include "hint.h"
#include "request/account.h"

#include <stdio.h>
#include <string.h>

#define KIND_UNREADABLE 250 /* beside enum policy_part_kind, for hashes */

static bool is_known(const struct subject_finder *finder, uint64_t hash)
{
    for (unsigned i = 0; i < finder->account_count; i++)
        if (finder->account_hash[i] == hash)
            return true;
    return false;
}

static void keep(struct subject_finder *finder, struct drossel_text text, uint64_t hash)
{
    if (finder->account_count == SUBJECT_ACCOUNTS_MAX || is_known(finder, hash))
        return;
    finder->account[finder->account_count] = text;
    finder->account_hash[finder->account_count++] = hash;
}

bool subject_account_hash(const uint8_t *secret, struct drossel_text raw, uint64_t *hash)
{
    char message[1 + ACCOUNT_MAX];
    size_t size = likely(raw.size > 0) ? account_counted(raw, message) : 1;
    if (unlikely(size == 1))
        return false;
    *hash = key_part_hash(secret, POLICY_BY_ACCOUNT, message, size);
    return true;
}

static void add(struct subject_finder *finder, struct drossel_text raw)
{
    uint64_t hash;
    if (subject_account_hash(finder->secret, raw, &hash))
        keep(finder, raw, hash);
}

/* More than there is room for, or what others may read and we cannot. */
static void keep_unreadable(struct subject_finder *finder)
{
    keep(finder, (struct drossel_text){ "", 0 },
         key_address_hash(finder->secret, KIND_UNREADABLE, &finder->client_key));
}

/* One of several, of which the last place is kept free for the account of those that cannot be read. */
static void add_one_more(struct subject_finder *finder, struct drossel_text raw)
{
    if (finder->account_count < SUBJECT_ACCOUNTS_MAX - 1)
        add(finder, raw);
    else
        keep_unreadable(finder);
}

static void add_of_header(struct subject_finder *finder, struct drossel_text name)
{
    struct drossel_text line;
    for (unsigned nth = 0; request_header(finder->request, name, nth, &line); nth++)
        if (line.size > 0)
            add_one_more(finder, line);
}

/* A text that goes, kept for as long as the finder; what there is no room for goes by `other` in logs, and is counted all the same. */
static struct drossel_text buffered(struct subject_finder *finder, struct drossel_text text, struct drossel_text other)
{
    if (text.size > sizeof finder->account_buffer - finder->account_buffered)
        return other;
    char *kept = finder->account_buffer + finder->account_buffered;
    memcpy(kept, text.data, text.size);
    finder->account_buffered = (uint16_t)(finder->account_buffered + text.size);
    return (struct drossel_text){ kept, text.size };
}

/* What one kind of application makes of the value; another kind's may be added beside it. */
static __attribute__((noinline)) void add_reading(struct subject_finder *finder, struct drossel_text value,
                                                  enum cookie_reading reading)
{
    char decoded[ACCOUNT_INPUT_MAX];
    uint64_t hash;
    size_t size = credential_cookie_decode(value, reading, decoded, sizeof decoded);
    struct drossel_text text = { decoded, size < sizeof decoded ? size : sizeof decoded };
    if (!subject_account_hash(finder->secret, text, &hash) || is_known(finder, hash))
        return;
    if (finder->account_count < SUBJECT_ACCOUNTS_MAX - 1)
        keep(finder, buffered(finder, text, value), hash);
    else
        keep_unreadable(finder);
}

static void add_of_cookie(struct subject_finder *finder, struct drossel_text value)
{
    bool is_plus = credential_cookie_reads(value, COOKIE_PLUS),
         is_quoted = credential_cookie_reads(value, COOKIE_QUOTED);
    if (!is_plus && !is_quoted && !credential_cookie_reads(value, COOKIE_ESCAPED))
        return add_one_more(finder, value);
    add_reading(finder, value, COOKIE_ESCAPED);
    if (is_plus)
        add_reading(finder, value, COOKIE_PLUS);
    if (is_quoted)
        add_reading(finder, value, COOKIE_QUOTED);
}

static void add_of_cookies(struct subject_finder *finder, struct drossel_text name)
{
    static const struct drossel_text cookie = DROSSEL_TEXT("cookie");
    struct drossel_text line, value;
    for (unsigned nth = 0; request_header(finder->request, cookie, nth, &line); nth++)
        while (credential_cookie_next(&line, name, &value))
            add_of_cookie(finder, value);
}

static void add_of_basic(struct subject_finder *finder)
{
    static const struct drossel_text authorization = DROSSEL_TEXT("authorization");
    struct drossel_text line, user;
    if (!request_header(finder->request, authorization, 0, &line))
        return;
    if (credential_basic(line, finder->account_buffer, &user))
        add(finder, user);
    else if (credential_is_basic(line))
        keep_unreadable(finder);
}

static void add_of_body(struct subject_finder *finder)
{
    const struct drossel_request *request = finder->request;
    for (size_t i = 0; i < request->account_count && i < SUBJECT_ACCOUNTS_MAX - 1; i++)
        add(finder, request->accounts[i]);
    if (!request->is_account_unreadable)
        return;
    keep_unreadable(finder);
}

static void add_of_source(struct subject_finder *finder, const struct policy_source *source)
{
    struct drossel_text text;
    switch (source->kind) {
    case POLICY_FROM_FORM:
    case POLICY_FROM_JSON:
        add_of_body(finder);
        break;
    case POLICY_FROM_HEADER:
        add_of_header(finder, source->name);
        break;
    case POLICY_FROM_COOKIE:
        add_of_cookies(finder, source->name);
        break;
    case POLICY_FROM_BASIC:
        add_of_basic(finder);
        break;
    case POLICY_FROM_BEARER:
        if (subject_find_first(finder, source, 1, &text))
            add(finder, text);
    }
}

static void find_accounts(struct subject_finder *finder)
{
    const struct policy *policy = finder->policy;
    if (finder->request->account.size > 0) {
        add(finder, finder->request->account);
        return;
    }
    for (uint32_t i = 0; i < policy->account_from_count && finder->account_count == 0; i++)
        add_of_source(finder, &policy->account_from[i]);
}

unsigned subject_account_count(struct subject_finder *finder)
{
    if (!finder->looked_for_account) {
        finder->account_count = 0;
        finder->account_buffered = 0;
        find_accounts(finder);
        finder->looked_for_account = true;
    }
    return finder->account_count;
}

bool subject_is_account_doubtful(struct subject_finder *finder, unsigned *count)
{
    *count = subject_account_count(finder);
    return *count > 1 || (*count == 1 && finder->account[0].size == 0);
}

uint64_t subject_accounts_thing(struct subject_finder *finder)
{
    uint64_t thing = 0;
    for (unsigned i = 0; i < subject_account_count(finder); i++)
        thing ^= finder->account_hash[i] | 1; /* in any order: a new name among known ones is a new thing */
    return subject_account_count(finder) == 0 ? 0 : thing | 1;
}

bool subject_has_account(const struct policy *policy, uint32_t index)
{
    const struct policy_subject *subject = &policy->subjects[index];
    for (unsigned i = 0; i < subject->part_count; i++)
        if (subject->part[i].kind == POLICY_BY_ACCOUNT)
            return true;
    return false;
}

void subject_account_select(struct subject_finder *finder, unsigned at)
{
    if (at == finder->account_at)
        return;
    finder->account_at = (uint8_t)at;
    finder->parts_hashed &= ~(UINT32_C(1) << POLICY_BY_ACCOUNT);
}

size_t subject_account_format(struct subject_finder *finder, char *out, size_t cap)
{
    if (subject_account_count(finder) == 0)
        return 0;
    struct drossel_text raw = finder->account[finder->account_at];
    if (raw.size == 0)
        return (size_t)snprintf(out, cap, "#unreadable");
    char message[1 + ACCOUNT_MAX];
    uint8_t digest[ACCOUNT_DIGEST_BYTES];
    size_t size = account_counted(raw, message);
    if (finder->policy->table_reveal)
        return subject_plain_format((struct drossel_text){ message + 1, size - 1 }, out, cap);
    struct drossel_text secret = finder->policy->secret;
    account_digest(secret.data, secret.size, account_class_name((enum account_class)message[0]),
                   (struct drossel_text){ message + 1, size - 1 }, digest);
    uint32_t head = (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 | digest[3];
    return subject_digest_format(head, out, cap);
}
