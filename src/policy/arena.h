/*
 * The memory of one policy: everything is taken from it and freed at once.
 *
 * An allocation never returns NULL: without memory it jumps to where arena_open's caller has set `arena->out_of_memory`,
 * so that not every line of the reader has to carry a failure that ends the reading anyway.  What is owned elsewhere
 * (a parser, a compiled pattern, a netset) is handed to arena_defer, and so is released whichever way the policy ends.
 */
#ifndef DROSSEL_POLICY_ARENA_H
#define DROSSEL_POLICY_ARENA_H

#include <setjmp.h>
#include <stddef.h>

#include "drossel.h"

struct arena_block;
struct arena_deferred;

struct policy_arena {
    struct arena_block *blocks;      /* newest first */
    struct arena_deferred *deferred; /* newest first: released in reverse order */
    jmp_buf out_of_memory;           /* set by the reader before the first allocation */
};

/* A new arena, or NULL without memory. */
struct policy_arena *arena_open(void);
/* Releases what was deferred, newest first, then all memory.  NULL is allowed. */
void arena_close(struct policy_arena *arena);

/* Zeroed memory, aligned for any type. */
void *arena_alloc(struct policy_arena *arena, size_t size);
/* `count` elements of `size` bytes; a product that overflows counts as no memory. */
void *arena_array(struct policy_arena *arena, size_t count, size_t size);
/* A copy with a NUL behind it. */
struct drossel_text arena_text(struct policy_arena *arena, const char *data, size_t size);
struct drossel_text arena_text_lower(struct policy_arena *arena, struct drossel_text text);
char *arena_format(struct policy_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Has `release(object)` called at arena_close.  Returns a slot to be filled with the object once it is made, so that
 * nothing made can be lost: a slot that still holds NULL is passed over. */
void **arena_defer(struct policy_arena *arena, void (*release)(void *));

/* Ends the reading for want of memory. */
_Noreturn void arena_fail(struct policy_arena *arena);

/* An array that grows.  `items` is reallocated within the arena by doubling. */
struct arena_list {
    void *items;
    size_t count, capacity;
};
/* Room for one more element at the end: returns it, zeroed. */
void *arena_push(struct policy_arena *arena, struct arena_list *list, size_t size);

#endif
