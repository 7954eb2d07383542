/* Maps read by a table of their keys, and values that are one of a few words. */
#include "policy/reading.h"

#include <string.h>

#define KEYS_IN_A_TABLE_MAX 40

static bool row_takes(const struct key_row *row, struct drossel_text key)
{
    size_t length = strlen(row->name);
    if (row->name[length - 1] == '.')
        return key.size > length && memcmp(key.data, row->name, length) == 0;
    return key.size == length && memcmp(key.data, row->name, length) == 0;
}

/* `a, b, c`; a row `header.` is shown as `header.NAME`. */
static const char *list_names(struct policy_arena *arena, const char *const *names)
{
    const char *text = "";
    for (; *names != NULL; names++) {
        bool open = (*names)[strlen(*names) - 1] == '.';
        text = arena_format(arena, "%s%s%s%s", text, *text != '\0' ? ", " : "", *names, open ? "NAME" : "");
    }
    return text;
}

/* What follows a misspelt `header.`, to be told with the right one. */
static const char *after_dot(const char *word)
{
    const char *dot = strchr(word, '.');
    return dot != NULL && dot[1] != '\0' ? dot + 1 : "NAME";
}

/* The names of a table, and which of them a map has no key of.  Counted once for a map, however many keys are misspelt. */
struct vocabulary {
    const char *all[KEYS_IN_A_TABLE_MAX], *missing[KEYS_IN_A_TABLE_MAX];
};

static void learn(struct vocabulary *words, const struct key_row *table, const struct node *map)
{
    size_t all = 0, missing = 0;
    for (; table->name != NULL && all + 1 < KEYS_IN_A_TABLE_MAX; table++) {
        words->all[all++] = table->name;
        if (node_find(map, table->name) == NULL)
            words->missing[missing++] = table->name;
    }
    words->all[all] = words->missing[missing] = NULL;
}

/* Takes the name out of those that are missing.  False: it is not among them. */
static bool take_missing(struct vocabulary *words, const char *name)
{
    const char **at = words->missing;
    while (*at != NULL && *at != name)
        at++;
    if (*at == NULL)
        return false;
    for (; *at != NULL; at++)
        at[0] = at[1];
    return true;
}

/*
 * Tells of a key that the table has not, and goes on as if it stood there as it was meant, best of all as one that is missing
 * (`ba` beside `by` is `ban`): what is wrong below it is told in the same run, and no other key is told to miss it.  A policy
 * with a mistake is never used.
 */
static void mend_unknown(struct reading *reading, struct node *key, struct vocabulary *words)
{
    const char *word = quotable(reading->arena, key->text);
    struct drossel_text head = key->text; /* of `Header.X-Key` what may be misspelt of `header.` */
    const char *dot = head.size == 0 ? NULL : memchr(head.data, '.', head.size);
    if (dot != NULL)
        head.size = (size_t)(dot - head.data) + 1;
    const char *meant = closest_name(head, words->missing);
    if (meant == NULL)
        meant = closest_name(head, words->all);
    if (meant == NULL) {
        mistake(reading, key, "unknown key \"%s\"; known here are %s", word, list_names(reading->arena, words->all));
        return;
    }
    bool open = meant[strlen(meant) - 1] == '.', missing = open || take_missing(words, meant);
    if (open)
        meant = arena_format(reading->arena, "%s%s", meant, after_dot(word));
    mistake(reading, key, "unknown key \"%s\"; did you mean \"%s\"?", word, meant);
    if (missing)
        key->text = (struct drossel_text){ meant, strlen(meant) };
}

static void mend_keys(struct reading *reading, const struct node *map, const struct key_row *table)
{
    struct vocabulary words;
    bool learnt = false;
    for (struct node *key = map->first; key != NULL; key = key->next) {
        const struct key_row *row = table;
        while (row->name != NULL && !row_takes(row, key->text))
            row++;
        if (row->name != NULL)
            continue;
        if (!learnt)
            learn(&words, table, map);
        learnt = true;
        mend_unknown(reading, key, &words);
    }
}

static void read_row(struct reading *reading, const struct node *map, const struct key_row *row, void *into)
{
    for (const struct node *key = map->first; key != NULL; key = key->next)
        if (row_takes(row, key->text))
            row->read(reading, key, into);
}

bool read_keys(struct reading *reading, const struct node *map, const struct key_row *table, void *into)
{
    if (node_is_null(map))
        return true;
    if (map->kind != NODE_MAP) {
        mistake(reading, map, "%s; write a map of keys", node_kind_name(map));
        return false;
    }
    mend_keys(reading, map, table);
    for (const struct key_row *row = table; row->name != NULL; row++)
        read_row(reading, map, row, into);
    return true;
}

void read_items(struct reading *reading, const struct node *value,
                void (*read)(struct reading *reading, const struct node *item, void *into), void *into)
{
    if (value->kind != NODE_LIST) {
        read(reading, value, into);
        return;
    }
    if (value->first == NULL)
        mistake(reading, value, "an empty list; name at least one, or leave the key out");
    for (const struct node *item = value->first; item != NULL; item = item->next)
        read(reading, item, into);
}

int read_choice(struct reading *reading, const struct node *node, const char *const *names)
{
    if (node->kind != NODE_SCALAR || node_is_null(node)) {
        mistake(reading, node, "%s; write one of %s", node_kind_name(node), list_names(reading->arena, names));
        return -1;
    }
    for (int i = 0; names[i] != NULL; i++)
        if (text_is(node->text, names[i]))
            return i;
    const char *word = quotable(reading->arena, node->text);
    const char *closest = closest_name(node->text, names);
    if (closest != NULL)
        mistake(reading, node, "unknown value \"%s\"; did you mean \"%s\"?", word, closest);
    else
        mistake(reading, node, "unknown value \"%s\"; write one of %s", word, list_names(reading->arena, names));
    return -1;
}

void not_yet(struct reading *reading, const struct node *node, const char *found, const char *instead)
{
    mistake(reading, node, "%s: not carried out by this version yet; %s", found, instead);
}
