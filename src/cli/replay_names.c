/*
 * Stand-in addresses for clients that a log calls by name, and a small memory of the addresses read last: to read one takes longer
 * than to see that it is the same text.
 */
#include "cli/replay_names.h"

#include <stdlib.h>
#include <string.h>

#include "cli/census.h"

#define RECENT 1024 /* power of two */
#define RECENT_TEXT 47
#define NAMES_MOST (UINT32_C(1) << 28)
#define STAND_IN 0xf0 /* first byte's upper half: 240.0.0.0/4 */
#define TEXT_MOST 255

struct recent {
    uint8_t size; /* 0: nothing */
    char text[RECENT_TEXT];
    struct drossel_address address;
};

struct names {
    struct census names; /* in the order of appearance: the nth has the nth address */
    struct recent recent[RECENT];
};

/* A name, and which address it stands for. */
struct name {
    struct census_entry of;
    uint32_t number;
};

struct names *names_open(void)
{
    struct names *names = calloc(1, sizeof *names);
    if (names != NULL)
        names->names.entry_size = sizeof(struct name);
    return names;
}

void names_close(struct names *names)
{
    if (names != NULL)
        census_release(&names->names);
    free(names);
}

/* Where a text is looked for: any spread does, as a wrong guess costs no more than reading it. */
static size_t place_of(struct drossel_text text)
{
    uint64_t head = text.size, tail = 0;
    if (text.size >= sizeof tail) { /* most are no longer than these two together */
        memcpy(&head, text.data, sizeof head);
        memcpy(&tail, text.data + text.size - sizeof tail, sizeof tail);
    } else {
        for (size_t i = 0; i < text.size; i++)
            head = head << 8 | (unsigned char)text.data[i];
    }
    uint64_t mixed = (head ^ tail * UINT64_C(0xc2b2ae3d27d4eb4f)) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 54) & (RECENT - 1);
}

static bool is_stand_in(const struct drossel_address *address)
{
    return address->family == DROSSEL_IPV4 && (address->bytes[0] & 0xf0) == STAND_IN;
}

static void printable(struct drossel_text text, char out[TEXT_MOST + 1])
{
    size_t size = text.size < TEXT_MOST ? text.size : TEXT_MOST;
    for (size_t i = 0; i < size; i++)
        out[i] = text.data[i] > ' ' && text.data[i] < 0x7f ? text.data[i] : '?';
    out[size] = '\0';
    if (size == 0)
        strcpy(out, "-");
}

static bool name_address(struct names *names, struct drossel_text text, struct drossel_address *address)
{
    char label[TEXT_MOST + 1];
    printable(text, label);
    struct name *name = (struct name *)(void *)census_find(&names->names, text.data, text.size, label);
    if (name == NULL || names->names.count >= NAMES_MOST)
        return false;
    if (name->number == 0)
        name->number = (uint32_t)names->names.count;
    uint32_t number = name->number - 1;
    *address = (struct drossel_address){ .family = DROSSEL_IPV4 };
    address->bytes[0] = (uint8_t)(STAND_IN | (number >> 24 & 0x0f));
    address->bytes[1] = (uint8_t)(number >> 16);
    address->bytes[2] = (uint8_t)(number >> 8);
    address->bytes[3] = (uint8_t)number;
    return true;
}

static bool read_address(struct names *names, struct drossel_text text, struct drossel_address *address)
{
    if (text.size > 0 && drossel_address_parse(text.data, text.size, address) == DROSSEL_OK && !is_stand_in(address))
        return true;
    if (text.size == 0)
        text = (struct drossel_text)DROSSEL_TEXT("-");
    return name_address(names, text, address);
}

bool names_address(struct names *names, struct drossel_text text, struct drossel_address *address)
{
    struct recent *recent = &names->recent[place_of(text)];
    if (recent->size == text.size && text.size > 0 && memcmp(recent->text, text.data, text.size) == 0) {
        *address = recent->address;
        return true;
    }
    if (!read_address(names, text, address))
        return false;
    if (text.size > 0 && text.size <= RECENT_TEXT) {
        recent->size = (uint8_t)text.size;
        memcpy(recent->text, text.data, text.size);
        recent->address = *address;
    }
    return true;
}

const char *names_text(const struct names *names, const struct drossel_address *address)
{
    if (names == NULL || !is_stand_in(address))
        return NULL;
    uint32_t number = (uint32_t)(address->bytes[0] & 0x0f) << 24 | (uint32_t)address->bytes[1] << 16 |
                      (uint32_t)address->bytes[2] << 8 | address->bytes[3];
    return number < names->names.count ? names->names.entry[number]->label : NULL;
}
