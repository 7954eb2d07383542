/* Whom a cookie names: one account and one token, however it is spelled. */
#include "limiter_test_support.h"

static struct drossel_decision ask(struct drossel *limiter, const char *line)
{
    struct drossel_request request = request_of("192.0.2.1", "/", 0);
    struct drossel_header header = { text_of("Cookie"), text_of(line) };
    request.headers = &header;
    request.header_count = 1;
    return decide(limiter, &request);
}

struct spellings {
    const char *one, *other;
    bool same;
};

static void assert_counted(const char *policy, const struct spellings *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct drossel *limiter = open_policy(policy);
        assert_int_equal(ask(limiter, cases[i].one).verdict, DROSSEL_ALLOW);
        enum drossel_verdict second = ask(limiter, cases[i].other).verdict;
        if (second != (cases[i].same ? DROSSEL_REFUSE : DROSSEL_ALLOW))
            fail_msg("%s and %s", cases[i].one, cases[i].other);
        drossel_close(limiter);
    }
}

static const char by_account[] = "client: { account_from: [cookie.user_id] }\n"
                                 "limits:\n  one: { by: account, allow: 1 per 60s }\n";

static void an_account_in_a_cookie_is_one_however_it_is_spelled(void **state)
{
    (void)state;
    static const struct spellings cases[] = {
        { "user_id=a@x.example", "user_id=a%40x.example", true },
        { "user_id=a@x.example", "user_id=%61%40x.e%58ample", true },
        { "user_id=a%40x.example", "user_id=%41@x.example", true },
        { "user_id=a@x.example", "user_id=%20%09a@x.example%0a", true },
        { "user_id=a@x.example", "user_id=\"\\141@x.example\"", true },
        { "user_id=a@x.example", "user.id=a@x.example", true },
        { "user_id=a@x.example", "user_id = a@x.example", true },
        { "user_id=a@x.example", "USER_ID=a@x.example", true },
        { "user_id=jane doe", "user_id=jane%20doe", true },
        { "user_id=jane doe", "user_id=jane+doe", true },
        { "user_id=a+tag@x.example", "user_id=a%2Btag@x.example", true },
        { "user_id=m%C3%BCller", "user_id=mu%CC%88ller", true },
        { "user_id=100%", "user_id=100%25", true },
        { "user_id=a+tag@x.example", "user_id=a@x.example", false },
        { "user_id=jane%20doe", "user_id=jane%2Bdoe", false },
        { "user_id=a@x.example", "user_id=a%2540x.example", false },
        { "user_id=a@x.example", "user_id=b@x.example", false },
    };
    assert_counted(by_account, cases, sizeof cases / sizeof *cases);
}

static void a_token_in_a_cookie_is_one_however_it_is_spelled(void **state)
{
    (void)state;
    static const char policy[] = "client: { token_from: [cookie.sid] }\n"
                                 "limits:\n  one: { by: token, allow: 1 per 60s }\n";
    static const struct spellings cases[] = {
        { "sid=s:abc", "sid=s%3Aabc", true },
        { "sid=abc", "sid=%61bc", true },
        { "sid=abc", "sid=\"\\141bc\"", true },
        { "sid=a+b", "sid=a%2bb", true },
        { "sid=a+b", "sid=a%20b", true },
        { "sid=a b", "sid=a+b", true },
        { "sid=abc", "SID=abc", true },
        { "sid=abc", "sid=; sid=abc", true },
        { "sid=%20; sid=abc", "sid=%00; sid=abd", true },
        { "sid=abc", "sid=ABC", false },
        { "sid=abc", "sid=ab%63d", false },
    };
    assert_counted(policy, cases, sizeof cases / sizeof *cases);
}

/* Sessions that are kept in the cookie itself are some kilobytes long. */
static void a_long_token_is_one_however_it_is_spelled(void **state)
{
    (void)state;
    static const size_t sizes[] = { 250, 256, 257, 300, 3000, 4096 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char one[5000] = "sid=%41", other[5000] = "sid=A%42", third[5000] = "sid=%41";
        memset(one + strlen(one), 'B', sizes[i] - 1);
        memset(other + strlen(other), 'B', sizes[i] - 2);
        memset(third + strlen(third), 'B', sizes[i] - 2);
        strcat(third, "C");
        struct drossel *limiter = open_policy("client: { token_from: [cookie.sid] }\n"
                                              "limits:\n  one: { by: token, allow: 1 per 60s }\n");
        assert_int_equal(ask(limiter, one).verdict, DROSSEL_ALLOW);
        assert_int_equal(ask(limiter, other).verdict, DROSSEL_REFUSE);
        assert_int_equal(ask(limiter, third).verdict, DROSSEL_ALLOW);
        drossel_close(limiter);
    }
}

/* Padding is no way around either: what is too long to be kept is counted all the same. */
static void a_value_longer_than_its_room_is_counted(void **state)
{
    (void)state;
    static char padded[30000] = "user_id=", twice[30000] = "user_id=";
    for (size_t i = 0; i < 3000; i++)
        strcat(padded, "%20");
    strcat(padded, "%61@x.example");
    for (size_t i = 0; i < 1500; i++)
        strcat(twice, "%78");
    strcat(twice, "; user_id=%61@x.example");
    struct drossel *limiter = open_policy(by_account);
    assert_int_equal(ask(limiter, padded).verdict, DROSSEL_ALLOW);
    assert_int_equal(ask(limiter, "user_id=a@x.example").verdict, DROSSEL_REFUSE);
    assert_int_equal(ask(limiter, twice).verdict, DROSSEL_REFUSE);
    drossel_close(limiter);
}

/* Applications differ in what `+` is, so both names are charged; a success then clears neither. */
static void a_plus_charges_both_of_its_readings(void **state)
{
    (void)state;
    struct drossel *limiter = open_policy(by_account);
    assert_int_equal(ask(limiter, "user_id=a+b").ticket.count, 0);
    assert_int_equal(ask(limiter, "user_id=a%20b").verdict, DROSSEL_REFUSE);
    assert_int_equal(ask(limiter, "user_id=a%2Bb").verdict, DROSSEL_REFUSE);
    drossel_close(limiter);
}

/* An override is found by what the token is, not by how it was sent. */
static void an_override_applies_to_every_spelling(void **state)
{
    (void)state;
    struct drossel *limiter =
        open_policy("client: { token_from: [cookie.sid] }\n"
                    "limits:\n  one: { by: token, allow: 1 per 60s, overrides: { partner: 3 per 60s } }\n");
    assert_int_equal(ask(limiter, "sid=partner").remaining, 2);
    assert_int_equal(ask(limiter, "sid=%70artner").remaining, 1);
    assert_int_equal(ask(limiter, "sid=\"part\\156er\"").remaining, 0);
    drossel_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_in_a_cookie_is_one_however_it_is_spelled),
        cmocka_unit_test(a_token_in_a_cookie_is_one_however_it_is_spelled),
        cmocka_unit_test(a_long_token_is_one_however_it_is_spelled),
        cmocka_unit_test(a_value_longer_than_its_room_is_counted),
        cmocka_unit_test(a_plus_charges_both_of_its_readings),
        cmocka_unit_test(an_override_applies_to_every_spelling),
    };
    return cmocka_run_group_tests_name("cookie", tests, NULL, NULL);
}
