/* What no single key of the sections and of the classes can tell: settings that miss each other, classes without requests. */
#include <string.h>

#include "policy/reading.h"

#define warn_at(reading, at, ...) diagnose((reading)->diagnoses, WARNING, (at), __VA_ARGS__)

/* ---- sections ---- */

static const struct node *value_of(const struct reading *reading, const char *section, const char *key)
{
    const struct node *one = node_find(reading->root, section);
    one = one == NULL ? NULL : node_find(one->value, key);
    return one == NULL ? NULL : one->value;
}

static void check_client(struct reading *reading)
{
    const struct policy *policy = reading->policy;
    const struct node *trusted = value_of(reading, "client", "trusted");
    const struct node *from = value_of(reading, "client", "address_from");
    const struct node *required = value_of(reading, "client", "require_trusted");
    bool nobody = policy->client.trusted == NULL;
    if (policy->require_trusted && nobody && trusted == NULL)
        mistake(reading, required,
                "`require_trusted` without `trusted` refuses every request; list your proxies in `trusted`");
    if (from != NULL && nobody && trusted == NULL && policy->client.source != CLIENT_PEER)
        warning(reading, from,
                "`address_from` without `trusted`: the %s is never %s, as anybody could send it; list your proxies in "
                "`trusted`",
                policy->client.source == CLIENT_PROXY_PROTOCOL ? "PROXY protocol" : "header",
                policy->client.source == CLIENT_PROXY_PROTOCOL ? "believed" : "read");
    if (!nobody && from == NULL)
        warning(reading, trusted,
                "`trusted` without `address_from`: all visitors behind such a proxy are counted as one, the "
                "proxy; name the header that tells them apart, as address_from: X-Forwarded-For");
}

static bool is_hex(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

/* %41: decoded before, so that the text itself hardly ever stands in a path. */
static bool has_escape(struct drossel_text path)
{
    for (size_t i = 0; i + 2 < path.size; i++)
        if (path.data[i] == '%' && is_hex(path.data[i + 1]) && is_hex(path.data[i + 2]))
            return true;
    return false;
}

/* Why no request has such a path, or NULL.  Paths are compared decoded, normalised, and without the query string. */
static const char *path_fault(struct drossel_text path, bool from_start)
{
    if (from_start && path.data[0] != '/' && !text_is(path, "*"))
        return "does not begin with /";
    if (memchr(path.data, '?', path.size) != NULL)
        return "has a query string, which is cut off before";
    if (has_escape(path))
        return "is escaped, and paths are decoded before";
    if (memmem(path.data, path.size, "//", 2) != NULL)
        return "has two slashes in a row, which are made one before";
    if (memmem(path.data, path.size, "/./", 3) != NULL || memmem(path.data, path.size, "/../", 4) != NULL)
        return "has /./ or /../ in it, which are resolved before";
    return NULL;
}

/* A wildcard, as other languages have it.  `*` alone is the target of OPTIONS. */
static bool has_star(struct drossel_text path)
{
    return path.size > 1 && memchr(path.data, '*', path.size) != NULL;
}

static bool is_lower_method(struct drossel_text method)
{
    bool lower = false;
    for (size_t i = 0; i < method.size; i++) {
        if (method.data[i] >= 'A' && method.data[i] <= 'Z')
            return false;
        lower = lower || (method.data[i] >= 'a' && method.data[i] <= 'z');
    }
    return lower;
}

static void check_exempt(struct reading *reading)
{
    const struct node *addresses = value_of(reading, "exempt", "addresses");
    const struct entry *paths = reading->exempt_paths.items, *methods = reading->exempt_methods.items;
    if (reading->exempt_addresses != NULL && netset_is_everything(reading->exempt_addresses))
        warning(reading, addresses,
                "every IPv4 or every IPv6 address is exempt, so that no limit can ever refuse one of "
                "them; name fewer networks");
    for (size_t i = 0; i < reading->exempt_paths.count; i++) {
        const char *fault = path_fault(paths[i].text, true);
        if (paths[i].text.size == 1)
            warn_at(reading, &paths[i].place,
                    "every path begins with /, so that all requests are exempt and no limit can "
                    "ever refuse; write a longer one");
        else if (fault != NULL)
            warn_at(reading, &paths[i].place, "no request is exempt by it: \"%s\" %s; write it as requests have it",
                    quotable(reading->arena, paths[i].text), fault);
        else if (has_star(paths[i].text))
            warn_at(reading, &paths[i].place,
                    "the * in \"%s\" stands for itself and no other text; leave it out, an entry is a path's begin",
                    quotable(reading->arena, paths[i].text));
    }
    for (size_t i = 0; i < reading->exempt_methods.count; i++)
        if (is_lower_method(methods[i].text))
            warn_at(reading, &methods[i].place,
                    "no request is exempt by it: methods are in upper case, \"%s\" is not; write it so",
                    quotable(reading->arena, methods[i].text));
}

/* What only limits of failures, or accounts in bodies, have use for. */
static void check_unread(struct reading *reading)
{
    const struct policy *policy = reading->policy;
    const struct node *outcomes = node_find(reading->root, "outcomes");
    const struct node *cap = value_of(reading, "client", "body_cap");
    bool failures = false, body = false;
    for (uint32_t i = 0; i < reading->draft_count; i++)
        failures = failures || reading->drafts[i].limit->failures;
    for (uint32_t i = 0; i < policy->account_from_count; i++)
        body = body || policy->account_from[i].kind == POLICY_FROM_FORM ||
               policy->account_from[i].kind == POLICY_FROM_JSON;
    if (outcomes != NULL && !failures)
        warning(reading, outcomes,
                "no limit counts failures, so that outcomes count for nothing; write allow: N failures per T, or leave "
                "them out");
    if (cap != NULL && !body)
        warning(reading, cap,
                "no body is read, as no account is taken from one; name form.FIELD or json.PATH in account_from, or "
                "leave it out");
}

static void warn_of_json(struct reading *reading, const struct node *json)
{
    warning(reading, json,
            "`json` counts for nothing, as no `body: json` goes with it; write that, too, or leave it out");
}

/* A body that is worded and never sent.  Not asked among mistakes: a misspelt `body` is told already. */
static void check_json(struct reading *reading)
{
    const struct http_answer_rules *answer = &reading->policy->answer;
    const struct node *json = value_of(reading, "answer", "json");
    bool used = answer->body == HTTP_BODY_JSON;
    for (uint32_t i = 0; i < reading->draft_count; i++) {
        const struct limit_draft *draft = &reading->drafts[i];
        const struct node *at = draft->at[KEY_ANSWER], *own = at == NULL ? NULL : node_find(at, "json");
        bool is_json = draft->limit->answer->body == HTTP_BODY_JSON;
        used = used || (is_json && own == NULL);
        if (own != NULL && !is_json)
            warn_of_json(reading, own->value);
    }
    if (json != NULL && !used)
        warn_of_json(reading, json);
}

void check_sections(struct reading *reading)
{
    const struct node *limits = node_find(reading->root, "limits");
    check_client(reading);
    check_unread(reading);
    check_exempt(reading);
    if (reading->diagnoses->found[MISTAKE].count == 0)
        check_json(reading);
    if (limits == NULL || node_is_null(limits->value) || (limits->value->kind == NODE_MAP && limits->value->count == 0))
        warning(reading, limits == NULL ? reading->root : limits,
                "no limits: nothing is counted and nobody refused; write one under `limits`");
}

/* ---- classes ---- */

static const char *host_fault(struct drossel_text host)
{
    if (memchr(host.data, '/', host.size) != NULL)
        return "has a slash in it, and a host has none";
    if (host.data[0] != '[' && memchr(host.data, ':', host.size) != NULL)
        return "has a port, which is cut off before";
    if (host.data[0] == '[' && host.data[host.size - 1] != ']')
        return "has a port, which is cut off before";
    if (host.size > 1 && host.data[host.size - 1] == '.')
        return "has a dot at its end, which is cut off before";
    if (memchr(host.data, '*', host.size) != NULL)
        return "has a * in it, which stands for itself, and no host has one";
    return NULL;
}

static bool ends_in_dots(struct drossel_text path)
{
    struct drossel_text last = path;
    const char *slash = memrchr(path.data, '/', path.size);
    if (slash != NULL)
        last = (struct drossel_text){ slash + 1, path.size - (size_t)(slash + 1 - path.data) };
    return slash != NULL && (text_is(last, ".") || text_is(last, ".."));
}

static const char *value_fault(const struct condition *condition, uint32_t i)
{
    struct drossel_text value = condition->values[i];
    switch (condition->kind) {
    case CONDITION_METHOD:
        return is_lower_method(value) ? "is in lower case, and methods are in upper case" : NULL;
    case CONDITION_PATH:
        return ends_in_dots(value) ? "ends in /. or /.., which are resolved before" : path_fault(value, true);
    case CONDITION_PATH_BEGINS:
        return path_fault(value, true);
    case CONDITION_PATH_ENDS:
        return path_fault(value, false);
    case CONDITION_HOST:
        return host_fault(value);
    default:
        return NULL;
    }
}

static bool is_of_path(enum condition_kind kind)
{
    return kind == CONDITION_PATH || kind == CONDITION_PATH_BEGINS || kind == CONDITION_PATH_ENDS ||
           kind == CONDITION_PATH_MATCHES;
}

static void check_star(struct reading *reading, const struct class *class, const struct condition *condition,
                       uint32_t i)
{
    if (!is_of_path(condition->kind) || condition->kind == CONDITION_PATH_MATCHES || !has_star(condition->values[i]))
        return;
    warn_at(reading, &condition->places[i],
            "the * in \"%s\" of class \"%s\" stands for itself and no other text; write path_begins or path_ends "
            "without it, or a pattern as path_matches",
            quotable(reading->arena, condition->values[i]), class->name);
}

/* Warns of each value that no request has; a condition with such values only leaves its class empty. */
static void check_values(struct reading *reading, struct class *class, const struct condition *condition)
{
    uint32_t faulty = 0;
    for (uint32_t i = 0; i < condition->count; i++) {
        const char *fault = value_fault(condition, i);
        if (fault == NULL) {
            check_star(reading, class, condition, i);
            continue;
        }
        faulty++;
        warn_at(reading, &condition->places[i],
                "no request can be in class \"%s\" by it: \"%s\" %s; write it as requests have it", class->name,
                quotable(reading->arena, condition->values[i]), fault);
    }
    class->impossible = class->impossible || faulty == condition->count;
}

static bool same_fact(enum condition_kind a, enum condition_kind b)
{
    return a == b || (is_of_path(a) && is_of_path(b));
}

/* Does one value of the condition (method, exact path or host) fulfil all that the class says about the same fact? */
static bool can_agree(const struct condition *condition, const struct class *with)
{
    for (uint32_t i = 0; i < condition->count; i++) {
        struct policy_facts facts = { .method = condition->values[i],
                                      .path = condition->values[i],
                                      .host = condition->values[i] };
        bool agrees = true;
        for (uint32_t k = 0; k < with->condition_count && agrees; k++)
            if (same_fact(condition->kind, with->conditions[k].kind))
                agrees = condition_holds(&with->conditions[k], &facts);
        if (agrees)
            return true;
    }
    return false;
}

bool classes_exclude(const struct class *a, const struct class *b)
{
    for (uint32_t i = 0; i < a->condition_count; i++) {
        enum condition_kind kind = a->conditions[i].kind;
        bool whole = kind == CONDITION_METHOD || kind == CONDITION_PATH || kind == CONDITION_HOST;
        if (whole && !can_agree(&a->conditions[i], b))
            return true;
    }
    return false;
}

/* One header demanded and forbidden. */
static bool headers_exclude(const struct class *class)
{
    for (uint32_t i = 0; i < class->condition_count; i++) {
        const struct condition *a = &class->conditions[i];
        for (uint32_t k = 0; k < class->condition_count && a->kind == CONDITION_HEADER && a->test == HEADER_ABSENT;
             k++) {
            const struct condition *b = &class->conditions[k];
            if (b->kind == CONDITION_HEADER && b->test != HEADER_ABSENT && text_equal(a->header, b->header))
                return true;
        }
    }
    return false;
}

struct exempt_lookup {
    struct words methods;
    struct affixes paths;
};

/* Is every value of the condition exempt, so that a request of this class is never counted? */
static bool is_exempt(const struct condition *condition, const struct exempt_lookup *exempt)
{
    bool method = condition->kind == CONDITION_METHOD;
    if (!method && condition->kind != CONDITION_PATH && condition->kind != CONDITION_PATH_BEGINS)
        return false;
    for (uint32_t i = 0; i < condition->count; i++)
        if (method ? words_find(&exempt->methods, condition->values[i]) == NULL
                   : affixes_find(&exempt->paths, condition->values[i]) == WORDS_NONE)
            return false;
    return condition->count > 0;
}

static void check_class(struct reading *reading, struct class *class, const struct exempt_lookup *exempt)
{
    for (uint32_t i = 0; i < class->condition_count; i++)
        check_values(reading, class, &class->conditions[i]);
    if (!class->impossible && (classes_exclude(class, class) || headers_exclude(class))) {
        warn_at(reading, &class->place,
                "no request can be in class \"%s\": its conditions contradict each other; leave one "
                "out, or make two classes",
                class->name);
        class->impossible = true;
    }
    for (uint32_t i = 0; i < class->condition_count && !class->impossible; i++)
        if (is_exempt(&class->conditions[i], exempt)) {
            warn_at(reading, &class->place,
                    "no request can be counted in class \"%s\": all of its %s are exempt; take them "
                    "out of `exempt`, or leave the class out",
                    class->name, class->conditions[i].kind == CONDITION_METHOD ? "methods" : "paths");
            class->impossible = true;
        }
    if (!class->used)
        warn_at(reading, &class->place, "class \"%s\" is never used; name it in `for` or `cost`, or leave it out",
                class->name);
}

void check_classes(struct reading *reading)
{
    struct exempt_lookup exempt = { .paths = { .backwards = false } };
    const struct entry *paths = reading->exempt_paths.items, *methods = reading->exempt_methods.items;
    for (size_t i = 0; i < reading->exempt_paths.count; i++)
        affixes_add(reading->arena, &exempt.paths, paths[i].text, 0);
    affixes_seal(reading->arena, &exempt.paths);
    for (size_t i = 0; i < reading->exempt_methods.count; i++)
        words_add(reading->arena, &exempt.methods, methods[i].text, 0);
    for (uint32_t i = 0; i < reading->class_count; i++)
        if (!reading->classes[i].broken)
            check_class(reading, &reading->classes[i], &exempt);
}
