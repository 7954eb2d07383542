/*
 * How peaks are spread over clients.
 */
#include "cli/suggest_spread.h"

#include <stdio.h>
#include <stdlib.h>

const char *const spread_rank_name[SPREAD_RANKS] = { "p50", "p90", "p99", "p99.9", "max" };
static const uint64_t rank_permille[SPREAD_RANKS] = { 500, 900, 990, 999, 1000 };

static const uint64_t step_end[SPREAD_STEPS] = { 1,   2,    4,    6,    8,    10,    15,    20,
                                                 30,  40,   50,   70,   100,  150,   200,   300,
                                                 500, 1000, 2000, 3000, 5000, 10000, 30000, UINT64_MAX };

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

uint64_t spread_step_end(size_t step)
{
    return step_end[step];
}

size_t spread_step_of(uint64_t value)
{
    size_t step = 0;
    while (value > step_end[step])
        step++;
    return step;
}

const char *spread_step_format(size_t step, char *out, size_t cap)
{
    unsigned long long first = step > 0 ? (unsigned long long)step_end[step - 1] + 1 : 1;
    unsigned long long last = (unsigned long long)step_end[step];
    if (step + 1 == SPREAD_STEPS)
        snprintf(out, cap, "%llu+", first);
    else if (first == last)
        snprintf(out, cap, "%llu", first);
    else
        snprintf(out, cap, "%llu-%llu", first, last);
    return out;
}

void spread_of(uint64_t *value, size_t count, struct spread *spread)
{
    *spread = (struct spread){ .clients = count };
    if (count == 0)
        return;
    qsort(value, count, sizeof *value, by_value);
    for (int i = 0; i < SPREAD_RANKS; i++)
        spread->rank[i] = value[(size_t)(((uint64_t)count * rank_permille[i] + 999) / 1000) - 1];
    for (size_t i = 0; i < count; i++)
        spread->step[spread_step_of(value[i])]++;
}
