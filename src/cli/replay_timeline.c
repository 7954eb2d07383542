/*
 * Counts over time, in steps that grow with it.
 */
#include "cli/replay_timeline.h"

#include <stdlib.h>
#include <string.h>

bool timeline_init(struct timeline *timeline, size_t rows)
{
    *timeline = (struct timeline){ .step_ns = TIMELINE_LEAST_NS, .rows = rows };
    timeline->cell = calloc(rows * TIMELINE_STEPS, sizeof *timeline->cell);
    return timeline->cell != NULL;
}

void timeline_release(struct timeline *timeline)
{
    free(timeline->cell);
    timeline->cell = NULL;
}

static uint32_t sum(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void fold_row(uint32_t *cell)
{
    for (size_t i = 0; i < TIMELINE_STEPS / 2; i++)
        cell[i] = sum(cell[2 * i], cell[2 * i + 1]);
    memset(cell + TIMELINE_STEPS / 2, 0, TIMELINE_STEPS / 2 * sizeof *cell);
}

static void begin(struct timeline *timeline, uint64_t t_ns)
{
    timeline->start_ns = timeline->from_ns = t_ns - t_ns % TIMELINE_LEAST_NS;
    timeline->end_ns = timeline->from_ns + timeline->step_ns;
}

void timeline_move(struct timeline *timeline, uint64_t t_ns)
{
    if (timeline->end_ns == 0)
        begin(timeline, t_ns);
    if (t_ns < timeline->start_ns)
        t_ns = timeline->start_ns;
    if (t_ns >= timeline->from_ns && t_ns < timeline->end_ns)
        return;
    while ((t_ns - timeline->start_ns) / timeline->step_ns >= TIMELINE_STEPS) {
        for (size_t row = 0; row < timeline->rows; row++)
            fold_row(timeline->cell + row * TIMELINE_STEPS);
        timeline->step_ns *= 2;
    }
    timeline->at = (size_t)((t_ns - timeline->start_ns) / timeline->step_ns);
    timeline->from_ns = timeline->start_ns + timeline->at * timeline->step_ns;
    timeline->end_ns = timeline->from_ns + timeline->step_ns;
}

/* Steps up to the last in which anything was counted. */
static size_t used_steps(const struct timeline *timeline)
{
    size_t used = 0;
    for (size_t row = 0; row < timeline->rows; row++)
        for (size_t i = TIMELINE_STEPS; i > used; i--)
            if (timeline->cell[row * TIMELINE_STEPS + i - 1] > 0)
                used = i;
    return used;
}

size_t timeline_columns(const struct timeline *timeline, size_t row, uint64_t *column, size_t most, uint64_t *step_ns)
{
    size_t used = used_steps(timeline), each = (used + most - 1) / most;
    if (used == 0)
        return 0;
    size_t count = (used + each - 1) / each;
    memset(column, 0, count * sizeof *column);
    for (size_t i = 0; i < used; i++)
        column[i / each] += timeline->cell[row * TIMELINE_STEPS + i];
    *step_ns = each * timeline->step_ns;
    return count;
}
