/* Reads YAML by libyaml's events into a tree with places. */
#include "policy/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define UNSIZED_ROOM ((size_t)16 * 1024)

struct builder {
    struct diagnoses *diagnoses;
    struct place place; /* of the file; line and column are set for each node */
    yaml_parser_t *parser;
    yaml_event_t *event; /* the current one; deleted before the next, and by the arena */
    struct drossel_text bytes;
    size_t nodes;
    bool failed;
};

/* ---- bytes ---- */

static void close_descriptor(void *object)
{
    close((int)((intptr_t)object - 1));
}

static const char *read_all(int descriptor, char *bytes, size_t size, size_t *used)
{
    while (*used < size) {
        ssize_t got = read(descriptor, bytes + *used, size - *used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        if (got == 0)
            break;
        *used += (size_t)got;
    }
    return NULL;
}

/* How many bytes to make room for; a pipe (`<(...)`, /dev/stdin) does not say. */
static const char *room_of(int descriptor, size_t *room)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return strerror(errno);
    if (S_ISDIR(status.st_mode))
        return "it is a directory";
    bool sized = S_ISREG(status.st_mode) && status.st_size > 0;
    if (sized && (uint64_t)status.st_size > DOCUMENT_BYTES_MAX)
        return "it is larger than 16 MB";
    *room = sized ? (size_t)status.st_size + 1 : UNSIZED_ROOM;
    return NULL;
}

/* Reads to the end, with more room whenever there is none left. */
static const char *read_growing(struct policy_arena *arena, int descriptor, size_t room, struct drossel_text *bytes)
{
    char *data = arena_alloc(arena, room);
    size_t used = 0;
    const char *why = read_all(descriptor, data, room, &used);
    while (why == NULL && used == room && used <= DOCUMENT_BYTES_MAX) {
        char *larger = arena_alloc(arena, room * 2);
        memcpy(larger, data, used);
        data = larger;
        room *= 2;
        why = read_all(descriptor, data, room, &used);
    }
    *bytes = (struct drossel_text){ data, used };
    return why == NULL && used > DOCUMENT_BYTES_MAX ? "it is larger than 16 MB" : why;
}

bool document_read(struct policy_arena *arena, const char *path, struct drossel_text *bytes, const char **why)
{
    void **slot = arena_defer(arena, close_descriptor);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        *why = strerror(errno);
        return false;
    }
    *slot = (void *)((intptr_t)descriptor + 1);
    size_t room = 0;
    struct drossel_text read = { NULL, 0 };
    *why = room_of(descriptor, &room);
    if (*why == NULL)
        *why = read_growing(arena, descriptor, room, &read);
    close(descriptor);
    *slot = NULL;
    if (*why != NULL)
        return false;
    bool marked = read.size >= 3 && memcmp(read.data, "\xEF\xBB\xBF", 3) == 0;
    *bytes = marked ? (struct drossel_text){ read.data + 3, read.size - 3 } : read;
    return true;
}

/* ---- events ---- */

static void set_place(struct builder *builder, const yaml_mark_t *mark)
{
    builder->place.line = (unsigned)mark->line + 1;
    builder->place.column = (unsigned)mark->column + 1;
}

/* A byte that is no character: libyaml gives its offset only. */
static void place_of_offset(struct builder *builder, size_t offset)
{
    builder->place.line = builder->place.column = 1;
    for (size_t i = 0; i < offset && i < builder->bytes.size; i++) {
        if (builder->bytes.data[i] == '\n') {
            builder->place.line++;
            builder->place.column = 1;
        } else if (((unsigned char)builder->bytes.data[i] & 0xC0) != 0x80) {
            builder->place.column++;
        }
    }
}

/* Where the line of the place begins; NULL if it does not. */
static const char *line_start(const struct builder *builder)
{
    const char *at = builder->bytes.data, *end = at + builder->bytes.size;
    for (unsigned line = 1; line < builder->place.line && at != NULL; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline == NULL ? NULL : newline + 1;
    }
    return at;
}

/* A tab among the blanks that a line begins with, which YAML takes for no indentation; libyaml speaks of a character only. */
static bool is_indented_with_tab(const struct builder *builder)
{
    const char *at = line_start(builder), *end = builder->bytes.data + builder->bytes.size;
    while (at != NULL && at < end && *at == ' ')
        at++;
    return at != NULL && at < end && *at == '\t';
}

/* Is it a text that YAML takes for something else: `::1`, `*.css`, `@x`, `${HOST}`?  By what stands at the place. */
static bool lacks_quotes(const struct builder *builder)
{
    const char *at = line_start(builder), *end = builder->bytes.data + builder->bytes.size;
    char before = ' ';
    for (unsigned column = 1; at != NULL && at < end && column < builder->place.column;) {
        before = *at++;
        column += at == end || ((unsigned char)*at & 0xC0) != 0x80;
    }
    if (at == NULL || at >= end)
        return false;
    bool is_address = *at == ':' && end - at > 1 && at[1] == ':';
    bool is_inside = *at == '{' && before != ' ' && before != '[' && before != ',' && before != '{';
    return is_address || is_inside || *at == '@' || *at == '`' || *at == '%' || before == '*' || before == '&';
}

static void report_parser(struct builder *builder)
{
    const yaml_parser_t *parser = builder->parser;
    builder->failed = true;
    if (parser->error == YAML_MEMORY_ERROR)
        arena_fail(builder->diagnoses->arena);
    const char *problem = parser->problem != NULL ? parser->problem : "no YAML";
    if (parser->error == YAML_READER_ERROR) {
        place_of_offset(builder, parser->problem_offset);
        diagnose(builder->diagnoses, MISTAKE, &builder->place,
                 "%s; write the file in UTF-8, without control characters", problem);
        return;
    }
    set_place(builder, &parser->problem_mark);
    if (is_indented_with_tab(builder)) {
        diagnose(builder->diagnoses, MISTAKE, &builder->place,
                 "YAML: a tab at the begin of the line; indent with spaces");
        return;
    }
    const char *remedy = lacks_quotes(builder)
                             ? "put text that begins with : * & ! @ % or ` or has { in it into quotes, as \"::1\""
                             : "look for a missing colon, quote, bracket or indentation";
    if (parser->context != NULL)
        diagnose(builder->diagnoses, MISTAKE, &builder->place, "YAML: %s, %s that begins at line %zu; %s", problem,
                 parser->context, parser->context_mark.line + 1, remedy);
    else
        diagnose(builder->diagnoses, MISTAKE, &builder->place, "YAML: %s; %s", problem, remedy);
}

/* The next event becomes the current one. */
static bool advance(struct builder *builder)
{
    if (builder->failed)
        return false;
    yaml_event_delete(builder->event);
    memset(builder->event, 0, sizeof(*builder->event));
    if (yaml_parser_parse(builder->parser, builder->event) == 0) {
        report_parser(builder);
        return false;
    }
    set_place(builder, &builder->event->start_mark);
    return true;
}

static void refuse(struct builder *builder, const char *text)
{
    diagnose(builder->diagnoses, MISTAKE, &builder->place, "%s", text);
    builder->failed = true;
}

static struct node *new_node(struct builder *builder, enum node_kind kind)
{
    if (builder->nodes++ >= DOCUMENT_NODES_MAX) {
        refuse(builder, "more than 1000000 values; put long lists into list files");
        return NULL;
    }
    struct node *node = arena_alloc(builder->diagnoses->arena, sizeof(*node));
    node->kind = kind;
    node->place = builder->place;
    return node;
}

static void refuse_tag(struct builder *builder, const yaml_char_t *tag)
{
    if (tag != NULL)
        diagnose(builder->diagnoses, MISTAKE, &builder->place, "a YAML tag; leave it out, types are known here");
}

/* `!static` reads as a tag of nothing: then that is all there is to be told of it. */
static void refuse_scalar_tag(struct builder *builder, struct node *node)
{
    const char *tag = (const char *)builder->event->data.scalar.tag;
    struct policy_arena *arena = builder->diagnoses->arena;
    if (tag == NULL || tag[0] != '!' || builder->event->data.scalar.length > 0) {
        refuse_tag(builder, builder->event->data.scalar.tag);
        return;
    }
    diagnose(builder->diagnoses, MISTAKE, &node->place, "\"%s\" is a YAML tag; write not %s, or put it into quotes",
             quotable(arena, (struct drossel_text){ tag, strlen(tag) }),
             quotable(arena, (struct drossel_text){ tag + 1, strlen(tag + 1) }));
    node->place.told = true;
}

static struct node *build(struct builder *builder, unsigned depth);

static int by_text(const void *left, const void *right)
{
    const struct node *a = *(const struct node *const *)left, *b = *(const struct node *const *)right;
    size_t size = a->text.size < b->text.size ? a->text.size : b->text.size;
    int order = memcmp(a->text.data, b->text.data, size);
    if (order == 0)
        order = (a->text.size > b->text.size) - (a->text.size < b->text.size);
    if (order == 0)
        order = (a->place.line > b->place.line) - (a->place.line < b->place.line);
    return order != 0 ? order : (a->place.column > b->place.column) - (a->place.column < b->place.column);
}

/* Marks keys that stand there again by a kind that no key has; sorting, so that a map of 100,000 keys is no burden. */
static void mark_duplicates(struct builder *builder, const struct node *map)
{
    struct policy_arena *arena = builder->diagnoses->arena;
    struct node **keys = arena_array(arena, map->count + 1, sizeof(*keys));
    size_t count = 0;
    for (struct node *key = map->first; key != NULL; key = key->next)
        keys[count++] = key;
    qsort(keys, count, sizeof(struct node *), by_text);
    for (size_t i = 1, first = 0; i < count; i++) {
        bool same = keys[first]->text.size == keys[i]->text.size &&
                    memcmp(keys[first]->text.data, keys[i]->text.data, keys[i]->text.size) == 0;
        if (!same) {
            first = i;
            continue;
        }
        diagnose(builder->diagnoses, MISTAKE, &keys[i]->place,
                 "\"%s\" stands here twice, first at line %u; leave one out", quotable(arena, keys[i]->text),
                 keys[first]->place.line);
        keys[i]->kind = NODE_MAP;
    }
}

static void drop_duplicates(struct builder *builder, struct node *map)
{
    if (map->count < 2)
        return;
    mark_duplicates(builder, map);
    for (struct node **link = &map->first; *link != NULL;) {
        if ((*link)->kind == NODE_MAP) {
            *link = (*link)->next;
            map->count--;
        } else {
            link = &(*link)->next;
        }
    }
}

static struct node *build_scalar(struct builder *builder)
{
    struct node *node = new_node(builder, NODE_SCALAR);
    if (node == NULL)
        return NULL;
    refuse_scalar_tag(builder, node);
    node->plain = builder->event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = arena_text(builder->diagnoses->arena, (const char *)builder->event->data.scalar.value,
                            builder->event->data.scalar.length);
    return node;
}

/* Stands for the value that is not looked up: more is not told of it, but of all else. */
static struct node *build_alias(struct builder *builder)
{
    struct node *node = new_node(builder, NODE_SCALAR);
    if (node == NULL)
        return NULL;
    diagnose(builder->diagnoses, MISTAKE, &node->place, "a YAML alias; write the value here again");
    node->place.told = true;
    node->text = arena_text(builder->diagnoses->arena, "*", 1);
    return node;
}

static struct node *build_list(struct builder *builder, unsigned depth)
{
    struct node *list = new_node(builder, NODE_LIST);
    if (list == NULL)
        return NULL;
    refuse_tag(builder, builder->event->data.sequence_start.tag);
    for (struct node **link = &list->first; advance(builder) && builder->event->type != YAML_SEQUENCE_END_EVENT;) {
        struct node *item = build(builder, depth + 1);
        if (item == NULL)
            return NULL;
        *link = item;
        link = &item->next;
        list->count++;
    }
    return builder->failed ? NULL : list;
}

static struct node *build_map(struct builder *builder, unsigned depth)
{
    struct node *map = new_node(builder, NODE_MAP);
    if (map == NULL)
        return NULL;
    refuse_tag(builder, builder->event->data.mapping_start.tag);
    for (struct node **link = &map->first; advance(builder) && builder->event->type != YAML_MAPPING_END_EVENT;) {
        struct node *key = build(builder, depth + 1);
        if (key == NULL || !advance(builder))
            return NULL;
        struct node *value = build(builder, depth + 1);
        if (value == NULL)
            return NULL;
        if (key->kind != NODE_SCALAR) {
            diagnose(builder->diagnoses, MISTAKE, &key->place, "a key that is %s; write a name", node_kind_name(key));
            continue;
        }
        key->value = value;
        *link = key;
        link = &key->next;
        map->count++;
    }
    if (builder->failed)
        return NULL;
    drop_duplicates(builder, map);
    return map;
}

/* The node that begins with the current event; NULL when the tree cannot be built. */
static struct node *build(struct builder *builder, unsigned depth)
{
    if (depth > DOCUMENT_DEPTH_MAX) {
        refuse(builder, "nested too deeply; a policy has at most 32 levels");
        return NULL;
    }
    switch (builder->event->type) {
    case YAML_SCALAR_EVENT:
        return build_scalar(builder);
    case YAML_SEQUENCE_START_EVENT:
        return build_list(builder, depth);
    case YAML_MAPPING_START_EVENT:
        return build_map(builder, depth);
    case YAML_ALIAS_EVENT:
        return build_alias(builder);
    default:
        refuse(builder, "no YAML value; write a map of keys");
        return NULL;
    }
}

static struct node *build_document(struct builder *builder)
{
    if (!advance(builder) || !advance(builder)) /* the stream's start, then the document's */
        return NULL;
    if (builder->event->type == YAML_STREAM_END_EVENT) {
        builder->place.line = builder->place.column = 1;
        refuse(builder, "an empty file; begin with `version: 1`");
        return NULL;
    }
    struct node *root = advance(builder) ? build(builder, 1) : NULL;
    if (root == NULL || !advance(builder) || !advance(builder))
        return root; /* what can be told of it is, though garbage follows */
    if (builder->event->type != YAML_STREAM_END_EVENT)
        refuse(builder, "a second YAML document; write one policy in one file");
    return root;
}

static void release_parser(void *object)
{
    yaml_parser_delete(object);
}

static void release_event(void *object)
{
    yaml_event_delete(object);
}

struct node *document_parse(struct diagnoses *diagnoses, struct drossel_text bytes, const struct place *place)
{
    struct builder builder = { .diagnoses = diagnoses, .place = *place, .bytes = bytes };
    builder.parser = arena_alloc(diagnoses->arena, sizeof(*builder.parser));
    builder.event = arena_alloc(diagnoses->arena, sizeof(*builder.event));
    void **parser = arena_defer(diagnoses->arena, release_parser);
    void **event = arena_defer(diagnoses->arena, release_event);
    if (yaml_parser_initialize(builder.parser) == 0)
        arena_fail(diagnoses->arena);
    *parser = builder.parser;
    *event = builder.event;
    yaml_parser_set_encoding(builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(builder.parser, (const unsigned char *)bytes.data, bytes.size);
    struct node *root = build_document(&builder);
    yaml_event_delete(builder.event);
    *event = NULL;
    yaml_parser_delete(builder.parser);
    *parser = NULL;
    return root;
}

/* ---- questions ---- */

bool node_is_null(const struct node *node)
{
    return node->kind == NODE_SCALAR && node->plain &&
           (node->text.size == 0 || strcmp(node->text.data, "~") == 0 || strcmp(node->text.data, "null") == 0);
}

const char *node_kind_name(const struct node *node)
{
    if (node->kind == NODE_LIST)
        return "a list";
    if (node->kind == NODE_MAP)
        return "a map";
    return node_is_null(node) ? "nothing" : "text";
}

const struct node *node_find(const struct node *map, const char *key)
{
    for (const struct node *one = map->kind == NODE_MAP ? map->first : NULL; one != NULL; one = one->next)
        if (one->text.size == strlen(key) && memcmp(one->text.data, key, one->text.size) == 0)
            return one;
    return NULL;
}
