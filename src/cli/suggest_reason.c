/*
 * The reason for a limit's number, in words.
 */
#include "cli/suggest_findings.h"

#define NAME_SHOWN 48
#define ALONE 3 /* times the next one: somebody stands alone */

/* How one of them, and how several are spoken of. */
struct forms {
    const char *one, *more;
};

static const char *requests_name(enum traffic kind, uint64_t count)
{
    static const struct forms name[TRAFFIC_KINDS] = {
        { "request", "requests" },
        { "page request", "page requests" },
        { "request for a static file", "requests for static files" },
        { "login attempt", "login attempts" },
        { "failed login", "failed logins" },
        { "API call", "API calls" },
        { "expensive request", "expensive requests" },
    };
    return count == 1 ? name[kind].one : name[kind].more;
}

static const char *window_name(int window)
{
    static const char *const name[PEAK_WINDOWS] = { "10 s", "1 min", "10 min" };
    return name[window];
}

/* What is left above the busiest person. */
static void tell_margin(struct prose *reason, uint64_t number, uint64_t people)
{
    char text[PROSE_COUNT];
    double part = (double)number / (double)people;
    prose_add(reason, "%s leaves ", prose_count(number, text));
    if (part >= 4)
        prose_add(reason, "plenty of room above that.");
    else if (part >= 1.85)
        prose_add(reason, part < 2.3 ? "as much again." : "more than as much again.");
    else if (part >= 1.43 && part <= 1.65)
        prose_add(reason, "half as much again.");
    else
        prose_add(reason, "%.0f%% above that.", (part - 1) * 100);
}

/* Somebody far above all others may be no person, but who knows. */
static void tell_alone(struct prose *reason, const struct gap *gap, uint64_t least)
{
    char count[PROSE_COUNT], number[PROSE_COUNT];
    if (gap->people_next * ALONE >= gap->people || gap->people <= least)
        return;
    prose_add(reason, " It stands alone: the next one made %s. Look at it: if it is no person, %s would do.",
              prose_count(gap->people_next, count),
              prose_count(propose_number(gap->people_next, least, NULL, 0), number));
}

void propose_tell_number(struct proposal *proposal, const struct gap *gap, uint64_t least)
{
    char count[PROSE_COUNT], name[NAME_SHOWN], number[PROSE_COUNT];
    struct prose *reason = &proposal->reason;
    prose_count(proposal->number, number);
    if (gap->person == NULL) {
        prose_add(reason, "Nobody who may be a person made %s: %s is only a usual number.",
                  requests_name(proposal->kind, 2), number);
        return;
    }
    prose_add(reason, "The busiest client that %s a person (%s) made %s %s in %s; ",
              gap->person->kind == CLIENT_PERSON ? "looks like" : "may be",
              prose_plain(gap->person->name, gap->person->name_size, name, sizeof name),
              prose_count(gap->people, count), requests_name(proposal->kind, gap->people),
              window_name(proposal->window));
    if ((double)gap->people * PROPOSE_MARGIN <= (double)least)
        prose_add(reason, "%s is the least that is sensible: a lower number meets people on a busier day.", number);
    else
        tell_margin(reason, proposal->number, gap->people);
    tell_alone(reason, gap, least);
}

static void tell_the_one(struct prose *reason, const struct client *client)
{
    char name[NAME_SHOWN];
    prose_add(reason, " One client exceeded it: %s (%s).",
              prose_plain(client->name, client->name_size, name, sizeof name),
              client->kind == CLIENT_BOT ? "a bot by its own name" : client->why);
}

void propose_tell_hits(struct proposal *proposal)
{
    static const struct forms verb[CLIENT_KINDS] = { { "looks like a person", "look like people" },
                                                     { "may be a person", "may be people" },
                                                     { "behaves like a machine", "behave like machines" },
                                                     { "calls itself a bot", "call themselves bots" } };
    struct prose *reason = &proposal->reason;
    const char *before = ": ";
    char count[PROSE_COUNT];
    if (proposal->hits == 0)
        prose_add(reason, " Nobody exceeded it in this log.");
    if (proposal->hits == 1)
        tell_the_one(reason, proposal->hit[0].client);
    if (proposal->hits < 2)
        return;
    prose_add(reason, " %s clients exceeded it", prose_count(proposal->hits, count));
    for (int kind = CLIENT_KINDS - 1; kind >= 0; kind--) {
        uint64_t some = proposal->hits_of[kind];
        if (some == proposal->hits)
            prose_add(reason, "; all of them %s", verb[kind].more);
        else if (some > 0)
            prose_add(reason, "%s%s %s", before, prose_count(some, count),
                      some == 1 ? verb[kind].one : verb[kind].more);
        before = some > 0 ? ", " : before;
    }
    prose_add(reason, ".");
}

/* Machines that this limit lets through as they are hardly faster than people. */
void propose_tell_missed(struct proposal *proposal, const struct gap *gap, uint64_t least)
{
    char count[PROSE_COUNT], people[PROSE_COUNT];
    bool is_faster = gap->machine_most > gap->people && gap->machine_most <= proposal->number;
    if (!is_faster || gap->person == NULL || proposal->number <= least)
        return;
    prose_add(&proposal->reason, " It tells no machine from people here: the busiest machine made %s, people %s.",
              prose_count(gap->machine_most, count), prose_count(gap->people, people));
}

/* Who exceeds the long window without ever having exceeded the short one. */
void propose_tell_slow(struct proposal *longer, const struct proposal *shorter)
{
    size_t slow = 0;
    char count[PROSE_COUNT];
    for (size_t i = 0; i < longer->hits; i++)
        slow += client_peak(longer->hit[i].client, shorter->kind, shorter->window) <= shorter->number;
    prose_add(&longer->reason, " It is for those who stay just below %s for hours", shorter->allow);
    if (slow > 0)
        prose_add(&longer->reason, ": %s of them never exceeded that.", prose_count(slow, count));
    else
        prose_add(&longer->reason, "; nobody in this log is caught by it alone.");
}
