/*
 * How a sliding window lays its stamps out: how many, how wide, how many charges each, on which grid.
 *
 * Up to N = 16 one charge each, so that the count is exact.  Above, the layout must keep the promise that a client sending
 * evenly at 15/16 of N/T is never refused.  With requests every s = 16 T / (15 N), one more meets those of the last
 * T + quantum, ceil((T + quantum) / s) - 1 of them, and at most chunk - 1 that have left the window but not their stamp:
 *
 *     ceil((T + quantum) / s) - 1  +  chunk - 1  +  1  <=  N
 *
 * That is checked here in whole numbers, not believed.  Grids are decimal (1, 2, 5 times a power of ten) where that
 * suffices, because then times of whole milliseconds or seconds lie on them and nothing at all is rounded.
 *
 * Counts in the stamps (ENGINE_REFUNDABLE) leave fewer bits for the time: there the promise holds up to N = 1071. Beyond, the
 * layout that comes closest is taken, and the strict window alone is promised.
 */
#include "engine/algorithm.h"

#define LOG_BITS 251
#define STAMP_BITS_MAX 57 /* enough for a year in nanoseconds, and shifts by it stay below 64 */
#define EXACT_MAX 16

__extension__ typedef unsigned __int128 wide;

static bool fits_grid(uint64_t period_ns, uint64_t quantum_ns, unsigned age_bits)
{
    return period_ns / quantum_ns + 3 < UINT64_C(1) << age_bits;
}

static uint64_t decimal_quantum(uint64_t period_ns, unsigned age_bits)
{
    static const unsigned char step[3] = { 1, 2, 5 };
    for (uint64_t power = 1; power <= ENGINE_PERIOD_MAX_NS; power *= 10)
        for (unsigned i = 0; i < 3; i++)
            if (fits_grid(period_ns, step[i] * power, age_bits))
                return step[i] * power;
    return period_ns;
}

static bool admits_steady(const struct engine_limit *limit)
{
    wide count = limit->spec.count, period_ns = limit->spec.period_ns;
    wide met = ((period_ns + limit->quantum_ns) * 15 * count + 16 * period_ns - 1) / (16 * period_ns);
    return met - 1 + limit->chunk - 1 + 1 <= count;
}

static unsigned bits_for(uint64_t value)
{
    unsigned bits = 0;
    for (; value > 0; value >>= 1)
        bits++;
    return bits;
}

/* Lays out `stamps` closed stamps; true if evenly sent requests at 15/16 of the rate fit. */
static bool lay_out(struct engine_limit *limit, unsigned stamps)
{
    uint64_t count = limit->spec.count, period_ns = limit->spec.period_ns;
    limit->stamps = (uint8_t)stamps;
    limit->chunk = (uint32_t)engine_max((count + stamps) / (stamps + 1), 1);
    unsigned bits = stamps == 0 ? STAMP_BITS_MAX : LOG_BITS / stamps;
    limit->stamp_bits = (uint8_t)(bits < STAMP_BITS_MAX ? bits : STAMP_BITS_MAX);
    bool counted = (limit->spec.flags & ENGINE_REFUNDABLE) != 0 && limit->chunk > 1;
    unsigned count_bits = counted ? bits_for(2 * (uint64_t)limit->chunk) : 0;
    if (count_bits + 4 > limit->stamp_bits || limit->chunk > ENGINE_TALLY_MAX)
        return false;
    limit->age_bits = (uint8_t)(limit->stamp_bits - count_bits);
    limit->quantum_ns = decimal_quantum(period_ns, limit->age_bits);
    if (admits_steady(limit))
        return true;
    limit->quantum_ns = period_ns / ((UINT64_C(1) << limit->age_bits) - 4) + 1;
    return admits_steady(limit);
}

/* How much more than what is there this layout may count, in N*T/4096: the lower the better. */
static uint64_t looseness(const struct engine_limit *limit)
{
    wide chunk_part = (wide)limit->chunk * 4096 / limit->spec.count;
    wide grid_part = (wide)limit->quantum_ns * 4096 / limit->spec.period_ns;
    return (uint64_t)(chunk_part + grid_part);
}

/* The rest that is made of a layout.  Without an inverse, for the quantum 1, grid_of divides. */
static void derive(struct engine_limit *limit)
{
    limit->count_bits = (uint8_t)(limit->stamp_bits - limit->age_bits);
    limit->stamp_mask = (UINT64_C(1) << limit->stamp_bits) - 1;
    limit->age_mask = (UINT64_C(1) << limit->age_bits) - 1;
    unsigned bits = bits_for(limit->quantum_ns - 1);
    if (bits == 0)
        return;
    limit->quantum_inverse = (uint64_t)((((wide)1 << (63 + bits)) + limit->quantum_ns - 1) / limit->quantum_ns);
    limit->quantum_shift = (uint8_t)(bits - 1);
}

static const char *choose_layout(struct engine_limit *limit)
{
    uint64_t count = limit->spec.count;
    limit->capacity = count;
    if (count <= EXACT_MAX) {
        (void)lay_out(limit, count == 0 ? 0 : (unsigned)count - 1);
        return NULL;
    }
    if (lay_out(limit, 15) || lay_out(limit, 16))
        return NULL;
    /* Counts in the stamps leave few bits for the time: take the layout that comes closest.  P1 holds with each. */
    unsigned best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned stamps = 4; stamps <= 16; stamps++) {
        limit->age_bits = 0;
        if (lay_out(limit, stamps))
            return NULL;
        if (limit->age_bits > 0 && looseness(limit) < least) {
            least = looseness(limit);
            best = stamps;
        }
    }
    if (best == 0)
        return "a sliding window cannot hold so many charges with refunds; use `algorithm: bucket`, or a lower limit";
    (void)lay_out(limit, best);
    return NULL;
}

const char *sliding_compile(struct engine_limit *limit)
{
    const char *wrong = choose_layout(limit);
    if (wrong == NULL)
        derive(limit);
    bool is_queued = (limit->spec.flags & ENGINE_QUEUE) != 0;
    limit->is_plain = wrong == NULL && limit->spec.count > 0 && !is_queued;
    return wrong;
}
