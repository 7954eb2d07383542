/*
 * What all reports of the findings share: names, histograms, the sentence about the gap.
 */
#include "cli/suggest_report.h"

#include <string.h>

#define GAP_LEAST 115 /* percent of the busiest person: the least that a limit can be between */

const char *const report_traffic_label[TRAFFIC_KINDS] = { "All requests",      "Pages",         "Static files",
                                                          "Login attempts",    "Failed logins", "API calls",
                                                          "Expensive requests" };
const char *const report_traffic_about[TRAFFIC_KINDS] = {
    "all lines of the log",
    "everything that is no static file",
    "pictures, styles, scripts, fonts, by the end of their names",
    "POSTs to where passwords are tried",
    "those answered 400, 401, 403 or 422",
    "paths like /api/ and /v1/",
    "what costs the server most",
};
const char *const report_window_label[PEAK_WINDOWS] = { "10 s", "1 min", "10 min" };

/* Failed logins are the numbers that their limit is about. */
static const enum traffic order[] = { TRAFFIC_PAGE,      TRAFFIC_STATIC, TRAFFIC_API,
                                      TRAFFIC_EXPENSIVE, TRAFFIC_LOGIN,  TRAFFIC_FAILURE };

size_t report_shown(const struct findings *findings, enum traffic kind[TRAFFIC_KINDS])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        bool is_optional = order[i] == TRAFFIC_API || order[i] == TRAFFIC_EXPENSIVE;
        if (findings->profile->requests[order[i]] >= (is_optional ? TRAFFIC_SOME : 1))
            kind[count++] = order[i];
    }
    return count;
}

const char *report_clients(uint64_t count, char out[PROSE_COUNT])
{
    prose_count(count, out);
    return strcat(out, count == 1 ? " client" : " clients");
}

static void fill(const struct findings *findings, enum traffic kind, struct histogram *histogram)
{
    for (size_t step = 0; step < SPREAD_STEPS; step++) {
        for (int who = 0; who < CLIENT_KINDS; who++) {
            histogram->part[step][who] = findings->spread[kind][histogram->window][who].step[step];
            histogram->sum[step] += histogram->part[step][who];
        }
        histogram->most = histogram->sum[step] > histogram->most ? histogram->sum[step] : histogram->most;
        histogram->steps = histogram->sum[step] > 0 ? step + 1 : histogram->steps;
    }
    if (histogram->number > 0 && spread_step_of(histogram->number) >= histogram->steps)
        histogram->steps = spread_step_of(histogram->number) + 1;
}

void report_histogram_of(const struct findings *findings, const struct proposal *limit, struct histogram *histogram)
{
    *histogram = (struct histogram){ .number = limit->number, .limit = limit->name, .window = limit->window };
    fill(findings, limit->kind, histogram);
}

void report_histogram(const struct findings *findings, enum traffic kind, struct histogram *histogram)
{
    for (size_t i = 0; i < findings->proposals; i++)
        if (findings->proposal[i].kind == kind && findings->proposal[i].window >= 0) {
            report_histogram_of(findings, &findings->proposal[i], histogram);
            return;
        }
    *histogram = (struct histogram){ .window = PEAK_10S };
    fill(findings, kind, histogram);
}

static bool is_empty(const struct histogram *histogram, size_t step)
{
    return step < histogram->steps && histogram->sum[step] == 0;
}

bool report_is_void(const struct histogram *histogram, size_t step, bool *is_first)
{
    bool after_empty = step > 0 && is_empty(histogram, step - 1);
    *is_first = !after_empty;
    return is_empty(histogram, step) && (after_empty || is_empty(histogram, step + 1));
}

uint64_t report_clients_of(const struct findings *findings, enum traffic kind)
{
    uint64_t clients = 0;
    for (int who = 0; who < CLIENT_KINDS; who++)
        clients += findings->clients_of[kind][who];
    return clients;
}

void report_gap(const struct gap *gap, int window, struct prose *out)
{
    char people[PROSE_COUNT], most[PROSE_COUNT], least[PROSE_COUNT], above[PROSE_COUNT], machines[PROSE_COUNT];
    const char *within = report_window_label[window];
    const char *verdict = gap->machine * 100 >= gap->people * GAP_LEAST ? "Between people and these is a gap."
                                                                        : "That is too close to be called a gap.";
    prose_count(gap->people, people);
    prose_count(gap->machine_most, most);
    if (gap->machines == 0 && gap->person == NULL)
        return;
    if (gap->machines == 0)
        prose_add(out, "No machine made such requests; the busiest person made %s in %s.", people, within);
    else if (gap->person == NULL)
        prose_add(out, "No person made such requests; the busiest machine made %s in %s.", most, within);
    else if (gap->machines_above == 0)
        prose_add(out,
                  "There is no gap: the busiest person made %s in %s, and no machine more (%s at most). A limit "
                  "protects the server here; it does not tell machines from people.",
                  people, within, most);
    else if (gap->machines_above == 1)
        prose_add(out, "The busiest person made %s in %s, and of %s %s one made more: %s. %s", people, within,
                  prose_count(gap->machines, machines), gap->machines == 1 ? "machine" : "machines", most, verdict);
    else
        prose_add(out,
                  "The busiest person made %s in %s. Of %s machines %s made more: the slowest of these %s, the fastest "
                  "%s. %s",
                  people, within, prose_count(gap->machines, machines), prose_count(gap->machines_above, above),
                  prose_count(gap->machine, least), most, verdict);
}
