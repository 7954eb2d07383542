/*
 * Every vector of http-fields.json: emission, refusal at load, parsing.
 *
 * What is compared.  A vector's input holds what the server knows of its limits.  Where it tells of no problem, the status
 * and the fields of the answer itself (Location, Date, Retry-After) are the application's, and only the RateLimit fields
 * are ours.  The literal examples of the draft show parts of messages, so that of them each line must be there, but not
 * every line of ours must be in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <cmocka.h>

#include <sodium.h>

#include "parsed.h"
#include "../vector_file.h"

#define ITEMS 16

static struct drossel_text text_of(const json_t *string)
{
    if (!json_is_string(string))
        return (struct drossel_text){ NULL, 0 };
    return (struct drossel_text){ json_string_value(string), json_string_length(string) };
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static uint64_t ns_of(const json_t *object, const char *key)
{
    double ms = number_of(object, key);
    return ms <= 0 ? 0 : (uint64_t)ceil(ms * 1e6);
}

/* Memory of one test: what the input points to. */
struct memory {
    struct http_policy_item policy[ITEMS];
    struct http_limit_item limit[ITEMS];
    struct http_partition partition[ITEMS];
    struct http_dimension dimension[ITEMS][ITEMS];
    struct http_extension extension[2 * ITEMS][ITEMS];
    struct drossel_text violated[ITEMS];
    uint8_t key[2 * ITEMS + 1][128];
    size_t keys, extensions;
};

static struct http_bytes key_of(struct memory *memory, const json_t *item)
{
    const json_t *encoded = json_object_get(item, "pk_b64");
    struct http_bytes key = { NULL, 0 };
    if (encoded == NULL)
        return key;
    uint8_t *out = memory->key[memory->keys++];
    assert_true(json_string_length(encoded) < sizeof memory->key[0]);
    /* the draft's own examples have pad bits that are not zero: a strict decoder refuses them */
    assert_true(sf_decode(text_of(encoded), out, &key.size));
    key.data = out;
    return key;
}

/* Parameters of one's own: `extensions`, an object of keys and values. */
static const struct http_extension *extensions_of(struct memory *memory, const json_t *item, size_t *count)
{
    struct http_extension *out = memory->extension[memory->extensions++];
    const char *key;
    json_t *value;
    *count = 0;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(item, "extensions"), key, value)
    {
        assert_true(*count < ITEMS);
        out[(*count)++] = (struct http_extension){ { key, strlen(key) }, text_of(value), json_number_value(value) };
    }
    return out;
}

/* express-rate-limit's key: 12 hexadecimal digits of an unkeyed hash of the client's address. */
static struct http_bytes express_key(struct memory *memory, const json_t *options)
{
    struct drossel_text subject = text_of(json_object_get(options, "express_key"));
    struct http_bytes key = { NULL, 0 };
    if (subject.size == 0)
        return key;
    uint8_t hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256(hash, (const uint8_t *)subject.data, subject.size);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    memcpy(memory->key[memory->keys], hex, 12);
    return (struct http_bytes){ memory->key[memory->keys++], 12 };
}

static void read_policies(const json_t *source, struct memory *memory, struct http_fields_input *input)
{
    size_t index;
    json_t *item;
    struct http_bytes express = express_key(memory, json_object_get(source, "options"));
    json_array_foreach(json_object_get(source, "policies"), index, item)
    {
        assert_true(index < ITEMS);
        struct http_policy_item *policy = &memory->policy[index];
        *policy = (struct http_policy_item){ .name = text_of(json_object_get(item, "name")),
                                             .quota = number_of(item, "q"),
                                             .window_s = number_of(item, "w"),
                                             .has_window = json_object_get(item, "w") != NULL,
                                             .unit = text_of(json_object_get(item, "qu")),
                                             .partition_key = key_of(memory, item) };
        policy->extensions = extensions_of(memory, item, &policy->extension_count);
        if (express.data != NULL)
            policy->partition_key = express;
        input->policy_count = index + 1;
    }
    input->policies = memory->policy;
}

static void read_limits(const json_t *source, struct memory *memory, struct http_fields_input *input)
{
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(source, "limits"), index, item)
    {
        assert_true(index < ITEMS);
        struct http_limit_item *limit = &memory->limit[index];
        *limit = (struct http_limit_item){ .policy = text_of(json_object_get(item, "policy")),
                                           .remaining = number_of(item, "remaining"),
                                           .window_ns = ns_of(item, "window_ms"),
                                           .has_window = json_object_get(item, "window_ms") != NULL,
                                           .cost = number_of(item, "cost"),
                                           .partition_key = key_of(memory, item) };
        limit->extensions = extensions_of(memory, item, &limit->extension_count);
        input->limit_count = index + 1;
    }
    input->limits = memory->limit;
}

/* `{"api": ["user_id", {"method": "GET"}]}` */
static void read_partitions(const json_t *source, struct memory *memory, struct http_fields_input *input)
{
    const char *name, *key;
    json_t *dimensions, *dimension, *token;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(source, "partition"), name, dimensions)
    {
        struct http_partition *partition = &memory->partition[input->partition_count];
        struct http_dimension *out = memory->dimension[input->partition_count++];
        *partition = (struct http_partition){ .name = { name, strlen(name) }, .dimensions = out };
        size_t index;
        json_array_foreach(dimensions, index, dimension)
        {
            out[partition->dimension_count] = (struct http_dimension){ .key = text_of(dimension) };
            json_object_foreach(dimension, key, token) out[partition->dimension_count] =
                (struct http_dimension){ { key, strlen(key) }, text_of(token) };
            partition->dimension_count++;
        }
    }
    input->partitions = memory->partition;
}

static void read_options(const json_t *source, struct http_fields_input *input)
{
    static const char *const exposures[] = { "all", "near-exhaustion", "on-deny", "none" };
    const json_t *options = json_object_get(source, "options");
    const char *expose = vector_text(options, "expose");
    struct drossel_text profile = text_of(json_object_get(options, "fields"));
    input->profile = HTTP_PROFILE_DRAFT_11;
    if (profile.size > 0 && !http_profile_parse(profile, &input->profile))
        fail_msg("unknown profile %s", profile.data);
    for (int i = 0; i < 4; i++) {
        if (strcmp(expose, exposures[i]) == 0)
            input->expose = (enum http_expose)i;
    }
    input->closest = strcmp(vector_text(options, "report"), "closest") == 0;
    input->threshold = number_of(options, "threshold");
    input->max_rate = number_of(options, "max_rate");
    input->on_redirect = json_is_true(json_object_get(options, "on_redirect"));
}

static void read_input(const json_t *source, struct memory *memory, struct http_fields_input *input)
{
    size_t index;
    json_t *name;
    memset(memory, 0, sizeof *memory);
    memset(input, 0, sizeof *input);
    read_options(source, input);
    read_policies(source, memory, input);
    read_limits(source, memory, input);
    read_partitions(source, memory, input);
    json_array_foreach(json_object_get(source, "violated"), index, name) memory->violated[input->violated_count++] =
        text_of(name);
    input->violated = json_object_get(source, "violated") == NULL ? NULL : memory->violated;
    input->denied = json_object_get(source, "problem") != NULL;
    input->has_retry_after = json_object_get(source, "retry_after_ms") != NULL;
    input->retry_after_ns = ns_of(source, "retry_after_ms");
    input->jitter_ns = ns_of(source, "jitter_ms");
    input->now_s = (uint64_t)number_of(source, "now_epoch");
    double status = number_of(json_object_get(source, "request"), "status_from_app");
    input->status = status > 0 ? (uint16_t)status : 200;
}

static struct http_problem read_problem(const json_t *vector, struct http_fields_input *input)
{
    const json_t *source = json_object_get(vector, "input");
    struct http_problem problem = { .violated = input->violated, .violated_count = input->violated_count };
    if (!input->denied)
        return problem;
    assert_true(http_problem_parse(text_of(json_object_get(source, "problem")), &problem.kind));
    input->abnormal = problem.kind == HTTP_PROBLEM_ABNORMAL_USAGE;
    input->status = http_problem_status(problem.kind);
    problem.title = text_of(json_object_get(source, "title"));
    problem.detail = text_of(json_object_get(source, "detail"));
    problem.status = json_is_true(json_object_get(vector, "draft_example")) ? 0 : input->status;
    return problem;
}

/* Is this line ours to write? */
static bool is_ours(const char *line, const struct http_fields_input *input)
{
    static const char *const always[] = { "RateLimit", "X-RateLimit" };
    static const char *const denied[] = { "Content-Type:", "Cache-Control:" };
    for (int i = 0; i < 2; i++) {
        if (strncasecmp(line, always[i], strlen(always[i])) == 0)
            return true;
        if (input->denied && strncasecmp(line, denied[i], strlen(denied[i])) == 0)
            return true;
    }
    return input->has_retry_after && strncasecmp(line, "Retry-After:", 12) == 0;
}

static bool is_written(const struct http_field_list *list, const char *line)
{
    for (size_t i = 0; i < list->count; i++) {
        char own[2048];
        const struct http_field *field = &list->field[i];
        snprintf(own, sizeof own, "%.*s: %.*s", (int)field->name.size, field->name.data, (int)field->value.size,
                 field->value.data);
        if (strcmp(own, line) == 0)
            return true;
    }
    return false;
}

static void assert_lines(const json_t *vector, const struct http_fields_input *input,
                         const struct http_field_list *list)
{
    size_t index, expected = 0;
    json_t *line;
    json_array_foreach(json_object_get(json_object_get(vector, "expect"), "headers"), index, line)
    {
        if (!is_ours(json_string_value(line), input))
            continue;
        expected++;
        if (!is_written(list, json_string_value(line)))
            fail_msg("not written: %s", json_string_value(line));
    }
    if (!json_is_true(json_object_get(vector, "draft_example")))
        assert_int_equal(list->count, expected);
}

static void fields_are_written(const json_t *vector)
{
    static struct memory memory;
    char buffer[4096], body_buffer[1024];
    struct http_field field[16];
    struct http_fields_input input;
    struct http_field_list list = { .field = field, .cap = 16 };
    struct http_writer writer = { .data = buffer, .cap = sizeof buffer };
    struct http_writer body = { .data = body_buffer, .cap = sizeof body_buffer };
    const json_t *source = json_object_get(vector, "input"), *expect = json_object_get(vector, "expect");
    const json_t *text = json_object_get(expect, "body_text");
    read_input(source, &memory, &input);
    struct http_problem problem = read_problem(vector, &input);
    if (input.denied)
        list.field[list.count++] =
            (struct http_field){ DROSSEL_TEXT("Content-Type"), DROSSEL_TEXT(HTTP_PROBLEM_MEDIA_TYPE) };
    const char *wrong = http_fields_format(&input, &list, &writer);
    if (wrong != NULL)
        fail_msg("refused: %s", wrong);
    assert_lines(vector, &input, &list);
    if (input.denied)
        assert_int_equal(input.status, number_of(expect, "status"));
    if (text == NULL)
        return;
    http_problem_format(&problem, &body);
    assert_int_equal(body.size, json_string_length(text));
    assert_memory_equal(body.data, json_string_value(text), body.size);
}

static void input_is_refused(const json_t *vector)
{
    static struct memory memory;
    char buffer[4096];
    struct http_field field[16];
    struct http_fields_input input;
    struct http_field_list list = { .field = field, .cap = 16 };
    struct http_writer writer = { .data = buffer, .cap = sizeof buffer };
    read_input(json_object_get(vector, "input"), &memory, &input);
    assert_non_null(http_fields_format(&input, &list, &writer));
    assert_int_equal(list.count, 0);
    assert_int_equal(writer.size, 0);
    assert_non_null(http_fields_check(&input));
}

static void assert_number(const json_t *expected, const char *key, bool present, int64_t value)
{
    const json_t *number = json_object_get(expected, key);
    assert_int_equal(number != NULL, present);
    if (present)
        assert_int_equal(json_integer_value(number), value);
}

static void assert_text(const json_t *expected, const char *key, bool present, struct drossel_text value)
{
    struct drossel_text text = text_of(json_object_get(expected, key));
    assert_int_equal(text.data != NULL, present);
    if (!present)
        return;
    assert_int_equal(value.size, text.size);
    assert_memory_equal(value.data, text.data, text.size);
}

static void assert_item(const json_t *expected, const struct parsed *parsed, size_t index, bool policy)
{
    char hex[256];
    const struct http_parsed_item *item = &parsed->item[index];
    const struct http_bytes *partition_key = &parsed->partition_key[index];
    sodium_bin2hex(hex, sizeof hex, partition_key->data, partition_key->size);
    assert_text(expected, "name", true, item->name);
    assert_number(expected, policy ? "q" : "remaining", true, item->amount);
    assert_number(expected, policy ? "w" : "window_s", item->has_window, item->window_s);
    assert_text(expected, "qu", item->has_unit, item->unit);
    assert_text(expected, "pk_hex", item->has_partition_key, (struct drossel_text){ hex, strlen(hex) });
}

static void fields_are_read(const json_t *vector)
{
    static struct parsed parsed;
    static struct drossel_header headers[ITEMS];
    char buffer[4096];
    struct http_writer writer = { .data = buffer, .cap = sizeof buffer };
    struct drossel_text field = text_of(json_object_get(vector, "field"));
    const json_t *expect = json_object_get(vector, "expect"), *items = json_object_get(expect, "items");
    bool policy = strcmp(field.data, "RateLimit-Policy") == 0;
    enum http_profile profile;
    size_t index, count = 0;
    json_t *line, *item;
    assert_true(http_profile_parse(text_of(json_object_get(vector, "profile")), &profile));
    json_array_foreach(json_object_get(vector, "lines"), index, line) headers[count++] =
        (struct drossel_header){ field, text_of(line) };
    assert_true(http_fields_join(headers, count, field.data, &writer));
    bool right = parsed_read(http_written(&writer, 0), policy, profile, &parsed);
    assert_int_equal(right, items != NULL);
    if (!right)
        return;
    assert_int_equal(parsed.count, json_array_size(items));
    assert_int_equal(parsed.ignored, number_of(expect, "ignored_items"));
    json_array_foreach(items, index, item) assert_item(item, &parsed, index, policy);
}

static void the_contract_is_kept(void **state)
{
    const json_t *vector = *state;
    const char *kind = vector_text(vector, "kind");
    if (strcmp(kind, "emit") == 0)
        fields_are_written(vector);
    else if (strcmp(kind, "emit-error") == 0)
        input_is_refused(vector);
    else if (strcmp(kind, "parse") == 0)
        fields_are_read(vector);
    else
        fail_msg("unknown kind %s", kind);
}

static bool every_one(const json_t *vector)
{
    return vector != NULL;
}

int main(void)
{
    static struct vector_file file;
    vector_file_open(&file, "http-fields.json", every_one, the_contract_is_kept);
    return vector_file_run(&file, "http-fields.json");
}
