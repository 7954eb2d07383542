/* How full a table is: all of a small one is looked at, evenly spread parts of a large one. */
#include "table/fill.h"

#include <string.h>

#include "table/layout.h"

static void look_at(struct table *table, uint64_t index, uint64_t now_ns, struct table_fill *fill)
{
    const struct slot *slot = &table->slots[index];
    struct engine_state state;
    fill->looked_at++;
    uint64_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);
    if (key == 0)
        return;
    fill->used++;
    const struct engine_limit *limit = table_engine_at(table, (uint16_t)key);
    if (limit == NULL)
        return;
    /* Relaxed, and perhaps of two moments or two keys: it is repaired as any state is, and it is one of thousands. */
    slot_read(slot, &state);
    engine_repair(&state, limit, now_ns);
    uint32_t worth = engine_worth(&state, limit, now_ns);
    fill->live += worth > 0;
    fill->full += worth >= ENGINE_WORTH_FULL;
    fill->blocked += worth >= ENGINE_WORTH_BLOCKED;
}

void table_fill(struct table *table, uint64_t now_ns, uint64_t most, struct table_fill *fill)
{
    uint64_t slots = table->keys + TABLE_NEIGHBOURS - 1;
    uint64_t runs = most < TABLE_FILL_RUN ? 1 : most / TABLE_FILL_RUN, run = TABLE_FILL_RUN;
    memset(fill, 0, sizeof *fill);
    fill->slots = slots;
    if (slots <= most) {
        runs = 1;
        run = slots;
    }
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t first = slots / runs * i; /* runs * run <= most < slots: they do not overlap, nor pass the end */
        for (uint64_t at = 0; at < run; at++)
            look_at(table, first + at, now_ns, fill);
    }
}

uint64_t table_fill_scale(const struct table_fill *fill, uint64_t count)
{
    if (fill->looked_at == 0 || fill->looked_at == fill->slots)
        return count;
    return (uint64_t)((double)count / (double)fill->looked_at * (double)fill->slots + 0.5);
}
