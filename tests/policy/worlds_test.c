/* The four policies that the language has to express load, or name exactly what is not there yet. */
#include "opened.h"

static char *path_of(const char *name)
{
    static char path[4096];
    const char *source = getenv("DROSSEL_SOURCE");
    assert_non_null(source);
    snprintf(path, sizeof(path), "%s/tests/policy/worlds/%s", source, name);
    return path;
}

/* The messages without the file's path. */
static void assert_places(const char *text, const char *const *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_non_null(text);
        const char *place = strstr(text, ".yaml:");
        assert_non_null(place);
        assert_memory_equal(place + strlen(".yaml:"), places[i], strlen(places[i]));
        text = strchr(place, '\n') + 1;
    }
    assert_string_equal(text, "");
}

static void the_nginx_edge_limit_loads(void **state)
{
    (void)state;
    struct opened opened = open_file(path_of("nginx-edge.yaml"));
    assert_null(opened.mistakes);
    assert_true(opened.policy->limits[0].dry_run);
    assert_int_equal(opened.policy->rates[0].engine.spec.burst, 3);
    static const char *const places[] = { "8:12: warning: 5 per 1m with burst 3 admits 4 at once, then one each 12 s" };
    assert_places(opened.warnings, places, 1);
    close_opened(&opened);
}

static enum policy_exemption exemption_of(const struct policy *policy, const char *address, const char *path)
{
    struct drossel_address client;
    struct policy_facts facts = { .path = { path, strlen(path) } };
    assert_int_equal(drossel_address_parse(address, strlen(address), &client), DROSSEL_OK);
    return policy_exempt(policy, &client, &facts);
}

static void the_two_tables_of_haproxy_work_in_every_line(void **state)
{
    (void)state;
    struct opened opened = open_file(path_of("haproxy-tables.yaml"));
    assert_null(opened.mistakes);
    const struct policy *policy = opened.policy;
    static const struct {
        const char *path;
        uint32_t count, first, second;
    } cases[] = {
        { "/", 2, 0, 1 }, { "/a.png", 1, 2, 0 }, { "/A.PNG", 1, 2, 0 }, { "/a.png/", 2, 0, 1 }, { "/x.woff2", 1, 2, 0 }
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy_facts facts = { .path = { cases[i].path, strlen(cases[i].path) } };
        struct policy_class_set classes;
        uint32_t limits[4] = { 0 };
        assert_int_equal(policy_match(policy, &facts, &classes, limits, 4), cases[i].count);
        assert_int_equal(limits[0], cases[i].first);
        assert_int_equal(limits[1], cases[i].second);
    }
    assert_true(policy->has_ban);
    assert_int_equal(policy->rates[1].engine.spec.flags, ENGINE_BAN);
    assert_int_equal(exemption_of(policy, "10.200.0.1", "/"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exemption_of(policy, "192.0.2.7", "/"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exemption_of(policy, "2001:db8:1::", "/"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exemption_of(policy, "192.0.2.8", "/"), POLICY_NOT_EXEMPT);
    assert_int_equal(exemption_of(policy, "192.0.2.8", "/webhooks/stripe"), POLICY_EXEMPT_PATH);
    assert_int_equal(exemption_of(policy, "192.0.2.8", "/webhooks"), POLICY_NOT_EXEMPT);
    close_opened(&opened);
}

static void the_php_service_names_what_is_not_there_yet(void **state)
{
    (void)state;
    struct opened opened = open_file(path_of("php-service.yaml"));
    static const char *const places[] = {
        "4:26: \"form.email\": not carried out by this version yet; ",
        "4:38: \"json.email\": not carried out by this version yet; ",
        "13:77: rate \"5 failures per 900s\": not carried out by this version yet; ",
        "13:142: `reset_on`: not carried out by this version yet; ",
        "14:73: rate \"10 failures per 600s\": not carried out by this version yet; ",
        "15:81: rate \"5 failures per 900s\": not carried out by this version yet; ",
        "15:146: `reset_on`: not carried out by this version yet; ",
        "16:67: rate \"5 failures per 900s\": not carried out by this version yet; ",
        "16:132: `reset_on`: not carried out by this version yet; ",
        "16:158: store \"memcached://127.0.0.1\": not carried out by this version yet; ",
    };
    assert_places(opened.mistakes, places, sizeof(places) / sizeof(places[0]));
    close_opened(&opened);
}

static void the_paid_catalogue_names_what_is_not_there_yet(void **state)
{
    (void)state;
    struct opened opened = open_file(path_of("paid-catalogue.yaml"));
    static const char *const places[] = {
        "2:8: store \"redis://127.0.0.1:6379/0\": not carried out by this version yet; ",
        "9:57: rate \"5 failures per 15m\": not carried out by this version yet; ",
        "10:43: rate \"200 failures per 10m\": not carried out by this version yet; ",
    };
    assert_places(opened.mistakes, places, sizeof(places) / sizeof(places[0]));
    close_opened(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nginx_edge_limit_loads),
        cmocka_unit_test(the_two_tables_of_haproxy_work_in_every_line),
        cmocka_unit_test(the_php_service_names_what_is_not_there_yet),
        cmocka_unit_test(the_paid_catalogue_names_what_is_not_there_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
