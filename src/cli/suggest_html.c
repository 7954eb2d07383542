/*
 * The findings as a page for a browser, also for somebody who has never seen this tool.
 */
#include "cli/suggest_report.h"

#include <stdlib.h>
#include <string.h>

#define HITS_SHOWN 20
#define AGENT_SHOWN 90

static void put(const char *text, FILE *out)
{
    if (text != NULL)
        report_escape(text, strlen(text), out);
}

static void put_tile(const char *label, const char *value, const char *kind, FILE *out)
{
    fprintf(out, "<div class=\"tile\"><b>%s</b>", value);
    if (kind != NULL)
        fprintf(out, "<i class=\"%s\"></i>", kind);
    fprintf(out, "<span class=\"soft\">%s</span></div>\n", label);
}

static void put_tiles(const struct findings *findings, FILE *out)
{
    static const char *const label[CLIENT_KINDS] = { "people", "unclear", "machines", "bots" };
    const struct profile *profile = findings->profile;
    char text[PROSE_COUNT];
    fputs("<div class=\"tiles\">\n", out);
    put_tile("requests", prose_count(profile->records, text), NULL, out);
    put_tile("of log", prose_span(profile->last_ns - profile->first_ns, text), NULL, out);
    put_tile("clients", prose_count(profile->count, text), NULL, out);
    for (int kind = 0; kind < CLIENT_KINDS; kind++)
        put_tile(label[kind], prose_count(findings->clients[kind], text), client_kind_name[kind], out);
    fputs("</div>\n", out);
}

static void put_head(const struct findings *findings, FILE *out)
{
    const struct profile *profile = findings->profile;
    char first[PROSE_COUNT], last[PROSE_COUNT], count[PROSE_COUNT];
    fputs("<h1>Limits for ", out);
    put(findings->source, out);
    fputs("</h1>\n", out);
    if (profile->records > 0)
        fprintf(out, "<p class=\"soft\">%s to %s UTC", prose_time(profile->first_ns, first),
                prose_time(profile->last_ns, last));
    if (profile->records > 0 && findings->facts->unparsed > 0)
        fprintf(out, "; %s lines were no requests", prose_count(findings->facts->unparsed, count));
    if (profile->records > 0)
        fputs("</p>\n", out);
    fputs("<p>A rate limit says how many requests one client may make in a while; whoever asks more often is told to "
          "wait. The right number is above "
          "what people do and, if there is a gap, below what machines do. This page shows where both are in this log, "
          "and proposes limits. "
          "Nothing is in force yet.</p>\n",
          out);
}

static void put_warnings(const struct findings *findings, FILE *out)
{
    for (size_t i = 0; i < findings->warnings; i++) {
        fputs("<p class=\"note\">", out);
        put(findings->warning[i].text, out);
        fputs("</p>\n", out);
    }
}

static void put_legend(FILE *out)
{
    static const char *const label[CLIENT_KINDS] = { "looks like a person", "unclear", "behaves like a machine",
                                                     "says it is a bot" };
    fputs("<div class=\"legend\">", out);
    for (int kind = 0; kind < CLIENT_KINDS; kind++)
        fprintf(out, "<span><i class=\"%s\"></i>%s</span>", client_kind_name[kind], label[kind]);
    fputs("</div>\n", out);
}

static void put_hit(const struct hit *hit, FILE *out)
{
    char count[PROSE_COUNT], name[64], agent[AGENT_SHOWN + 1];
    const struct client *client = hit->client;
    const char *text = client->agent != NULL ? client->agent : "";
    fputs("<tr><td class=\"who\">", out);
    put(prose_plain(client->name, client->name_size, name, sizeof name), out);
    fprintf(out, "</td><td class=\"n peak\">%s</td>", prose_count(hit->peak, count));
    fprintf(out, "<td class=\"n total\">%s</td>", prose_count(client_total(client, TRAFFIC_ALL), count));
    fprintf(out, "<td><span class=\"kind %s\">%s</span></td><td class=\"why\">", client_kind_name[client->kind],
            client_kind_name[client->kind]);
    put(client->why, out);
    fputs("</td><td class=\"agent\">", out);
    put(prose_plain(text, strlen(text), agent, sizeof agent), out);
    fputs("</td></tr>\n", out);
}

static void put_hits(const struct proposal *proposal, FILE *out)
{
    char count[PROSE_COUNT];
    if (proposal->hits == 0)
        return;
    fprintf(out,
            "<div class=\"wide\"><table class=\"hits\">\n<tr class=\"head\"><th>who exceeded it</th><th "
            "class=\"n\">peak in %s</th><th "
            "class=\"n\">requests</th>"
            "<th>is</th><th>because</th><th>User-Agent</th></tr>\n",
            report_window_label[proposal->window]);
    for (size_t i = 0; i < proposal->hits && i < HITS_SHOWN; i++)
        put_hit(&proposal->hit[i], out);
    fputs("</table></div>\n", out);
    if (proposal->hits > HITS_SHOWN)
        fprintf(out, "<p class=\"soft\">and %s more; <code>drossel suggest --json</code> lists them.</p>\n",
                prose_count(proposal->hits - HITS_SHOWN, count));
}

static void put_proposal(const struct findings *findings, const struct proposal *proposal, FILE *out)
{
    struct histogram histogram;
    fprintf(
        out,
        "<div class=\"card\" id=\"limit-%s\">\n<div class=\"top\"><h3>%s <span class=\"soft\">for %s, by %s</span></h3>"
        "<span class=\"allow\">%s</span></div>\n<p>",
        proposal->name, proposal->name, proposal->what, proposal->by, proposal->allow);
    put(proposal->reason.text, out);
    fputs("</p>\n", out);
    if (proposal->window >= 0) {
        report_strip(&findings->gap[proposal->kind][proposal->window], proposal->number, out);
        report_histogram_of(findings, proposal, &histogram);
        fprintf(out,
                "<p class=\"soft\">Left: a client's busiest %s, in %s. Bars: how many clients have that peak (their "
                "length is logarithmic).</p>\n",
                report_window_label[proposal->window],
                proposal->kind == TRAFFIC_FAILURE ? "failed logins" : "requests");
        report_plot(&histogram, out);
        put_legend(out);
    }
    put_hits(proposal, out);
    fputs("</div>\n", out);
}

static void put_ranks(const struct findings *findings, enum traffic kind, int window, FILE *out)
{
    char count[PROSE_COUNT];
    const char *label = report_window_label[window];
    for (int who = 0; who < CLIENT_KINDS; who++) {
        const struct spread *spread = &findings->spread[kind][window][who];
        if (spread->clients == 0)
            continue;
        fprintf(out, "<tr><td class=\"first\">%s</td><td>%s</td><td class=\"n\">%s</td>", label, client_kind_label[who],
                prose_count(spread->clients, count));
        for (int rank = 0; rank < SPREAD_RANKS; rank++)
            fprintf(out, "<td class=\"n\">%s</td>", prose_count(spread->rank[rank], count));
        fputs("</tr>\n", out);
        label = "";
    }
}

static void put_traffic(const struct findings *findings, enum traffic kind, FILE *out)
{
    char requests[PROSE_COUNT], clients[PROSE_COUNT];
    struct prose gap = { 0 };
    fprintf(out, "<div class=\"card\">\n<div class=\"top\"><h3>%s</h3><span class=\"soft\">%s by %s; %s</span></div>\n",
            report_traffic_label[kind], prose_count(findings->profile->requests[kind], requests),
            report_clients(report_clients_of(findings, kind), clients), report_traffic_about[kind]);
    report_gap(&findings->gap[kind][PEAK_10S], PEAK_10S, &gap);
    fputs("<p>", out);
    put(gap.text, out);
    free(gap.text);
    fputs("</p>\n<div class=\"wide\"><table>\n<tr><th>busiest</th><th>who</th><th class=\"n\">clients</th>", out);
    for (int rank = 0; rank < SPREAD_RANKS; rank++)
        fprintf(out, "<th class=\"n\">%s</th>", spread_rank_name[rank]);
    fputs("</tr>\n", out);
    for (int window = 0; window < PEAK_WINDOWS; window++)
        put_ranks(findings, kind, window, out);
    fputs("</table></div>\n</div>\n", out);
}

static void put_policy(const struct findings *findings, FILE *out)
{
    struct prose policy = { 0 };
    policy_write(findings, &policy);
    fputs("<h2>The policy to copy</h2>\n<p>The same, as drossel reads it. Save it as <code>drossel.yaml</code> (a "
          "click into it marks all), then:</p>\n"
          "<pre><code>drossel check drossel.yaml                      # says what it means\n"
          "drossel replay --policy drossel.yaml ACCESS_LOG # shows whom it would have refused\n"
          "drossel show --dry-run                          # live, once nginx has it: whom it would refuse "
          "now</code></pre>\n"
          "<p>When those are the right ones, take the line <code>dry_run: true</code> out of that limit and "
          "reload.</p>\n<pre class=\"all\">",
          out);
    put(policy.text, out);
    fputs("</pre>\n", out);
    free(policy.text);
}

bool report_html(const struct findings *findings, FILE *out)
{
    enum traffic shown[TRAFFIC_KINDS];
    size_t count = report_shown(findings, shown);
    report_page_begin(findings, out);
    put_head(findings, out);
    put_tiles(findings, out);
    put_warnings(findings, out);
    if (findings->proposals > 0)
        fputs("<h2>Proposed limits</h2>\n<p><b>A peak</b> is the most requests that one client made in any 10 seconds "
              "(or 1 minute, 10 minutes) of the "
              "log: a limit above it never meets that client. Every limit is a dry run first: it counts and logs, and "
              "refuses nobody.</p>\n",
              out);
    for (size_t i = 0; i < findings->proposals; i++)
        put_proposal(findings, &findings->proposal[i], out);
    if (findings->proposals > 0)
        put_policy(findings, out);
    if (findings->profile->records > 0)
        fputs("<h2>All peaks</h2>\n<p>p90 is the peak that 9 of 10 clients do not exceed; p99.9 that 999 of 1,000 do "
              "not.</p>\n",
              out);
    for (size_t i = 0; i < count; i++)
        put_traffic(findings, shown[i], out);
    report_page_end(out);
    return ferror(out) == 0;
}
