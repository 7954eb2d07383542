/* Every vector of client-address.json that does not concern the PROXY protocol, which the server handles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <cmocka.h>

#include "request/client.h"
#include "../vector_file.h"

#define LINES 64

static bool is_header_vector(const json_t *vector)
{
    return strcmp(vector_text(vector, "source"), "proxy_protocol") != 0;
}

static struct drossel_address address_of(const char *text)
{
    struct drossel_address address;
    assert_int_equal(drossel_address_parse(text, strlen(text), &address), DROSSEL_OK);
    return address;
}

static struct netset *trusted_of(const json_t *vector)
{
    size_t index;
    json_t *entry;
    struct netset *set = netset_open();
    assert_non_null(set);
    json_array_foreach(json_object_get(vector, "trusted"), index, entry)
    {
        struct drossel_address address;
        unsigned bits;
        assert_null(netset_parse(json_string_value(entry), json_string_length(entry), &address, &bits));
        assert_true(netset_add(set, &address, bits));
    }
    assert_true(netset_seal(set));
    return set;
}

/* A spelling of X-Forwarded-For that is not ours goes the way of any other header's name. */
static void set_source(struct client_rules *rules, const char *source)
{
    static const char list[] = "x-forwarded-for";
    rules->source = strcasecmp(source, "forwarded") == 0 ? CLIENT_FORWARDED : CLIENT_HEADER;
    rules->header = (struct drossel_text){ source, strlen(source) };
    if (strncasecmp(source, list, sizeof list - 1) == 0)
        rules->header.size = sizeof list - 1;
    if (strcmp(source, list) == 0)
        rules->source = CLIENT_X_FORWARDED_FOR;
}

static void assert_key(const struct drossel_address *address, const char *expected)
{
    char text[DROSSEL_ADDRESS_TEXT + 4];
    struct drossel_address key = client_key(address, 64);
    size_t size = drossel_address_format(&key, text);
    if (key.family == DROSSEL_IPV6)
        memcpy(text + size, "/64", 4);
    if (key.family == DROSSEL_UNIX)
        memcpy(text + size, ":", 2);
    assert_string_equal(text, expected);
}

static void the_client_is_recovered(void **state)
{
    const json_t *vector = *state;
    const char *source = vector_text(vector, "source");
    struct drossel_header headers[LINES];
    struct drossel_request request = { .peer = address_of(vector_text(vector, "peer")), .headers = headers };
    struct client_rules rules = { .recursive = json_is_true(json_object_get(vector, "recursive")),
                                  .single = json_is_true(json_object_get(vector, "strict")) };
    set_source(&rules, source);
    size_t index;
    json_t *line;
    json_array_foreach(json_object_get(vector, "lines"), index, line)
    {
        assert_true(request.header_count < LINES);
        headers[request.header_count++] =
            (struct drossel_header){ rules.header, { json_string_value(line), json_string_length(line) } };
    }
    struct netset *trusted = trusted_of(vector);
    rules.trusted = trusted;
    struct client client = client_recover(&rules, &request);
    netset_close(trusted);

    const json_t *expect = json_object_get(vector, "expect");
    assert_string_equal(vector_text(expect, "action"), "accept");
    struct drossel_address expected = address_of(vector_text(expect, "address"));
    char got[DROSSEL_ADDRESS_TEXT], wanted[DROSSEL_ADDRESS_TEXT];
    drossel_address_format(&client.address, got);
    drossel_address_format(&expected, wanted);
    assert_string_equal(got, wanted);
    assert_memory_equal(&client.address, &expected, sizeof expected);
    assert_key(&client.address, vector_text(expect, "bucket_key"));
}

int main(void)
{
    static struct vector_file file;
    vector_file_open(&file, "client-address.json", is_header_vector, the_client_is_recovered);
    return vector_file_run(&file, "client-address.json");
}
