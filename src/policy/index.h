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

struct policy_index *index_build(const struct reading *reading);

/* Sets the bits of the classes the facts are in; returns how many classes were looked at. */
uint32_t index_classes(const struct policy_index *index, const struct policy_facts *facts,
                       struct policy_class_set *classes);

/* Appends the exempt paths, addresses and methods in words. */
void index_describe_exempt(const struct policy_index *index, FILE *out);

#endif
