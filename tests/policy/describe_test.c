/* The policy in sentences says what the policy does. */
#include "opened.h"

static char *described(const struct policy *policy)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    policy_describe(policy, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static const char *const head =
    "version: 1\nclasses: { static: { path_ends: [.css, .js] }, login: { method: POST, path: /login } }\n"
    "client: { token_from: header.X-Key, trusted: 127.0.0.1, address_from: CF-Connecting-IP,\n"
    "  account_from: [form.mail, json.user.mail] }\n";

static const struct {
    const char *limits, *sentence;
} cases[] = {
    { "{}", "The client's address is taken from CF-Connecting-IP if the connection comes from 127.0.0.1.\n" },
    { "{}", "A request is `login` if the method is POST and the path is /login.\n" },
    { "{}", "A request is `static` if the path ends in .css or .js.\n" },
    { "{}", "There are no limits.\n" },
    { "{ page: { for: not static, by: address, allow: 50 per 10s } }",
      "\npage: a request that is not `static` may be made 50 times in any 10 s by one address; the 51st gets a 429 "
      "with "
      "Retry-After.\n" },
    { "{ a: { for: [login, not static], by: [token, address], allow: 1 per 15m, action: drop } }",
      "\na: a request that is `login` and not `static` may be made 1 time in any 15 min by one token and address; the "
      "2nd is "
      "dropped without an answer.\n" },
    { "{ a: { by: site, allow: 11 per 1d, algorithm: fixed } }",
      "\na: any request may be made 11 times in each 1 day of the clock by everybody together; the 12th gets a 429 "
      "with "
      "Retry-After.\n" },
    { "{ a: { by: address, allow: 22 per 1h, algorithm: fixed, from: first } }",
      "may be made 22 times in 1 h from the first one on by one address; the 23rd gets" },
    { "{ a: { by: address, allow: 5 per 1s, algorithm: bucket, burst: 20 } }",
      "may be made 20 times at once, and then 5 per 1 s by one address; the 21st gets" },
    { "{ a: { by: address, allow: 5 per 1m, algorithm: leaky, burst: 3 } }",
      "may be made once each 12 s with a burst of 3 more by one address; the 5th gets" },
    { "{ a: { by: address, allow: 0 per 1m, answer: { status: 503 } } }",
      "\na: any request is never let through by one address; it gets a 503.\n" },
    { "{ a: { by: address, allow: 0 per 1s, action: delay } }",
      "\na: any request is never let through by one address; it gets a 429.\n" },
    { "{ a: { by: address, allow: 5 per 1m, algorithm: leaky, burst: 3, action: delay } }",
      "the 5th gets a 429 with Retry-After.\n  Those of the burst are held back until the rate allows them.\n" },
    { "{ a: { by: address, allow: 5 per 1m, action: delay, count_refused: true } }",
      "the 6th is held back until it fits, for up to 1 min; what would have to wait longer gets a 429 with "
      "Retry-After.\n" },
    { "{ a: { by: address, allow: 5 per 1m, action: challenge, block: 15m, count_refused: true } }",
      "  Who exceeds it is challenged by this limit for 15 min.\n  Refused requests count, too.\n" },
    { "{ a: { by: address, allow: 0 per 1s, action: drop } }",
      "\na: any request is never let through by one address; it is dropped without an answer.\n" },
    { "{ a: { by: site, allow: 0 per 1s, action: mark } }",
      "\na: any request is always too much by everybody together; it goes through with a mark.\n" },
    { "{ a: { by: address, allow: 5 per 1m, block: { for: 15m, factor: 2, max: 1d, forgive: 7d } } }",
      "  Who exceeds it is refused by this limit for 15 min.\n  Each further time is 2 times as long, up to 1 day, "
      "until nothing "
      "happened for 7 days.\n" },
    { "{ a: { by: address, allow: 5 per 1m, ban: 5m, extend: true } }",
      "  Who exceeds it is banned: every limit refuses the address for 5 min, anew with each request meanwhile.\n" },
    { "{ a: { by: address, allow: 5 per 1m, dry_run: true, overrides: { 10.0.0.1: unlimited } } }",
      "  1 named key has other limits.\n  This is a dry run: it counts, logs and marks, and refuses nobody.\n" },
    { "{ a: { for: login, by: [account, address], allow: 5 failures per 15m } }",
      "\na: a request that is `login` may fail 5 times in any 15 min by one account and address; whatever comes after "
      "that gets a 429 with Retry-After.\n"
      "  A request that only unanswered ones stand in the way of is held for up to 2 s.\n" },
    { "{ a: { by: address, allow: 5 failures per 15m } }",
      "A failure is an answer of status 400, 401, 403 or 422.\nA success is an answer of status 200, 201, 204, 302 or "
      "303.\nA request counts as a failure until it is answered, and for good if it never is.\n" },
    { "{ a: { by: address, allow: 5 failures per 15m } }\noutcomes: { failure: { header.X-O: bad }, success: { status: "
      "200 } }",
      "A failure is an answer with the header x-o: bad.\nA success is an answer of status 200.\n" },
    { "{ a: { by: account, allow: 5 failures per 15m, hold: 0, reset_on: success, block: 15m } }",
      "  No request is held until others are answered.\n  A success clears the failures of its key.\n  Who exceeds it "
      "is "
      "refused by this limit for 15 min.\n" },
    { "{ a: { by: site, allow: 200 failures per 10m, action: challenge } }",
      "may fail 200 times in any 10 min by everybody together; whatever comes after that goes through, and the "
      "application is told to ask for more.\n" },
    { "{ a: { by: site, allow: 20 failures per 1h, action: challenge, challenge_to: /verify, cost: 2 } }",
      "may spend on failures 20 units in any 1 h by everybody together; whatever comes after that is sent to "
      "/verify.\n" },
    { "{ a: { by: account, allow: 5 failures per 15m, dry_run: true } }",
      "  What only unanswered ones stand in the way of passes.\n  This is a dry run" },
    { "{ a: { by: account, allow: 5 failures per 15m, action: mark } }",
      "  What only unanswered ones stand in the way of passes.\n" },
    { "{ a: { by: address, allow: 1 per 1m, cost: { login: 2 } } }", "may spend 1 unit in any 1 min by one address;" },
    { "{ a: { by: address, allow: 5 per 1m, algorithm: bucket, burst: 1, cost: { login: 0 } } }",
      "may spend 1 unit at once, and then 5 per 1 min by one address;" },
    { "{ a: { by: address, allow: 5 per 1m, algorithm: leaky, burst: 4, cost: { login: 2 } } }",
      "may spend 1 unit each 12 s with a burst of 4 more by one address; what goes beyond gets a 429" },
    { "{ a: { by: address, allow: 5 per 1m, answer: { body: html, reveal: everyone } } }",
      "  Its answer has HTML.\n  RateLimit fields are shown to everyone.\n" },
    { "{ a: { by: address, allow: 5 per 1m, answer: { headers: [retry-after] } } }",
      "with Retry-After.\n  No RateLimit fields are shown.\n" },
    { "{ a: { by: address, allow: 5 per 1m, answer: { status: 503 }, only: nginx } }",
      "  It applies at nginx only.\n" },
    { "{ a: { by: account, allow: 50 per 1m } }",
      "The account is taken from the form field mail, else from the JSON value user.mail.\n" },
    { "{ a: { by: account, allow: 50 per 1m } }",
      "The body of a request is read for the account, up to 65536 bytes of it.\n" },
    { "{}\nsecret_file: secret", "Keys are hashed with the secret of the secret file.\n" },
    { "{ a: { by: address, allow: 50 per 1m, cost: { login: 20 }, only: [nginx, php] } }",
      "  A request costs 1, 20 if it is `login`.\n  It applies at nginx and php only.\n" },
};

static void sentences_say_what_the_policy_does(void **state)
{
    (void)state;
    write_text("secret", "0123456789abcdef");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[1000];
        snprintf(yaml, sizeof(yaml), "%slimits: %s\n", head, cases[i].limits);
        struct policy *policy = open_good(yaml);
        char *text = described(policy);
        if (strstr(text, cases[i].sentence) == NULL)
            print_error("expected\n%s\nin\n%s\n", cases[i].sentence, text);
        assert_non_null(strstr(text, cases[i].sentence));
        free(text);
        policy_close(policy);
    }
}

static void the_proxy_protocol_is_believed_from_trusted_senders_only(void **state)
{
    (void)state;
    struct policy *policy =
        open_good("version: 1\nclient: { trusted: [10.0.0.0/8, unix], address_from: proxy_protocol }\n");
    char *text = described(policy);
    assert_non_null(strstr(text, "The client's address is taken from the PROXY protocol if the connection comes from "
                                 "10.0.0.0/8 or unix.\n"));
    free(text);
    policy_close(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sentences_say_what_the_policy_does),
                                        cmocka_unit_test(the_proxy_protocol_is_believed_from_trusted_senders_only) };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
