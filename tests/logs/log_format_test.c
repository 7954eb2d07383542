/* Formats given as the string that stands in the server's configuration. */
#include "told.h"

#include "logs/log_format.h"
#include "logs/pattern.h"

#define COUNT(table) (sizeof table / sizeof *table)
#define T "t=971211336.000000000; "
#define AT "[10/Oct/2000:13:55:36 -0700]"

struct string_case {
    const char *string, *line, *expected;
};

/* The combined format in all ways that people give it. */
static const char *const combined[] = {
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" "
    "\"$http_user_agent\"",
    "${remote_addr} - ${remote_user} [${time_local}] \"${request}\" ${status} ${body_bytes_sent} \"${http_referer}\" "
    "\"${http_user_agent}\"",
    "log_format main '$remote_addr - $remote_user [$time_local] \"$request\" '\n"
    "                '$status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"';\n",
    "log_format  main  escape=default  \"$remote_addr - $remote_user [$time_local] \\\"$request\\\" $status "
    "$body_bytes_sent "
    "\\\"$http_referer\\\" \\\"$http_user_agent\\\"\";",
    "'$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" "
    "\"$http_user_agent\"'",
    "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"",
    "%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-agent}i\\\"",
    "LogFormat \"%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-agent}i\\\"\" combined",
    "\"%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-agent}i\\\"\"",
    "%a %l %u [%{%d/%b/%Y:%T %z}t] \"%m %U%q %H\" %s %O \"%400,501{Referer}i\" \"%!200{User-agent}i\"",
};

static void assert_told_by(const char *string, const char *line, const char *expected)
{
    char error[1000] = "";
    struct reader reader = { .format = &log_format_string };
    reader.parser = log_format_string.open(string, error, sizeof error);
    if (reader.parser == NULL)
        fail_msg("%s: %s", string, error);
    assert_told(&reader, line, expected);
    reader_release(&reader);
}

static void the_combined_format_is_the_same_however_it_is_given(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "192.0.2.1 - bob " AT " \"GET /a?b HTTP/1.1\" 200 12 \"https://r.example/\" \"Mozilla/5.0 (X11)\"",
          T "client=192.0.2.1; user=bob; method=GET; target=/a?b; protocol=HTTP/1.1; status=200; bytes=12; "
            "agent=Mozilla/5.0 (X11); referer=https://r.example/" },
        { "2001:db8::1 - - " AT " \"GET / HTTP/1.1\" 304 - \"-\" \"-\"",
          T "client=2001:db8::1; method=GET; target=/; protocol=HTTP/1.1; status=304" },
        { "192.0.2.1 - a [b] c " AT " \"GET / HTTP/1.1\" 200 12 \"-\" \"a \\\"b\\\" \\x22c\\x22\"",
          T "client=192.0.2.1; user=a [b] c; method=GET; target=/; protocol=HTTP/1.1; status=200; bytes=12; agent=a "
            "\"b\" \"c\"" },
        { "192.0.2.1 - - " AT " \"GET / HTTP/1.1\" OK 12 \"-\" \"-\"", NULL },
        { "192.0.2.1 - - " AT " \"GET / HTTP/1.1\" 200 12 \"-\" \"-\" \"more\"", NULL },
        { "192.0.2.1 - - [now] \"GET / HTTP/1.1\" 200 12 \"-\" \"-\"", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < COUNT(combined); i++)
        for (size_t j = 0; j < COUNT(cases); j++)
            assert_told_by(combined[i], cases[j].line, cases[j].expected);
}

static void a_variable_means_what_the_server_means_by_it(void **state)
{
    (void)state;
    static const struct string_case cases[] = {
        { "$time_iso8601 $remote_addr $request_method $request_uri $server_protocol $status",
          "2000-10-10T13:55:36-07:00 192.0.2.1 GET /a?b HTTP/2.0 404",
          T "client=192.0.2.1; method=GET; target=/a?b; protocol=HTTP/2.0; status=404" },
        { "$msec|$remote_addr|$uri$is_args$args|$request_time|$upstream_cache_status|$drossel_verdict",
          "971211336.123|192.0.2.1|/a|0.250|HIT|refuse",
          "t=971211336.123000000; client=192.0.2.1; target=/a; ns=250000000; cache=hit; verdict=refuse" },
        { "$msec|$remote_addr|$uri$is_args$args|$request_time|$upstream_cache_status|$drossel_verdict",
          "971211336.123|192.0.2.1|/a?b=1|-|BYPASS|-",
          "t=971211336.123000000; client=192.0.2.1; target=/a?b=1; cache=miss" },
        /* of two times the finer one */
        { "[$time_local] $msec $remote_addr", AT " 971211336.789 192.0.2.1",
          "t=971211336.789000000; client=192.0.2.1" },
        { "$msec [$time_local] $remote_addr", "971211336.789 " AT " 192.0.2.1",
          "t=971211336.789000000; client=192.0.2.1" },
        { "$remote_addr [$time_local] \"$http_x_forwarded_for\" \"$http_x_api_key\" $scheme://$host$request_uri",
          "10.0.0.1 " AT " \"203.0.113.9, 10.0.0.2\" \"k\" https://shop.example/x?y",
          T "client=10.0.0.1; target=/x?y; host=shop.example; forwarded=203.0.113.9, 10.0.0.2" },
        /* where the client is only known from the proxy */
        { "[$time_local] \"$http_x_forwarded_for\" $status", AT " \"203.0.113.9, 10.0.0.2\" 200",
          T "client=203.0.113.9; status=200; forwarded=203.0.113.9, 10.0.0.2" },
        { "$http_cf_connecting_ip [$time_local] \"$http_x_forwarded_for\" $status",
          "203.0.113.9 " AT " \"198.51.100.1\" 200", T "client=203.0.113.9; status=200; forwarded=198.51.100.1" },
        { "%{X-Real-IP}i %t %>s", "2001:db8::9 " AT " 200", T "client=2001:db8::9; status=200" },
        { "$http_x_real_ip $remote_addr [$time_local]", "203.0.113.9 10.0.0.1 " AT, T "client=10.0.0.1" },
        { "[$time_local] $realip_remote_addr $remote_addr $status", AT " 10.0.0.1 203.0.113.9 200",
          T "client=203.0.113.9; status=200" },
        { "[$time_local] $realip_remote_addr $status", AT " 10.0.0.1 200", T "client=10.0.0.1; status=200" },
        /* Apache's own */
        { "%v:%p %h %t \"%r\" %>s %D", "shop.example:443 192.0.2.1 " AT " \"GET / HTTP/1.1\" 200 1500",
          T "client=192.0.2.1; method=GET; target=/; protocol=HTTP/1.1; status=200; ns=1500000; host=shop.example" },
        { "%h %t %T %{ms}T", "192.0.2.1 " AT " 3 2900", T "client=192.0.2.1; ns=3000000000" },
        { "%h %t %{ms}T %{us}T", "192.0.2.1 " AT " 2900 2900123", T "client=192.0.2.1; ns=2900000000" },
        { "%{c}a %a %t", "10.0.0.1 203.0.113.9 " AT, T "client=203.0.113.9" },
        { "%h %t 100%% %{x}^ti %X", "192.0.2.1 " AT " 100% - +", T "client=192.0.2.1" },
        { "[%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t] %h", "[10/Oct/2000 13:55:36.123 -0700] 192.0.2.1",
          "t=971211336.123000000; client=192.0.2.1" },
        { "%{%Y-%m-%dT%H:%M:%S}t.%{usec_frac}t%{%z}t %h", "2000-10-10T13:55:36.123456-0700 192.0.2.1",
          "t=971211336.123456000; client=192.0.2.1" },
        { "%{begin:%I:%M:%S %p %e %B %y}t %h", "01:55:36 PM 10 October 00 192.0.2.1",
          "t=971186136.000000000; client=192.0.2.1" },
        { "%{end:%I:%M:%S %p %e %B %y}t %h", "12:55:36 AM  1 October 00 192.0.2.1",
          "t=970361736.000000000; client=192.0.2.1" },
        { "%{sec}t %h", "971211336 192.0.2.1", T "client=192.0.2.1" },
        { "%{msec}t %h", "971211336123 192.0.2.1", "t=971211336.123000000; client=192.0.2.1" },
        { "%{usec}t %h", "971211336123456 192.0.2.1", "t=971211336.123456000; client=192.0.2.1" },
        /* a second here and its fraction there */
        { "%h %t %{msec_frac}t %>s", "192.0.2.1 " AT " 023 200",
          "t=971211336.023000000; client=192.0.2.1; status=200" },
        { "%{usec_frac}t %{sec}t %h", "000123 971211336 192.0.2.1", "t=971211336.000123000; client=192.0.2.1" },
        { "%{msec}t %{usec_frac}t %h", "971211336123 123456 192.0.2.1", "t=971211336.123000000; client=192.0.2.1" },
        /* a port behind an address that has colons itself, and behind one that has none, or is a name */
        { "$remote_addr:$remote_port [$time_local] $status", "2001:db8::1:443 " AT " 200",
          T "client=2001:db8::1; status=200" },
        { "$remote_addr:$remote_port [$time_local] $status", "2001:db8:1:2:3:4:5:6:443 " AT " 200",
          T "client=2001:db8:1:2:3:4:5:6; status=200" },
        { "$remote_addr:$remote_port [$time_local] $status", "192.0.2.1:443 " AT " 200",
          T "client=192.0.2.1; status=200" },
        { "[$remote_addr]:$remote_port [$time_local] $status", "[2001:db8::1]:443 " AT " 200",
          T "client=2001:db8::1; status=200" },
        { "%a:%{remote}p %t %>s", "client.example:443 " AT " 200", T "client=client.example; status=200" },
        { "$host:$server_port $remote_addr [$time_local]", "[2001:db8::1]:443 192.0.2.1 " AT,
          T "client=192.0.2.1; host=2001:db8::1" },
        { "%v:%p %h %t", "shop.example:443 2001:db8::1 " AT, T "client=2001:db8::1; host=shop.example" },
        { "%a:%{remote}p %t %>s", "fe80::1%eth0:443 " AT " 200", T "client=fe80::1%eth0; status=200" },
        /* blanks and quotes in a path: the protocol, or the status, tells where it ends */
        { "%h %t \"%m %U%q %H\" %>s", "192.0.2.1 " AT " \"GET /a b \\\"c\\\" d?e f HTTP/1.1\" 200",
          T "client=192.0.2.1; method=GET; target=/a b \"c\" d?e f; protocol=HTTP/1.1; status=200" },
        { "%h %t \"%U\" \"%{User-Agent}i\"", "192.0.2.1 " AT " \"/a\\\" \\\"b\" \"UA\"",
          T "client=192.0.2.1; target=/a\" \"b; agent=UA" },
        { "$remote_addr [$time_local] $request $status $body_bytes_sent", "192.0.2.1 " AT " GET /a 77 b HTTP/1.1 200 5",
          T "client=192.0.2.1; method=GET; target=/a 77 b; protocol=HTTP/1.1; status=200; bytes=5" },
        { "$remote_addr [$time_local] $request_method $uri $server_protocol $status", "192.0.2.1 " AT " - - - 400",
          T "client=192.0.2.1; status=400" },
        /* a name that looks like a time is none */
        { "$remote_addr - $remote_user [$time_local] $status", "192.0.2.1 - - [11/Nov/2011:11:11:11 +0000] " AT " 200",
          T "client=192.0.2.1; user=- [11/Nov/2011:11:11:11 +0000]; status=200" },
        /* what only looks like a configuration's: these belong to the lines */
        { "$remote_addr;$time_iso8601;$status;", "192.0.2.1;2000-10-10T13:55:36-07:00;200;",
          T "client=192.0.2.1; status=200" },
        { "\"$remote_addr\" \"$time_iso8601\"", "\"192.0.2.1\" \"2000-10-10T13:55:36-07:00\"", T "client=192.0.2.1" },
        { "%h %t $%{Price}i %>s", "192.0.2.1 " AT " $5 200", T "client=192.0.2.1; status=200" },
        /* a string that is JSON */
        { "{\"t\":\"$time_iso8601\",\"ip\":\"$remote_addr\",\"r\":\"$request\",\"s\":$status}",
          "{\"t\":\"2000-10-10T13:55:36-07:00\",\"ip\":\"192.0.2.1\",\"r\":\"GET /\\\"a\\\" HTTP/1.1\",\"s\":200}",
          T "client=192.0.2.1; method=GET; target=/\"a\"; protocol=HTTP/1.1; status=200" },
        /* separated by tabs */
        { "$time_iso8601\\t$remote_addr\\t$http_user_agent", "2000-10-10T13:55:36-07:00\t192.0.2.1\tMozilla/5.0 (X11)",
          T "client=192.0.2.1; agent=Mozilla/5.0 (X11)" },
        /* an agent without quotes, at the end and not */
        { "$remote_addr [$time_local] $http_user_agent", "192.0.2.1 " AT " Mozilla/5.0 (X11)",
          T "client=192.0.2.1; agent=Mozilla/5.0 (X11)" },
        { "$remote_addr [$time_local] $http_user_agent || $status", "192.0.2.1 " AT " Mozilla/5.0 (X11) || 200",
          T "client=192.0.2.1; status=200; agent=Mozilla/5.0 (X11)" },
        /* cut off inside quotes: what came before counts */
        { "$remote_addr [$time_local] \"$request\" \"$http_user_agent\" $status",
          "192.0.2.1 " AT " \"GET / HTTP/1.1\" \"Mozi",
          T "client=192.0.2.1; method=GET; target=/; protocol=HTTP/1.1; agent=Mozi" },
        /* a client has no blanks: this is a line with a host before */
        { "$remote_addr - $remote_user [$time_local]", "shop.example 192.0.2.1 - bob " AT, NULL },
        /* quotes that nobody escaped */
        { "$remote_addr [$time_local] \"$request\" $status", "192.0.2.1 " AT " \"GET /a\"b HTTP/1.1\" 200",
          T "client=192.0.2.1; method=GET; target=/a\"b; protocol=HTTP/1.1; status=200" },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_told_by(cases[i].string, cases[i].line, cases[i].expected);
}

static void cookies_and_fields_of_any_name_are_kept(void **state)
{
    (void)state;
    char error[1000], space[1000];
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    struct log_scratch scratch = { space, 0, sizeof space };
    struct pattern *pattern =
        pattern_open("%h %t \"%{X-Api-Key}i\" \"%{session}C\" \"%{Cookie}i\"", error, sizeof error);
    assert_non_null(pattern);
    struct drossel_text line = DROSSEL_TEXT("192.0.2.1 " AT " \"abc\" \"s1\" \"a=b\"");
    assert_int_equal(pattern_parse(pattern, line, &scratch, &record), LOG_REQUEST);
    static const char *const expected[][2] = { { "X-Api-Key", "abc" },
                                               { "Cookie", "session=s1" },
                                               { "Cookie", "a=b" } };
    assert_int_equal(record.header_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_int_equal(record.header[i].name.size, strlen(expected[i][0]));
        assert_memory_equal(record.header[i].name.data, expected[i][0], strlen(expected[i][0]));
        assert_int_equal(record.header[i].value.size, strlen(expected[i][1]));
        assert_memory_equal(record.header[i].value.data, expected[i][1], strlen(expected[i][1]));
    }
    pattern_close(pattern);
}

static void a_string_that_cannot_work_is_refused_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *string, *reason;
    } cases[] = {
        { "$remote_addr $request", "$time_local is missing" },
        { "%h %r", "%t is missing" },
        { "[$time_local] $request", "$remote_addr is missing" },
        { "%t %r", "%h is missing" },
        { "$remote_addr$request [$time_local]", "without text between" },
        { "$remote_addr $ [$time_local]", "without the name" },
        { "$remote_addr ${time_local", "without the name" },
        { "%h %{Referer", "without its }" },
        { "%h %t %", "without its letter" },
        { "%h %t %>", "without its letter" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char error[1000] = "";
        if (pattern_open(cases[i].string, error, sizeof error) != NULL)
            fail_msg("%s is taken", cases[i].string);
        if (strstr(error, cases[i].reason) == NULL)
            fail_msg("%s: %s", cases[i].string, error);
    }
}

static void more_variables_than_there_is_room_for_are_refused(void **state)
{
    (void)state;
    char string[4000] = "$remote_addr [$time_local]", error[1000] = "";
    for (int i = 0; i < 100; i++)
        strcat(string, " $x");
    assert_null(pattern_open(string, error, sizeof error));
    assert_non_null(strstr(error, "more than 96"));
}

static void names_of_formats_are_not_taken_for_strings(void **state)
{
    (void)state;
    assert_false(pattern_is_string("combined"));
    assert_false(pattern_is_string("nginx"));
    assert_true(pattern_is_string("$remote_addr"));
    assert_true(pattern_is_string("%h"));
}

static void every_line_cut_off_anywhere_is_read_within_its_bytes(void **state)
{
    (void)state;
    static const char line[] = "192.0.2.1 - a [b] " AT " \"GET /a\\\"b HTTP/1.1\" 200 12 \"r\" \"U \\\"A\\\"\"";
    for (size_t i = 0; i < COUNT(combined); i++) {
        char error[1000];
        struct reader reader = { .format = &log_format_string };
        reader.parser = log_format_string.open(combined[i], error, sizeof error);
        assert_non_null(reader.parser);
        for (size_t size = 0; size < sizeof line; size++) {
            uint64_t t_ns, resolution_ns;
            char *exact = malloc(size == 0 ? 1 : size);
            memcpy(exact, line, size);
            struct drossel_text text = { exact, size };
            if (reader_read_sized(&reader, text) == LOG_REQUEST)
                assert_true(log_format_string.time(reader.parser, text, &t_ns, &resolution_ns));
            free(exact);
        }
        reader_release(&reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_combined_format_is_the_same_however_it_is_given),
        cmocka_unit_test(a_variable_means_what_the_server_means_by_it),
        cmocka_unit_test(cookies_and_fields_of_any_name_are_kept),
        cmocka_unit_test(a_string_that_cannot_work_is_refused_with_its_reason),
        cmocka_unit_test(more_variables_than_there_is_room_for_are_refused),
        cmocka_unit_test(names_of_formats_are_not_taken_for_strings),
        cmocka_unit_test(every_line_cut_off_anywhere_is_read_within_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
