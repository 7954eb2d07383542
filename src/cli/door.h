/*
 * Facts of a request as a person or a file writes them: doors by name, a host with a port.
 */
#ifndef DROSSEL_CLI_DOOR_H
#define DROSSEL_CLI_DOOR_H

#include "drossel.h"

/* The door of that name; NULL: nginx.  False if there is none. */
bool door_parse(const char *name, enum drossel_door *door);
/* All names, for a message. */
const char *door_names(void);

/* `shop.example:8080` and `[::1]:80` without the port. */
struct drossel_text door_host(struct drossel_text host);

#endif
