/* The queue of waiting references: a heap of four children a node, and runs on disk for what does not fit into it. */
#include "logs/order.h"

#include <stdlib.h>

#include "logs/runs.h"

#define HEAP_FIRST ((size_t)1024)
#define HEAP_LEAST ((size_t)16)

struct order {
    struct log_ref *heap;
    size_t count, cap, most_refs; /* most_refs: what memory allows */
    struct runs *runs;            /* NULL as long as the heap suffices */
    uint64_t memory;
    size_t most;
};

static void sift_up(struct log_ref *heap, size_t at, struct log_ref ref)
{
    while (at > 0 && log_ref_before(&ref, &heap[(at - 1) / 4])) {
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
            best = log_ref_before(&heap[child], &heap[best]) ? child : best;
        if (first >= count || !log_ref_before(&heap[best], &ref))
            break;
        heap[at] = heap[best];
        at = best;
    }
    heap[at] = ref;
}

struct order *order_open(uint64_t memory)
{
    struct order *order = calloc(1, sizeof *order);
    if (order == NULL)
        return NULL;
    order->memory = memory;
    uint64_t refs = memory / 2 / sizeof(struct log_ref);
    order->most_refs = refs < HEAP_LEAST ? HEAP_LEAST : refs > SIZE_MAX / 64 ? SIZE_MAX / 64 : (size_t)refs;
    return order;
}

void order_close(struct order *order)
{
    if (order == NULL)
        return;
    runs_close(order->runs);
    free(order->heap);
    free(order);
}

static bool grow(struct order *order)
{
    size_t cap = order->cap == 0 ? HEAP_FIRST : order->cap * 2;
    cap = cap > order->most_refs ? order->most_refs : cap;
    struct log_ref *heap = reallocarray(order->heap, cap, sizeof *heap);
    if (heap == NULL)
        return false;
    order->heap = heap;
    order->cap = cap;
    return true;
}

/* From the greatest to the smallest, in place: the smallest goes to the end, again and again. */
static void sort_descending(struct log_ref *heap, size_t count)
{
    while (count > 1) {
        struct log_ref smallest = heap[0];
        count--;
        sift_down(heap, count, heap[count]);
        heap[count] = smallest;
    }
}

static void reverse(struct log_ref *ref, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct log_ref swapped = ref[i];
        ref[i] = ref[count - 1 - i];
        ref[count - 1 - i] = swapped;
    }
}

/* The greater half becomes a run; the smaller half stays, as it is wanted soon. */
static bool spill(struct order *order)
{
    size_t written = order->count / 2, kept = order->count - written;
    if (order->runs == NULL)
        order->runs = runs_open(order->memory / 2);
    if (order->runs == NULL)
        return false;
    sort_descending(order->heap, order->count);
    if (!runs_add(order->runs, order->heap, written))
        return false;
    for (size_t i = 0; i < kept; i++)
        order->heap[i] = order->heap[written + i];
    reverse(order->heap, kept);
    order->count = kept;
    return true;
}

bool order_push(struct order *order, const struct log_ref *ref)
{
    if (order->count == order->most_refs && !spill(order))
        return false;
    if (order->count == order->cap && !grow(order))
        return false;
    sift_up(order->heap, order->count++, *ref);
    order->most = order->count > order->most ? order->count : order->most;
    return true;
}

static bool heap_leads(const struct order *order)
{
    const struct log_ref *run = order->runs == NULL ? NULL : runs_top(order->runs);
    return run == NULL || (order->count > 0 && log_ref_before(&order->heap[0], run));
}

const struct log_ref *order_top(const struct order *order)
{
    if (!heap_leads(order))
        return runs_top(order->runs);
    return order->count == 0 ? NULL : &order->heap[0];
}

bool order_pop(struct order *order)
{
    if (!heap_leads(order))
        return runs_pop(order->runs);
    order->count--;
    if (order->count > 0)
        sift_down(order->heap, order->count, order->heap[order->count]);
    return true;
}

const char *order_error(const struct order *order)
{
    bool of_runs = order->runs != NULL && runs_error(order->runs)[0] != '\0';
    return of_runs ? runs_error(order->runs) : "no memory for lines that wait for their turn";
}

size_t order_most(const struct order *order)
{
    return order->most;
}

uint64_t order_runs(const struct order *order)
{
    return order->runs == NULL ? 0 : runs_written(order->runs);
}
