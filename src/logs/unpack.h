/* Compressed data into a file: gzip (also many members one after the other) and xz. */
#ifndef DROSSEL_LOGS_UNPACK_H
#define DROSSEL_LOGS_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum packing { PACKING_NONE = 0, PACKING_GZIP, PACKING_XZ, PACKING_ZSTD, PACKING_BZIP2, PACKING_ZIP, PACKING_LZ4, PACKING_UTF16 };
#define PACKING_BYTES 6 /* enough of the beginning to tell */

enum packing packing_of(const unsigned char *head, size_t size);
/* For packings that are not read here: the command that writes the text to standard output.  NULL for the others. */
const char *packing_command(enum packing packing);

/* How a stream came to its end. */
enum unpacked {
    UNPACKED_WHOLE,
    UNPACKED_DAMAGED, /* with a message; what came before it was written */
    UNPACKED_FAILED,  /* with a message: the disk is full, no memory */
    UNPACKED_STOPPED  /* by the progress function */
};

struct unpacking {
    int in, out;
    const char *name;
    const unsigned char *head;  /* what was already read from `in` */
    size_t head_size;
    bool (*progress)(void *context, uint64_t done); /* may be NULL */
    void *context;
    char *error;
    size_t error_size;
    uint64_t written;           /* result: bytes */
};

/* Copies, unpacking what is packed. */
enum unpacked unpack(struct unpacking *unpacking, enum packing packing);

#endif
