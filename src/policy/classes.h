/* A class of requests: conditions that must all hold, each with the values that fulfil it. */
#ifndef DROSSEL_POLICY_CLASSES_H
#define DROSSEL_POLICY_CLASSES_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "policy/diagnose.h"
#include "policy/policy.h"

enum condition_kind {
    CONDITION_METHOD = 0,
    CONDITION_PATH,
    CONDITION_PATH_BEGINS,
    CONDITION_PATH_ENDS,
    CONDITION_HOST,
    CONDITION_HEADER,
    CONDITION_PATH_MATCHES,
    CONDITION_KINDS
};

enum header_test { HEADER_IS_ONE_OF = 0, HEADER_PRESENT, HEADER_ABSENT };

struct condition {
    enum condition_kind kind;
    enum header_test test;
    struct drossel_text header;  /* lower case */
    struct drossel_text *values; /* any of them; patterns' texts too */
    struct place *places;        /* of the values */
    pcre2_code **patterns;       /* CONDITION_PATH_MATCHES; NULL: does not compile */
    uint32_t count;
};

struct class
{
    const char *name;
    struct place place;
    struct condition *conditions;
    uint32_t condition_count;
    bool used;
    bool impossible; /* no request can be in it: told already */
    bool broken;     /* has a mistake */
};

/* Does the condition hold?  No allocation; see match.c for what a pattern that gives up counts as. */
bool condition_holds(const struct condition *condition, const struct policy_facts *facts);
bool class_holds(const struct class *class, const struct policy_facts *facts);

#endif
