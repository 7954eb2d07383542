/* What the whole was like: counts, the first lines that were no requests, what the records have. */
#include "logs/reading.h"

#include <string.h>

static bool is_earlier(const struct logs_facts *facts, uint32_t at, const struct log_record *record)
{
    return record->file < facts->bad[at].file ||
           (record->file == facts->bad[at].file && record->line < facts->bad[at].line);
}

/* Keeps the line if it is among the first, by file and number. */
static void keep_bad(struct logs_facts *facts, const struct log_record *record)
{
    uint32_t at = facts->bad_count;
    while (at > 0 && is_earlier(facts, at - 1, record))
        at--;
    if (at == LOGS_BAD_KEPT)
        return;
    uint32_t kept = facts->bad_count < LOGS_BAD_KEPT ? facts->bad_count : LOGS_BAD_KEPT - 1;
    memmove(&facts->bad[at + 1], &facts->bad[at], (kept - at) * sizeof facts->bad[0]);
    facts->bad_count = kept + 1;
    facts->bad[at].file = record->file;
    facts->bad[at].line = record->line;
    size_t size = 0;
    for (; size < record->raw.size && size < LOGS_BAD_TEXT - 1; size++) {
        char c = record->raw.data[size];
        facts->bad[at].text[size] = c >= ' ' && c < 127 ? c : '?';
    }
    facts->bad[at].text[size] = '\0';
}

/* The unit of the last digit that is not zero, of those that stamps are written to. */
static uint64_t resolution_of(uint64_t t_ns)
{
    if (t_ns % 1000 != 0)
        return 1;
    return t_ns % 1000000 != 0 ? 1000 : 1000000;
}

static void tally_record(struct logs *logs, struct log_record *record)
{
    struct logs_facts *facts = &logs->facts;
    if (logs->options.order == LOGS_AS_FILED) { /* else the first pass has counted them */
        struct log_file *file = &logs->file[record->file];
        facts->out_of_order += record->t_ns < file->previous_ns;
        file->previous_ns = record->t_ns;
        record->t_ns = record->t_ns > logs->latest_ns ? record->t_ns : logs->latest_ns;
        logs->latest_ns = record->t_ns;
    }
    if (facts->records == 0)
        facts->first_ns = record->t_ns;
    facts->records++;
    facts->without_client += record->client.size == 0;
    facts->last_ns = record->t_ns > facts->last_ns ? record->t_ns : facts->last_ns;
    if (record->t_ns % 1000000000 != 0 && resolution_of(record->t_ns) < facts->resolution_ns)
        facts->resolution_ns = resolution_of(record->t_ns);
    facts->has_agent |= record->agent.size > 0;
    facts->has_status |= record->status != 0;
    facts->has_duration |= record->duration_ns != LOG_NO_DURATION;
    facts->has_cache |= record->cache != LOG_CACHE_UNKNOWN;
    facts->has_forwarded |= record->forwarded.size > 0;
    facts->has_user |= record->user.size > 0;
}

void tally_line(struct logs *logs, enum log_line result, struct log_record *record)
{
    logs->facts.lines++;
    if (result == LOG_REQUEST) {
        tally_record(logs, record);
    } else if (result == LOG_COMMENT || record->raw.size == 0) {
        logs->facts.empty++;
    } else {
        logs->facts.unparsed++;
        keep_bad(&logs->facts, record);
    }
}
