/* Columns named by #Fields: IIS, CloudFront, and others. */
#include "told.h"

#define COUNT(table) (sizeof table / sizeof *table)

static void iis_says_its_columns_and_may_change_them(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "#Software: Microsoft Internet Information Services 10.0", "#" },
        { "#Version: 1.0", "#" },
        { "#Date: 2023-11-14 22:13:19", "#" },
        { "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) "
          "cs(Referer) sc-status "
          "sc-substatus sc-win32-status time-taken",
          "#" },
        { "2023-11-14 22:13:20 10.0.0.4 GET /a/b.aspx id=5 443 CORP\\bob 192.0.2.1 Mozilla/5.0+(X11;+Linux) "
          "https://r.example/x 200 0 0 1562",
          "t=1700000000.000000000; client=192.0.2.1; user=CORP\\bob; method=GET; target=/a/b.aspx?id=5; status=200; "
          "ns=1562000000; "
          "agent=Mozilla/5.0 (X11; Linux); referer=https://r.example/x" },
        { "2023-11-14 22:13:21 10.0.0.4 POST / - 443 - 2001:db8::1 - - 401 2 5 0",
          "t=1700000001.000000000; client=2001:db8::1; method=POST; target=/; status=401; ns=0" },
        /* a client may call itself by a quote, and come from another */
        { "2023-11-14 22:13:21 10.0.0.4 GET / - 443 - 192.0.2.1 \" x\" 200 0 0 1",
          "t=1700000001.000000000; client=192.0.2.1; method=GET; target=/; status=200; ns=1000000; agent=\"; "
          "referer=x\"" },
        /* cut off, as when the server was killed */
        { "2023-11-14 22:13:21 10.0.0.4 POST / - 443", NULL },
        { "#Fields: time c-ip cs-method cs-uri-stem sc-status sc-bytes cs-host cs-version X-Forwarded-For", "#" },
        { "22:13:22 192.0.2.2 GET /c 304 99 a.example HTTP/1.1 203.0.113.5,+10.0.0.1",
          "t=1700000002.000000000; client=192.0.2.2; method=GET; target=/c; protocol=HTTP/1.1; status=304; bytes=99; "
          "host=a.example; "
          "forwarded=203.0.113.5, 10.0.0.1" },
        /* another day */
        { "#Date: 2023-11-15 00:00:00", "#" },
        { "00:00:01 192.0.2.2 GET /c 304 99 a.example HTTP/1.1 -",
          "t=1700006401.000000000; client=192.0.2.2; method=GET; target=/c; protocol=HTTP/1.1; status=304; bytes=99; "
          "host=a.example" },
    };
    assert_all_told("iis", NULL, cases, COUNT(cases));
}

static void columns_that_nobody_named_are_the_usual_ones(void **state)
{
    (void)state;
    static const struct told_case iis[] = {
        { "2023-11-14 22:13:20 10.0.0.4 GET /a - 443 - 192.0.2.1 UA - 200 0 0 15",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a; status=200; ns=15000000; agent=UA" },
        { "2023-11-14 22:13:20 10.0.0.4 GET /a - 443 - 192.0.2.1 UA 404 0 0 15",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a; status=404; ns=15000000; agent=UA" },
        { "2023-11-14 22:13:20 W3SVC1 WEB 10.0.0.4 GET /a - 443 - 192.0.2.1 HTTP/1.1 UA - - a.example 200 0 0 77 5 15",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/a; protocol=HTTP/1.1; status=200; bytes=77; "
          "ns=15000000; host=a.example; agent=UA" },
        { "a b c", NULL },
    };
    static const struct told_case cloudfront[] = {
        /* encoded twice, as until 2019; once, as since */
        { "2016-06-10\t18:41:39\tIAD53\t224281\t192.0.2.1\tGET\td27.cloudfront.net\t/thing.pdf\t200\thttps://"
          "example.com/\t"
          "Mozilla/"
          "5.0%2520(Windows%2520NT)\t-\t-\tMiss\tUGsk==\thost.example.com\thttps\t883\t0.036\t-\tTLSv1."
          "2\tECDHE\tRefreshHit",
          "t=1465584099.000000000; client=192.0.2.1; method=GET; target=/thing.pdf; status=200; bytes=224281; "
          "ns=36000000; cache=miss; "
          "host=host.example.com; agent=Mozilla/5.0 (Windows NT); referer=https://example.com/" },
        { "2024-03-12\t15:22:28\tCDG50-P2\t703\t192.0.2.1\tGET\td6.cloudfront.net\t/a%20b\t400\t-\tcurl/"
          "7.81.0%20(x)\tq=42\tsid=1\tHit\t"
          "375W==\thub.example\thttps\t62\t2\t198.51.100.7\tTLSv1.3\tTLS_AES\tError\tHTTP/"
          "2.0\t-\t-\t51754\t0.113\tError\ttext/plain\t-\t-\t-",
          "t=1710256948.000000000; client=192.0.2.1; method=GET; target=/a%20b?q=42; protocol=HTTP/2.0; status=400; "
          "bytes=703; "
          "ns=2000000000; cache=hit; host=hub.example; agent=curl/7.81.0 (x); forwarded=198.51.100.7" },
    };
    assert_all_told("iis", NULL, iis, COUNT(iis));
    assert_all_told("cloudfront", NULL, cloudfront, COUNT(cloudfront));
    assert_all_told("w3c", NULL, iis, COUNT(iis));
}

static void cloudfront_names_its_columns_with_blanks_and_writes_them_with_tabs(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "#Version: 1.0", "#" },
        { "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) "
          "cs(User-Agent) "
          "cs-uri-query cs(Cookie) x-edge-result-type",
          "#" },
        { "2023-11-14\t22:13:20\tFRA2\t7\t2001:db8::1\tGET\td1.cloudfront.net\t/"
          "\t200\t-\tA%20B\t-\tsid=1%3B\tRefreshHit",
          "t=1700000000.000000000; client=2001:db8::1; method=GET; target=/; status=200; bytes=7; cache=hit; "
          "host=d1.cloudfront.net; "
          "agent=A B" },
    };
    assert_all_told("cloudfront", NULL, cases, COUNT(cases));
}

static void other_servers_columns_may_stand_in_quotes(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "#Fields: date time time-taken c-ip cs-username sc-status cs-method cs-uri cs(User-Agent) cs(X-Api-Key)",
          "#" },
        { "2023-11-14 22:13:20 0.25 192.0.2.1 - 200 GET https://a.example/x?y \"Mozilla/5.0 (X11)\" k1",
          "t=1700000000.000000000; client=192.0.2.1; method=GET; target=/x?y; status=200; ns=250000000; "
          "host=a.example; "
          "agent=Mozilla/5.0 (X11)" },
    };
    struct reader reader;
    reader_init(&reader, "w3c", NULL);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_told(&reader, cases[i].line, cases[i].expected);
    const struct drossel_header *last = &reader.record.header[reader.record.header_count - 1];
    assert_int_equal(last->name.size, 9);
    assert_memory_equal(last->name.data, "X-Api-Key", 9);
    reader_release(&reader);
}

static void columns_may_be_local_quoted_and_have_quotes_inside(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "#Fields:   date-local time-local   s-ip   cs-method cs-uri cs(User-Agent) cs(Referrer) sc-win32-status "
          "sc-status TimeTakenMS",
          "#" },
        { "\"2023-11-14\" 22:13:20.363 192.0.2.9 GET a.example/x \"U A\" \"\" \" \"\"garbage\"\" w/ blanks \" 404 109",
          "t=1700000000.363000000; method=GET; target=/x; status=404; ns=109000000; agent=U A" },
    };
    assert_all_told("w3c", NULL, cases, COUNT(cases));
}

static void a_line_of_fields_without_end_is_no_danger(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    static char line[SIZE];
    struct reader reader;
    reader_init(&reader, "w3c", NULL);
    memset(line, 'a', SIZE);
    memcpy(line, "#Fields: date time ", 19);
    for (size_t i = 20; i < SIZE; i += 2)
        line[i] = ' ';
    assert_int_equal(reader_read_sized(&reader, (struct drossel_text){ line, SIZE }), LOG_COMMENT);
    assert_int_equal(reader_read(&reader, "2023-11-14 22:13:20 a b c"), LOG_UNPARSED);
    line[0] = 'x';
    reader_read_sized(&reader, (struct drossel_text){ line, SIZE });
    reader_release(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iis_says_its_columns_and_may_change_them),
        cmocka_unit_test(columns_that_nobody_named_are_the_usual_ones),
        cmocka_unit_test(cloudfront_names_its_columns_with_blanks_and_writes_them_with_tabs),
        cmocka_unit_test(other_servers_columns_may_stand_in_quotes),
        cmocka_unit_test(columns_may_be_local_quoted_and_have_quotes_inside),
        cmocka_unit_test(a_line_of_fields_without_end_is_no_danger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
