/*
 * The number of a limit: a round one above the people, and below as many machines as can be.
 */
#include "cli/suggest_findings.h"

#include <math.h>

#define MARGIN_LEAST 1.15 /* if more would let machines through; the engine refuses nobody up to 15/16 of a number */
#define WORTH 5           /* a lower number is worth it if it hits so many machines */
#define WORTH_OF 4        /* where the wanted one hits so many */

uint64_t propose_round_up(uint64_t number)
{
    static const uint64_t step[] = { 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90 };
    uint64_t scale = 1;
    if (number <= 10)
        return number > 0 ? number : 1;
    for (;;) {
        for (size_t i = 0; i < sizeof step / sizeof *step; i++)
            if (step[i] * scale >= number)
                return step[i] * scale;
        if (scale > UINT64_MAX / 1000)
            return number;
        scale *= 10;
    }
}

static size_t exceeding(const uint64_t *machine, size_t count, uint64_t number)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += machine[i] > number;
    return found;
}

uint64_t propose_number(uint64_t people, uint64_t least, const uint64_t *machine, size_t count)
{
    uint64_t wanted = (uint64_t)ceil((double)people * PROPOSE_MARGIN),
             lowest = (uint64_t)ceil((double)people * MARGIN_LEAST);
    uint64_t top = propose_round_up(wanted > least ? wanted : least);
    uint64_t start = propose_round_up(lowest > least ? lowest : least), best = start;
    size_t most = exceeding(machine, count, start);
    if (most * WORTH_OF < exceeding(machine, count, top) * WORTH)
        return top;
    for (uint64_t number = start; number <= top; number = propose_round_up(number + 1))
        if (exceeding(machine, count, number) == most)
            best = number;
    return best;
}
