/* Other limits for named keys: found by address, narrowest first, or by text; with the limit's own seeds. */
#include "opened.h"

static const struct policy_override *find(const struct policy *policy, uint32_t limit, const char *text,
                                          const char *address)
{
    struct drossel_address parsed;
    if (address != NULL)
        assert_int_equal(drossel_address_parse(address, strlen(address), &parsed), DROSSEL_OK);
    return policy_override_find(policy->limits[limit].overrides, (struct drossel_text){ text, strlen(text) },
                                address != NULL ? &parsed : NULL);
}

static void the_narrowest_network_wins(void **state)
{
    (void)state;
    struct policy *policy =
        open_good("version: 1\nlimits: { a: { by: address, allow: 1 per 1s, overrides: { 10.0.0.0/8: 2 per 1s, "
                  "10.1.0.0/16: 3 per 1s,\n"
                  "  10.1.0.0/24: 4 per 1s, 10.1.0.7: unlimited, 10.255.0.0/16: 5 per 1s, \"2001:db8::/33\": 6 per 1s, "
                  "\"2001:db8::1\": 7 per 1s } } }\n");
    static const struct {
        const char *address;
        uint64_t count; /* 0: none; 99: unlimited */
    } cases[] = { { "9.255.255.255", 0 }, { "10.0.0.0", 2 },    { "10.1.0.0", 4 },        { "10.1.0.7", 99 },
                  { "10.1.0.8", 4 },      { "10.1.1.0", 3 },    { "10.1.255.255", 3 },    { "10.2.0.0", 2 },
                  { "10.255.3.4", 5 },    { "11.0.0.0", 0 },    { "2001:db8:7fff::", 6 }, { "2001:db8:8000::", 0 },
                  { "2001:db8::1", 7 },   { "2001:db8::2", 6 }, { "::a01:7", 0 },         { "::ffff:10.1.0.7", 99 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct policy_override *found = find(policy, 0, "", cases[i].address);
        assert_true((found == NULL) == (cases[i].count == 0));
        if (found != NULL && cases[i].count == 99)
            assert_true(found->unlimited && found->rate_count == 0);
        else if (found != NULL)
            assert_int_equal(policy->rates[found->first_rate].engine.spec.count, cases[i].count);
    }
    policy_close(policy);
}

static void texts_are_found_as_they_are_written(void **state)
{
    (void)state;
    struct policy *policy = open_good(
        "version: 1\nclient: { token_from: bearer }\nlimits: { a: { by: [token, address], allow: 1 per 1s,\n"
        "  overrides: { partner-key: 500 per 10s, 10.0.0.1: unlimited } }, b: { by: token, allow: 1 per 1s } }\n");
    assert_non_null(find(policy, 0, "partner-key", NULL));
    assert_null(find(policy, 0, "Partner-Key", NULL));
    assert_null(find(policy, 0, "partner", NULL));
    assert_null(find(policy, 0, "", NULL));
    assert_true(find(policy, 0, "", "10.0.0.1")->unlimited);
    assert_null(find(policy, 1, "partner-key", NULL));
    assert_null(policy->limits[1].overrides);
    policy_close(policy);
}

static void an_account_is_found_in_each_of_its_spellings(void **state)
{
    (void)state;
    struct policy *policy = open_good(
        "version: 1\nclient: { account_from: basic, token_from: bearer }\nlimits: { a: { by: [account, address], "
        "allow: 9 per 1s,\n  overrides: { Stra\u00dfe@Example.com: 5 per 1s, 10.0.0.1: unlimited } }, b: { by: token, "
        "allow: 1 per 1s,\n  overrides: { alice: unlimited } } }\n");
    const struct policy_overrides *overrides = policy->limits[0].overrides;
    static const struct drossel_text spellings[] = { DROSSEL_TEXT("stra\u00dfe@example.com"),
                                                     DROSSEL_TEXT(" STRASSE@EXAMPLE.COM."),
                                                     DROSSEL_TEXT("\uff33trasse@example.com") },
                                     others[] = { DROSSEL_TEXT("strase@example.com"), DROSSEL_TEXT("10.0.0.1"),
                                                  DROSSEL_TEXT(""), DROSSEL_TEXT(" ") };
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
        assert_non_null(policy_override_of_account(overrides, spellings[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_null(policy_override_of_account(overrides, others[i]));
    assert_null(policy_override_of_account(policy->limits[1].overrides, (struct drossel_text)DROSSEL_TEXT("alice")));
    assert_null(policy_override_of_account(NULL, spellings[0]));
    policy_close(policy);
    struct opened opened = open_text("version: 1\nlimits: { a: { by: account, allow: 9 per 1s, overrides: {\n"
                                     "  alice: 5 per 1s, Alice: unlimited } } }\n");
    assert_string_equal(opened.mistakes, "p.yaml:3:20: \"Alice\" is an account that is overridden above in another "
                                         "spelling; leave one out\n");
    close_opened(&opened);
}

static void overriding_rates_have_the_seeds_and_names_of_the_limit_s_by_place(void **state)
{
    (void)state;
    struct policy *policy =
        open_good("version: 1\nlimits: { a: { by: address, allow: [5 per 1s, 50 per 1m], ban: 1h,\n"
                  "  overrides: { 10.0.0.1: 9 per 1s, 10.0.0.2: [7 per 2s, 70 per 2m, 700 per 1h] } } }\n");
    const struct policy_override *one = find(policy, 0, "", "10.0.0.1"), *three = find(policy, 0, "", "10.0.0.2");
    assert_int_equal(policy->rate_count, 6);
    assert_int_equal(one->rate_count, 1);
    assert_int_equal(three->rate_count, 3);
    assert_true(policy->rates[one->first_rate].seed == policy->rates[0].seed);
    assert_string_equal(policy->rates[one->first_rate].name, "a-1s");
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(policy->rates[three->first_rate + i].seed == policy->rates[i].seed);
        assert_string_equal(policy->rates[three->first_rate + i].name, policy->rates[i].name);
    }
    assert_true(policy->rates[three->first_rate + 2].seed != policy->rates[0].seed);
    assert_string_equal(policy->rates[three->first_rate + 2].name, "a-1h-3");
    assert_int_equal(policy->rates[three->first_rate].engine.spec.flags, ENGINE_BAN);
    assert_int_equal(policy->rates[three->first_rate].limit, 0);
    policy_close(policy);
}

static void ten_thousand_keys_of_one_rate_share_it(void **state)
{
    (void)state;
    FILE *out = fopen("o.lst", "w");
    assert_non_null(out);
    for (unsigned i = 0; i < 10000; i++)
        fprintf(out, "key-%u %s\n", i, i % 2 == 0 ? "500 per 10s" : "unlimited");
    assert_int_equal(fclose(out), 0);
    struct policy *policy =
        open_good("version: 1\nlimits: { a: { by: header.X-Key, allow: 1 per 1s, overrides: o.lst } }\n");
    assert_int_equal(policy->rate_count, 2);
    assert_false(find(policy, 0, "key-9998", NULL)->unlimited);
    assert_true(find(policy, 0, "key-9999", NULL)->unlimited);
    assert_null(find(policy, 0, "key-10000", NULL));
    policy_close(policy);
}

static void more_rates_than_the_table_knows_are_refused(void **state)
{
    (void)state;
    FILE *out = fopen("o.lst", "w");
    assert_non_null(out);
    for (unsigned i = 0; i < 5000; i++)
        fprintf(out, "key-%u %u per 10s\n", i, i + 1);
    assert_int_equal(fclose(out), 0);
    struct opened opened =
        open_text("version: 1\nlimits: { a: { by: header.X-Key, allow: 1 per 1s, overrides: o.lst } }\n");
    assert_non_null(opened.mistakes);
    assert_non_null(strstr(opened.mistakes,
                           "o.lst:4093:10: more than 4093 rates in all limits and overrides together; let keys "
                           "share rates\n"));
    close_opened(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_narrowest_network_wins),
        cmocka_unit_test(texts_are_found_as_they_are_written),
        cmocka_unit_test(an_account_is_found_in_each_of_its_spellings),
        cmocka_unit_test(overriding_rates_have_the_seeds_and_names_of_the_limit_s_by_place),
        cmocka_unit_test(ten_thousand_keys_of_one_rate_share_it),
        cmocka_unit_test(more_rates_than_the_table_knows_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
