/*
 * A file of vectors as a group of cmocka tests, one each, named by the vector's id and what it says of itself.
 *
 * Include after cmocka.h.  The folder is in DROSSEL_VECTORS.
 */
#ifndef DROSSEL_TESTS_VECTOR_FILE_H
#define DROSSEL_TESTS_VECTOR_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS_MAX 512

struct vector_file {
    json_t *root; /* owns every vector */
    struct CMUnitTest test[VECTORS_MAX];
    char name[VECTORS_MAX][160];
    size_t count;
};

static inline const char *vector_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

/* Exits without the file: a run that tests nothing must not look like one that passes. */
static inline void vector_file_load(struct vector_file *file, const char *name)
{
    const char *folder = getenv("DROSSEL_VECTORS");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder == NULL ? "tests/vectors" : folder, name);
    json_error_t why;
    file->root = json_load_file(path, 0, &why);
    file->count = 0;
    if (file->root == NULL) {
        fprintf(stderr, "%s: %s\n", path, why.text);
        exit(1);
    }
}

/* One test for each vector of `list` that `wanted` (NULL: each) accepts; each finds its vector, a json_t, in *state.
 * Exits if there are none, or more than fit. */
static inline void vector_file_add(struct vector_file *file, const char *list, bool (*wanted)(const json_t *),
                                   CMUnitTestFunction test)
{
    size_t index, before = file->count;
    json_t *vector;
    json_array_foreach(json_object_get(file->root, list), index, vector)
    {
        if (wanted != NULL && !wanted(vector))
            continue;
        if (file->count == VECTORS_MAX)
            break;
        const char *note = vector_text(vector, "note");
        char *out = file->name[file->count];
        snprintf(out, sizeof file->name[0], "%s %.100s", vector_text(vector, "id"),
                 *note ? note : vector_text(vector, "basis"));
        for (char *c = out; *c != '\0'; c++) {
            if (*c == '#' || (unsigned char)*c < 0x20)
                *c = ' '; /* a directive in TAP */
        }
        file->test[file->count++] = (struct CMUnitTest){ out, test, NULL, NULL, vector };
    }
    if (file->count == before || file->count == VECTORS_MAX) {
        fprintf(stderr, "%s: %zu vectors; 1 to %d are expected\n", list, file->count - before, VECTORS_MAX - 1);
        exit(1);
    }
}

/* Loads a file whose vectors are all in one list, `vectors`. */
static inline void vector_file_open(struct vector_file *file, const char *name, bool (*wanted)(const json_t *),
                                    CMUnitTestFunction test)
{
    vector_file_load(file, name);
    vector_file_add(file, "vectors", wanted, test);
}

/* Runs the group; returns what main should. */
static inline int vector_file_run(struct vector_file *file, const char *group)
{
    int failed = _cmocka_run_group_tests(group, file->test, file->count, NULL, NULL);
    json_decref(file->root);
    return failed;
}

#endif
