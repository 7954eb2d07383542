/* JSON access logs of many kinds, and lines that are hostile. */
#include "told.h"

#define COUNT(table) (sizeof table / sizeof *table)

static void nginx_json_is_read_by_its_variables_names(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"time_local\":\"06/Sep/2015:05:58:05 +0900\",\"remote_addr\":\"192.0.2.1\",\"remote_user\":\"bob\","
          "\"request\":\"GET /a?b=1 "
          "HTTP/1.1\",\"status\":\"200\",\"body_bytes_sent\":\"12\",\"request_time\":\"0.057\","
          "\"http_referer\":\"https://r.example/"
          "\",\"http_user_agent\":\"UA\",\"http_x_forwarded_for\":\"198.51.100.9\","
          "\"host\":\"shop.example\",\"upstream_cache_status\":\"HIT\",\"drossel_verdict\":\"refuse\"}",
          "t=1441486685.000000000; client=192.0.2.1; user=bob; method=GET; target=/a?b=1; protocol=HTTP/1.1; "
          "status=200; "
          "bytes=12; ns=57000000; cache=hit; host=shop.example; agent=UA; referer=https://r.example/; "
          "forwarded=198.51.100.9; verdict=refuse" },
        { "{\"msec\":\"1700000000.123\",\"time_iso8601\":\"2023-11-14T22:13:20+00:00\",\"remote_addr\":\"2001:db8::1\","
          "\"request_method\":\"POST\",\"request_uri\":\"/login?x\",\"uri\":\"/"
          "index.php\",\"args\":\"x\",\"status\":401,"
          "\"server_protocol\":\"HTTP/2.0\"}",
          "t=1700000000.123000000; client=2001:db8::1; method=POST; target=/login?x; protocol=HTTP/2.0; status=401" },
        { "{\"ts\":1700000000.5,\"client_ip\":\"192.0.2.1\",\"method\":\"GET\",\"uri\":\"/"
          "p\",\"args\":\"q=1\",\"status\":200}",
          "t=1700000000.500000000; client=192.0.2.1; method=GET; target=/p?q=1; status=200" },
        /* empty variables without quotes, as many a log_format has them; a list of upstreams */
        { "{\"@timestamp\":\"2023-11-14T22:13:20.250Z\",\"remote_addr\":\"192.0.2.1\",\"request\":\"GET / "
          "HTTP/1.1\",\"status\":499,"
          "\"upstream_response_time\":-,\"upstream_status\":,\"request_time\":1.5}",
          "t=1700000000.250000000; client=192.0.2.1; method=GET; target=/; protocol=HTTP/1.1; status=499; "
          "ns=1500000000" },
        { "{\"time\":1700000000,\"remote_addr\":\"192.0.2.1\",\"request\":\"GET / HTTP/1.1\",\"status\":200,"
          "\"upstream_response_time\":0.001, 0.020}",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/; protocol=HTTP/1.1; status=200; ns=1000000" },
        /* a request that nginx could not read */
        { "{\"time\":1700000000,\"remote_addr\":\"192.0.2.1\",\"request\":\"\",\"status\":400}",
          "t=1700000000.000000000; client=192.0.2.1; status=400" },
        { "{\"time\":1700000000,\"remote_addr\":\"192.0.2.1\",\"request\":\"\\u0016\\u0003\\u0001\",\"status\":400}",
          "t=1700000000.000000000; client=192.0.2.1; status=400" },
        /* a time that is none, but how long it took */
        { "{\"time\":0.123,\"timestamp\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\"}",
          "t=1700000000.000000000; client=192.0.2.1; target=/" },
        /* in seconds, milli-, micro- and nanoseconds */
        { "{\"ts\":1700000000123,\"ip\":\"192.0.2.1\",\"uri\":\"/\"}",
          "t=1700000000.123000000; client=192.0.2.1; target=/" },
        { "{\"ts\":1700000000123456789,\"ip\":\"192.0.2.1\",\"uri\":\"/\"}",
          "t=1700000000.123456789; client=192.0.2.1; target=/" },
        /* numbers in scientific notation */
        { "{\"ts\":1.700000000123E9,\"ip\":\"192.0.2.1\",\"uri\":\"/\",\"request_time\":5e-05}",
          "t=1700000000.123000000; client=192.0.2.1; target=/; ns=50000" },
        { "{\"ts\":1.7E12,\"ip\":\"192.0.2.1\",\"uri\":\"/\",\"duration\":1.25E-4}",
          "t=1700000000.000000000; client=192.0.2.1; target=/; ns=125000" },
        { "{\"ts\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\",\"duration\":3e-06}",
          "t=1700000000.000000000; client=192.0.2.1; target=/; ns=3000" },
        { "{\"ts\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\",\"duration_ms\":1.5e3}",
          "t=1700000000.000000000; client=192.0.2.1; target=/; ns=1500000000" },
        { "{\"ts\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\",\"duration\":1e-999}",
          "t=1700000000.000000000; client=192.0.2.1; target=/; ns=0" },
        { "{\"ts\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\",\"duration\":1e99}",
          "t=1700000000.000000000; client=192.0.2.1; target=/" },
        /* elements of an array that has one a line */
        { "[{\"ts\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\"},",
          "t=1700000000.000000000; client=192.0.2.1; target=/" },
        { "{\"ts\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\"}]",
          "t=1700000000.000000000; client=192.0.2.1; target=/" },
        { "{\"date\":\"2023-11-14\",\"time\":\"22:13:20\",\"ip\":\"192.0.2.1\",\"uri\":\"/\"}",
          "t=1700000000.000000000; client=192.0.2.1; target=/" },
    };
    assert_all_told("json", NULL, cases, COUNT(cases));
}

static void escapes_of_nginx_that_are_no_json_are_undone(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"ts\":1,\"ip\":\"192.0.2.1\",\"request\":\"GET /\\x22\\x5C\\xC3\\xA9 "
          "HTTP/1.1\",\"http_user_agent\":\"a\\x09b\"}",
          "t=1.000000000; client=192.0.2.1; method=GET; target=/\"\\\xc3\xa9; protocol=HTTP/1.1; agent=a\tb" },
        /* an escaped backslash before an x is no escape of a byte */
        { "{\"ts\":1,\"ip\":\"192.0.2.1\",\"uri\":\"/\\\\x41\\u00e9\\ud83d\\ude00\\/\"}",
          "t=1.000000000; client=192.0.2.1; target=/\\x41\xc3\xa9\xf0\x9f\x98\x80/" },
        { "{\"ts\":1,\"ip\":\"192.0.2.1\",\"uri\":\"/\\xZZ\"}", "t=1.000000000; client=192.0.2.1; target=/xZZ" },
        /* raw bytes, as escape=json leaves them */
        { "{\"ts\":1,\"ip\":\"192.0.2.1\",\"uri\":\"/\xff\xfe\"}",
          "t=1.000000000; client=192.0.2.1; target=/\xff\xfe" },
    };
    assert_all_told("json", NULL, cases, COUNT(cases));
}

static void servers_and_shippers_are_understood_by_their_names(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        /* Cloudflare */
        { "{\"ClientIP\":\"192.0.2.1\",\"ClientRequestHost\":\"a.example\",\"ClientRequestMethod\":\"GET\","
          "\"ClientRequestURI\":\"/x?y\","
          "\"ClientRequestPath\":\"/"
          "x\",\"ClientRequestUserAgent\":\"UA\",\"ClientRequestReferer\":\"\",\"EdgeResponseBytes\":7,"
          "\"EdgeResponseStatus\":200,\"EdgeStartTimestamp\":1712790000100000000,\"EdgeEndTimestamp\":"
          "1712790000123000000,"
          "\"CacheCacheStatus\":\"dynamic\",\"ClientRequestProtocol\":\"HTTP/2\"}",
          "t=1712790000.100000000; client=192.0.2.1; method=GET; target=/x?y; protocol=HTTP/2; status=200; bytes=7; "
          "cache=miss; "
          "host=a.example; agent=UA" },
        /* alp */
        { "{\"time\":\"2015-09-06T05:58:05+09:00\",\"method\":\"POST\",\"uri\":\"/a\",\"status\":200,\"body_bytes\":12,"
          "\"response_time\":\"-\", \"request_time\":0.321,\"ua\":\"UA1\"}",
          "t=1441486685.000000000; method=POST; target=/a; status=200; bytes=12; ns=321000000; agent=UA1" },
        /* Envoy, on its own and as a container's runtime writes it */
        { "{\"start_time\":\"2025-12-31T16:37:40.479Z\",\"method\":\"GET\",\"x-envoy-origin-path\":\"/"
          "a\",\"response_code\":404,"
          "\"duration\":11,\"bytes_sent\":3,\"user-agent\":\"UA\",\"downstream_remote_address\":\"[2001:db8::5]:"
          "59292\","
          "\":authority\":\"a.internal\",\"protocol\":\"HTTP/"
          "2\",\"upstream_host\":\"10.42.0.82:8080\",\"x-forwarded-for\":null}",
          "t=1767199060.479000000; client=2001:db8::5; method=GET; target=/a; protocol=HTTP/2; status=404; bytes=3; "
          "ns=11000000; host=a.internal; agent=UA" },
        { "2025-12-31T17:37:40.493035218+01:00 stdout F "
          "{\"start_time\":\"2025-12-31T16:37:40.479Z\",\"method\":\"GET\",\"path\":\"/a\","
          "\"response_code\":200,\"downstream_remote_address\":\"10.0.0.12:59292\"}",
          "t=1767199060.479000000; client=10.0.0.12; method=GET; target=/a; status=200" },
        /* Elastic's common schema, in objects and with dots */
        { "{\"@timestamp\":\"2023-11-14T22:13:20.000Z\",\"source\":{\"ip\":\"192.0.2.1\",\"port\":1},\"http\":{"
          "\"version\":\"1.1\","
          "\"request\":{\"method\":\"GET\",\"referrer\":\"r\"},\"response\":{\"status_code\":200,\"body\":{\"bytes\":5}"
          "}},"
          "\"url\":{\"original\":\"/a?b\",\"path\":\"/"
          "a\",\"domain\":\"a.example\"},\"user_agent\":{\"original\":\"UA\",\"name\":\"x\"},"
          "\"event\":{\"duration\":1500,\"kind\":\"event\"},\"log\":{\"file\":{\"path\":\"/var/log/"
          "x\"}},\"host\":{\"name\":\"web1\"}}",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a?b; protocol=1.1; status=200; bytes=5; "
          "ns=1500; "
          "host=a.example; agent=UA; referer=r" },
        { "{\"@timestamp\":\"2023-11-14T22:13:20.000Z\",\"source.ip\":\"192.0.2.1\",\"http.request.method\":\"GET\","
          "\"url.path\":\"/a\","
          "\"http.response.status_code\":200}",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a; status=200" },
        /* Google's load balancer: whole URLs and durations with their unit */
        { "{\"timestamp\":\"2023-11-14T22:13:20.5Z\",\"httpRequest\":{\"requestMethod\":\"GET\",\"requestUrl\":\"https:"
          "//a.example:443/x\","
          "\"status\":200,\"responseSize\":\"44\",\"userAgent\":\"UA\",\"remoteIp\":\"192.0.2.1\",\"latency\":\"0."
          "012s\"}}",
          "t=1700000000.500000000; client=192.0.2.1; method=GET; target=/x; status=200; bytes=44; ns=12000000; "
          "host=a.example; agent=UA" },
        /* pino */
        { "{\"level\":30,\"time\":1700000000000,\"pid\":1,\"hostname\":\"web1\",\"req\":{\"method\":\"GET\",\"url\":\"/"
          "a\",\"headers\":"
          "{\"host\":\"a.example\",\"user-agent\":\"UA\"},\"remoteAddress\":\"::ffff:192.0.2.1\"},\"res\":{"
          "\"statusCode\":200},"
          "\"responseTime\":3,\"msg\":\"request completed\"}",
          "t=1700000000.000000000; client=::ffff:192.0.2.1; method=GET; target=/a; status=200; ns=3000000; "
          "host=a.example; "
          "agent=UA" },
        /* echo */
        { "{\"time\":\"2023-11-14T22:13:20.1Z\",\"id\":\"\",\"remote_ip\":\"192.0.2.1\",\"host\":\"a.example:1323\","
          "\"method\":\"GET\","
          "\"uri\":\"/"
          "\",\"user_agent\":\"UA\",\"status\":200,\"latency\":2751,\"latency_human\":\"2.751\xc2\xb5s\",\"bytes_out\":"
          "13}",
          "t=1700000000.100000000; client=192.0.2.1; method=GET; target=/; status=200; bytes=13; ns=2751; "
          "host=a.example; "
          "agent=UA" },
        /* GitLab: the unit is in the name */
        { "{\"method\":\"POST\",\"path\":\"/users/"
          "sign_in\",\"status\":200,\"time\":\"2022-04-15T12:58:36.195Z\",\"params\":[{\"key\":"
          "\"method\",\"value\":{\"path\":\"no\"}}],\"remote_ip\":\"192.0.2.1\",\"ua\":\"UA\",\"duration_s\":0.01291}",
          "t=1650027516.195000000; client=192.0.2.1; method=POST; target=/users/sign_in; status=200; ns=12910000; "
          "agent=UA" },
        /* Amazon's API Gateway calls the time of the request as nginx calls its duration */
        { "{\"requestTime\":\"14/Nov/2023:22:13:20 "
          "+0000\",\"ip\":\"192.0.2.1\",\"httpMethod\":\"GET\",\"resourcePath\":\"/a\",\"status\":200,"
          "\"protocol\":\"HTTP/1.1\",\"responseLength\":9}",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; status=200; bytes=9" },
        /* Azure, Kong, and a firewall that lists header fields by name and value */
        { "{\"time\":\"2023-11-14T22:13:20.5Z\",\"category\":\"FrontDoorAccessLog\",\"properties\":{\"clientIP\":\"192."
          "0.2.1\",\"httpMethod\":\"GET\","
          "\"requestUri\":\"https://a.example/"
          "x\",\"httpStatusCode\":\"200\",\"timeTaken\":\"0.05\",\"userAgent\":\"UA\",\"cacheStatus\":\"HIT\"}}",
          "t=1700000000.500000000; client=192.0.2.1; method=GET; target=/x; status=200; ns=50000000; cache=hit; "
          "host=a.example; "
          "agent=UA" },
        { "{\"started_at\":1700000000500,\"client_ip\":\"192.0.2.1\",\"request\":{\"method\":\"GET\",\"uri\":\"/"
          "x\",\"url\":\"http://a.example:80/y\","
          "\"size\":9,\"headers\":{\"host\":\"a.example\"}},\"response\":{\"status\":200,\"size\":7},\"latencies\":{"
          "\"request\":15,\"kong\":1}}",
          "t=1700000000.500000000; client=192.0.2.1; method=GET; target=/x; status=200; bytes=7; ns=15000000; "
          "host=a.example" },
        { "{\"timestamp\":1700000000500,\"httpRequest\":{\"clientIp\":\"192.0.2.1\",\"headers\":[{\"name\":\"Host\","
          "\"value\":\"a\"}],\"uri\":\"/x\","
          "\"args\":\"y=1\",\"httpVersion\":\"HTTP/1.1\",\"httpMethod\":\"GET\"}}",
          "t=1700000000.500000000; client=192.0.2.1; method=GET; target=/x?y=1; protocol=HTTP/1.1" },
        /* objects that only wrap */
        { "{\"nginx\":{\"access\":{\"time\":1700000000,\"remote_ip\":\"192.0.2.1\",\"method\":\"GET\",\"url\":\"/"
          "\"}},\"fileset\":{\"name\":\"a\"}}",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/" },
        { "{\"time\":1700000000,\"request\":{\"method\":\"GET\",\"uri\":\"/"
          "a\",\"headers\":{\"X-Forwarded-For\":[\"198.51.100.1\"]}},"
          "\"response\":{\"status\":204}}",
          "t=1700000000.000000000; client=198.51.100.1; method=GET; target=/a; status=204; forwarded=198.51.100.1" },
        /* an entry of an array, one a line */
        { "{\"time\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/\"},",
          "t=1700000000.000000000; client=192.0.2.1; target=/" },
        { "[", "#" },
    };
    assert_all_told("json", NULL, cases, COUNT(cases));
}

static void a_list_of_clients_is_what_proxies_forwarded(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"ts\":1,\"client\":\"203.0.113.7, 10.0.0.1\",\"uri\":\"/\"}",
          "t=1.000000000; client=203.0.113.7; target=/; forwarded=203.0.113.7, 10.0.0.1" },
        { "{\"ts\":1,\"http_x_forwarded_for\":\"203.0.113.7,10.0.0.1\",\"uri\":\"/\"}",
          "t=1.000000000; client=203.0.113.7; target=/; forwarded=203.0.113.7,10.0.0.1" },
    };
    assert_all_told("json", NULL, cases, COUNT(cases));
}

static void what_is_no_request_is_not_taken_for_one(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "", NULL },
        { "{", NULL },
        { "{}", NULL },
        { "[{}]", NULL },
        { "null", NULL },
        { "{\"ip\":\"192.0.2.1\",\"uri\":\"/\"}", NULL },
        { "{\"time\":\"yesterday\",\"ip\":\"192.0.2.1\",\"uri\":\"/\"}", NULL },
        { "{\"time\":-5,\"ip\":\"192.0.2.1\",\"uri\":\"/\"}", NULL },
        { "{\"time\":1e999,\"ip\":\"192.0.2.1\",\"uri\":\"/\"}", NULL },
        { "{\"time\":99999999999999999999999999,\"ip\":\"192.0.2.1\",\"uri\":\"/\"}", NULL },
        { "{\"time\":1700000000,\"client_ip\":\"192.0.2.1\",\"event\":\"login failed\"}", NULL },
        { "{\"time\":1700000000,\"level\":\"info\",\"msg\":\"started\"}", NULL },
        { "{\"level\":\"error\",\"method\":\"POST\",\"msg\":\"login "
          "failed\",\"path\":\"/api/login\",\"remote_ip\":\"192.0.2.1\",\"time\":1700000000}",
          NULL },
        /* torn, and two in one */
        { "{\"time\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/a", NULL },
        { "{\"time\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/a\"", NULL },
        { "{\"time\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/a\"}{\"time\":1}", NULL },
        { "{\"time\":1700000000,\"ip\":\"192.0.2.1\",\"uri\":\"/a\"]", NULL },
    };
    assert_all_told("json", NULL, cases, COUNT(cases));
}

static void a_map_says_what_values_are_called(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"when\":1700000000,\"who\":{\"addr\":\"192.0.2.1\"},\"what\":\"GET /a "
          "HTTP/1.1\",\"took\":12,\"time\":5,\"code\":200}",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; status=200; ns=12000" },
    };
    assert_all_told("json", "time=when,client=who.addr, request=what,duration=took:us", cases, COUNT(cases));
}

static void header_fields_that_are_logged_reach_the_record(void **state)
{
    (void)state;
    struct reader reader;
    reader_init(&reader, "json", NULL);
    assert_int_equal(
        reader_read(
            &reader,
            "{\"ts\":1,\"uri\":\"/\",\"http_x_api_key\":\"k1\",\"http_user_agent\":\"UA\",\"http_host\":\"h\"}"),
        LOG_REQUEST);
    assert_int_equal(reader.record.header_count, 3);
    const struct drossel_header *last = &reader.record.header[2];
    assert_int_equal(last->name.size, 9);
    assert_memory_equal(last->name.data, "x-api-key", 9);
    assert_int_equal(last->value.size, 2);
    assert_memory_equal(last->value.data, "k1", 2);
    reader_release(&reader);
}

/* ---- hostile lines ---- */

static void repeat(char *out, size_t size, const char *piece)
{
    size_t step = strlen(piece);
    for (size_t i = 0; i < size; i++)
        out[i] = piece[i % step];
}

/* Every one of them costs a time that grows with its size only; a quadratic one would take minutes here. */
static void a_hostile_line_of_megabytes_is_read_once(void **state)
{
    (void)state;
    enum { SIZE = 2 << 20 };
    static const char *const pieces[] = { "{",
                                          "[",
                                          "{\"a\":",
                                          "\"",
                                          "\\",
                                          "\"\\",
                                          "\\\"",
                                          "{\"\\\":",
                                          "[{",
                                          "}",
                                          "]",
                                          ":",
                                          ",",
                                          "\\x22",
                                          "\\u00",
                                          "{\"a\":[",
                                          "\"a\":\"b\",",
                                          "\"\",",
                                          "x",
                                          "{\"request\":{\"headers\":{\"a\":[" };
    char *line = malloc(SIZE);
    assert_non_null(line);
    struct reader reader;
    reader_init(&reader, "json", NULL);
    for (size_t i = 0; i < COUNT(pieces); i++) {
        repeat(line, SIZE, pieces[i]);
        assert_int_equal(reader_read_sized(&reader, (struct drossel_text){ line, SIZE }), LOG_UNPARSED);
        line[0] = '{';
        assert_int_equal(reader_read_sized(&reader, (struct drossel_text){ line, SIZE }), LOG_UNPARSED);
        memcpy(line, "{\"ts\":1,\"uri\":\"", 15);
        line[SIZE - 1] = '}';
        reader_read_sized(&reader, (struct drossel_text){ line, SIZE });
    }
    reader_release(&reader);
    free(line);
}

static void what_is_nested_deeply_hides_nothing_behind_it(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    static char line[2 * DEPTH + 100];
    size_t size = (size_t)sprintf(line, "{\"ts\":1,\"deep\":");
    memset(line + size, '[', DEPTH);
    memset(line + size + DEPTH, ']', DEPTH);
    size += 2 * DEPTH;
    size += (size_t)sprintf(line + size, ",\"uri\":\"/a\"}");
    struct reader reader;
    reader_init(&reader, "json", NULL);
    assert_int_equal(reader_read_sized(&reader, (struct drossel_text){ line, size }), LOG_REQUEST);
    assert_int_equal(reader.record.target.size, 2);
    reader_release(&reader);
}

/* Each prefix, each single byte replaced: nothing is read that is not there (the sanitizers' builds see it). */
static void cut_and_damaged_lines_are_read_within_their_bounds(void **state)
{
    (void)state;
    static const char line[] = "caddy | "
                               "{\"ts\":1.5,\"request\":{\"method\":\"GET\",\"uri\":\"/"
                               "a\\u00e9\\x22\\\\\",\"headers\":{\"A\":[\"b\",\"c\"]}},\"n\":[1,{\"x\":null}]}";
    static const char bytes[] = { '\0', '"', '\\', '{', '}', '[', ']', ':', ',', ' ', 'x', (char)0xff };
    const size_t size = sizeof line - 1;
    struct reader reader;
    reader_init(&reader, "json", NULL);
    for (size_t cut = 0; cut < size; cut++) {
        char *exact = malloc(size);
        assert_non_null(exact);
        memcpy(exact, line + size - cut, cut);
        reader_read_sized(&reader, (struct drossel_text){ exact, cut });
        memcpy(exact, line, cut);
        assert_int_equal(reader_read_sized(&reader, (struct drossel_text){ exact, cut }), LOG_UNPARSED);
        memcpy(exact, line, size);
        for (size_t i = 0; i < sizeof bytes; i++) {
            exact[cut] = bytes[i];
            reader_read_sized(&reader, (struct drossel_text){ exact, size });
        }
        free(exact);
    }
    reader_release(&reader);
}

static void of_two_values_of_one_name_the_first_counts(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"ts\":1,\"uri\":\"/first\",\"uri\":\"/second\"}", "t=1.000000000; target=/first" },
    };
    assert_all_told("json", NULL, cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nginx_json_is_read_by_its_variables_names),
        cmocka_unit_test(escapes_of_nginx_that_are_no_json_are_undone),
        cmocka_unit_test(servers_and_shippers_are_understood_by_their_names),
        cmocka_unit_test(a_list_of_clients_is_what_proxies_forwarded),
        cmocka_unit_test(what_is_no_request_is_not_taken_for_one),
        cmocka_unit_test(a_map_says_what_values_are_called),
        cmocka_unit_test(header_fields_that_are_logged_reach_the_record),
        cmocka_unit_test(a_hostile_line_of_megabytes_is_read_once),
        cmocka_unit_test(what_is_nested_deeply_hides_nothing_behind_it),
        cmocka_unit_test(cut_and_damaged_lines_are_read_within_their_bounds),
        cmocka_unit_test(of_two_values_of_one_name_the_first_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
