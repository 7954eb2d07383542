/* The limits of the live table with their sums, one for each name. */
#include "cli/live_limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_GROUP UINT16_MAX

const char *const live_verdict_names[TABLE_TALLIES] = {
    [TABLE_PASSED] = "passed",         [TABLE_MARKED] = "marked",   [TABLE_DELAYED] = "delayed",
    [TABLE_CHALLENGED] = "challenged", [TABLE_REFUSED] = "refused", [TABLE_DROPPED] = "dropped",
    [TABLE_BY_BLOCK] = "by_block",     [TABLE_BLOCKS] = "blocks",
};

uint64_t live_stopped(const uint64_t count[TABLE_VERDICTS])
{
    uint64_t sum = 0;
    for (unsigned i = TABLE_MARKED; i < TABLE_VERDICTS; i++)
        sum += count[i];
    return sum;
}

struct live_limits *live_limits_open(const struct table *table)
{
    struct live_limits *limits = calloc(1, sizeof *limits);
    if (limits == NULL)
        return NULL;
    limits->table = table;
    limits->limit[0] = (struct live_limit){ .name = "ban" };
    limits->count = 1;
    memset(limits->group, 0xff, sizeof limits->group);
    limits->group[TABLE_LIMIT_BAN] = 0;
    limits->seen = TABLE_LIMIT_FIRST;
    return limits;
}

void live_limits_close(struct live_limits *limits)
{
    free(limits);
}

static uint32_t group_of(struct live_limits *limits, const char *name)
{
    for (uint32_t i = 1; i < limits->count; i++)
        if (strcmp(limits->limit[i].name, name) == 0)
            return i;
    limits->limit[limits->count] = (struct live_limit){ .name = name };
    return limits->count++;
}

/* An entry that is not published yet, or never will be, is looked at again next time only if it is the last one. */
static void take_in(struct live_limits *limits)
{
    uint32_t end = table_limit_count(limits->table);
    for (; limits->seen < end; limits->seen++) {
        const struct table_limit *limit = table_limit_at(limits->table, limits->seen);
        if (limit == NULL && limits->seen + 1 == end)
            return;
        if (limit == NULL)
            continue;
        uint32_t group = group_of(limits, limit->name);
        limits->limit[group].limit = limit;
        limits->group[limits->seen] = (uint16_t)group;
    }
}

static void add(struct table_limit_stats *sum, const struct table_limit_stats *stats)
{
    for (unsigned i = 0; i < TABLE_TALLIES; i++) {
        sum->count[i] += stats->count[i];
        sum->dry_run[i] += stats->dry_run[i];
    }
    sum->is_dry_run = stats->is_dry_run; /* the newest entry tells */
}

void live_limits_read(struct live_limits *limits)
{
    take_in(limits);
    for (uint32_t i = 0; i < limits->count; i++)
        limits->limit[i].sum = (struct table_limit_stats){ 0 };
    for (uint32_t index = 0; index < limits->seen; index++) {
        struct table_limit_stats stats;
        if (limits->group[index] != NO_GROUP && table_stats_limit(limits->table, index, &stats))
            add(&limits->limit[limits->group[index]].sum, &stats);
    }
}

const struct live_limit *live_limits_at(const struct live_limits *limits, uint32_t index)
{
    if (index >= limits->seen || limits->group[index] == NO_GROUP)
        return NULL;
    return &limits->limit[limits->group[index]];
}

static void period_format(uint64_t ns, char *out, size_t cap)
{
    static const struct {
        uint64_t ns;
        const char *unit;
    } units[] = { { UINT64_C(86400000000000), "d" },
                  { UINT64_C(3600000000000), "h" },
                  { UINT64_C(60000000000), "m" },
                  { UINT64_C(1000000000), "s" } };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (ns >= units[i].ns && ns % units[i].ns == 0) {
            snprintf(out, cap, "%llu%s", (unsigned long long)(ns / units[i].ns), units[i].unit);
            return;
        }
    snprintf(out, cap, "%llums", (unsigned long long)(ns / 1000000));
}

void live_rate_format(const struct table_limit *limit, char *out, size_t cap)
{
    char period[32], burst[40] = "";
    if (limit == NULL) {
        snprintf(out, cap, "%s", "");
        return;
    }
    period_format(limit->spec.period_ns, period, sizeof period);
    if (limit->spec.algorithm == ENGINE_BUCKET || (limit->spec.algorithm == ENGINE_LEAKY && limit->spec.burst > 0))
        snprintf(burst, sizeof burst, ", burst %llu", (unsigned long long)limit->spec.burst);
    snprintf(out, cap, "%llu%s per %s%s", (unsigned long long)limit->spec.count,
             limit->spec.algorithm == ENGINE_DISTINCT ? " different" : "", period, burst);
}
