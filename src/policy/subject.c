/* `for` and `by`: which requests a limit counts, and on which key. */
#include "policy/reading.h"

#include <string.h>

#define LIST_MAX 64 /* classes in one `for` */

struct number_list {
    struct limit_draft *draft;
    struct arena_list positive, negative;
};

static struct drossel_text behind_not(struct drossel_text text)
{
    size_t skip = 4;
    while (skip < text.size && text.data[skip] == ' ')
        skip++;
    return (struct drossel_text){ text.data + skip, text.size - skip };
}

static void read_for_item(struct reading *reading, const struct node *node, void *into)
{
    struct number_list *list = into;
    struct drossel_text name;
    if (!read_text(reading, node, "a class, or not and a class", &name)) {
        list->draft->broken = true;
        return;
    }
    bool negated = text_begins(name, (struct drossel_text)DROSSEL_TEXT("not "));
    if (negated)
        name = behind_not(name);
    int class = find_class(reading, node, name);
    if (class < 0) {
        list->draft->broken = true;
        return;
    }
    struct arena_list *numbers = negated ? &list->negative : &list->positive;
    for (size_t i = 0; i < numbers->count; i++)
        if (((uint32_t *)numbers->items)[i] == (uint32_t) class) {
            warning(reading, node, "\"%s\" stands here twice; once is enough", quotable(reading->arena, node->text));
            return;
        }
    *(uint32_t *)arena_push(reading->arena, numbers, sizeof(uint32_t)) = (uint32_t) class;
}

void read_for(struct reading *reading, const struct node *key, void *into)
{
    struct number_list list = { .draft = into };
    if (key->value->kind == NODE_LIST && key->value->count > LIST_MAX) {
        mistake(reading, key->value, "%zu classes; name at most %d", key->value->count, LIST_MAX);
        list.draft->broken = true;
        return;
    }
    read_items(reading, key->value, read_for_item, &list);
    list.draft->broken = list.draft->broken || (list.positive.count + list.negative.count == 0);
    list.draft->limit->positive = list.positive.items;
    list.draft->limit->positive_count = (uint32_t)list.positive.count;
    list.draft->limit->negative = list.negative.items;
    list.draft->limit->negative_count = (uint32_t)list.negative.count;
}

/* The names of the parts, in the order in which they stand in a key. */
static const struct {
    const char *name;
    enum policy_part_kind kind;
} part_names[] = { { "account", POLICY_BY_ACCOUNT }, { "token", POLICY_BY_TOKEN }, { "header.", POLICY_BY_HEADER },
                   { "site", POLICY_BY_SITE },       { "path", POLICY_BY_PATH },   { "address", POLICY_BY_ADDRESS } };
#define PART_NAMES 6

struct subject_reading {
    struct limit_draft *draft;
    struct policy_subject subject;
};

static unsigned rank_of(enum policy_part_kind kind)
{
    unsigned rank = 0;
    while (part_names[rank].kind != kind)
        rank++;
    return rank;
}

static int order_of(const struct policy_part *a, const struct policy_part *b)
{
    if (a->kind != b->kind)
        return rank_of(a->kind) < rank_of(b->kind) ? -1 : 1;
    size_t size = a->header.size < b->header.size ? a->header.size : b->header.size;
    int order = size == 0 ? 0 : memcmp(a->header.data, b->header.data, size);
    return order != 0 ? order : (a->header.size > b->header.size) - (a->header.size < b->header.size);
}

/* Inserts in the order of part_names, so that [address, token] and [token, address] are one key. */
static bool insert_part(struct policy_subject *subject, const struct policy_part *part)
{
    uint8_t at = subject->part_count;
    for (uint8_t i = 0; i < subject->part_count; i++)
        if (order_of(&subject->part[i], part) == 0)
            return false;
    while (at > 0 && order_of(part, &subject->part[at - 1]) < 0) {
        subject->part[at] = subject->part[at - 1];
        at--;
    }
    subject->part[at] = *part;
    subject->part_count++;
    return true;
}

/* Parses `address` or `header.NAME`. */
static bool parse_part(struct reading *reading, struct drossel_text text, struct policy_part *part)
{
    for (unsigned i = 0; i < PART_NAMES; i++) {
        struct drossel_text name = { part_names[i].name, strlen(part_names[i].name) };
        bool header = part_names[i].kind == POLICY_BY_HEADER;
        if (header ? !text_begins(text, name) || text.size == name.size : !text_equal(text, name))
            continue;
        part->kind = part_names[i].kind;
        struct drossel_text rest = { text.data + name.size, text.size - name.size };
        if (header && !is_token(rest))
            return false;
        part->header = header ? arena_text_lower(reading->arena, rest) : (struct drossel_text){ NULL, 0 };
        return true;
    }
    return false;
}

static void report_part(struct reading *reading, const struct node *node)
{
    static const char *const names[] = { "address", "account", "token", "site", "path", "header.", NULL };
    const char *closest = closest_name(node->text, names), *word = quotable(reading->arena, node->text);
    if (closest != NULL && strcmp(closest, "header.") != 0)
        mistake(reading, node, "unknown key part \"%s\"; did you mean \"%s\"?", word, closest);
    else
        mistake(reading, node, "unknown key part \"%s\"; write address, account, token, site, path or header.NAME",
                word);
}

static void read_by_item(struct reading *reading, const struct node *node, void *into)
{
    struct subject_reading *state = into;
    struct drossel_text text;
    struct policy_part part;
    if (state->draft->unkeyed && state->subject.part_count == POLICY_PARTS_MAX)
        return;
    bool read = read_text(reading, node, "what the key is made of, as address", &text);
    if (read && !parse_part(reading, text, &part)) {
        report_part(reading, node);
        read = false;
    }
    if (read && state->subject.part_count == POLICY_PARTS_MAX) {
        mistake(reading, node, "more than %d parts; name at most so many", POLICY_PARTS_MAX);
        read = false;
    } else if (read && !insert_part(&state->subject, &part)) {
        mistake(reading, node, "\"%s\" stands here twice; leave one out", quotable(reading->arena, text));
        read = false;
    }
    state->draft->unkeyed = state->draft->unkeyed || !read;
}

/* The index of the subject; equal ones are kept once. */
static uint32_t intern_subject(struct reading *reading, struct policy_subject *subject)
{
    const char *text = "";
    for (unsigned i = 0; i < subject->part_count; i++)
        text = arena_format(reading->arena, "%s%s%s%s", text, i > 0 ? "+" : "",
                            part_names[rank_of(subject->part[i].kind)].name,
                            subject->part[i].header.data != NULL ? subject->part[i].header.data : "");
    subject->text = (struct drossel_text){ text, strlen(text) };
    const struct policy_subject *all = reading->subjects.items;
    for (size_t i = 0; i < reading->subjects.count; i++)
        if (text_equal(all[i].text, subject->text))
            return (uint32_t)i;
    *(struct policy_subject *)arena_push(reading->arena, &reading->subjects, sizeof(*subject)) = *subject;
    return (uint32_t)reading->subjects.count - 1;
}

void read_by(struct reading *reading, const struct node *key, void *into)
{
    struct subject_reading state = { .draft = into };
    read_items(reading, key->value, read_by_item, &state);
    for (unsigned i = 0; i < state.subject.part_count; i++)
        if (state.subject.part[i].kind == POLICY_BY_SITE && state.subject.part_count > 1) {
            mistake(reading, key->value, "\"site\" is one key for everybody; leave it out beside other parts");
            state.draft->unkeyed = true;
        }
    if (state.subject.part_count == 0)
        state.draft->unkeyed = true;
    else
        state.draft->limit->subject = intern_subject(reading, &state.subject);
    state.draft->broken = state.draft->broken || state.draft->unkeyed;
}
