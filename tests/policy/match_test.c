/* Matching by lookup agrees with a slow model that reads every condition of every class, on random policies and requests. */
#include "opened.h"

#include <strings.h>

#define POLICIES 150
#define REQUESTS 300

static uint64_t seed = 20261130;

static uint32_t any(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

static const char *const methods[] = { "GET", "POST", "PUT", "OPTIONS" };
static const char *const paths[] = { "/",   "/a",        "/ab", "/a/b", "/a/b/c", "/a/B.css", "/x.js", "/login",
                                     "/a/", "/a/b.html", "/b",  "/b/a", "/abc",   "*",        "/A/b",  "/x.min.JS" };
static const char *const ends[] = { ".css", ".js", "b", ".min.js", "/", "c", ".CSS", "x.js" };
static const char *const hosts[] = { "a.example", "b.example", "A.Example", "c" };
static const char *const patterns[] = { "^/a", "b$", "^/(login|x)", "[.]" };
static const char *const values[] = { "1", "2", "present" };
static const char *const doors[] = { "library", "nginx", "haproxy", "redis", "php", "envoy", "forward-auth" };
#define PICK(list) list[any(sizeof(list) / sizeof(list[0]))]

enum kind { METHOD, PATH, BEGINS, ENDS, HOST, MATCHES, HEADER, KINDS };
static const char *const keys[KINDS] = { "method", "path",         "path_begins", "path_ends",
                                         "host",   "path_matches", "header.X-Key" };

struct model_condition {
    enum kind kind;
    const char *value[3];
    unsigned count;
    int test; /* header: 0 values, 1 present, 2 absent */
};
struct model_class {
    struct model_condition condition[3];
    unsigned count;
};
struct model_limit {
    int wanted[3]; /* class + 1, negative for `not` */
    unsigned count;
    uint32_t doors;
};
struct model {
    struct model_class class[40];
    unsigned class_count;
    struct model_limit limit[150];
    unsigned limit_count;
};

static const char *value_of_kind(enum kind kind)
{
    switch (kind) {
    case METHOD:
        return PICK(methods);
    case ENDS:
        return PICK(ends);
    case HOST:
        return PICK(hosts);
    case MATCHES:
        return PICK(patterns);
    case HEADER:
        return PICK(values);
    default:
        return paths[any(13)];
    }
}

static void make_class(struct model_class *class)
{
    unsigned kinds = 0;
    class->count = 0;
    for (unsigned wanted = 1 + any(3); class->count < wanted;) {
        enum kind kind = (enum kind)any(KINDS);
        if (kinds >> kind & 1)
            continue;
        kinds |= 1U << kind;
        struct model_condition *condition = &class->condition[class->count++];
        condition->kind = kind;
        condition->test = kind == HEADER ? (int)any(3) : 0;
        condition->count = 1 + any(3);
        for (unsigned i = 0; i < condition->count; i++)
            condition->value[i] = value_of_kind(kind);
    }
}

static void make_limit(struct model *model, struct model_limit *limit)
{
    limit->count = any(4);
    limit->doors = any(3) > 0 ? UINT32_MAX : 1U << any(7);
    for (unsigned i = 0; i < limit->count; i++) {
        int class = (int)any(model->class_count) + 1;
        limit->wanted[i] = any(3) == 0 ? -class : class;
        for (unsigned k = 0; k < i; k++)
            if (limit->wanted[k] == limit->wanted[i])
                limit->count = i;
    }
}

static void write_condition(FILE *out, const struct model_condition *condition)
{
    fprintf(out, "%s: ", keys[condition->kind]);
    if (condition->test != 0) {
        fputs(condition->test == 1 ? "present" : "absent", out);
        return;
    }
    for (unsigned i = 0; i < condition->count; i++)
        fprintf(out, "%s\"%s\"", i == 0 ? "[" : ", ", condition->value[i]);
    fputs("]", out);
}

static void write_model(const struct model *model)
{
    FILE *out = fopen("p.yaml", "w");
    assert_non_null(out);
    fputs("version: 1\nclasses:\n", out);
    for (unsigned i = 0; i < model->class_count; i++) {
        fprintf(out, "  c%u: { ", i);
        for (unsigned k = 0; k < model->class[i].count; k++) {
            fputs(k == 0 ? "" : ", ", out);
            write_condition(out, &model->class[i].condition[k]);
        }
        fputs(" }\n", out);
    }
    fputs("limits:\n", out);
    for (unsigned i = 0; i < model->limit_count; i++) {
        const struct model_limit *limit = &model->limit[i];
        fprintf(out, "  l%u: { by: address, allow: 1 per 1s", i);
        if (limit->doors != UINT32_MAX)
            fprintf(out, ", only: %s", doors[__builtin_ctz(limit->doors)]);
        for (unsigned k = 0; k < limit->count; k++)
            fprintf(out, "%s%sc%d", k == 0 ? ", for: [" : ", ", limit->wanted[k] < 0 ? "not " : "",
                    abs(limit->wanted[k]) - 1);
        fputs(limit->count > 0 ? "] }\n" : " }\n", out);
    }
    assert_int_equal(fclose(out), 0);
}

/* ---- the slow way ---- */

struct request {
    const char *method, *path, *host, *header;
    enum drossel_door door;
};

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), length = strlen(end);
    return size >= length && strcasecmp(text + size - length, end) == 0;
}

static bool matches(const char *path, const char *pattern)
{
    if (strcmp(pattern, "^/a") == 0)
        return strncmp(path, "/a", 2) == 0;
    if (strcmp(pattern, "b$") == 0)
        return path[strlen(path) - 1] == 'b';
    if (strcmp(pattern, "[.]") == 0)
        return strchr(path, '.') != NULL;
    return strncmp(path, "/login", 6) == 0 || strncmp(path, "/x", 2) == 0;
}

static bool value_holds(enum kind kind, const char *value, const struct request *request)
{
    switch (kind) {
    case METHOD:
        return strcmp(value, request->method) == 0;
    case PATH:
        return strcmp(value, request->path) == 0;
    case BEGINS:
        return strncmp(request->path, value, strlen(value)) == 0;
    case ENDS:
        return ends_with(request->path, value);
    case HOST:
        return strcasecmp(value, request->host) == 0;
    case MATCHES:
        return matches(request->path, value);
    default:
        return request->header != NULL && strcmp(request->header, value) == 0;
    }
}

static bool model_condition_holds(const struct model_condition *condition, const struct request *request)
{
    if (condition->test != 0)
        return (request->header != NULL) == (condition->test == 1);
    for (unsigned i = 0; i < condition->count; i++)
        if (value_holds(condition->kind, condition->value[i], request))
            return true;
    return false;
}

static bool model_in_class(const struct model *model, unsigned class, const struct request *request)
{
    for (unsigned i = 0; i < model->class[class].count; i++)
        if (!model_condition_holds(&model->class[class].condition[i], request))
            return false;
    return true;
}

static bool model_applies(const struct model *model, const struct model_limit *limit, const struct request *request)
{
    for (unsigned i = 0; i < limit->count; i++)
        if (model_in_class(model, (unsigned)abs(limit->wanted[i]) - 1, request) != (limit->wanted[i] > 0))
            return false;
    return (limit->doors >> request->door & 1) != 0;
}

static struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, strlen(text) };
}

static unsigned compare(const struct model *model, const struct policy *policy, const struct request *request)
{
    struct drossel_header header = { DROSSEL_TEXT("X-KEY"), { NULL, 0 } };
    struct drossel_request facts_request = { .headers = &header, .header_count = request->header != NULL ? 1 : 0 };
    if (request->header != NULL)
        header.value = text_of(request->header);
    struct policy_facts facts = { text_of(request->method), text_of(request->host), text_of(request->path),
                                  &facts_request, request->door };
    struct policy_class_set classes;
    memset(&classes, 0xFF, sizeof(classes));
    uint32_t found[150], wanted = 0, count = policy_match(policy, &facts, &classes, found, 150);
    for (unsigned i = 0; i < model->class_count; i++)
        assert_int_equal(policy_in_class(&classes, i), model_in_class(model, i, request));
    for (unsigned i = 0; i < model->limit_count; i++) {
        if (!model_applies(model, &model->limit[i], request))
            continue;
        assert_true(wanted < count);
        assert_int_equal(found[wanted], i);
        wanted++;
    }
    assert_int_equal(wanted, count);
    uint32_t few[2] = { 77, 77 };
    assert_int_equal(policy_match(policy, &facts, &classes, few, 1), count);
    assert_int_equal(few[0], count > 0 ? found[0] : 77);
    assert_int_equal(few[1], 77);
    return count;
}

static void lookup_finds_what_reading_everything_finds(void **state)
{
    (void)state;
    static struct model model;
    unsigned found = 0;
    for (unsigned round = 0; round < POLICIES; round++) {
        model.class_count = 1 + any(40);
        model.limit_count = 1 + any(150);
        for (unsigned i = 0; i < model.class_count; i++)
            make_class(&model.class[i]);
        for (unsigned i = 0; i < model.limit_count; i++)
            make_limit(&model, &model.limit[i]);
        write_model(&model);
        struct opened opened = open_file("p.yaml");
        assert_null(opened.mistakes);
        for (unsigned i = 0; i < REQUESTS; i++) {
            struct request request = { PICK(methods), PICK(paths), PICK(hosts), any(2) == 0 ? NULL : PICK(values),
                                       (enum drossel_door)any(7) };
            found += compare(&model, opened.policy, &request);
        }
        close_opened(&opened);
    }
    assert_true(found > POLICIES * REQUESTS);
}

static void no_method_host_or_path_is_in_no_class_of_theirs(void **state)
{
    (void)state;
    struct policy *policy =
        open_good("version: 1\n"
                  "classes: { m: { method: GET }, p: { path_begins: / }, e: { path_ends: a }, h: { host: a }, "
                  "r: { path_matches: '^$' }, x: { header.X: absent } }\n"
                  "limits: { a: { by: address, allow: 1 per 1s } }\n");
    struct policy_facts facts = { .request = NULL };
    struct policy_class_set classes;
    uint32_t limits[4];
    assert_int_equal(policy_match(policy, &facts, &classes, limits, 4), 1);
    assert_int_equal(classes.bits[0], 1U << 4 | 1U << 5);
    policy_close(policy);
}

static void a_pattern_that_gives_up_counts_as_hit(void **state)
{
    (void)state;
    struct policy *policy = open_good("version: 1\nclasses: { slow: { path_matches: '^/(a+)+$' } }\n"
                                      "limits: { a: { for: slow, by: address, allow: 1 per 1s } }\n");
    static char path[60000];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = 'b';
    struct policy_facts facts = { .path = { path, sizeof(path) } };
    struct policy_class_set classes;
    uint32_t limits[1];
    assert_int_equal(policy_match(policy, &facts, &classes, limits, 1), 1);
    facts.path = (struct drossel_text)DROSSEL_TEXT("/b");
    assert_int_equal(policy_match(policy, &facts, &classes, limits, 1), 0);
    policy_close(policy);
}

static void the_first_class_of_a_cost_that_holds_wins(void **state)
{
    (void)state;
    struct policy *policy = open_good("version: 1\nclasses: { a: { path_begins: /a }, ab: { path_begins: /ab } }\n"
                                      "limits: { l: { by: address, allow: 100 per 1s, cost: { ab: 20, a: 7 } } }\n");
    static const struct {
        struct drossel_text path;
        uint64_t cost;
    } cases[] = { { DROSSEL_TEXT("/abc"), 20 }, { DROSSEL_TEXT("/a"), 7 }, { DROSSEL_TEXT("/"), 1 } };
    for (size_t i = 0; i < 3; i++) {
        struct policy_facts facts = { .path = cases[i].path };
        struct policy_class_set classes;
        uint32_t limits[1];
        policy_match(policy, &facts, &classes, limits, 1);
        assert_int_equal(policy_cost_of(&policy->limits[0], &classes), cases[i].cost);
    }
    policy_close(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookup_finds_what_reading_everything_finds),
        cmocka_unit_test(no_method_host_or_path_is_in_no_class_of_theirs),
        cmocka_unit_test(a_pattern_that_gives_up_counts_as_hit),
        cmocka_unit_test(the_first_class_of_a_cost_that_holds_wins),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
