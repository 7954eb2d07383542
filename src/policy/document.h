/*
 * A YAML file as a tree in which every node knows its line and column.
 *
 * Plain YAML of one document: maps, lists, scalars.  Tags, aliases and a second document are mistakes; what hangs on them is not told.  A key that
 * stands twice in a map is a mistake, and the tree holds the first.  Bounds: bytes, depth and count of nodes.
 */
#ifndef DROSSEL_POLICY_DOCUMENT_H
#define DROSSEL_POLICY_DOCUMENT_H

#include "policy/diagnose.h"

#define DOCUMENT_BYTES_MAX ((size_t)16 << 20) /* of a policy, and of a list file */
#define DOCUMENT_DEPTH_MAX 32
#define DOCUMENT_NODES_MAX 1000000

enum node_kind { NODE_SCALAR = 0, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    bool plain; /* scalar without quotes */
    struct place place;
    struct drossel_text text; /* scalar; NUL-terminated */
    struct node *first;       /* list: its items; map: its keys */
    struct node *next;        /* the next item or key */
    struct node *value;       /* of a key */
    size_t count;             /* items or pairs */
};

/* Reads a file whole.  False with `*why` (static) if it cannot; the bytes are the arena's, without a byte order mark. */
bool document_read(struct policy_arena *arena, const char *path, struct drossel_text *bytes, const char **why);

/* Parses bytes of the file `place->file`.  NULL if there is no tree; then there is at least one mistake. */
struct node *document_parse(struct diagnoses *diagnoses, struct drossel_text bytes, const struct place *place);

/* `key:` with nothing behind it. */
bool node_is_null(const struct node *node);
/* "a list", "a map", "nothing", "text" */
const char *node_kind_name(const struct node *node);
/* The key of a map, or NULL. */
const struct node *node_find(const struct node *map, const char *key);

#endif
