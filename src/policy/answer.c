/* `answer:`, of the file and of a limit: what a refused client is told. */
#include "policy/json.h"
#include "policy/reading.h"

#include <string.h>

#define JSON_BYTES_MAX 4096 /* of the answer's 8 KiB; the fields need the rest */

static void read_status(struct reading *reading, const struct node *key, void *into)
{
    uint64_t status;
    if (read_number(reading, key->value, 400, 599, &status))
        ((struct http_answer_rules *)into)->status = (uint16_t)status;
}

static void read_body(struct reading *reading, const struct node *key, void *into)
{
    static const char *const names[] = { "auto", "problem", "json", "html", "text", "none", NULL };
    int choice = read_choice(reading, key->value, names);
    if (choice >= 0)
        ((struct http_answer_rules *)into)->body = (uint8_t)choice;
}

/* The first `${...}` that nothing is filled in for, or NULL. */
static const char *unknown_placeholder(struct drossel_text text, size_t *size)
{
    static const char *const known[] = { "${retry_after}", "${limit}" };
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] != '$' || text.data[i + 1] != '{')
            continue;
        struct drossel_text rest = { text.data + i, text.size - i };
        bool found = false;
        for (size_t k = 0; k < 2; k++)
            found = found || text_begins(rest, (struct drossel_text){ known[k], strlen(known[k]) });
        const char *end = memchr(rest.data, '}', rest.size);
        *size = end == NULL ? rest.size : (size_t)(end - rest.data) + 1;
        if (!found)
            return rest.data;
    }
    return NULL;
}

static bool has_unprintable(struct drossel_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if ((byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') || byte == 0x7F)
            return true;
    }
    return false;
}

static void read_json(struct reading *reading, const struct node *key, void *into)
{
    const struct node *value = key->value;
    size_t size;
    if (value->kind != NODE_SCALAR || value->text.size == 0) {
        mistake(reading, value,
                "%s; write the JSON of the body as a quoted text, as '{\"error\":\"rate_limit_exceeded\"}'",
                value->kind == NODE_SCALAR ? "an empty text" : node_kind_name(value));
        return;
    }
    if (value->text.size > JSON_BYTES_MAX) {
        mistake(reading, value, "a body of %zu bytes; write at most %d", value->text.size, JSON_BYTES_MAX);
        return;
    }
    if (has_unprintable(value->text)) {
        mistake(reading, value, "control characters in the body; write them as JSON does, as \\u0000");
        return;
    }
    const char *unknown = unknown_placeholder(value->text, &size);
    if (unknown != NULL) {
        mistake(reading, value, "unknown placeholder \"%s\"; write ${retry_after} or ${limit}",
                quotable(reading->arena, (struct drossel_text){ unknown, size }));
        return;
    }
    if (!json_is_valid(value->text))
        warning(
            reading, value,
            "the body is no JSON, and no client can read it; write it as '{\"error\":\"rate_limit_exceeded\"}', with "
            "${limit} in quotes");
    ((struct http_answer_rules *)into)->json = value->text;
}

struct header_choice {
    struct http_answer_rules *rules;
    unsigned drafts; /* those that write the field RateLimit */
};

static void read_header(struct reading *reading, const struct node *node, void *into)
{
    static const char *const names[] = {
        "retry-after", "ratelimit", "ratelimit-draft12", "ratelimit-draft7", "ratelimit-draft6", "x-ratelimit",
        "none",        NULL
    };
    static const uint8_t bits[] = {
        HTTP_RETRY_AFTER, HTTP_DRAFT_11, HTTP_DRAFT_12, HTTP_DRAFT_7, HTTP_DRAFT_6, HTTP_X_RATELIMIT, 0
    };
    struct header_choice *choice = into;
    int index = read_choice(reading, node, names);
    if (index < 0)
        return;
    if (bits[index] & (HTTP_DRAFT_11 | HTTP_DRAFT_12 | HTTP_DRAFT_7 | HTTP_DRAFT_6) && choice->drafts++ == 1)
        warning(
            reading, node,
            "%s besides another draft: both write RateLimit fields, which no client can read then; choose one draft",
            names[index]);
    choice->rules->headers = (uint8_t)(choice->rules->headers | bits[index]);
}

static void read_headers(struct reading *reading, const struct node *key, void *into)
{
    struct header_choice choice = { .rules = into };
    choice.rules->headers = 0;
    if (key->value->kind != NODE_LIST || key->value->first != NULL)
        read_items(reading, key->value, read_header, &choice);
}

static void read_reveal(struct reading *reading, const struct node *key, void *into)
{
    static const char *const names[] = { "signed-in", "everyone", "nobody", NULL };
    int choice = read_choice(reading, key->value, names);
    if (choice >= 0)
        ((struct http_answer_rules *)into)->reveal = (uint8_t)choice;
}

static void read_jitter(struct reading *reading, const struct node *key, void *into)
{
    read_percent_ppm(reading, key->value, &((struct http_answer_rules *)into)->jitter_ppm);
}

static void read_date(struct reading *reading, const struct node *key, void *into)
{
    read_flag(reading, key->value, &((struct http_answer_rules *)into)->date);
}

void read_answer(struct reading *reading, const struct node *key, void *into)
{
    static const struct key_row rows[] = { { "status", read_status }, { "body", read_body },
                                           { "json", read_json },     { "headers", read_headers },
                                           { "reveal", read_reveal }, { "jitter", read_jitter },
                                           { "date", read_date },     { NULL, NULL } };
    read_keys(reading, key->value, rows, into);
}
