/* HAProxy's HTTP log, with and without what may stand around it. */
#include "told.h"

#define COUNT(table) (sizeof table / sizeof *table)
#define AT "[06/Feb/2009:12:14:14.655]"
#define T "t=1233922454.655000000; client=10.0.1.2; "
#define FRONT "10.0.1.2:33317 " AT " http-in static/srv1 "
#define TOLD_GET "method=GET; target=/index.html; protocol=HTTP/1.1; status=200; bytes=2750; ns=109000000"
#define BARE FRONT "10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0"
#define GET " \"GET /index.html HTTP/1.1\""

static void requests_are_read_with_and_without_a_prefix(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { BARE GET, T TOLD_GET },
        { "Feb  6 12:14:14 localhost haproxy[14389]: " BARE GET, T TOLD_GET },
        { "<134>Feb  6 12:14:14 haproxy[14389]: " BARE GET, T TOLD_GET },
        { "2015-08-26T02:09:48+02:00 localhost haproxy[14389]: " BARE GET, T TOLD_GET },
        { "<134>1 2015-08-26T02:09:48+02:00 localhost haproxy 14389 - - " BARE GET, T TOLD_GET },
        /* option httpslog: what is known of TLS behind the request */
        { BARE GET " 0/0000000000000000/0/0/0 1wt.eu/TLSv1.3/TLS_AES_256_GCM_SHA384", T TOLD_GET },
        { "2001:db8::1:443 " AT " http-in~ b/s 0/0/0/0/1 200 1 - - ---- 1/1/1/1/0 0/0 \"GET / HTTP/2.0\"",
          "t=1233922454.655000000; client=2001:db8::1; method=GET; target=/; protocol=HTTP/2.0; status=200; bytes=1; "
          "ns=1000000" },
        { "[2001:db8::1]:443 " AT " http-in b/s 0/0/0/0/1 200 1 - - ---- 1/1/1/1/0 0/0 \"GET / HTTP/2.0\"",
          "t=1233922454.655000000; client=2001:db8::1; method=GET; target=/; protocol=HTTP/2.0; status=200; bytes=1; "
          "ns=1000000" },
        { "unix:1 " AT " http-in b/s 0/0/0/0/1 200 1 - - ---- 1/1/1/1/0 0/0 \"GET / HTTP/2.0\"",
          "t=1233922454.655000000; client=unix; method=GET; target=/; protocol=HTTP/2.0; status=200; bytes=1; "
          "ns=1000000" },
    };
    assert_all_told("haproxy", NULL, cases, COUNT(cases));
}

static void what_did_not_come_to_a_request_is_counted_too(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { FRONT "-1/-1/-1/-1/12 401 262 - - PR-- 0/0/0/0/0 0/0" GET,
          T "method=GET; target=/index.html; protocol=HTTP/1.1; status=401; bytes=262; ns=12000000" },
        { "10.0.1.2:33317 " AT
          " http-in http-in/<NOSRV> -1/-1/-1/-1/6001 408 212 - - cR-- 100/89/0/0/0 0/0 \"<BADREQ>\"",
          T "status=408; bytes=212; ns=6001000000" },
        { FRONT "-1/-1/-1/-1/0 -1 0 - - CR-- 0/0/0/0/0 0/0 \"<BADREQ>\"", T "ns=0" },
        { FRONT "0/51536/1/48082/+99627 200 +83285 - - ---- 87/87/87/1/0 0/67" GET,
          T "method=GET; target=/index.html; protocol=HTTP/1.1; status=200; bytes=83285; ns=99627000000" },
        { FRONT "0/0/0/-1/-1 +200 1 - - ---- 1/1/1/1/0 0/0" GET,
          T "method=GET; target=/index.html; protocol=HTTP/1.1; status=200; bytes=1" },
        /* cut off at the length of a syslog line */
        { BARE " \"GET /very/lo", T "method=GET; target=/very/lo; status=200; bytes=2750; ns=109000000" },
        { BARE, T "status=200; bytes=2750; ns=109000000" },
        { FRONT "0/0/0/0/0 200", T "status=200; ns=0" },
    };
    assert_all_told("haproxy", NULL, cases, COUNT(cases));
}

static void captured_fields_are_known_by_what_they_look_like(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { BARE " {1wt.eu} {}" GET, T TOLD_GET "; host=1wt.eu" },
        { BARE " {shop.example:8443||} {|||}" GET, T TOLD_GET "; host=shop.example" },
        { BARE " {203.0.113.9}" GET, T TOLD_GET "; forwarded=203.0.113.9" },
        { BARE " {203.0.113.9, 10.0.0.1|Mozilla/5.0 (X11; #22x#22)|shop.example} {text/html}" GET,
          T TOLD_GET "; host=shop.example; agent=Mozilla/5.0 (X11; \"x\"); forwarded=203.0.113.9, 10.0.0.1" },
        { BARE " {|1.5|/path/2|-|a_b.c}" GET, T TOLD_GET },
        { BARE " {}" GET, T TOLD_GET },
        { BARE " {unclosed" GET, T TOLD_GET },
        { BARE " \"GET /a#22b#0Ac#zz HTTP/1.1\"",
          T "method=GET; target=/a\"b\nc#zz; protocol=HTTP/1.1; status=200; bytes=2750; ns=109000000" },
    };
    assert_all_told("haproxy", NULL, cases, COUNT(cases));
}

static void other_lines_of_haproxy_are_no_requests(void **state)
{
    (void)state;
    static const struct told_case cases[] = {
        { "", NULL },
        { "10.0.1.2:33317 " AT
          " http-in/backend: SSL handshake failure (error:0A0000C1:SSL routines::no shared cipher)",
          NULL },
        { "10.0.1.2:33317 " AT " http-in/1: Connection closed during SSL handshake", NULL },
        { "10.0.1.2:33317 " AT " main app/<NOSRV> -1/-1/1 212 SC 1/1/0/0/0 0/0", NULL },
        { "Feb  6 12:14:14 localhost haproxy[14389]: Proxy http-in started.", NULL },
        { "10.0.1.2 " AT " http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0" GET, NULL },
        { "10.0.1.2:33317 [06/Feb/2009:12:14:14] http-in static/srv1 10/0/30/69/109 200 2750" GET, NULL },
        { FRONT "10/0/30/69/109 20x 2750" GET, NULL },
        { FRONT "10/0/30/69/109", NULL },
        { FRONT, NULL },
    };
    assert_all_told("haproxy", NULL, cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read_with_and_without_a_prefix),
        cmocka_unit_test(what_did_not_come_to_a_request_is_counted_too),
        cmocka_unit_test(captured_fields_are_known_by_what_they_look_like),
        cmocka_unit_test(other_lines_of_haproxy_are_no_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
