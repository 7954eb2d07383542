/* The queue of waiting references: a heap of four children a node. */
#include "logs/order.h"

#include <stdio.h>
#include <stdlib.h>

struct order {
    struct log_ref *heap;
    size_t count, cap;
    uint64_t most;
};

static bool before(const struct log_ref *a, const struct log_ref *b)
{
    return a->t_ns < b->t_ns || (a->t_ns == b->t_ns && a->place < b->place);
}

static void sift_up(struct log_ref *heap, size_t at, struct log_ref ref)
{
    while (at > 0 && before(&ref, &heap[(at - 1) / 4])) {
        heap[at] = heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    heap[at] = ref;
}

static void sift_down(struct log_ref *heap, size_t count, struct log_ref ref)
{
    size_t at = 0;
    for (;;) {
        size_t first = at * 4 + 1, best = first;
        for (size_t child = first + 1; child < first + 4 && child < count; child++)
            best = before(&heap[child], &heap[best]) ? child : best;
        if (first >= count || !before(&heap[best], &ref))
            break;
        heap[at] = heap[best];
        at = best;
    }
    heap[at] = ref;
}

struct order *order_open(uint64_t memory)
{
    (void)memory;
    return calloc(1, sizeof(struct order));
}

void order_close(struct order *order)
{
    if (order == NULL)
        return;
    free(order->heap);
    free(order);
}

bool order_push(struct order *order, const struct log_ref *ref, char *error, size_t error_size)
{
    if (order->count == order->cap) {
        size_t cap = order->cap == 0 ? 1024 : order->cap * 2;
        struct log_ref *heap = reallocarray(order->heap, cap, sizeof *heap);
        if (heap == NULL) {
            snprintf(error, error_size, "no memory for %zu waiting lines", cap);
            return false;
        }
        order->heap = heap;
        order->cap = cap;
    }
    sift_up(order->heap, order->count++, *ref);
    order->most = order->count > order->most ? order->count : order->most;
    return true;
}

const struct log_ref *order_top(const struct order *order)
{
    return order->count == 0 ? NULL : &order->heap[0];
}

bool order_pop(struct order *order, char *error, size_t error_size)
{
    (void)error, (void)error_size;
    order->count--;
    if (order->count > 0)
        sift_down(order->heap, order->count, order->heap[order->count]);
    return true;
}

uint64_t order_most(const struct order *order)
{
    return order->most;
}

uint64_t order_runs(const struct order *order)
{
    (void)order;
    return 0;
}
