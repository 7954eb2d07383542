/*
 * The client's side of the contract: how long to wait before the next attempt.
 *
 * In order: Retry-After where it has a meaning, the windows of exhausted limits, legacy fields if asked for, backoff with
 * full jitter.  Malformed fields are absent.  A server that says 0, or a time in the past, is not taken at its word: that
 * would be a hot loop.
 */
#include "drossel.h"

#include "http/date.h"
#include "http/fields.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define SECONDS_MAX 2147483647.0 /* a longer wait is told as this one */
#define JOINED_BYTES 4096        /* of a List whose lines are no Lists of their own */
#define EXPONENT_MAX 60u         /* of the backoff; the cap is reached long before */

static const struct drossel_wait_rules defaults = { .base_s = 1, .cap_s = 60, .max_sleep_s = 600 };

static struct drossel_wait_rules with_defaults(const struct drossel_wait_rules *rules)
{
    struct drossel_wait_rules effective = rules == NULL ? defaults : *rules;
    if (!(effective.base_s > 0))
        effective.base_s = defaults.base_s;
    if (!(effective.cap_s > 0))
        effective.cap_s = defaults.cap_s;
    if (!(effective.max_sleep_s > 0))
        effective.max_sleep_s = defaults.max_sleep_s;
    return effective;
}

static struct drossel_text trimmed(struct drossel_text text)
{
    while (text.size > 0 && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* The next line of a field from `*at` on, trimmed. */
static bool next_line(const struct drossel_response *response, const char *name, size_t *at, struct drossel_text *value)
{
    size_t size = strlen(name);
    for (; *at < response->header_count; (*at)++) {
        const struct drossel_header *header = &response->headers[*at];
        if (header->name.size != size || strncasecmp(header->name.data, name, size) != 0)
            continue;
        *value = trimmed(header->value);
        (*at)++;
        return true;
    }
    return false;
}

/* Digits only; saturates far above any time. */
static bool parse_digits(struct drossel_text text, double *number)
{
    double value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        if (value < 1e18)
            value = value * 10 + (text.data[i] - '0');
    }
    *number = value;
    return text.size > 0;
}

/* A double of any kind as whole seconds. */
static int64_t whole_seconds(double seconds)
{
    if (!(seconds > 0))
        return 0;
    return seconds > (double)HTTP_DATE_MAX ? HTTP_DATE_MAX : (int64_t)seconds;
}

/* What the response's dates are relative to: its own Date, so that a wrong local clock does not matter. */
static double reference_s(const struct drossel_response *response)
{
    struct drossel_text value;
    size_t at = 0;
    int64_t date;
    while (next_line(response, "date", &at, &value)) {
        if (http_date_parse(value, whole_seconds(response->now_s), &date))
            return (double)date;
    }
    return response->now_s;
}

/* The largest valid Retry-After; 0 for a time in the past.  False: none is valid. */
static bool retry_after(const struct drossel_response *response, double *seconds)
{
    struct drossel_text value;
    size_t at = 0;
    double longest = -1;
    while (next_line(response, "retry-after", &at, &value)) {
        double wait;
        int64_t date;
        if (!parse_digits(value, &wait)) {
            if (!http_date_parse(value, whole_seconds(response->now_s), &date))
                continue;
            wait = (double)date - reference_s(response);
        }
        longest = fmax(longest, fmin(fmax(wait, 0), SECONDS_MAX));
    }
    *seconds = longest;
    return longest >= 0;
}

static bool is_cached(const struct drossel_response *response)
{
    struct drossel_text value;
    size_t at = 0;
    double age;
    while (next_line(response, "age", &at, &value)) {
        if (parse_digits(value, &age) && age > 0)
            return true;
    }
    return false;
}

/* The longest window among the items with nothing left, if it is longer than *longest.  False: no List, and *longest stays. */
static bool take_windows(struct drossel_text value, enum http_profile profile, int64_t *longest)
{
    struct http_fields_reader reader;
    struct http_parsed_item item;
    int64_t found_s = *longest;
    int more;
    http_fields_begin(&reader, value, false, profile);
    while ((more = http_fields_next(&reader, &item)) > 0)
        if (item.amount == 0 && item.has_window && item.window_s > found_s)
            found_s = item.window_s;
    if (more == 0)
        *longest = found_s;
    return more == 0;
}

/* The same of the field's lines joined, for what is cut up between them (RFC 9651 section 4.2, "can have unpredictable results"). */
static int64_t joined_window_s(const struct drossel_response *response, enum http_profile profile)
{
    char line[JOINED_BYTES];
    struct http_writer writer = { .data = line, .cap = sizeof line };
    int64_t longest = 0;
    if (http_fields_join(response->headers, response->header_count, "ratelimit", &writer))
        (void)take_windows(http_written(&writer, 0), profile, &longest);
    return longest;
}

/* The longest window among limits with nothing left; 0: none.  Lists that stand on several lines are one List, read in place. */
static double exhausted_window_s(const struct drossel_response *response, bool draft_12)
{
    enum http_profile profile = draft_12 ? HTTP_PROFILE_DRAFT_12 : HTTP_PROFILE_DRAFT_11;
    struct drossel_text value;
    int64_t longest = 0;
    size_t at = 0;
    bool are_lists = true;
    if (is_cached(response))
        return 0;
    while (next_line(response, "ratelimit", &at, &value))
        are_lists &= value.size > 0 && take_windows(value, profile, &longest);
    return (double)(are_lists ? longest : joined_window_s(response, profile));
}

/* X-RateLimit-Reset has three meanings; its size tells which: milliseconds or seconds since 1970, or seconds from now.
 * 0: absent, past, or something is left. */
static double legacy_reset_s(const struct drossel_response *response)
{
    struct drossel_text value;
    size_t at = 0;
    double remaining = 0, reset;
    if (next_line(response, "x-ratelimit-remaining", &at, &value) &&
        (!parse_digits(value, &remaining) || remaining > 0))
        return 0;
    at = 0;
    if (!next_line(response, "x-ratelimit-reset", &at, &value) || !parse_digits(value, &reset))
        return 0;
    if (reset >= 1e12)
        reset = reset / 1000 - response->now_s;
    else if (reset >= 1e9)
        reset -= response->now_s;
    return reset > 0 ? reset : 0;
}

static struct drossel_wait sleep_for(double seconds, const char *source)
{
    double spread = fmin(fmax(1, 0.1 * seconds), 30);
    return (struct drossel_wait){ DROSSEL_WAIT_SLEEP, seconds, seconds + spread, 0, source };
}

static struct drossel_wait back_off(const struct drossel_wait_rules *rules, unsigned attempt, const char *source)
{
    unsigned exponent = attempt > EXPONENT_MAX ? EXPONENT_MAX : attempt;
    double most = fmin(rules->cap_s, ldexp(rules->base_s, (int)exponent));
    return (struct drossel_wait){ DROSSEL_WAIT_SLEEP, 0, most, 0, source };
}

static struct drossel_wait window(const struct drossel_wait_rules *rules, double seconds, const char *source,
                                  const char *capped)
{
    if (seconds > rules->max_sleep_s)
        return sleep_for(rules->max_sleep_s, capped);
    return sleep_for(seconds, source);
}

struct drossel_wait drossel_client_wait(const struct drossel_response *response, const struct drossel_wait_rules *given)
{
    struct drossel_wait_rules rules = with_defaults(given);
    if (response == NULL)
        return (struct drossel_wait){ .action = DROSSEL_WAIT_NONE, .source = "nothing" };
    bool denied = response->status == 429 || response->status == 503;
    bool redirect = response->status >= 300 && response->status < 400;
    double seconds;
    if ((denied || redirect) && retry_after(response, &seconds)) {
        if (seconds <= 0)
            return back_off(&rules, response->attempt, "retry-after=0 -> backoff");
        if (seconds > rules.max_sleep_s)
            return (struct drossel_wait){ DROSSEL_WAIT_DEFER, 0, 0, seconds, "retry-after" };
        return sleep_for(seconds, "retry-after");
    }
    seconds = exhausted_window_s(response, rules.draft_12);
    if (seconds > 0)
        return window(&rules, seconds, "ratelimit", "ratelimit (capped: probe)");
    seconds = rules.legacy_x_ratelimit ? legacy_reset_s(response) : 0;
    if (seconds > 0)
        return window(&rules, seconds, "x-ratelimit", "x-ratelimit (capped: probe)");
    if (denied)
        return back_off(&rules, response->attempt, "backoff");
    return (struct drossel_wait){ .action = DROSSEL_WAIT_NONE, .source = "nothing" };
}
