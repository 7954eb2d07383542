/* What looks at the clock come to; see ticks.h. */
#include "table/ticks.h"

static bool is_steady(uint64_t rate, uint64_t before)
{
    uint64_t apart = rate > before ? rate - before : before - rate;
    return before == 0 || apart <= before / TICKS_STEADY;
}

/* Takes the rate from two looks; TICKS_LONG keeps all this within 64 bits.  False if others are to give the next one. */
static bool set_rate(struct ticks *ticks, uint64_t now_ns, uint64_t tick)
{
    uint64_t ticked = tick - ticks->first_tick, past_ns = now_ns - ticks->first_ns;
    if (ticks->first_tick == 0 || ticked > TICKS_LONG || past_ns >= TICKS_LONG)
        return false;
    if (ticked < TICKS_APART)
        return true;
    uint64_t rate = (past_ns << 32) / ticked;
    bool steady = is_steady(rate, ticks->rate);
    ticks->rate = steady ? rate : 0;
    return steady && ticked < TICKS_RENEW;
}

void ticks_look(struct ticks *ticks, uint64_t before, uint64_t now_ns, uint64_t after)
{
    ticks->tick = 0;
    if (after - before > TICKS_CLOSE)
        return;
    if (!set_rate(ticks, now_ns, after)) {
        ticks->first_tick = after;
        ticks->first_ns = now_ns;
    }
    if (ticks->rate == 0)
        return;
    ticks->tick = after;
    ticks->at_ns = now_ns;
}
