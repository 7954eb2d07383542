/*
 * Finding the account in a JSON body of 1 kB, alone: what a login costs more than another request, before it is judged.
 *
 *     extract PAIRS
 *
 * Two bodies of 1,024 bytes: an ordinary one, as the script of a login page sends it, and a dense one, in which a
 * token begins every other byte.  The other side is a number: 2 us, the most that it may take.  Jansson, which
 * makes a tree of the whole, reads the same bodies for comparison.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "request/body.h"

#define BODY_BYTES 1024
#define MOST_NS 2000.0
#define TIMES 20000

struct kind {
    const char *row, *name, *begin, *repeated, *end;
};

/* In the ordinary one the account comes first and the long text is a token; in the dense one it comes last. */
static const struct kind kinds[] = {
    { "extract-ordinary", "ordinary",
      "{\"email\": \"jane.doe@shop.example\", \"password\": \"correct horse battery staple\", \"remember\": true, "
      "\"device\": "
      "{\"name\": \"Firefox on Linux\", \"width\": 1920, \"height\": 1080, \"languages\": [\"en-GB\", \"en\"]}, "
      "\"captcha\": \"",
      "03AFcWeA7", "\"}" },
    { "extract-dense", "dense", "{\"items\":[", "{\"id\":17,\"n\":2,\"s\":\"a1\"},",
      "{}],\"email\":\"jane.doe@shop.example\"}" },
};

/* Fills the body with the repeated part, and what is left over with spaces. */
static void make_body(const struct kind *kind, char body[BODY_BYTES])
{
    size_t at = strlen(kind->begin), repeated = strlen(kind->repeated), end = strlen(kind->end);
    memcpy(body, kind->begin, at);
    for (; at + repeated + end <= BODY_BYTES; at += repeated)
        memcpy(body + at, kind->repeated, repeated);
    memcpy(body + at, kind->end, end);
    memset(body + at + end, ' ', BODY_BYTES - at - end);
}

static struct body_sources sources;

static void find(const char body[BODY_BYTES], struct body_found *found)
{
    static char buffer[BODY_BUFFER_BYTES];
    const struct drossel_text type = DROSSEL_TEXT("application/json");
    const struct body request = { .content_types = &type, .content_type_count = 1, .bytes = { body, BODY_BYTES } };
    body_found_init(found, buffer, sizeof buffer);
    (void)body_accounts(&request, &sources, found);
}

static double measure_finding(const char body[BODY_BYTES])
{
    struct body_found found = { .count = 0 };
    uint64_t start_ns = measure_spent_ns(), count = 0;
    for (unsigned i = 0; i < TIMES; i++) {
        find(body, &found);
        count += found.count;
    }
    double each_ns = (double)(measure_spent_ns() - start_ns) / TIMES;
    if (count != TIMES || found.malformed || found.value[0].text.size != strlen("jane.doe@shop.example"))
        measure_fail("the account was not found as it should be: not what is to be measured");
    return each_ns;
}

static double measure_jansson(const char body[BODY_BYTES])
{
    uint64_t start_ns = measure_spent_ns();
    for (unsigned i = 0; i < TIMES; i++) {
        json_t *root = json_loadb(body, BODY_BYTES, 0, NULL);
        if (json_string_value(json_object_get(root, "email")) == NULL)
            measure_fail("jansson finds no account");
        json_decref(root);
    }
    return (double)(measure_spent_ns() - start_ns) / TIMES;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        measure_fail("usage: extract PAIRS");
    unsigned pairs = (unsigned)strtoul(argv[1], NULL, 10);
    (void)body_sources_add(&sources, BODY_JSON, (struct drossel_text)DROSSEL_TEXT("email"));
    measure_pin(1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char body[BODY_BYTES];
        make_body(&kinds[i], body);
        (void)measure_finding(body);
        for (unsigned pair = 0; pair < pairs; pair++)
            measure_pair(kinds[i].row, measure_finding(body), MOST_NS);
        measure_note("%s: jansson reads the %s body in %.0f ns", kinds[i].row, kinds[i].name, measure_jansson(body));
    }
    return 0;
}
