/* Which format is told, and what the page is allowed to do. */
#include "status_test_support.h"

#define NO_SUCH_FORMAT -1

static void a_name_decides_and_else_the_accept_field(void **state)
{
    (void)state;
    static const struct {
        const char *name, *accept;
        int format;
    } cases[] = {
        { "", "", STATUS_JSON },
        { "", "*/*", STATUS_JSON },
        { "", "application/json", STATUS_JSON },
        { "", "image/png", STATUS_JSON },
        { "", "text/plain; version=0.0.4", STATUS_PROMETHEUS },
        { "", "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", STATUS_PROMETHEUS },
        { "", "application/openmetrics-text; version=1.0.0", STATUS_PROMETHEUS },
        { "",
          "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
          "openmetrics-text;version=0.0.1;"
          "q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
          STATUS_PROMETHEUS },
        { "", "text/html", STATUS_PAGE },
        { "", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", STATUS_PAGE },
        { "", "text/html;q=0.1, application/json", STATUS_JSON },
        { "json", "text/html", STATUS_JSON },
        { "html", "", STATUS_PAGE },
        { "prometheus", "text/html", STATUS_PROMETHEUS },
        { "xml", "text/html", NO_SUCH_FORMAT },
        { "JSON", "", NO_SUCH_FORMAT },
        { "jso", "", NO_SUCH_FORMAT },
        { "jsonp", "", NO_SUCH_FORMAT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum status_format format = STATUS_JSON;
        bool is_known = status_choose(text_of(cases[i].name), text_of(cases[i].accept), &format);
        if ((is_known ? (int)format : NO_SUCH_FORMAT) != cases[i].format)
            fail_msg("format=%s with Accept: %s gives %d", cases[i].name, cases[i].accept, is_known ? (int)format : -1);
    }
}

/* What a page would need to reach or run anything else than itself. */
static void the_page_is_all_in_itself(void **state)
{
    (void)state;
    static const char *const none[] = { "http://1", "https://", " src=", "@import",   "url(",    " onclick",
                                        " onload",  " style=",  "eval(", "innerHTML", "@STYLE@", "@SCRIPT@" };
    char *page = strndup(status_page.text.data, status_page.text.size);
    assert_non_null(page);
    assert_int_equal(strlen(page), status_page.text.size);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strstr(page, none[i]) != NULL)
            fail_msg("the page has %s", none[i]);
    free(page);
    assert_non_null(strstr(status_page.security_policy, "default-src 'none'"));
    assert_null(strstr(status_page.security_policy, "unsafe"));
    assert_null(strchr(status_page.security_policy, '*'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_decides_and_else_the_accept_field),
        cmocka_unit_test(the_page_is_all_in_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
