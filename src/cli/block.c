/*
 * drossel block and drossel unblock: refuses an address for a while by hand, and takes it back.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/hand.h"
#include "limiter.h"

static const struct cli_option options[] = {
    { "limit", CLI_TEXT, offsetof(struct hand_values, limit), "NAME", "in this limit only, not in all" },
    LIVE_OPTIONS(hand_values, place),
    { NULL, CLI_FLAG, 0, NULL, NULL },
};

/* Blocks the address in one rate of a limit.  False if the slot was taken from us, which a second try mends. */
static bool block_in(const struct hand *hand, uint32_t index, uint64_t for_ns)
{
    const struct table_limit *limit = table_limit_at(hand->table, index);
    struct drossel_address network = client_key(&hand->address, limit->ipv6_prefix);
    char name[DROSSEL_ADDRESS_TEXT + 8];
    size_t size = drossel_address_format(&network, name);
    if (network.family == DROSSEL_IPV6 && limit->ipv6_prefix < 128)
        size += (size_t)snprintf(name + size, sizeof name - size, "/%u", limit->ipv6_prefix);
    struct table_key key = limiter_address_key(hand->table, &hand->address, limit->ipv6_prefix, limit->seed);
    uint64_t now_ns = table_now(hand->table);
    struct table_hold hold;
    if (!table_insert_waiting(hand->table, key, (uint16_t)index, now_ns, &hold))
        return false;
    engine_block(&hold.state, for_ns, now_ns);
    table_name_set(hand->table, &hold, key, name, size);
    return table_put(hand->table, &hold, key, (uint16_t)index);
}

/* A ban of more or fewer than the operator wrote would be a surprise. */
static bool is_meant(const struct hand *hand, unsigned prefix)
{
    if (hand_means(hand, prefix))
        return true;
    cli_complain(
        "%s: IPv6 clients are counted by their /%u here, and blocked so; write the address without a prefix, or "
        "with that one",
        hand->key, prefix);
    return false;
}

static unsigned block_limit(const struct hand *hand, uint64_t for_ns)
{
    unsigned count = 0;
    for (uint32_t i = LIVE_LIMIT_FIRST; i < table_limit_count(hand->table); i++) {
        const struct table_limit *limit = table_limit_at(hand->table, i);
        if (!live_limit_is(limit, hand->limit))
            continue;
        if (strcmp(limit->subject, "address") != 0) {
            cli_complain("limit %s counts by %s: only limits by address can be blocked by hand", limit->name,
                         limit->subject);
            return 0;
        }
        if (!is_meant(hand, limit->ipv6_prefix))
            return 0;
        count += block_in(hand, i, for_ns) || block_in(hand, i, for_ns);
    }
    return count;
}

static bool block(const struct hand *hand, uint64_t for_ns)
{
    char wait[48];
    if (hand->limit != NULL && (!live_has_limit(hand->table, hand->limit) || block_limit(hand, for_ns) == 0))
        return false;
    if (hand->limit == NULL && !is_meant(hand, hand_prefix(hand->table)))
        return false;
    if (hand->limit == NULL &&
        !limiter_ban(hand->table, &hand->address, hand_prefix(hand->table), for_ns, table_now(hand->table))) {
        cli_complain("%s has no room for another ban", table_path(hand->table));
        return false;
    }
    printf("%s: %s blocked for %s\n", hand->limit != NULL ? hand->limit : "ban", hand->key,
           cli_wait_format(for_ns, wait, sizeof wait));
    return true;
}

static int run_block(int argc, char **argv)
{
    struct hand_values values = { 0 };
    struct hand hand;
    char **operand;
    int count, code;
    uint64_t for_ns = 0;
    if (!cli_parse(&cli_block, argc, argv, &values, &operand, &count, &code))
        return code;
    const char *wrong = policy_duration_parse((struct drossel_text){ operand[1], strlen(operand[1]) }, &for_ns);
    if (wrong != NULL || for_ns == 0 || for_ns > ENGINE_PERIOD_MAX_NS)
        return cli_misuse(&cli_block, "%s: %s", operand[1], wrong != NULL ? wrong : "write from 1ms to 366d");
    hand_init(&hand, NULL, operand[0], values.limit);
    if (hand.is_network)
        return cli_misuse(&cli_block, "%s is a network, and clients are blocked one by one; write an address",
                          operand[0]);
    if (!hand.is_address)
        return cli_misuse(&cli_block, "%s is no address; write one like 203.0.113.7 or 2001:db8::1", operand[0]);
    hand.table = live_open(&values.place);
    if (hand.table == NULL)
        return CLI_FAILED;
    bool good = block(&hand, for_ns);
    table_close(hand.table);
    return good ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_block = { "block", "KEY FOR", "refuses an address for a while, such as 15m", options, 2,
                                       2,       run_block };

static int run_unblock(int argc, char **argv)
{
    struct hand_values values = { 0 };
    char **operand;
    int count, code;
    if (!cli_parse(&cli_unblock, argc, argv, &values, &operand, &count, &code))
        return code;
    return hand_take_back(&values, operand[0], true);
}

const struct cli_command cli_unblock = { "unblock",  "KEY", "lifts the blocks of a key and the ban of an address",
                                         options,    1,     1,
                                         run_unblock };
