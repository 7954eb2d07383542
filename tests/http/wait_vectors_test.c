/* Every vector of client-wait.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "drossel.h"
#include "../vector_file.h"

#define LINES 32

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static struct drossel_text text_of(const json_t *string)
{
    return (struct drossel_text){ json_string_value(string), json_string_length(string) };
}

static void assert_seconds(double got, double expected)
{
    if (fabs(got - expected) > 1e-6)
        fail_msg("%f s, expected %f s", got, expected);
}

static void the_wait_is_as_expected(void **state)
{
    const json_t *vector = *state, *expect = json_object_get(vector, "expect"),
                 *options = json_object_get(vector, "options");
    struct drossel_header headers[LINES];
    struct drossel_response response = { .status = (int)number_of(vector, "status"),
                                         .headers = headers,
                                         .now_s = number_of(vector, "now"),
                                         .attempt = (unsigned)number_of(vector, "attempt") };
    struct drossel_wait_rules rules = { .legacy_x_ratelimit = json_is_true(json_object_get(options, "legacy")),
                                        .draft_12 = strcmp(vector_text(options, "profile"), "draft-12") == 0,
                                        .base_s = number_of(options, "base_s"),
                                        .cap_s = number_of(options, "cap_s"),
                                        .max_sleep_s = number_of(options, "max_sleep_s") };
    size_t index;
    json_t *line;
    json_array_foreach(json_object_get(vector, "headers"), index, line)
    {
        assert_true(index < LINES);
        headers[response.header_count++] =
            (struct drossel_header){ text_of(json_array_get(line, 0)), text_of(json_array_get(line, 1)) };
    }
    struct drossel_wait wait = drossel_client_wait(&response, &rules);
    const char *action = vector_text(expect, "action");
    assert_string_equal(wait.source, vector_text(expect, "source"));
    if (strcmp(action, "defer") == 0) {
        assert_int_equal(wait.action, DROSSEL_WAIT_DEFER);
        assert_seconds(wait.not_before_s, number_of(expect, "not_before_s"));
        return;
    }
    assert_int_equal(wait.action, strcmp(action, "wait") == 0 ? DROSSEL_WAIT_SLEEP : DROSSEL_WAIT_NONE);
    assert_seconds(wait.min_s, number_of(expect, "min_wait"));
    assert_seconds(wait.max_s, number_of(expect, "max_wait"));
}

static bool every_one(const json_t *vector)
{
    return vector != NULL;
}

int main(void)
{
    static struct vector_file file;
    vector_file_open(&file, "client-wait.json", every_one, the_wait_is_as_expected);
    return vector_file_run(&file, "client-wait.json");
}
