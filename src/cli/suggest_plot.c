/*
 * Plots as SVG within the page, which gives them their colours.
 *
 * Widths are percentages and heights are pixels, so that bars grow with the page and letters do not.
 */
#include "cli/suggest_report.h"

#include <math.h>

#define ROW 22
#define HEAD 6
#define BAR_AT 17.0   /* percent: where bars begin */
#define BAR_ROOM 68.0 /* and how long the longest is */
#define STRIP_AT 4.0
#define STRIP_ROOM 92.0

static const char *const class_of[CLIENT_KINDS] = { "person", "unclear", "machine", "bot" };

static void draw_bar(const struct histogram *histogram, size_t step, int y, FILE *out)
{
    char count[PROSE_COUNT];
    uint64_t sum = histogram->sum[step], most = histogram->most;
    double length = sum == 0 ? 0 : BAR_ROOM * (1 + log((double)sum)) / (1 + log((double)(most > 1 ? most : 1)));
    double at = BAR_AT;
    for (int who = 0; who < CLIENT_KINDS && sum > 0; who++) {
        double part = length * (double)histogram->part[step][who] / (double)sum;
        if (part <= 0)
            continue;
        fprintf(out,
                "<rect class=\"%s\" x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"><title>%s %s</title></rect>\n",
                class_of[who], at, y + 3, part, ROW - 6, prose_count(histogram->part[step][who], count),
                client_kind_label[who]);
        at += part;
    }
    fprintf(out, "<text class=\"count\" x=\"%.2f%%\" dx=\"6\" y=\"%d\">%s</text>\n", at, y + 16,
            sum > 0 ? prose_count(sum, count) : "");
}

/* The number lies within a step: the line is drawn there in proportion. */
static void draw_limit(const struct histogram *histogram, size_t step, int y, FILE *out)
{
    char count[PROSE_COUNT];
    uint64_t first = step > 0 ? spread_step_end(step - 1) + 1 : 1, end = spread_step_end(step);
    double part = end == UINT64_MAX ? 1 : (double)(histogram->number - first + 1) / (double)(end - first + 1);
    int at = y + (int)(part * ROW + 0.5);
    fprintf(out, "<line class=\"limit\" x1=\"%.1f%%\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>\n", BAR_AT, at, at);
    fprintf(out, "<text class=\"limit\" x=\"100%%\" y=\"%d\">limit %s per %s</text>\n", at - 5,
            prose_count(histogram->number, count), report_window_label[histogram->window]);
}

static int rows_of(const struct histogram *histogram)
{
    int rows = 0;
    bool is_first;
    for (size_t step = 0; step < histogram->steps; step++)
        rows += !report_is_void(histogram, step, &is_first) || is_first;
    return rows;
}

static void draw_label(const char *text, int y, FILE *out)
{
    fprintf(out, "<text class=\"step\" x=\"%.1f%%\" dx=\"-8\" y=\"%d\">%s</text>\n", BAR_AT, y + 16, text);
}

void report_plot(const struct histogram *histogram, FILE *out)
{
    char label[PROSE_COUNT];
    int height = rows_of(histogram) * ROW + 2 * HEAD, y = HEAD, limit_y = -1;
    size_t limit_step = histogram->number > 0 ? spread_step_of(histogram->number) : SPREAD_STEPS;
    fprintf(out,
            "<svg class=\"plot\" role=\"img\" aria-label=\"How many clients have which busiest %s\" width=\"100%%\" "
            "height=\"%d\">\n",
            report_window_label[histogram->window], height);
    for (size_t step = 0; step < histogram->steps; step++) {
        bool is_first, is_void = report_is_void(histogram, step, &is_first);
        if (step == limit_step)
            limit_y = is_void && !is_first ? y - ROW : y;
        if (is_void && !is_first)
            continue;
        draw_label(is_void ? "⋮" : spread_step_format(step, label, sizeof label), y, out);
        if (!is_void)
            draw_bar(histogram, step, y, out);
        y += ROW;
    }
    if (limit_y >= 0)
        draw_limit(histogram, limit_step, limit_y, out);
    fputs("</svg>\n", out);
}

/* ---- the strip ---- */

static double place(uint64_t value, uint64_t most)
{
    double part = log((double)(value > 0 ? value : 1)) / log((double)(most > 1 ? most : 2));
    return STRIP_AT + STRIP_ROOM * (part < 1 ? part : 1);
}

/* A stretch of the line; people are above it, machines below. */
struct band {
    const char *class, *label;
    uint64_t from, to;
    int bar_y, text_y;
};

static void draw_band(const struct band *band, uint64_t most, FILE *out)
{
    char first[PROSE_COUNT], last[PROSE_COUNT];
    double left = place(band->from, most), right = place(band->to, most);
    double width = right - left > 0.8 ? right - left : 0.8;
    bool is_one = band->from == band->to, begins_left = left < 60;
    fprintf(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"12\" rx=\"3\"/>\n", band->class,
            left, band->bar_y, width);
    fprintf(out, "<text class=\"%s\" x=\"%.2f%%\" y=\"%d\">%s %s%s%s</text>\n", begins_left ? "band" : "band end",
            begins_left ? left : left + width, band->text_y, band->label, prose_count(band->from, first),
            is_one ? "" : " to ", is_one ? "" : prose_count(band->to, last));
}

void report_strip(const struct gap *gap, uint64_t number, FILE *out)
{
    char count[PROSE_COUNT];
    uint64_t most = gap->people > gap->machine_most ? gap->people : gap->machine_most;
    most = most > number ? most : number;
    fputs("<svg class=\"strip\" role=\"img\" aria-label=\"Where people end, where the limit is, where machines are\" "
          "width=\"100%\" height=\"80\">\n",
          out);
    fprintf(out, "<line class=\"axis\" x1=\"%.1f%%\" x2=\"%.1f%%\" y1=\"41\" y2=\"41\"/>\n", STRIP_AT,
            STRIP_AT + STRIP_ROOM);
    if (gap->person != NULL)
        draw_band(&(struct band){ "person", "people", 1, gap->people, 26, 20 }, most, out);
    if (gap->machines > 0)
        draw_band(&(struct band){ "bot", gap->machine > 0 && gap->people > 0 ? "machines above people" : "machines",
                                  gap->machine > 0 ? gap->machine : 1, gap->machine_most, 44, 72 },
                  most, out);
    double at = place(number, most);
    fprintf(out, "<line class=\"limit\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"12\" y2=\"57\"/>\n", at, at);
    fprintf(out, "<text class=\"limit%s\" x=\"%.2f%%\" dx=\"%d\" y=\"12\">limit %s</text>\n", at < 75 ? " start" : "",
            at, at < 75 ? 5 : -5, prose_count(number, count));
    fputs("</svg>\n", out);
}
