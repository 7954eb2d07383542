/* One arena for a policy: blocks of memory in a chain, freed together. */
#include "policy/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_BYTES ((size_t)64 * 1024)
#define ARENA_ALIGN ((size_t)16)

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

struct arena_deferred {
    struct arena_deferred *next;
    void (*release)(void *);
    void *object;
};

struct policy_arena *arena_open(void)
{
    return calloc(1, sizeof(struct policy_arena));
}

void arena_close(struct policy_arena *arena)
{
    if (arena == NULL)
        return;
    for (struct arena_deferred *one = arena->deferred; one != NULL; one = one->next)
        if (one->object != NULL)
            one->release(one->object);
    for (struct arena_block *block = arena->blocks; block != NULL;) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

void arena_fail(struct policy_arena *arena)
{
    longjmp(arena->out_of_memory, 1);
}

/* A request larger than a block gets one of its own behind the newest, which stays in use. */
static struct arena_block *add_block(struct policy_arena *arena, size_t size)
{
    size_t room = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
    struct arena_block *block = room > SIZE_MAX - sizeof(*block) ? NULL : malloc(sizeof(*block) + room);
    if (block == NULL)
        arena_fail(arena);
    block->used = 0;
    block->size = room;
    if (size > ARENA_BLOCK_BYTES && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *arena_alloc(struct policy_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        arena_fail(arena);
    size_t rounded = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    struct arena_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < rounded)
        block = add_block(arena, rounded);
    void *memory = block->bytes + block->used;
    block->used += rounded;
    return memset(memory, 0, rounded);
}

void *arena_array(struct policy_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        arena_fail(arena);
    return arena_alloc(arena, bytes);
}

struct drossel_text arena_text(struct policy_arena *arena, const char *data, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);
    if (size > 0)
        memcpy(copy, data, size);
    return (struct drossel_text){ copy, size };
}

struct drossel_text arena_text_lower(struct policy_arena *arena, struct drossel_text text)
{
    char *copy = arena_alloc(arena, text.size + 1);
    for (size_t i = 0; i < text.size; i++)
        copy[i] = (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + ('a' - 'A') : text.data[i]);
    return (struct drossel_text){ copy, text.size };
}

char *arena_format(struct policy_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = arena_alloc(arena, size < 0 ? 1 : (size_t)size + 1);
    va_start(arguments, format);
    if (size > 0)
        vsnprintf(text, (size_t)size + 1, format, arguments);
    va_end(arguments);
    return text;
}

void **arena_defer(struct policy_arena *arena, void (*release)(void *))
{
    struct arena_deferred *one = arena_alloc(arena, sizeof(*one));
    one->release = release;
    one->next = arena->deferred;
    arena->deferred = one;
    return &one->object;
}

void *arena_push(struct policy_arena *arena, struct arena_list *list, size_t size)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
        void *items = arena_array(arena, capacity, size);
        if (list->count > 0)
            memcpy(items, list->items, list->count * size);
        list->items = items;
        list->capacity = capacity;
    }
    return (char *)list->items + size * list->count++;
}
