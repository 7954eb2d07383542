/* The sections that say who is asking and who is left alone: `table`, `client`, `exempt`. */
#include "policy/reading.h"

#include <string.h>

#define NAMED_MAX ((size_t)6) /* entries of a list that are named to a person */

/* ---- table: ---- */

static void read_table_path(struct reading *reading, const struct node *key, void *into)
{
    struct policy *policy = into;
    struct drossel_text path;
    if (!read_text(reading, key->value, "the path of the table's file", &path))
        return;
    if (path.data[0] != '/') {
        mistake(reading, key->value, "\"%s\" does not begin with /; write an absolute path, as /dev/shm/drossel",
                quotable(reading->arena, path));
        return;
    }
    policy->table_path = path.data;
}

static void read_table_keys(struct reading *reading, const struct node *key, void *into)
{
    read_size(reading, key->value, &((struct policy *)into)->table_keys);
}

static void read_table_names(struct reading *reading, const struct node *key, void *into)
{
    read_flag(reading, key->value, &((struct policy *)into)->table_names);
}

static void read_table_reveal(struct reading *reading, const struct node *key, void *into)
{
    read_flag(reading, key->value, &((struct policy *)into)->table_reveal);
}

void read_table(struct reading *reading, const struct node *key, void *into)
{
    static const struct key_row rows[] = {
        { "path", read_table_path },
        { "keys", read_table_keys },
        { "names", read_table_names },
        { "reveal", read_table_reveal },
        { NULL, NULL },
    };
    read_keys(reading, key->value, rows, into);
}

/* ---- client: ---- */

/* `a, b or c`, and how many more, as they are written. */
static const char *listed(struct reading *reading, const struct node *value)
{
    const struct node *item = value->kind == NODE_LIST ? value->first : value;
    size_t count = value->kind == NODE_LIST ? value->count : 1;
    const char *text = "";
    for (size_t i = 0; item != NULL && i < NAMED_MAX; item = item->next, i++) {
        const char *joint = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        text = arena_format(reading->arena, "%s%s%s", text, joint, quotable(reading->arena, item->text));
    }
    return count <= NAMED_MAX ? text : arena_format(reading->arena, "%s or %zu more", text, count - NAMED_MAX);
}

static void read_trusted(struct reading *reading, const struct node *key, void *into)
{
    struct network_list list = { .may_be_unix = true };
    if (key->value->kind == NODE_LIST && key->value->first == NULL)
        return; /* nobody is trusted: that is the default */
    read_networks(reading, key->value, &list);
    if (netset_is_everything(list.set))
        mistake(reading, key->value,
                "`trusted` covers every address there is, so that every visitor may choose who he is; name the proxies "
                "only");
    ((struct policy *)into)->client.trusted = list.set;
    reading->trusted_text = listed(reading, key->value);
}

/* A header that no proxy sends is never there, and all visitors are counted as their proxy. */
static void check_header_name(struct reading *reading, const struct node *node, struct drossel_text name)
{
    static const char *const known[] = { "proxy_protocol",   "X-Forwarded-For",    "Forwarded",        "X-Real-IP",
                                         "X-Client-IP",      "X-Forwarded",        "Forwarded-For",    "True-Client-IP",
                                         "CF-Connecting-IP", "CF-Connecting-IPv6", "Fastly-Client-IP", NULL };
    const char *meant = slip_of(name, known);
    if (meant != NULL)
        warning(reading, node,
                "no proxy is known to send \"%s\", and without it all visitors are one; did you mean %s?",
                quotable(reading->arena, name), meant);
}

static void read_address_from(struct reading *reading, const struct node *key, void *into)
{
    struct client_rules *client = &((struct policy *)into)->client;
    struct drossel_text name;
    if (!read_text(reading, key->value, "a header's name, as X-Forwarded-For, or proxy_protocol", &name))
        return;
    struct drossel_text lower = arena_text_lower(reading->arena, name);
    if (text_is(lower, "proxy_protocol")) {
        client->source = CLIENT_PROXY_PROTOCOL;
    } else if (!is_token(name)) {
        mistake(reading, key->value, "\"%s\" is no header's name; write one, as X-Forwarded-For, or proxy_protocol",
                quotable(reading->arena, name));
    } else {
        bool forwarded_for = text_is(lower, "x-forwarded-for");
        client->source = forwarded_for                 ? CLIENT_X_FORWARDED_FOR
                         : text_is(lower, "forwarded") ? CLIENT_FORWARDED
                                                       : CLIENT_HEADER;
        client->header = lower;
        check_header_name(reading, key->value, name);
    }
    reading->address_from_text = name.data;
}

static void read_require_trusted(struct reading *reading, const struct node *key, void *into)
{
    read_flag(reading, key->value, &((struct policy *)into)->require_trusted);
}

static void read_ipv6_prefix(struct reading *reading, const struct node *key, void *into)
{
    uint64_t bits;
    if (read_number(reading, key->value, 32, 128, &bits))
        ((struct policy *)into)->ipv6_prefix = (uint8_t)bits;
}

struct source_list {
    struct arena_list sources; /* struct policy_source */
    bool of_account;
};

/* Where accounts and tokens come from: the word, and whether a name follows it. */
static const struct {
    const char *word;
    enum policy_source_kind kind;
    bool named, of_account, of_token;
} source_words[] = {
    { "header", POLICY_FROM_HEADER, true, true, true }, { "cookie", POLICY_FROM_COOKIE, true, true, true },
    { "basic", POLICY_FROM_BASIC, false, true, false }, { "bearer", POLICY_FROM_BEARER, false, false, true },
    { "form", POLICY_FROM_FORM, true, true, false }, /* urlencoded and multipart */
    { "json", POLICY_FROM_JSON, true, true, false },
};
#define SOURCE_WORDS (sizeof(source_words) / sizeof(source_words[0]))

/* Names of headers and cookies are tokens; of a dotted path no step is empty. */
static bool is_source_name(enum policy_source_kind kind, struct drossel_text name)
{
    if (kind == POLICY_FROM_HEADER || kind == POLICY_FROM_COOKIE)
        return is_token(name);
    bool empty_step = name.size == 0 || name.data[0] == '.' || name.data[name.size - 1] == '.' ||
                      memmem(name.data, name.size, "..", 2) != NULL;
    return kind == POLICY_FROM_JSON ? !empty_step : name.size > 0;
}

static void report_source(struct reading *reading, const struct node *node, bool of_account)
{
    static const char *const account_names[] = { "header.", "cookie.", "basic", "form.", "json.", NULL };
    static const char *const token_names[] = { "header.", "cookie.", "bearer", NULL };
    struct drossel_text word = node->text;
    const char *dot = word.size == 0 ? NULL : memchr(word.data, '.', word.size);
    if (dot != NULL)
        word.size = (size_t)(dot - word.data) + 1;
    const char *closest = closest_name(word, of_account ? account_names : token_names);
    const char *found = quotable(reading->arena, node->text);
    if (closest != NULL && !text_is(word, closest))
        mistake(reading, node, "unknown source \"%s\"; did you mean \"%s%s\"?", found, closest,
                closest[strlen(closest) - 1] == '.' ? "NAME" : "");
    else
        mistake(reading, node, "\"%s\" is no source of %s", found,
                of_account ? "an account; write header.NAME, cookie.NAME, basic, form.FIELD or json.PATH"
                           : "a token; write header.NAME, cookie.NAME or bearer");
}

static void read_source(struct reading *reading, const struct node *node, void *into)
{
    struct source_list *list = into;
    struct drossel_text text;
    if (!read_text(reading, node, list->of_account ? "a source, as basic" : "a source, as header.X-Api-Key", &text))
        return;
    for (size_t i = 0; i < SOURCE_WORDS; i++) {
        size_t length = strlen(source_words[i].word);
        bool named = text.size > length && text.data[length] == '.';
        bool matches = text.size >= length && memcmp(text.data, source_words[i].word, length) == 0 &&
                       named == source_words[i].named && (named || text.size == length);
        if (!matches || !(list->of_account ? source_words[i].of_account : source_words[i].of_token))
            continue;
        struct drossel_text name = { named ? text.data + length + 1 : "", named ? text.size - length - 1 : 0 };
        if (named && !is_source_name(source_words[i].kind, name))
            break;
        struct policy_source *source = arena_push(reading->arena, &list->sources, sizeof(*source));
        source->kind = source_words[i].kind;
        source->name = source->kind == POLICY_FROM_HEADER ? arena_text_lower(reading->arena, name) : name;
        return;
    }
    report_source(reading, node, list->of_account);
}

static void read_account_from(struct reading *reading, const struct node *key, void *into)
{
    struct policy *policy = into;
    struct source_list list = { .of_account = true };
    read_items(reading, key->value, read_source, &list);
    policy->account_from = list.sources.items;
    policy->account_from_count = (uint32_t)list.sources.count;
}

static void read_token_from(struct reading *reading, const struct node *key, void *into)
{
    struct policy *policy = into;
    struct source_list list = { .of_account = false };
    read_items(reading, key->value, read_source, &list);
    policy->token_from = list.sources.items;
    policy->token_from_count = (uint32_t)list.sources.count;
}

static void read_body_cap(struct reading *reading, const struct node *key, void *into)
{
    read_byte_count(reading, key->value, &((struct policy *)into)->body_cap);
}

void read_client(struct reading *reading, const struct node *key, void *into)
{
    static const struct key_row rows[] = { { "trusted", read_trusted },
                                           { "address_from", read_address_from },
                                           { "require_trusted", read_require_trusted },
                                           { "ipv6_prefix", read_ipv6_prefix },
                                           { "account_from", read_account_from },
                                           { "token_from", read_token_from },
                                           { "body_cap", read_body_cap },
                                           { NULL, NULL } };
    read_keys(reading, key->value, rows, into);
}

/* ---- exempt: ---- */

static void read_exempt_addresses(struct reading *reading, const struct node *key, void *into)
{
    (void)into;
    if (key->value->kind == NODE_LIST && key->value->first == NULL)
        return;
    struct network_list list = { .may_be_unix = false };
    read_networks(reading, key->value, &list);
    reading->exempt_addresses = list.set;
}

static void add_entry(struct reading *reading, struct arena_list *list, const struct node *node)
{
    struct entry *entry = arena_push(reading->arena, list, sizeof(*entry));
    entry->text = node->text;
    entry->place = node->place;
}

static void read_path_line(struct reading *reading, const struct node *line, void *into)
{
    (void)into;
    if (line->text.data[0] != '/')
        mistake(reading, line, "\"%s\" does not begin with /; write a path's begin a line, as /webhooks/",
                quotable(reading->arena, line->text));
    else
        add_entry(reading, &reading->exempt_paths, line);
}

static void read_exempt_path(struct reading *reading, const struct node *node, void *into)
{
    struct drossel_text name;
    const char *why;
    if (!read_text(reading, node, "a path's begin, or the name of a list file", &name))
        return;
    if (name.data[0] == '/')
        add_entry(reading, &reading->exempt_paths, node);
    else if (!read_list_file(reading, name, &why, read_path_line, into))
        mistake(reading, node,
                "\"%s\" does not begin with /, and as a list file it cannot be read (%s); write a path's begin, as "
                "/webhooks/, or the name of a file that is there, relative to the policy",
                quotable(reading->arena, name), why);
}

static void read_exempt_paths(struct reading *reading, const struct node *key, void *into)
{
    if (key->value->kind != NODE_LIST || key->value->first != NULL)
        read_items(reading, key->value, read_exempt_path, into);
}

static void read_exempt_method(struct reading *reading, const struct node *node, void *into)
{
    struct drossel_text name;
    (void)into;
    if (!read_text(reading, node, "a method, as OPTIONS", &name))
        return;
    if (!is_token(name))
        mistake(reading, node, "\"%s\" is no method; write one, as OPTIONS", quotable(reading->arena, name));
    else
        add_entry(reading, &reading->exempt_methods, node);
}

static void read_exempt_methods(struct reading *reading, const struct node *key, void *into)
{
    if (key->value->kind != NODE_LIST || key->value->first != NULL)
        read_items(reading, key->value, read_exempt_method, into);
}

void read_exempt(struct reading *reading, const struct node *key, void *into)
{
    static const struct key_row rows[] = { { "addresses", read_exempt_addresses },
                                           { "paths", read_exempt_paths },
                                           { "methods", read_exempt_methods },
                                           { NULL, NULL } };
    read_keys(reading, key->value, rows, into);
}
