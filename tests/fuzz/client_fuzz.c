/*
 * Addresses, networks and the walk through forwarding headers, on any bytes.
 *
 *     clang -g -O1 -D_GNU_SOURCE -std=c11 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc \
 *         tests/fuzz/client_fuzz.c src/request/{address,client,header,netset}.c -o client_fuzz
 *
 * Beyond surviving: what parses formats to text that parses to the same; the client is the peer, or an address that the
 * header's text can be read as, and never unix; an untrusted peer is never replaced.
 */
#include "request/forwarded.c"
#include "request/client.h"

#include <stdlib.h>

#define LINES 8

static void check(bool right)
{
    if (!right)
        abort();
}

static void check_address(const struct drossel_address *address)
{
    static const uint8_t zero[16];
    struct drossel_address again;
    char text[DROSSEL_ADDRESS_TEXT];
    size_t size = drossel_address_format(address, text);
    check(size < DROSSEL_ADDRESS_TEXT && text[size] == '\0');
    check(drossel_address_parse(text, size, &again) == DROSSEL_OK);
    check(memcmp(&again, address, sizeof again) == 0);
    check(address->family != DROSSEL_IPV4 || memcmp(address->bytes + 4, zero, 12) == 0);
}

static struct netset *trusted_set(void)
{
    static struct netset *set;
    if (set != NULL)
        return set;
    static const char *const networks[] = { "10.0.0.0/8", "::/8", "127.0.0.1" };
    set = netset_open();
    for (size_t i = 0; i < 3; i++) {
        struct drossel_address address;
        unsigned bits;
        check(netset_parse(networks[i], strlen(networks[i]), &address, &bits) == NULL &&
              netset_add(set, &address, bits));
    }
    check(netset_seal(set));
    return set;
}

static void try_walk(const struct drossel_request *request, enum client_source source, bool trusted)
{
    struct client_rules rules = {
        .trusted = trusted ? trusted_set() : NULL, .source = source, .header = DROSSEL_TEXT("x"), .recursive = true
    };
    struct client client = client_recover(&rules, request);
    check_address(&client.address);
    check(client.address.family != DROSSEL_UNIX);
    check(client.peer_trusted == trusted);
    if (!trusted || client.reason == CLIENT_NO_HEADER)
        check(memcmp(&client.address, &request->peer, sizeof request->peer) == 0);
    if (client.reason == CLIENT_FROM_HEADER)
        check(!netset_has(rules.trusted, &client.address));
    if (client.reason == CLIENT_ALL_TRUSTED || client.reason == CLIENT_STOPPED_AT_GARBAGE)
        check(netset_has(rules.trusted, &client.address));
}

static void check_nodes(struct drossel_text line)
{
    struct forwarded parsed;
    if (!forwarded_parse(line, &parsed))
        return;
    for (size_t i = 0; i < parsed.count && i < FORWARDED_NODES; i++) {
        const struct drossel_text *node = &parsed.node[i];
        check(node->size == 0 || (node->data >= line.data && node->data + node->size <= line.data + line.size));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "x-forwarded-for", "forwarded", "x" };
    struct drossel_header headers[LINES];
    struct drossel_request request = { .headers = headers };
    const char *at = (const char *)data;
    struct drossel_address address;
    unsigned bits = 999;
    if (drossel_address_parse(at, size, &address) == DROSSEL_OK)
        check_address(&address);
    if (netset_parse(at, size, &address, &bits) == NULL)
        check(bits <= (address.family == DROSSEL_IPV4 ? 32 : 128));
    check(drossel_address_parse("10.0.0.1", 8, &request.peer) == DROSSEL_OK);
    for (int source = 0; source < 3; source++) {
        const char *p = at;
        size_t left = size;
        request.header_count = 0;
        while (left > 0 && request.header_count < LINES) {
            const char *newline = memchr(p, '\n', left);
            size_t length = newline == NULL ? left : (size_t)(newline - p);
            headers[request.header_count++] =
                (struct drossel_header){ { names[source], strlen(names[source]) }, { p, length } };
            check_nodes((struct drossel_text){ p, length });
            p += newline == NULL ? length : length + 1;
            left -= newline == NULL ? length : length + 1;
        }
        try_walk(&request, (enum client_source)(CLIENT_X_FORWARDED_FOR + source), true);
        try_walk(&request, (enum client_source)(CLIENT_X_FORWARDED_FOR + source), false);
    }
    return 0;
}
