/*
 * Clients behind proxies, by the walk that the doors make.
 */
#include "cli/suggest_forwarded.h"

#include <stdio.h>
#include <string.h>

#include "request/client.h"

#define LINES_LEAST 50

static bool is_known(const struct proxies *proxies, const struct drossel_address *address)
{
    for (size_t i = 0; i < proxies->count; i++)
        if (memcmp(&proxies->address[i], address, sizeof *address) == 0)
            return true;
    return false;
}

void proxies_trust(struct proxies *proxies, const struct drossel_address *address)
{
    if (!is_known(proxies, address) && proxies->count < PROXIES_MOST)
        proxies->address[proxies->count++] = *address;
}

static unsigned bits_of(const struct drossel_address *address)
{
    return address->family == DROSSEL_IPV4 ? 32 : address->family == DROSSEL_IPV6 ? 128 : 0;
}

bool proxies_seal(struct proxies *proxies)
{
    struct netset *trusted = netset_open();
    bool good = trusted != NULL;
    size_t used = 0;
    for (size_t i = 0; i < proxies->count && good; i++) {
        const struct drossel_address *address = &proxies->address[i];
        char text[DROSSEL_ADDRESS_TEXT];
        drossel_address_format(address, text);
        used += (size_t)snprintf(proxies->list + used, sizeof proxies->list - used, "%s%s", used > 0 ? ", " : "", text);
        good = netset_add(trusted, address, bits_of(address));
    }
    good = good && netset_seal(trusted);
    netset_close(good ? proxies->trusted : trusted);
    if (good)
        proxies->trusted = trusted;
    proxies->lines = proxies->hidden = 0;
    return good;
}

void proxies_release(struct proxies *proxies)
{
    netset_close(proxies->trusted);
    *proxies = (struct proxies){ 0 };
}

/* Does somebody else stand at the left end of the list?  The proxies before this one have put him there, or he did himself. */
static bool has_others(struct drossel_text list, const struct drossel_address *client)
{
    struct drossel_address first;
    const char *comma = memchr(list.data, ',', list.size);
    struct drossel_text text = { list.data, comma != NULL ? (size_t)(comma - list.data) : list.size };
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return comma != NULL && drossel_address_parse(text.data, text.size, &first) == DROSSEL_OK &&
           memcmp(&first, client, sizeof first) != 0;
}

struct drossel_text proxies_client(struct proxies *proxies, const struct log_record *record)
{
    struct drossel_request request = { .headers = &(struct drossel_header){ DROSSEL_TEXT("X-Forwarded-For"),
                                                                            record->forwarded },
                                       .header_count = record->forwarded.size > 0 };
    proxies->lines++;
    if (proxies->count == 0 || record->client.size == 0 ||
        drossel_address_parse(record->client.data, record->client.size, &request.peer) != DROSSEL_OK ||
        !netset_has(proxies->trusted, &request.peer))
        return record->client;
    struct client_rules rules = { .trusted = proxies->trusted, .source = CLIENT_X_FORWARDED_FOR, .recursive = true };
    struct client client = client_recover(&rules, &request);
    proxies->hidden += client.reason == CLIENT_FROM_HEADER && client_is_private(&client.address) &&
                       has_others(record->forwarded, &client.address);
    return (struct drossel_text){ proxies->client, drossel_address_format(&client.address, proxies->client) };
}

bool proxies_are_more(const struct proxies *proxies)
{
    return proxies->hidden >= LINES_LEAST && proxies->hidden > proxies->lines / 2;
}
