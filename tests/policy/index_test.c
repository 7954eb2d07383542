/* A thousand limits, each with a class of its own, cost a request little more than ten: classes looked at are counted. */
#include "opened.h"

#include "policy/index.h"

#define LIMITS 1000

static struct policy *many(const char *condition)
{
    FILE *out = fopen("p.yaml", "w");
    assert_non_null(out);
    fputs("version: 1\nclasses:\n", out);
    for (unsigned i = 0; i < LIMITS; i++) {
        fprintf(out, "  c%u: { ", i);
        const char *hole = strchr(condition, '#'); /* where the class's number goes */
        fprintf(out, "%.*s%u%s", (int)(hole - condition), condition, i, hole + 1);
        fputs(" }\n", out);
    }
    fputs("limits:\n", out);
    for (unsigned i = 0; i < LIMITS; i++)
        fprintf(out, "  l%u: { for: c%u, by: address, allow: 1 per 1s }\n", i, i);
    assert_int_equal(fclose(out), 0);
    struct opened opened = open_file("p.yaml");
    if (opened.mistakes != NULL)
        print_error("%s", opened.mistakes);
    assert_non_null(opened.policy);
    free(opened.warnings);
    return opened.policy;
}

struct look_case {
    const char *condition;
    const char *method, *host, *path;
    uint32_t looked_at, limit;
};

static void a_request_looks_at_the_classes_that_it_can_be_in(void **state)
{
    (void)state;
    static const struct look_case cases[] = {
        { "path: /p/#", "GET", "h", "/p/777", 1, 777 },
        { "path_begins: /p/#/", "GET", "h", "/p/777/x", 1, 777 },
        { "path_ends: .e#.x", "GET", "h", "/p.E777.x", 1, 777 },
        { "host: h#.example", "GET", "H777.example", "/", 1, 777 },
        { "method: M#", "M777", "h", "/", 1, 777 },
        { "method: POST, path: /p/#", "POST", "h", "/p/777", 1, 777 },
        { "path_matches: '^/', path_begins: /p/#/, host: h", "GET", "h", "/p/777/", 1, 777 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy *policy = many(cases[i].condition);
        struct policy_facts facts = { .method = { cases[i].method, strlen(cases[i].method) },
                                      .host = { cases[i].host, strlen(cases[i].host) },
                                      .path = { cases[i].path, strlen(cases[i].path) } };
        struct policy_class_set classes;
        uint32_t limits[4];
        assert_int_equal(index_classes(policy->index, &facts, &classes), cases[i].looked_at);
        assert_int_equal(policy_match(policy, &facts, &classes, limits, 4), 1);
        assert_int_equal(limits[0], cases[i].limit);
        facts =
            (struct policy_facts){ .method = DROSSEL_TEXT("X"), .host = DROSSEL_TEXT("x"), .path = DROSSEL_TEXT("/x") };
        assert_int_equal(index_classes(policy->index, &facts, &classes), 0);
        assert_int_equal(policy_match(policy, &facts, &classes, limits, 4), 0);
        policy_close(policy);
    }
}

static void nested_prefixes_are_all_found(void **state)
{
    (void)state;
    struct policy *policy = open_good(
        "version: 1\nclasses: { a: { path_begins: [/, /a/b/c] }, b: { path_begins: /a }, c: { path_begins: /a/b },\n"
        "  d: { path_begins: /a/x }, e: { path_begins: /b } }\nlimits: { l: { by: address, allow: 1 per 1s } }\n");
    static const struct {
        const char *path;
        uint64_t classes;
        uint32_t looked_at;
    } cases[] = { { "/", 1, 1 },       { "/a", 3, 2 },  { "/a/b", 7, 3 }, { "/a/b/c/d", 7, 3 }, { "/a/x", 11, 3 },
                  { "/a/wb/c", 3, 2 }, { "/b", 17, 2 }, { "b", 0, 0 },    { "/c", 1, 1 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy_facts facts = { .path = { cases[i].path, strlen(cases[i].path) } };
        struct policy_class_set classes;
        assert_int_equal(index_classes(policy->index, &facts, &classes), cases[i].looked_at);
        assert_int_equal(classes.bits[0], cases[i].classes);
    }
    policy_close(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_looks_at_the_classes_that_it_can_be_in),
        cmocka_unit_test(nested_prefixes_are_all_found),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
