/*
 * Facts of a request as a person or a file writes them.
 */
#include "cli/door.h"

#include <string.h>

static const char *const names[DROSSEL_DOOR_COUNT] = {
    [DROSSEL_DOOR_LIBRARY] = "library",
    [DROSSEL_DOOR_NGINX] = "nginx",
    [DROSSEL_DOOR_HAPROXY] = "haproxy",
    [DROSSEL_DOOR_REDIS] = "redis",
    [DROSSEL_DOOR_PHP] = "php",
    [DROSSEL_DOOR_ENVOY] = "envoy",
    [DROSSEL_DOOR_FORWARD_AUTH] = "forward-auth",
};

bool door_parse(const char *name, enum drossel_door *door)
{
    for (int i = 0; i < DROSSEL_DOOR_COUNT; i++)
        if (strcmp(names[i], name != NULL ? name : "nginx") == 0) {
            *door = (enum drossel_door)i;
            return true;
        }
    return false;
}

const char *door_names(void)
{
    return "library, nginx, haproxy, redis, php, envoy and forward-auth";
}

static struct drossel_text without_port(struct drossel_text host)
{
    const char *end = host.size > 0 ? memrchr(host.data, ':', host.size) : NULL;
    if (end == NULL || memchr(end, ']', host.size - (size_t)(end - host.data)) != NULL)
        return host;
    if (host.data[0] != '[' && memchr(host.data, ':', (size_t)(end - host.data)) != NULL)
        return host; /* an IPv6 address without brackets has no port */
    host.size = (size_t)(end - host.data);
    return host;
}

struct drossel_text door_host(struct drossel_text host)
{
    host = without_port(host);
    if (host.size > 1 && host.data[host.size - 1] == '.')
        host.size--; /* `a.example.` is `a.example`, as in nginx */
    return host;
}
