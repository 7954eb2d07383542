/*
 * drossel explain: the telling, apart from the asking.
 */
#ifndef DROSSEL_CLI_EXPLAIN_H
#define DROSSEL_CLI_EXPLAIN_H

#include "limiter.h"

/* The left column of a line. */
void explain_label(const char *name);

/* Prints everything about the request: client, exemption, classes, each limit, the result.  `decision` is what the limiter
 * said when it was asked at no cost. */
void explain_tell(struct limiter *limiter, const struct drossel_request *request,
                  const struct drossel_decision *decision);

#endif
