/* Formats whose columns have a fixed order, and LTSV, and events. */
#include "told.h"

#define COUNT(table) (sizeof table / sizeof *table)

static void amazons_load_balancers_are_read(void **state)
{
    (void)state;
    static const struct told_case alb[] = {
        { "https 2023-04-26T12:23:00.186641Z app/my/490d 192.0.2.1:44740 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "
          "\"GET https://www.example.com:443/robots.txt?a HTTP/1.1\" \"curl/7.46.0 \\x22q\\x22\" ECDHE TLSv1.2 "
          "arn:aws:x \"Root=1\" "
          "\"shop.example\" \"arn:y\" 1 2018-07-02T22:22:48.364000Z \"forward\" \"-\" \"-\" \"10.0.0.1:80\" \"200\" "
          "\"-\" \"-\"",
          "t=1682511780.186641000; client=192.0.2.1; method=GET; target=/robots.txt?a; protocol=HTTP/1.1; status=200; "
          "bytes=57; "
          "ns=171000000; host=shop.example; agent=curl/7.46.0 \"q\"" },
        { "h2 2023-04-26T12:23:00Z app/my/490d [2001:db8::1]:44740 - -1 -1 -1 404 - 0 57 \"GET https://10.0.2.105:773/ "
          "HTTP/2.0\" \"-\" - -",
          "t=1682511780.000000000; client=2001:db8::1; method=GET; target=/; protocol=HTTP/2.0; status=404; bytes=57; "
          "host=10.0.2.105" },
        { "h2 2023-04-26T12:23:00Z app/my/490d 2001:db8::1:44740 - -1 -1 -1 404 - 0 57 \"GET https://10.0.2.105:773/ "
          "HTTP/2.0\" \"-\" - -",
          "t=1682511780.000000000; client=2001:db8::1; method=GET; target=/; protocol=HTTP/2.0; status=404; bytes=57; "
          "host=10.0.2.105" },
        { "http 2023-04-26T12:23:00Z app/my/490d 192.0.2.1:1 - -1 -1 -1 400 - 0 57 \"- http://www.example.com:80- \" "
          "\"-\" - -",
          "t=1682511780.000000000; client=192.0.2.1; status=400; bytes=57" },
        { "tls 2.0 2018-12-20T02:59:40 net/my/c6e7 g3d4 72.21.218.154:51341 172.100.100.185:443 5 2 98 246 - arn:x - "
          "ECDHE tlsv12 - x - - -",
          NULL },
        { "https 2023-04-26T12:23:00.186641Z app/my/490d 192.0.2.1:44740 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "
          "\"GET https://w",
          NULL },
    };
    static const struct told_case elb[] = {
        { "2014-02-15T23:39:43.945958Z my-lb 192.0.2.1:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "
          "\"GET http://www.example.com:80/ HTTP/1.1\"",
          "t=1392507583.945958000; client=192.0.2.1; method=GET; target=/; protocol=HTTP/1.1; status=200; bytes=29; "
          "ns=1178000; "
          "host=www.example.com" },
        { "2015-05-13T23:39:43.945958Z my-lb 192.0.2.1:2817 - -1 -1 -1 408 - 0 0 \"PUT https://m.example:443/v "
          "HTTP/1.1\" \"UA x\" DHE TLSv1.2",
          "t=1431560383.945958000; client=192.0.2.1; method=PUT; target=/v; protocol=HTTP/1.1; status=408; "
          "host=m.example; agent=UA x" },
        { "2023-04-06T09:13:34,820Z [http-nio-8080-exec-5] WARN  o.a.g.r - Authentication attempt from [127.0.0.1] for "
          "user \"test\" failed.",
          NULL },
    };
    assert_all_told("alb", NULL, alb, COUNT(alb));
    assert_all_told("elb", NULL, elb, COUNT(elb));
}

static void amazons_storage_is_read(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "79a5 bucket [06/Feb/2014:00:00:38 +0000] 192.0.2.3 79a5 3E57427F3EXAMPLE REST.GET.OBJECT foo/a%20b \"GET "
          "/bucket/foo/a%20b?x HTTP/1.1\" "
          "200 - 113 512 7 5 \"r\" \"S3Console/0.4\" -",
          "t=1391644838.000000000; client=192.0.2.3; user=79a5; method=GET; target=/bucket/foo/a%20b?x; "
          "protocol=HTTP/1.1; status=200; bytes=113; "
          "ns=7000000; agent=S3Console/0.4; referer=r" },
        { "79a5 bucket [06/Feb/2014:00:00:38 +0000]", NULL },
    };
    assert_all_told("s3", NULL, cases, COUNT(cases));
}

static void envoys_text_is_read_with_istios_columns_or_without(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "[2026-01-24T01:34:36.743Z] \"GET /test HTTP/1.1\" 200 - 5 256 50 25 \"[2001:db8::1]\" \"curl/8\" \"id\" "
          "\"a.example\" \"tcp://[fd00::1]:8080\"",
          "t=1769218476.743000000; client=2001:db8::1; method=GET; target=/test; protocol=HTTP/1.1; status=200; "
          "bytes=256; ns=50000000; "
          "host=a.example; agent=curl/8; forwarded=[2001:db8::1]" },
        { "[2026-01-24T01:34:36.743Z] \"GET / HTTP/2\" 503 UF,URX 0 91 5 - \"203.0.113.9, 10.0.0.1\" \"UA\" \"id\" "
          "\"a.example\" \"-\"",
          "t=1769218476.743000000; client=203.0.113.9; method=GET; target=/; protocol=HTTP/2; status=503; bytes=91; "
          "ns=5000000; "
          "host=a.example; agent=UA; forwarded=203.0.113.9, 10.0.0.1" },
        { "[2026-01-24T01:34:36.743Z] \"GET / HTTP/1.1\" 200 - via_upstream - \"-\" 0 7 3 2 \"-\" \"UA\" \"id\" "
          "\"a.example\" \"10.1.0.2:80\" "
          "inbound|80|| 127.0.0.6:42 10.1.0.2:80 192.0.2.7:5000 outbound_.80_._.x default",
          "t=1769218476.743000000; client=192.0.2.7; method=GET; target=/; protocol=HTTP/1.1; status=200; bytes=7; "
          "ns=3000000; "
          "host=a.example; agent=UA" },
        { "[2026-01-24T01:34:36.743Z] \"GET /test HTTP/1.1\" 200 - 5 256", NULL },
    };
    assert_all_told("envoy", NULL, cases, COUNT(cases));
}

static void uwsgi_is_read(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "[pid: 24386|app: 0|req: 482950/4125645] 192.0.2.1 (bob) {44 vars in 1322 bytes} [Tue Nov 14 22:13:20 2023] "
          "POST /a?b=c%20d => "
          "generated 50 bytes in 123 msecs (HTTP/1.1 200) 4 headers in 178 bytes (1 switches on core 0)",
          "t=1700000000.000000000; client=192.0.2.1; user=bob; method=POST; target=/a?b=c%20d; protocol=HTTP/1.1; "
          "status=200; "
          "bytes=50; ns=123000000" },
        { "[pid: 1|app: -1|req: -1/1] 2001:db8::1 () {30 vars in 415 bytes} [Tue Nov 14 22:13:20 2023] GET / => "
          "generated 0 bytes in 1500 micros "
          "(HTTP/1.0 404) 3 headers in 100 bytes (0 switches on core 0)",
          "t=1700000000.000000000; client=2001:db8::1; method=GET; target=/; protocol=HTTP/1.0; status=404; "
          "ns=1500000" },
        { "[pid: 1|app: 0|req: 1/1] 192.0.2.1 () {44 vars in 1322 bytes} [Tue Nov 14 22:13:20 2023] GET /", NULL },
    };
    assert_all_told("uwsgi", NULL, cases, COUNT(cases));
}

static void squid_is_read(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "1286536309.586    921 192.0.2.68 TCP_MISS/200 507 GET http://www.example.com/a?b bob HIER_DIRECT/192.0.2.1 "
          "text/html",
          "t=1286536309.586000000; client=192.0.2.68; user=bob; method=GET; target=/a?b; status=200; bytes=507; "
          "ns=921000000; cache=miss; "
          "host=www.example.com" },
        { "1286536310.001      0 192.0.2.68 TCP_MEM_HIT/304 507 GET http://www.example.com/ - HIER_NONE/- -",
          "t=1286536310.001000000; client=192.0.2.68; method=GET; target=/; status=304; bytes=507; ns=0; cache=hit; "
          "host=www.example.com" },
        { "1286536310.001 0 192.0.2.68 NONE/400 7 - error:invalid-request - HIER_NONE/- text/html",
          "t=1286536310.001000000; client=192.0.2.68; status=400; bytes=7; ns=0; cache=miss" },
        { "1286536310.001 16867 192.0.2.68 TCP_TUNNEL/200 6256 CONNECT a.example:443 - HIER_DIRECT/192.0.2.1 -",
          "t=1286536310.001000000; client=192.0.2.68; method=CONNECT; target=a.example:443; status=200; bytes=6256; "
          "ns=16867000000" },
        { "1286536310.001 0 192.0.2.68", NULL },
    };
    assert_all_told("squid", NULL, cases, COUNT(cases));
}

static void proxy_managers_are_read(void **state)
{
    (void)state;
    static const struct told_case npm[] = {
        { "[24/Jan/2022:16:51:02 +0000] HIT 404 404 - GET http shop.example \"/a?b\" [Client 192.0.2.1] [Length 192] "
          "[Gzip 3.10] "
          "[Sent-to backend] \"UA [x]\" \"r\"",
          "t=1643043062.000000000; client=192.0.2.1; method=GET; target=/a?b; status=404; bytes=192; cache=hit; "
          "host=shop.example; "
          "agent=UA [x]; referer=r" },
        { "[24/Jan/2022:16:51:02 +0000] 444 - GET https 192.0.2.9 \"/.env\" [Client 192.0.2.1] [Length 0] [Gzip -] "
          "\"UA\" \"-\"",
          "t=1643043062.000000000; client=192.0.2.1; method=GET; target=/.env; status=444; host=192.0.2.9; agent=UA" },
        { "2022/01/24 16:33:06 [error] 334#334: *338 user \"toto\": password mismatch, client: 192.0.2.1", NULL },
    };
    static const struct told_case npmplus[] = {
        { "[10/Feb/2024:21:23:40 +0100] shop.example 192.0.2.1 0.002 \"GET / HTTP/1.1\" 401 77 935 https://r.example/ "
          "Mozilla/5.0 (X11; Linux)",
          "t=1707596620.000000000; client=192.0.2.1; method=GET; target=/; protocol=HTTP/1.1; status=401; bytes=77; "
          "ns=2000000; "
          "host=shop.example; agent=Mozilla/5.0 (X11; Linux); referer=https://r.example/" },
        { "[10/Feb/2024:21:23:40 +0100] _ 192.0.2.1 0.811 \"\\x16\\x03\" 400 122 0 - -",
          "t=1707596620.000000000; client=192.0.2.1; status=400; bytes=122; ns=811000000; host=_" },
    };
    static const struct told_case zoraxy[] = {
        { "2025/05/01 12:01:50 [2025-05-01 12:01:50.912318] [router:host-http] [origin:shop.example] [client: "
          "192.0.2.1] "
          "[useragent: Mozilla/5.0 [FBAN/x]] GET /a?b 404",
          "t=1746100910.912318000; client=192.0.2.1; method=GET; target=/a?b; status=404; host=shop.example; "
          "agent=Mozilla/5.0 [FBAN/x]" },
        { "2025/05/01 12:01:50 [2025-05-01 12:01:50.912318] [router:host-http] [client: 192.0.2.1", NULL },
    };
    assert_all_told("npm", NULL, npm, COUNT(npm));
    assert_all_told("npmplus", NULL, npmplus, COUNT(npmplus));
    assert_all_told("zoraxy", NULL, zoraxy, COUNT(zoraxy));
}

static void ltsv_is_read_by_its_labels(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "time:[14/Nov/2023:22:13:20 +0000]\thost:192.0.2.1\tforwardedfor:203.0.113.1\treq:GET /a?b "
          "HTTP/1.1\tstatus:200\tsize:12\t"
          "reqtime:0.5\tua:UA: x\treferer:https://r.example/\tvhost:shop.example\tcache:HIT\tapptime:0.4\tuser:bob",
          "t=1700000000.000000000; client=192.0.2.1; user=bob; method=GET; target=/a?b; protocol=HTTP/1.1; status=200; "
          "bytes=12; ns=500000000; "
          "cache=hit; host=shop.example; agent=UA: x; referer=https://r.example/; forwarded=203.0.113.1" },
        { "time:2015-09-06T05:58:05+09:00\tmethod:POST\turi:/"
          "a\tstatus:200\tsize:-\tapptime:0.057\treqtime_microsec:1500\tua:a\\x22b",
          "t=1441486685.000000000; method=POST; target=/a; status=200; ns=1500000; agent=a\"b" },
        /* nginx's own names: then `host` is the server */
        { "msec:1700000000.25\tremote_addr:192.0.2.1\thost:shop.example\trequest_method:GET\trequest_uri:/"
          "\tstatus:404\thttp_x_api_key:k",
          "t=1700000000.250000000; client=192.0.2.1; method=GET; target=/; status=404; host=shop.example" },
        { "time:1700000000\tnonsense\thost:192.0.2.1\turi:/", "t=1700000000.000000000; client=192.0.2.1; target=/" },
        { "host:192.0.2.1\turi:/", NULL },
        { "time:1700000000", NULL },
        { "", NULL },
    };
    static const struct told_case mapped[] = {
        { "t:1700000000\tpeer:192.0.2.1\tr:GET /a HTTP/1.1\tms:12",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; ns=12000000" },
    };
    assert_all_told("ltsv", NULL, cases, COUNT(cases));
    assert_all_told("ltsv", "request=r,duration=ms:ms", mapped, COUNT(mapped));
}

static void events_of_a_replay_are_a_log_too(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"t\": 12.5, \"address\": \"203.0.113.7\", \"method\": \"POST\", \"path\": \"/login\", \"host\": "
          "\"a.example\", \"account\": \"a@b.example\", "
          "\"token\": \"k1\", \"headers\": {\"User-Agent\": \"UA\", \"Host\": \"other\"}, \"peer\": \"127.0.0.1\", "
          "\"cost\": 1, \"status\": 401}",
          "t=12.500000000; client=203.0.113.7; user=a@b.example; method=POST; target=/login; status=401; "
          "host=a.example; agent=UA" },
        { "{\"t\":\"2023-11-14T22:13:20Z\",\"peer\":\"10.0.0.1\",\"headers\":{\"X-Forwarded-For\":[\"192.0.2.1\"]}}",
          "t=1700000000.000000000; client=10.0.0.1; method=GET; target=/; forwarded=192.0.2.1" },
        { "{\"t\":1.7e9,\"address\":\"192.0.2.1\"}", "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/" },
        { "{\"t\":0,\"address\":\"192.0.2.1\"}", "t=0.000000000; client=192.0.2.1; method=GET; target=/" },
        /* beyond the year 2255 it is not taken for milliseconds */
        { "{\"t\":1700000000000,\"address\":\"192.0.2.1\"}", NULL },
        { "{\"t\":-1,\"address\":\"192.0.2.1\"}", NULL },
        { "{\"t\":1}", NULL },
        { "{\"address\":\"192.0.2.1\"}", NULL },
    };
    assert_all_told("events", NULL, cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amazons_load_balancers_are_read),
        cmocka_unit_test(amazons_storage_is_read),
        cmocka_unit_test(envoys_text_is_read_with_istios_columns_or_without),
        cmocka_unit_test(uwsgi_is_read),
        cmocka_unit_test(squid_is_read),
        cmocka_unit_test(proxy_managers_are_read),
        cmocka_unit_test(ltsv_is_read_by_its_labels),
        cmocka_unit_test(events_of_a_replay_are_a_log_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
