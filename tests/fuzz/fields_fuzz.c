/*
 * RateLimit fields, HTTP-dates, Accept and client waiting, on any bytes; and answers made from any numbers.
 *
 *     clang -g -O1 -D_GNU_SOURCE -std=c11 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc \
 *         tests/fuzz/fields_fuzz.c src/http/{accept,date,fields,fields_check,page,problem,structured,wait,writer}.c \
 *         -lsodium -lm -o fields_fuzz
 *
 * Beyond surviving: numbers that were parsed are in range, and texts in the field; a wait is ordered and never
 * negative; an answer's texts lie in its buffer or in static memory, Retry-After is not earlier than the wait, and its
 * RateLimit field parses to what was told.
 */
#include "http/answer.c"
#include "http/fields_parse.c"

#include "http/date.h"

#include <stdlib.h>

static void check(bool right)
{
    if (!right)
        abort();
}

static void check_item(const struct http_parsed_item *item, struct drossel_text field, bool policy)
{
    check(item->amount >= 0 && item->amount <= 999999999999999);
    check(item->window_s >= (policy && item->has_window ? 1 : 0) && item->window_s <= 999999999999999);
    check(item->name.data >= field.data && item->name.data + item->name.size <= field.data + field.size);
    for (size_t i = 0; i < item->name.size; i++)
        check(item->name.data[i] >= 0x20 && item->name.data[i] <= 0x7e);
}

/* How many items there are, or -1 if it is no List. */
static long try_field(struct drossel_text text, bool policy, enum http_profile profile)
{
    struct http_fields_reader reader;
    struct http_parsed_item item;
    int more;
    long count = 0;
    http_fields_begin(&reader, text, policy, profile);
    while ((more = http_fields_next(&reader, &item)) > 0) {
        check_item(&item, text, policy);
        count++;
    }
    return more < 0 ? -1 : count + (long)reader.ignored;
}

static void try_parse(struct drossel_text text)
{
    static const enum http_profile profiles[] = { HTTP_PROFILE_DRAFT_11, HTTP_PROFILE_DRAFT_12 };
    for (int i = 0; i < 4; i++)
        (void)try_field(text, i % 2 != 0, profiles[i / 2]);
    int64_t unix_s;
    if (http_date_parse(text, 1796040000, &unix_s) && unix_s >= 0 && unix_s < HTTP_DATE_MAX) {
        char again[HTTP_DATE_TEXT];
        int64_t same;
        http_date_format(unix_s, again);
        check(http_date_parse((struct drossel_text){ again, HTTP_DATE_TEXT - 1 }, 1796040000, &same) && same == unix_s);
    }
    enum http_body body = http_accept_choose(text);
    check(body == HTTP_BODY_PROBLEM || body == HTTP_BODY_HTML || body == HTTP_BODY_TEXT);
}

static void try_wait(struct drossel_text text, unsigned seed)
{
    static const char *const names[] = {
        "retry-after", "RateLimit", "x-ratelimit-reset", "date", "Age", "retry-after"
    };
    static const int statuses[] = { 429, 503, 200, 301 };
    struct drossel_header headers[8];
    size_t count = 0;
    while (text.size > 0 && count < 8) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data);
        const char *name = names[(seed + count) % 6];
        headers[count++] = (struct drossel_header){ { name, strlen(name) }, { text.data, size } };
        text.data += size + (end != NULL);
        text.size -= size + (end != NULL);
    }
    struct drossel_response response = {
        .status = statuses[seed % 4], .headers = headers, .header_count = count, .now_s = 1796040000.5, .attempt = seed
    };
    struct drossel_wait_rules rules = { .legacy_x_ratelimit = true, .draft_12 = seed % 2 != 0 };
    struct drossel_wait wait = drossel_client_wait(&response, &rules);
    check(wait.source != NULL && wait.min_s >= 0 && wait.min_s <= wait.max_s && wait.max_s <= 630);
    check((wait.action == DROSSEL_WAIT_DEFER) == (wait.not_before_s > 600) && wait.not_before_s <= 2147483647);
    check(wait.action != DROSSEL_WAIT_SLEEP || wait.max_s > 0);
}

struct raw {
    uint64_t wait_ns, more_ns, remaining, count, window_ns, hash, now_s;
    uint32_t jitter_ppm, quota_count;
    uint16_t status;
    uint8_t headers, body, reveal, flags;
};

static void check_answer(const struct http_answer *answer, const struct drossel_decision *decision)
{
    const char *end = answer->buffer + sizeof answer->buffer;
    check(answer->used <= sizeof answer->buffer && answer->field_count <= HTTP_ANSWER_FIELDS);
    check(answer->body.size == 0 ||
          (answer->body.data >= answer->buffer && answer->body.data + answer->body.size <= end));
    check(decision->wait_ns > WAIT_MAX_NS || decision->untrusted || answer->retry_after_s >= 1);
    if (answer->retry_after_s > 0 && decision->wait_ns <= WAIT_MAX_NS)
        check((uint64_t)answer->retry_after_s * SECOND_NS >= decision->wait_ns);
    for (size_t i = 0; i < answer->field_count; i++) {
        const struct http_field *field = &answer->field[i];
        check(field->value.size > 0 && field->value.data >= answer->buffer &&
              field->value.data + field->value.size <= end);
        for (size_t j = 0; j < field->value.size; j++)
            check(field->value.data[j] >= 0x20 && field->value.data[j] <= 0x7e);
        if (field->name.size != 9 || field->value.data[0] != '"')
            continue;
        long count = try_field(field->value, false, HTTP_PROFILE_DRAFT_11);
        check(count >= 0 && count <= DROSSEL_QUOTAS);
    }
}

static void try_answer(const uint8_t *data, size_t size)
{
    struct raw raw;
    static struct http_answer answer;
    char name[64] = "";
    if (size < sizeof raw)
        return;
    memcpy(&raw, data, sizeof raw);
    struct drossel_text rest = { (const char *)data + sizeof raw, size - sizeof raw };
    memcpy(name, rest.data, rest.size < sizeof name - 1 ? rest.size : sizeof name - 1);
    struct http_answer_rules rules = { .status = raw.status,
                                       .body = raw.body % 6,
                                       .reveal = raw.reveal % 3,
                                       .headers = raw.headers,
                                       .date = (raw.flags & 1) != 0,
                                       .jitter_ppm = raw.jitter_ppm,
                                       .json = rest };
    struct http_answer_request request = { .accept = rest, .head = (raw.flags & 2) != 0, .unix_now_s = raw.now_s };
    struct drossel_decision decision = { .wait_ns = raw.wait_ns,
                                         .subject_hash = raw.hash,
                                         .quota_count = raw.quota_count,
                                         .signed_in = (raw.flags & 4) != 0,
                                         .untrusted = (raw.flags & 8) != 0,
                                         .banned = (raw.flags & 16) != 0,
                                         .limit_name = (raw.flags & 32) != 0 ? name : NULL };
    for (size_t i = 0; i < DROSSEL_QUOTAS; i++)
        decision.quota[i] = (struct drossel_quota){ name,
                                                    raw.count >> i,
                                                    raw.window_ns >> i,
                                                    raw.remaining >> i,
                                                    raw.more_ns >> i,
                                                    (raw.hash >> i & 1) != 0,
                                                    (raw.hash >> i & 2) != 0 };
    http_answer_format(&rules, &decision, &request, &answer);
    check_answer(&answer, &decision);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drossel_text text = { (const char *)data, size };
    try_parse(text);
    try_wait(text, size > 0 ? data[0] : 0);
    try_answer(data, size);
    return 0;
}
