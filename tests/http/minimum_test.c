/*
 * What RFC 9651 asks every parser to support at the least, through the door that a client uses: the wait told by a field of that size.
 *
 * The sizes are those of section 3: Lists of 1024 members, Inner Lists of 256, 256 parameters on an item, keys of 64 characters, Strings of
 * 1024, Tokens of 512, Byte Sequences of 16384 octets.  Nothing is bounded here, so twice as much has to work as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drossel.h"

#define FIELD_BYTES (1 << 20)

/* A field's text that grows. */
struct text {
    char data[FIELD_BYTES];
    size_t size;
};

static void put(struct text *text, const char *more)
{
    size_t size = strlen(more);
    assert_true(size < sizeof text->data - text->size);
    memcpy(text->data + text->size, more, size);
    text->size += size;
}

static void put_times(struct text *text, const char *more, size_t times)
{
    for (size_t i = 0; i < times; i++)
        put(text, more);
}

/* Members of which only the last one is exhausted: it is found only if all were read. */
static void put_members(struct text *text, size_t count)
{
    put_times(text, "\"m\";r=1;t=900, ", count - 1);
    put(text, "\"last\";r=0;t=40");
}

static void put_parameters(struct text *text, size_t count)
{
    char key[80];
    put(text, "\"p\"");
    for (size_t i = 0; i < count - 2; i++) {
        snprintf(key, sizeof key, ";k%zu", i);
        put(text, key);
    }
    put(text, ";r=0;t=40");
}

static void put_long_keys(struct text *text, size_t size)
{
    put(text, "\"k\"");
    for (char first = 'a'; first < 'e'; first++) {
        const char letter[] = { first, '\0' };
        put(text, ";");
        put_times(text, letter, size);
        put(text, "=1");
    }
    put(text, ";r=0;t=40");
}

static void put_string(struct text *text, size_t size)
{
    put(text, "\"");
    put_times(text, "\\\"", size); /* so many when decoded */
    put(text, "\";r=0;t=40");
}

static void put_token(struct text *text, size_t size)
{
    put(text, "\"t\";x=");
    put_times(text, "t", size);
    put(text, ";r=0;t=40");
}

static void put_bytes(struct text *text, size_t size)
{
    put(text, "\"b\";r=0;t=40;pk=:");
    put_times(text, "AAAA", (size + 2) / 3);
    put(text, ":");
}

/* It names no policy, and must not spoil the field. */
static void put_inner_list(struct text *text, size_t size)
{
    put(text, "(");
    put_times(text, "1;a ", size);
    put(text, ");r=0;t=90, \"i\";r=0;t=40");
}

static void put_numbers(struct text *text, size_t size)
{
    (void)size;
    put(text, "\"n\";x=999999999999.999;y=-999999999999999;r=999999999999999;t=999999999999999, \"z\";r=0;t=40");
}

static const struct {
    const char *what;
    void (*put)(struct text *text, size_t size);
    size_t least;
} minima[] = {
    { "members", put_members, 1024 },      { "parameters", put_parameters, 256 }, { "keys", put_long_keys, 64 },
    { "string", put_string, 1024 },        { "token", put_token, 512 },           { "byte sequence", put_bytes, 16384 },
    { "inner list", put_inner_list, 256 }, { "numbers", put_numbers, 15 },
};

static struct drossel_wait wait_for(const struct text *lines, size_t count)
{
    struct drossel_header headers[4];
    struct drossel_response response = { .status = 429, .headers = headers, .now_s = 1796040000 };
    for (size_t i = 0; i < count; i++)
        headers[response.header_count++] =
            (struct drossel_header){ DROSSEL_TEXT("RateLimit"), { lines[i].data, lines[i].size } };
    return drossel_client_wait(&response, NULL);
}

static void assert_waits(const char *what, const struct text *lines, size_t count, double seconds)
{
    struct drossel_wait wait = wait_for(lines, count);
    if (wait.min_s != seconds || strcmp(wait.source, seconds > 0 ? "ratelimit" : "backoff") != 0)
        fail_msg("%s: %s %f", what, wait.source, wait.min_s);
}

static void what_every_parser_supports_is_read(void **state)
{
    (void)state;
    static struct text text;
    for (size_t i = 0; i < sizeof minima / sizeof *minima; i++) {
        for (size_t times = 1; times <= 2; times++) {
            text.size = 0;
            minima[i].put(&text, minima[i].least * times);
            assert_waits(minima[i].what, &text, 1, 40);
        }
    }
}

static void it_is_read_from_several_lines_too(void **state)
{
    (void)state;
    static struct text lines[3];
    memset(lines, 0, sizeof lines);
    put_times(&lines[0], "\"m\";r=1;t=900, ", 1023);
    put(&lines[0], "\"m\";r=0;t=30");
    put_bytes(&lines[1], 16384);
    put_string(&lines[2], 1024);
    assert_waits("lines", lines, 3, 40);
}

/* The whole field is ignored then, with what stood before the fault and on other lines. */
static void a_fault_at_the_very_end_spoils_all_of_it(void **state)
{
    (void)state;
    static struct text lines[2];
    memset(lines, 0, sizeof lines);
    put_members(&lines[0], 1024);
    put(&lines[0], ",");
    assert_waits("fault", lines, 1, 0);
    put(&lines[1], "\"a\";r=0;t=30");
    assert_waits("fault before", lines, 2, 0);
    lines[0].size--;
    assert_waits("no fault", lines, 2, 40);
    lines[1].size = 0;
    assert_waits("empty line", lines, 2, 0);
}

/* A comma within a string: neither line is a List, both together are. */
static void what_is_cut_up_between_lines_is_joined(void **state)
{
    (void)state;
    static struct text lines[2];
    memset(lines, 0, sizeof lines);
    put(&lines[0], "\"a");
    put(&lines[1], "b\";r=0;t=40");
    assert_waits("cut up", lines, 2, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_every_parser_supports_is_read),
        cmocka_unit_test(it_is_read_from_several_lines_too),
        cmocka_unit_test(a_fault_at_the_very_end_spoils_all_of_it),
        cmocka_unit_test(what_is_cut_up_between_lines_is_joined),
    };
    return cmocka_run_group_tests_name("minimum", tests, NULL, NULL);
}
