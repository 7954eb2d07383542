/* `block` and `ban`: for how long a key that exceeded its limit stays out. */
#include "policy/reading.h"

#define NS_PER_HOUR (UINT64_C(3600) * 1000000000)
#define NS_PER_MS UINT64_C(1000000)

struct block {
    uint64_t for_ns, max_ns, forgive_ns;
    uint32_t factor_milli;
    bool has_for, broken;
};

static void read_block_for(struct reading *reading, const struct node *key, void *into)
{
    struct block *block = into;
    block->has_for = true;
    block->broken = !read_duration(reading, key->value, NS_PER_MS, &block->for_ns) || block->broken;
}

static void read_block_factor(struct reading *reading, const struct node *key, void *into)
{
    struct block *block = into;
    block->broken = !read_factor_milli(reading, key->value, &block->factor_milli) || block->broken;
}

static void read_block_max(struct reading *reading, const struct node *key, void *into)
{
    struct block *block = into;
    block->broken = !read_duration(reading, key->value, NS_PER_MS, &block->max_ns) || block->broken;
}

static void read_block_forgive(struct reading *reading, const struct node *key, void *into)
{
    struct block *block = into;
    block->broken = !read_duration(reading, key->value, NS_PER_MS, &block->forgive_ns) || block->broken;
}

static void read_block_map(struct reading *reading, const struct node *map, struct block *block)
{
    static const struct key_row rows[] = { { "for", read_block_for },
                                           { "factor", read_block_factor },
                                           { "max", read_block_max },
                                           { "forgive", read_block_forgive },
                                           { NULL, NULL } };
    read_keys(reading, map, rows, block);
    if (!block->has_for)
        mistake(reading, map, "no `for`; write how long, as { for: 15m }");
    const struct node *max = node_find(map, "max"), *factor = node_find(map, "factor");
    if (!block->broken && max != NULL && block->has_for && block->max_ns < block->for_ns)
        mistake(reading, max->value, "`max` is shorter than `for`; write the longest block");
    else if (max != NULL && factor == NULL)
        mistake(reading, max->value, "`max` without `factor`; write by how much each block is longer, as factor: 2");
}

/* Fills what was left out: growth ends at 24 h (or at `for`, if longer); strikes are forgotten after the longest block if
 * blocks grow, and after 24 h if they do not. */
static void set_block(struct limit_draft *draft, struct block *block)
{
    bool grows = block->factor_milli > 1000;
    if (block->max_ns == 0)
        block->max_ns = grows && block->for_ns < 24 * NS_PER_HOUR ? 24 * NS_PER_HOUR : block->for_ns;
    if (block->forgive_ns == 0)
        block->forgive_ns = grows ? block->max_ns : 24 * NS_PER_HOUR;
    draft->spec.block_ns = block->for_ns;
    draft->spec.block_max_ns = block->max_ns;
    draft->spec.forgive_ns = block->forgive_ns;
    draft->spec.factor_milli = block->factor_milli;
}

/* False after a mistake; the draft's block is as it was then. */
static bool take_block(struct reading *reading, const struct node *key, struct limit_draft *draft)
{
    struct block block = { .factor_milli = 1000 };
    if (key->value->kind == NODE_MAP)
        read_block_map(reading, key->value, &block);
    else
        block.has_for = read_duration(reading, key->value, NS_PER_MS, &block.for_ns);
    if (!block.has_for || block.broken) {
        draft->broken = true;
        return false;
    }
    set_block(draft, &block);
    return true;
}

void read_block(struct reading *reading, const struct node *key, void *into)
{
    (void)take_block(reading, key, into);
}

/* Both a block and a ban are possible only if they say the same: a ban blocks this limit's own key, too. */
void read_ban(struct reading *reading, const struct node *key, void *into)
{
    struct limit_draft *draft = into;
    struct engine_spec block = draft->spec;
    bool taken = take_block(reading, key, draft);
    draft->spec.flags |= ENGINE_BAN;
    bool same = block.block_ns == draft->spec.block_ns && block.block_max_ns == draft->spec.block_max_ns &&
                block.forgive_ns == draft->spec.forgive_ns && block.factor_milli == draft->spec.factor_milli;
    if (taken && block.block_ns != 0 && !same) {
        mistake(reading, key,
                "`ban` besides a different `block`; a ban blocks this limit's key as well, leave `block` out");
        draft->broken = true;
    }
}
