/*
 * The fields a server sends.
 *
 * Rounding is always to the server's safety: what is available is rounded down, times are rounded up.
 */
#include "http/fields.h"

#include "http/date.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#define SECOND_NS UINT64_C(1000000000)

/* How one profile spells RateLimit and RateLimit-Policy.  The two names that the drafts disagree about stand only here. */
struct spelling {
    const char *name, *available, *window, *separator;
};
static const struct spelling spellings[HTTP_PROFILE_COUNT] = {
    [HTTP_PROFILE_NONE] = { "none", NULL, NULL, NULL },
    [HTTP_PROFILE_DRAFT_11] = { "draft-11", "r", "t", ";" },
    [HTTP_PROFILE_DRAFT_12] = { "draft-12", "a", "w", ";" },
    [HTTP_PROFILE_DRAFT_7] = { "draft-7", NULL, NULL, NULL },
    [HTTP_PROFILE_DRAFT_6] = { "draft-6", NULL, NULL, NULL },
    [HTTP_PROFILE_X_RATELIMIT] = { "x-ratelimit", NULL, NULL, NULL },
    [HTTP_PROFILE_EXPRESS_8] = { "draft-8-express", "r", "t", "; " },
    [HTTP_PROFILE_GITLAB] = { "gitlab", NULL, NULL, NULL },
};

bool http_profile_parse(struct drossel_text name, enum http_profile *profile)
{
    for (int i = 0; i < HTTP_PROFILE_COUNT; i++) {
        if (strlen(spellings[i].name) == name.size && memcmp(spellings[i].name, name.data, name.size) == 0) {
            *profile = (enum http_profile)i;
            return true;
        }
    }
    return false;
}

static size_t at_most(size_t count)
{
    return count > HTTP_REPORTED_MAX ? HTTP_REPORTED_MAX : count;
}

/* ---- numbers ---- */

static uint64_t seconds_up(uint64_t ns)
{
    return ns / SECOND_NS + (ns % SECOND_NS != 0);
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t retry_after_s(const struct http_fields_input *input)
{
    uint64_t seconds = seconds_up(add(input->retry_after_ns, input->jitter_ns));
    return seconds == 0 ? 1 : seconds;
}

static bool is_same(struct drossel_text a, struct drossel_text b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static bool is_violated(const struct http_fields_input *input, struct drossel_text name)
{
    for (size_t i = 0; input->violated != NULL && i < input->violated_count; i++) {
        if (is_same(input->violated[i], name))
            return true;
    }
    return false;
}

/* A refused client that waits Retry-After finds the window of what refused it over: never later than that. */
static uint64_t window_s(const struct http_fields_input *input, const struct http_limit_item *item)
{
    if (!input->denied || !is_violated(input, item->policy))
        return seconds_up(item->window_ns);
    uint64_t seconds = seconds_up(add(item->window_ns, input->jitter_ns));
    if (seconds == 0)
        seconds = 1;
    return input->has_retry_after && seconds > retry_after_s(input) ? retry_after_s(input) : seconds;
}

static uint64_t available(const struct http_fields_input *input, const struct http_limit_item *item)
{
    double left = item->remaining > 0 ? item->remaining : 0;
    if (input->max_rate > 0 && item->has_window) {
        double most = input->max_rate * (double)window_s(input, item);
        left = most < left ? most : left;
    }
    return (uint64_t)left;
}

size_t http_fields_closest(const struct http_fields_input *input)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < input->limit_count; i++) {
        const struct http_limit_item *item = &input->limits[i];
        const struct http_limit_item *least = best == SIZE_MAX ? NULL : &input->limits[best];
        if (least == NULL || item->remaining < least->remaining ||
            (item->remaining == least->remaining && item->window_ns > least->window_ns))
            best = i;
    }
    return best;
}

static const struct http_policy_item *policy_of(const struct http_fields_input *input, struct drossel_text name)
{
    for (size_t i = 0; i < input->policy_count; i++) {
        if (is_same(input->policies[i].name, name))
            return &input->policies[i];
    }
    return NULL;
}

static bool is_near_exhaustion(const struct http_fields_input *input)
{
    for (size_t i = 0; i < input->limit_count; i++) {
        const struct http_policy_item *policy = policy_of(input, input->limits[i].policy);
        /* divided, not multiplied: 0.29 * 100 is less than 29 */
        if (policy == NULL || policy->quota == 0 || input->limits[i].remaining / policy->quota <= input->threshold)
            return true;
    }
    return false;
}

static bool is_exposed(const struct http_fields_input *input)
{
    if (input->abnormal || input->profile == HTTP_PROFILE_NONE)
        return false;
    if (input->status >= 300 && input->status < 400 && !input->on_redirect)
        return false;
    switch (input->expose) {
    case HTTP_EXPOSE_ALL:
        return true;
    case HTTP_EXPOSE_NEAR_EXHAUSTION:
        return input->denied || is_near_exhaustion(input);
    case HTTP_EXPOSE_ON_DENY:
        return input->denied;
    default:
        return false;
    }
}

/* ---- structured fields out ---- */

static void put_sf_string(struct http_writer *writer, struct drossel_text text)
{
    size_t begun = 0; /* of the run without escapes */
    http_put(writer, "\"", 1);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != '"' && text.data[i] != '\\')
            continue;
        http_put(writer, text.data + begun, i - begun);
        http_put(writer, "\\", 1);
        begun = i;
    }
    http_put(writer, text.data + begun, text.size - begun);
    http_put(writer, "\"", 1);
}

static void put_key(struct http_writer *writer, const char *separator, const char *key)
{
    http_put_string(writer, separator);
    http_put_string(writer, key);
    http_put(writer, "=", 1);
}

static void put_parameter(struct http_writer *writer, const char *separator, const char *key, uint64_t number)
{
    put_key(writer, separator, key);
    http_put_number(writer, number);
}

static void put_partition_key(struct http_writer *writer, const char *separator, struct http_bytes key)
{
    char text[sodium_base64_ENCODED_LEN(HTTP_PARTITION_KEY_MAX, sodium_base64_VARIANT_ORIGINAL)];
    if (key.data == NULL || key.size > HTTP_PARTITION_KEY_MAX)
        return;
    sodium_bin2base64(text, sizeof text, key.data, key.size, sodium_base64_VARIANT_ORIGINAL);
    put_key(writer, separator, "pk");
    http_put(writer, ":", 1);
    http_put_string(writer, text);
    http_put(writer, ":", 1);
}

static void put_extensions(struct http_writer *writer, const char *separator, const struct http_extension *extension,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        http_put_string(writer, separator);
        http_put_text(writer, extension[i].key);
        http_put(writer, "=", 1);
        if (extension[i].text.data != NULL) {
            put_sf_string(writer, extension[i].text);
            continue;
        }
        double number = extension[i].number;
        if (number < 0)
            http_put(writer, "-", 1);
        http_put_number(writer, (uint64_t)(number < 0 ? -number : number));
    }
}

static void put_policy(struct http_writer *writer, const struct spelling *spelling, const struct http_policy_item *item)
{
    put_sf_string(writer, item->name);
    put_parameter(writer, spelling->separator, "q", (uint64_t)item->quota);
    if (item->unit.size > 0 && !is_same(item->unit, (struct drossel_text)DROSSEL_TEXT("requests"))) {
        put_key(writer, spelling->separator, "qu");
        put_sf_string(writer, item->unit);
    }
    if (item->has_window)
        put_parameter(writer, spelling->separator, "w", (uint64_t)item->window_s);
    put_partition_key(writer, spelling->separator, item->partition_key);
    put_extensions(writer, spelling->separator, item->extensions, item->extension_count);
}

static void put_limit(struct http_writer *writer, const struct http_fields_input *input, size_t index)
{
    const struct spelling *spelling = &spellings[input->profile];
    const struct http_limit_item *item = &input->limits[index];
    put_sf_string(writer, item->policy);
    put_parameter(writer, spelling->separator, spelling->available, available(input, item));
    if (item->has_window)
        put_parameter(writer, spelling->separator, spelling->window, window_s(input, item));
    if (item->cost > 0 && input->profile == HTTP_PROFILE_DRAFT_12)
        put_parameter(writer, spelling->separator, "c", (uint64_t)item->cost);
    put_partition_key(writer, spelling->separator, item->partition_key);
    put_extensions(writer, spelling->separator, item->extensions, item->extension_count);
}

/* ---- fields ---- */

struct output {
    struct http_field_list *list;
    struct http_writer *writer;
};

static bool is_listed(const struct http_field_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->field[i].name.size == strlen(name) && strncasecmp(list->field[i].name.data, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

/* Makes what was written since `mark` the value of a field, or takes it back. */
static void finish(struct output *out, const char *name, size_t mark)
{
    struct drossel_text value = http_written(out->writer, mark);
    if (out->writer->full || value.size == 0 || out->list->count == out->list->cap || is_listed(out->list, name)) {
        http_rewind(out->writer, mark);
        return;
    }
    out->list->field[out->list->count++] = (struct http_field){ { name, strlen(name) }, value };
}

static void number_field(struct output *out, const char *name, uint64_t number)
{
    size_t mark = out->writer->size;
    http_put_number(out->writer, number);
    finish(out, name, mark);
}

static void denial_fields(const struct http_fields_input *input, struct output *out)
{
    size_t mark = out->writer->size;
    http_put_string(out->writer, "no-store");
    finish(out, "Cache-Control", mark);
    if (!input->has_retry_after)
        return;
    if (!input->retry_after_date) {
        number_field(out, "Retry-After", retry_after_s(input));
        return;
    }
    char date[HTTP_DATE_TEXT];
    uint64_t when = add(input->now_s, retry_after_s(input));
    http_date_format(when > (uint64_t)HTTP_DATE_MAX ? HTTP_DATE_MAX : (int64_t)when, date);
    mark = out->writer->size;
    http_put_string(out->writer, date);
    finish(out, "Retry-After", mark);
}

/* RateLimit-Policy and RateLimit as Lists of Strings: draft-8 and later. */
static void list_fields(const struct http_fields_input *input, struct output *out)
{
    size_t mark = out->writer->size, closest = input->closest ? http_fields_closest(input) : SIZE_MAX;
    for (size_t i = 0; i < at_most(input->policy_count); i++) {
        http_put_string(out->writer, i == 0 ? "" : ", ");
        put_policy(out->writer, &spellings[input->profile], &input->policies[i]);
    }
    finish(out, "RateLimit-Policy", mark);
    mark = out->writer->size;
    for (size_t i = 0; i < (input->closest ? input->limit_count : at_most(input->limit_count)); i++) {
        if (input->closest && i != closest)
            continue;
        http_put_string(out->writer, out->writer->size == mark ? "" : ", ");
        put_limit(out->writer, input, i);
    }
    finish(out, "RateLimit", mark);
}

static void partition_field(const struct http_fields_input *input, struct output *out)
{
    size_t mark = out->writer->size;
    for (size_t i = 0; i < at_most(input->partition_count); i++) {
        const struct http_partition *partition = &input->partitions[i];
        http_put_string(out->writer, i == 0 ? "" : ", ");
        put_sf_string(out->writer, partition->name);
        for (size_t j = 0; j < partition->dimension_count; j++) {
            http_put(out->writer, ";", 1);
            http_put_text(out->writer, partition->dimensions[j].key);
            if (partition->dimensions[j].token.size == 0)
                continue;
            http_put(out->writer, "=", 1);
            http_put_text(out->writer, partition->dimensions[j].token);
        }
    }
    finish(out, "RateLimit-Partition", mark);
}

/* The policy field before draft-8: Integers without a name. */
static void unnamed_policy_field(const struct http_fields_input *input, struct output *out)
{
    size_t mark = out->writer->size;
    for (size_t i = 0; i < at_most(input->policy_count); i++) {
        const struct http_policy_item *item = &input->policies[i];
        if (!item->has_window)
            continue; /* w was required */
        http_put_string(out->writer, out->writer->size == mark ? "" : ", ");
        http_put_number(out->writer, (uint64_t)item->quota);
        put_parameter(out->writer, ";", "w", (uint64_t)item->window_s);
    }
    finish(out, "RateLimit-Policy", mark);
}

/* What the older profiles tell: one limit, the closest. */
struct single {
    struct drossel_text name;
    uint64_t quota, available, window_s;
    bool has_quota, has_window;
};

static bool single_limit(const struct http_fields_input *input, struct single *single)
{
    size_t closest = http_fields_closest(input);
    if (closest == SIZE_MAX)
        return false;
    const struct http_limit_item *item = &input->limits[closest];
    const struct http_policy_item *policy = policy_of(input, item->policy);
    *single = (struct single){ .name = item->policy,
                               .has_quota = policy != NULL,
                               .quota = policy == NULL ? 0 : (uint64_t)policy->quota,
                               .available = available(input, item),
                               .has_window = item->has_window,
                               .window_s = window_s(input, item) };
    return true;
}

static void dictionary_field(const struct single *single, struct output *out)
{
    size_t mark = out->writer->size;
    if (!single->has_quota)
        return; /* limit was required */
    http_put_string(out->writer, "limit=");
    http_put_number(out->writer, single->quota);
    http_put_string(out->writer, ", remaining=");
    http_put_number(out->writer, single->available);
    if (single->has_window) {
        http_put_string(out->writer, ", reset=");
        http_put_number(out->writer, single->window_s);
    }
    finish(out, "RateLimit", mark);
}

/* Three fields with these names; `from_s` is what the reset counts from. */
static void triple_fields(const struct single *single, const char *const names[3], uint64_t from_s, struct output *out)
{
    if (single->has_quota)
        number_field(out, names[0], single->quota);
    number_field(out, names[1], single->available);
    if (single->has_window)
        number_field(out, names[2], add(from_s, single->window_s));
}

static void gitlab_fields(const struct single *single, uint64_t now_s, struct output *out)
{
    static const char *const names[] = { "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset" };
    size_t mark = out->writer->size;
    http_put_text(out->writer, single->name);
    finish(out, "RateLimit-Name", mark);
    if (single->has_quota)
        number_field(out, "RateLimit-Observed",
                     single->quota > single->available ? single->quota - single->available : 0);
    triple_fields(single, names, now_s, out);
    if (!single->has_window)
        return;
    char date[HTTP_DATE_TEXT];
    uint64_t when = add(now_s, single->window_s);
    http_date_format(when > (uint64_t)HTTP_DATE_MAX ? HTTP_DATE_MAX : (int64_t)when, date);
    mark = out->writer->size;
    http_put_string(out->writer, date);
    finish(out, "RateLimit-ResetTime", mark);
}

static void single_fields(const struct http_fields_input *input, struct output *out)
{
    static const char *const plain[] = { "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset" };
    static const char *const x[] = { "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset" };
    struct single single;
    if (input->profile == HTTP_PROFILE_DRAFT_6 || input->profile == HTTP_PROFILE_DRAFT_7)
        unnamed_policy_field(input, out);
    if (!single_limit(input, &single))
        return;
    if (input->profile == HTTP_PROFILE_DRAFT_7)
        dictionary_field(&single, out);
    else if (input->profile == HTTP_PROFILE_DRAFT_6)
        triple_fields(&single, plain, 0, out);
    else if (input->profile == HTTP_PROFILE_X_RATELIMIT)
        triple_fields(&single, x, input->now_s, out);
    else
        gitlab_fields(&single, input->now_s, out);
}

const char *http_fields_format(const struct http_fields_input *input, struct http_field_list *list,
                               struct http_writer *writer)
{
    struct output out = { list, writer };
    const char *wrong = http_fields_check(input);
    if (wrong != NULL)
        return wrong;
    if (input->denied)
        denial_fields(input, &out);
    if (!is_exposed(input))
        return NULL;
    if (spellings[input->profile].available == NULL) {
        single_fields(input, &out);
        return NULL;
    }
    list_fields(input, &out);
    if (input->profile == HTTP_PROFILE_DRAFT_12)
        partition_field(input, &out);
    return NULL;
}
