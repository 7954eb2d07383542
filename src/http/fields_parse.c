/* RateLimit and RateLimit-Policy as a client reads them: Lists of Strings with parameters. */
#include "http/fields.h"

#include <string.h>
#include <strings.h>

/* The parameters of one item that matter, as they stood last. */
struct parameters {
    struct sf_value amount, window, unit, partition_key, cost;
    bool has_amount, has_window, has_unit, has_partition_key, has_cost;
};

struct keys {
    const char *amount, *window;
};

static bool is_key(struct drossel_text key, const char *other)
{
    return key.size == strlen(other) && memcmp(key.data, other, key.size) == 0;
}

static void keep(struct parameters *found, const struct keys *keys, struct drossel_text key,
                 const struct sf_value *value)
{
    if (is_key(key, keys->amount)) {
        found->amount = *value;
        found->has_amount = true;
    } else if (is_key(key, keys->window)) {
        found->window = *value;
        found->has_window = true;
    } else if (is_key(key, "qu")) {
        found->unit = *value;
        found->has_unit = true;
    } else if (is_key(key, "pk")) {
        found->partition_key = *value;
        found->has_partition_key = true;
    } else if (is_key(key, "c")) {
        found->cost = *value;
        found->has_cost = true;
    }
}

static bool is_natural(const struct sf_value *value, int64_t least)
{
    return value->kind == SF_INTEGER && value->integer >= least;
}

static bool is_valid(const struct sf_value *name, const struct parameters *found, bool policy)
{
    if (name->kind != SF_STRING || !found->has_amount || !is_natural(&found->amount, 0))
        return false;
    if (found->has_window && !is_natural(&found->window, policy ? 1 : 0))
        return false;
    if (policy && found->has_unit && found->unit.kind != SF_STRING)
        return false;
    return !found->has_partition_key || found->partition_key.kind == SF_BYTES;
}

static struct http_parsed_item item_of(const struct sf_value *name, const struct parameters *found, bool policy)
{
    struct http_parsed_item item = { .name = name->text,
                                     .amount = found->amount.integer,
                                     .has_window = found->has_window,
                                     .has_unit = policy && found->has_unit,
                                     .has_partition_key = found->has_partition_key };
    if (item.has_window)
        item.window_s = found->window.integer;
    if (item.has_unit)
        item.unit = found->unit.text;
    if (item.has_partition_key)
        item.partition_key = found->partition_key.text;
    if (found->has_cost && is_natural(&found->cost, 0) && !policy)
        item.cost = found->cost.integer;
    return item;
}

void http_fields_begin(struct http_fields_reader *reader, struct drossel_text value, bool policy,
                       enum http_profile profile)
{
    *reader = (struct http_fields_reader){ .is_policy = policy, .is_draft_12 = profile == HTTP_PROFILE_DRAFT_12 };
    reader->cursor = (struct sf_cursor){ value.data, value.data + value.size };
    if (value.size > 0)
        sf_skip_spaces(&reader->cursor);
}

/* Moves to the next member, as sf_next_member does; an empty field has none. */
static int next_member(struct http_fields_reader *reader)
{
    if (reader->is_begun)
        return sf_next_member(&reader->cursor);
    reader->is_begun = true;
    return reader->cursor.p != reader->cursor.end;
}

static const struct keys *keys_of(const struct http_fields_reader *reader)
{
    static const struct keys policy = { "q", "w" }, draft_11 = { "r", "t" }, draft_12 = { "a", "w" };
    return reader->is_policy ? &policy : reader->is_draft_12 ? &draft_12 : &draft_11;
}

int http_fields_next(struct http_fields_reader *reader, struct http_parsed_item *item)
{
    int more;
    while ((more = next_member(reader)) > 0) {
        struct sf_value name, value;
        struct drossel_text key;
        struct parameters found = { 0 };
        int parameter;
        if (!sf_member(&reader->cursor, &name))
            return -1;
        while ((parameter = sf_parameter(&reader->cursor, &key, &value)) > 0)
            keep(&found, keys_of(reader), key, &value);
        if (parameter < 0)
            return -1;
        if (is_valid(&name, &found, reader->is_policy)) {
            *item = item_of(&name, &found, reader->is_policy);
            return 1;
        }
        reader->ignored++;
    }
    return more;
}

bool http_fields_join(const struct drossel_header *headers, size_t count, const char *name, struct http_writer *writer)
{
    size_t size = strlen(name);
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].name.size != size || strncasecmp(headers[i].name.data, name, size) != 0)
            continue;
        http_put_string(writer, found ? ", " : "");
        http_put_text(writer, headers[i].value);
        found = true;
    }
    return found && !writer->full;
}
