/*
 * The findings as text: 80 columns for a terminal.
 */
#include "cli/suggest_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plain.h"

#define WIDTH 79
#define BAR 44
#define HITS_SHOWN 5
#define AGENT_LEAST 8
#define NAME_SHOWN 42

/* Prints sentences, broken at blanks, each line after `indent` blanks. */
static void print_text(const char *text, int indent, FILE *out)
{
    size_t room = (size_t)(WIDTH - indent);
    while (text != NULL && *text != '\0') {
        size_t size = strlen(text);
        if (size > room) {
            size = room;
            while (size > 0 && text[size] != ' ')
                size--;
            size = size > 0 ? size : room;
        }
        fprintf(out, "%*s%.*s\n", indent, "", (int)size, text);
        text += size;
        text += *text == ' ';
    }
}

static void print_prose(const struct prose *prose, int indent, FILE *out)
{
    print_text(prose->text, indent, out);
}

static void print_who(const struct findings *findings, FILE *out)
{
    static const char *const verb[CLIENT_KINDS] = { "look like people", "are unclear", "behave like machines",
                                                    "call themselves bots" };
    struct prose text = { 0 };
    char count[PROSE_COUNT];
    for (int kind = 0; kind < CLIENT_KINDS; kind++)
        prose_add(&text, "%s%s %s", kind > 0 ? ", " : "", prose_count(findings->clients[kind], count), verb[kind]);
    prose_add(&text, ".");
    print_prose(&text, 0, out);
    free(text.text);
}

static void print_head(const struct findings *findings, FILE *out)
{
    const struct profile *profile = findings->profile;
    struct prose text = { 0 };
    char requests[PROSE_COUNT], clients[PROSE_COUNT], span[PROSE_COUNT], first[PROSE_COUNT], last[PROSE_COUNT],
        source[120];
    prose_add(&text, "%s: %s requests of %s",
              prose_plain(findings->source, strlen(findings->source), source, sizeof source),
              prose_count(profile->records, requests), report_clients(profile->count, clients));
    if (profile->records > 0)
        prose_add(&text, " in %s, %s to %s UTC", prose_span(profile->last_ns - profile->first_ns, span),
                  prose_time(profile->first_ns, first), prose_time(profile->last_ns, last));
    if (findings->facts->unparsed > 0)
        prose_add(&text, "; %s lines were no requests", prose_count(findings->facts->unparsed, requests));
    if (*findings->format != '\0')
        prose_add(&text, ". Format: %s", findings->format);
    prose_add(&text, ".");
    print_prose(&text, 0, out);
    free(text.text);
    if (profile->records > 0)
        print_who(findings, out);
}

static void print_ranks(const struct findings *findings, enum traffic kind, FILE *out)
{
    char text[PROSE_COUNT];
    fprintf(out, "\n  %-23s%10s", "the busiest", "clients");
    for (int rank = 0; rank < SPREAD_RANKS; rank++)
        fprintf(out, "%8s", spread_rank_name[rank]);
    fputc('\n', out);
    for (int window = 0; window < PEAK_WINDOWS; window++) {
        const char *label = report_window_label[window];
        for (int who = 0; who < CLIENT_KINDS; who++) {
            const struct spread *spread = &findings->spread[kind][window][who];
            if (spread->clients == 0)
                continue;
            fprintf(out, "  %-8s%-15s%10s", label, client_kind_label[who], prose_count(spread->clients, text));
            for (int rank = 0; rank < SPREAD_RANKS; rank++)
                fprintf(out, "%8s", prose_count(spread->rank[rank], text));
            fputc('\n', out);
            label = "";
        }
    }
}

static void print_bar(const uint64_t part[CLIENT_KINDS], uint64_t sum, uint64_t most, bool is_wide, FILE *out)
{
    static const char *const wide[CLIENT_KINDS] = { "█", "▓", "▒", "░" };
    static const char *const plain[CLIENT_KINDS] = { "#", "+", "=", "-" };
    uint64_t drawn = 0;
    int cells = sum == 0 ? 0 : 1 + (int)((BAR - 1) * log((double)sum) / log((double)(most > 1 ? most : 2)) + 0.5);
    for (int who = 0, cell = 0; who < CLIENT_KINDS && sum > 0; who++) {
        drawn += part[who];
        int end = (int)((double)cells * (double)drawn / (double)sum + 0.5);
        if (part[who] > 0 && end == cell && end < cells)
            end++; /* whoever is there is seen */
        for (; cell < end; cell++)
            fputs(is_wide ? wide[who] : plain[who], out);
    }
    fputc('\n', out);
}

static void print_histogram(const struct histogram *histogram, bool is_wide, FILE *out)
{
    char label[PROSE_COUNT], count[PROSE_COUNT];
    bool is_first;
    fprintf(out, "\n  busiest %-7s  clients  %s\n", report_window_label[histogram->window],
            is_wide ? "█ people  ▓ unclear  ▒ machines  ░ bots by name"
                    : "# people  + unclear  = machines  - bots by name");
    for (size_t step = 0; step < histogram->steps; step++) {
        if (!report_is_void(histogram, step, &is_first)) {
            fprintf(out, "  %12s %10s%s", spread_step_format(step, label, sizeof label),
                    prose_count(histogram->sum[step], count), histogram->sum[step] > 0 ? "  " : "");
            print_bar(histogram->part[step], histogram->sum[step], histogram->most, is_wide, out);
        } else if (is_first)
            fprintf(out, "  %12s\n", "...");
        if (histogram->number > 0 && spread_step_of(histogram->number) == step)
            fprintf(out, "  ------------ %s: %s per %s%s ------------\n", histogram->limit,
                    prose_count(histogram->number, count), report_window_label[histogram->window],
                    histogram->number == spread_step_end(step) ? "" : ", within this step");
    }
}

static void print_traffic(const struct findings *findings, enum traffic kind, bool is_wide, FILE *out)
{
    char requests[PROSE_COUNT], count[PROSE_COUNT];
    struct histogram histogram;
    struct prose gap = { 0 };
    report_histogram(findings, kind, &histogram);
    fprintf(out, "\n%s: %s by %s\n", report_traffic_label[kind],
            prose_count(findings->profile->requests[kind], requests),
            report_clients(report_clients_of(findings, kind), count));
    fprintf(out, "  (%s)\n", report_traffic_about[kind]);
    print_ranks(findings, kind, out);
    print_histogram(&histogram, is_wide, out);
    report_gap(&findings->gap[kind][histogram.window], histogram.window, &gap);
    fputc('\n', out);
    print_prose(&gap, 2, out);
    free(gap.text);
}

/* Long names leave less for the agent: a line is as wide as all others. */
static void print_hit(const struct hit *hit, FILE *out)
{
    const struct client *client = hit->client;
    char name[NAME_SHOWN], agent[WIDTH], count[PROSE_COUNT];
    const char *text = client->agent != NULL ? client->agent : "-";
    int used = fprintf(out, "      %-18s %9s  %-8s ", prose_plain(client->name, client->name_size, name, sizeof name),
                       prose_count(hit->peak, count), client_kind_name[client->kind]);
    size_t room = used > 0 && used < WIDTH - AGENT_LEAST ? (size_t)(WIDTH - used) : AGENT_LEAST;
    fprintf(out, "%s\n", prose_plain(text, strlen(text), agent, room + 1));
}

static void print_hits(const struct proposal *proposal, FILE *out)
{
    char count[PROSE_COUNT];
    for (size_t i = 0; i < proposal->hits && i < HITS_SHOWN; i++)
        print_hit(&proposal->hit[i], out);
    if (proposal->hits > HITS_SHOWN)
        fprintf(out, "      and %s more\n", prose_count(proposal->hits - HITS_SHOWN, count));
}

static void print_proposals(const struct findings *findings, FILE *out)
{
    fputs("\nProposal: all of it as a dry run, which refuses nobody\n", out);
    for (size_t i = 0; i < findings->proposals; i++) {
        const struct proposal *proposal = &findings->proposal[i];
        fprintf(out, "\n  %s: %s, by %s\n", proposal->name, proposal->allow, proposal->by);
        print_prose(&proposal->reason, 4, out);
        print_hits(proposal, out);
    }
}

static void print_next(const char *policy, FILE *out)
{
    fputs("\nNext\n", out);
    if (policy == NULL)
        fputs("  drossel suggest --policy drossel.yaml LOG\n      writes this as a policy\n", out);
    else
        plain_print(out, true, "  The policy was written to %s.\n", policy);
    plain_print(out, true,
                "  drossel replay --policy %s LOG\n      shows whom it would have refused\n"
                "  drossel suggest --html report.html LOG\n      shows the same as this in a browser, with plots\n",
                policy != NULL ? policy : "drossel.yaml");
}

void report_print(const struct findings *findings, const char *policy, bool is_wide, FILE *out)
{
    enum traffic shown[TRAFFIC_KINDS];
    size_t count = report_shown(findings, shown);
    print_head(findings, out);
    for (size_t i = 0; i < findings->warnings; i++) {
        struct prose marked = { 0 };
        prose_add(&marked, "! %s", findings->warning[i].text != NULL ? findings->warning[i].text : "");
        fputc('\n', out);
        print_prose(&marked, 0, out);
        free(marked.text);
    }
    if (findings->profile->records == 0)
        return;
    fputc('\n', out);
    print_text("A peak is the most requests of one client in any 10 s (1 min, 10 min) of the log: the number that a "
               "limit has to be above "
               "if that client is not to meet it. p90 is the peak that 9 of 10 clients do not exceed. The bars show "
               "how many clients have which "
               "peak; they grow with the logarithm, so that a single one is seen beside thousands.",
               0, out);
    for (size_t i = 0; i < count; i++)
        print_traffic(findings, shown[i], is_wide, out);
    print_proposals(findings, out);
    print_next(policy, out);
}
