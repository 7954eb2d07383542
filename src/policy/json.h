/*
 * JSON as an operator writes it into a policy: looked at, never kept.
 */
#ifndef DROSSEL_POLICY_JSON_H
#define DROSSEL_POLICY_JSON_H

#include <stdbool.h>

#include "drossel.h"

/* Is the text one JSON value, of at most 32 levels?  `${retry_after}` stands for a number; `${limit}` is a text, and so in quotes. */
bool json_is_valid(struct drossel_text text);

#endif
