/* A whole field as a client reads it, for tests: its items in an array, their texts decoded. */
#ifndef DROSSEL_TESTS_PARSED_H
#define DROSSEL_TESTS_PARSED_H

#include "http/fields.h"

#define PARSED_ITEMS 32
#define PARSED_BYTES 4096

struct parsed {
    size_t count, ignored;
    struct http_parsed_item item[PARSED_ITEMS];
    struct http_bytes partition_key[PARSED_ITEMS];
    size_t used;
    char text[PARSED_BYTES];
};

static inline bool parsed_read(struct drossel_text value, bool policy, enum http_profile profile, struct parsed *parsed)
{
    struct http_fields_reader reader;
    struct http_parsed_item item;
    int more;
    parsed->count = parsed->used = 0;
    http_fields_begin(&reader, value, policy, profile);
    while ((more = http_fields_next(&reader, &item)) > 0 && parsed->count < PARSED_ITEMS) {
        struct drossel_text *texts[] = { &item.name, &item.unit };
        for (int i = 0; i < 2 && texts[i]->size < PARSED_BYTES - parsed->used; i++) {
            char *plain = parsed->text + parsed->used;
            *texts[i] = (struct drossel_text){ plain, sf_unescape(*texts[i], plain) };
            parsed->used += texts[i]->size;
        }
        struct http_bytes bytes = { 0 };
        if (item.has_partition_key && item.partition_key.size < PARSED_BYTES - parsed->used) {
            uint8_t *plain = (uint8_t *)parsed->text + parsed->used;
            if (sf_decode(item.partition_key, plain, &bytes.size))
                bytes.data = plain;
            parsed->used += bytes.size;
        }
        parsed->partition_key[parsed->count] = bytes;
        parsed->item[parsed->count++] = item;
    }
    parsed->ignored = reader.ignored;
    return more == 0;
}

#endif
