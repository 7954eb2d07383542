/* Accounts in multipart/form-data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "body_found.h"

#define TYPE "multipart/form-data; boundary=b"
#define NAMED(name) "--b\r\nContent-Disposition: form-data; " name "\r\n\r\n"
#define PART(name, value) NAMED("name=" name) value "\r\n"
#define END "--b--\r\n"
#define HEADED(header) "--b\r\n" header "Content-Disposition: form-data; name=email\r\n\r\nbob\r\n" END

static void every_part_of_a_name_is_found(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { TYPE, DROSSEL_TEXT(PART("email", "bob") END), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob") END), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"a\"", "1") PART("\"email\"", "bob") END), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob") PART("\"email\"", "eve") END), "bob|eve" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "") END), "" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bo\r\nb\r\n") END), "bo\r\nb\r\n" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", " bob") END), " bob" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "a-b--c") END), "a-b--c" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "b\0b") END), "b\\0b" },
        { TYPE, DROSSEL_TEXT(NAMED("name=\"email\"; filename=\"x; y\"") "bob\r\n" END), "bob" },
        { TYPE, DROSSEL_TEXT(NAMED("filename=\"it's\"; name=\"email\"") "bob\r\n" END), "bob" },
        { TYPE, DROSSEL_TEXT("preamble\r\n" PART("\"email\"", "bob") END "epilogue\r\n"), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob") "--b--"), "bob" },
        { TYPE, DROSSEL_TEXT("--b  \t\r\nContent-Disposition:form-data;name=email\r\n\r\nbob\r\n" END), "bob" },
        { TYPE, DROSSEL_TEXT(HEADED("Content-Type: text/plain; charset=utf-8\r\nX: y\r\n")), "bob" },
        { TYPE, DROSSEL_TEXT("--b\nContent-Disposition: form-data; name=\"email\"\n\nbob\n--b--\n"), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"emails\"", "bob") PART("\"xemail\"", "eve") END), "" },
        { TYPE, DROSSEL_TEXT(""), "" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void no_spelling_hides_a_part(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { TYPE, DROSSEL_TEXT("--b\r\ncontent-DISPOSITION:  FORM-DATA ; NAME=\"email\"\r\n\r\nbob\r\n" END), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"EMail\"", "bob") END), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"e\\mail\"", "bob") END), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"%65mail\"", "bob") END), "bob" },
        { TYPE, DROSSEL_TEXT(PART("\"email\0x\"", "bob") END), "bob" },
        { TYPE, DROSSEL_TEXT("--b\r\nContent-Disposition: form-data;\r\n name=\"email\"\r\n\r\nbob\r\n" END), "bob" },
        { TYPE, DROSSEL_TEXT("--b\r\nContent-Disposition: x; name=email\r\n\r\nbob\r\n" END), "bob" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void a_boundary_is_found_in_any_spelling(void **state)
{
    (void)state;
#define BODY_OF(boundary)                                                                                              \
    DROSSEL_TEXT("--" boundary "\r\nContent-Disposition: form-data; name=email\r\n\r\nbob\r\n--" boundary "--\r\n")
    static const struct body_case table[] = {
        { "Multipart/Form-Data; Boundary=b", BODY_OF("b"), "bob" },
        { "multipart/form-data; charset=utf-8; boundary=\"b\"", BODY_OF("b"), "bob" },
        { "multipart/form-data;boundary=----WebKitFormBoundary7MA4YWxk", BODY_OF("----WebKitFormBoundary7MA4YWxk"),
          "bob" },
        { "multipart/mixed; boundary=b", BODY_OF("b"), "bob" },
        { "multipart/form-data; boundary=\"a b\"", BODY_OF("a b"), "bob!" },
        { "multipart/form-data; boundary=a,b", BODY_OF("a"), "bob!" },
        { "multipart/form-data; boundary=b; boundary=c", BODY_OF("c"), "bob!" },
        { "multipart/form-data; boundary=b; boundary=c", BODY_OF("b"), "!" },
        { "multipart/form-data; boundary='b'", BODY_OF("b"), "bob!" },
        { "multipart/form-data; boundary=", BODY_OF("b"), "!" },
        { "multipart/form-data; boundary*=b", BODY_OF("b"), "!" },
        { "multipart/form-data", BODY_OF("b"), "!" },
        { "multipart/form-data; boundary=c", BODY_OF("b"), "!" },
        { "multipart/form-data; boundary=b; charset=utf-16", BODY_OF("b"), "bob!" },
        { "multipart/form-data; my-boundary=c; boundary=b", BODY_OF("b"), "bob!" },
        { "multipart/form-data;boundary=--boundary; charset=utf-8", BODY_OF("--boundary"), "bob" },
        { "multipart/form-data; Boundary=----FormBoundary", BODY_OF("----FormBoundary"), "bob" },
        { "multipart/form-data; Boundary=----formboundary", BODY_OF("----formboundary"), "bob!" },
        { "multipart/form-data; boundary=boundary=b", BODY_OF("boundary=b"), "bob!" },
        { "multipart/x-boundary; boundary=b", BODY_OF("b"), "bob!" },
        { "multipart/form-data; Boundary=b; boundary-x=c", BODY_OF("b"), "bob!" },
        { "multipart/form-data; boundary=b; x=\"boundary=c\"", BODY_OF("b"), "bob!" },
        { "multipart/form-data; boundary =b", BODY_OF("b"), "bob!" },
        { "multipart/form-data; boundary= b", BODY_OF("b"), "bob!" },
        { "multipart/form-data; x='; boundary=c; y='; boundary=b", BODY_OF("b"), "bob!" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void faults_hide_nothing_and_are_told(void **state)
{
    (void)state;
    static const struct body_case table[] = {
        { TYPE, DROSSEL_TEXT(" " PART("\"email\"", "bob") END), "!" },
        { TYPE, DROSSEL_TEXT("\r" PART("\"email\"", "bob") END), "!" },
        { TYPE, DROSSEL_TEXT("x\r\n\t\v\f" PART("\"email\"", "bob") END), "!" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob") "--b --\r\n"), "bob!" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob") "--b\t--"), "bob!" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob") "--b\r--\r\n"), "bob!" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob") "--b--  \r\n"), "bob" },
        { TYPE, DROSSEL_TEXT("x " PART("\"email\"", "bob") END), "!" },
        { TYPE, DROSSEL_TEXT("x" PART("\"email\"", "bob") END), "!" },
        { TYPE, DROSSEL_TEXT("\r\n--" PART("\"email\"", "bob") END), "!" },
        { TYPE, DROSSEL_TEXT(PART("\"a\"", "x" PART("\"email\"", "bob")) END), "!" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "a--b--c") END), "a--b--c!" },
        { TYPE, DROSSEL_TEXT(NAMED("name = \"email\"") "bob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT(NAMED("name==email") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(NAMED("name= \"a;name=email\"") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(NAMED("name=\"a\"; x=\"; name=email\"") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(NAMED("name=\"=?utf-8?B?ZW1haWw=?=\"") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(PART("\"email\"", "bob")), "bob!" },
        { TYPE, DROSSEL_TEXT(NAMED("name=email") "bob"), "bob!" },
        { TYPE, DROSSEL_TEXT("--b\r\nContent-Disposition: form-data; name=email"), "!" },
        { TYPE, DROSSEL_TEXT("--b"), "!" },
        { TYPE, DROSSEL_TEXT("--"), "!" },
        { TYPE, DROSSEL_TEXT("\r\n"), "!" },
        { TYPE, DROSSEL_TEXT(PART("\"a\"", "1") END PART("\"email\"", "bob") END), "bob!" },
        { TYPE, DROSSEL_TEXT("--bx\r\nContent-Disposition: form-data; name=email\r\n\r\nbob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT("--b\r\nContent-Disposition: form-data; name=email\n\nbob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT(NAMED("name=\"a\"; name=\"email\"") "bob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT(NAMED("name=\"email\"; name=\"a\"") "bob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT(NAMED("name=\"email") "bob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT(NAMED("name='email'") "bob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT(NAMED("name=\"a\"; name*=utf-8''email") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(NAMED("filename=it's; name=email") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(NAMED("filename=\"a\\\"; name=email; x=\"; name=\"c\"") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(NAMED("filename=x") "bob\r\n" END), "!" },
        { TYPE, DROSSEL_TEXT(PART("\"email[]\"", "bob") END), "!" },
        { TYPE, DROSSEL_TEXT(HEADED("no header\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT("--b\r\nContent-Disposition : form-data; name=email\r\n\r\nbob\r\n" END), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("X Y: z\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("X\tY: z\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("\xc3\xa9: z\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED(": z\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("X: y\r\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("X: y\rz\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("\rX: y\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("X: y\r\n z\r\n")), "bob" },
        { TYPE, DROSSEL_TEXT(NAMED("name=email") "bob\r--b\r\nx: y\r\n\r\n\r\n" END), "bob\r--b\r\nx: y\r\n\r\n!" },
        { TYPE, DROSSEL_TEXT(PART("email", "bo\rb") END), "bo\rb" },
        { TYPE, DROSSEL_TEXT(HEADED(" folded: x\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("Content-Transfer-Encoding: base64\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("Content-Type: text/plain; charset=utf-16\r\n")), "bob!" },
        { TYPE, DROSSEL_TEXT(HEADED("Content-Type: text/plain; charset=iso-8859-1\r\n")), "bob" },
        { TYPE,
          DROSSEL_TEXT("--b\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Disposition: form-data; "
                       "name=email\r\n\r\nb\xf6"
                       "b\r\n" END),
          "b\xf6"
          "b!" },
    };
    BODY_ASSERT_ALL(table, body_form_email);
}

static void the_last_of_many_parts_is_found(void **state)
{
    (void)state;
    static char body[1000000];
    size_t size = 0;
    for (int i = 0; i < 10000; i++)
        size += (size_t)snprintf(body + size, sizeof body - size, NAMED("name=\"f%d\"") "%d\r\n", i, i);
    size += (size_t)snprintf(body + size, sizeof body - size, PART("\"email\"", "bob") END);
    struct body_case test = { TYPE, { body, size }, "bob" };
    body_assert(&test, body_form_email, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_a_name_is_found),       cmocka_unit_test(no_spelling_hides_a_part),
        cmocka_unit_test(a_boundary_is_found_in_any_spelling), cmocka_unit_test(faults_hide_nothing_and_are_told),
        cmocka_unit_test(the_last_of_many_parts_is_found),
    };
    return cmocka_run_group_tests_name("multipart", tests, NULL, NULL);
}
