/* Looking for one byte; see scan.h. */
#include "request/scan.h"

#include "hint.h"

/* Not inlined: who reads a body asks for it several times, and finds its code at hand. */
on_the_way kept_apart const char *scan_find(const char *begin, const char *at, const char *end, char c)
{
    const scan_block wanted = scan_all(c);
    if (likely(end - begin >= SCAN_BYTES)) {
        const char *last = end - SCAN_BYTES;
        for (; at <= last; at += SCAN_BYTES) {
            uint32_t bits = scan_bits((scan_block)(scan_load(at) == wanted));
            if (bits != 0)
                return at + __builtin_ctz(bits);
        }
        uint32_t bits = scan_bits((scan_block)(scan_load(last) == wanted)) >> (at - last);
        return bits != 0 ? at + __builtin_ctz(bits) : end;
    }
    while (at < end && *at != c)
        at++;
    return at;
}
