/* Values of a policy: texts, flags, numbers, times, sizes, shares, and rates `N per T`. */
#include "policy/reading.h"

#include <stdio.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define FACTOR_MAX 1000
#define BYTE_COUNT_MAX UINT64_C(16000000)

/* ---- texts ---- */

bool text_equal(struct drossel_text a, struct drossel_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool text_is(struct drossel_text text, const char *word)
{
    return text_equal(text, (struct drossel_text){ word, strlen(word) });
}

bool text_begins(struct drossel_text text, struct drossel_text prefix)
{
    return text.size >= prefix.size && (prefix.size == 0 || memcmp(text.data, prefix.data, prefix.size) == 0);
}

bool has_control(struct drossel_text text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F)
            return true;
    return false;
}

static bool only_of(struct drossel_text text, const char *others)
{
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        if (!letter && (byte == '\0' || strchr(others, byte) == NULL))
            return false;
    }
    return text.size > 0;
}

bool is_token(struct drossel_text text)
{
    return only_of(text, "!#$%&'*+-.^_`|~");
}

bool is_name(struct drossel_text text)
{
    return only_of(text, "._-") && text.size <= POLICY_NAME_MAX;
}

bool read_text(struct reading *reading, const struct node *node, const char *what, struct drossel_text *out)
{
    if (node->kind != NODE_SCALAR || node_is_null(node) || node->text.size == 0) {
        const char *found = node->kind == NODE_SCALAR && !node_is_null(node) ? "an empty text" : node_kind_name(node);
        mistake(reading, node, "%s; write %s", found, what);
        return false;
    }
    if (has_control(node->text)) {
        mistake(reading, node, "\"%s\" has control characters in it; write %s without them",
                quotable(reading->arena, node->text), what);
        return false;
    }
    *out = node->text;
    return true;
}

/* The text of a scalar for a message, or what the node is instead. */
static const char *shown(struct reading *reading, const struct node *node)
{
    if (node->kind != NODE_SCALAR || node_is_null(node))
        return node_kind_name(node);
    return arena_format(reading->arena, "\"%s\"", quotable(reading->arena, node->text));
}

bool read_flag(struct reading *reading, const struct node *node, bool *out)
{
    bool yes = node->kind == NODE_SCALAR && text_is(node->text, "true");
    if (!yes && (node->kind != NODE_SCALAR || !text_is(node->text, "false"))) {
        mistake(reading, node, "%s; write true or false", shown(reading, node));
        return false;
    }
    *out = yes;
    return true;
}

/* ---- numbers ---- */

bool parse_number(struct drossel_text text, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(text.data[i] - '0'), &number))
            number = UINT64_MAX;
    }
    if (text.size == 0)
        return false;
    *out = number;
    return true;
}

bool read_number(struct reading *reading, const struct node *node, uint64_t least, uint64_t most, uint64_t *out)
{
    uint64_t number;
    if (node->kind != NODE_SCALAR || !parse_number(node->text, &number) || number < least || number > most) {
        mistake(reading, node, "%s; write a whole number from %llu to %llu", shown(reading, node),
                (unsigned long long)least, (unsigned long long)most);
        return false;
    }
    *out = number;
    return true;
}

/* A number with at most `digits` decimals, in units of the last of them. */
static bool parse_decimal(struct drossel_text text, unsigned digits, uint64_t *out)
{
    const char *point = text.size == 0 ? NULL : memchr(text.data, '.', text.size);
    size_t whole = point == NULL ? text.size : (size_t)(point - text.data);
    size_t decimals = point == NULL ? 0 : text.size - whole - 1;
    char joined[24];
    if (whole == 0 || decimals > digits || (point != NULL && decimals == 0) || whole + digits >= sizeof(joined))
        return false;
    memcpy(joined, text.data, whole);
    memset(joined + whole, '0', digits);
    if (decimals > 0)
        memcpy(joined + whole, point + 1, decimals);
    return parse_number((struct drossel_text){ joined, whole + digits }, out);
}

bool read_percent_ppm(struct reading *reading, const struct node *node, uint32_t *out)
{
    uint64_t ten_thousandths;
    struct drossel_text text = node->text;
    bool percent = node->kind == NODE_SCALAR && text.size > 0 && text.data[text.size - 1] == '%';
    if (percent)
        text.size--;
    if (!percent || !parse_decimal(text, 4, &ten_thousandths) || ten_thousandths > 1000000) {
        mistake(reading, node, "%s; write a share from 0%% to 100%%, as 10%%", shown(reading, node));
        return false;
    }
    *out = (uint32_t)ten_thousandths;
    return true;
}

bool read_factor_milli(struct reading *reading, const struct node *node, uint32_t *out)
{
    uint64_t milli;
    if (node->kind != NODE_SCALAR || !parse_decimal(node->text, 3, &milli) || milli < 1000 ||
        milli > FACTOR_MAX * 1000) {
        mistake(reading, node, "%s; write a number from 1 to %d with at most three decimals, as 2 or 1.5",
                shown(reading, node), FACTOR_MAX);
        return false;
    }
    *out = (uint32_t)milli;
    return true;
}

/* A number, or one with k, M or G behind it; what no 64 bits hold is UINT64_MAX. */
static bool parse_scaled(struct drossel_text text, uint64_t *out)
{
    static const char units[] = "kMG";
    uint64_t number, scale = 1;
    const char *unit = text.size > 1 ? memchr(units, text.data[text.size - 1], sizeof(units) - 1) : NULL;
    if (unit != NULL) {
        text.size--;
        for (const char *step = units; step <= unit; step++)
            scale *= 1000;
    }
    if (!parse_number(text, &number))
        return false;
    *out = number > UINT64_MAX / scale ? UINT64_MAX : number * scale;
    return true;
}

static bool parse_size(const struct node *node, uint64_t most, uint64_t *out)
{
    uint64_t number;
    if (node->kind != NODE_SCALAR || !parse_scaled(node->text, &number) || number == 0 || number > most)
        return false;
    *out = number;
    return true;
}

bool read_byte_count(struct reading *reading, const struct node *node, uint64_t *out)
{
    if (parse_size(node, BYTE_COUNT_MAX, out))
        return true;
    mistake(reading, node, "%s; write a number of bytes from 1 to 16M, as 64k (k and M are powers of 1000)",
            shown(reading, node));
    return false;
}

bool read_size(struct reading *reading, const struct node *node, uint64_t *out)
{
    uint64_t number;
    if (!parse_size(node, UINT64_C(1) << 32, &number)) {
        mistake(reading, node, "%s; write a number from 1 to 4G, as 100k, 1M or 4M (k, M and G are powers of 1000)",
                shown(reading, node));
        return false;
    }
    uint64_t size = 64;
    while (size < number)
        size *= 2;
    *out = size;
    return true;
}

/* ---- times ---- */

static const struct {
    const char *name;
    uint64_t ns;
} duration_units[] = { { "d", 86400 * NS_PER_S },
                       { "h", 3600 * NS_PER_S },
                       { "m", 60 * NS_PER_S },
                       { "s", NS_PER_S },
                       { "ms", NS_PER_MS },
                       { "us", 1000 },
                       { "ns", 1 } };
#define WRITTEN_UNITS 5 /* of these a policy writes; the others only show what a rate comes to */

static bool has_digit(struct drossel_text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] >= '0' && text.data[i] <= '9')
            return true;
    return false;
}

const char *policy_duration_parse(struct drossel_text text, uint64_t *ns)
{
    size_t digits = 0;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    if (digits == 0)
        return "no number before the unit; write a number with ms, s, m, h or d, as 10s";
    if (digits == text.size)
        return "no unit; write ms, s, m, h or d behind the number, as 10s";
    if (text.data[digits] == '.' || text.data[digits] == ',')
        return "a fraction; write a whole number of a smaller unit, as 1500ms";
    struct drossel_text unit = { text.data + digits, text.size - digits };
    size_t i = 0;
    while (i < WRITTEN_UNITS && !text_is(unit, duration_units[i].name))
        i++;
    if (i == WRITTEN_UNITS && has_digit(unit))
        return "more than one number; write all of it in the smallest unit, as 90m for 1h30m";
    if (i == WRITTEN_UNITS)
        return "unknown unit; write ms, s, m, h or d, as 10s";
    uint64_t number, product;
    if (!parse_number((struct drossel_text){ text.data, digits }, &number) ||
        __builtin_mul_overflow(number, duration_units[i].ns, &product) || product > ENGINE_PERIOD_MAX_NS)
        return "too long; write at most 366d";
    *ns = product;
    return NULL;
}

size_t policy_duration_format(uint64_t ns, char *out, size_t cap)
{
    size_t i = 0;
    while (ns % duration_units[i].ns != 0)
        i++;
    if (ns == 0)
        i = 3;
    int size = snprintf(out, cap, "%llu%s", (unsigned long long)(ns / duration_units[i].ns), duration_units[i].name);
    return size < 0 ? 0 : (size_t)size;
}

bool read_duration(struct reading *reading, const struct node *node, uint64_t least_ns, uint64_t *out)
{
    if (node->kind != NODE_SCALAR || node_is_null(node)) {
        mistake(reading, node, "%s; write a time, as 10s", node_kind_name(node));
        return false;
    }
    uint64_t ns;
    const char *wrong = policy_duration_parse(node->text, &ns);
    if (wrong != NULL) {
        mistake(reading, node, "time %s: %s", shown(reading, node), wrong);
        return false;
    }
    if (ns < least_ns) {
        char least[32];
        policy_duration_format(least_ns, least, sizeof(least));
        mistake(reading, node, "time %s: too short; write at least %s", shown(reading, node), least);
        return false;
    }
    *out = ns;
    return true;
}

/* ---- rates ---- */

static struct drossel_text next_word(struct drossel_text *rest)
{
    size_t start = 0, end;
    while (start < rest->size && (rest->data[start] == ' ' || rest->data[start] == '\t'))
        start++;
    for (end = start; end < rest->size && rest->data[end] != ' ' && rest->data[end] != '\t';)
        end++;
    struct drossel_text word = { rest->data + start, end - start };
    *rest = (struct drossel_text){ rest->data + end, rest->size - end };
    return word;
}

static bool read_count(struct reading *reading, const struct node *node, struct drossel_text word, uint64_t *out)
{
    uint64_t count;
    if (!parse_scaled(word, &count)) {
        mistake(reading, node, "rate %s: \"%s\" is no whole number; write N per T, as 50 per 10s", shown(reading, node),
                quotable(reading->arena, word));
        return false;
    }
    if (count > ENGINE_COUNT_MAX) {
        mistake(reading, node, "rate %s: too large a number; write at most %llu", shown(reading, node),
                (unsigned long long)ENGINE_COUNT_MAX);
        return false;
    }
    *out = count;
    return true;
}

static bool read_unit(struct reading *reading, const struct node *node, struct drossel_text word, enum rate_unit *out)
{
    static const char *const names[] = { "requests", "failures", "cost", "accounts", "addresses", "per", NULL };
    for (unsigned i = 0; i <= UNIT_ADDRESSES; i++)
        if (text_is(word, names[i])) {
            *out = (enum rate_unit)i;
            return true;
        }
    const char *closest = closest_name(word, names);
    mistake(reading, node, "rate %s: unknown word \"%s\"; %s%s%s", shown(reading, node), quotable(reading->arena, word),
            closest != NULL ? "did you mean \"" : "write N [requests|failures|cost] per T, as 50 per 10s",
            closest != NULL ? closest : "", closest != NULL ? "\"?" : "");
    return false;
}

bool read_rate(struct reading *reading, const struct node *node, struct rate_text *out)
{
    if (node->kind != NODE_SCALAR || node_is_null(node)) {
        mistake(reading, node, "%s; write a rate, as 50 per 10s", node_kind_name(node));
        return false;
    }
    struct rate_text rate = { .node = node };
    struct drossel_text rest = node->text, word = next_word(&rest);
    if (!read_count(reading, node, word, &rate.count))
        return false;
    word = next_word(&rest);
    if (word.size > 0 && !text_is(word, "per")) {
        if (!read_unit(reading, node, word, &rate.unit))
            return false;
        word = next_word(&rest);
    }
    struct drossel_text time = next_word(&rest), more = next_word(&rest);
    if (!text_is(word, "per") || time.size == 0 || more.size > 0) {
        mistake(reading, node, "rate %s: no rate; write N [requests|failures|cost] per T, as 50 per 10s",
                shown(reading, node));
        return false;
    }
    const char *wrong = policy_duration_parse(time, &rate.period_ns);
    if (wrong == NULL && rate.period_ns == 0)
        wrong = "no time at all; write at least 1ms";
    if (wrong != NULL) {
        mistake(reading, node, "rate %s: time \"%s\": %s", shown(reading, node), quotable(reading->arena, time), wrong);
        return false;
    }
    *out = rate;
    return true;
}
