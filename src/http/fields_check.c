/* What RateLimit fields can hold: strings of printable ASCII, integers of 15 digits, keys and tokens (RFC 9651). */
#include "http/fields.h"

#include <string.h>

static const char *check_name(struct drossel_text name)
{
    if (name.size == 0 || name.size > HTTP_NAME_MAX)
        return "a policy's name is empty or too long; 1 to 64 bytes fit";
    for (size_t i = 0; i < name.size; i++) {
        if ((unsigned char)name.data[i] < 0x20 || (unsigned char)name.data[i] > 0x7e)
            return "a policy's name has a byte that no String can hold; write printable ASCII";
    }
    return NULL;
}

static bool is_integer(double number)
{
    return number >= -HTTP_INTEGER_MAX && number <= HTTP_INTEGER_MAX && number == (double)(int64_t)number;
}

static bool is_key(struct drossel_text key)
{
    for (size_t i = 0; i < key.size; i++) {
        char c = key.data[i];
        bool first = (c >= 'a' && c <= 'z') || c == '*';
        if (!first && (i == 0 || c == '\0' || strchr("0123456789_-.", c) == NULL))
            return false;
    }
    return key.size > 0;
}

static bool is_token(struct drossel_text token)
{
    for (size_t i = 0; i < token.size; i++) {
        char c = token.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*';
        if (!letter && (i == 0 || c == '\0' || strchr("0123456789!#$%&'+-.^_`|~:/", c) == NULL))
            return false;
    }
    return true;
}

static const char *check_extensions(const struct http_extension *extension, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_key(extension[i].key))
            return "a parameter's name is no key; write lower-case letters, digits, _ - . and *";
        if (extension[i].text.data == NULL && !is_integer(extension[i].number))
            return "a parameter's number is no Integer of up to 15 digits";
        if (extension[i].text.size > 0 && check_name(extension[i].text) != NULL)
            return "a parameter's text is no String of up to 64 printable ASCII bytes";
    }
    return NULL;
}

const char *http_policy_item_check(const struct http_policy_item *item)
{
    const char *wrong = check_name(item->name);
    if (wrong != NULL)
        return wrong;
    if (!is_integer(item->quota) || item->quota < 0)
        return "a quota is no Integer of 0 to 999999999999999";
    if (item->has_window && (!is_integer(item->window_s) || item->window_s < 1))
        return "a window is no whole number of seconds of 1 to 999999999999999";
    if (item->unit.size > 0 && check_name(item->unit) != NULL)
        return "a quota's unit is no String of up to 64 printable ASCII bytes";
    if (item->partition_key.size > HTTP_PARTITION_KEY_MAX)
        return "a partition key is longer than 96 bytes";
    return check_extensions(item->extensions, item->extension_count);
}

static const char *check_limit(const struct http_limit_item *item)
{
    const char *wrong = check_name(item->policy);
    if (wrong != NULL)
        return wrong;
    if (!(item->remaining <= HTTP_INTEGER_MAX))
        return "what is left is more than 999999999999999";
    if (item->cost != 0 && (!is_integer(item->cost) || item->cost < 0))
        return "a cost is no Integer of 0 to 999999999999999";
    if (item->partition_key.size > HTTP_PARTITION_KEY_MAX)
        return "a partition key is longer than 96 bytes";
    return check_extensions(item->extensions, item->extension_count);
}

static const char *check_partition(const struct http_partition *partition)
{
    for (size_t i = 0; i < partition->dimension_count; i++) {
        if (!is_key(partition->dimensions[i].key) || !is_token(partition->dimensions[i].token))
            return "a partition's dimension is no key or its value no token";
    }
    return check_name(partition->name);
}

const char *http_fields_check(const struct http_fields_input *input)
{
    const char *wrong = NULL;
    for (size_t i = 0; wrong == NULL && i < input->policy_count; i++)
        wrong = http_policy_item_check(&input->policies[i]);
    for (size_t i = 0; wrong == NULL && i < input->limit_count; i++)
        wrong = check_limit(&input->limits[i]);
    for (size_t i = 0; wrong == NULL && i < input->partition_count; i++)
        wrong = check_partition(&input->partitions[i]);
    return wrong;
}
