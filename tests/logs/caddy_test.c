/* Caddy's and Traefik's logs, where requests stand among what the server says of itself. */
#include "told.h"

#include "logs/formats.h"

#define COUNT(table) (sizeof table / sizeof *table)
#define REQUEST                                                                                                        \
    "\"request\":{\"remote_ip\":\"10.5.1.1\",\"remote_port\":\"38574\",\"client_ip\":\"192.0.2.1\",\"proto\":\"HTTP/"  \
    "2.0\",\"method\":\"GET\","                                                                                        \
    "\"host\":\"a.example:400\",\"uri\":\"/x?y=1\",\"headers\":{\"Accept\":[\"*/"                                      \
    "*\"],\"User-Agent\":[\"UA\"],\"Referer\":[\"r\"],"                                                                \
    "\"X-Forwarded-For\":[\"192.0.2.1\"]}}"
#define TOLD                                                                                                           \
    "client=192.0.2.1; user=bob; method=GET; target=/x?y=1; protocol=HTTP/2.0; status=200; bytes=3768; ns=17557019; "  \
    "host=a.example; "                                                                                                 \
    "agent=UA; referer=r; forwarded=192.0.2.1"
#define REST                                                                                                           \
    "\"bytes_read\":0,\"user_id\":\"bob\",\"duration\":0.017557019,\"size\":3768,\"status\":200,\"resp_headers\":{"    \
    "\"Server\":[\"Caddy\"]}}"

/* Lines are put in order by what the first look says of their time: it has to see the same requests. */
static void what_is_a_request_is_seen_at_the_first_look_behind_escapes_too(void **state)
{
    (void)state;
    static const char line[] = "{\"level\":\"info\",\"ts\":7,\"logger\":\"http.log.acces\\u0073\","
                               "\"msg\":\"h\",\"request\":{\"method\":\"GET\",\"uri\":\"/\"},\"status\":200}";
    const struct drossel_text text = { line, sizeof line - 1 };
    char error[64], room[sizeof line];
    struct log_scratch scratch = { room, 0, sizeof room };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    uint64_t t_ns = 0, resolution_ns = 0;
    const struct log_format *caddy = format_named("caddy");
    void *parser = caddy->open(NULL, error, sizeof error);
    assert_non_null(parser);
    assert_int_equal(caddy->parse(parser, text, &scratch, &record), LOG_REQUEST);
    assert_true(caddy->time(parser, text, &t_ns, &resolution_ns));
    assert_int_equal(t_ns, record.t_ns);
    caddy->close(parser);
}

static void an_access_entry_of_caddy_is_a_request(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"level\":\"info\",\"ts\":1716723772.6014807,\"logger\":\"http.log.access.log17\",\"msg\":\"handled "
          "request\"," REQUEST "," REST,
          "t=1716723772.601480700; " TOLD },
        /* behind the name of a container */
        { "caddy  | {\"level\":\"info\",\"ts\":1716723772.6014807,\"logger\":\"http.log.access\",\"msg\":\"handled "
          "request\"," REQUEST "," REST,
          "t=1716723772.601480700; " TOLD },
        /* a logger of the operator's own, other ways to write the time */
        { "{\"level\":\"info\",\"ts\":\"2024-05-26T11:42:52.601Z\",\"logger\":\"shop\",\"msg\":\"handled "
          "request\"," REQUEST "," REST,
          "t=1716723772.601000000; " TOLD },
        { "{\"level\":\"error\",\"ts\":\"2024/05/26 11:42:52.601\",\"logger\":\"http.log.access\",\"msg\":\"handled "
          "request\"," REQUEST "," REST,
          "t=1716723772.601000000; " TOLD },
        /* the console format: time, level and logger stand before */
        { "2024/05/26 11:42:52.601\tINFO\thttp.log.access.log0\thandled request\t{" REQUEST "," REST,
          "t=1716723772.601000000; " TOLD },
        { "2024/05/26 11:42:52.601\t\x1b[34mINFO\x1b[0m\thttp.log.access\thandled request\t{" REQUEST "," REST,
          "t=1716723772.601000000; " TOLD },
        /* filtered by the operator */
        { "{\"ts\":1,\"request\":{\"method\":\"GET\",\"uri\":\"/\",\"remote_ip\":\"192.0.2.1\"},\"status\":404}",
          "t=1.000000000; client=192.0.2.1; method=GET; target=/; status=404" },
        /* before 2.5 the address had its port; durations as text, as nanoseconds, as whole seconds */
        { "{\"level\":\"info\",\"ts\":1,\"logger\":\"http.log.access\",\"request\":{\"remote_addr\":\"[2001:db8::1]:"
          "4\",\"method\":\"GET\",\"uri\":\"/\"},"
          "\"common_log\":\"2001:db8::1 - - [01/Jan/1970:00:00:01 +0000] \\\"GET / HTTP/1.1\\\" 200 "
          "5\",\"duration\":\"17.5ms\",\"status\":200}",
          "t=1.000000000; client=2001:db8::1; method=GET; target=/; status=200; ns=17500000" },
        { "{\"level\":\"info\",\"ts\":1,\"logger\":\"http.log.access\",\"request\":{\"remote_ip\":\"192.0.2.1\","
          "\"method\":\"GET\",\"uri\":\"/\"},"
          "\"duration\":17557019,\"status\":200}",
          "t=1.000000000; client=192.0.2.1; method=GET; target=/; status=200; ns=17557019" },
        { "{\"level\":\"info\",\"ts\":1,\"logger\":\"http.log.access\",\"request\":{\"remote_ip\":\"192.0.2.1\","
          "\"method\":\"GET\",\"uri\":\"/\"},"
          "\"duration\":2,\"status\":200}",
          "t=1.000000000; client=192.0.2.1; method=GET; target=/; status=200; ns=2000000000" },
    };
    assert_all_told("caddy", NULL, cases, COUNT(cases));
}

static void what_else_caddy_says_is_a_comment(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"level\":\"info\",\"ts\":1761019822.3,\"msg\":\"using config from "
          "file\",\"file\":\"/etc/caddy/Caddyfile\"}",
          "#" },
        { "{\"level\":\"info\",\"ts\":1761019822.3,\"logger\":\"admin\",\"msg\":\"admin endpoint "
          "started\",\"address\":\"localhost:2019\"}",
          "#" },
        /* both have an access entry besides */
        { "{\"level\":\"error\",\"ts\":1761019822.3,\"logger\":\"http.log.error\",\"msg\":\"dial tcp\"," REQUEST
          "," REST,
          "#" },
        { "{\"level\":\"debug\",\"ts\":1761019822.3,\"logger\":\"http.handlers.reverse_proxy\",\"msg\":\"upstream "
          "roundtrip\"," REQUEST "," REST,
          "#" },
        { "2024/05/26 11:42:52.601\tINFO\tserving initial configuration", "#" },
        { "2024/05/26 11:42:52.601\tWARN\thttp.log.error\tdial\t{" REQUEST "}", "#" },
        { "something else", NULL },
        { "{\"level\":\"info\",\"ts\":1761019822.3,\"logger\":\"http.log.access\",\"msg\":\"handled request\"," REQUEST,
          NULL },
    };
    assert_all_told("caddy", NULL, cases, COUNT(cases));
}

static void an_entry_of_traefik_is_a_request(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "{\"ClientAddr\":\"172.17.0.1:39496\",\"ClientHost\":\"172.17.0.1\",\"ClientUsername\":\"-\","
          "\"DownstreamContentSize\":357,"
          "\"DownstreamStatus\":404,\"Duration\":357313,\"OriginContentSize\":9,\"OriginDuration\":324669,"
          "\"OriginStatus\":200,"
          "\"RequestAddr\":\"a.example:80\",\"RequestHost\":\"a.example\",\"RequestMethod\":\"GET\",\"RequestPath\":\"/"
          "a?b\",\"RequestPort\":\"80\","
          "\"RequestProtocol\":\"HTTP/1.1\",\"ServiceURL\":{\"Scheme\":\"http\",\"Host\":\"172.17.0.3:80\",\"Path\":\"/"
          "no\"},"
          "\"StartLocal\":\"2021-12-08T15:02:43.587782192+01:00\",\"StartUTC\":\"2021-12-08T14:02:43.587782192Z\","
          "\"level\":\"info\",\"msg\":\"\","
          "\"request_User-Agent\":\"UA\",\"request_X-Forwarded-For\":\"198.51.100.1\",\"request_Referer\":\"r\","
          "\"time\":\"2021-12-08T14:02:43Z\"}",
          "t=1638972163.587782192; client=172.17.0.1; method=GET; target=/a?b; protocol=HTTP/1.1; status=404; "
          "bytes=357; ns=357313; "
          "host=a.example; agent=UA; referer=r; forwarded=198.51.100.1" },
        { "{\"level\":\"error\",\"msg\":\"no router\",\"time\":\"2021-12-08T14:02:43Z\"}", "#" },
        { "time=\"2024-01-15T18:43:09Z\" level=debug msg=\"x\"", NULL },
    };
    assert_all_told("traefik", NULL, cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_a_request_is_seen_at_the_first_look_behind_escapes_too),
        cmocka_unit_test(an_access_entry_of_caddy_is_a_request),
        cmocka_unit_test(what_else_caddy_says_is_a_comment),
        cmocka_unit_test(an_entry_of_traefik_is_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
