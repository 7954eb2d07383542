/* Reads a stream to its end and writes its text to a file; zlib and liblzma do the work. */
#include "logs/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "logs/temp.h"

#define CHUNK ((size_t)256 << 10)
#define XZ_MEMORY ((uint64_t)256 << 20) /* the largest preset of xz needs 65 MiB */

static const struct {
    enum packing packing;
    unsigned char size;
    char magic[PACKING_BYTES + 1];
    const char *command; /* NULL: unpacked here */
} packings[] = { { PACKING_GZIP, 2, "\x1f\x8b", NULL },
                 { PACKING_XZ, 6,
                   "\xfd"
                   "7zXZ\0",
                   NULL },
                 { PACKING_ZSTD, 4, "\x28\xb5\x2f\xfd", "zstd -dc" },
                 { PACKING_BZIP2, 3, "BZh", "bzip2 -dc" },
                 { PACKING_ZIP, 4, "PK\x03\x04", "unzip -p" },
                 { PACKING_LZ4, 4, "\x04\x22\x4d\x18", "lz4 -dc" } };
#define PACKING_COUNT (sizeof packings / sizeof packings[0])

/* The mark of UTF-16, and an ASCII character behind it, as Windows' shell writes what it redirects into a file. */
static bool is_utf16(const unsigned char *head, size_t size)
{
    if (size < 4)
        return false;
    bool little = head[0] == 0xff && head[1] == 0xfe && head[2] != 0 && head[3] == 0;
    return little || (head[0] == 0xfe && head[1] == 0xff && head[2] == 0 && head[3] != 0);
}

enum packing packing_of(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < PACKING_COUNT; i++)
        if (size >= packings[i].size && memcmp(head, packings[i].magic, packings[i].size) == 0)
            return packings[i].packing;
    return is_utf16(head, size) ? PACKING_UTF16 : PACKING_NONE;
}

const char *packing_command(enum packing packing)
{
    for (size_t i = 0; i < PACKING_COUNT; i++)
        if (packings[i].packing == packing)
            return packings[i].command;
    return packing == PACKING_UTF16 ? "iconv -f UTF-16 -t UTF-8" : NULL;
}

/* A stream under way. */
struct flow {
    struct unpacking *unpacking;
    unsigned char *in, *out; /* CHUNK bytes each */
    bool ended;              /* no more input */
    enum unpacked result;
};

static enum unpacked damaged(struct flow *flow, const char *what)
{
    struct unpacking *u = flow->unpacking;
    snprintf(u->error, u->error_size, "%s: %s after %llu bytes of text; what came before is used", u->name, what,
             (unsigned long long)u->written);
    return UNPACKED_DAMAGED;
}

/* The next piece of input.  0: the end, or flow->result says what happened. */
static size_t fill(struct flow *flow)
{
    struct unpacking *u = flow->unpacking;
    if (u->head_size > 0) {
        size_t size = u->head_size;
        memcpy(flow->in, u->head, size);
        u->head_size = 0;
        return size;
    }
    for (;;) {
        ssize_t size = read(u->in, flow->in, CHUNK);
        if (size >= 0) {
            flow->ended = size == 0;
            return (size_t)size;
        }
        int fault = errno;
        char what[128];
        /* A signal asks to stop, perhaps: the progress function knows. */
        if (fault == EINTR && (u->progress == NULL || u->progress(u->context, u->written)))
            continue;
        snprintf(what, sizeof what, "reading failed (%s)", strerror(fault));
        flow->result = fault == EINTR ? UNPACKED_STOPPED : damaged(flow, what);
        flow->ended = true;
        return 0;
    }
}

static bool drain(struct flow *flow, const void *data, size_t size)
{
    struct unpacking *u = flow->unpacking;
    if (!temp_write(u->out, data, size)) {
        temp_explain(u->name, u->error, u->error_size);
        flow->result = UNPACKED_FAILED;
        return false;
    }
    u->written += size;
    if (u->progress != NULL && !u->progress(u->context, u->written)) {
        flow->result = UNPACKED_STOPPED;
        return false;
    }
    return true;
}

static void copy_plain(struct flow *flow)
{
    for (size_t size; (size = fill(flow)) > 0;)
        if (!drain(flow, flow->in, size))
            return;
}

/* ---- gzip ---- */

/* Zeros may stand behind the last member (tapes, blocks); anything else is damage.  True: another member begins. */
static bool next_member(struct flow *flow, z_stream *stream)
{
    while (stream->avail_in > 0 && *stream->next_in == 0) {
        stream->next_in++;
        stream->avail_in--;
    }
    if (stream->avail_in == 0)
        return false;
    if (*stream->next_in == 0x1f)
        return inflateReset(stream) == Z_OK;
    flow->result = damaged(flow, "there is something else behind the compressed data");
    return false;
}

/* All that the input at hand gives.  False: it is over. */
static bool inflate_chunk(struct flow *flow, z_stream *stream, bool *in_member)
{
    while (stream->avail_in > 0) {
        if (!*in_member && !next_member(flow, stream))
            return flow->result == UNPACKED_WHOLE;
        *in_member = true;
        stream->next_out = flow->out;
        stream->avail_out = CHUNK;
        int code = inflate(stream, Z_NO_FLUSH);
        if (!drain(flow, flow->out, CHUNK - stream->avail_out))
            return false;
        if (code == Z_STREAM_END) {
            *in_member = false;
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            flow->result = damaged(flow, "the gzip data is corrupt");
            return false;
        }
    }
    return true;
}

static void inflate_all(struct flow *flow)
{
    z_stream stream = { 0 };
    bool in_member = true;
    if (inflateInit2(&stream, 15 + 16) != Z_OK) {
        snprintf(flow->unpacking->error, flow->unpacking->error_size, "%s: no memory to unpack it",
                 flow->unpacking->name);
        flow->result = UNPACKED_FAILED;
        return;
    }
    for (size_t size; (size = fill(flow)) > 0;) {
        stream.next_in = flow->in;
        stream.avail_in = (uInt)size;
        if (!inflate_chunk(flow, &stream, &in_member))
            break;
    }
    if (flow->result == UNPACKED_WHOLE && in_member)
        flow->result = damaged(flow, "the gzip data ends too early");
    inflateEnd(&stream);
}

/* ---- xz ---- */

static const char *xz_fault(lzma_ret code)
{
    return code == LZMA_BUF_ERROR        ? "the xz data ends too early"
           : code == LZMA_MEMLIMIT_ERROR ? "the xz data needs more than 256 MiB of memory to unpack"
                                         : "the xz data is corrupt";
}

/* Until all input at hand is used up.  False: it is over. */
static bool xz_chunk(struct flow *flow, lzma_stream *stream)
{
    do {
        stream->next_out = flow->out;
        stream->avail_out = CHUNK;
        lzma_ret code = lzma_code(stream, flow->ended ? LZMA_FINISH : LZMA_RUN);
        if (!drain(flow, flow->out, CHUNK - stream->avail_out) || code == LZMA_STREAM_END)
            return false;
        if (code != LZMA_OK) {
            flow->result = damaged(flow, xz_fault(code));
            return false;
        }
    } while (stream->avail_in > 0 || stream->avail_out == 0 || flow->ended);
    return true;
}

static void xz_all(struct flow *flow)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK) {
        snprintf(flow->unpacking->error, flow->unpacking->error_size, "%s: no memory to unpack it",
                 flow->unpacking->name);
        flow->result = UNPACKED_FAILED;
        return;
    }
    do {
        stream.avail_in = fill(flow);
        stream.next_in = flow->in;
    } while (flow->result == UNPACKED_WHOLE && xz_chunk(flow, &stream));
    lzma_end(&stream);
}

enum unpacked unpack(struct unpacking *unpacking, enum packing packing)
{
    struct flow flow = { .unpacking = unpacking, .result = UNPACKED_WHOLE };
    unpacking->written = 0;
    flow.in = malloc(CHUNK);
    flow.out = malloc(CHUNK);
    if (flow.in == NULL || flow.out == NULL) {
        snprintf(unpacking->error, unpacking->error_size, "%s: no memory to read it", unpacking->name);
        flow.result = UNPACKED_FAILED;
    } else if (packing == PACKING_GZIP) {
        inflate_all(&flow);
    } else if (packing == PACKING_XZ) {
        xz_all(&flow);
    } else {
        copy_plain(&flow);
    }
    free(flow.in);
    free(flow.out);
    return flow.result;
}
