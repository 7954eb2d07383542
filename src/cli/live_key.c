/* One key of the live table as a person looks at it, and what is known of its past. */
#include "cli/live_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistr.h>

#include "cli/cli.h"

uint32_t live_key_worth(struct table *table, const struct table_entry *entry, uint64_t now_ns)
{
    const struct engine_limit *engine = table_engine_at(table, entry->limit);
    return engine != NULL ? engine_worth(&entry->state, engine, now_ns) : 0;
}

/* C0 and C1 controls, line separators, and what turns the direction of writing. */
static bool is_control(ucs4_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
           (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069) ||
           character == 0xfffd;
}

void live_name_clean(char *name)
{
    const char *from = name, *end = name + strlen(name);
    char *to = name;
    while (from < end) {
        ucs4_t character;
        int size = u8_mbtouc(&character, (const uint8_t *)from, (size_t)(end - from));
        if (is_control(character)) {
            *to++ = '?';
        } else {
            memmove(to, from, (size_t)size);
            to += size;
        }
        from += size;
    }
    *to = '\0';
}

/* Cleaned, or made of the tag. */
static void name_format(uint64_t tag, char name[TABLE_NAME_BYTES + 1])
{
    live_name_clean(name);
    if (name[0] == '\0')
        snprintf(name, TABLE_NAME_BYTES + 1, "#%016llx", (unsigned long long)tag);
}

bool live_key_read(struct table *table, uint64_t slot, uint64_t tag, uint64_t now_ns, struct live_key *key)
{
    struct engine_verdict verdict;
    uint64_t at = slot;
    if (!table_next(table, &at, &key->entry) || key->entry.slot != slot || (tag != 0 && key->entry.tag != tag))
        return false;
    const struct engine_limit *engine = table_engine_at(table, key->entry.limit);
    if (engine == NULL)
        return false;
    engine_judge(&key->entry.state, engine, 1, now_ns, &verdict);
    uint64_t block_end_ns = key->entry.state.block_end_ns;
    key->allowed = verdict.allowed;
    key->block_ns = block_end_ns > now_ns ? block_end_ns - now_ns : 0;
    /* judged as if one more came: what is told is without it */
    key->used = engine_used(&key->entry.state, engine, now_ns);
    key->remaining = key->block_ns > 0 ? 0 : verdict.remaining + verdict.allowed;
    key->wait_ns = verdict.allowed ? 0 : verdict.wait_ns;
    key->count = engine->capacity;
    name_format(key->entry.tag, key->entry.name);
    return true;
}

/* ---- the past ---- */

static int compare(const void *left, const void *right)
{
    const struct table_offender *a = left, *b = right;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    if (a->limit != b->limit)
        return a->limit < b->limit ? -1 : 1;
    return a->is_dry_run - b->is_dry_run;
}

void live_past_read(const struct table *table, struct live_past *past)
{
    past->count = 0;
    for (uint32_t at = 0; past->count < TABLE_OFFENDERS_MAX; past->count++) {
        struct table_offender *offender = &past->offender[past->count];
        if (!table_stats_next(table, &at, offender))
            break;
        name_format(offender->tag, offender->name);
    }
    qsort(past->offender, past->count, sizeof past->offender[0], compare);
}

/* The first one of a key; all of the same key follow it. */
static size_t first_of(const struct live_past *past, uint64_t tag)
{
    size_t low = 0, high = past->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (past->offender[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct live_stops live_past_find(const struct live_past *past, const struct live_limits *limits,
                                 const struct table_entry *entry, bool is_dry_run)
{
    struct live_stops stops = { 0 };
    const struct live_limit *limit = live_limits_at(limits, entry->limit);
    for (size_t i = first_of(past, entry->tag); i < past->count && past->offender[i].tag == entry->tag; i++) {
        const struct table_offender *offender = &past->offender[i];
        if (offender->is_dry_run != is_dry_run || live_limits_at(limits, offender->limit) != limit)
            continue;
        stops.count += live_stopped(offender->count);
        if (stops.first_ns == 0 || offender->first_ns < stops.first_ns)
            stops.first_ns = offender->first_ns;
        if (offender->last_ns > stops.last_ns)
            stops.last_ns = offender->last_ns;
    }
    return stops;
}

/* The table's clock follows no step of the wall clock: what counts is how long ago it was. */
double live_when_unix(uint64_t then_ns, uint64_t now_ns)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    double ago_s = now_ns > then_ns ? (double)(now_ns - then_ns) / 1e9 : 0;
    return (double)wall.tv_sec + (double)wall.tv_nsec / 1e9 - ago_s;
}

void live_when_format(uint64_t then_ns, uint64_t now_ns, char *out, size_t cap)
{
    time_t seconds = (time_t)live_when_unix(then_ns, now_ns);
    struct tm local;
    if (localtime_r(&seconds, &local) == NULL || strftime(out, cap, "%Y-%m-%d %H:%M:%S", &local) == 0)
        snprintf(out, cap, "?");
}

void live_ago_format(uint64_t then_ns, uint64_t now_ns, char *out, size_t cap)
{
    char wait[48];
    uint64_t ago_ns = now_ns > then_ns ? now_ns - then_ns : 0;
    if (ago_ns < UINT64_C(1000000000))
        snprintf(out, cap, "now");
    else
        snprintf(out, cap, "%s ago", cli_wait_format(ago_ns / 1000000000 * 1000000000, wait, sizeof wait));
}
