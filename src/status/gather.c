/* Gathers what there is to tell: the table's counters, summed by the policy's rates. */
#include "status/status.h"

#include <string.h>

uint32_t status_rate_count(const struct policy *policy)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < policy->limit_count; i++)
        count += policy->limits[i].rate_count;
    return count;
}

static void begin_rates(const struct policy *policy, struct status_rate *rates)
{
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        const struct policy_limit *limit = &policy->limits[i];
        for (uint32_t at = 0; at < limit->rate_count; at++) {
            const struct policy_rate *rate = &policy->rates[limit->first_rate + at];
            *rates++ = (struct status_rate){ .seed = rate->seed, .rate = rate };
        }
    }
}

static void add(struct table_limit_stats *sum, const struct table_limit_stats *stats)
{
    for (unsigned i = 0; i < TABLE_TALLIES; i++) {
        sum->count[i] += stats->count[i];
        sum->dry_run[i] += stats->dry_run[i];
    }
}

/* Each limit that the table ever saw belongs to the rate with its seed, which is made of the limit's name and the rate's
 * place: whatever its numbers were then, and whichever override of a key it is. */
static void sum_rates(const struct table *table, struct status_rate *rates, uint32_t rate_count)
{
    struct table_limit_stats stats;
    for (uint32_t index = 0, count = table_limit_count(table); index < count; index++) {
        const struct table_limit *limit = table_limit_at(table, index);
        uint32_t at = 0;
        while (limit != NULL && at < rate_count && rates[at].seed != limit->seed)
            at++;
        if (limit != NULL && at < rate_count && table_stats_limit(table, index, &stats))
            add(&rates[at].sum, &stats);
    }
}

static void look(const struct status_source *source, struct table_fill *fill)
{
    struct status_look *last = source->look;
    uint64_t now_ns = table_now(source->table);
    if (last->taken_ns == 0 || now_ns < last->taken_ns || now_ns - last->taken_ns >= STATUS_FILL_AGE_NS) {
        table_fill(source->table, now_ns, STATUS_SLOTS_MAX, &last->fill);
        last->taken_ns = now_ns;
    }
    *fill = last->fill;
}

void status_gather(const struct status_source *source, struct status_rate *rates, struct status *status)
{
    memset(status, 0, sizeof *status);
    status->from = *source;
    status->is_counted = table_has_stats(source->table);
    status->rate = rates;
    status->rate_count = status_rate_count(source->policy);
    table_counts(source->table, &status->counts);
    look(source, &status->fill);
    status->is_lost = table_is_lost(source->table); /* now, as looking is what finds it out where no request comes */
    begin_rates(source->policy, rates);
    if (!status->is_counted)
        return;
    sum_rates(source->table, rates, status->rate_count);
    (void)table_stats_limit(source->table, TABLE_LIMIT_BAN, &status->bans);
    (void)table_stats_limit(source->table, TABLE_LIMIT_REQUEST, &status->requests);
    (void)table_stats_times(source->table, status->times);
    status->times_sum_ns = table_stats_times_sum(source->table);
}
