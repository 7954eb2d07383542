/*
 * Who is a person?  Judged by what the log has, the first of these that holds:
 *
 *   bot      most of his agents name automation, a library or a monitor
 *   machine  never sends an agent, where others do; sends nothing but passwords, and all wrong; asks at even intervals; asks for the same page at a
 *            pace that no hand has; reads dozens of pages without a picture, style sheet or script on a site that has them, and does not come from
 *            page to page (Referer); read robots.txt
 *   person   a browser by its agent (or a log without agents), and loads static files with its pages
 *   unclear  everybody else: too few requests, or a log that has neither agents nor static files
 *
 * An office behind one address is a person by this, and a busy one: that is how it should be.  A browser run by a program is one too,
 * and that cannot be told from a log.
 */
#ifndef DROSSEL_CLI_SUGGEST_PERSON_H
#define DROSSEL_CLI_SUGGEST_PERSON_H

#include "cli/suggest_profile.h"

/* What the log as a whole can tell. */
struct person_signs {
    bool has_agent;   /* some lines have one */
    bool has_static;  /* static files are logged */
};

struct person_signs person_signs_of(const struct profile *profile);
/* Sets kind and why. */
void person_judge(struct client *client, const struct person_signs *signs);

extern const char *const client_kind_name[CLIENT_KINDS];  /* one word, for machines: person, unclear, machine, bot */
extern const char *const client_kind_label[CLIENT_KINDS]; /* for people: "people", "unclear", "machines", "bots by name" */

#endif
