/* `classes:`, names for kinds of requests. */
#include "policy/classes.h"

#include <string.h>

#include "policy/reading.h"

#define PATTERN_BYTES_MAX 4096

struct class_reading {
    struct class *class;
    struct condition *condition; /* the one being read */
};

static void release_pattern(void *object)
{
    pcre2_code_free(object);
}

/* Bytes, not characters: `.` then matches every byte, and nobody slips past a pattern by a byte that is no UTF-8. */
static pcre2_code *compile_pattern(struct reading *reading, const struct node *node)
{
    int code;
    PCRE2_SIZE offset;
    void **slot = arena_defer(reading->arena, release_pattern);
    pcre2_code *pattern =
        pcre2_compile((PCRE2_SPTR)node->text.data, node->text.size,
                      PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    if (pattern == NULL) {
        PCRE2_UCHAR why[160] = "";
        if (code == PCRE2_ERROR_HEAP_FAILED)
            arena_fail(reading->arena);
        pcre2_get_error_message(code, why, sizeof(why));
        mistake(reading, node, "pattern \"%s\": %s at offset %zu; write a regular expression of PCRE2",
                quotable(reading->arena, node->text), (const char *)why, (size_t)offset);
        return NULL;
    }
    *slot = pattern;
    (void)pcre2_jit_compile(pattern, PCRE2_JIT_COMPLETE); /* where there is no JIT, it is interpreted */
    return pattern;
}

static bool is_valid_value(struct reading *reading, const struct node *node, enum condition_kind kind)
{
    const char *word = quotable(reading->arena, node->text);
    if (kind == CONDITION_METHOD && !is_token(node->text)) {
        mistake(reading, node, "\"%s\" is no method; write one, as POST", word);
        return false;
    }
    if (kind == CONDITION_PATH_MATCHES && node->text.size > PATTERN_BYTES_MAX) {
        mistake(reading, node, "a pattern of %zu bytes; write at most %d", node->text.size, PATTERN_BYTES_MAX);
        return false;
    }
    return true;
}

static void read_value(struct reading *reading, const struct node *node, void *into)
{
    static const char *const what[CONDITION_KINDS] = { "a method, as POST",
                                                       "a path, as /login",
                                                       "the begin of a path, as /api/",
                                                       "the end of a path, as .css",
                                                       "a host, as shop.example",
                                                       "a value of the header",
                                                       "a regular expression, as ^/search$" };
    struct class_reading *state = into;
    struct condition *condition = state->condition;
    struct drossel_text text;
    if (!read_text(reading, node, what[condition->kind], &text) || !is_valid_value(reading, node, condition->kind)) {
        state->class->broken = true;
        return;
    }
    if (condition->kind == CONDITION_PATH_MATCHES)
        condition->patterns[condition->count] = compile_pattern(reading, node);
    if (condition->kind == CONDITION_PATH_MATCHES && condition->patterns[condition->count] == NULL) {
        state->class->broken = true;
        return;
    }
    bool folded = condition->kind == CONDITION_HOST || condition->kind == CONDITION_PATH_ENDS;
    condition->places[condition->count] = node->place;
    condition->values[condition->count++] = folded ? arena_text_lower(reading->arena, text) : text;
}

static void read_condition(struct reading *reading, const struct node *key, struct class_reading *state,
                           enum condition_kind kind)
{
    struct condition *condition = state->condition = &state->class->conditions[state->class->condition_count++];
    size_t most = key->value->kind == NODE_LIST ? key->value->count + 1 : 1;
    condition->kind = kind;
    condition->values = arena_array(reading->arena, most, sizeof(*condition->values));
    condition->places = arena_array(reading->arena, most, sizeof(*condition->places));
    if (kind == CONDITION_PATH_MATCHES)
        condition->patterns = arena_array(reading->arena, most, sizeof(pcre2_code *));
    read_items(reading, key->value, read_value, state);
    state->class->broken = state->class->broken || condition->count == 0;
}

static void read_method(struct reading *reading, const struct node *key, void *into)
{
    read_condition(reading, key, into, CONDITION_METHOD);
}

static void read_path(struct reading *reading, const struct node *key, void *into)
{
    read_condition(reading, key, into, CONDITION_PATH);
}

static void read_path_begins(struct reading *reading, const struct node *key, void *into)
{
    read_condition(reading, key, into, CONDITION_PATH_BEGINS);
}

static void read_path_ends(struct reading *reading, const struct node *key, void *into)
{
    read_condition(reading, key, into, CONDITION_PATH_ENDS);
}

static void read_path_matches(struct reading *reading, const struct node *key, void *into)
{
    read_condition(reading, key, into, CONDITION_PATH_MATCHES);
}

static void read_host(struct reading *reading, const struct node *key, void *into)
{
    read_condition(reading, key, into, CONDITION_HOST);
}

/* `present` and `absent` alone are tests; in a list they are values like others. */
/* A list of one, [present], is how to ask for that very value; among others it was meant as the test. */
static void check_listed_tests(struct reading *reading, const struct node *list)
{
    for (const struct node *item = list->first; list->count > 1 && item != NULL; item = item->next)
        if (item->kind == NODE_SCALAR && item->plain &&
            (text_is(item->text, "present") || text_is(item->text, "absent")))
            warning(reading, item,
                    "\"%s\" in a list is a value like others, and no test; write it alone, in a class of its own",
                    item->text.data);
}

static void read_header(struct reading *reading, const struct node *key, void *into)
{
    struct class_reading *state = into;
    struct drossel_text name = { key->text.data + strlen("header."), key->text.size - strlen("header.") };
    if (!is_token(name)) {
        mistake(reading, key, "\"%s\" is no header's name; write one, as header.X-Api-Key",
                quotable(reading->arena, name));
        state->class->broken = true;
    }
    read_condition(reading, key, state, CONDITION_HEADER);
    state->condition->header = arena_text_lower(reading->arena, name);
    if (key->value->kind == NODE_SCALAR && text_is(key->value->text, "present"))
        state->condition->test = HEADER_PRESENT;
    else if (key->value->kind == NODE_SCALAR && text_is(key->value->text, "absent"))
        state->condition->test = HEADER_ABSENT;
    else if (key->value->kind == NODE_LIST)
        check_listed_tests(reading, key->value);
}

static void read_class(struct reading *reading, const struct node *key, struct class *class)
{
    static const struct key_row rows[] = { { "method", read_method },
                                           { "path", read_path },
                                           { "path_begins", read_path_begins },
                                           { "path_ends", read_path_ends },
                                           { "path_matches", read_path_matches },
                                           { "host", read_host },
                                           { "header.", read_header },
                                           { NULL, NULL } };
    struct class_reading state = { .class = class };
    size_t most = key->value->kind == NODE_MAP ? key->value->count : 0;
    class->name = key->text.data;
    class->place = key->place;
    class->conditions = arena_array(reading->arena, most, sizeof(*class->conditions));
    if (!is_name(key->text) || text_is(key->text, "not")) {
        mistake(reading, key, "\"%s\" is no name for a class; write 1 to %d of A-Z a-z 0-9 . _ - (and not \"not\")",
                quotable(reading->arena, key->text), POLICY_NAME_MAX);
        class->broken = true;
    }
    class->broken = !read_keys(reading, key->value, rows, &state) || class->broken;
    if (most == 0 && (node_is_null(key->value) || key->value->kind == NODE_MAP)) {
        mistake(reading, key, "class \"%s\" has no condition; write one, as { path: /login }",
                quotable(reading->arena, key->text));
        class->broken = true;
    }
    class->broken = class->broken || class->condition_count < most;
}

void read_classes(struct reading *reading, const struct node *key, void *into)
{
    const struct node *map = key->value;
    (void)into;
    if (node_is_null(map))
        return;
    if (map->kind != NODE_MAP) {
        mistake(reading, map, "%s; write a map of names, as { login: { path: /login } }", node_kind_name(map));
        return;
    }
    if (map->count > POLICY_CLASSES_MAX) {
        mistake(reading, key, "%zu classes; at most %d are possible: join those that are used together", map->count,
                POLICY_CLASSES_MAX);
        return;
    }
    reading->classes = arena_array(reading->arena, map->count + 1, sizeof(*reading->classes));
    const char **names = arena_array(reading->arena, map->count + 1, sizeof(*names));
    for (const struct node *one = map->first; one != NULL; one = one->next) {
        names[reading->class_count] = one->text.data;
        words_add(reading->arena, &reading->class_lookup, one->text, reading->class_count);
        read_class(reading, one, &reading->classes[reading->class_count++]);
    }
    reading->policy->class_names = names;
    reading->policy->class_count = reading->class_count;
}

int find_class(struct reading *reading, const struct node *node, struct drossel_text name)
{
    const struct word *word = words_find(&reading->class_lookup, name);
    if (word != NULL) {
        int index = (int)((const uint32_t *)word->numbers.items)[0];
        reading->classes[index].used = true;
        return index;
    }
    static const char *const none[] = { NULL };
    const char *closest = closest_name(name, reading->class_count > 0 ? reading->policy->class_names : none);
    const char *found = quotable(reading->arena, name);
    if (closest != NULL)
        mistake(reading, node, "unknown class \"%s\"; did you mean \"%s\"?", found, closest);
    else
        mistake(reading, node, "unknown class \"%s\"; define it under `classes`", found);
    return -1;
}
