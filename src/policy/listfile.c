/* List files: one entry a line, `#` starts a comment, blank lines count for nothing; relative to the policy file. */
#include "policy/reading.h"

#include <string.h>

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Cuts a comment (at the line's begin, or behind white space) and white space at both ends. */
static struct drossel_text entry_of(struct drossel_text line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == '#' && (i == 0 || is_space(line.data[i - 1])))
            line.size = i;
    while (line.size > 0 && is_space(line.data[line.size - 1]))
        line.size--;
    while (line.size > 0 && is_space(line.data[0])) {
        line.data++;
        line.size--;
    }
    return line;
}

static unsigned column_of(const char *line, const char *entry)
{
    unsigned column = 1;
    for (; line < entry; line++)
        column += ((unsigned char)*line & 0xC0) != 0x80;
    return column;
}

/* Takes the next line off `rest`. */
static struct drossel_text next_line(struct drossel_text *rest)
{
    const char *end = memchr(rest->data, '\n', rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    struct drossel_text line = { rest->data, size };
    size_t taken = end == NULL ? size : size + 1;
    *rest = (struct drossel_text){ rest->data + taken, rest->size - taken };
    return line;
}

const char *path_beside_policy(struct reading *reading, struct drossel_text name)
{
    struct drossel_text directory =
        name.size > 0 && name.data[0] == '/' ? (struct drossel_text){ "", 0 } : reading->directory;
    return arena_format(reading->arena, "%.*s%.*s", (int)directory.size, directory.data, (int)name.size, name.data);
}

/* A file that is read again keeps its number. */
static unsigned number_of_file(struct reading *reading, const char *path)
{
    const char *const *known = reading->files.items;
    for (size_t i = 0; i < reading->files.count; i++)
        if (strcmp(known[i], path) == 0)
            return (unsigned)i + 1;
    *(const char **)arena_push(reading->arena, &reading->files, sizeof(path)) = path;
    return (unsigned)reading->files.count;
}

bool read_list_file(struct reading *reading, struct drossel_text name, const char **why,
                    void (*read)(struct reading *reading, const struct node *line, void *into), void *into)
{
    const char *path = path_beside_policy(reading, name);
    struct drossel_text rest;
    if (!document_read(reading->arena, path, &rest, why))
        return false;
    struct place place = { .file = path, .file_number = number_of_file(reading, path) };
    while (rest.size > 0) {
        struct drossel_text line = next_line(&rest), entry = entry_of(line);
        place.line++;
        if (entry.size == 0)
            continue;
        place.column = column_of(line.data, entry.data);
        struct node *node = arena_alloc(reading->arena, sizeof(*node));
        node->place = place;
        node->text = arena_text(reading->arena, entry.data, entry.size);
        read(reading, node, into);
    }
    return true;
}
