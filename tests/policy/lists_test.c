/* List files: comments, blank lines, line ends, places of their own, and many entries. */
#include "opened.h"

static enum policy_exemption exempt(const struct policy *policy, const char *address, const char *path,
                                    const char *method)
{
    struct drossel_address client;
    struct policy_facts facts = { .path = { path, strlen(path) }, .method = { method, strlen(method) } };
    assert_int_equal(drossel_address_parse(address, strlen(address), &client), DROSSEL_OK);
    return policy_exempt(policy, &client, &facts);
}

static void comments_blank_lines_and_line_ends_count_for_nothing(void **state)
{
    (void)state;
    write_text("a.lst", "\xEF\xBB\xBF# offices\r\n\r\n  192.0.2.1\t# Berlin\r\n\n\t2001:db8::/32 #x\n198.51.100.0/24");
    write_text("b.lst", "/a#b\n/c # d\n");
    struct policy *policy =
        open_good("version: 1\nexempt: { addresses: [a.lst, 10.0.0.0/8], paths: [b.lst, /e], methods: OPTIONS }\n");
    assert_int_equal(exempt(policy, "192.0.2.1", "/", "GET"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exempt(policy, "2001:db8:9::1", "/", "GET"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exempt(policy, "198.51.100.255", "/", "GET"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exempt(policy, "10.1.1.1", "/", "GET"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exempt(policy, "192.0.2.2", "/a#bc", "GET"), POLICY_EXEMPT_PATH);
    assert_int_equal(exempt(policy, "192.0.2.2", "/c", "GET"), POLICY_EXEMPT_PATH);
    assert_int_equal(exempt(policy, "192.0.2.2", "/e/f", "GET"), POLICY_EXEMPT_PATH);
    assert_int_equal(exempt(policy, "192.0.2.2", "/a", "OPTIONS"), POLICY_EXEMPT_METHOD);
    assert_int_equal(exempt(policy, "192.0.2.2", "/a", "GET"), POLICY_NOT_EXEMPT);
    assert_int_equal(exempt(policy, "192.0.2.2", "/E", "options"), POLICY_NOT_EXEMPT);
    policy_close(policy);
}

static void mistakes_in_a_list_have_its_own_name_and_line(void **state)
{
    (void)state;
    write_text("a.lst", "10.0.0.0/8\n\n  10.0.0.1/8 # x\nexample.com\nunix\n");
    write_text("b.lst", "/a\nb\n");
    write_text("o.lst", "10.0.0.1\n10.0.0.2 much\n10.0.0.3  5 per 1s\n10.0.0.3 unlimited\n");
    struct opened opened = open_text(
        "version: 1\nexempt: { addresses: a.lst, paths: b.lst }\n"
        "limits: { l: { by: address, allow: 1 per 1s, overrides: o.lst }, m: { by: addres, allow: 1 per 1s } }\n");
    assert_string_equal(
        opened.mistakes,
        "p.yaml:3:75: unknown key part \"addres\"; did you mean \"address\"?\n"
        "a.lst:3:3: \"10.0.0.1/8\" has bits set behind its prefix; write 10.0.0.0/8 for the network, or 10.0.0.1 for "
        "the one "
        "address\n"
        "a.lst:4:1: \"example.com\" is no address; write an address or a network a line, as 203.0.113.7 or 10.0.0.0/8\n"
        "a.lst:5:1: \"unix\" is no client's address; it belongs into `trusted` only\n"
        "b.lst:2:1: \"b\" does not begin with /; write a path's begin a line, as /webhooks/\n"
        "o.lst:1:1: \"10.0.0.1\" has no rate; write KEY and a rate a line, as `partner-key 500 per 10s`, or `KEY "
        "unlimited`\n"
        "o.lst:2:10: rate \"much\": \"much\" is no whole number; write N per T, as 50 per 10s\n"
        "o.lst:4:1: this network is overridden twice, also at line 3; leave one out\n");
    close_opened(&opened);
}

static void a_list_is_found_beside_its_policy(void **state)
{
    write_text("a.lst", "192.0.2.1\n");
    write_text("p.yaml", "version: 1\nexempt: { addresses: a.lst }\n");
    char path[100];
    snprintf(path, sizeof(path), "%s/p.yaml", (const char *)*state);
    assert_int_equal(chdir("/"), 0);
    struct opened opened = open_file(path);
    assert_int_equal(chdir(*state), 0);
    assert_null(opened.mistakes);
    assert_int_equal(exempt(opened.policy, "192.0.2.1", "/", "GET"), POLICY_EXEMPT_ADDRESS);
    close_opened(&opened);
}

static void a_policy_may_come_through_a_pipe(void **state)
{
    (void)state;
    static const char text[] = "version: 1\nexempt: { methods: PUT }\n";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
    close(ends[1]);
    char path[32];
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    struct opened opened = open_file(path);
    close(ends[0]);
    assert_null(opened.mistakes);
    assert_int_equal(exempt(opened.policy, "192.0.2.1", "/", "PUT"), POLICY_EXEMPT_METHOD);
    close_opened(&opened);
}

static void too_large_a_file_is_refused(void **state)
{
    (void)state;
    write_text("p.yaml", "");
    assert_int_equal(truncate("p.yaml", ((off_t)16 << 20) + 1), 0);
    struct opened opened = open_file("p.yaml");
    assert_string_equal(opened.mistakes,
                        "p.yaml:1:1: the policy cannot be read (it is larger than 16 MB); name a file that is "
                        "there and readable\n");
    close_opened(&opened);
    opened = open_file("/dev/zero");
    assert_string_equal(opened.mistakes,
                        "/dev/zero:1:1: the policy cannot be read (it is larger than 16 MB); name a file that is "
                        "there and readable\n");
    close_opened(&opened);
}

static void a_hundred_thousand_networks_are_one_lookup(void **state)
{
    (void)state;
    FILE *out = fopen("a.lst", "w");
    assert_non_null(out);
    for (unsigned i = 0; i < 100000; i++)
        fprintf(out, "%u.%u.%u.0/25\n", 20 + i / 65536, i / 256 % 256, i % 256);
    assert_int_equal(fclose(out), 0);
    struct policy *policy = open_good("version: 1\nexempt: { addresses: a.lst }\n");
    assert_int_equal(exempt(policy, "20.7.7.127", "/", "GET"), POLICY_EXEMPT_ADDRESS);
    assert_int_equal(exempt(policy, "20.7.7.128", "/", "GET"), POLICY_NOT_EXEMPT);
    policy_close(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_blank_lines_and_line_ends_count_for_nothing),
        cmocka_unit_test(mistakes_in_a_list_have_its_own_name_and_line),
        cmocka_unit_test(a_list_is_found_beside_its_policy),
        cmocka_unit_test(a_policy_may_come_through_a_pipe),
        cmocka_unit_test(too_large_a_file_is_refused),
        cmocka_unit_test(a_hundred_thousand_networks_are_one_lookup),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
