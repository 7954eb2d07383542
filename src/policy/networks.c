/*
 * Lists of addresses and networks, in the policy and in list files.
 *
 * What an entry is: `unix`; else an address or network if it has a dot or a colon and nothing but digits, dots and a slash
 * (with a colon: hexadecimal digits too); else the name of a list file.
 */
#include "policy/reading.h"

#include <stdio.h>
#include <string.h>

static void close_netset(void *object)
{
    netset_close(object);
}

struct netset *new_netset(struct reading *reading)
{
    void **slot = arena_defer(reading->arena, close_netset);
    struct netset *set = netset_open();
    if (set == NULL)
        arena_fail(reading->arena);
    *slot = set;
    return set;
}

static bool looks_like_address(struct drossel_text text)
{
    bool colon = text.size > 0 && memchr(text.data, ':', text.size) != NULL;
    bool dot = text.size > 0 && memchr(text.data, '.', text.size) != NULL;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\0' || strchr(colon ? "0123456789abcdefABCDEF.:/" : "0123456789./", text.data[i]) == NULL)
            return false;
    return (colon || dot) && text.size > 0 && text.data[0] != '.' && text.data[0] != '/';
}

/* Sets all bits behind the first `bits` to zero. */
static void mask(struct drossel_address *address, unsigned bits)
{
    for (unsigned i = 0; i < sizeof(address->bytes); i++) {
        unsigned kept = bits >= 8 * (i + 1) ? 8 : bits > 8 * i ? bits - 8 * i : 0;
        address->bytes[i] = (uint8_t)(address->bytes[i] & (0xFF00U >> kept));
    }
}

/* The network that was meant by an address with host bits behind its prefix, or NULL. */
static const char *masked_text(struct reading *reading, struct drossel_text text)
{
    const char *slash = memchr(text.data, '/', text.size);
    if (slash == NULL)
        return NULL;
    size_t head = (size_t)(slash - text.data);
    struct drossel_address address;
    uint64_t bits;
    if (drossel_address_parse(text.data, head, &address) != DROSSEL_OK ||
        !parse_number((struct drossel_text){ slash + 1, text.size - head - 1 }, &bits))
        return NULL;
    if (bits > (address.family == DROSSEL_IPV4 ? 32 : 128) || address.family == DROSSEL_UNIX)
        return NULL;
    char whole[DROSSEL_ADDRESS_TEXT], cut[DROSSEL_ADDRESS_TEXT];
    drossel_address_format(&address, whole);
    mask(&address, (unsigned)bits);
    drossel_address_format(&address, cut);
    if (strcmp(whole, cut) == 0)
        return NULL;
    return arena_format(reading->arena, "%s/%u for the network, or %s for the one address", cut, (unsigned)bits, whole);
}

bool read_network(struct reading *reading, const struct node *node, struct drossel_address *address, unsigned *bits,
                  bool *told)
{
    *told = false;
    const char *wrong = netset_parse(node->text.data, node->text.size, address, bits);
    if (wrong == NULL)
        return true;
    if (!looks_like_address(node->text))
        return false;
    const char *meant = masked_text(reading, node->text);
    const char *word = quotable(reading->arena, node->text);
    if (meant != NULL)
        mistake(reading, node, "\"%s\" has bits set behind its prefix; write %s", word, meant);
    else
        mistake(reading, node, "\"%s\": %s", word, wrong);
    *told = true;
    return false;
}

static void add_network(struct reading *reading, const struct node *node, const struct drossel_address *address,
                        unsigned bits, const struct network_list *list)
{
    if (address->family == DROSSEL_UNIX && !list->may_be_unix)
        mistake(reading, node, "\"unix\" is no client's address; it belongs into `trusted` only");
    else if (!netset_add(list->set, address, bits))
        arena_fail(reading->arena);
}

static void read_line(struct reading *reading, const struct node *line, void *into)
{
    struct drossel_address address;
    unsigned bits;
    bool told;
    if (read_network(reading, line, &address, &bits, &told))
        add_network(reading, line, &address, bits, into);
    else if (!told)
        mistake(reading, line,
                "\"%s\" is no address; write an address or a network a line, as 203.0.113.7 or 10.0.0.0/8",
                quotable(reading->arena, line->text));
}

static void read_entry(struct reading *reading, const struct node *node, void *into)
{
    struct network_list *list = into;
    struct drossel_text name;
    if (!read_text(reading, node, "an address, a network or the name of a list file", &name))
        return;
    struct drossel_address address;
    unsigned bits;
    bool told;
    if (read_network(reading, node, &address, &bits, &told)) {
        add_network(reading, node, &address, bits, list);
        return;
    }
    const char *why;
    if (!told && !read_list_file(reading, name, &why, read_line, list))
        mistake(
            reading, node,
            "\"%s\" is no address, and as a list file it cannot be read (%s); write an address, a network, or the name "
            "of a file that is there, relative to the policy",
            quotable(reading->arena, name), why);
}

void read_networks(struct reading *reading, const struct node *value, struct network_list *into)
{
    into->set = new_netset(reading);
    read_items(reading, value, read_entry, into);
    if (!netset_seal(into->set))
        arena_fail(reading->arena);
}
