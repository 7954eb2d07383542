/*
 * What is due in a replay: a binary heap.
 */
#include "cli/agenda.h"

#include <stdlib.h>

#define ITEMS_LEAST 64

static bool is_before(const struct agenda_item *left, const struct agenda_item *right)
{
    if (left->at_ns != right->at_ns)
        return left->at_ns < right->at_ns;
    if (left->kind != right->kind)
        return left->kind < right->kind;
    return left->event < right->event;
}

bool agenda_add(struct agenda *agenda, const struct agenda_item *item)
{
    if (agenda->count == agenda->cap) {
        size_t cap = agenda->cap > 0 ? agenda->cap * 2 : ITEMS_LEAST;
        struct agenda_item *grown = realloc(agenda->item, cap * sizeof *grown);
        if (grown == NULL)
            return false;
        agenda->item = grown;
        agenda->cap = cap;
    }
    size_t at = agenda->count++;
    for (; at > 0 && is_before(item, &agenda->item[(at - 1) / 2]); at = (at - 1) / 2)
        agenda->item[at] = agenda->item[(at - 1) / 2];
    agenda->item[at] = *item;
    return true;
}

const struct agenda_item *agenda_first(const struct agenda *agenda)
{
    return agenda->count > 0 ? &agenda->item[0] : NULL;
}

struct agenda_item agenda_take(struct agenda *agenda)
{
    struct agenda_item first = agenda->item[0], last = agenda->item[--agenda->count];
    size_t at = 0;
    for (size_t child = 1; child < agenda->count; child = 2 * at + 1) {
        if (child + 1 < agenda->count && is_before(&agenda->item[child + 1], &agenda->item[child]))
            child++;
        if (!is_before(&agenda->item[child], &last))
            break;
        agenda->item[at] = agenda->item[child];
        at = child;
    }
    agenda->item[at] = last;
    return first;
}

void agenda_release(struct agenda *agenda)
{
    for (size_t i = 0; i < agenda->count; i++)
        free(agenda->item[i].ticket);
    free(agenda->item);
    *agenda = (struct agenda){ 0 };
}
