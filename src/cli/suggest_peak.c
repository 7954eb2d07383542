/*
 * The busiest window of a client: a ring of stamps, with a tail for each window.
 */
#include "cli/suggest_peak.h"

#include <stdlib.h>

#define CAP_LEAST 2 /* most clients of a log ask once or twice */
#define CAP_MOST (UINT32_C(1) << 30)

const uint64_t peak_window_ns[PEAK_WINDOWS] = { UINT64_C(10000000000), UINT64_C(60000000000), UINT64_C(600000000000) };
const char *const peak_window_name[PEAK_WINDOWS] = { "10s", "1m", "10m" };

static struct peak_stamp *stamp_at(const struct peak *peak, uint32_t place)
{
    return &peak->stamp[place & (peak->cap - 1)];
}

/* The last tail is that of the longest window: what is before it is needed no more. */
static bool grow(struct peak *peak)
{
    uint32_t cap = peak->cap > 0 ? peak->cap * 2 : CAP_LEAST;
    struct peak_stamp *stamp = peak->cap < CAP_MOST ? calloc(cap, sizeof *stamp) : NULL;
    if (stamp == NULL)
        return false;
    for (uint32_t place = peak->tail[PEAK_10MIN]; place != peak->end; place++)
        stamp[place & (cap - 1)] = *stamp_at(peak, place);
    free(peak->stamp);
    peak->stamp = stamp;
    peak->cap = cap;
    return true;
}

static void move_tails(struct peak *peak, uint64_t t_ns)
{
    for (int i = 0; i < PEAK_WINDOWS; i++)
        while (peak->tail[i] != peak->end && t_ns - stamp_at(peak, peak->tail[i])->t_ns >= peak_window_ns[i])
            peak->tail[i]++;
}

bool peak_arrive(struct peak *peak, uint64_t t_ns)
{
    if (peak->end == peak->tail[PEAK_10MIN] || stamp_at(peak, peak->end - 1)->t_ns != t_ns) {
        move_tails(peak, t_ns);
        if (peak->end - peak->tail[PEAK_10MIN] == peak->cap && !grow(peak))
            return false;
        *stamp_at(peak, peak->end++) = (struct peak_stamp){ t_ns, peak->total };
    }
    peak->total++;
    for (int i = 0; i < PEAK_WINDOWS; i++) {
        uint64_t within = peak->total - stamp_at(peak, peak->tail[i])->before;
        if (within > peak->most[i])
            peak->most[i] = within;
    }
    return true;
}

void peak_release(struct peak *peak)
{
    free(peak->stamp);
    *peak = (struct peak){ 0 };
}
