/*
 * The User-Agents of a log: each looked at once, then found again.
 *
 * Agents are what clients write, and a client may write a new one each time: beyond AGENTS_MOST none are remembered.
 */
#ifndef DROSSEL_CLI_SUGGEST_AGENTS_H
#define DROSSEL_CLI_SUGGEST_AGENTS_H

#include "drossel.h"

#define AGENTS_MOST 65536
#define AGENT_BYTES_MOST 400 /* of the kept text */

struct agent {
    char *text;       /* NULL: one of those that are not remembered */
    uint32_t size;
    uint32_t number;  /* different for different ones, from 1; 0: not remembered */
    bool is_bot;      /* calls itself automation, a library or a monitor */
    bool is_browser;  /* claims to be a browser */
};

struct agents;

struct agents *agents_open(void); /* NULL without memory */
void agents_close(struct agents *agents);
/* Of a text of size > 0; valid until the next call if it is not remembered, else until agents_close. */
const struct agent *agents_find(struct agents *agents, struct drossel_text text);

#endif
