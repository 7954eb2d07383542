/*
 * What only the whole of a replay shows: limits that did nothing, and why; times that are too coarse.
 */
#include "cli/tally_parts.h"

#include <stdarg.h>
#include <string.h>

#define TEXT_BYTES 700
#define DURATION_TEXT 32

__attribute__((format(printf, 2, 3))) static void warn(struct tally *tally, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    size_t size = (size_t)snprintf(text, sizeof text, "warning: ");
    va_start(arguments, format);
    vsnprintf(text + size, sizeof text - size, format, arguments);
    va_end(arguments);
    tally_warn(tally, text);
}

static void take_warning(void *context, const char *text)
{
    warn(context, "%s", text);
}

/* ---- limits that did nothing ---- */

static void warn_of_unmatched(struct tally *tally, const struct policy_limit *policy, const struct tally_unmatched *why,
                              const struct tally_input *input)
{
    if (why->key_missing > 0)
        warn(tally, "limit %s never matched: %s; %s", policy->name,
             input->is_log ? "the log does not have what it counts by" : "no event has what it counts by",
             why->missing != NULL && strcmp(why->missing, "account") == 0
                 ? "its account is in no line: log the user (nginx $remote_user, Apache %u) or the header that "
                   "`account_from` "
                   "names, or try it live as a dry run"
             : why->missing != NULL && strcmp(why->missing, "token") == 0
                 ? "its token is in no line: log the header that `token_from` names, or try it live as a dry run"
                 : "log that header, or try it live as a dry run");
    else if (why->other_door > 0)
        warn(tally, "limit %s never matched: its `only` names other doors than this replay's; give --door",
             policy->name);
    else if (why->unlimited > 0)
        warn(tally, "limit %s never matched: `overrides` make all its keys unlimited; take some out, or the limit",
             policy->name);
    else
        warn(tally,
             "limit %s never matched: no request is in the classes of its `for`; compare their paths and methods with "
             "the log "
             "(`drossel explain` tells for one request), or try a log that has such requests",
             policy->name);
}

static void warn_of_idle(struct tally *tally, uint32_t index, const struct tally_input *input)
{
    const struct policy_limit *policy = &tally->policy->limits[index];
    const struct tally_limit *limit = &tally->limit[index];
    const struct policy_rate *rate = &tally->policy->rates[policy->first_rate];
    if (policy->failures && !tally->watch.has_status)
        warn(tally, "limit %s could not fire: it counts failures, and %s; log the status", policy->name,
             input->is_log ? "the log has no status" : "no event has a status");
    else if (policy->failures && tally->policy->failure.header.size == 0 && limit->failures == 0)
        warn(tally,
             "limit %s could not fire: none of its %llu requests failed by `outcomes`; if the application answers a "
             "wrong "
             "password otherwise, say so in `outcomes: { failure: { status: [...] } }`",
             policy->name, (unsigned long long)limit->requests);
    else if (limit->requests <= rate->engine.spec.count && policy->class_cost_count == 0 && policy->cost <= 1)
        warn(tally,
             "limit %s could not fire: it matched %llu requests in all and allows %llu to each key; try a longer log, "
             "or one of "
             "a busier time",
             policy->name, (unsigned long long)limit->requests, (unsigned long long)rate->engine.spec.count);
}

/* ---- coarse times ---- */

static void warn_of_resolution(struct tally *tally, const struct policy_limit *policy, uint64_t resolution_ns)
{
    char window[DURATION_TEXT], ticks[DURATION_TEXT];
    for (uint32_t i = policy->first_rate; i < policy->first_rate + policy->rate_count; i++) {
        uint64_t period_ns = tally->policy->rates[i].engine.spec.period_ns;
        if (period_ns >= 2 * resolution_ns)
            continue;
        policy_duration_format(period_ns, window, sizeof window);
        policy_duration_format(resolution_ns, ticks, sizeof ticks);
        warn(tally,
             "limit %s has a window of %s, but the log's times are no finer than %s: requests of one tick look "
             "simultaneous, so "
             "more or fewer are refused live than here; log finer times (nginx $msec, Apache %%{msec_frac}t) or try a "
             "longer "
             "window",
             policy->name, window, ticks);
        return;
    }
}

void tally_warn_of_limits(struct tally *tally, const struct tally_input *input)
{
    for (uint32_t i = 0; i < tally->policy->limit_count && tally->requests > 0; i++) {
        const struct policy_limit *policy = &tally->policy->limits[i];
        const struct tally_limit *limit = &tally->limit[i];
        if (limit->requests == 0)
            warn_of_unmatched(tally, policy, &limit->unmatched, input);
        else if (limit->hits == 0 && limit->delayed == 0)
            warn_of_idle(tally, i, input);
        if (limit->requests > 0 && input->resolution_ns > 0)
            warn_of_resolution(tally, policy, input->resolution_ns);
    }
}

bool tally_reaches_slow_logins(const struct tally *tally)
{
    for (uint32_t i = 0; i < tally->policy->limit_count; i++) {
        const struct policy_limit *limit = &tally->policy->limits[i];
        const struct policy_subject *subject = &tally->policy->subjects[limit->subject];
        bool by_address = false;
        for (uint8_t part = 0; part < subject->part_count; part++)
            by_address |= subject->part[part].kind == POLICY_BY_ADDRESS;
        if ((limit->failures || limit->distinct != POLICY_NOT_DISTINCT) && !by_address && tally->limit[i].requests > 0)
            return true;
    }
    return false;
}

/* One key for all of them is no limit by address. */
static void warn_of_nameless(struct tally *tally, const struct tally_input *input)
{
    if (input->without_client == 0 || input->without_client < tally->requests / 100)
        return;
    warn(tally,
         "%llu requests are of nobody that the log names, and share one key, `-`: log the client's address, or say "
         "which "
         "field has it (JSON, LTSV, W3C: --map client=NAME; text: --format with the string of the log_format)",
         (unsigned long long)input->without_client);
}

void tally_conclude(struct tally *tally, const struct tally_input *input)
{
    warn_of_nameless(tally, input);
    watch_conclude(&tally->watch, tally_reaches_slow_logins(tally), take_warning, tally);
    tally_warn_of_limits(tally, input);
}
