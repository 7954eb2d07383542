/* Which format is a line, and a file, taken for?  Each format's own lines go through the eyes of all others. */
#include "told.h"

#define COUNT(table) (sizeof table / sizeof *table)

struct sample {
    const char *format, *line;
};

/* Lines that say by themselves what they are. */
static const struct sample samples[] = {
    { "combined", "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"Mozilla/5.0 (X11)\"" },
    { "combined",
      "2001:db8::1 - bob [14/Nov/2023:22:13:20 +0000] \"GET /{\\\"a\\\":1} HTTP/1.1\" 200 12 \"https://r/\" \"UA\"" },
    { "common", "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /a HTTP/1.1\" 200 12" },
    { "combined_forwarded",
      "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"UA\" \"203.0.113.1\"" },
    { "vhost_combined",
      "shop.example:443 192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"UA\"" },
    { "traefik_clf", "192.0.2.1 - - [08/Dec/2021:09:16:05 +0000] \"GET /a HTTP/1.1\" 200 414 \"-\" \"UA\" 500 "
                     "\"test@docker\" \"http://172.17.0.3:80\" 0ms" },
    { "haproxy", "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in "
                 "static/srv1 10/0/30/69/109 200 2750 - - "
                 "---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /index.html HTTP/1.1\"" },
    { "json", "{\"time_local\":\"06/Sep/2015:05:58:05 +0900\",\"remote_addr\":\"192.0.2.1\",\"request\":\"GET / "
              "HTTP/1.1\",\"status\":\"200\"}" },
    { "json",
      "{\"time\":\"2015-09-06T05:58:05+09:00\",\"method\":\"POST\",\"uri\":\"/a\",\"status\":200,\"ua\":\"UA1\"}" },
    { "json", "{\"ClientIP\":\"192.0.2.1\",\"ClientRequestMethod\":\"GET\",\"ClientRequestURI\":\"/"
              "x\",\"EdgeStartTimestamp\":1712790000100000000}" },
    { "json", "2025-12-31T17:37:40.49+01:00 stdout F "
              "{\"start_time\":\"2025-12-31T16:37:40.479Z\",\"method\":\"GET\",\"path\":\"/a\","
              "\"response_code\":200,\"downstream_remote_address\":\"10.0.0.12:59292\"}" },
    { "json", "{\"ts\":1700000000.5,\"level\":\"info\",\"client_ip\":\"192.0.2.1\",\"method\":\"GET\",\"uri\":\"/"
              "\",\"status\":200}" },
    { "caddy", "{\"level\":\"info\",\"ts\":1716723772.6014807,\"logger\":\"http.log.access\",\"msg\":\"handled "
               "request\",\"request\":{\"remote_ip\":"
               "\"192.0.2.1\",\"method\":\"GET\",\"uri\":\"/\"},\"status\":200}" },
    { "caddy", "caddy  | {\"level\":\"info\",\"ts\":1761019822.3,\"msg\":\"serving initial configuration\"}" },
    { "caddy", "2024/05/26 11:42:52.601\tINFO\thttp.log.access\thandled "
               "request\t{\"request\":{\"remote_ip\":\"192.0.2.1\",\"method\":\"GET\",\"uri\":\"/\"}}" },
    { "traefik", "{\"ClientAddr\":\"172.17.0.1:1\",\"ClientHost\":\"172.17.0.1\",\"DownstreamStatus\":200,"
                 "\"RequestMethod\":\"GET\",\"RequestPath\":\"/\","
                 "\"StartUTC\":\"2021-12-08T14:02:43.587782192Z\",\"level\":\"info\",\"msg\":\"\",\"time\":\"2021-12-"
                 "08T14:02:43Z\"}" },
    { "docker", "{\"log\":\"192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \\\"GET /a HTTP/1.1\\\" 200 12 \\\"-\\\" "
                "\\\"UA\\\"\\n\",\"stream\":\"stdout\","
                "\"time\":\"2023-11-14T22:13:20.5Z\"}" },
    { "docker", "{\"@timestamp\":\"2023-11-14T22:13:20.5Z\",\"message\":\"{\\\"ts\\\":1,\\\"client_ip\\\":\\\"192.0.2."
                "1\\\",\\\"uri\\\":\\\"/\\\"}\"}" },
    { "events", "{\"t\": 12.5, \"address\": \"203.0.113.7\", \"method\": \"POST\", \"path\": \"/login\"}" },
    { "events", "{\"t\":1700000000,\"peer\":\"203.0.113.7\"}" },
    { "ltsv", "time:2015-09-06T05:58:05+09:00\tmethod:POST\turi:/a\tstatus:200" },
    { "ltsv", "time:[14/Nov/2023:22:13:20 +0000]\thost:192.0.2.1\treq:GET /a HTTP/1.1\tstatus:200\tua:UA" },
    { "iis", "#Software: Microsoft Internet Information Services 10.0" },
    { "iis", "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) "
             "sc-status time-taken" },
    { "iis", "2023-11-14 22:13:20 10.0.0.4 GET /a/b.aspx id=5 443 - 192.0.2.1 Mozilla/5.0+(X11) - 200 0 0 1562" },
    { "cloudfront", "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status" },
    { "cloudfront", "2016-06-10\t18:41:39\tIAD53\t224281\t192.0.2.1\tGET\td27.cloudfront.net\t/"
                    "thing.pdf\t200\t-\tUA\t-\t-\tMiss\tUG==\th.example" },
    { "w3c", "#Fields: date time c-ip cs-method cs-uri sc-status" },
    { "w3c", "#Version: 1.0" },
    { "alb", "https 2023-04-26T12:23:00.186641Z app/my/490d 192.0.2.1:44740 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "
             "\"GET https://www.example.com:443/ HTTP/1.1\" \"curl/7.46.0\" ECDHE TLSv1.2" },
    { "elb", "2014-02-15T23:39:43.945958Z my-lb 192.0.2.1:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "
             "\"GET http://a.example:80/ HTTP/1.1\"" },
    { "s3", "79a5 bucket [06/Feb/2014:00:00:38 +0000] 192.0.2.3 79a5 3E57 REST.GET.OBJECT a \"GET /a HTTP/1.1\" 200 - "
            "113 512 7 5 \"-\" \"UA\" -" },
    { "envoy", "[2026-01-24T01:34:36.743Z] \"GET /test HTTP/1.1\" 200 - 5 256 50 25 \"192.0.2.1\" \"curl/8\" \"id\" "
               "\"a.example\" \"tcp://10.0.0.1:80\"" },
    { "envoy", "2026-01-24T01:34:36.74+00:00 stdout F [2026-01-24T01:34:36.743Z] \"GET / HTTP/1.1\" 200 - 5 256 50 25 "
               "\"192.0.2.1\" \"UA\" \"id\" \"a\" \"-\"" },
    { "uwsgi", "[pid: 24386|app: 0|req: 4/4] 192.0.2.1 () {44 vars in 1322 bytes} [Tue Nov 14 22:13:20 2023] GET / => "
               "generated 50 bytes in 1 "
               "msecs (HTTP/1.1 200) 4 headers in 178 bytes (1 switches on core 0)" },
    { "squid", "1286536309.586    921 192.0.2.68 TCP_MISS/200 507 GET http://www.example.com/ - HIER_DIRECT/192.0.2.1 "
               "text/html" },
    { "npm", "[24/Jan/2022:16:51:02 +0000] - 404 404 - GET http shop.example \"/a\" [Client 192.0.2.1] [Length 192] "
             "[Gzip 3.10] [Sent-to b] \"UA\" \"-\"" },
    { "npmplus",
      "[10/Feb/2024:21:23:40 +0100] shop.example 192.0.2.1 0.002 \"GET / HTTP/1.1\" 401 77 935 - Uptime-Kuma/1.23.11" },
    { "zoraxy", "2025/05/01 12:01:50 [2025-05-01 12:01:50.912318] [router:h] [origin:a.example] [client: 192.0.2.1] "
                "[useragent: UA] GET /a 404" },
};

static int confidence(const struct log_format *format, const char *line)
{
    struct drossel_text whole = { line, strlen(line) }, body = log_line_body(whole);
    int sure = format->recognise == NULL ? 0 : format->recognise(whole);
    int bare = format->recognise == NULL ? 0 : format->recognise(body);
    return sure > bare ? sure : bare;
}

static void no_other_format_is_as_sure_of_a_line_as_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        const struct log_format *own = format_named(samples[i].format);
        if (own == NULL)
            continue; /* reported by the next test */
        int sure = confidence(own, samples[i].line);
        if (sure <= 0 || sure > 100)
            fail_msg("%s is sure at %d of %s", own->name, sure, samples[i].line);
        for (size_t k = 0; log_formats[k] != NULL; k++)
            if (log_formats[k] != own && confidence(log_formats[k], samples[i].line) >= sure)
                fail_msg("%s is as sure as %s (%d) of %s", log_formats[k]->name, own->name, sure, samples[i].line);
    }
}

static void every_format_that_recognises_has_a_sample(void **state)
{
    (void)state;
    for (size_t k = 0; log_formats[k] != NULL; k++) {
        size_t i = 0;
        while (i < COUNT(samples) && strcmp(samples[i].format, log_formats[k]->name) != 0)
            i++;
        if (i == COUNT(samples) && log_formats[k]->recognise != NULL)
            fail_msg("no sample of %s", log_formats[k]->name);
    }
}

/* What stands in the same files, and what applications write. */
static void what_is_no_access_log_is_recognised_by_nobody(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        " ",
        "{",
        "[",
        "#",
        "# a comment",
        "hello",
        "-",
        "2024/02/10 21:22:09 [error] 1124#1124: *163 open() \"/var/www\" failed (2: No such file), client: 192.0.2.1, "
        "server: a, request: \"GET / HTTP/2.0\"",
        "[Wed Jul 05 09:19:24.428126 2023] [proxy_fcgi:error] [pid 1178526:tid 1397] [client 192.0.2.1:55309] AH01071: "
        "Got error 'x', referer: https://r/",
        "2023-04-06T09:13:34,820Z [http-nio-8080-exec-5] WARN  o.a.g.r - Authentication attempt from [127.0.0.1, "
        "172.18.0.2] for user \"test1\" failed.",
        "time=\"2024-01-15T18:43:09Z\" level=debug msg=\"Handling TCP connection from 192.0.2.1:35501 to "
        "192.168.176.3:21116\"",
        "Jan  3 09:47:02 veridian sudo: tim : TTY=pts/6 ; PWD=/x ; USER=root ; COMMAND=/usr/bin/tail /var/log/messages",
        "logger=context userId=0 t=2023-03-14T06:10:23.366875297+02:00 level=error msg=\"Invalid username\" "
        "remote_addr=192.0.2.1",
        "2022-06-08 22:49:20.774649 [NOTICE] [1226033] [192.0.2.1:45164:HTTP2-41#_AdminVHost] [STDERR] Failed Login "
        "Attempt - username:x ip:192.0.2.1 url:",
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        for (size_t k = 0; log_formats[k] != NULL; k++)
            if (confidence(log_formats[k], lines[i]) > 20)
                fail_msg("%s is sure at %d of %s", log_formats[k]->name, confidence(log_formats[k], lines[i]),
                         lines[i]);
}

static void a_file_is_of_the_format_that_most_of_its_lines_are(void **state)
{
    (void)state;
    static const struct sample files[] = {
        { "iis",
          "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2023-11-14 22:13:19\n"
          "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip sc-status time-taken\n"
          "2023-11-14 22:13:20 10.0.0.4 GET /a - 443 - 192.0.2.1 200 1562\n2023-11-14 22:13:20 10.0.0.4 GET /a - 443 - "
          "192.0.2.1 200 1562\n" },
        { "cloudfront",
          "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status\n"
          "2016-06-10\t18:41:39\tIAD53\t224281\t192.0.2.1\tGET\td27.cloudfront.net\t/thing.pdf\t200\n" },
        { "w3c", "#Software: Some Proxy 1\n#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri sc-status\n"
                 "2016-06-10 18:41:39 192.0.2.1 GET http://a.example/ 200\n" },
        /* Caddy's start is longer than its first request */
        { "caddy", "{\"level\":\"info\",\"ts\":1,\"msg\":\"a\"}\n{\"level\":\"info\",\"ts\":1,\"msg\":\"a\"}\n{"
                   "\"level\":\"info\",\"ts\":1,\"msg\":\"a\"}\n"
                   "{\"level\":\"info\",\"ts\":1716723772.6,\"logger\":\"http.log.access\",\"msg\":\"handled "
                   "request\",\"request\":{\"remote_ip\":"
                   "\"192.0.2.1\",\"method\":\"GET\",\"uri\":\"/\"},\"status\":200}\n" },
        { "combined", "2024/02/10 21:22:09 [error] 1124#1124: *163 open() failed\n"
                      "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"UA\"\n" },
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        const struct log_format *format = format_recognised(files[i].line, strlen(files[i].line));
        if (format == NULL || strcmp(format->name, files[i].format) != 0)
            fail_msg("%s is taken for %s: %s", files[i].format, format == NULL ? "nothing" : format->name,
                     files[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_format_is_as_sure_of_a_line_as_its_own),
        cmocka_unit_test(every_format_that_recognises_has_a_sample),
        cmocka_unit_test(what_is_no_access_log_is_recognised_by_nobody),
        cmocka_unit_test(a_file_is_of_the_format_that_most_of_its_lines_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
