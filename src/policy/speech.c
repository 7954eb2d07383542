/* Numbers and times as a person says them. */
#include "policy/speech.h"

#include <stdio.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    uint64_t ns;
    const char *one, *many;
} units[] = { { UINT64_C(86400000000000), "day", "days" },
              { UINT64_C(3600000000000), "h", "h" },
              { UINT64_C(60000000000), "min", "min" },
              { UINT64_C(1000000000), "s", "s" },
              { UINT64_C(1000000), "ms", "ms" },
              { UINT64_C(1000), "us", "us" },
              { 1, "ns", "ns" } };
#define SECONDS 3

const char *say_duration(uint64_t ns, char out[SPEECH_BYTES])
{
    size_t i = ns == 0 ? SECONDS : 0;
    while (ns % units[i].ns != 0)
        i++;
    uint64_t number = ns / units[i].ns;
    snprintf(out, SPEECH_BYTES, "%llu %s", (unsigned long long)number, number == 1 ? units[i].one : units[i].many);
    return out;
}

const char *say_interval(uint64_t period_ns, uint64_t count, char out[SPEECH_BYTES])
{
    double ns = (double)period_ns / (double)count;
    size_t i = ns >= (double)units[SECONDS].ns ? SECONDS : SECONDS + 1;
    while (units[i].ns > 1 && ns < (double)units[i].ns)
        i++;
    if (period_ns % count == 0 && ns >= (double)units[SECONDS].ns)
        return say_duration(period_ns / count, out);
    snprintf(out, SPEECH_BYTES, "%.3f", ns / (double)units[i].ns);
    size_t size = strlen(out);
    while (out[size - 1] == '0')
        size--;
    if (out[size - 1] == '.')
        size--;
    snprintf(out + size, SPEECH_BYTES - size, " %s", units[i].many);
    return out;
}

const char *say_ordinal(uint64_t number, char out[SPEECH_BYTES])
{
    static const char *const endings[] = { "th", "st", "nd", "rd" };
    uint64_t last = number % 10;
    bool teen = number % 100 >= 11 && number % 100 <= 13;
    snprintf(out, SPEECH_BYTES, "%llu%s", (unsigned long long)number, endings[teen || last > 3 ? 0 : last]);
    return out;
}
