/* The family of the Common Log Format, and how its lines go wrong in practice. */
#include "told.h"

#define COUNT(table) (sizeof table / sizeof *table)
#define AT "[10/Oct/2000:13:55:36 -0700]"
#define T "t=971211336.000000000; "
#define GET " \"GET /a HTTP/1.1\" 200 12"
#define TOLD_GET "method=GET; target=/a; protocol=HTTP/1.1; status=200; bytes=12"

static void the_plain_lines_of_the_family_are_read(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "192.0.2.1 - - " AT GET " \"-\" \"-\"", T "client=192.0.2.1; " TOLD_GET },
        { "192.0.2.1 - bob " AT GET " \"https://r.example/\" \"Mozilla/5.0 (X11)\"",
          T "client=192.0.2.1; user=bob; " TOLD_GET "; agent=Mozilla/5.0 (X11); referer=https://r.example/" },
        { "2001:db8::1 - - " AT GET " \"-\" \"UA\"", T "client=2001:db8::1; " TOLD_GET "; agent=UA" },
        { "client.example.net - - " AT GET, T "client=client.example.net; " TOLD_GET },
        { "192.0.2.1:4711 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "[2001:db8::1]:443 - - " AT GET, T "client=2001:db8::1; " TOLD_GET },
        /* the list of X-Forwarded-For behind */
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" \"203.0.113.1\"",
          T "client=192.0.2.1; " TOLD_GET "; agent=UA; forwarded=203.0.113.1" },
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" \"203.0.113.1, 198.51.100.2\"",
          T "client=192.0.2.1; " TOLD_GET "; agent=UA; forwarded=203.0.113.1, 198.51.100.2" },
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" \"-\"", T "client=192.0.2.1; " TOLD_GET "; agent=UA" },
        /* whatever a client puts before the entry of a proxy */
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" \"x, \\x22, 203.0.113.1\"",
          T "client=192.0.2.1; " TOLD_GET "; agent=UA; forwarded=x, \", 203.0.113.1" },
        /* the list in the place of the client, which is its first */
        { "203.0.113.1, 198.51.100.2 - bob " AT GET " \"-\" \"UA\"",
          T "client=203.0.113.1; user=bob; " TOLD_GET "; agent=UA; forwarded=203.0.113.1, 198.51.100.2" },
        { "2001:db8::1,198.51.100.2,10.0.0.1 - - " AT GET,
          T "client=2001:db8::1; " TOLD_GET "; forwarded=2001:db8::1,198.51.100.2,10.0.0.1" },
        { "203.0.113.1,10.0.0.1 - - " AT GET, T "client=203.0.113.1; " TOLD_GET "; forwarded=203.0.113.1,10.0.0.1" },
        { "203.0.113.1, 10.0.0.1 " AT GET, T "client=203.0.113.1; " TOLD_GET "; forwarded=203.0.113.1, 10.0.0.1" },
        { "a,b - - " AT GET, T "client=a,b; " TOLD_GET },
        /* $time_iso8601 */
        { "192.0.2.1 - - [2000-10-10T13:55:36-07:00]" GET " \"-\" \"UA\"",
          T "client=192.0.2.1; " TOLD_GET "; agent=UA" },
        { "192.0.2.1 - [2011-11-11 11:11:11 +0000] [2000-10-10 20:55:36.25 +0000]" GET,
          "t=971211336.250000000; client=192.0.2.1; user=[2011-11-11 11:11:11 +0000]; " TOLD_GET },
        /* something else there is not a list of clients */
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" \"TLSv1.3\"", T "client=192.0.2.1; " TOLD_GET "; agent=UA" },
        /* Traefik */
        { "172.17.0.1 - - " AT GET " \"-\" \"UA\" 500 \"test@docker\" \"http://172.17.0.3:80\" 42ms",
          T "client=172.17.0.1; " TOLD_GET "; ns=42000000; agent=UA" },
        /* nginx's $request_time at the end, bare, named, or missing */
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" \"-\" 0.057",
          T "client=192.0.2.1; " TOLD_GET "; ns=57000000; agent=UA" },
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" rt=1.500 uct=0.001",
          T "client=192.0.2.1; " TOLD_GET "; ns=1500000000; agent=UA" },
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" \"-\" - 0.321",
          T "client=192.0.2.1; " TOLD_GET "; ns=321000000; agent=UA" },
        /* a whole number may mean anything */
        { "192.0.2.1 - - " AT GET " \"-\" \"UA\" 116075", T "client=192.0.2.1; " TOLD_GET "; agent=UA" },
        /* a status or size that is missing */
        { "192.0.2.1 - - " AT " \"GET /a HTTP/1.1\" - - \"-\" \"UA\"",
          T "client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; agent=UA" },
        { "192.0.2.1 - - " AT " \"GET /a HTTP/1.1\" 304 -",
          T "client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; status=304" },
        { "192.0.2.1 - - " AT " \"GET /a HTTP/1.1\" 200 99999999999999999999999999",
          T "client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; status=200" },
    };
    static const char *const formats[] = { "combined", "common", "combined_forwarded", "traefik_clf" };
    for (size_t i = 0; i < COUNT(formats); i++)
        assert_all_told(formats[i], NULL, cases, COUNT(cases));
}

static void a_virtual_host_may_stand_before(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "shop.example:443 192.0.2.1 - bob " AT GET " \"-\" \"UA\"",
          T "client=192.0.2.1; user=bob; " TOLD_GET "; host=shop.example; agent=UA" },
        { "shop.example 2001:db8::1 - - " AT GET, T "client=2001:db8::1; " TOLD_GET "; host=shop.example" },
        { "localhost:443 192.0.2.1 1j0vhgd jsmith " AT GET " \"-\" \"UA\" 116075",
          T "client=192.0.2.1; user=jsmith; " TOLD_GET "; host=localhost; agent=UA" },
        /* BunkerWeb: the number of the request before the user */
        { "shop.example 192.0.2.1 - 95386da81aa13b6a - " AT GET,
          T "client=192.0.2.1; " TOLD_GET "; host=shop.example" },
        /* and a line without a host in such a file */
        { "192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
    };
    assert_all_told("vhost_combined", NULL, cases, COUNT(cases));
    assert_all_told("combined", NULL, cases, COUNT(cases));
}

static void a_host_is_a_host_by_name_even_where_it_looks_like_a_client(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "198.51.100.7:443 client.example.net - - " AT GET,
          T "client=client.example.net; " TOLD_GET "; host=198.51.100.7" },
        { "198.51.100.7:443 192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET "; host=198.51.100.7" },
    };
    assert_all_told("vhost_combined", NULL, cases, COUNT(cases));
}

static void users_may_be_called_anything(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "192.0.2.1 - John Smith " AT GET, T "client=192.0.2.1; user=John Smith; " TOLD_GET },
        { "192.0.2.1 - john [admin] smith " AT GET, T "client=192.0.2.1; user=john [admin] smith; " TOLD_GET },
        { "192.0.2.1 - [10/Oct/2000 " AT GET, T "client=192.0.2.1; user=[10/Oct/2000; " TOLD_GET },
        { "192.0.2.1 - bob@example.org " AT GET, T "client=192.0.2.1; user=bob@example.org; " TOLD_GET },
        { "192.0.2.1 - \"\" " AT GET, T "client=192.0.2.1; user=\"\"; " TOLD_GET },
        { "192.0.2.1 ident bob " AT GET, T "client=192.0.2.1; user=bob; " TOLD_GET },
        { "192.0.2.1 -  bob  " AT GET, T "client=192.0.2.1; user=bob; " TOLD_GET },
        { "192.0.2.1 - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "192.0.2.1 " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "  192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        /* a time is where the request follows, whatever a client calls itself */
        { "192.0.2.1 - [11/Nov/2011:11:11:11 +0000] " AT GET,
          T "client=192.0.2.1; user=[11/Nov/2011:11:11:11 +0000]; " TOLD_GET },
        { "192.0.2.1 - - [11/Nov/2011:11:11:11 +0000] " AT GET " \"-\" \"UA\"",
          T "client=192.0.2.1; user=- [11/Nov/2011:11:11:11 +0000]; " TOLD_GET "; agent=UA" },
        { "192.0.2.1 - a [11/Nov/2011:11:11:11 +0000] \\\"GET / HTTP/1.1\\\" 200 1 " AT GET,
          T "client=192.0.2.1; user=a [11/Nov/2011:11:11:11 +0000] \"GET / HTTP/1.1\" 200 1; " TOLD_GET },
        /* what is escaped in a name is undone as everywhere */
        { "192.0.2.1 - j\\xC3\\xB6rg\\x22 " AT GET, T "client=192.0.2.1; user=j\xc3\xb6rg\"; " TOLD_GET },
        /* with tabs between */
        { "192.0.2.1\t-\tbob\t" AT "\t\"GET /a HTTP/1.1\"\t200\t12\t\"-\"\t\"UA\"",
          T "client=192.0.2.1; user=bob; " TOLD_GET "; agent=UA" },
    };
    assert_all_told("combined", NULL, cases, COUNT(cases));
}

static void escapes_are_undone_and_quotes_inside_end_nothing(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "192.0.2.1 - - " AT " \"GET /a\\\"b HTTP/1.1\" 200 1 \"r\\\\\" \"U \\\"A\\\"\"",
          T "client=192.0.2.1; method=GET; target=/a\"b; protocol=HTTP/1.1; status=200; bytes=1; agent=U \"A\"; "
            "referer=r\\" },
        { "192.0.2.1 - - " AT " \"GET /a\\x22b HTTP/1.1\" 200 1 \"-\" \"\\xe4\\x5Cx41\"",
          T "client=192.0.2.1; method=GET; target=/a\"b; protocol=HTTP/1.1; status=200; bytes=1; agent=\xe4\\x41" },
        { "192.0.2.1 - - " AT " \"GET /a HTTP/1.1\" 200 1 \"-\" \"tab\\tnew\\nodd\\qhex\\xZZend\\",
          T "client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; status=200; bytes=1; "
            "agent=tab\tnew\nodd\\qhex\\xZZend\\" },
        { "192.0.2.1 - - " AT " \"GET /\\u00e9\\u20AC HTTP/1.1\" 200 1 \"-\" \"\\ud83d\\ude00 \\ud83d \\u12 \\u0041\"",
          T "client=192.0.2.1; method=GET; target=/\xc3\xa9\xe2\x82\xac; protocol=HTTP/1.1; status=200; bytes=1; "
            "agent=\xf0\x9f\x98\x80 \xed\xa0\xbd \\u12 A" },
        /* servers that escape nothing: the quote with a status behind it is meant */
        { "192.0.2.1 - - " AT " \"GET /a\"b\"c HTTP/1.1\" 200 1",
          T "client=192.0.2.1; method=GET; target=/a\"b\"c; protocol=HTTP/1.1; status=200; bytes=1" },
        /* a line cut off inside the agent */
        { "192.0.2.1 - - " AT GET " \"-\" \"Mozilla/5.0 (X1",
          T "client=192.0.2.1; " TOLD_GET "; agent=Mozilla/5.0 (X1" },
    };
    assert_all_told("combined", NULL, cases, COUNT(cases));
}

static void what_is_no_request_line_is_still_a_request(void **state)
{
    (void)state;
#define REST "\" 400 157 \"-\" \"-\""
#define TOLD_400 T "client=192.0.2.1; status=400; bytes=157"
    static const struct told_case cases[] = {
        { "192.0.2.1 - - " AT " \"-" REST, TOLD_400 },
        { "192.0.2.1 - - " AT " \"" REST, TOLD_400 },
        { "192.0.2.1 - - " AT " \"\\x16\\x03\\x01\\x00\\xf6\\x01\\x00\\x00\\\"x" REST, TOLD_400 },
        { "192.0.2.1 - - " AT " \"lv|'|'|VHJvamFu [endof]" REST, TOLD_400 },
        { "192.0.2.1 - - " AT " \"HELP" REST, TOLD_400 },
        { "192.0.2.1 - - " AT " \"say hello to me" REST, TOLD_400 },
        { "192.0.2.1 - - " AT " \"GET " REST, TOLD_400 },
        { "192.0.2.1 - - " AT " \"GET HTTP/1.1" REST, TOLD_400 },
        /* HTTP/0.9, proxies, blanks in the target, small letters, methods of WebDAV */
        { "192.0.2.1 - - " AT " \"GET /old" REST,
          T "client=192.0.2.1; method=GET; target=/old; status=400; bytes=157" },
        { "192.0.2.1 - - " AT " \"GET http://a.example/x HTTP/1.0" REST,
          T "client=192.0.2.1; method=GET; target=http://a.example/x; protocol=HTTP/1.0; status=400; bytes=157" },
        { "192.0.2.1 - - " AT " \"CONNECT a.example:25 HTTP/1.1" REST,
          T "client=192.0.2.1; method=CONNECT; target=a.example:25; protocol=HTTP/1.1; status=400; bytes=157" },
        { "192.0.2.1 - - " AT " \"GET /a b c HTTP/1.1" REST,
          T "client=192.0.2.1; method=GET; target=/a b c; protocol=HTTP/1.1; status=400; bytes=157" },
        { "192.0.2.1 - - " AT " \"get / HTTP/1.1" REST,
          T "client=192.0.2.1; method=get; target=/; protocol=HTTP/1.1; status=400; bytes=157" },
        { "192.0.2.1 - - " AT " \"VERSION-CONTROL * HTTP/1.1" REST,
          T "client=192.0.2.1; method=VERSION-CONTROL; target=*; protocol=HTTP/1.1; status=400; bytes=157" },
        { "192.0.2.1 - - " AT " \"GET / HTTP/2" REST,
          T "client=192.0.2.1; method=GET; target=/; protocol=HTTP/2; status=400; bytes=157" },
    };
    assert_all_told("combined", NULL, cases, COUNT(cases));
}

static void the_way_to_the_file_leaves_prefixes(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "Sep 15 16:13:46 web.example nginx[2869]: 192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "Sep  5 16:13:46 web nginx: 192.0.2.1 - bob " AT GET, T "client=192.0.2.1; user=bob; " TOLD_GET },
        { "<190>Sep 15 16:13:46 web nginx: 192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "2015-08-26T02:09:48.5+02:00 web nginx[1]: 192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "<34>1 2003-10-11T22:14:15.003Z web nginx 1 ID47 - 192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "<34>1 2003-10-11T22:14:15.003Z web nginx - - [a b=\"c\"][d] \xef\xbb\xbf"
          "192.0.2.1 - - " AT GET,
          T "client=192.0.2.1; " TOLD_GET },
        { "2025-12-31T17:37:40.49+01:00 stdout F 192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "web-1  | 192.0.2.1 - - " AT GET, T "client=192.0.2.1; " TOLD_GET },
        { "Sep 15 16:13:46 web nginx: shop.example:80 192.0.2.1 - - " AT GET,
          T "client=192.0.2.1; " TOLD_GET "; host=shop.example" },
    };
    assert_all_told("combined", NULL, cases, COUNT(cases));
}

static void lines_that_are_no_requests_are_told_apart(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "", NULL },
        { " ", NULL },
        { "hello", NULL },
        { AT GET, NULL },
        { "192.0.2.1 - - " AT, NULL },
        { "192.0.2.1 - - " AT " ", NULL },
        { "192.0.2.1 - - " AT " \"", NULL },
        { "192.0.2.1 - - " AT " \"GET / HTTP/1.1", NULL },
        { "192.0.2.1 - - " AT " \"GET / HTTP/1.1\"", NULL },
        { "192.0.2.1 - - " AT " \"GET / HTTP/1.1\\\" 200 1", NULL },
        { "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700 \"GET / HTTP/1.1\" 200 1", NULL },
        { "192.0.2.1 - - [10/Oct/2000:13:55:36 0700] \"GET / HTTP/1.1\" 200 1", NULL },
        { "192.0.2.1 - - \"GET /includes/a.js HTTP/1.1\" 200 65508 4.386", NULL },
        { "2021/12/01 13:53:33 [error] 31#31: *46 \"/x\" is not found, client: 192.0.2.1, request: \"GET / HTTP/1.1\"",
          NULL },
        { "[Mon Aug 31 09:30:48.958285 2015] [proxy_fcgi:error] [pid 28787] [client 192.0.2.1:59307] AH01075", NULL },
    };
    assert_all_told("combined", NULL, cases, COUNT(cases));
}

static void every_line_cut_off_anywhere_is_read_within_its_bytes(void **state)
{
    (void)state;
    static const char line[] =
        "shop.example:443 192.0.2.1 - a [b] " AT
        " \"GET /a\\\"b?c=\\x22 HTTP/1.1\" 200 12 \"r\" \"U \\\"A\\\"\" \"203.0.113.1\" rt=0.001 12ms";
    struct reader reader;
    reader_init(&reader, "combined", NULL);
    for (size_t size = 0; size < sizeof line; size++) {
        char *exact = malloc(size == 0 ? 1 : size);
        memcpy(exact, line, size);
        enum log_line result = reader_read_sized(&reader, (struct drossel_text){ exact, size });
        assert_int_equal(result == LOG_REQUEST, size >= strlen(line) - strlen(strstr(line, "HTTP/1.1\" 2")) + 11);
        free(exact);
    }
    reader_release(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plain_lines_of_the_family_are_read),
        cmocka_unit_test(a_virtual_host_may_stand_before),
        cmocka_unit_test(a_host_is_a_host_by_name_even_where_it_looks_like_a_client),
        cmocka_unit_test(users_may_be_called_anything),
        cmocka_unit_test(escapes_are_undone_and_quotes_inside_end_nothing),
        cmocka_unit_test(what_is_no_request_line_is_still_a_request),
        cmocka_unit_test(the_way_to_the_file_leaves_prefixes),
        cmocka_unit_test(lines_that_are_no_requests_are_told_apart),
        cmocka_unit_test(every_line_cut_off_anywhere_is_read_within_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
