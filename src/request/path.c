/*
 * A path's one name: what nginx has in $uri with merge_slashes on (ngx_http_parse_complex_uri).
 *
 * Where nginx answers 400 this goes on, since a limiter in front of another server must name every path:
 *   - `%` without two hexadecimal digits, and `%00`, stay as they are written;
 *   - `..` beyond the root stays at the root.
 * Where an escape stands for `/` or `.` it acts as one, as in nginx; `%25`, `%23` and `%3F` become plain bytes.
 */
#include "drossel.h"

#include <string.h>

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* One byte of the path; `special` is whether it may act as `/` or end the path. */
struct path_byte {
    char value;
    bool special;
};

/* Reads the byte at `*at` and moves on; an escape that decodes counts as one. */
static struct path_byte next_byte(struct drossel_text path, size_t *at)
{
    char c = path.data[(*at)++];
    if (c != '%' || path.size - *at < 2)
        return (struct path_byte){ c, true };
    int high = hex_value(path.data[*at]), low = hex_value(path.data[*at + 1]);
    int decoded = high * 16 + low;
    if (high < 0 || low < 0 || decoded == 0)
        return (struct path_byte){ c, true };
    *at += 2;
    return (struct path_byte){ (char)decoded, decoded != '?' && decoded != '#' };
}

/* Ends the segment that `out` closes with: takes off `.` and, for `..`, the segment before it.  `out[0]` is always `/`. */
static size_t close_segment(const char *out, size_t size)
{
    if (size >= 2 && out[size - 1] == '.' && out[size - 2] == '/')
        return size - 1;
    if (size < 3 || out[size - 1] != '.' || out[size - 2] != '.' || out[size - 3] != '/')
        return size;
    size -= 3;
    while (size > 0 && out[size - 1] != '/')
        size--;
    return size == 0 ? 1 : size;
}

static size_t normalise_absolute(struct drossel_text path, char *out, size_t cap)
{
    size_t size = 0, at = 0;
    while (at < path.size && size < cap) {
        struct path_byte byte = next_byte(path, &at);
        if (byte.special && (byte.value == '?' || byte.value == '#'))
            break;
        if (byte.value == '/') {
            size = close_segment(out, size);
            if (size > 0 && out[size - 1] == '/')
                continue;
        }
        out[size++] = byte.value;
    }
    return close_segment(out, size);
}

/* Length of `scheme://authority` at the start of an absolute-form target, or 0. */
static size_t origin_size(struct drossel_text path)
{
    size_t at = 0;
    while (at < path.size && ((path.data[at] | 0x20) >= 'a' && (path.data[at] | 0x20) <= 'z'))
        at++;
    if (at == 0 || path.size - at < 3 || memcmp(path.data + at, "://", 3) != 0)
        return 0;
    at += 3;
    while (at < path.size && path.data[at] != '/' && path.data[at] != '?' && path.data[at] != '#')
        at++;
    return at;
}

size_t drossel_path_normalise(struct drossel_text path, char *out, size_t cap)
{
    if (cap == 0 || path.size == 0)
        return 0;
    size_t origin = origin_size(path);
    if (origin > 0) {
        path.data += origin;
        path.size -= origin;
        if (path.size == 0 || path.data[0] != '/') {
            out[0] = '/';
            return 1;
        }
    }
    if (path.data[0] == '/')
        return normalise_absolute(path, out, cap);
    const char *query = memchr(path.data, '?', path.size);
    size_t size = query == NULL ? path.size : (size_t)(query - path.data);
    if (size > cap)
        size = cap;
    memmove(out, path.data, size);
    return size;
}
