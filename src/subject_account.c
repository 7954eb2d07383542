/*
 * The accounts that a request names: found, folded, hashed, each once.
 *
 * An account is what the caller says, or the first of the policy's account_from that is there.  A body may name several; each is
 * counted, because nobody knows which of them the application takes.  Where the body cannot be read there is one more, shared by
 * all such requests of the address, so that a body that only the application understands is no way around the count.
 */
#include "subject.h"

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

/* The name as it is counted, with its class in front; 1 if nothing is left of it. */
static size_t fold(struct drossel_text raw, char message[1 + ACCOUNT_MAX], enum account_class *class)
{
    size_t size = account_fold(account_trim(raw), message + 1, ACCOUNT_MAX, class);
    message[0] = (char)*class;
    return 1 + size;
}

static void add(struct subject_finder *finder, struct drossel_text raw)
{
    char message[1 + ACCOUNT_MAX];
    enum account_class class;
    size_t size = raw.size > 0 ? fold(raw, message, &class) : 1;
    if (size == 1)
        return;
    keep(finder, raw, key_part_hash(finder->secret, POLICY_BY_ACCOUNT, message, size));
}

static void add_of_body(struct subject_finder *finder)
{
    const struct drossel_request *request = finder->request;
    for (size_t i = 0; i < request->account_count && i < SUBJECT_ACCOUNTS_MAX - 1; i++)
        add(finder, request->accounts[i]);
    if (!request->is_account_unreadable)
        return;
    keep(finder, (struct drossel_text){ "", 0 },
         key_address_hash(finder->secret, KIND_UNREADABLE, &finder->client_key));
}

static bool is_of_body(const struct policy_source *source)
{
    return source->kind == POLICY_FROM_FORM || source->kind == POLICY_FROM_JSON;
}

static void find_accounts(struct subject_finder *finder)
{
    const struct policy *policy = finder->policy;
    struct drossel_text text;
    if (finder->request->account.size > 0) {
        add(finder, finder->request->account);
        return;
    }
    for (uint32_t i = 0; i < policy->account_from_count && finder->account_count == 0; i++) {
        if (is_of_body(&policy->account_from[i]))
            add_of_body(finder);
        else if (subject_find_first(finder, &policy->account_from[i], 1, &text))
            add(finder, text);
    }
}

unsigned subject_account_count(struct subject_finder *finder)
{
    if (!finder->looked_for_account) {
        finder->account_count = 0;
        find_accounts(finder);
        finder->looked_for_account = true;
    }
    return finder->account_count;
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
    enum account_class class;
    uint8_t digest[ACCOUNT_DIGEST_BYTES];
    size_t size = fold(raw, message, &class);
    if (finder->policy->table_reveal)
        return subject_plain_format((struct drossel_text){ message + 1, size - 1 }, out, cap);
    struct drossel_text secret = finder->policy->secret;
    account_digest(secret.data, secret.size, account_class_name(class), (struct drossel_text){ message + 1, size - 1 },
                   digest);
    uint32_t head = (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 | digest[3];
    return subject_digest_format(head, out, cap);
}
