/* RateLimit and RateLimit-Policy as a client reads them: Lists of Strings with parameters. */
#include "http/fields.h"
#include "http/structured.h"

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

/* Room in the scratch memory, or NULL. */
static char *scratch(struct http_parsed *parsed, size_t size)
{
    if (size > HTTP_PARSED_BYTES - parsed->used)
        return NULL;
    char *out = parsed->scratch + parsed->used;
    parsed->used += size;
    return out;
}

static bool keep_text(struct http_parsed *parsed, const struct sf_value *value, struct drossel_text *out)
{
    char *data = scratch(parsed, value->text.size);
    if (data == NULL)
        return false;
    *out = (struct drossel_text){ data, sf_unescape(value->text, data) };
    return true;
}

static bool keep_bytes(struct http_parsed *parsed, const struct sf_value *value, struct http_bytes *out)
{
    uint8_t *data = (uint8_t *)scratch(parsed, value->text.size);
    if (data == NULL || !sf_decode(value->text, data, &out->size))
        return false;
    out->data = data;
    return true;
}

static bool keep_item(struct http_parsed *parsed, const struct sf_value *name, const struct parameters *found,
                      bool policy)
{
    struct http_parsed_item item = { .amount = found->amount.integer, .has_window = found->has_window };
    if (parsed->count == HTTP_PARSED_ITEMS || !is_valid(name, found, policy) || !keep_text(parsed, name, &item.name))
        return false;
    item.window_s = found->has_window ? found->window.integer : 0;
    item.cost = found->has_cost && is_natural(&found->cost, 0) && !policy ? found->cost.integer : 0;
    item.has_unit = policy && found->has_unit;
    if (item.has_unit && !keep_text(parsed, &found->unit, &item.unit))
        return false;
    if (found->has_partition_key && !keep_bytes(parsed, &found->partition_key, &item.partition_key))
        return false;
    parsed->item[parsed->count++] = item;
    return true;
}

static bool parse_list(struct sf_cursor *cursor, bool policy, const struct keys *keys, struct http_parsed *parsed)
{
    int more = 1;
    while (more > 0) {
        struct sf_value name, value;
        struct drossel_text key;
        struct parameters found = { 0 };
        if (!sf_member(cursor, &name))
            return false;
        int parameter;
        while ((parameter = sf_parameter(cursor, &key, &value)) > 0)
            keep(&found, keys, key, &value);
        if (parameter < 0)
            return false;
        if (!keep_item(parsed, &name, &found, policy))
            parsed->ignored++;
        more = sf_next_member(cursor);
    }
    return more == 0;
}

bool http_fields_parse(struct drossel_text value, bool policy, enum http_profile profile, struct http_parsed *parsed)
{
    static const struct keys policy_keys = { "q", "w" }, draft_11 = { "r", "t" }, draft_12 = { "a", "w" };
    const struct keys *keys = policy ? &policy_keys : profile == HTTP_PROFILE_DRAFT_12 ? &draft_12 : &draft_11;
    parsed->count = parsed->ignored = parsed->used = 0;
    if (value.size == 0)
        return true;
    struct sf_cursor cursor = { value.data, value.data + value.size };
    sf_skip_spaces(&cursor);
    if (cursor.p == cursor.end)
        return true;
    return parse_list(&cursor, policy, keys, parsed);
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
