/*
 * Classes, limits and exemptions, compiled for lookup.
 *
 * Each class is filed under the values of one of its conditions (an exact path; else the begin of a path; else its end;
 * the host; the method), and looked at only if the request has such a value.  Classes with headers and patterns only are
 * looked at for each request.  A limit is filed under its first positive class; those without one are always looked at.
 */
#ifndef DROSSEL_POLICY_INDEX_H
#define DROSSEL_POLICY_INDEX_H

#include "policy/reading.h"

struct policy_index {
    struct class *classes;
    uint32_t class_count;
    struct words paths, hosts, methods;
    struct affixes begins, ends;
    struct arena_list unfiled;       /* uint32_t: classes looked at for each request, see CERTAIN in index.c */
    struct arena_list *limits_of;    /* by class: uint32_t, limits filed under it */
    struct arena_list always;        /* uint32_t: limits without a positive class */
    struct netset *exempt_addresses; /* NULL: none */
    struct affixes exempt_paths;
    struct words exempt_methods;
    const char *trusted_text; /* as written, for a person; NULL: none */
    const char *address_from_text;
};

struct policy_index *index_build(const struct reading *reading);

/* Sets the bits of the classes the facts are in; returns how many classes were looked at. */
uint32_t index_classes(const struct policy_index *index, const struct policy_facts *facts,
                       struct policy_class_set *classes);

#endif
