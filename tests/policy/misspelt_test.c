/* One mistake is told once: what follows from it is not, and what has nothing to do with it is told in the same run. */
#include "opened.h"

#define HEAD "version: 1\n"
#define ALIAS ": a YAML alias; write the value here again\n"

struct told_case {
    const char *name, *yaml, *mistakes;
};

static const struct told_case misspelt[] = {
    { "a section, and what is wrong in it", HEAD "limit: { a: { by: adress, allow: 5 per 1m } }\n",
      "p.yaml:2:1: unknown key \"limit\"; did you mean \"limits\"?\n"
      "p.yaml:2:19: unknown key part \"adress\"; did you mean \"address\"?\n" },
    { "classes that limits name",
      HEAD "clases: { login: { path: /login } }\nlimits: { a: { for: login, by: address, allow: 5 per 1m } }\n",
      "p.yaml:2:1: unknown key \"clases\"; did you mean \"classes\"?\n" },
    { "the version", "versoin: 1\n", "p.yaml:1:1: unknown key \"versoin\"; did you mean \"version\"?\n" },
    { "what a limit needs", HEAD "limits: { a: { yb: address, alow: 5 per 1m } }\n",
      "p.yaml:2:16: unknown key \"yb\"; did you mean \"by\"?\n"
      "p.yaml:2:29: unknown key \"alow\"; did you mean \"allow\"?\n" },
    { "what other keys of a limit need",
      HEAD "limits: { a: { by: address, allow: 5 per 1m, algorithmn: bucket, burst: 3, blok: 2m, extend: true } }\n",
      "p.yaml:2:46: unknown key \"algorithmn\"; did you mean \"algorithm\"?\n"
      "p.yaml:2:76: unknown key \"blok\"; did you mean \"block\"?\n" },
    { "keys of a block", HEAD "limits: { a: { by: address, allow: 5 per 1m, ban: { fro: 5m, faktor: 2, max: 1h } } }\n",
      "p.yaml:2:53: unknown key \"fro\"; did you mean \"for\"?\n"
      "p.yaml:2:62: unknown key \"faktor\"; did you mean \"factor\"?\n" },
    { "a key that stands there rightly, too", HEAD "limits: { a: { by: address, allow: 5 per 1m, alow: 7 per 0s } }\n",
      "p.yaml:2:46: unknown key \"alow\"; did you mean \"allow\"?\n" },
    { "a key as near to one that is there", HEAD "limits: { a: { by: address, allow: 5 per 1m, ba: 5m } }\n",
      "p.yaml:2:46: unknown key \"ba\"; did you mean \"ban\"?\n" },
    { "two letters that changed places",
      HEAD "limits: { a: { by: address, allow: 5 per 1m, algorithm: fixed, form: first } }\n",
      "p.yaml:2:64: unknown key \"form\"; did you mean \"from\"?\n" },
    { "a condition of a header", HEAD "classes: { c: { Header.X-A: 5, paht: login } }\n",
      "p.yaml:2:17: unknown key \"Header.X-A\"; did you mean \"header.X-A\"?\n"
      "p.yaml:2:32: unknown key \"paht\"; did you mean \"path\"?\n" },
};

static const struct told_case unread[] = {
    { "aliases, as a value, in a list, as a key, and of merged keys",
      HEAD "table: &t { keys: 1k }\n"
           "exempt: { methods: [*t], paths: *t }\n"
           "limits:\n"
           "  a: *t\n"
           "  b: { by: *t, allow: 5 per 1m }\n"
           "  c: { by: adress, allow: 5 per 1m }\n",
      "p.yaml:3:21" ALIAS "p.yaml:3:33" ALIAS "p.yaml:5:6" ALIAS "p.yaml:6:12" ALIAS
      "p.yaml:7:12: unknown key part \"adress\"; did you mean \"address\"?\n" },
    { "a second document", HEAD "limits: { a: { by: adress, allow: 5 per 1m } }\n---\nversion: 1\n",
      "p.yaml:2:20: unknown key part \"adress\"; did you mean \"address\"?\n"
      "p.yaml:3:1: a second YAML document; write one policy in one file\n" },
    { "garbage behind the document", HEAD "limits: { a: { by: adress, allow: 5 per 1m } }\n...\ngarbage\n",
      "p.yaml:2:20: unknown key part \"adress\"; did you mean \"address\"?\n"
      "p.yaml:4:1: YAML: did not find expected <document start>; look for a missing colon, quote, bracket or "
      "indentation\n" },
    { "a list that does not end", "[version,\n",
      "p.yaml:2:1: YAML: did not find expected node content, while parsing a "
      "flow node that begins at line 2; look for a missing colon, quote, bracket or indentation\n" },
};

#define QUOTES "; put text that begins with : * & ! @ % or ` or has { in it into quotes, as \"::1\"\n"

static const struct told_case unquoted[] = {
    { "a class that must not be",
      HEAD "classes: { c: { path: /a } }\nlimits: { a: { for: !c, by: address, allow: 5 per 1m } }\n",
      "p.yaml:3:21: \"!c\" is a YAML tag; write not c, or put it into quotes\n" },
    { "an IPv6 address in a list", HEAD "exempt: { addresses: [::1] }\n",
      "p.yaml:2:23: YAML: did not find expected node content, while parsing a flow node that begins at line 2" QUOTES },
    { "an ending", HEAD "classes: { é: { path_ends: *.css } }\n",
      "p.yaml:2:29: YAML: did not find expected alphabetic or numeric character, while scanning an alias that begins "
      "at "
      "line 2" QUOTES },
    { "a variable", HEAD "classes: { c: { host: ${HOST} } }\n",
      "p.yaml:2:24: YAML: did not find expected ',' or '}', while parsing a flow mapping that begins at line "
      "2" QUOTES },
    { "an @", HEAD "classes: { c: { path: @x } }\n",
      "p.yaml:2:23: YAML: found character that cannot start any token, while scanning for the next token that begins "
      "at "
      "line 2" QUOTES },
    { "but not a missing bracket", HEAD "limits: { a: [ { by: address }\n",
      "p.yaml:3:1: YAML: did not find expected ',' or ']', while parsing a flow sequence that begins at line 2; look "
      "for a "
      "missing colon, quote, bracket or indentation\n" },
};

static const struct told_case shown[] = {
    { "the line end of a block of text", HEAD "limits:\n  a:\n    by: |\n      address\n    allow: 5 per 1m\n",
      "p.yaml:4:9: \"address\\n\" has control characters in it; write what the key is made of, as address without "
      "them\n" },
    { "a space that is none", HEAD "limits: { a: { by: address, allow: 5\u00a0per 1m } }\n",
      "p.yaml:2:36: rate \"5\\xc2\\xa0per 1m\": \"5\\xc2\\xa0per\" is no whole number; write N per T, as 50 per "
      "10s\n" },
    { "control characters, and such as turn text around",
      HEAD "limits: { a: { by: address, allow: 5 per 1m, action: \"x\\e\\u009b\\u202e\\ufeff\\té\" } }\n",
      "p.yaml:2:54: unknown value \"x\\x1b\\xc2\\x9b\\xe2\\x80\\xae\\xef\\xbb\\xbf\\té\"; write one of refuse, drop, "
      "delay, "
      "challenge, mark\n" },
};

static void check(const struct told_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct opened opened = open_text(cases[i].yaml);
        if (opened.mistakes == NULL || strcmp(opened.mistakes, cases[i].mistakes) != 0)
            print_error("%s: got\n%s", cases[i].name, opened.mistakes != NULL ? opened.mistakes : "nothing\n");
        assert_non_null(opened.mistakes);
        assert_string_equal(opened.mistakes, cases[i].mistakes);
        close_opened(&opened);
    }
}

static void a_misspelt_key_is_read_as_it_was_meant(void **state)
{
    (void)state;
    check(misspelt, sizeof misspelt / sizeof *misspelt);
}

static void what_cannot_be_read_keeps_nothing_else_from_being_told(void **state)
{
    (void)state;
    check(unread, sizeof unread / sizeof *unread);
}

static void text_that_yaml_takes_for_something_else_is_to_be_put_into_quotes(void **state)
{
    (void)state;
    check(unquoted, sizeof unquoted / sizeof *unquoted);
}

static void what_a_message_quotes_is_shown_byte_by_byte_where_a_terminal_would_hide_it(void **state)
{
    (void)state;
    check(shown, sizeof shown / sizeof *shown);
}

static void a_list_that_is_named_twice_has_its_mistakes_told_once(void **state)
{
    (void)state;
    write_text("a.lst", "10.0.0.0/8\n300.1.2.3\n\xff\n");
    struct opened opened = open_text(HEAD "client: { trusted: a.lst, address_from: X-Forwarded-For }\n"
                                          "exempt: { addresses: [a.lst, a.lst] }\n");
    assert_non_null(opened.mistakes);
    assert_string_equal(
        opened.mistakes,
        "a.lst:2:1: \"300.1.2.3\": not an address; write 203.0.113.7, 10.0.0.0/8, 2001:db8::/32 or unix\n"
        "a.lst:3:1: \"\\xff\" is no address; write an address or a network a line, as 203.0.113.7 or "
        "10.0.0.0/8\n");
    close_opened(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_misspelt_key_is_read_as_it_was_meant),
        cmocka_unit_test(what_cannot_be_read_keeps_nothing_else_from_being_told),
        cmocka_unit_test(text_that_yaml_takes_for_something_else_is_to_be_put_into_quotes),
        cmocka_unit_test(what_a_message_quotes_is_shown_byte_by_byte_where_a_terminal_would_hide_it),
        cmocka_unit_test(a_list_that_is_named_twice_has_its_mistakes_told_once),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
