/*
 * One policy under replay.
 */
#include "cli/replay_side.h"

#include <stdlib.h>

#include "cli/cli.h"

#define SHIFT_MOST_NS (UINT64_C(1) << 61)

bool side_open(struct replay_side *side, const char *path)
{
    char *mistakes = NULL;
    side->path = path;
    side->policy = policy_open(path, &mistakes, &side->warnings);
    if (side->policy == NULL)
        cli_print_lines(stderr, mistakes != NULL ? mistakes : "the policy cannot be opened");
    free(mistakes);
    return side->policy != NULL;
}

void side_close(struct replay_side *side)
{
    side_drop(side);
    if (side->policy != NULL)
        policy_close(side->policy);
    free(side->warnings);
    side->policy = NULL;
    side->warnings = NULL;
}

static bool open_parts(struct replay_side *side, const struct names *names)
{
    struct course *course = &side->course;
    if (side->decisions != NULL && (course->verdicts = verdicts_open(side->decisions, side->policy)) == NULL)
        return false;
    if (!side->has_tally)
        return true;
    course->tally = tally_open(side->policy, names);
    if (course->tally == NULL)
        return false;
    tally_attach(course->tally, course->limiter);
    tally_refused_to(course->tally, side->refused);
    tally_warn(course->tally, side->warnings);
    return true;
}

bool side_begin(struct replay_side *side, uint64_t keys, enum drossel_door door, const struct names *names)
{
    char error[1024] = "";
    struct table_options private = { .keys = keys, .no_stats = true, .group = (gid_t)-1, .owner = (uid_t)-1 };
    side->course = (struct course){ .door = door };
    side->table = table_open(&private, error, sizeof error);
    if (side->table != NULL)
        side->course.limiter = limiter_open(side->policy, side->table, error, sizeof error);
    if (side->course.limiter == NULL) {
        cli_complain("%s", error);
        return false;
    }
    if (open_parts(side, names))
        return true;
    cli_complain("no memory to count");
    return false;
}

void side_drop(struct replay_side *side)
{
    struct course *course = &side->course;
    course_release(course);
    if (course->verdicts != NULL)
        verdicts_close(course->verdicts);
    if (course->tally != NULL)
        tally_close(course->tally);
    limiter_close(course->limiter);
    if (side->table != NULL)
        table_close(side->table);
    side->table = NULL;
    *course = (struct course){ 0 };
}

uint64_t side_lost(const struct replay_side *side)
{
    struct table_counts counts;
    table_counts(side->table, &counts);
    return counts.evicted_live + counts.evicted_full + counts.evicted_blocked;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t side_shift(const struct replay_side *side)
{
    const struct policy *policy = side->policy;
    uint64_t whole_ns = 1000000000;
    if (!policy->has_failures) /* whoever is held is asked again with the time when he came, and 0 is none */
        return 0;
    for (uint32_t i = 0; i < policy->rate_count; i++) {
        const struct engine_spec *spec = &policy->rates[i].engine.spec;
        if (spec->algorithm != ENGINE_FIXED || (spec->flags & ENGINE_FROM_FIRST) != 0)
            continue;
        uint64_t times = spec->period_ns / common_divisor(whole_ns, spec->period_ns);
        if (times > SHIFT_MOST_NS / whole_ns)
            return 1;
        whole_ns *= times;
    }
    return whole_ns;
}
